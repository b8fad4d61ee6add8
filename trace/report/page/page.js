"use strict";
// Tables that sort and filter, and the timeline. All names come as text nodes or are painted on the
// canvas: nothing out of a trace is ever parsed as HTML.

function setUpTable(table) {
  const card = table.closest(".card");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const keep = Number(table.dataset.keep);
  const filter = card.querySelector("input");
  const more = card.querySelector(".more button");
  const none = document.createElement("p");  // what a filter without a hit shows
  none.textContent = "nothing matches";
  none.className = "dim";
  table.after(none);

  function refresh() {
    const wanted = filter ? filter.value.trim().toLowerCase() : "";
    let shown = 0;
    for (const row of body.rows) {
      const hit = !wanted || row.cells[0].title.toLowerCase().includes(wanted) ||
        row.cells[0].textContent.toLowerCase().includes(wanted);
      row.classList.toggle("hidden", !hit);
      row.classList.toggle("beyond", hit && shown >= keep);
      if (hit) shown += 1;
    }
    none.hidden = shown > 0;
    if (!more) return;
    more.parentElement.hidden = shown <= keep;
    more.textContent = table.classList.contains("all") ? `show the first ${keep}` : `show all ${shown}`;
  }

  function sortBy(head, column) {
    const numeric = head.classList.contains("number");
    const descending = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "descending" : numeric;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => Number(row.cells[column].dataset.v ?? -Infinity), text = (row) => row.cells[column].textContent;
    const order = numeric ? (a, b) => value(a) - value(b)
                          : (a, b) => text(a).localeCompare(text(b), "en", {numeric: true});  // "rank 9", "rank 10"
    rows.sort((a, b) => descending ? order(b, a) : order(a, b));
    body.append(...rows);
    refresh();
  }

  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent) return;
    head.dataset.sortable = "";
    head.tabIndex = 0;
    head.addEventListener("click", () => sortBy(head, column));
    head.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sortBy(head, column);
    });
  });
  const open = (cell) => cell && cell.parentElement.classList.toggle("open");
  body.addEventListener("click", (event) => {
    if (!getSelection().toString()) open(event.target.closest("td.name"));
  });
  for (const cell of body.querySelectorAll("td.name")) cell.tabIndex = 0;
  body.addEventListener("keydown", (event) => {
    if (!event.target.matches("td.name") || event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open(event.target);
  });
  if (filter) filter.addEventListener("input", refresh);
  if (more) more.addEventListener("click", () => { table.classList.toggle("all"); refresh(); });
  refresh();
}

document.querySelectorAll("table[data-keep]").forEach(setUpTable);

function formatNs(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(2) + " s";
  if (size >= 1e6) return (ns / 1e6).toFixed(2) + " ms";
  if (size >= 1e3) return (ns / 1e3).toFixed(2) + " µs";
  return ns.toFixed(0) + " ns";
}

class Timeline {
  constructor(host, data) {
    this.host = host;
    this.data = data;
    this.canvas = host.querySelector("canvas");
    this.tip = host.querySelector("#tip");
    this.context = this.canvas.getContext("2d");
    this.begin = 0;
    this.end = data.length;
    this.selected = null;
    this.rowHeight = 16;
    this.rulerHeight = 22;
    this.layOut();
    this.listen();
    this.resize();
  }

