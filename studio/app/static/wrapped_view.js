// A command, or the arguments of a call: wrapped, so that nothing of what is approved hides beyond the right edge.

import { highlighted } from "/static/highlight.js";
import { element, readable } from "/static/readable.js";

const SHOWN = 20000; // characters; a sign says how many more there are, and the copy has them all
const COLOURED = 4000;

export class WrappedView {
  constructor({ language = null } = {}) {
    this.language = language;
    this.text = "";
    this.drawn = -1;
    this.inner = element("div", { class: "wrapped" });
    this.element = element("div", { class: "code", role: "region", tabindex: "0" }, this.inner);
  }

  get count() {
    return this.text.split("\n").length;
  }

  append(text) {
    this.text += text;
  }

  draw() {
    if (this.drawn === this.text.length || this.drawn > SHOWN + 1) return;
    this.drawn = this.text.length;
    const shown = readable(this.text.slice(0, SHOWN));
    const children = this.language && shown.length <= COLOURED ? this.coloured(shown) : [shown];
    this.inner.replaceChildren(...children);
    this.more?.remove();
    if (this.text.length <= SHOWN) return;
    this.more = element("p", { class: "cut" }, "More follows, which is not shown here; Copy has all of it.");
    this.element.append(this.more);
  }

  coloured(shown) {
    const children = [];
    let state = 0;
    for (const [number, line] of shown.split("\n").entries()) {
      if (number) children.push("\n");
      const [pieces, next] = highlighted(line, this.language, state);
      state = next;
      for (const [kind, text] of pieces) children.push(kind ? element("span", { class: `t-${kind}` }, text) : text);
    }
    return children;
  }
}
