// The explorer of a traced stream, for a notebook (anywidget) and for the app's page. Text of a stream is shown as
// text only. What a step of the slider costs does not depend on the length of the stream: everything that is looked
// up by item has an index, which is made once.

// ---- small tools

const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Return text with what a screen would obey or hide as visible escapes, which are those of the terminal view. */
export function readable(text) {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0).toString(16);
    if (code.length > 4) return `\\U${code.padStart(8, "0")}`;
    return code.length < 3 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

/** Make an element: attributes, then children that are elements or text. Text is never read as HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((each) => each != null));
  return made;
}

export const counted = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
const quoted = (text) => `“${readable(shortened(text, 40))}”`;

/** Return a place in a text, or the one before it if a character of two halves would be split there. */
function wholeAt(text, place) {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(place - 1, place + 1)) ? place - 1 : place;
}

const begun = (text, most) => text.slice(0, wholeAt(text, most));

function shortened(text, most) {
  return text.length > most ? `${begun(text, most - 1)}…` : text;
}

/** Return a note of what was left out, if there is more than what is shown. */
function rest(number, one) {
  return number > 0 ? element("small", {}, `… ${counted(number, `more ${one}`)}`) : null;
}

function seconds(nanoseconds) {
  const value = nanoseconds / 1e9;
  return value < 0.001 && value > 0 ? `${(value * 1e6).toFixed(0)} µs` : value < 1 ? `${(value * 1000).toFixed(1)} ms` : `${value.toFixed(2)} s`;
}

/** Return how many numbers of a sorted array are at most `most`. */
function countUpTo(sorted, most) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return, for each item, the place of its first row in rows that are sorted by item; and the end behind the last. */
function firstRows(rows, items) {
  const first = new Uint32Array(items + 1);
  let place = 0;
  for (let item = 0; item <= items; item += 1) {
    while (place < rows.length && rows[place][0] < item) place += 1;
    first[item] = place;
  }
  return first;
}

/** Text that grew: all of it once, and its length behind each item in which it grew. */
class Grown {
  constructor() {
    this.pieces = [];
    this.items = [];
    this.lengths = [];
    this.length = 0;
  }

  add(item, piece) {
    if (!piece) return;
    this.length += piece.length;
    this.pieces.push(piece);
    if (this.items.at(-1) === item) this.lengths[this.lengths.length - 1] = this.length;
    else {
      this.items.push(item);
      this.lengths.push(this.length);
    }
  }

  close() {
    this.text = this.pieces.join("");
    this.pieces = [];
  }

  lengthAt(item) {
    const count = countUpTo(this.items, item);
    return count ? this.lengths[count - 1] : 0;
  }

  /** Return the end of the text as it was: the part before this item, and what the item added. */
  endAt(item, most) {
    const length = this.lengthAt(item);
    const before = this.lengthAt(item - 1);
    const start = wholeAt(this.text, Math.max(0, length - most));
    return { old: this.text.slice(start, Math.max(start, before)), added: this.text.slice(Math.max(start, before), length), left: start };
  }
}

// ---- the stream, with an index for everything that is looked up by item

const KEYFRAME = 64;

class Story {
  constructor(data) {
    this.data = data;
    this.items = data.raw.length;
    this.last = this.items - 1;
    this.stages = data.stages;
    this.outputs = data.outputs;
    this.firstOutput = data.outputs.map((rows) => firstRows(rows, this.items));
    this.firstHeld = firstRows(data.held, this.items);
    this.kinds = data.outputs.map(() => new Array(this.items));
    this.segments = [];
    this.calls = new Map();
    this.#readSegments();
    this.#readArguments();
  }

  outputsAt(stage, item) {
    const first = this.firstOutput[stage];
    return this.outputs[stage].slice(first[item], first[item + 1]);
  }

  outputCount(stage, item) {
    return this.firstOutput[stage][item + 1] - this.firstOutput[stage][item];
  }

  heldAt(item) {
    return item < 0 ? [] : this.data.held.slice(this.firstHeld[item], this.firstHeld[item + 1]).map(([, stage, place]) => ({ stage, ...this.data.withheld[place] }));
  }

  /** Return whether a stage holds text back, "meaning" where the text has gone on and only its meaning is kept. */
  isHeld(stage, item) {
    let found = "";
    for (let row = this.firstHeld[item]; row < this.firstHeld[item + 1]; row += 1) {
      const [, at, place] = this.data.held[row];
      if (at === stage && !this.data.withheld[place].in_raw) return "text";
      if (at === stage) found = "meaning";
    }
    return found;
  }

  /** Return the segments that are open behind an item: a kept list, and what changed since. */
  openAt(item) {
    if (item < 0) return [];
    const frame = Math.floor(item / KEYFRAME);
    const open = new Set(this.frames[frame]);
    this.#follow(open, frame * KEYFRAME, item + 1);
    return [...open];
  }

