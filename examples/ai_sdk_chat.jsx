// A chat that shows calls and files while a model writes them. ai_sdk_chat.py serves it, and says how.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const id = (sessionStorage.id ??= crypto.randomUUID());
const before = JSON.parse(sessionStorage.messages ?? "[]"); // without an answer that was not read to its end
const keep = (messages) => (sessionStorage.messages = JSON.stringify(messages));
const answer = `/api/chat/${id}/stream`;
const prepareReconnectToStreamRequest = () => ({ api: `${answer}?last_event_id=0` }); // also one that has ended
const transport = new DefaultChatTransport({ prepareReconnectToStreamRequest });
const chat = { id, transport, messages: before, resume: before.at(-1)?.role === "user" };
const WORDS = { "input-streaming": "writing", "input-available": "complete", "output-available": "done" };

function Part({ part, parts, written }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "reasoning") return <p className="thought">{part.text}</p>;
  if (part.type !== "dynamic-tool") return null;
  const file = parts.find((each) => each.type === "data-segment" && each.id === part.toolCallId)?.data;
  const input = typeof part.input === "string" ? part.input : JSON.stringify(part.input, null, 1);
  return <figure className={part.state}>
    <figcaption>
      <b>{part.toolName}</b> <span>{file?.metadata?.path}</span> <i>{part.errorText ?? WORDS[part.state]}</i>
    </figcaption>
    <div><pre>{file ? (file.content ?? written[part.toolCallId]) : input}</pre></div>
  </figure>;
}

function Chat() {
  const [written, setWritten] = useState({}); // what there is of the files, by the ids of their calls
  const onData = ({ type, id, data }) => {
    if (type === "data-segment") setWritten((so) => ({ ...so, [id]: "" }));
    if (type === "data-segment-delta") setWritten((so) => ({ ...so, [data.id]: so[data.id] + data.delta }));
  };
  const onFinish = ({ messages, finishReason }) => finishReason && keep(messages); // not if the connection broke
  const { messages, sendMessage, status, error } = useChat({ ...chat, onData, onFinish });
  const busy = status === "submitted" || status === "streaming";
  useEffect(() => void (messages.at(-1)?.role === "user" && keep(messages)), [messages]);
  useEffect(() => void scrollTo(0, document.body.scrollHeight), [messages, status, written]);
  const send = (event) => {
    event.preventDefault();
    if (!busy) sendMessage({ text: event.target.text.value }), event.target.reset();
  };
  const stop = () => fetch(answer, { method: "DELETE" }); // ends it for all its readers, and at the provider
  return <main>
    {messages.map(({ id, role, parts, metadata }) => <article key={id} className={role}>
      {parts.map((part, key) => <Part key={key} {...{ part, parts, written }} />)}
      {metadata?.usage && <footer>{metadata.model}, {metadata.usage.totalTokens} tokens</footer>}
    </article>)}
    {error && <p role="alert">{error.message}</p>}
    <form onSubmit={send}>
      <input name="text" aria-label="Message" placeholder="Write a page about herbs" autoFocus required />
      {busy ? <button type="button" onClick={stop}>Stop</button> : <button>Send</button>}
    </form>
  </main>;
}

createRoot(document.getElementById("root")).render(<Chat />);
