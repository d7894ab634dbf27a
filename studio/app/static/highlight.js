// Colour a line: pieces of text with a class each. Linear, and each line alone but for the block that it begins in.

const PATCHED = [["+++", "comment"], ["---", "comment"], ["@@", "number"], ["***", "number"], ["+", "plus"], ["-", "minus"]];
const compiled = new WeakMap();
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

function pattern(language) {
  if (compiled.has(language)) return compiled.get(language);
  const parts = [];
  if (language.blocks?.length) parts.push(`(?<block>${language.blocks.map(([open]) => escaped(open)).join("|")})`);
  if (language.isMarkup) parts.push(`(?<tag><[/!?]?[A-Za-z][\\w:.-]*|/?>)`, `(?<string>"[^"]*"|'[^']*')`, `(?<property>[\\w:@.-]+(?==))`);
  else {
    if (language.comments.length) parts.push(`(?<comment>(?:${language.comments.map(escaped).join("|")}).*)`);
    if (language.keys) parts.push(`(?<property>"(?:[^"\\\\]|\\\\.)*"(?=\\s*:))`);
    const prefix = language.prefixes ?? "";
    const strings = [...language.quotes].map((quote) => `${quote}(?:[^${quote}\\\\]|\\\\.)*(?:${quote}|$)`);
    parts.push(`(?<string>${prefix}(?:${strings.join("|")}))`);
    if (language.decorators) parts.push(`(?<decorator>@[\\w.]+)`);
    if (language.variables) parts.push(`(?<property>\\$\\{?[\\w@#?*!-]+\\}?|(?<=^|\\s)--?[\\w-]+)`);
    else if (language.properties) parts.push(`(?<property>[\\w.-]+(?=\\s*[:=]))`);
    parts.push(`(?<number>\\b\\d[\\w.]*)`, `(?<call>[A-Za-z_]\\w*(?=\\())`, `(?<word>[A-Za-z_]\\w*)`);
  }
  const made = new RegExp(parts.join("|"), "g");
  compiled.set(language, made);
  return made;
}

/** Return the pieces `[class, text]` of a line, and the state in which the next one begins; 0 is outside of blocks. */
export function highlighted(line, language, state) {
  if (language.isMarkdown) return markdown(line, state);
  if (language.isPatch) return [[[PATCHED.find(([begin]) => line.startsWith(begin))?.[1] ?? "", line]], 0];
  const pieces = [];
  let at = 0;
  const put = (kind, text) => text && pieces.push([kind, text]);
  const inBlock = (number, from) => {
    const [, close, kind] = language.blocks[number - 1];
    const end = line.indexOf(close, from);
    const until = end < 0 ? line.length : end + close.length;
    put(kind, line.slice(at, until));
    at = until;
    return end < 0 ? number : 0;
  };
  if (state) state = inBlock(state, 0);
  const expression = pattern(language);
  while (!state && at < line.length) {
    expression.lastIndex = at;
    const found = expression.exec(line);
    if (!found) break;
    put("", line.slice(at, found.index));
    at = found.index;
    const kind = Object.keys(found.groups).find((each) => found.groups[each] !== undefined);
    if (kind === "block") {
      const number = language.blocks.findIndex(([open]) => open === found[0]) + 1;
      state = inBlock(number, at + found[0].length);
      continue;
    }
    const isKeyword = (kind === "word" || kind === "call") && language.keywords.has(found[0]);
    put(isKeyword ? "keyword" : kind === "word" ? "" : kind, found[0]);
    at += found[0].length;
  }
  put("", line.slice(at));
  return [pieces, state];
}

function markdown(line, state) {
  const isFence = /^\s*(```|~~~)/.test(line);
  if (isFence) return [[["comment", line]], state ? 0 : 1];
  if (state || /^( {4}|\t)/.test(line)) return [[["string", line]], state];
  if (/^#{1,6}\s/.test(line)) return [[["keyword", line]], 0];
  const pieces = [];
  let at = 0;
  for (const found of line.matchAll(/`[^`]+`|\*\*[^*]+\*\*|^\s*(?:[-*+]|\d+[.)])(?=\s)|^\s*\|?[-:| ]{3,}$/g)) {
    if (found.index > at) pieces.push(["", line.slice(at, found.index)]);
    pieces.push([found[0].startsWith("`") ? "string" : found[0].startsWith("**") ? "call" : "number", found[0]]);
    at = found.index + found[0].length;
  }
  if (at < line.length) pieces.push(["", line.slice(at)]);
  return [pieces, 0];
}
