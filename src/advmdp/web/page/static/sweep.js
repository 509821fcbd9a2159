"use strict";
// A store: how far its runs are, the curves of one cell while they grow, and the list of its runs.

const STATUS = ["finished", "running", "starting", "failed", "cut", "waiting"];
const STATUS_WORDS = {cut: "interrupted"};
const PANELS = ["regret", "loss", "width"];
const FAINT = "under way: ";

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const two = (n) => String(n).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600).toLocaleString("en-US")} h ${two(Math.floor(whole % 3600 / 60))} min`;
}

const count = (n) => n.toLocaleString("en-US");
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// "12 finished, 2 running, 1 failed": in a fixed order, without those that there are none of.
const countsText = (counts) => STATUS.filter((name) => counts[name])
  .map((name) => `${count(counts[name])} ${STATUS_WORDS[name] ?? name}`).join(", ");

// A bar whose parts are the runs by status; what runs under way have behind them counts as a part of them.
function countsBar(counts, share) {
  const total = Object.values(counts).reduce((sum, n) => sum + n, 0) || 1;
  const bar = element("div", {class: "counts", role: "img", "aria-label": `${countsText(counts)}; ${percent(share)} of the episodes`});
  for (const name of ["finished", "running", "failed", "cut"])
    if (counts[name]) element("span", {class: name}, bar).style.width = `${100 * counts[name] / total}%`;
  return bar;
}

function progressBar(share, status) {
  const bar = element("div", {class: `progress ${status}`});
  element("span", {}, bar).style.width = `${(100 * share).toFixed(1)}%`;
  return bar;
}

function chip(status) {
  return element("span", {class: `chip ${status}`}, null, STATUS_WORDS[status] ?? status);
}

// Rows of a table by key: rows that stay keep their elements, in the order of `place`.
function keyedRows(body, rows, entries, fill) {
  const ordered = Object.keys(entries).sort((one, other) => entries[one].place - entries[other].place);
  for (const key of [...rows.keys()]) if (!(key in entries)) { rows.get(key).line.remove(); rows.delete(key); }
  ordered.forEach((key, i) => {
    const text = JSON.stringify({...entries[key], place: 0});
    let row = rows.get(key);
    if (!row) rows.set(key, row = {line: element("tr"), text: null});
    if (row.text !== text) {
      row.line.replaceChildren();
      fill(row.line, key, entries[key]);
      row.text = text;
    }
    if (body.children[i] !== row.line) body.insertBefore(row.line, body.children[i] ?? null);
  });
}

function tableWith(parent, columns, className) {
  const made = element("table", {class: className}, sideways(parent));
  const head = element("tr", {}, element("thead", {}, made));
  for (const [name, kind] of columns) element("th", {scope: "col", class: kind}, head, name);
  return element("tbody", {}, made);
}

class SweepView {
  constructor(root, number, cell) {
    this.number = number;
    this.look = {hidden: new Set(), widest: 1100, tallest: 480};
    this.charts = new Map();
    this.learners = new Map();
    this.runs = new Map();
    const head = element("section", {class: "head"}, root);
    this.title = element("h1", {}, head, "Store");
    this.path = element("p", {class: "path"}, head);
    this.problem = element("p", {class: "problem", hidden: ""}, head);
    this.headline = element("p", {class: "headline"}, head);
    this.bar = element("div", {}, head);
    this.menu = element("label", {class: "menu", hidden: ""}, head, "Cell ");
    this.select = element("select", {id: "cell"}, this.menu);
    this.select.addEventListener("change", () => { location.hash = `#/store/${number}/${this.select.value}`; });
    this.legend = element("div", {id: "legend", class: "group"}, root);
    this.figures = element("div", {class: "live-charts"}, root);
    this.empty = element("div", {class: "empty", hidden: ""}, root);
    const learners = this.learnerSection = element("section", {}, root);
    element("h2", {}, learners, "Learners");
    this.learnerBody = tableWith(learners, [["learner", ""], ["finished", ""], ["", "optional"], ["final regret, mean [95%]", "number"],
      ["episodes/s", "number"], ["left", "number"], ["told", "optional"]], "learners");
    const runs = this.runSection = element("section", {}, root);
    this.runTitle = element("h2", {}, runs, "Runs");
    this.runBody = tableWith(runs, [["status", ""], ["learner", ""], ["seed", "number"], ["progress", ""], ["left", "number"],
      ["regret", "number"], ["episodes/s", "number optional"]], "runs");
    this.stream = followStream(`live/store/${number}/${encodeURIComponent(cell)}`, (state, sections) => this.show(state, sections),
                          (status, reason) => refusedHere(root, status, reason));
  }

  close() { this.stream.close(); }

  show(state, sections) {
    const {store, cell, look} = state.summary;
    if (sections.has("summary")) this.showSummary(store, cell);
    if (sections.has("cells")) this.showCells(state.cells, cell);
    if (look && sections.has("summary")) {
      Object.assign(this.look, look);
      this.showLegend(Object.keys(state.learners));
    }
    if (sections.has("panels")) this.showPanels(state.panels);
    if (sections.has("learners")) keyedRows(this.learnerBody, this.learners, state.learners, (line, name, row) => this.learnerRow(line, name, row));
    if (sections.has("runs")) {
      keyedRows(this.runBody, this.runs, state.runs, (line, name, row) => this.runRow(line, name, row));
      const shown = Object.keys(state.runs).length, all = cell?.n_runs ?? 0;
      this.runTitle.textContent = shown < all ? `Runs (${count(shown)} of ${count(all)})` : "Runs";
    }
    const nothing = !store.n_runs && !store.problem && !store.unread;
    this.learnerSection.hidden = this.runSection.hidden = !store.n_runs;
    this.empty.hidden = !nothing;
    if (nothing && !this.empty.children.length) {
      element("p", {}, this.empty, "No run has begun in this store yet. Start a sweep, and this page fills by itself:");
      element("pre", {}, this.empty, `advmdp sweep sweep.toml --store ${store.path}`);
    }
  }

  showSummary(store, cell) {
    this.title.textContent = store.name;
    document.title = `${store.counts.running ? `${percent(store.share)} \u00b7 ` : ""}${store.name} \u00b7 advmdp`;
    this.path.textContent = store.path;
    const trouble = [store.problem, store.n_damaged ? `${plural(store.n_damaged, "run")} cannot be read: ${store.damaged.join("; ")}` : null].filter(Boolean);
    this.problem.hidden = !trouble.length;
    this.problem.textContent = trouble.join(" ");
    this.headline.hidden = Boolean(store.problem);
    this.headline.replaceChildren(...headlineOf(store));
    this.bar.replaceChildren(...(store.n_runs ? [countsBar(store.counts, store.share)] : []));
  }

  showCells(cells, cell) {
    const keys = Object.keys(cells).sort((one, other) => cells[one].place - cells[other].place);
    this.menu.hidden = keys.length < 2;
    this.select.replaceChildren(...keys.map((key) => element("option", {value: key}, null,
      `${cells[key].name} (${percent(cells[key].share)})`)));
    if (cell) this.select.value = cell.key;
  }

  showLegend(learners) {
    this.legend.replaceChildren(...learners.map((learner) => {
      const button = element("button", {type: "button", "aria-pressed": !this.look.hidden.has(learner)});
      button.dataset.key = learner;
      button.append(swatch(learner, this.look), learner);
      button.addEventListener("click", () => {
        const hide = !this.look.hidden.has(learner);
        for (const key of [learner, FAINT + learner]) if (hide) this.look.hidden.add(key); else this.look.hidden.delete(key);
        button.setAttribute("aria-pressed", !hide);
        for (const box of this.charts.values()) box.querySelector("figure").redraw();
      });
      return button;
    }));
  }

  showPanels(panels) {
    for (const [name, box] of this.charts) if (!(name in panels)) { box.remove(); this.charts.delete(name); }
    for (const name of PANELS) {
      if (!(name in panels)) continue;
      const box = this.charts.get(name);
      if (box) box.querySelector("figure").renew(structuredClone(panels[name]));
      else {
        const made = element("div", {class: `chart-${name}`}, this.figures);
        made.append(chart(structuredClone(panels[name]), this.look));
        this.charts.set(name, made);
      }
    }
  }

  learnerRow(line, name, row) {
    const cell = element("th", {scope: "row"}, line);
    cell.append(swatch(name, this.look), name);
    const done = element("div", {class: "both"}, element("td", {class: "barcell"}, line));
    const all = Object.values(row.counts).reduce((sum, n) => sum + n, 0);
    done.append(countsBar(row.counts, row.share));
    element("span", {class: "nowrap"}, done, `${count(row.counts.finished ?? 0)} of ${count(all)}`);
    element("td", {class: "optional nowrap"}, line, countsText({...row.counts, finished: 0}));
    const regret = row.regret === null ? "" : numberText(row.regret[0]) +
      (row.regret[1] === null ? "" : ` [${numberText(row.regret[1])}, ${numberText(row.regret[2])}]`);
    element("td", {class: "number"}, line, regret);
    element("td", {class: "number"}, line, row.rate === null ? "" : numberText(row.rate));
    element("td", {class: "number"}, line, duration(row.left));
    element("td", {class: "optional faint"}, line, row.setting);
  }

  runRow(line, name, row) {
    line.title = name;
    element("td", {}, line).append(chip(row.status));
    const who = element("td", {class: "who"}, line, row.learner);
    if (row.reason) element("p", {class: "reason"}, who, row.reason);
    element("td", {class: "number"}, line, `${row.seed}.${row.replicate}`);
    const cell = element("td", {class: "barcell"}, line);
    if (!["waiting", "starting"].includes(row.status)) {
      const both = element("div", {class: "both"}, cell);
      both.append(progressBar(row.share, row.status));
      element("span", {}, both, row.status === "finished" ? "" : percent(row.share));
    }
    element("td", {class: "number nowrap"}, line, duration(row.left));
    element("td", {class: "number"}, line, row.regret === null ? "" : numberText(row.regret));
    element("td", {class: "number optional"}, line, row.rate === null ? "" : numberText(row.rate));
  }
}

// The line that is read from afar: how much is done, and how long it takes.
function headlineOf(store) {
  if (!store.n_runs) return [store.unread ? `reading ${plural(store.unread, "run")} \u2026` : "no runs"];
  const parts = [element("strong", {}, null, percent(store.share)), ` of all episodes \u00b7 ${countsText(store.counts)}`];
  if (store.left !== null) parts.push(" \u00b7 about ", element("strong", {}, null, duration(store.left)), " left");
  if (store.unread) parts.push(` \u00b7 reading ${plural(store.unread, "more run")} \u2026`);
  return parts;
}
