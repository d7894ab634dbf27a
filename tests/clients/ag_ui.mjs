// Lets an official AG-UI client read a run: {"client": "ag-ui-client-1", "url": …} -> what it saw, and what it warned of.
// With "messages": […] these come before the run. With "approve": {"call_1": true} the interrupts of a run are answered in
// another one, whose events follow.
import { createInterface } from "node:readline";

const warnings = [];
for (const level of ["warn", "error"]) console[level] = (...said) => warnings.push(said.map(String).join(" "));

async function read({ client, url, messages = [], approve = null }) {
  const { HttpAgent } = await import(client);
  const agent = new HttpAgent({ url, threadId: "thread", initialMessages: messages });
  const events = [];
  let error = null;
  let pending = null;
  warnings.length = 0;
  const interrupts = [];
  const run = (parameters) =>
    agent.runAgent(
      parameters,
      {
        onEvent: ({ event }) => void events.push(event),
        onRunFinishedEvent: ({ pendingToolCallIds }) => void (pending = pendingToolCallIds),
        onRunFailed: ({ error: failed }) => void (error = String(failed)),
      },
    );
  try {
    await run({ runId: "run" });
    if (approve) {
      interrupts.push(...(agent.pendingInterrupts ?? []));
      const resume = interrupts.map(({ id, metadata }) => ({ interruptId: id, status: "resolved", payload: { approved: approve[id], ...metadata } }));
      await run({ runId: "run_2", resume });
      interrupts.push(...(agent.pendingInterrupts ?? []));
    }
  } catch (thrown) {
    error = String(thrown);
  }
  return { messages: agent.messages, events, interrupts, pending: pending ?? null, error, warnings: [...warnings] };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await read(JSON.parse(line))) + "\n");
}
