// Runs the program of a page: a request a line in, an answer a line out.
//   {"module": "./page.mjs", "url": "http://.../v1", "folder": "/tmp/..."}
//   {"shown": [...], "error": ""}
import { createInterface } from "node:readline";

process.env.OPENAI_API_KEY = "none";
for await (const line of createInterface({ input: process.stdin })) {
  const { module, url, folder } = JSON.parse(line);
  const { ask } = await import(module);
  const answer = { shown: [], error: "" };
  try {
    await ask(url, "Write a report.", folder, (piece) => answer.shown.push(piece));
  } catch (error) {
    answer.error = error.name;
  }
  console.log(JSON.stringify(answer));
}
