// The changes of a file while it is written: each line that is whole is compared with the file on the disk, once.

import { CodeView } from "/static/code_view.js";

const NEAR = 3; // so many lines may be skipped for any line; for one that the file has only once, as many as it takes

function linesOf(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export class LiveDiff {
  /** `before`: the text on the disk. The changes are right at every moment, and need not be the fewest. */
  constructor(before, language, label) {
    this.before = linesOf(before);
    this.places = new Map();
    for (const [at, line] of this.before.entries()) this.places.set(line, this.places.has(line) ? -1 : at);
    this.view = new CodeView({ language, label, marks: [] });
    this.at = 0; // the line of the old file that is next
    this.compared = 0; // so many lines of the new one are
    this.rows = 0; // so many rows are theirs
    this.run = []; // the new lines since the last one that both have
    this.added = 0;
    this.removed = 0;
  }

  /** Take the lines so far. The last one may grow on, unless the file is whole: then what is left of the old one is gone. */
  update(lines, isWhole = false) {
    const whole = isWhole ? linesOf(lines.join("\n")) : lines.slice(0, -1);
    for (; this.compared < whole.length; this.compared += 1) this.take(whole[this.compared]);
    if (isWhole) this.reach(this.before.length, []);
    else this.grow(lines.at(-1));
  }

  take(line) {
    const number = String(this.compared + 1);
    const found = this.find(line);
    if (found < 0) {
      this.add([["added", number, line]]);
      this.run.push(["added", number, line]);
      this.added += 1;
    } else this.reach(found, [["same", number, line]]);
  }

  find(line) {
    for (let at = this.at; at <= this.at + NEAR && at < this.before.length; at += 1) if (this.before[at] === line) return at;
    const place = this.places.get(line) ?? -1;
    return place >= this.at && line.trim() ? place : -1;
  }

  /** The old lines up to one are gone; they come before those that stand in their place. */
  reach(end, same) {
    const gone = this.before.slice(this.at, end).map((line, index) => ["removed", String(this.at + index + 1), line]);
    if (gone.length) this.rows -= this.run.length;
    this.add([...gone, ...(gone.length ? this.run : []), ...same]);
    this.removed += gone.length;
    this.at = end + same.length;
    this.run = [];
  }

  add(marked) {
    this.view.put(this.rows, marked);
    this.rows += marked.length;
  }

  /** Show the line that is being written, which is not compared yet. */
  grow(line) {
    const kind = this.before[this.at]?.startsWith(line) ? "same" : "added";
    this.view.put(this.rows, line ? [[kind, String(this.compared + 1), line]] : []);
  }
}