  // Rows from top to bottom: headings, lanes, then the ranks' device lanes.
  layOut() {
    this.rows = [];
    let last = "";
    for (const lane of this.data.lanes) {
      const owner = lane.title + "\u0000" + lane.note;
      const slices = [];
      for (let i = 0, at = 0; i < lane.slices.length; i += 3) {
        at += lane.slices[i];
        slices.push({begin: at, end: at + lane.slices[i + 1], name: lane.slices[i + 2]});
      }
      this.rows.push({title: owner === last ? "" : lane.title, note: owner === last ? "" : lane.note,
                      first: owner !== last, slices});
      last = owner;
    }
    this.data.ranks.forEach((rank, index) => {
      const spans = [];
      for (let i = 0; i < rank.spans.length; i += 3) {
        spans.push({begin: rank.spans[i], end: rank.spans[i] + rank.spans[i + 1], state: rank.spans[i + 2]});
      }
      this.rows.push({title: this.data.ranks.length > 1 ? rank.title : "GPU use", note: "", first: index === 0, spans});
    });
    let y = this.rulerHeight;
    for (const row of this.rows) {
      if (row.first) y += 6;
      row.y = y;
      y += this.rowHeight;
    }
    this.height = y + 6;
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue("--" + name).trim();
    this.slice = ["operator", "annotation", "kernel", "communication", "memcpy", "dataloader", "runtime", "python", "overhead", "overhead"].map(get);
    this.state = ["idle", "kernel", "communication", "overlap", "memcpy"].map(get);
    this.ink = get("ink"); this.dim = get("dim"); this.line = get("line"); this.accent = get("accent");
    this.idle = get("idle"); this.card = get("card");
    this.dark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
  }

  resize() {
    this.width = this.canvas.clientWidth;
    this.gutter = this.width < 700 ? 92 : 132;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = this.height + "px";
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.colours();
    this.draw();
  }

  xOf(time) { return this.gutter + (time - this.begin) / (this.end - this.begin) * (this.width - this.gutter); }
  timeAt(x) { return this.begin + (x - this.gutter) / (this.width - this.gutter) * (this.end - this.begin); }

