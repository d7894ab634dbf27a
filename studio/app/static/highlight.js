// Colour a line with the modes of CodeMirror, which read one line at a time and keep what the next one begins in.

import "/static/codemirror.js";

const { CodeMirror } = globalThis;
const KINDS = {
  keyword: "keyword", header: "keyword", hr: "number", atom: "number", number: "number",
  string: "string", "string-2": "string", comment: "comment", quote: "comment", link: "string",
  builtin: "call", def: "call", strong: "call", tag: "tag", bracket: "tag", attribute: "property", property: "property",
  meta: "decorator", qualifier: "decorator", type: "call", positive: "plus", negative: "minus",
};
const PLAIN = "plain"; // the state of a text that has no colours from here on
const DEEPEST = 400; // a state is copied for each line, so what may be open at its end is bounded
const modes = new Map();

function modeOf(language) {
  if (!modes.has(language)) modes.set(language, CodeMirror.getMode(CodeMirror.defaults, language));
  return modes.get(language);
}

const kindOf = (style) => (style ?? "").split(" ").map((word) => KINDS[word]).findLast(Boolean) ?? "";

/** Return whether more objects hang together than a state of a usual text has. */
function isDeep(state) {
  const seen = new Set([state]);
  for (const each of seen) {
    if (seen.size > DEEPEST) return true;
    for (const part of Object.values(each)) if (part && typeof part === "object") seen.add(part);
  }
  return false;
}

/** Return the pieces `[class, text]` of a line, and the state in which the next one begins; 0 begins a text. */
export function highlighted(line, language, state) {
  if (state === PLAIN) return [line ? [["", line]] : [], PLAIN];
  const stream = new CodeMirror.StringStream(line, 4, { lookAhead: () => undefined, baseToken: () => undefined });
  const pieces = [];
  const put = (kind, text) => {
    if (pieces.at(-1)?.[0] === kind) pieces.at(-1)[1] += text;
    else pieces.push([kind, text]);
  };
  let next = PLAIN;
  try {
    const mode = modeOf(language);
    const read = state ? CodeMirror.copyState(mode, state) : CodeMirror.startState(mode);
    if (!line) mode.blankLine?.(read);
    for (let idle = 0; !stream.eol() && idle < 10; ) {
      const kind = kindOf(mode.token(stream, read));
      idle = stream.pos > stream.start ? 0 : idle + 1; // a mode may change its state alone, but not for ever
      if (!idle) put(kind, stream.current());
      stream.start = stream.pos;
    }
    if (stream.eol() && !isDeep(read)) next = read;
  } catch {
    stream.start = Math.min(stream.start, line.length); // a mode may fail on a text that its author did not foresee
  }
  if (stream.start < line.length) put("", line.slice(stream.start));
  return [pieces, next];
}
