// Tabs, the selected cell, the legend that all charts share, tables, and the specs.

const report = JSON.parse(document.getElementById("data").textContent);
const look = {...report.look, hidden: new Set()};
const TABS = {
  overview: "Overview", regret: "Regret", rate: "Rate in T", terms: "Four terms", epochs: "Epochs and widths",
  realised: "Realised and expected", comparisons: "Comparisons", specs: "Specs",
};
const EMPTY = {
  terms: "No learner of this cell estimates losses, so the regret has no four terms here.",
  epochs: "No learner of this cell has epochs.",
};
const at = (id) => document.getElementById(id);
const sections = {}, stale = new Set();
let tab = "overview", cell = 0;

function table(sheet) {
  const box = element("div", {class: "scroll"});
  if (!sheet) return box;
  element("h2", {}, box, sheet.title);
  const grid = element("table", {}, box);
  const head = element("tr", {}, element("thead", {}, grid)), body = element("tbody", {}, grid);
  const isNumber = sheet.columns.map((_, i) => sheet.rows.some((row) => row.entries[i].value !== null));
  const lines = sheet.rows.filter((row) => !row.learners.some((learner) => look.hidden.has(learner))).map((row) => {
    const line = element("tr");
    row.entries.forEach((entry, i) => element("td", isNumber[i] ? {class: "number"} : {}, line, entry.text));
    if (row.cell !== null) {
      line.classList.add("choice");
      line.classList.toggle("chosen", row.cell === cell);
      line.addEventListener("click", () => choose(row.cell, tab));
    }
    return {line, row};
  });
  sheet.columns.forEach((name, i) => {
    const column = element("th", {scope: "col", tabindex: 0, class: isNumber[i] ? "number" : ""}, head, name);
    const sort = () => {
      const down = column.getAttribute("aria-sort") === "ascending";
      for (const other of head.children) other.removeAttribute("aria-sort");
      column.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, other) => (isNumber[i] ? (one.value ?? Infinity) - (other.value ?? Infinity)
                                                 : one.text.localeCompare(other.text));
      lines.sort((one, other) => (down ? -1 : 1) * order(one.row.entries[i], other.row.entries[i]));
      body.append(...lines.map(({line}) => line));
    };
    column.addEventListener("click", sort);
    column.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
  body.append(...lines.map(({line}) => line));
  element("p", {class: "note"}, box, sheet.note);
  return box;
}

function readable(spec) {
  try { return JSON.stringify(JSON.parse(spec), null, 2); } catch { return spec; }
}

function specs() {
  const box = element("div");
  element("p", {class: "note"}, box, "The runs behind every figure and table of this cell; only finished ones enter them.");
  const shown = report.cells[cell].runs.filter((run) => !look.hidden.has(run.learner));
  for (const learner of [...new Set(shown.map((run) => run.learner))]) {
    const runs = shown.filter((run) => run.learner === learner), group = element("details", {}, box);
    element("summary", {}, group, `${learner}: ${runs.length} runs`);
    for (const run of runs) {
      const item = element("details", {}, group), facts = [run.status, `seed ${run.seed}`, `replicate ${run.replicate}`];
      for (const fact of [run.version && `advmdp ${run.version}`, run.machine, run.started]) if (fact) facts.push(fact);
      element("summary", {}, item, `${run.run} (${facts.join(", ")})`);
      item.addEventListener("toggle", () => item.open && item.children.length === 1 &&
        element("pre", {}, item, readable(run.spec)));
    }
  }
  return box;
}

const panelsOf = (name) => (name === "rate" ? report.families[report.cells[cell].family].panels
                                            : report.cells[cell].panels[name]) ?? [];

function draw(name) {
  const section = sections[name], shown = report.cells[cell], family = report.families[shown.family];
  section.replaceChildren(element("h2", {class: "heading"}, null, TABS[name]));
  const panels = panelsOf(name).filter((panel) => !look.hidden.has(panel.learner));
  const top = element("div", {class: "beside"}, section);
  if (panels.length) element("div", {class: "charts"}, top).append(...panels.map((panel) => chart(panel, look)));
  if (name in EMPTY && !panelsOf(name).length) element("p", {}, section, EMPTY[name]);
  if (name === "overview") section.append(table(shown.sheets.summary), table(shown.sheets.rewards), table(shown.sheets.certificates), table(report.overview));
  if (name === "regret") top.append(table(shown.sheets.summary));
  if (name === "realised") top.append(table(shown.sheets.rewards));
  if (name === "rate") top.append(table(family.sheet));
  if (name === "comparisons") section.append(table(shown.sheets.comparisons));
  if (name === "specs") section.append(specs());
  stale.delete(name);
}

function legend() {
  const keys = new Set(panelsOf(tab).flatMap((panel) => [panel.learner, ...panel.series.map((series) => series.key)]));
  if (!panelsOf(tab).length) for (const run of report.cells[cell].runs) keys.add(run.learner);
  keys.delete(null);
  const order = Object.keys(look.styles).filter((key) => keys.has(key));
  at("legend").replaceChildren(...order.map((key) => {
    const entry = element("button", {type: "button", "aria-pressed": !look.hidden.has(key), title: "double-click: this one alone"});
    entry.dataset.key = key;
    if (!panelsOf(tab).some((panel) => panel.learner === key)) entry.append(swatch(key, look));
    entry.append(key);
    entry.addEventListener("click", (event) => {
      if (event.detail > 1) return alone(key, order);
      if (!look.hidden.delete(key)) look.hidden.add(key);
      renew();
    });
    return entry;
  }));
}

function alone(key, order) {
  const isAlone = order.every((other) => other === key || look.hidden.has(other));
  for (const other of order) if (isAlone || other === key) look.hidden.delete(other); else look.hidden.add(other);
  renew();
}

function renew() {
  for (const name of Object.keys(TABS)) stale.add(name);
  show(tab);
}

function show(name) {
  tab = name;
  for (const [other, section] of Object.entries(sections)) section.hidden = other !== name;
  for (const button of at("tabs").children) button.setAttribute("aria-selected", button.dataset.tab === name);
  if (stale.has(name)) draw(name);  // only what is looked at gets drawn
  legend();
  history.replaceState(null, "", `#${name}.${cell}`);
}

function choose(number, name) {
  cell = number;
  at("cell").value = number;
  tab = name;
  renew();
}

function start() {
  at("counts").textContent = report.counts;
  report.cells.forEach((one, i) => element("option", {value: i}, at("cell"), one.name));
  at("cell").addEventListener("change", () => choose(Number(at("cell").value), tab));
  for (const [name, title] of Object.entries(TABS)) {
    const button = element("button", {type: "button", role: "tab", id: `tab-${name}`, "aria-controls": name}, at("tabs"), title);
    button.dataset.tab = name;
    button.addEventListener("click", () => show(name));
    sections[name] = element("section", {id: name, role: "tabpanel", "aria-labelledby": `tab-${name}`}, at("sections"));
  }
  addEventListener("beforeprint", () => [...stale].forEach(draw));
  const [name, number] = location.hash.slice(1).split(".");
  choose(report.cells[Number(number)] ? Number(number) : 0, name in TABS ? name : "overview");
}

start();
