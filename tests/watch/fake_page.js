// A page as far as replay.js needs one, and a user of it: `node fake_page.js replay.js page.json '[["key", "End"], …]'` prints, as JSON,
// what the page shows at first and after each act. Acts: key KEY, slide N, click SHARE (of a curve's width), play, tick (one period).
"use strict";
const fs = require("fs");
const [script, page, acts] = [fs.readFileSync(process.argv[2], "utf8"), JSON.parse(fs.readFileSync(process.argv[3])), JSON.parse(process.argv[4])];

class Element {
  constructor(attributes = {}, text = "") {
    this.attributes = attributes;
    this.textContent = text;
    this.children = [];
    this.listeners = {};
    this.tagName = "DIV";
  }
  getAttribute(name) { return this.attributes[name] ?? null; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  removeAttribute(name) { delete this.attributes[name]; }
  addEventListener(kind, listener) { this.listeners[kind] = listener; }
  getBoundingClientRect() { return { left: 100, width: 200 }; }
  fire(kind, event = {}) { this.listeners[kind]({ preventDefault() {}, target: this, ...event }); }
}

const byId = { run: new Element({}, page.run), period: new Element(), play: new Element(), at: new Element(), ports: new Element(), rows: new Element() };
byId.rows.children = page.rows.map((cells) => {
  const row = new Element();
  row.children = cells.map((text) => new Element({}, text));
  return row;
});
page.rows[0].forEach((_, column) => { byId["now-" + column] = new Element(); });
const found = {
  "#graph .n": page.boxes.map((name) => new Element({ class: name })),
  "#graph .m": page.marks.map((name) => new Element({ class: name })),
  ".cursor": [new Element(), new Element()],
  ".curve svg": [new Element()],
};
const body = new Element();
global.document = { getElementById: (name) => byId[name], querySelectorAll: (query) => found[query], addEventListener: (kind, listener) => body.addEventListener(kind, listener) };
let timer = null;
global.setInterval = (tick) => { timer = tick; return 1; };
global.clearInterval = () => { timer = null; };

const shown = () => ({
  period: Number(byId.period.value),
  current: byId.rows.children.map((row) => row.getAttribute("aria-current") === "true").indexOf(true),
  cells: page.rows[0].map((_, column) => byId["now-" + column].textContent),
  boxes: found["#graph .n"].map((box) => box.getAttribute("class")),
  marks: found["#graph .m"].map((mark) => mark.getAttribute("class")),
  cursor: found[".cursor"].map((cursor) => Number(cursor.getAttribute("x1"))),
  ports: byId.ports.textContent,
  at: byId.at.textContent,
  playing: timer !== null,
});

eval(script);
const seen = [shown()];
for (const [act, argument] of acts) {
  if (act === "key") body.fire("keydown", { key: argument });
  if (act === "slide") { byId.period.value = argument; byId.period.fire("input"); }
  if (act === "click") found[".curve svg"][0].fire("click", { clientX: 100 + 200 * argument });
  if (act === "play") byId.play.fire("click");
  if (act === "tick" && timer) timer();
  seen.push(shown());
}
console.log(JSON.stringify(seen));
