// The page around the runs: what is offered, the composer, the theme, the token.

import * as api from "/static/api.js";
import { element, readable } from "/static/readable.js";
import { activate, closeMenu, notes, open, reopen } from "/static/session.js";

const $ = (id) => document.getElementById(id);
const THEME = "penstock.theme";
const MODELS = {
  "openai-chat": ["gpt-5", "gpt-5-mini"],
  "openai-responses": ["gpt-5", "gpt-5-mini"],
  anthropic: ["claude-sonnet-5", "claude-sonnet-4-5"],
  gemini: ["gemini-2.5-pro", "gemini-2.5-flash"],
  mistral: ["mistral-large-latest"],
  ollama: ["qwen3", "llama3.2"],
};

let offered = { recordings: [], providers: [], can: {} };

// ---- what is offered

function offer(session) {
  offered = session;
  const { recordings, providers, can } = session;
  for (const note of session.runs) notes.set(note.id, note);
  $("place").textContent = can.root
    ? `Files go to ${can.root}${can.commands ? ", where commands run, too" : ""}, each when you have approved it.`
    : "Files and commands are only shown. Start with --root DIR to write files.";
  $("provider").replaceChildren(
    ...providers.map(({ name, missing }) => element("option", { value: name, disabled: Boolean(missing) }, missing ? `${name} (no key)` : name)),
  );
  const ready = providers.find((each) => !each.missing && each.needs_key && each.name !== "ollama") ?? providers.find((each) => !each.missing);
  if (ready) $("provider").value = ready.name;
  $("send").disabled = !ready;
  $("ask-hint").textContent = !ready
    ? `No key in the environment: set ${["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"].join(", ")}, and start the app again.`
    : "";
  suggest();
  $("recording").replaceChildren(...recordings.map(({ name, title }) => element("option", { value: name }, readable(title))));
  if (recordings.some((each) => each.is_timed)) $("pace").prepend(element("option", { value: "recorded" }, "as it was recorded"));
  const hasKey = providers.some((each) => !each.missing && each.needs_key && each.name !== "ollama");
  setMode(recordings.length && !hasKey ? "play" : "ask");
  document.querySelector('[name="mode"][value="play"]').disabled = !recordings.length;
  $("offers").replaceChildren(...(session.can.demo ? recordings : recordings.slice(0, 12)).map(offerCard));
}

function offerCard({ name, title, about, bytes }) {
  return element(
    "button",
    { type: "button", class: "offer", onclick: () => play(name, $("pace").value) },
    element("span", { class: "go", "aria-hidden": "true" }, "▶"),
    element("b", {}, readable(title)),
    element("span", {}, readable(about)),
    element("small", {}, `recorded, ${Math.max(1, Math.round(bytes / 1024))} KB`),
  );
}

function suggest() {
  const models = MODELS[$("provider").value] ?? [];
  $("models").replaceChildren(...models.map((each) => element("option", { value: each })));
  $("model").value = models[0] ?? "";
}

function setMode(mode) {
  document.querySelector(`[name="mode"][value="${mode}"]`).checked = true;
  $("ask").hidden = mode !== "ask";
  $("play").hidden = mode !== "play";
}

function begin(wanted, title, source) {
  problem("");
  const note = { id: crypto.randomUUID(), kind: wanted.kind, title, source, started_at: Date.now() / 1000, state: "running" };
  const running = [...notes.values()].filter((each) => each.state === "running").length;
  if (running >= offered.most_running) {
    problem(`${running} answers are running, the most at a time; stop one, or wait for its end.`);
    return;
  }
  open(note, wanted);
}

function play(name, pace) {
  const { title, about } = offered.recordings.find((each) => each.name === name);
  begin({ kind: "play", recording: name, pace }, title, about);
}

function problem(message) {
  $("problem").hidden = !message;
  $("problem").textContent = message;
}

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  if ($("ask").hidden) {
    play($("recording").value, $("pace").value);
    return;
  }
  const prompt = $("prompt").value.trim();
  const model = $("model").value.trim();
  if (!prompt || !model) {
    problem(prompt ? "Name a model." : "Write a prompt first.");
    (prompt ? $("model") : $("prompt")).focus();
    return;
  }
  begin({ kind: "ask", prompt, provider: $("provider").value, model }, prompt, `${$("provider").value} ${model}`);
  $("prompt").value = "";
});
$("explore").addEventListener("click", () => {
  location.assign(`/explore#${encodeURIComponent($("recording").value)}`);
});
$("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("composer").requestSubmit();
  }
});
for (const radio of document.getElementsByName("mode")) radio.addEventListener("change", () => setMode(radio.value));
$("provider").addEventListener("change", suggest);

// ---- around it

$("menu").addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("menu");
  $("menu").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) $("new").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.body.classList.contains("menu")) {
    closeMenu();
    $("menu").focus();
  }
});
$("main").addEventListener("click", closeMenu);
$("new").addEventListener("click", () => {
  activate(null);
  ($("ask").hidden ? $("recording") : $("prompt")).focus();
});

$("theme").value = document.documentElement.dataset.theme; // which theme.js has set
$("theme").addEventListener("change", () => {
  localStorage.setItem(THEME, $("theme").value);
  document.documentElement.dataset.theme = $("theme").value;
});

function lock() {
  $("locked").hidden = false;
  for (const id of ["side", "page"]) $(id).hidden = true;
  $("token").focus();
}
$("unlock").addEventListener("submit", (event) => {
  event.preventDefault();
  api.keepToken($("token").value);
  location.reload();
});

async function begun() {
  if (!api.takeToken()) return lock();
  try {
    offer(await api.session());
  } catch (error) {
    if (error.status === 401) return lock();
    return problem(`The app does not answer: ${error.message}`);
  }
  return reopen();
}

await begun();
