// One segment of an answer on the page: a text, a thought, a file, a command, a call.

import { CodeView } from "/static/code_view.js";
import { diffView } from "/static/diff_view.js";
import { languageOf } from "/static/languages.js";
import { LiveDiff } from "/static/live_diff.js";
import { counted, element, readable } from "/static/readable.js";
import { terminalLines, terminalText, withoutCodes } from "/static/terminal_text.js";
import { ReasoningCard, TextCard } from "/static/text_cards.js";
import { WrappedView } from "/static/wrapped_view.js";

const FILES = new Set(["write_file", "edit_file", "patch_file"]);
const EVERY = 250; // milliseconds from one question about an edit to the next
const ENDED = { truncated: "cut off", interrupted: "stopped", failed: "failed" };
const SHELL = languageOf("a.sh");
const JSON_TEXT = languageOf("a.json");
const PATCH = languageOf("a.patch");

/** Return what shows a segment, from its START. */
export function cardOf(start, run) {
  const type = start.segment_type;
  if (type === "text" || type === "refusal") return new TextCard(type);
  if (type === "reasoning") return new ReasoningCard();
  return new CallCard(start, run);
}

class CallCard {
  constructor(start, run) {
    const metadata = start.payload.metadata ?? {};
    this.id = start.segment_id;
    this.run = run;
    this.type = start.segment_type;
    this.name = metadata.tool_name ?? this.type;
    this.path = metadata.path ?? "";
    this.isFile = FILES.has(this.type);
    this.begunAt = performance.now();
    this.label = element("span", { class: "label" });
    this.state = element("span", { class: "state" });
    this.views = element("span", { class: "views", role: "group", "aria-label": "What is shown" });
    this.copy = element("button", { type: "button", class: "plain", onclick: () => this.copyText() }, "Copy");
    this.head = element("header", {}, element("span", { class: `kind ${this.kind}`, "aria-hidden": "true" }, this.sign), this.label, this.state, this.views, this.copy);
    this.code = new (this.isFile ? CodeView : WrappedView)({ language: this.language });
    this.body = element("div", { class: "views-body" }, this.code.element);
    this.element = element("section", { class: `card ${this.kind} growing`, tabindex: "-1" }, this.head, element("div", { class: "flow", "aria-hidden": "true" }), this.body);
    this.named(metadata);
    this.say("writing");
    if (this.type === "write_file" && this.path) this.compare();
  }

  get kind() {
    return this.isFile ? "file" : this.type === "run_bash" ? "command" : "tool";
  }

  get sign() {
    return { file: "▤", command: "❯", tool: "ƒ" }[this.kind];
  }

  get language() {
    if (this.type === "run_bash") return SHELL;
    if (!this.isFile) return JSON_TEXT;
    return this.type === "write_file" ? languageOf(this.path) : PATCH;
  }

  /** Show what the call is about, as far as it is known. */
  named(metadata) {
    if (metadata.path && metadata.path !== this.path) {
      this.path = metadata.path;
      this.code.language = this.language;
    }
    const folder = this.path.slice(0, this.path.lastIndexOf("/") + 1);
    const title = this.path
      ? [element("span", { class: "folder" }, readable(folder)), element("b", {}, readable(this.path.slice(folder.length)))]
      : [element("b", {}, this.type === "run_bash" ? "Command" : readable(this.name))];
    const verb = this.path || this.type === "run_bash" ? element("span", { class: "verb" }, readable(this.name)) : null;
    const cwd = metadata.cwd ? element("span", { class: "verb" }, `in ${readable(String(metadata.cwd))}`) : null;
    this.label.replaceChildren(...title, ...[verb, cwd].filter(Boolean));
    const what = this.path ? `${this.name} ${this.path}` : this.name;
    this.title = readable(what);
    this.element?.setAttribute("aria-label", this.title);
    this.code.element.setAttribute("aria-label", `${this.title}, content`);
  }

  append(delta) {
    this.firstAt ??= performance.now();
    this.code.append(delta);
  }

  draw() {
    this.code.draw();
    this.live?.draw();
    if (this.isEdit) this.followEdit();
    if (!this.isOver) this.say("writing");
  }