  drawRuler() {
    const paint = this.context;
    const span = this.end - this.begin;
    const rough = span / Math.max(2, (this.width - this.gutter) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    paint.font = "11px system-ui, sans-serif";
    paint.textBaseline = "middle";
    paint.textAlign = "left";
    const [unit, name] = this.end >= 5e9 ? [1e9, "s"] : this.end >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
    for (let time = Math.ceil(this.begin / step) * step; time <= this.end; time += step) {
      const x = Math.round(this.xOf(time)) + 0.5;
      paint.strokeStyle = this.line;
      paint.beginPath(); paint.moveTo(x, 4); paint.lineTo(x, this.height); paint.stroke();
      paint.fillStyle = this.dim;
      const text = `+${+(time / unit).toFixed(6)} ${name}`;
      if (x + paint.measureText(text).width + 6 < this.width) paint.fillText(text, x + 4, 11);
    }
  }

  // The first of `slices` that ends behind `time`: they are sorted and do not overlap.
  firstAfter(slices, time) {
    let low = 0, high = slices.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (slices[middle].end < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  drawSlices(row) {
    const paint = this.context, slices = row.slices, y = row.y + 1, height = this.rowHeight - 2;
    let painted = -1;
    for (let i = this.firstAfter(slices, this.begin); i < slices.length && slices[i].begin <= this.end; ++i) {
      const slice = slices[i];
      const left = Math.max(this.gutter, this.xOf(slice.begin)), right = Math.min(this.width, this.xOf(slice.end));
      if (right < painted + 0.5 && slice !== this.selected) continue;
      const [name, colour] = this.data.names[slice.name];
      const wide = right - left > 3;
      paint.fillStyle = this.slice[colour];
      paint.fillRect(left, y, Math.max(0.7, right - left - (wide ? 0.6 : 0)), height);
      painted = right;
      if (right - left > 30) this.label(name, left + 4, right - 4, y + height / 2, colour);
    }
  }

  label(name, left, right, y, colour) {
    const paint = this.context;
    const text = colour >= 2 && colour <= 4 ? name.replace(/^void /, "").replace(/\(anonymous namespace\)::|\w+::/g, "") : name;
    const fits = Math.floor((right - left) / 5.6);
    paint.fillStyle = colour === 2 || colour === 4 || colour === 5 ? (this.dark ? "#0b1520" : "#fff") : this.dark ? "#f0f2f5" : "#1f2933";
    paint.font = "10.5px system-ui, sans-serif";
    paint.textAlign = "left";
    if (fits >= 3) paint.fillText(text.length > fits ? text.slice(0, fits - 1) + "…" : text, left, y + 0.5, right - left);
  }

  drawSpans(row) {
    const paint = this.context, y = row.y + 1, height = this.rowHeight - 2;
    paint.fillStyle = this.idle;
    paint.fillRect(this.gutter, y, this.width - this.gutter, height);
    for (const span of row.spans) {
      if (span.end < this.begin || span.begin > this.end) continue;
      const left = Math.max(this.gutter, this.xOf(span.begin)), right = Math.min(this.width, this.xOf(span.end));
      paint.fillStyle = this.state[span.state];
      paint.fillRect(left, y, Math.max(0.7, right - left), height);
    }
  }

  drawTitles() {
    const paint = this.context;
    paint.fillStyle = this.card;
    paint.fillRect(0, 0, this.gutter, this.height);
    paint.textBaseline = "middle";
    for (const row of this.rows) {
      if (row.first) {
        paint.strokeStyle = this.line;
        paint.beginPath(); paint.moveTo(0, row.y - 3.5); paint.lineTo(this.width, row.y - 3.5); paint.stroke();
      }
      paint.textAlign = "left";
      paint.font = "11px system-ui, sans-serif";
      paint.fillStyle = this.ink;
      paint.fillText(row.title, 2, row.y + this.rowHeight / 2, this.gutter - 8);
      if (!row.note || this.gutter < 100) continue;
      const used = paint.measureText(row.title).width + 10;
      paint.fillStyle = this.dim;
      if (used + paint.measureText(row.note).width < this.gutter - 4) paint.fillText(row.note, used, row.y + this.rowHeight / 2);
    }
  }

  drawMarked() {
    if (!this.marked) return;
    const paint = this.context;
    const left = this.xOf(this.marked.begin), right = Math.max(left + 2, this.xOf(this.marked.end));
    paint.fillStyle = this.accent;
    paint.globalAlpha = 0.12;
    paint.fillRect(left, this.rulerHeight, right - left, this.height - this.rulerHeight);
    paint.globalAlpha = 1;
    paint.strokeStyle = this.accent;
    paint.lineWidth = 1.5;
    paint.strokeRect(left, this.rulerHeight, right - left, this.height - this.rulerHeight - 1);
    paint.lineWidth = 1;
  }

  draw() {
    const paint = this.context;
    paint.clearRect(0, 0, this.width, this.height);
    this.drawRuler();
    for (const row of this.rows) row.spans ? this.drawSpans(row) : this.drawSlices(row);
    this.drawMarked();
    this.drawTitles();
  }

  soon() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); });
  }

  show(begin, end) {
    const least = 200, whole = this.data.length;
    let span = Math.min(whole, Math.max(least, end - begin));
    begin = Math.min(Math.max(0, begin - (span - (end - begin)) / 2), whole - span);
    this.begin = begin;
    this.end = begin + span;
    this.soon();
  }

  zoom(factor, x) {
    const at = this.timeAt(x);
    this.show(at - (at - this.begin) * factor, at + (this.end - at) * factor);
  }

  hit(x, y) {
    if (x < this.gutter) return null;
    const row = this.rows.find((each) => y >= each.y && y < each.y + this.rowHeight);
    if (!row) return null;
    const time = this.timeAt(x), slack = (this.end - this.begin) / (this.width - this.gutter) * 1.5;
    if (row.spans) {
      const span = row.spans.find((each) => time >= each.begin && time <= each.end);
      const words = ["idle", "computes", "communicates, nothing beside", "computes and communicates", "copies"];
      return {text: words[span ? span.state : 0], length: span ? span.end - span.begin : null};
    }
    const exact = row.slices[this.firstAfter(row.slices, time)];
    const slice = exact && exact.begin <= time ? exact : row.slices[this.firstAfter(row.slices, time - slack)];
    if (!slice || slice.begin > time + slack) return null;
    return {text: this.data.names[slice.name][0], length: slice.end - slice.begin, begin: slice.begin, slice};
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const found = this.hit(x, y);
    this.tip.style.display = found ? "block" : "none";
    if (!found) return;
    const name = document.createElement("b"), rest = document.createElement("div");
    name.textContent = found.text;
    rest.className = "dim";
    rest.textContent = found.length === null ? "" : formatNs(found.length) + (found.begin === undefined ? "" : " at " + (found.begin < 0 ? "" : "+") + formatNs(found.begin));
    this.tip.replaceChildren(name, rest);
    this.tip.style.left = Math.max(0, Math.min(x + 14, this.width - this.tip.offsetWidth - 4)) + "px";
    this.tip.style.top = (y + 18) + "px";
  }

  listen() {
    let drag = null;
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey && document.activeElement !== this.canvas) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, event.clientX - this.canvas.getBoundingClientRect().left);
    }, {passive: false});
    this.canvas.addEventListener("pointerdown", (event) => {
      drag = {x: event.clientX, begin: this.begin, end: this.end};
      this.canvas.setPointerCapture(event.pointerId);
      this.canvas.focus({preventScroll: true});
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!drag) return this.point(event);
      const moved = (drag.x - event.clientX) / (this.width - this.gutter) * (drag.end - drag.begin);
      this.show(drag.begin + moved, drag.end + moved);
    });
    this.canvas.addEventListener("pointerup", () => { drag = null; });
    this.canvas.addEventListener("pointerleave", () => { this.tip.style.display = "none"; });
    this.canvas.addEventListener("dblclick", (event) => {
      const box = this.canvas.getBoundingClientRect();
      const found = this.hit(event.clientX - box.left, event.clientY - box.top);
      if (!found || !found.slice) return this.show(0, this.data.length);
      const room = (found.slice.end - found.slice.begin) * 0.2;
      this.show(found.slice.begin - room, found.slice.end + room);
    });
    this.canvas.addEventListener("keydown", (event) => {
      const span = this.end - this.begin, middle = (this.gutter + this.width) / 2;
      const keys = {w: () => this.zoom(0.7, middle), s: () => this.zoom(1 / 0.7, middle),
                    a: () => this.show(this.begin - span * 0.2, this.end - span * 0.2),
                    d: () => this.show(this.begin + span * 0.2, this.end + span * 0.2),
                    f: () => { this.marked = null; this.show(0, this.data.length); }};
      const names = {ArrowLeft: "a", ArrowRight: "d", "+": "w", "-": "s", Escape: "f"};
      const action = keys[names[event.key] ?? event.key.toLowerCase()];
      if (!action || event.ctrlKey || event.metaKey) return;
      action();
      event.preventDefault();
    });
    new ResizeObserver(() => { if (this.canvas.clientWidth !== this.width) this.resize(); }).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.resize());
    addEventListener("beforeprint", () => this.resize());
    addEventListener("afterprint", () => this.resize());
  }

  jumpTo(evidence) {
    const [begin, length] = evidence;
    this.marked = {begin, end: begin + length};
    const room = Math.max(length * 0.75, this.data.length / 200);
    this.show(begin - room, begin + length + room);
    this.host.scrollIntoView({behavior: "smooth", block: "center"});
  }
}

const host = document.getElementById("timeline");
if (host) {
  const timeline = new Timeline(host, JSON.parse(document.getElementById("data").textContent));
  document.querySelectorAll("button[data-evidence]").forEach((button) => {
    button.addEventListener("click", () => timeline.jumpTo(timeline.data.evidence[Number(button.dataset.evidence)]));
  });
  document.querySelector("button[data-fit]").addEventListener("click", () => {
    timeline.marked = null;
    timeline.show(0, timeline.data.length);
  });
}
document.querySelectorAll("button[data-copy]").forEach((button) => {
  // Browsers have no clipboard for pages that come over plain http: there the command is selected, and copied the old way.
  const copySelected = () => {
    getSelection().selectAllChildren(button.previousElementSibling);
    if (document.execCommand("copy")) button.textContent = "copied";
  };
  button.addEventListener("click", () => {
    if (!navigator.clipboard) return copySelected();
    navigator.clipboard.writeText(button.dataset.copy).then(() => { button.textContent = "copied"; }, copySelected);
  });
});
