// What the page asks of its server: each request with the token, which is in no cookie and in no address.

const KEY = "penstock.token";

/** Take the token out of the address, so that it is not in the history, and keep it for this window. */
export function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY) ?? "";
}

export function keepToken(token) {
  sessionStorage.setItem(KEY, token.trim().replace(/^.*token=/, ""));
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, options = {}) {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}`, ...options.headers };
  const response = await fetch(path, { ...options, headers, cache: "no-store" });
  if (response.ok) return response;
  let message = `the server answered ${response.status}`;
  try {
    message = (await response.json()).error ?? message;
  } catch {
    // an answer without JSON has no more to say
  }
  throw new Refused(response.status, message);
}

const runPath = (id) => `/api/runs/${encodeURIComponent(id)}`;

export const session = async () => (await request("/api/session")).json();
export const stop = (id) => request(`${runPath(id)}/stream`, { method: "DELETE" });
export const decide = (id, decision) =>
  request(`${runPath(id)}/decisions`, { method: "POST", body: JSON.stringify(decision) });
export const preview = async (id, call) =>
  (await (await request(`${runPath(id)}/calls/${encodeURIComponent(call)}`)).json()).preview;
export const edit = async (id, call) => (await request(`${runPath(id)}/edits/${encodeURIComponent(call)}`)).json();
export const onDisk = async (path) => (await (await request(`/api/file?path=${encodeURIComponent(path)}`)).json()).text;

export const explored = async () => (await (await request("/api/explored")).json()).streams;
export const exploredData = async (name, strategy, size) =>
  (await request(`/api/explored/data?${new URLSearchParams({ name, strategy, chunk_size: size })}`)).arrayBuffer();

/** Return the events of a text of server-sent events as it arrives: `[number, object]`. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pieces = [];
  let id = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = value.split("\n");
      for (const [index, text] of lines.entries()) {
        pieces.push(text);
        if (index === lines.length - 1) break; // the rest of this line is yet to come
        const line = pieces.join("");
        pieces = [];
        if (line.startsWith("id: ")) id = Number(line.slice(4));
        else if (line.startsWith("data: ")) yield [id, JSON.parse(line.slice(6))];
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

const LAST = new Set(["STREAM_END", "STREAM_ERROR"]);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Start a run, or with `wanted` null read one that is there, and pass each event to `take` once; a connection that
 * breaks is resumed behind the last event. Returns when the run is over; `signal` ends the reading.
 */
export async function read(id, wanted, take, { broke, signal }) {
  let last = 0;
  let failures = 0;
  for (;;) {
    try {
      const isFirst = wanted !== null && last === 0 && failures === 0;
      const response = isFirst
        ? await request("/api/runs", { method: "POST", body: JSON.stringify({ ...wanted, id }), signal })
        : await request(`${runPath(id)}/stream`, { signal, headers: last ? { "last-event-id": String(last) } : {} });
      if (response.status === 204) return "gone";
      failures = 0;
      for await (const [number, event] of events(response.body)) {
        if (event.type !== "STREAM_GAP") {
          if (number <= last) continue;
          last = number;
        }
        take(event);
        if (LAST.has(event.type)) return "over";
      }
    } catch (error) {
      if (error instanceof Refused || signal.aborted) throw error;
    }
    failures += 1;
    broke(failures);
    await pause(Math.min(8000, 250 * 2 ** failures));
  }
}
