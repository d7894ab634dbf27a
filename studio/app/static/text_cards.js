// A text, a refusal or a thought of an answer on the page.

import { ProseView } from "/static/prose_view.js";
import { element } from "/static/readable.js";

export class TextCard {
  constructor(type) {
    this.prose = new ProseView();
    this.element = element("div", { class: type === "refusal" ? "text refusal" : "text growing" }, this.prose.element);
  }

  append(delta) {
    this.prose.append(delta);
  }

  draw() {
    this.prose.draw();
  }

  end() {
    this.prose.finish();
    this.element.classList.remove("growing");
  }
}

export class ReasoningCard {
  constructor() {
    this.prose = new ProseView({ isPlain: true });
    this.summary = element("summary", {}, "Thinking");
    this.element = element("details", { class: "reasoning growing", open: true, "aria-label": "Reasoning" }, this.summary, this.prose.element);
  }

  append(delta) {
    this.prose.append(delta);
  }

  draw() {}

  end() {
    this.prose.finish();
    this.summary.textContent = "Reasoning";
    this.element.classList.remove("growing");
  }
}
