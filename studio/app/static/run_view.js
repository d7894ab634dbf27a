// One run on the page: its events in, its cards out; drawn once a frame, and never for longer than a part of one.

import * as api from "/static/api.js";
import { cardOf } from "/static/cards.js";
import { counted, element, readable } from "/static/readable.js";

const BUDGET = 8; // milliseconds of a frame for events; what is left waits for the next one
const STATES = {
  running: "streaming",
  complete: "complete",
  paused: "paused",
  truncated: "cut off",
  interrupted: "stopped",
  failed: "failed",
};

const TOGETHER = 200; // milliseconds; what is announced within them is one text, since a reader hears the last one only
let said = [];

function announced(text) {
  said.push(text);
  if (said.length > 1) return;
  setTimeout(() => {
    document.getElementById("status").textContent = said.join("; ");
    said = [];
  }, TOGETHER);
}

export class RunView {
  /** `note`: what the history has of it; `wanted`: the request if it is new, else null; `changed`: called on changes. */
  constructor(note, wanted, changed) {
    this.note = note;
    this.changed = changed;
    this.queue = [];
    this.cards = new Map();
    this.touched = new Set();
    this.waiting = new Set();
    this.isLive = wanted !== null;
    this.leaving = new AbortController();
    this.stopButton = element("button", { type: "button", class: "stop", onclick: () => this.stop() }, "Stop");
    this.badge = element("span", { class: "badge running" }, "streaming");
    this.meta = element("p", { class: "meta" });
    this.bar = element("div", { class: "run-bar" }, this.badge, this.stopButton);
    this.items = element("div", { class: "items" });
    this.foot = element("footer", { class: "ended", hidden: true });
    this.element = element(
      "article",
      { class: "run", role: "tabpanel", id: `run-${note.id}`, "aria-labelledby": `tab-${note.id}`, "aria-busy": "true", tabindex: "-1" },
      element("header", { class: "run-head" }, element("div", {}, element("h2", { dir: "auto" }, readable(note.title)), this.meta), this.bar),
      this.items,
      this.foot,
    );
    this.describe();
    this.read(wanted);
  }

  async read(wanted) {
    try {
      const how = await api.read(this.note.id, wanted, (event) => this.take(event), { broke: (times) => this.broke(times), signal: this.leaving.signal });
      if (how === "gone" && this.note.state === "running") this.problem("The server has nothing more of this run.");
    } catch (error) {
      if (!this.leaving.signal.aborted) this.problem(error.message);
    }
  }

  /** Stop reading; the run itself goes on. */
  leave() {
    this.leaving.abort();
  }

  /** Draw what may have changed while it was hidden. */
  touchAll() {
    for (const card of this.cards.values()) card.draw();
  }

  broke(times) {
    if (times > 1) this.meta.textContent = "The connection broke; trying again …";
  }

  take(event) {
    this.queue.push(event);
    this.schedule();
  }

