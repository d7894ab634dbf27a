// The page of the explorer: one of the app's streams, run in the app's process.

import { mount } from "/explorer/explorer.js";
import * as api from "/static/api.js";
import { element, readable } from "/static/readable.js";

const $ = (id) => document.getElementById(id);

/** What the explorer shows, and what it asks for; the kernel of a notebook has the same names. */
class Store {
  constructor(name) {
    this.name = name;
    this.values = { item: 0, playing: false, speed: 1, strategy: "", chunk_size: 0, problem: "", data: null };
    this.callbacks = new Map();
    this.shown = {}; // the choice whose data is shown
    this.wanted = null; // the last one that was asked for
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    this.values[name] = value;
  }

  on(name, callback) {
    this.callbacks.set(name, callback);
    return () => this.callbacks.delete(name);
  }

  /** Run the stream as it was chosen, unless it is what is shown. */
  async save() {
    const { strategy, chunk_size } = this.values;
    const isAsked = (choice) => choice?.strategy === strategy && choice.chunk_size === chunk_size;
    if (isAsked(this.wanted)) return;
    const wanted = { strategy, chunk_size };
    this.wanted = wanted;
    if (isAsked(this.shown)) return;
    try {
      const data = await api.exploredData(this.name, strategy, chunk_size);
      if (this.wanted !== wanted) return; // another one was asked for meanwhile
      this.shown = wanted;
      this.tell("data", new DataView(data));
    } catch (error) {
      if (this.wanted !== wanted) return;
      this.wanted = this.shown;
      Object.assign(this.values, this.shown);
      this.tell("problem", error.message);
    }
  }

  tell(name, value) {
    this.values[name] = value;
    this.callbacks.get(name)?.();
  }
}

let explorer = null;

// Its keys are those of the page, until something else has the focus.
addEventListener("keydown", (event) => event.target === document.body && explorer?.pressed(event));

function open(name) {
  explorer?.dispose();
  const store = new Store(name);
  explorer = mount($("explorer"), store);
  $("stream").value = name;
  document.title = `Penstock: ${readable(name)}`;
  store.save();
}

function named() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ""; // somebody typed it
  }
}

function complain(message) {
  $("problem").textContent = message;
  $("problem").hidden = false;
}

async function begun() {
  if (!api.takeToken()) {
    $("explorer").hidden = true;
    complain("This page needs its token: open the address that penstock printed.");
    return;
  }
  try {
    const streams = await api.explored();
    if (!streams.length) {
      $("explorer").hidden = true;
      complain("There is no recording to explore: start penstock explore FILE.");
      return;
    }
    $("stream").replaceChildren(...streams.map(({ name, title }) => element("option", { value: name }, readable(title))));
    const names = streams.map((each) => each.name);
    open(names.includes(named()) ? named() : names[0]);
    $("stream").addEventListener("change", () => {
      history.replaceState(null, "", `#${encodeURIComponent($("stream").value)}`);
      open($("stream").value);
    });
    addEventListener("hashchange", () => names.includes(named()) && open(named()));
  } catch (error) {
    complain(`The app does not answer: ${error.message}`);
  }
}

await begun();
