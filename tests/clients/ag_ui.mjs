// Lets an official AG-UI client read a run: {"client": "ag-ui-client-1", "url": …} -> what it saw, and what it warned of.
// With "messages": […] these come before the run.
import { createInterface } from "node:readline";

const warnings = [];
for (const level of ["warn", "error"]) console[level] = (...said) => warnings.push(said.map(String).join(" "));

async function read({ client, url, messages = [] }) {
  const { HttpAgent } = await import(client);
  const agent = new HttpAgent({ url, threadId: "thread", initialMessages: messages });
  const events = [];
  let error = null;
  let pending = null;
  warnings.length = 0;
  try {
    await agent.runAgent(
      { runId: "run" },
      {
        onEvent: ({ event }) => void events.push(event),
        onRunFinishedEvent: ({ pendingToolCallIds }) => void (pending = pendingToolCallIds),
        onRunFailed: ({ error: failed }) => void (error = String(failed)),
      },
    );
  } catch (thrown) {
    error = String(thrown);
  }
  return { messages: agent.messages, events, pending: pending ?? null, error, warnings: [...warnings] };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await read(JSON.parse(line))) + "\n");
}
