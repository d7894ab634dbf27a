// What a program wrote for a terminal: its colours are those of the theme, its other codes are left out.

import { element, readable } from "/static/readable.js";

const CODE = /\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x00-\x1f\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-OQ-WYZ\\`-~]/g;
const COLOURS = ["", "red", "green", "yellow", "blue", "magenta", "cyan", ""]; // black and white are the theme's ink
const STYLES = { 1: ["weight", "bold"], 2: ["weight", "dim"], 3: ["slant", "italic"], 4: ["line", "underline"], 22: ["weight", ""], 23: ["slant", ""], 24: ["line", ""], 39: ["ink", ""], 49: ["ground", ""] };

/** Return the lines of a text, each as its pieces: `[kind, text]`. A ground is shown as the colour of its text. */
export function terminalLines(text) {
  const lines = [[]];
  const style = {};
  const add = (piece) => {
    const kind = [style.ground || style.ink, style.weight, style.slant, style.line].filter(Boolean).join(" t-");
    for (const [number, part] of piece.split(/\r*\n|\r+/).entries()) {
      if (number) lines.push([]);
      if (part) lines.at(-1).push([kind, part]);
    }
  };
  let at = 0;
  for (const { 0: code, 1: parameters, 2: final, index } of text.matchAll(CODE)) {
    if (index > at) add(text.slice(at, index));
    at = index + code.length;
    if (final === "m" && /^[\d;:]*$/.test(parameters)) restyle(style, parameters);
  }
  add(text.slice(at));
  return lines;
}

/** Return a short text as what an element may have as its children. */
export const terminalText = (text) =>
  terminalLines(text).flatMap((pieces, number) => [number ? "\n" : null, ...pieces.map(([kind, part]) => element("span", { class: kind && `t-${kind}` }, readable(part)))]);

export const withoutCodes = (text) => text.replace(CODE, "");

function restyle(style, parameters) {
  const codes = parameters.split(";").flatMap((each) => (/^[34]8:/.test(each) ? each.split(":").filter(Boolean) : parseInt(each, 10) || 0)).map(Number).reverse();
  while (codes.length) {
    const code = codes.pop();
    const place = code % 60 >= 40 ? "ground" : "ink"; // 30 to 37 and 90 to 97; 40 to 47 and 100 to 107
    if (code === 0) for (const name of Object.keys(style)) delete style[name];
    else if (code in STYLES) style[STYLES[code][0]] = STYLES[code][1];
    else if (code === 38 || code === 48) style[place] = chosen(codes);
    else if (/^(?:[349]|10)[0-7]$/.test(code)) style[place] = code === 90 ? "dim" : COLOURS[code % 10];
  }
}

/** Take a colour of a palette of 256, or its red, green and blue, off the end; return the nearest that the theme has. */
function chosen(codes) {
  const form = codes.pop();
  if (form === 2) return nearest([codes.pop(), codes.pop(), codes.pop()]);
  if (form !== 5) return "";
  const number = codes.pop();
  if (number < 16) return number === 8 ? "dim" : COLOURS[number % 8];
  return number < 232 ? nearest([36, 6, 1].map((unit) => Math.floor((number - 16) / unit) % 6)) : "";
}

function nearest(parts) {
  const half = Math.max(...parts) / 2;
  return COLOURS[parts.reduce((sum, part, place) => sum + (part > half ? 2 ** place : 0), 0)];
}
