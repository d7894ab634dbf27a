// Reads streams with the official clients of the AI SDK: a request a line in, an answer a line out.
//   {"version": 5, "api": "http://...", "chat": false, "messages": [...], "approve": {"call_1": true}}
//   {"errors": [...], "aborts": [...], "deltas": {...}, "data": [...], "message": {...}}
// With "chat" it is what useChat does, AbstractChat; else readUIMessageStream. What "approve" says is answered to calls
// that wait, and the chat sends the answers by itself.
import { createInterface } from "node:readline";

const CLIENTS = { 5: await import("ai-5"), 6: await import("ai-6"), 7: await import("ai-7") };
const ASKED = [{ id: "asked", role: "user", parts: [{ type: "text", text: "Hi" }] }];

class State {
  status = "ready";
  error = undefined;
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = (message) => this.messages.push(structuredClone(message));
  popMessage = () => this.messages.pop();
  replaceMessage = (index, message) => (this.messages[index] = structuredClone(message));
  snapshot = (message) => structuredClone(message);
}

function counted(stream, answer) {
  const count = new TransformStream({
    transform(chunk, controller) {
      if (chunk.type === "tool-input-delta") {
        answer.deltas[chunk.toolCallId] = (answer.deltas[chunk.toolCallId] ?? 0) + 1;
      }
      if (chunk.type === "abort") answer.aborts.push(chunk.reason ?? "");
      if (chunk.type === "finish") answer.finish = chunk.finishReason;
      if (chunk.transient) answer.data.push(chunk);
      controller.enqueue(chunk);
    },
  });
  return stream.pipeThrough(count);
}

async function read({ version, api, messages = ASKED }, answer) {
  const { DefaultChatTransport, readUIMessageStream } = CLIENTS[version];
  const transport = new DefaultChatTransport({ api });
  const stream = await transport.sendMessages({ chatId: "c", trigger: "submit-message", messages });
  const onError = (error) => answer.errors.push(String(error));
  for await (const message of readUIMessageStream({ stream: counted(stream, answer), onError })) {
    answer.message = message;
  }
}

async function chat({ version, api, messages = [], approve = {} }, answer) {
  const { AbstractChat, DefaultChatTransport } = CLIENTS[version];
  const sendAutomaticallyWhen = CLIENTS[version].lastAssistantMessageIsCompleteWithApprovalResponses;
  class Chat extends AbstractChat {}
  const state = new State(structuredClone(messages));
  let finished;
  const made = new Chat({
    id: "c",
    state,
    transport: new DefaultChatTransport({ api }),
    sendAutomaticallyWhen,
    onData: (part) => answer.data.push(part),
    onError: (error) => answer.errors.push(String(error)),
    onFinish: () => finished?.(),
  });
  await made.sendMessage(messages.length ? undefined : { text: "Hi" });
  const waiting = () => state.messages.at(-1).parts.filter((part) => part.state === "approval-requested");
  for (let asked = waiting(); asked.some((part) => part.toolCallId in approve); asked = waiting()) {
    const next = new Promise((resolve) => (finished = resolve));
    for (const { approval, toolCallId } of asked) {
      await made.addToolApprovalResponse({ id: approval.id, approved: approve[toolCallId], reason: "asked" });
    }
    await next;
  }
  answer.status = state.status;
  answer.messages = state.messages;
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = { errors: [], aborts: [], deltas: {}, data: [] };
  try {
    await (request.chat ? chat : read)(request, answer);
  } catch (error) {
    answer.errors.push(`raised ${error}`);
  }
  console.log(JSON.stringify(answer));
}
