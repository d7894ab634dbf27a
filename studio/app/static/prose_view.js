// Text as it grows: a line at a time becomes a heading, a point of a list, or a block of code. Never HTML.

import { CodeView } from "/static/code_view.js";
import { languageOf } from "/static/languages.js";
import { element, readable } from "/static/readable.js";

const LONGEST = 4000; // characters of one element; a longer line goes on in another one
const TOGETHER = 200; // lines of one block, which a browser leaves out of its layout while it is out of sight
const INLINE = /`[^`]+`|\*\*[^*\s][^*]*\*\*/g;

export class ProseView {
  constructor({ isPlain = false } = {}) {
    this.element = element("div", { class: "prose" });
    this.isPlain = isPlain;
    this.fence = null;
    this.length = 0;
    this.newBlock();
    this.newLine();
  }

  append(text) {
    this.length += text.length;
    const [first, ...more] = text.split("\n");
    this.grow(first);
    for (const line of more) {
      this.endLine();
      this.newLine();
      this.grow(line);
    }
  }

  finish() {
    this.endLine();
    this.fence?.draw();
  }

  draw() {
    this.fence?.draw();
  }

  newBlock() {
    this.block = element("div", { class: "block" });
    this.lines = 0;
    this.element.append(this.block);
  }

  newLine(name = "p") {
    this.text = "";
    this.line = null;
    this.lineName = name;
  }

  grow(text) {
    if (!text) return;
    if (this.fence) {
      this.text += text;
      return;
    }
    for (let at = 0; at < text.length; ) {
      const room = LONGEST - this.text.length;
      const piece = text.slice(at, at + room);
      at += piece.length;
      if (!this.line) {
        this.line = element(this.lineName, { dir: "auto" }, "");
        if (this.isLong) this.line.className = "goes-on";
        this.put(this.line);
      }
      this.text += piece;
      this.line.firstChild.appendData(readable(piece));
      if (this.text.length >= LONGEST) {
        this.isLong = true;
        this.newLine();
      }
    }
  }

  put(made) {
    if (this.lines >= TOGETHER) this.newBlock();
    this.lines += 1;
    this.block.append(made);
  }

  endLine() {
    const isLong = this.isLong;
    this.isLong = false;
    if (this.fence) {
      if (/^\s*```\s*$/.test(this.text)) {
        this.fence.draw();
        this.fence = null;
      } else this.fence.append(`${this.text}\n`);
      return;
    }
    if (this.isPlain || isLong) return;
    if (!this.line) {
      if (this.lines) this.block.lastElementChild?.classList.add("ends-paragraph");
      return;
    }
    const fence = /^\s*```\s*([\w.+-]*)\s*$/.exec(this.text);
    if (fence) {
      this.fence = new CodeView({ language: languageOf(fence[1]), label: `Code ${fence[1]}` });
      this.line.replaceWith(this.fence.element);
      return;
    }
    const heading = /^(#{1,4})\s+(.*)$/.exec(this.text);
    const point = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/.exec(this.text);
    if (heading) this.replace(element("p", { class: `heading h${heading[1].length}`, dir: "auto" }), heading[2]);
    else if (point) this.replace(element("p", { class: "point", dir: "auto", "data-mark": point[1] ? `${point[1]}.` : "•" }), point[2]);
    else if (this.text.search(INLINE) >= 0) this.replace(this.line.cloneNode(false), this.text);
  }

  replace(made, text) {
    let at = 0;
    for (const found of text.matchAll(INLINE)) {
      made.append(readable(text.slice(at, found.index)));
      const isCode = found[0].startsWith("`");
      const inside = found[0].slice(isCode ? 1 : 2, isCode ? -1 : -2);
      made.append(element(isCode ? "code" : "strong", {}, readable(inside)));
      at = found.index + found[0].length;
    }
    made.append(readable(text.slice(at)));
    this.line.replaceWith(made);
  }
}
