// A unified diff as lines with their numbers and signs.

import { CodeView } from "/static/code_view.js";

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Return the view of a diff, and how many lines it adds and takes away. */
export function diffView(diff, language, label) {
  const marked = [];
  let added = 0;
  let removed = 0;
  let before = 0;
  let after = 0;
  let isInHunk = false;
  const put = (...line) => marked.push(line);
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      isInHunk = true;
      put("hunk", "⋯", line);
    } else if (isInHunk && line.startsWith("+")) {
      added += 1;
      put("added", String(after++), line.slice(1));
    } else if (isInHunk && line.startsWith("-")) {
      removed += 1;
      put("removed", String(before++), line.slice(1));
    } else if (isInHunk && (line.startsWith(" ") || line === "")) {
      before += 1;
      put("same", String(after++), line.slice(1));
    } else if (line.startsWith("---") || line.startsWith("+++")) {
      isInHunk = false;
    } else {
      put("hunk", "", line);
    }
  }
  const view = new CodeView({ language, label, marks: [] });
  view.isFollowing = false;
  view.put(0, marked);
  view.draw();
  return { view, added, removed };
}
