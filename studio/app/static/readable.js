// What makes untrusted text visible, and elements of it: the explorer has it in its one file.

export { counted, element, readable } from "/explorer/explorer.js";