  /** Ask for the counts of the edit so far, and what of it does not match, while lines come, and at its end. */
  async followEdit() {
    if (this.isAsking) return;
    this.isAsking = true;
    const seen = () => `${this.code.count} ${Boolean(this.isOver)}`;
    let asked;
    do {
      asked = seen();
      try {
        const { counts, faults } = await this.run.edit(this.id);
        this.counts = counts;
        for (const fault of faults) this.note("bad", fault);
        if (["writing", "written"].includes(this.stateName)) this.say(this.stateName);
      } catch {
        // what does not match is told with the result, too
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY));
    } while (asked !== seen());
    this.isAsking = false;
  }

  get isEdit() {
    return this.isFile && this.type !== "write_file";
  }

  /** Show what changes in the file on the disk, if there is one, while it is written. */
  async compare() {
    let before = null;
    try {
      before = await this.run.onDisk(this.path);
    } catch {
      // the changes come with the question, too
    }
    if (before === null || this.isOver) return;
    const diff = new LiveDiff(before, this.language, `${this.title}, changes so far`);
    const counts = this.offer(diff.view, true);
    this.live = {
      draw: (isWhole = false) => {
        diff.update(this.code.lines, isWhole);
        counts(diff.added, diff.removed);
        if (!diff.view.element.hidden) diff.view.draw();
      },
    };
    this.live.draw();
  }

  end(event) {
    const { status, reason, metadata = {} } = event.payload;
    this.isOver = true;
    this.named(metadata);
    this.code.draw();
    this.live?.draw(status === "complete");
    this.live = null;
    this.element.classList.remove("growing");
    if (this.isEdit) this.followEdit();
    if (status === "complete") this.say("written");
    else this.say("bad", `${this.undone(ENDED[status] ?? status)}${reason && reason !== status ? `: ${reason}` : ""}`);
    if (this.code.text === "" && !this.isFile) this.code.element.hidden = true;
  }

  /** Set the sign of its state: `writing`, `written`, `asking`, `running`, `good`, `bad`. */
  say(state, words) {
    const size = this.isFile ? [counted(this.code.count, "line"), this.counts].filter(Boolean).join(" · ") : "";
    const said = words ?? { writing: `writing ${size}`, written: size || "complete", running: "running" }[state];
    const key = `${state} ${said}`;
    if (key === this.said) return;
    this.said = key;
    this.stateName = words ? "" : state;
    this.state.className = `state ${state}`;
    this.state.textContent = readable(said.trim());
  }

  /** The call is whole and valid. How long its content was on the page before that is only known while it is live. */
  sealed(isLive) {
    this.isSealed = true;
    const seconds = (performance.now() - this.firstAt) / 1000;
    if (!isLive || !this.firstAt || seconds < 0.3) return;
    const early = element("span", { class: "early" }, `on the page ${seconds.toFixed(1)} s before the call was complete`);
    this.label.append(early);
  }

  undone(why) {
    return `${this.isFile ? "not written" : "not run"}: ${why}`;
  }

  failed(event) {
    const isCut = event.reason in ENDED;
    const told = (each) => each.msg ?? each.message ?? (each.expected ? `expected ${each.expected}, found ${each.found ?? "the end"}` : "");
    const why = isCut ? "" : [...new Set(event.errors?.map(told).filter(Boolean))].join("; ");
    this.element.classList.remove("growing");
    this.say("bad", this.undone(ENDED[event.reason] ?? event.reason.replaceAll("_", " ")));
    if (why) this.note("bad", why);
  }

  /** Show a moment of the call's life. */
  lived(event) {
    const { state, reason } = event;
    if (state === "requested") this.ask(event.sha256);
    else this.answered();
    if (state === "requested") this.say("asking", "waits for you");
    else if (state === "approved") this.say("written", "approved");
    else if (state === "started") this.say("running", this.isFile ? "saving" : "running");
    else if (state === "denied") this.say("bad", "denied");
    else if (state === "failed") this.say("bad", "failed");
    else if (state === "finished") this.say("good", "done");
    this.element.classList.toggle("running", state === "started");
    if (state === "denied" && reason) this.deniedFor = reason;
  }

  ask(sha256) {
    const verb = this.isFile ? "Write it" : this.type === "run_bash" ? "Run it" : "Call it";
    const question = this.isFile
      ? "Write this to disk?"
      : this.type === "run_bash"
        ? "Run this command on your machine?"
        : `Call ${readable(this.name)} with these arguments?`;
    const send = async (approve) => {
      this.element.focus({ preventScroll: true }); // a button that is disabled loses the focus to nobody
      for (const each of buttons) each.disabled = true;
      try {
        await this.run.decide({ call_id: this.id, sha256, approve });
      } catch (error) {
        for (const each of buttons) each.disabled = false;
        this.note("bad", error.message);
      }
    };
    const buttons = [
      element("button", { type: "button", class: "approve", onclick: () => send(true), "aria-label": `Approve: ${this.title}` }, verb),
      element("button", { type: "button", class: "deny", onclick: () => send(false), "aria-label": `Deny: ${this.title}` }, "Deny"),
    ];
    this.asked?.remove();
    this.asked = element(
      "div",
      { class: "approval", role: "group", "aria-label": `Approval of ${this.title}` },
      element("span", { class: "question" }, question),
      element("code", { class: "hash", title: `SHA-256 of the call as it was streamed: ${sha256}` }, sha256.slice(0, 12)),
      ...buttons,
    );
    this.body.after(this.asked);
    this.run.preview(this.id).then((known) => this.run.keepPlace(() => this.previewed(known)), () => {});
  }

  /** Show what a step knows of the effect before it is done, such as a diff. */
  previewed(known) {
    const files = Array.isArray(known) ? known : known?.files ?? (known?.diff !== undefined ? [known] : []);
    if (typeof known === "string" && known) this.changes(known, true);
    else this.files(files, true);
  }

  files(files, isBefore) {
    const diffs = files.filter((each) => each.diff);
    if (!diffs.length) return;
    this.changes(diffs.map((each) => each.diff).join("\n"), isBefore && files.some((each) => each.action !== "created"));
  }

  changes(diff, isShown) {
    if (this.diffText === diff) return;
    this.diffText = diff;
    this.live = null;
    const { view, added, removed } = diffView(diff, this.language, `${this.title}, changes on disk`);
    this.offer(view, isShown)(added, removed);
  }

  /** Offer a view of the changes beside the content; return a function that says how many there are. */
  offer(view, isShown) {
    this.changesView?.element.remove();
    this.changesView = view;
    this.body.append(view.element);
    const show = (isChanges) => {
      this.code.element.hidden = isChanges;
      view.element.hidden = !isChanges;
      content.setAttribute("aria-pressed", String(!isChanges));
      change.setAttribute("aria-pressed", String(isChanges));
      (isChanges ? view : this.code).draw();
    };
    const choose = (isChanges) => {
      this.chosen = isChanges;
      show(isChanges);
    };
    const plus = element("span", { class: "plus" });
    const minus = element("span", { class: "minus" });
    const content = element("button", { type: "button", onclick: () => choose(false) }, "Content");
    const change = element("button", { type: "button", onclick: () => choose(true) }, "Changes ", plus, minus);
    this.views.replaceChildren(content, change);
    show(this.chosen ?? Boolean(isShown));
    return (added, removed) => {
      plus.textContent = `+${added}`;
      minus.textContent = ` −${removed}`;
      change.setAttribute("aria-label", `Changes: ${added} added, ${removed} removed`);
    };
  }

  /** Take the question away; who is at its buttons stays at the card. */
  answered() {
    if (this.asked?.contains(document.activeElement)) this.element.focus({ preventScroll: true });
    this.asked?.remove();
  }

  result(event) {
    this.answered();
    this.element.classList.remove("running");
    if (event.denied != null) {
      this.say("bad", "denied");
      this.note("bad", event.denied);
    } else if (event.error != null) {
      this.say("bad", "failed");
      this.note("bad", event.error);
    } else {
      if (event.files) this.files(event.files, false);
      this.say("good", event.files ? (event.dry_run ? "would be written" : "saved") : "done");
      this.output(event.value, Boolean(event.files));
    }
  }

  output(value, isNote) {
    if (value == null) return;
    const ran = value !== null && typeof value === "object" && "output" in value ? value : null;
    const said = ran ? ran.output : value;
    const text = typeof said === "string" ? said : JSON.stringify(said, (_, each) => (typeof each === "string" ? withoutCodes(each) : each), 2);
    if (ran?.code) this.say("bad", `exit code ${ran.code}`);
    if (isNote) return this.note("good", text);
    const label = `${this.title}, result`;
    const view = new CodeView(said === text ? { label, coloured: terminalLines(text.replace(/\n$/, "") || "(no output)") } : { label, language: JSON_TEXT });
    view.isFollowing = false;
    if (said !== text) view.append(text);
    this.element.append(element("div", { class: "output" }, element("span", { class: "caption" }, "Result"), view.element));
    view.draw();
  }

  note(kind, text) {
    if (this.notes?.has(text)) return;
    (this.notes ??= new Set()).add(text);
    this.element.append(element("p", { class: `note ${kind}` }, ...terminalText(text)));
  }

  async copyText() {
    await navigator.clipboard.writeText(this.code.element.hidden && this.diffText ? this.diffText : this.code.text);
    this.copy.textContent = "Copied";
    setTimeout(() => (this.copy.textContent = "Copy"), 1500);
  }
}