  /** Change a set of open segments as the items do, from one to before another. */
  #follow(open, from, until) {
    for (let row = this.firstBorder[from]; row < this.firstBorder[until]; row += 1) {
      const [, segment, isStart] = this.borders[row];
      if (isStart) open.add(segment);
      else open.delete(segment);
    }
  }

  begunAt(item) {
    return item < 0 ? 0 : countUpTo(this.starts, item);
  }

  leafCount(call, item) {
    return countUpTo(this.calls.get(call)?.begins ?? [], item);
  }

  argumentsAt(call, item, first = 0, most = Infinity) {
    return this.calls.get(call)?.leaves.slice(first, Math.min(first + most, this.leafCount(call, item))) ?? [];
  }

  #readSegments() {
    const open = new Map();
    const lanes = [];
    this.borders = [];
    this.outputs.forEach((rows, stage) => {
      for (const [item, text] of rows) {
        const event = eventOf(text);
        this.kinds[stage][item] ??= kindOf(event);
        if (stage !== this.data.segment_stage || !event.type.startsWith("SEGMENT_")) continue;
        const key = `${event.turn} ${event.segment}`;
        if (event.type === "SEGMENT_START") {
          let lane = lanes.findIndex((until) => until < item);
          if (lane < 0) lane = lanes.length;
          lanes[lane] = Infinity;
          const about = event.about;
          const segment = { place: this.segments.length, id: event.segment, type: event.segmentType, about, begin: item, end: Infinity, status: "", reason: "", lane, grown: new Grown() };
          this.segments.push(segment);
          open.set(key, segment);
          this.borders.push([item, segment.place, true]);
        } else if (event.type === "SEGMENT_CONTENT") open.get(key)?.grown.add(item, event.delta);
        else if (open.has(key)) {
          const segment = open.get(key);
          open.delete(key);
          const { status, reason } = event;
          Object.assign(segment, { end: item, status: status || "complete", reason, about: { ...segment.about, ...event.about } });
          lanes[segment.lane] = item;
          this.borders.push([item, segment.place, false]);
        }
      }
    });
    for (const segment of this.segments) segment.grown.close();
    this.lanes = lanes.length;
    this.starts = Uint32Array.from(this.segments, (each) => each.begin);
    this.firstBorder = firstRows(this.borders, this.items);
    this.frames = [];
    const isOpen = new Set();
    for (let item = 0; item < this.items; item += KEYFRAME) {
      this.frames.push([...isOpen]);
      this.#follow(isOpen, item, Math.min(item + KEYFRAME, this.items));
    }
  }

  #readArguments() {
    const leaves = new Map();
    for (const [item, call, kind, path, value] of this.data.arguments) {
      if (!this.calls.has(call)) this.calls.set(call, { leaves: [], begins: [] });
      const pieces = this.calls.get(call);
      const key = `${call} ${JSON.stringify(path)}`;
      let leaf = leaves.get(key);
      if (kind !== "DONE" && (!leaf || leaf.isDone)) {
        if (leaf) leaf.replaced = item; // a key that came twice: the last value counts
        leaf = { path, opener: kind === "OPEN" ? value : "", begin: item, end: Infinity, replaced: Infinity, isDone: false, grown: new Grown() };
        leaves.set(key, leaf);
        pieces.leaves.push(leaf);
        pieces.begins.push(item);
      }
      if (kind === "TEXT" || kind === "SCALAR") leaf.grown.add(item, value);
      if (kind === "DONE" && leaf) Object.assign(leaf, { end: item, isDone: true });
    }
    for (const pieces of this.calls.values()) for (const leaf of pieces.leaves) leaf.grown.close();
  }
}

