// What the AI SDK's own encoder takes for each chunk of a UI message stream, in CPU microseconds:
//
//     node ai_sdk_frames.mjs .../node_modules/ai/dist/index.js < {"rounds": 9, "answers": {"text": [chunk, ...]}}
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { createUIMessageStreamResponse } = await import(pathToFileURL(process.argv[2]));
const { rounds, answers } = JSON.parse(readFileSync(0, "utf8"));

async function written(chunks) {
  const stream = new ReadableStream({
    start(controller) {
      chunks.forEach((chunk) => controller.enqueue(chunk));
      controller.close();
    },
  });
  const frames = [];
  for await (const bytes of createUIMessageStreamResponse({ stream }).body) frames.push(bytes);
  return frames;
}

const found = {};
for (const [name, chunks] of Object.entries(answers)) {
  const body = Buffer.concat(await written(chunks)).toString();
  const costs = [];
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    await written(chunks);
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / chunks.length);
  }
  found[name] = { costs, body };
}
console.log(JSON.stringify(found));
