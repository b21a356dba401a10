// The replay's only script: a period is chosen, and everything that depends on it shows it. All texts come from the table.
"use strict";
(() => {
  const id = (name) => document.getElementById(name);
  const all = (query) => Array.from(document.querySelectorAll(query));
  const run = JSON.parse(id("run").textContent);
  const slider = id("period"), button = id("play"), rows = Array.from(id("rows").children);
  const boxes = all("#graph .n"), marks = all("#graph .m"), cursors = all(".cursor"), last = rows.length - 1;
  const pause = Math.min(500, Math.max(60, 12000 / rows.length)); // ms a period: about 12 s for a run
  let now = 0, state = -1, timer = null;

  const unpacked = (text) => (text ? text.split(" ").map((part) => part[0].repeat(Number(part.slice(1)) || 1)).join("") : "");

  function paint(number) {
    if (number === state) return;
    state = number;
    const [letters, shares, names] = run.states[number];
    const letter = unpacked(letters), share = unpacked(shares);
    boxes.forEach((box, place) => box.setAttribute("class", "n " + letter[place]));
    marks.forEach((mark, place) => {
      const own = mark.getAttribute("class").startsWith("m t") ? "m t q" : "m q";
      mark.setAttribute("class", own + share[place]);
    });
    id("ports").textContent = names;
  }

  function show(period) {
    rows[now].removeAttribute("aria-current");
    now = Math.min(last, Math.max(0, period));
    rows[now].setAttribute("aria-current", "true");
    slider.value = now;
    id("at").textContent = `${now + 1} of ${rows.length}`;
    const cells = Array.from(rows[now].children);
    cells.forEach((cell, column) => { id("now-" + column).textContent = cell.textContent; });
    slider.setAttribute("aria-valuetext", `${cells[0].textContent}, ${cells[8].textContent}`);
    for (const cursor of cursors) {
      cursor.setAttribute("x1", run.x[now]);
      cursor.setAttribute("x2", run.x[now]);
    }
    paint(run.state[now]);
  }

  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => (now < last ? show(now + 1) : play(false)), pause) : null;
    button.textContent = on ? "❚❚" : "▶";
    button.setAttribute("aria-label", on ? "pause" : "play");
    if (on && now === last) show(0);
  }

  const keys = { ArrowLeft: () => now - 1, ArrowRight: () => now + 1, Home: () => 0, End: () => last };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === " " && event.target !== button && event.target.tagName !== "SUMMARY") {
      event.preventDefault();
      play(timer === null);
    } else if (event.key in keys && event.target !== slider) {
      event.preventDefault();
      play(false);
      show(keys[event.key]());
    }
  });
  slider.addEventListener("input", () => { play(false); show(Number(slider.value)); });
  button.addEventListener("click", () => play(timer === null));
  for (const curve of all(".curve svg")) {
    curve.addEventListener("click", (event) => {
      const frame = curve.getBoundingClientRect();
      const wish = (1000 * (event.clientX - frame.left)) / frame.width;
      const later = run.x.findIndex((place) => place >= wish);
      play(false);
      show(later < 0 ? last : later);
    });
  }
  show(0);
})();
