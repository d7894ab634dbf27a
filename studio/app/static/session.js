// The session on the page: the answers that are open as tabs, and the history.

import * as api from "/static/api.js";
import { element, readable } from "/static/readable.js";
import { RunView } from "/static/run_view.js";

const $ = (id) => document.getElementById(id);
const TABS = "penstock.tabs";

export const notes = new Map(); // the history
const views = new Map(); // open tabs, in order
const tabs = new Map(); // their buttons
const entries = new Map(); // the buttons of the history
let active = null;

export function open(note, wanted = null, isShown = true) {
  if (!views.has(note.id)) {
    notes.set(note.id, note);
    const view = new RunView(note, wanted, changed);
    views.set(note.id, view);
    $("runs").append(view.element);
  }
  if (isShown) activate(note.id);
  else views.get(note.id).element.hidden = true;
}

export function activate(id) {
  active = id;
  for (const [each, view] of views) view.element.hidden = each !== id;
  $("welcome").hidden = id !== null;
  views.get(id)?.touchAll();
  $("main").scrollTop = 0;
  if (id !== null && notes.get(id).state === "running") views.get(id).follow();
  remember();
  changed();
  closeMenu();
}

function close(id) {
  const order = [...views.keys()];
  const next = order[order.indexOf(id) + 1] ?? order[order.indexOf(id) - 1] ?? null;
  notes.get(id).waiting = waitingOf(notes.get(id)); // until the server says how it goes on
  views.get(id).leave();
  views.get(id).element.remove();
  views.delete(id);
  activate(active === id ? next : active);
  ($("tabs").querySelector('[aria-selected="true"]') ?? $("new")).focus();
}

function remember() {
  sessionStorage.setItem(TABS, JSON.stringify({ open: [...views.keys()], active }));
}

/** Put children in place. Those that stay are not touched, so that they keep the focus and a click that has begun. */
function place(parent, children) {
  if (children.length === parent.children.length && children.every((each, at) => each === parent.children[at])) return;
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  parent.replaceChildren(...children);
  if (focused?.isConnected) focused.focus();
}

function drawTabs() {
  for (const id of tabs.keys()) if (!views.has(id)) tabs.delete(id);
  const boxes = [...views.values()].map(({ note }) => {
    if (!tabs.has(note.id)) tabs.set(note.id, newTab(note));
    const { box, tab, cross, dot } = tabs.get(note.id);
    const isActive = note.id === active;
    box.className = isActive ? "tab-box active" : "tab-box";
    tab.setAttribute("aria-selected", String(isActive));
    tab.tabIndex = cross.tabIndex = isActive ? 0 : -1;
    cross.setAttribute("aria-label", `Close ${readable(note.title)}${note.state === "running" ? "; the answer goes on for a while" : ""}`);
    colour(dot, note);
    return box;
  });
  place($("tabs"), boxes);
}

function newTab(note) {
  const dot = newDot();
  const title = readable(note.title);
  const tab = element(
    "button",
    { type: "button", role: "tab", id: `tab-${note.id}`, "aria-controls": `run-${note.id}`, class: "tab", onclick: () => activate(note.id), title },
    dot,
    element("span", { class: "tab-title" }, title),
  );
  const cross = element("button", { type: "button", class: "cross", onclick: () => close(note.id) }, "×");
  return { tab, cross, dot, box: element("div", { role: "presentation" }, tab, cross) };
}

const newDot = () => element("span", {}, element("span", { class: "hidden" }));

/** Return how many calls of a run wait for you: as the page has seen it, and of a run that is not open as it was told. */
const waitingOf = (note) => views.get(note.id)?.waiting.size ?? note.waiting ?? 0;

function colour(dot, note) {
  const isAsking = waitingOf(note) > 0;
  dot.className = `dot ${isAsking ? "asking" : note.state}`;
  dot.firstChild.textContent = isAsking ? "waits for you: " : note.state === "running" ? "streaming: " : "";
}

$("tabs").addEventListener("keydown", (event) => {
  const order = [...views.keys()];
  const at = order.indexOf(active);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: order.length - 1 }[event.key];
  if (to !== undefined && order.length && event.target.role === "tab") {
    event.preventDefault();
    activate(order[(to + order.length) % order.length]);
    $("tabs").querySelector('[aria-selected="true"]').focus();
  } else if (event.key === "Delete" && active && event.target.role === "tab") close(active);
});

// ---- history

function drawHistory() {
  const newestFirst = [...notes.values()].reverse();
  $("history-empty").hidden = newestFirst.length > 0;
  const items = newestFirst.map((note) => {
    if (!entries.has(note.id)) entries.set(note.id, newEntry(note.id));
    const { item, button, dot, what, where } = entries.get(note.id);
    const time = new Date(note.started_at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    what.textContent = readable(note.title);
    const words = element("b", { class: "asks", "aria-hidden": "true" }, "waits for you · "); // which the dot says, too
    where.replaceChildren(...(waitingOf(note) ? [words] : []), `${readable(note.source)} · ${time}`);
    if (note.id === active) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    colour(dot, note);
    return item;
  });
  place($("history"), items);
}

function newEntry(id) {
  const [dot, what, where] = [newDot(), element("span", { class: "what" }), element("small")];
  const button = element("button", { type: "button", onclick: () => open(notes.get(id)) }, dot, what, where);
  return { button, dot, what, where, item: element("li", {}, button) };
}

function changed() {
  drawTabs();
  drawHistory();
  const asking = [...notes.values()].filter(waitingOf).length;
  document.title = asking ? `(${asking}) Penstock: waits for you` : "Penstock";
}

/** Runs that are not open here, as of another window, end unseen: ask now and then how they are. */
setInterval(async () => {
  const unseen = [...notes.values()].some((note) => note.state === "running" && !views.has(note.id));
  if (!unseen || document.hidden) return;
  try {
    for (const note of (await api.session()).runs) if (!views.has(note.id)) notes.set(note.id, note);
    changed();
  } catch {
    // the server is away; the next time will tell
  }
}, 4000);

export function closeMenu() {
  document.body.classList.remove("menu");
  $("menu").setAttribute("aria-expanded", "false");
}

/** Open the tabs that this window had before it was loaded again. */
export function reopen() {
  const before = JSON.parse(sessionStorage.getItem(TABS) ?? '{"open": [], "active": null}');
  for (const id of before.open) if (notes.has(id)) open(notes.get(id), null, false);
  activate(views.has(before.active) ? before.active : null);
}
