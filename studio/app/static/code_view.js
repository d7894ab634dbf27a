// Lines of code that grow: only those in sight are in the document, so that a file of any size costs the same.

import { highlighted } from "/static/highlight.js";
import { element, readable } from "/static/readable.js";

const ROW = 20;
const ALL = 400; // so many lines are in the document as they are, for the browser's own search and for print
const BESIDE = 30;
const LONGEST = 2000; // characters of a line that are drawn; the copy has them all
const COLOURED = 20000;

export class CodeView {
  /**
   * `marks`: for each line of a diff its sign and its number; without, lines are counted. `coloured`: lines that are
   * whole and have their colours, each as pieces, `[kind, text]`.
   */
  constructor({ language = null, label = "", marks = null, coloured = null } = {}) {
    this.lines = coloured?.map((pieces) => pieces.map(([, text]) => text).join("")) ?? [""];
    this.coloured = coloured;
    this.language = language;
    this.isFollowing = true;
    this.marks = marks;
    this.states = [0];
    this.rows = new Map();
    this.dirtyFrom = 0;
    this.space = element("div", { class: "space" });
    this.element = element("div", { class: "code", role: "region", tabindex: "0", "aria-label": label }, this.space);
    this.element.addEventListener("scroll", () => {
      const { scrollTop, clientHeight, scrollHeight } = this.element;
      this.isFollowing = scrollTop + clientHeight > scrollHeight - ROW * 2;
      this.draw(false);
    }, { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  get count() {
    if (this.marks) return this.marks.length;
    return this.lines.length - (this.lines.length > 1 && this.lines.at(-1) === "" ? 1 : 0);
  }

  get text() {
    return this.lines.join("\n");
  }

  append(text) {
    const [first, ...more] = text.split("\n");
    const last = this.lines.length - 1;
    this.states.length = Math.min(this.states.length, last + 1);
    this.lines[last] += first;
    for (const line of more) this.lines.push(line);
    this.dirtyFrom = Math.min(this.dirtyFrom, last);
  }

  /** Put lines with their marks, `[kind, number, text]`, in place of all from one line on. */
  put(from, marked) {
    for (const [number, row] of this.rows) {
      if (number < from) continue;
      row.remove();
      this.rows.delete(number);
    }
    this.lines.length = this.marks.length = from;
    for (const [kind, number, text] of marked) {
      this.marks.push({ kind, number });
      this.lines.push(text);
    }
    this.states.length = Math.min(this.states.length, from + 1);
    this.dirtyFrom = Math.min(this.dirtyFrom, from);
  }

  /** Bring the document up to date with the lines; once a frame. `mayFollow`: not while somebody scrolls. */
  draw(mayFollow = true) {
    const count = this.count;
    const view = this.element;
    if (this.drawn !== count) {
      this.space.style.height = `${count * ROW}px`;
      view.style.setProperty("--digits", String(String(count).length));
      this.drawn = count;
    }
    // Also without new lines: while it was hidden, its end could not be scrolled to.
    if (mayFollow && this.isFollowing && view.clientHeight) view.scrollTop = view.scrollHeight;
    let from = 0;
    let to = count;
    if (count > ALL) {
      from = Math.max(0, Math.floor(view.scrollTop / ROW) - BESIDE);
      to = Math.min(count, Math.ceil((view.scrollTop + view.clientHeight) / ROW) + BESIDE);
    }
    for (const [number, row] of this.rows) {
      if (number < from || number >= to) {
        row.remove();
        this.rows.delete(number);
      }
    }
    let before = null;
    for (let number = from; number < to; number += 1) {
      const there = this.rows.get(number);
      const row = there ?? this.newRow(number, before);
      if (!there || number >= this.dirtyFrom) this.fill(row, number);
      before = row;
    }
    this.dirtyFrom = Math.max(0, this.lines.length - 1);
  }

  /** Make the row of a line behind the row before it, so that the order of reading is that of the text. */
  newRow(number, before) {
    const mark = this.marks?.[number];
    const row = element(
      "div",
      { class: mark ? `line ${mark.kind}` : "line" },
      element("span", { class: "number", "aria-hidden": "true" }, mark ? mark.number : String(number + 1)),
      element("span", { class: "source" }),
    );
    row.style.top = `${number * ROW}px`;
    this.rows.set(number, row);
    if (before) before.after(row);
    else this.space.prepend(row);
    return row;
  }

  fill(row, number) {
    const line = this.lines[number];
    const shown = readable(line.length > LONGEST ? line.slice(0, LONGEST) : line);
    const source = row.lastChild;
    const pieces = this.pieces(number, shown, line.length);
    const children = pieces.map(([kind, text]) => (kind ? element("span", { class: `t-${kind}` }, text) : text));
    if (line.length > LONGEST) {
      const more = (line.length - LONGEST).toLocaleString("en");
      children.push(element("span", { class: "cut" }, ` … ${more} more characters`));
    }
    if (!children.length) children.push("\u00a0");
    source.replaceChildren(...children);
  }

  pieces(number, shown, length) {
    if (this.coloured && length <= LONGEST) return this.coloured[number].map(([kind, text]) => [kind, readable(text)]);
    if (!this.language || number > COLOURED || length > LONGEST) return [["", shown]];
    const state = this.stateAt(number);
    return highlighted(shown, this.language, state)[0];
  }

  /** Return the state in which a line begins; each line is looked at once. */
  stateAt(number) {
    for (let at = this.states.length - 1; at < number; at += 1) {
      const line = this.lines[at];
      this.states.push(line.length > LONGEST ? this.states[at] : highlighted(line, this.language, this.states[at])[1]);
    }
    return this.states[number];
  }
}
