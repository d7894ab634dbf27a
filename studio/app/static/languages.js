// Which mode of the highlighter reads a file.

const TYPESCRIPT = "text/typescript";
const BY_SUFFIX = {
  py: "python", pyi: "python", rb: "ruby", go: "go", rs: "rust", swift: "swift", php: "application/x-httpd-php",
  js: "javascript", mjs: "javascript", cjs: "javascript", jsx: "jsx", ts: TYPESCRIPT, tsx: "text/typescript-jsx",
  c: "text/x-csrc", h: "text/x-c++src", cc: "text/x-c++src", cpp: "text/x-c++src", hpp: "text/x-c++src", zig: "text/x-csrc",
  cs: "text/x-csharp", java: "text/x-java", kt: "text/x-kotlin", scala: "text/x-scala", dart: "text/x-java",
  bash: "shell", sh: "shell", zsh: "shell", shell: "shell", sql: "text/x-sql",
  css: "css", scss: "text/x-scss", less: "text/x-less",
  json: "application/json", jsonl: "application/json", ndjson: "application/json",
  toml: "toml", yaml: "yaml", yml: "yaml", ini: "properties", cfg: "properties", conf: "properties",
  html: "htmlmixed", htm: "htmlmixed", vue: "htmlmixed", xml: "xml", svg: "xml", md: "markdown", markdown: "markdown",
  diff: "diff", patch: "diff",
};
export const suffixes = Object.keys(BY_SUFFIX);
const BY_NAME = {
  dockerfile: "dockerfile", makefile: "shell", python: "python", javascript: "javascript", typescript: TYPESCRIPT, rust: "rust",
};

/** Return the language of a path, or of the name behind a fence; null for one that is not known. */
export function languageOf(path) {
  const name = path.split("/").pop().toLowerCase();
  const suffix = name.split(".").pop();
  if (Object.hasOwn(BY_NAME, name)) return BY_NAME[name];
  return Object.hasOwn(BY_SUFFIX, suffix) ? BY_SUFFIX[suffix] : null;
}