  schedule() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    // A page out of sight gets no frames, but its title shows that it is needed.
    if (document.hidden) setTimeout(() => this.work(), 100);
    else requestAnimationFrame(() => this.work());
  }

  work() {
    if (!this.element.isConnected) return; // it was closed since
    this.keepPlace(() => {
      const until = performance.now() + BUDGET;
      let at = 0;
      while (at < this.queue.length && performance.now() < until) this.feed(this.queue[at++]);
      this.queue.splice(0, at);
      for (const card of this.touched) card.draw();
      this.touched.clear();
    });
    this.isWaiting = false;
    if (this.queue.length) this.schedule();
  }

  /** Draw, and stay at the end of an answer that is being written, unless somebody has scrolled away from there. */
  keepPlace(draw) {
    const main = this.element.closest("main");
    const isAtEnd = main.scrollTop === this.followed || main.scrollTop + main.clientHeight > main.scrollHeight - 120;
    const isFollowing = isAtEnd && this.note.state === "running" && !this.element.hidden;
    draw();
    if (isFollowing) this.follow();
  }

  /** Go to the end, but no further than to the first question, which stays in sight below the bar. */
  follow() {
    const main = this.element.closest("main");
    const question = this.items.querySelector(".approval");
    const above = question ? question.getBoundingClientRect().top - main.getBoundingClientRect().top - this.bar.offsetHeight - 10 : Infinity;
    main.scrollTop = Math.min(main.scrollHeight, main.scrollTop + above);
    this.followed = main.scrollTop;
  }

  feed(event) {
    const key = event.segment_id ?? event.id;
    const card = this.cards.get(key);
    switch (event.type) {
      case "SEGMENT_START":
        return this.add(key, cardOf(event, this));
      case "SEGMENT_CONTENT":
        card?.append(event.payload.delta);
        if (card) this.touched.add(card);
        return undefined;
      case "SEGMENT_END":
        card?.end(event);
        if (card?.title) this.announce(`${card.title}: ${card.state.textContent}`);
        return undefined;
      case "TOOL_INVOCATION":
        return card?.sealed?.(this.isLive);
      case "INVOCATION_FAILED":
        card?.failed?.(event);
        return undefined;
      case "TOOL_CALL_STATUS":
        return this.lived(card, event);
      case "TOOL_RESULT":
      case "FILE_RESULT":
        this.waiting.delete(event.id);
        card?.result?.(event);
        this.describe();
        return this.changed(this);
      case "NOTICE":
        return this.line("notice", event.detail);
      case "OUTPUT_FAILED":
        return this.line("notice", `the answer is not valid: ${event.reason ?? ""}`);
      case "PROVIDER_EVENT":
        return this.line("provider", `${event.kind} by the provider`);
      case "ANSWER_END":
        return this.answerEnded(event);
      case "STREAM_GAP":
        return this.line("notice", "A part of this run is not kept any more; what follows begins later.");
      case "STREAM_ERROR":
        return this.over("failed", event.error.detail ?? event.error.class);
      case "STREAM_END":
        return this.over(this.status ?? "complete");
      default:
        return undefined;
    }
  }

  add(key, card) {
    this.cards.set(key, card);
    this.items.append(card.element);
    if (card.title) this.announce(`writing ${card.title}`);
  }

  lived(card, event) {
    if (event.state === "requested") {
      this.waiting.add(event.id);
      this.announce(`${card?.title ?? event.name} waits for your approval`);
    } else this.waiting.delete(event.id);
    card?.lived?.(event);
    this.describe();
    this.changed(this);
  }

  line(kind, text) {
    this.items.append(element("p", { class: `line-note ${kind}` }, readable(String(text))));
  }

  answerEnded(event) {
    this.status = event.status;
    const usage = event.usage;
    const said = [];
    if (event.model) said.push(event.model);
    if (usage?.prompt_tokens != null || usage?.prompt != null) said.push(`${counted(usage.prompt_tokens ?? usage.prompt, "token")} in`);
    if (usage?.completion_tokens != null || usage?.completion != null) said.push(`${counted(usage.completion_tokens ?? usage.completion, "token")} out`);
    if (event.finish_reason) said.push(`ended with ${event.finish_reason_raw ?? event.finish_reason}`);
    this.foot.textContent = readable(said.join("  ·  "));
    this.foot.hidden = !said.length;
  }

  over(state, message) {
    this.note.state = state;
    this.waiting.clear();
    this.element.setAttribute("aria-busy", "false");
    if (message) this.items.append(element("p", { class: "problem", role: "alert" }, readable(message)));
    this.describe();
    this.announce(`The answer is ${STATES[state]}`);
    this.changed(this);
  }

  problem(message) {
    this.over("failed", message);
  }

  describe() {
    const { state, source, started_at: at } = this.note;
    const time = new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    this.meta.textContent = readable(`${source}  ·  ${time}`);
    const isAsking = this.waiting.size > 0;
    this.badge.className = `badge ${isAsking ? "asking" : state}`;
    this.badge.textContent = isAsking ? "waits for you" : STATES[state];
    if (state !== "running" && document.activeElement === this.stopButton) this.element.focus({ preventScroll: true });
    this.stopButton.hidden = state !== "running";
  }

  async stop() {
    this.element.focus({ preventScroll: true });
    this.stopButton.disabled = true;
    try {
      await api.stop(this.note.id);
    } catch (error) {
      this.stopButton.disabled = false;
      this.line("notice", error.message);
    }
  }

  decide(decision) {
    return api.decide(this.note.id, decision);
  }

  onDisk(path) {
    return api.onDisk(path);
  }

  edit(call) {
    return api.edit(this.note.id, call);
  }

  preview(call) {
    return api.preview(this.note.id, call);
  }

  announce(text) {
    if (!this.element.hidden) announced(text);
  }
}
