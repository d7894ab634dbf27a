// What the highlighter knows of languages: data only.

const words = (text) => new Set(text.split(" "));
const C_BLOCKS = [["/*", "*/", "comment"]];

const PYTHON = {
  comments: ["#"],
  blocks: [['"""', '"""', "string"], ["'''", "'''", "string"]],
  quotes: "\"'",
  prefixes: "[rbfuRBFU]{0,2}",
  keywords: words(
    "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield self",
  ),
  decorators: true,
};
const SCRIPT = {
  comments: ["//"],
  blocks: [...C_BLOCKS, ["`", "`", "string"]],
  quotes: "\"'",
  keywords: words(
    "abstract as async await break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of private public return static super switch this throw true try type typeof undefined var void while yield",
  ),
};
const C_LIKE = {
  comments: ["//"],
  blocks: C_BLOCKS,
  quotes: "\"'",
  keywords: words(
    "auto bool boolean break case catch char class const continue default defer delete do double else enum extern false final float fn for func go if impl import in int interface let long loop match mod mut namespace new nil null override package private protected pub public return self short signed sizeof static string struct super switch template this throw throws trait true try type typedef union unsigned use using var virtual void volatile where while",
  ),
};
const SHELL = {
  comments: ["#"],
  blocks: [],
  quotes: "\"'",
  keywords: words("case do done elif else esac exit export fi for function if in local read return set shift then until while cd echo"),
  variables: true,
};
const CSS = { comments: [], blocks: C_BLOCKS, quotes: "\"'", keywords: words("important"), properties: true };
const JSON_TEXT = { comments: [], blocks: [], quotes: '"', keywords: words("true false null"), keys: true };
const CONFIG = { comments: ["#", ";"], blocks: [], quotes: "\"'", keywords: words("true false null yes no on off"), properties: true };
const SQL = {
  comments: ["--"],
  blocks: C_BLOCKS,
  quotes: "\"'",
  keywords: words(
    "select from where insert into values update set delete create table index view drop alter add primary key foreign references not null and or in is as join left right inner outer on group by order having limit offset union all distinct SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX VIEW DROP ALTER ADD PRIMARY KEY FOREIGN REFERENCES NOT NULL AND OR IN IS AS JOIN LEFT RIGHT INNER OUTER ON GROUP BY ORDER HAVING LIMIT OFFSET UNION ALL DISTINCT",
  ),
};

export const MARKUP = { isMarkup: true, blocks: [["<!--", "-->", "comment"]] };
export const MARKDOWN = { isMarkdown: true };
const PATCH = { isPatch: true };

const BY_SUFFIX = {
  py: PYTHON, pyi: PYTHON,
  js: SCRIPT, jsx: SCRIPT, mjs: SCRIPT, cjs: SCRIPT, ts: SCRIPT, tsx: SCRIPT,
  c: C_LIKE, h: C_LIKE, cc: C_LIKE, cpp: C_LIKE, hpp: C_LIKE, cs: C_LIKE, go: C_LIKE, java: C_LIKE, kt: C_LIKE,
  php: C_LIKE, rs: C_LIKE, scala: C_LIKE, swift: C_LIKE, dart: C_LIKE, zig: C_LIKE,
  bash: SHELL, sh: SHELL, zsh: SHELL, shell: SHELL,
  css: CSS, scss: CSS, less: CSS,
  json: JSON_TEXT, jsonl: JSON_TEXT, ndjson: JSON_TEXT,
  toml: CONFIG, yaml: CONFIG, yml: CONFIG, ini: CONFIG, cfg: CONFIG, conf: CONFIG,
  rb: { ...PYTHON, blocks: [], keywords: words("begin class def do else elsif end ensure false for if in module nil not or raise require rescue return self then true unless until when while yield") },
  sql: SQL,
  html: MARKUP, htm: MARKUP, xml: MARKUP, svg: MARKUP, vue: MARKUP,
  md: MARKDOWN, markdown: MARKDOWN,
  diff: PATCH, patch: PATCH,
};
const BY_NAME = { dockerfile: SHELL, makefile: SHELL, python: PYTHON, javascript: SCRIPT, typescript: SCRIPT, rust: C_LIKE };

/** Return the language of a path, or of the name behind a fence; null for one that is not known. */
export function languageOf(path) {
  const name = path.split("/").pop().toLowerCase();
  const suffix = name.split(".").pop();
  if (Object.hasOwn(BY_NAME, name)) return BY_NAME[name];
  return Object.hasOwn(BY_SUFFIX, suffix) ? BY_SUFFIX[suffix] : null;
}
