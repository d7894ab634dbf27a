// A chat with an agent whose calls may wait for a yes. ai_sdk_agent.py serves it, and says how.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses as allAreAnswered } from "ai";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";

const id = (sessionStorage.agent ??= crypto.randomUUID());
const answer = `/api/chat/${id}/stream`;
const before = JSON.parse(sessionStorage.said ?? "[]"); // without what came of an answer that goes on
const keep = (messages) => (sessionStorage.said = JSON.stringify(messages));
const goesOn = (message) => // whether the rest of an answer is to come
  message?.role === "user" || message?.parts.some((part) => part.state === "approval-responded");

const ask = async (...request) => {
  const response = await fetch(...request);
  transport.resumeStreamIsReplay = !response.headers.has("x-run-id"); // what was stored is the whole answer
  return response;
};
const transport = new DefaultChatTransport({ fetch: ask });
const chat = { id, transport, messages: before, resume: goesOn(before.at(-1)), sendAutomaticallyWhen: allAreAnswered };
const WORDS = {
  "input-streaming": "writing",
  "input-available": "running",
  "approval-requested": "waits for you",
  "approval-responded": "answered",
  "output-available": "done",
  "output-denied": "denied",
};

function Call({ part, approve }) {
  const { toolName, state, input, output, errorText, approval } = part;
  return <figure className={state}>
    <figcaption><b>{toolName}</b> <i>{errorText ?? WORDS[state]}</i></figcaption>
    <div><pre>{typeof input === "string" ? input : JSON.stringify(input)}{output !== undefined && `\n→ ${JSON.stringify(output)}`}</pre></div>
    {state === "approval-requested" && <footer>
      <button onClick={() => approve({ id: approval.id, approved: true })}>Run it</button>
      <button onClick={() => approve({ id: approval.id, approved: false, reason: "the user said no" })}>No</button>
    </footer>}
  </figure>;
}

function Part({ part, approve }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "reasoning") return <p className="thought">{part.text}</p>;
  return part.type === "dynamic-tool" ? <Call {...{ part, approve }} /> : null;
}

function Chat() {
  const onFinish = ({ messages, finishReason }) => finishReason && keep(messages); // not if the connection broke
  const { messages, sendMessage, addToolApprovalResponse: approve, status, error } = useChat({ ...chat, onFinish });
  const busy = status === "submitted" || status === "streaming";
  useEffect(() => void (goesOn(messages.at(-1)) && keep(messages)), [messages]);
  useEffect(() => void scrollTo(0, document.body.scrollHeight), [messages, status]);
  const send = (event) => {
    event.preventDefault();
    if (!busy) sendMessage({ text: event.target.text.value }), event.target.reset();
  };
  const stop = () => fetch(answer, { method: "DELETE" }); // ends it for all its readers, and the tools that run
  return <main>
    {messages.map(({ id, role, parts, metadata }) => <article key={id} className={role}>
      {parts.map((part, key) => <Part key={key} {...{ part, approve }} />)}
      {metadata?.usage && <footer>{metadata.model}, {metadata.usage.totalTokens} tokens</footer>}
    </article>)}
    {error && <p role="alert">{error.message}</p>}
    <form onSubmit={send}>
      <input name="text" aria-label="Message" placeholder="How is the weather?" autoFocus required />
      {busy ? <button type="button" onClick={stop}>Stop</button> : <button>Send</button>}
    </form>
  </main>;
}

createRoot(document.getElementById("root")).render(<Chat />);