const objectOf = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
const wordOf = (value) => (value == null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** Return what is shown of an event, from its JSON. A stage may return anything: of another value it is texts, too. */
function eventOf(json) {
  const value = JSON.parse(json);
  const event = objectOf(value);
  const payload = objectOf(event.payload);
  const calls = (Array.isArray(event.tool_calls) ? event.tool_calls : []).map(objectOf);
  const called = calls.map((each) => `${wordOf(each.name)} ${wordOf(each.arguments_delta)}`.trim()).join(" ");
  return {
    type: wordOf(event.type),
    turn: wordOf(event.turn_id),
    segment: wordOf(event.segment_id),
    segmentType: wordOf(event.segment_type),
    name: wordOf(event.segment_type ?? event.tool_name ?? event.name),
    id: wordOf(event.segment_id ?? event.tool_call_id ?? event.id),
    delta: wordOf(payload.delta),
    text: wordOf(payload.delta ?? event.content ?? event.reasoning) || called || (event === value ? "" : wordOf(value)),
    status: wordOf(payload.status),
    reason: wordOf(payload.reason),
    about: objectOf(payload.metadata),
    chunk: calls.length ? "call" : event.reasoning ? "reasoning" : event.content ? "text" : "other",
  };
}

/** Return what colours an event: the type of its segment, else what it is. */
function kindOf({ type, segmentType, chunk }) {
  if (type === "CHUNK_RESPONSE") return chunk;
  if (type.startsWith("SEGMENT_")) return kindOfSegment(segmentType);
  if (/INVOCATION|TOOL|ARGUMENT/i.test(type)) return type === "INVOCATION_FAILED" ? "bad" : "call";
  return "other";
}

function kindOfSegment(type) {
  if (type === "text" || type === "reasoning") return type;
  if (type === "refusal") return "bad";
  return /file|bash|patch/.test(type) ? "file" : "call";
}

const KINDS = ["text", "reasoning", "call", "file", "bad", "other"];

// ---- the lanes: two canvases, of which each step draws only what is in sight

const ROW = 28;
const MOST_LANES = 4;
const OVERVIEW = 38;

class Lanes {
  constructor(root, story, select) {
    this.root = root;
    this.story = story;
    this.labels = element("ul", { class: "pe-labels" });
    this.overview = element("canvas", { class: "pe-overview", "aria-hidden": "true" });
    this.canvas = element("canvas", { class: "pe-canvas", role: "img" });
    this.box = element("div", { class: "pe-lanes" }, element("span", { class: "pe-corner" }, "the whole stream"), this.overview, this.labels, this.canvas);
    this.shown = Math.min(MOST_LANES, story.lanes);
    this.rows = 1 + story.stages.length + this.shown;
    const names = ["source", ...story.stages, ...Array.from({ length: this.shown }, (_, lane) => (lane ? "" : "segments"))];
    this.labels.append(...names.map((name) => element("li", { title: readable(name) }, readable(name))));
    this.canvas.setAttribute("aria-label", `Lanes of ${counted(story.items, "item")}: the source, ${counted(story.stages.length, "stage")}, and segments. The slider moves through them.`);
    const seek = (canvas, at) => (event) => {
      if (event.type === "pointermove" && !event.buttons) return;
      if (event.type === "pointerdown") canvas.setPointerCapture(event.pointerId);
      select(at(event.clientX - canvas.getBoundingClientRect().left));
    };
    const whole = seek(this.overview, (x) => this.itemAt(x));
    this.overview.addEventListener("pointerdown", whole);
    this.overview.addEventListener("pointermove", whole);
    this.overview.addEventListener("mousedown", (event) => event.preventDefault()); // it would take the focus away
    this.canvas.addEventListener("click", seek(this.canvas, (x) => this.first + Math.floor(x / this.column)));
  }

  /** Take new sizes or colours, and draw what does not change with the item. */
  prepare() {
    this.width = Math.max(60, this.canvas.clientWidth);
    const style = getComputedStyle(this.root);
    this.colours = Object.fromEntries([...KINDS, "ink", "muted", "line", "ground", "stripe", "accent", "held"].map((name) => [name, style.getPropertyValue(`--pe-${name}`).trim()]));
    const { items } = this.story;
    const fitting = Math.max(1, Math.min(items, Math.floor(this.width / 22)));
    this.column = Math.min(64, this.width / fitting); // so that none is cut at the right edge
    this.visible = Math.max(fitting, Math.floor(this.width / this.column));
    this.pen = sized(this.canvas, this.width, this.rows * ROW);
    this.overviewPen = sized(this.overview, this.width, OVERVIEW);
    this.hatch = hatched(this.pen, this.colours.held);
    this.background = element("canvas");
    this.drawOverview(sized(this.background, this.width, OVERVIEW));
  }

  xOf(item) {
    const { times, raw } = this.story.data;
    const span = times ? times.at(-1) : 0;
    return span > 0 ? 2 + (times[item] / span) * (this.width - 4) : ((item + 0.5) / raw.length) * this.width;
  }

  itemAt(x) {
    const { times } = this.story.data;
    const part = Math.max(0, Math.min(1, times?.at(-1) > 0 ? (x - 2) / (this.width - 4) : x / this.width));
    const item = times?.at(-1) > 0 ? countUpTo(times, part * times.at(-1)) - 1 : Math.floor(part * this.story.items);
    return Math.max(0, Math.min(this.story.last, item));
  }

  drawOverview(pen) {
    const { story, colours } = this;
    pen.fillStyle = colours.stripe;
    pen.fillRect(0, 0, this.width, OVERVIEW);
    const counts = new Uint32Array(Math.ceil(this.width) + 1);
    const stage = story.data.segment_stage;
    const kinds = new Array(counts.length);
    const held = new Uint8Array(counts.length);
    for (let item = 0; item < story.items; item += 1) {
      const x = Math.floor(this.xOf(item));
      counts[x] += 1;
      kinds[x] ??= story.kinds[stage]?.[item];
      held[x] |= story.stages.some((_, stage) => story.isHeld(stage, item) === "text");
    }
    const most = Math.log1p(counts.reduce((left, right) => Math.max(left, right), 1));
    for (const [x, count] of counts.entries()) {
      if (!count) continue;
      const height = 4 + (OVERVIEW - 16) * (Math.log1p(count) / most);
      pen.fillStyle = colours[kinds[x] ?? "muted"];
      pen.fillRect(x, OVERVIEW - 8 - height, 1.5, height);
      if (held[x]) {
        pen.fillStyle = colours.held;
        pen.fillRect(x, OVERVIEW - 5, 1.5, 4);
      }
    }
  }

  draw(item) {
    const { pen, story, colours, column } = this;
    this.first = Math.max(0, Math.min(item - (this.visible >> 1), story.items - this.visible));
    const until = Math.min(story.items, this.first + this.visible);
    const height = this.rows * ROW;
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, this.width, height);
    pen.fillStyle = colours.stripe;
    for (let row = 0; row < this.rows; row += 2) pen.fillRect(0, row * ROW, this.width, ROW);
    pen.globalAlpha = 0.16;
    pen.fillStyle = colours.accent;
    pen.fillRect((item - this.first) * column, 0, column, height);
    pen.globalAlpha = 1;
    for (let at = this.first; at < until; at += 1) this.drawItem(at);
    this.drawSegments(until - 1);
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect((item - this.first) * column + 0.75, 0.75, column - 1.5, height - 1.5);
    this.drawPlace(item, until);
  }

  drawItem(item) {
    const { pen, story, colours, column } = this;
    const x = (item - this.first + 0.5) * column;
    const end = story.data.end;
    if (end && item === story.last) drawEnd(pen, x, ROW / 2, end.how === "failed" ? colours.bad : colours.ink, end.how);
    else {
      pen.fillStyle = colours.ink;
      disc(pen, x, ROW / 2, Math.max(2.5, Math.min(8, 1.5 + Math.log2(1 + story.data.raw[item].length) * 0.6)));
    }
    for (let stage = 0; stage < story.stages.length; stage += 1) {
      const y = (stage + 1) * ROW;
      const held = story.isHeld(stage, item);
      if (held) {
        pen.fillStyle = this.hatch;
        pen.globalAlpha = held === "text" ? 1 : 0.3;
        pen.fillRect(x - column / 2, y + 3, column, ROW - 6);
        pen.globalAlpha = 1;
      }
      const count = story.outputCount(stage, item);
      if (!count) {
        pen.fillStyle = colours.muted;
        disc(pen, x, y + ROW / 2, 1.5);
        continue;
      }
      pen.fillStyle = colours[story.kinds[stage][item]];
      disc(pen, x, y + ROW / 2, 9);
      this.write(count > 99 ? "99+" : String(count), x, y, "center");
    }
  }

  drawSegments(until) {
    const { pen, story, colours, column } = this;
    const top = (1 + story.stages.length) * ROW;
    const begun = [];
    for (let place = story.begunAt(this.first); place < story.segments.length && story.segments[place].begin <= until; place += 1) begun.push(place);
    const before = this.first ? story.openAt(this.first - 1) : [];
    const atFirst = [];
    for (let place = story.begunAt(this.first - 1); place < story.begunAt(this.first); place += 1) atFirst.push(place);
    for (const place of [...before, ...atFirst, ...begun]) {
      const segment = story.segments[place];
      const y = top + Math.min(segment.lane, this.shown - 1) * ROW;
      const from = Math.max(-4, (segment.begin - this.first) * column + 2);
      const to = Math.min(this.width + 4, (Math.min(segment.end, story.last) - this.first + 1) * column - 2);
      pen.fillStyle = colours[kindOfSegment(segment.type)];
      pen.beginPath();
      pen.roundRect(from, y + 4, Math.max(4, to - from), ROW - 8, 5);
      pen.fill();
      const room = to - Math.max(0, from) - 10;
      if (room < 24) continue;
      pen.save();
      pen.beginPath();
      pen.rect(Math.max(0, from), y, to - Math.max(0, from) - 4, ROW);
      pen.clip();
      this.write(readable(shortened(nameOf(segment), Math.min(60, Math.floor(room / 7)))), Math.max(0, from) + 6, y, "left");
      pen.restore();
    }
  }

  write(text, x, y, align) {
    Object.assign(this.pen, { fillStyle: this.colours.ground, font: "600 11px ui-sans-serif, system-ui, sans-serif", textAlign: align, textBaseline: "middle" });
    this.pen.fillText(text, x, y + ROW / 2 + 0.5);
  }

  drawPlace(item, until) {
    const pen = this.overviewPen;
    pen.clearRect(0, 0, this.width, OVERVIEW);
    pen.drawImage(this.background, 0, 0, this.width, OVERVIEW);
    const from = this.xOf(this.first);
    pen.strokeStyle = this.colours.muted;
    pen.lineWidth = 1;
    pen.strokeRect(from - 1.5, 0.5, Math.max(4, this.xOf(until - 1) - from + 3), OVERVIEW - 1);
    pen.fillStyle = this.colours.accent;
    pen.fillRect(this.xOf(item) - 1, 0, 2.5, OVERVIEW);
  }
}

