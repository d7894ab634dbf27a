// Resumes streams as useChat({ resume: true }) does: a request a line in, an answer a line out.
//   {"version": 5, "api": "http://...", "id": "chat"}
//   {"errors": [...], "status": "ready", "messages": [...]}
import { createInterface } from "node:readline";

const CLIENTS = { 5: await import("ai-5"), 6: await import("ai-6"), 7: await import("ai-7") };

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => this.messages.push(structuredClone(message));
  popMessage = () => this.messages.pop();
  replaceMessage = (index, message) => (this.messages[index] = structuredClone(message));
  snapshot = (message) => structuredClone(message);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { version, api, id } = JSON.parse(line);
  const { AbstractChat, DefaultChatTransport } = CLIENTS[version];
  class Chat extends AbstractChat {}
  const errors = [];
  const state = new State();
  const chat = new Chat({
    id,
    state,
    transport: new DefaultChatTransport({ api }),
    onError: (error) => errors.push(String(error)),
  });
  await chat.resumeStream();
  console.log(JSON.stringify({ errors, status: state.status, messages: state.messages }));
}