function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
}

function disc(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

/** Draw the end of the source as in diagrams of Rx: a bar, a cross for an error, a dashed bar for an interruption. */
function drawEnd(pen, x, y, colour, how) {
  pen.strokeStyle = colour;
  pen.lineWidth = 2.5;
  pen.setLineDash(how === "interrupted" ? [3, 3] : []);
  pen.beginPath();
  for (const [fromX, fromY, toX, toY] of how === "failed" ? [[-6, -6, 6, 6], [-6, 6, 6, -6]] : [[0, -9, 0, 9]]) {
    pen.moveTo(x + fromX, y + fromY);
    pen.lineTo(x + toX, y + toY);
  }
  pen.stroke();
  pen.setLineDash([]);
}

function hatched(pen, colour) {
  const tile = element("canvas");
  tile.width = tile.height = 8;
  const draw = tile.getContext("2d");
  draw.strokeStyle = colour;
  draw.lineWidth = 1.6;
  draw.beginPath();
  for (const at of [-8, 0, 8]) {
    draw.moveTo(at, 8);
    draw.lineTo(at + 8, 0);
  }
  draw.stroke();
  return pen.createPattern(tile, "repeat");
}

function nameOf({ type, about, id }) {
  const name = about.tool_name && about.tool_name !== type ? `${type} ${about.tool_name}` : type;
  return typeof about.path === "string" ? `${name} ${about.path}` : about.tool_name ? `${name} ${id}` : name;
}

// ---- the panels: what came, what each stage did, the answer so far

const MOST_TEXT = 2000;
const MOST_RAW = 20_000;
const MOST_EVENTS = 40;
const MOST_SEGMENTS = 5;
const MOST_LEAVES = 40;
const FIRST_LEAVES = 5;

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\],]|[^\s{}[\],":]+|\s+|[\s\S]/g;

/** Return JSON with line breaks and colours, from its text: numbers stay as they are, and what is no JSON does, too. */
function prettyJson(text) {
  const shown = document.createDocumentFragment();
  let depth = 0;
  let plain = "";
  const flush = () => {
    if (plain) shown.append(readable(plain));
    plain = "";
  };
  const coloured = (name, word) => {
    flush();
    shown.append(element("span", { class: `pe-${name}` }, readable(word)));
  };
  const isInner = /^\s*[{[]/.test(text);
  for (const [token, string, colon] of text.matchAll(TOKEN)) {
    if (string !== undefined) {
      coloured(colon ? "key" : "string", string);
      if (colon) plain += ": ";
    } else if (!isInner) plain += token;
    else if (token === "{" || token === "[") {
      depth += 1;
      plain += `${token}\n${"  ".repeat(depth)}`;
    } else if (token === "}" || token === "]") {
      depth = Math.max(0, depth - 1);
      plain = plain.trimEnd() === "{" || plain.trimEnd() === "[" ? plain.trimEnd() : `${plain}\n${"  ".repeat(depth)}`;
      plain += token;
    } else if (token === ",") plain += `,\n${"  ".repeat(depth)}`;
    else if (token.trim()) coloured("scalar", token);
  }
  flush();
  return shown;
}

/** Return what came as a text: JSON with line breaks; of server-sent events the JSON of each `data:`, too. */
function shownRaw(text) {
  const most = begun(text, MOST_RAW);
  const box = element("pre", { class: "pe-raw" });
  if (/^\s*[{[]/.test(most)) box.append(prettyJson(most));
  else
    for (const line of most.split(/(?<=\n)/)) {
      const data = /^data: ?(?=[{[])/.exec(line);
      if (data) box.append(data[0], prettyJson(line.slice(data[0].length)), "\n");
      else box.append(readable(line));
    }
  if (text.length > most.length) box.append("\n", rest(text.length - most.length, "character"));
  return box;
}

/** Return an event as a line that opens to its JSON. */
function shownEvent(json) {
  const event = eventOf(json);
  const { type, name, id, text, status, reason } = event;
  const summary = element(
    "summary",
    {},
    element("b", { class: `pe-kind pe-of-${kindOf(event)}` }, readable(type.replace("SEGMENT_", "") || "value")),
    element("span", {}, readable(shortened([name, id].filter(Boolean).join(" "), 200))),
    text ? element("q", {}, readable(shortened(text, 80))) : null,
    status ? element("span", {}, readable(reason ? `${status}: ${reason}` : status)) : null,
  );
  const details = element("details", { class: "pe-event" }, summary);
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector("pre")) details.append(shownRaw(json));
  });
  return details;
}

function shownHeld({ text, before, reason, could_become: could, further, segment_id: segment, in_raw: inRaw }) {
  return element(
    "div",
    { class: inRaw ? "pe-held pe-meaning" : "pe-held" },
    element("b", {}, inRaw ? "gone on, its meaning is kept back " : "held back "),
    before === 0 ? null : element("small", {}, before ? `… ${counted(before, "character")} before ` : "… the end of it "),
    element("code", {}, readable(text)),
    element("p", {}, readable(reason)),
    segment ? element("small", {}, `of ${readable(segment)} `) : null,
    could.length ? element("p", { class: "pe-could" }, "may become ", ...could.flatMap((each) => [element("code", {}, readable(each)), " "]), further ? `… ${further.toLocaleString("en")} more` : "") : null,
  );
}

function shownStage(story, stage, item) {
  const rows = story.outputsAt(stage, item);
  const held = story.heldAt(item).filter((each) => each.stage === stage);
  const facts = [rows.length ? counted(rows.length, "event") : "nothing", `state ${story.data.sizes[stage][item].toLocaleString("en")} B`, `${(story.data.spent[stage][item] / 1000).toFixed(1)} µs`];
  return element(
    "section",
    { class: "pe-stage", "aria-label": readable(story.stages[stage]) },
    element("header", {}, element("h4", {}, readable(story.stages[stage])), element("small", {}, facts.join(" · "))),
    ...rows.slice(0, MOST_EVENTS).map(([, text]) => shownEvent(text)),
    rest(rows.length - MOST_EVENTS, "event"),
    ...held.map(shownHeld),
  );
}

/** Return text as it was: what was left out, what was there before, what the item added. */
function shownText(grown, item, most = MOST_TEXT) {
  const { old, added, left } = grown.endAt(item, most);
  return [left ? element("small", {}, `… ${counted(left, "character")} before\n`) : null, readable(old), added ? element("ins", {}, readable(added)) : null];
}

function shownSegment(story, segment, item) {
  const isOpen = segment.end > item;
  const isCall = story.calls.has(segment.id);
  const head = element(
    "header",
    {},
    element("b", { class: `pe-kind pe-of-${kindOfSegment(segment.type)}` }, readable(segment.type || "segment")),
    element("span", {}, readable(segment.about.tool_name ? `${segment.about.tool_name} ${segment.id}` : segment.id)),
    element("small", { class: isOpen ? "pe-open" : "" }, readable(isOpen ? "open" : `${segment.status}${segment.reason ? `: ${segment.reason}` : ""}`)),
  );
  const box = element("section", { class: "pe-segment", "aria-label": readable(`${segment.type} ${segment.id}`) }, head);
  if (isCall) box.append(shownArguments(story, segment.id, item));
  else box.append(element("pre", { class: "pe-text" }, ...shownText(segment.grown, item).filter(Boolean)));
  return box;
}

/** Return the arguments of a call as they were, one value a line, with the open ones marked. */
function shownArguments(story, call, item) {
  const count = story.leafCount(call, item);
  const first = count > MOST_LEAVES ? count - MOST_LEAVES + FIRST_LEAVES : FIRST_LEAVES;
  const lines = (leaves) => leaves.filter((leaf) => leaf.path.length || !isBox(leaf) || leaf.end > item).map((leaf) => shownLeaf(leaf, item));
  const list = element("ul", { class: "pe-arguments", "aria-label": "Arguments so far" });
  list.append(...lines(story.argumentsAt(call, item, 0, FIRST_LEAVES)));
  if (first > FIRST_LEAVES) list.append(element("li", {}, rest(first - FIRST_LEAVES, "value")));
  list.append(...lines(story.argumentsAt(call, item, first)));
  return list;
}

const isBox = ({ opener }) => opener === "{" || opener === "[";

function shownLeaf(leaf, item) {
  const isOpen = leaf.end > item;
  const isText = leaf.opener === '"';
  const name = leaf.path.length ? String(leaf.path.at(-1)) : "arguments";
  const value = isBox(leaf) ? [leaf.opener === "[" ? "[ … ]" : "{ … }"] : shownText(leaf.grown, item, 600).filter(Boolean);
  const line = element(
    "li",
    { class: isOpen && !isBox(leaf) ? "pe-leaf-open" : "", "data-path": JSON.stringify(leaf.path), title: readable(JSON.stringify(leaf.path)) },
    element("span", { class: "pe-key" }, readable(name)),
    isOpen && !isBox(leaf) ? element("em", {}, "still open") : null,
    leaf.replaced <= item ? element("small", {}, " replaced below") : null,
    ": ",
    element("span", { class: isText ? "pe-string" : "pe-scalar" }, isText ? '"' : "", ...value, isText && !isOpen ? '"' : ""),
  );
  line.style.paddingInlineStart = `${Math.min(8, Math.max(0, leaf.path.length - 1)) * 16}px`;
  return line;
}

/** Return, in sentences, what this item changed. */
function difference(story, item) {
  const said = [];
  const stage = story.data.segment_stage;
  const begunBefore = story.begunAt(item - 1);
  const open = new Set([...story.openAt(item - 1), ...Array.from({ length: story.begunAt(item) - begunBefore }, (_, place) => begunBefore + place)]);
  for (const place of [...open].slice(0, 12)) {
    const segment = story.segments[place];
    const name = readable(shortened(nameOf(segment), 60));
    const more = segment.grown.lengthAt(item) - segment.grown.lengthAt(item - 1);
    if (segment.begin === item) said.push(`${name} begins`);
    if (more) said.push(`${name} grows by ${counted(more, "character")}`);
    for (const leaf of story.argumentsAt(segment.id, item, Math.max(0, story.leafCount(segment.id, item) - 12))) {
      const path = readable(leaf.path.join("."));
      const added = leaf.grown.lengthAt(item) - leaf.grown.lengthAt(item - 1);
      if (!path) continue;
      if (leaf.begin === item) said.push(`argument ${path} begins`);
      else if (added) said.push(`argument ${path} grows by ${counted(added, "character")}`);
      if (leaf.end === item) said.push(`argument ${path} is whole`);
    }
    if (segment.end === item) said.push(`${name} ends: ${readable(segment.status)}`);
  }
  const [before, now] = [story.heldAt(item - 1), story.heldAt(item)];
  const inStage = (each) => `in ${readable(shortened(story.stages[each.stage], 40))}`;
  const isThere = (held, each) => held.some((other) => other.stage === each.stage && other.in_raw === each.in_raw && (!each.in_raw || other.segment_id === each.segment_id));
  for (const each of now) {
    if (each.in_raw && !isThere(before, each)) said.push(`the meaning of ${readable(each.segment_id ?? "the text")} is kept back ${inStage(each)}`);
    if (!each.in_raw && !before.some((other) => other.stage === each.stage && other.text === each.text)) said.push(`${quoted(each.text)} is held back ${inStage(each)}`);
  }
  for (const each of before) if (!isThere(now, each)) said.push(each.in_raw ? `the meaning of ${readable(each.segment_id ?? "the text")} is out ${inStage(each)}` : `nothing is held back any more ${inStage(each)}`);
  const others = stage === null || stage === undefined ? [] : story.outputsAt(story.stages.length - 1, item).map(([, json]) => eventOf(json).type).filter((type) => type && !type.startsWith("SEGMENT_"));
  for (const type of new Set(others)) said.push(`${readable(type)} comes out`);
  if (story.data.end && item === story.last) said.unshift(`the input ${WORDS_OF_ENDS[story.data.end.how]}${story.data.end.reason ? `: ${readable(story.data.end.reason)}` : ""}`);
  return said.length ? said : ["nothing that can be seen: no stage let anything out"];
}

const WORDS_OF_ENDS = { completed: "is complete", failed: "failed", interrupted: "was interrupted" };

// ---- the whole of it

const PACES = [["0.1", "1/10 pace"], ["0.25", "1/4 pace"], ["0.5", "1/2 pace"], ["1", "original pace"], ["2", "2 × pace"], ["5", "5 × pace"], ["20", "20 × pace"]];
const UNTIMED = 0.1;

class Explorer {
  constructor(host, store) {
    this.store = store;
    this.item = 0;
    this.isPlaying = false;
    this.unsent = new Set(); // names of what was set here since
    this.sent = {}; // and what was sent last
    this.root = element("div", { class: "penstock-explorer", role: "group", tabindex: -1, "aria-label": "Explorer of a stream", "data-lm-suppress-shortcuts": "true", "data-jp-suppress-context-menu": "" });
    this.live = element("div", { class: "pe-hidden", role: "status", "aria-live": "polite" });
    this.problem = element("p", { class: "pe-problem", role: "alert", hidden: true });
    this.body = element("div", { class: "pe-body" }, element("p", { class: "pe-quiet" }, "Reading the stream …"));
    this.root.append(this.problem, this.body, this.live);
    host.replaceChildren(this.root);
    this.root.addEventListener("keydown", (event) => this.pressed(event));
    this.offs = [
      store.on("data", () => this.load()),
      store.on("item", () => this.heard("item", this.item, (item) => this.go(item))),
      store.on("playing", () => this.heard("playing", this.isPlaying, (isWanted) => this.play(isWanted))),
      store.on("speed", () => this.drawPace()),
      store.on("problem", () => this.complain(store.get("problem"))),
    ];
    this.themes = watchTheme(this.root, () => this.resized(true));
    // It is told between layout and paint, so that also the first frame has the colours of where it was put.
    this.sizes = new ResizeObserver(() => {
      this.themes.look();
      this.resized();
    });
    this.sizes.observe(this.root);
    this.ready = this.load();
  }

  /** Stop, and leave what is kept as it is: another view of it may go on. */
  dispose() {
    this.isDisposed = true;
    cancelAnimationFrame(this.frame);
    if (this.saving) this.saveNow();
    for (const off of this.offs) off();
    this.sizes.disconnect();
    this.themes.stop();
  }

  async load() {
    const bytes = this.store.get("data");
    this.complain(this.store.get("problem"));
    if (!bytes?.byteLength) return;
    const data = JSON.parse(await unpacked(bytes));
    if (this.isDisposed || this.store.get("data") !== bytes) return; // a newer one came meanwhile
    const hadFocus = this.focused?.dataset.keep;
    cancelAnimationFrame(this.frame);
    this.isPlaying = false;
    this.story = new Story(data);
    this.draw();
    this.go(this.store.get("item") ?? 0);
    if (hadFocus) this.root.querySelector(`[data-keep="${CSS.escape(hadFocus)}"]`)?.focus();
    this.play(this.store.get("playing"));
    if (data.divergence) this.say(`The result is another one. ${data.divergence.text}`);
    else if (data.is_changed) this.say("The result is the same.");
    this.root.dataset.ready = "true";
    this.root.dataset.choice = `${data.strategy}/${data.chunk_size}`;
  }

  /** The element that has the focus, if it is in the explorer. */
  get focused() {
    const focused = this.root.getRootNode().activeElement;
    return this.root.contains(focused) ? focused : null;
  }

  draw() {
    const { story } = this;
    const { data } = story;
    if (!story.items) {
      this.lanes = null;
      this.body.replaceChildren(element("h3", {}, readable(data.title)), element("p", { class: "pe-quiet" }, "No item came yet."));
      return;
    }
    this.slider = element("input", { type: "range", min: 0, max: Math.max(0, story.last), step: 1, value: 0, class: "pe-slider", "aria-label": "Item of the stream", "data-keep": "slider" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.button = element("button", { type: "button", class: "pe-play", "data-keep": "play", onclick: () => this.play(!this.isPlaying) });
    this.place = element("span", { class: "pe-place", "aria-hidden": "true" }); // the slider says the same
    this.pace = element("select", { "aria-label": "Pace", onchange: () => this.save("speed", Number(this.pace.value)) });
    this.drawPace();
    const step = (by, name, sign) => element("button", { type: "button", "aria-label": name, title: name, onclick: () => this.go(this.item + by) }, sign);
    this.lanes = new Lanes(this.root, story, (item) => {
      this.slider.focus({ preventScroll: true }); // for the arrows, which are next
      this.go(item);
      this.say(this.words());
    });
    this.changes = element("ul", { class: "pe-changes", "aria-label": "Changed by this item" });
    const panel = (label, more = "") => element("section", { class: `pe-panel ${more}`, tabindex: 0, "aria-label": label });
    this.came = panel("What came, as it is");
    this.did = panel("What each stage did with it");
    this.answer = panel("The answer so far", "pe-answer");
    this.body.replaceChildren(
      element("header", { class: "pe-head" }, element("h3", {}, readable(data.title)), this.choices()),
      ...this.told(),
      element("div", { class: "pe-transport" }, this.button, step(-1, "Item before", "‹"), step(1, "Next item", "›"), this.slider, this.place, this.pace),
      this.lanes.box,
      element("div", { class: "pe-changed" }, element("h4", {}, "Changed by this item"), this.changes),
      element("div", { class: "pe-panels" }, this.came, this.did, this.answer),
      element("p", { class: "pe-quiet pe-help" }, "Arrows: one item; with Shift ten. Home, End: the first, the last. Space: play or pause. Click a column to see its item."),
    );
    this.drawButton();
    this.width = this.root.clientWidth;
    this.lanes.prepare();
  }

  /** What can be run again in Python: another strategy, another cutting. */
  choices() {
    const { data } = this.story;
    if (!data.strategies.length) return null;
    const strategy = element("select", { "data-keep": "strategy" }, ...data.strategies.map((name) => element("option", { value: name }, name || "as given")));
    strategy.value = data.strategy;
    const size = element("input", { type: "number", min: 1, max: 1_000_000, placeholder: "as it came", value: data.chunk_size || null, "data-keep": "size" });
    const run = element("button", { type: "submit", "data-keep": "run" }, "Run");
    const mark = element("span", { class: "pe-unrun", hidden: true }, "chosen, not run yet");
    const form = element("form", { class: "pe-choices", "aria-label": "Run it otherwise" }, element("label", {}, "Strategy ", strategy), data.can_cut ? element("label", {}, data.can_cut === "bytes" ? "Bytes a chunk " : "Characters a chunk ", size) : null, run, mark);
    const isOther = () => strategy.value !== data.strategy || (Number(size.value) || 0) !== data.chunk_size;
    this.marked = () => {
      if (mark.hidden === isOther()) this.say(isOther() ? "Chosen, not run yet." : "");
      mark.hidden = !isOther();
      run.classList.toggle("pe-wanted", isOther());
    };
    form.addEventListener("input", this.marked);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.play(false);
      this.complain("");
      run.textContent = isOther() ? "Running …" : "Run";
      mark.hidden = true;
      this.store.set("problem", "");
      this.store.set("strategy", strategy.value);
      this.store.set("chunk_size", Number(size.value) || 0);
      this.store.save();
    });
    this.run = run;
    return form;
  }

  told() {
    const { data } = this.story;
    const lines = [];
    if (data.divergence) {
      const { item, text } = data.divergence;
      const go = item === null ? null : element("button", { type: "button", "data-keep": "difference", onclick: () => this.go(item) }, `Go to item ${item + 1}`);
      lines.push(element("p", { class: "pe-divergence" }, readable(text), " ", go));
    } else if (data.is_changed) lines.push(element("p", { class: "pe-divergence pe-same" }, "The same comes out as before."));
    if (data.dropped) lines.push(element("p", { class: "pe-quiet" }, `${counted(data.dropped, "more item")} came after these; they are not kept.`));
    return lines;
  }

  /** Show an item; of a number that is none, the nearest. */
  go(item) {
    if (!this.lanes) return;
    const { story } = this;
    this.item = Math.max(0, Math.min(story.last, Math.trunc(item) || 0));
    const { data } = story;
    const isEnd = data.end && this.item === story.last;
    this.root.dataset.item = String(this.item);
    this.slider.value = String(this.item);
    this.slider.setAttribute("aria-valuetext", this.words());
    this.place.textContent = `${isEnd ? "end, " : ""}${(this.item + 1).toLocaleString("en")} / ${story.items.toLocaleString("en")}${data.times ? ` · ${seconds(data.times[this.item])}` : ""}`;
    this.lanes.draw(this.item);
    const within = [this.came, this.did].find((panel) => panel.contains(this.focused));
    this.changes.replaceChildren(...difference(story, this.item).map((each) => element("li", {}, each)));
    const raw = data.raw[this.item];
    this.came.replaceChildren(element("h4", {}, isEnd ? "The input ended" : `What came: item ${this.item + 1}`), isEnd ? element("p", {}, `It ${WORDS_OF_ENDS[data.end.how]}.`) : shownRaw(raw));
    this.did.replaceChildren(element("h4", {}, "What each stage did with it"), ...story.stages.map((_, stage) => shownStage(story, stage, this.item)));
    within?.focus({ preventScroll: true }); // what had the focus is gone, and the keys are to go on
    this.drawAnswer();
    if (this.store.get("item") !== this.item) this.save("item", this.item);
  }

  drawAnswer() {
    const { story, item } = this;
    const open = story.openAt(item);
    const begun = story.begunAt(item);
    const latest = Array.from({ length: Math.min(begun, MOST_SEGMENTS) }, (_, place) => begun - 1 - place);
    const shown = [...new Set([...open.slice(-12), ...latest])].sort((left, right) => right - left).slice(0, 12);
    const left = begun - shown.length;
    this.answer.replaceChildren(
      element("h4", {}, "The answer so far"),
      ...(shown.length ? shown.map((place) => shownSegment(story, story.segments[place], item)) : [element("p", { class: "pe-quiet" }, "No segment has begun.")]),
      left > 0 ? element("small", {}, `and ${counted(left, "earlier segment")}`) : "",
    );
    const added = this.answer.querySelector("ins");
    this.answer.scrollTop = added ? Math.max(0, added.offsetTop + added.offsetHeight - this.answer.clientHeight + 24) : 0;
  }

  words() {
    const { story, item } = this;
    const came = story.stages.length ? story.outputCount(story.stages.length - 1, item) : 0;
    const held = story.heldAt(item).reduce((sum, each) => sum + (each.in_raw ? 0 : each.text.length + (each.before ?? 0)), 0);
    const at = story.data.times ? ` at ${seconds(story.data.times[item])}` : "";
    const end = story.data.end && item === story.last ? ", the end of the input" : "";
    return `item ${item + 1} of ${story.items}${at}${end}: ${counted(came, "event")}${held ? `, ${counted(held, "character")} held back` : ""}`;
  }

  /** Follow a change that came from elsewhere; what a kernel repeats of what was sent is older than what is set here. */
  heard(name, mine, follow) {
    const value = this.store.get(name);
    if (value === mine) return;
    if (this.unsent.has(name) && value === this.sent[name]) this.store.set(name, mine);
    else follow(value);
  }

  save(name, value) {
    this.store.set(name, value);
    this.unsent.add(name);
    this.saving ??= setTimeout(() => this.saveNow(), 100); // a slider that is dragged would send sixty a second
  }

  saveNow() {
    clearTimeout(this.saving);
    this.saving = null;
    for (const name of this.unsent) this.sent[name] = this.store.get(name);
    this.unsent.clear();
    this.store.save();
  }

  say(text) {
    this.live.textContent = text;
  }

  complain(text) {
    this.problem.hidden = !text;
    this.problem.textContent = readable(text ?? "");
    if (!text || !this.run) return;
    this.run.textContent = "Run";
    this.marked();
  }

  // ---- playing

  play(isWanted) {
    isWanted = Boolean(isWanted && this.lanes);
    if (isWanted === this.isPlaying) return;
    this.isPlaying = isWanted;
    if (this.store.get("playing") !== isWanted) this.save("playing", isWanted);
    cancelAnimationFrame(this.frame);
    this.drawButton();
    if (!isWanted) return this.say(`Paused. ${this.words()}`);
    if (this.item >= this.story.last) this.go(0);
    this.say("Playing");
    let before = performance.now();
    let at = this.timeOf(this.item);
    let shown = this.item;
    const advance = (now) => {
      if (this.item !== shown) at = this.timeOf(this.item); // somebody moved the slider
      at += ((now - before) / 1000) * this.store.get("speed");
      before = now;
      const item = this.itemAtTime(at);
      if (item !== this.item) this.go(item);
      shown = this.item;
      if (this.item >= this.story.last) return this.play(false);
      this.frame = requestAnimationFrame(advance);
    };
    this.frame = requestAnimationFrame(advance);
  }

  timeOf(item) {
    const { times } = this.story.data;
    return times ? times[item] / 1e9 : item * UNTIMED;
  }

  itemAtTime(at) {
    const { times } = this.story.data;
    return Math.min(this.story.last, times ? Math.max(this.item, countUpTo(times, at * 1e9) - 1) : Math.floor(at / UNTIMED + 1e-9));
  }

  /** Offer the paces, and the one that is set if it is another. */
  drawPace() {
    if (!this.pace) return;
    const speed = String(this.store.get("speed"));
    const paces = PACES.some(([value]) => value === speed) ? PACES : [...PACES, [speed, `${speed} × pace`]];
    const named = (name) => (this.story.data.times ? name : name.replace("original pace", "10 items a second"));
    this.pace.replaceChildren(...paces.map(([value, name]) => element("option", { value }, named(name))));
    this.pace.value = speed;
  }

  drawButton() {
    this.button.textContent = this.isPlaying ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", this.isPlaying ? "Pause" : "Play");
  }

  pressed(event) {
    const target = event.target;
    if (!this.story || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches("select, input:not([type=range]), textarea")) return;
    const isSpaceTaken = target.matches("button, summary");
    const by = event.shiftKey ? 10 : 1;
    const moves = {
      ArrowLeft: () => this.go(this.item - by),
      ArrowRight: () => this.go(this.item + by),
      Home: () => this.go(0),
      End: () => this.go(this.story.last),
      " ": isSpaceTaken ? null : () => this.play(!this.isPlaying),
    };
    if (target === this.slider) Object.assign(moves, { ArrowUp: moves.ArrowRight, ArrowDown: moves.ArrowLeft, PageUp: () => this.go(this.item + 10), PageDown: () => this.go(this.item - 10) });
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  }

  resized(isNewTheme = false) {
    if (!this.lanes || (!isNewTheme && this.width === this.root.clientWidth) || !this.root.clientWidth) return;
    this.width = this.root.clientWidth;
    this.lanes.prepare();
    this.lanes.draw(this.item);
  }
}

async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** Follow the page's theme, whichever way the page says it: by the colour behind the explorer. `look` looks at once. */
function watchTheme(root, changed) {
  const look = () => {
    if (!root.isConnected) return; // a notebook puts it into its page later, and nothing is behind it before
    const theme = isDark(root) ? "dark" : "light";
    if (root.dataset.theme === theme) return;
    root.dataset.theme = theme;
    changed();
  };
  const observer = new MutationObserver(look);
  for (const each of [document.documentElement, document.body]) observer.observe(each, { attributes: true });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", look);
  document.addEventListener("load", look, true); // a stylesheet of the theme came
  const later = setInterval(look, 1000); // or it came some other way
  look();
  const stop = () => {
    observer.disconnect();
    media.removeEventListener("change", look);
    document.removeEventListener("load", look, true);
    clearInterval(later);
  };
  return { look, stop };
}

function isDark(root) {
  for (let node = root.parentNode; node; node = node.assignedSlot ?? node.parentNode ?? node.host) {
    if (!(node instanceof Element)) continue;
    const [red, green, blue, opacity] = painted(getComputedStyle(node).backgroundColor);
    if (opacity >= 128) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  const schemes = getComputedStyle(document.documentElement).colorScheme;
  return schemes.includes("dark") && (!schemes.includes("light") || matchMedia("(prefers-color-scheme: dark)").matches);
}

const PEN = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

/** Return red, green, blue and opacity of a colour in any notation, from 0 to 255. */
function painted(colour) {
  PEN.clearRect(0, 0, 1, 1);
  PEN.fillStyle = colour;
  PEN.fillRect(0, 0, 1, 1);
  return PEN.getImageData(0, 0, 1, 1).data;
}

/** Show the explorer in an element. `store` has `get`, `set`, `save`, and `on(name, callback)`, which returns its undoing. */
export function mount(host, store) {
  return new Explorer(host, store);
}

function render({ model, el }) {
  const store = {
    get: (name) => model.get(name),
    set: (name, value) => model.set(name, value),
    save: () => model.save_changes(),
    on: (name, callback) => {
      model.on(`change:${name}`, callback);
      return () => model.off(`change:${name}`, callback);
    },
  };
  const explorer = mount(el, store);
  return () => explorer.dispose();
}

export default { render };
