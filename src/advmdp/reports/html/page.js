// Tabs, the selected cell, the legend that all charts share, tables, and the specs.

const report = JSON.parse(document.getElementById("data").textContent);
const look = {...report.look, hidden: new Set(), together: false};
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
let tab = "overview", cell = 0, baseline = report.baseline;

function table(sheet) {
  const box = element("div", {class: "scroll"});
  if (!sheet) return box;
  const top = element("div", {class: "sheet-head"}, box);
  element("h2", {}, top, sheet.title);
  const download = element("button", {type: "button", class: "download"}, top, "CSV");
  download.addEventListener("click", () => saveCsv(sheet.title, [sheet.columns,
    ...lines.map(({row}) => row.entries.map((entry) => entry.value ?? entry.text))]));
  const grid = element("table", {}, sideways(box));
  const head = element("tr", {}, element("thead", {}, grid)), body = element("tbody", {}, grid);
  const isNumber = sheet.columns.map((_, i) => sheet.rows.some((row) => row.entries[i].value !== null));
  const lines = sheet.rows.filter((row) => !row.learners.some((learner) => look.hidden.has(learner))).map((row) => {
    const line = element("tr");
    row.entries.forEach((entry, i) => element(i ? "td" : "th", {...(isNumber[i] ? {class: "number"} : {}), ...(i ? {} : {scope: "row"})}, line, entry.text));
    if (row.cell !== null) {
      line.classList.add("choice");
      line.classList.toggle("chosen", row.cell === cell);
      line.addEventListener("click", () => choose(row.cell, tab));
    }
    return {line, row};
  });
  sheet.columns.forEach((name, i) => {
    const column = explained(element("th", {scope: "col", tabindex: 0, class: isNumber[i] ? "number" : ""}, head, name), name);
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
  if (sheet.note) element("p", {class: "note"}, box, sheet.note);
  return box;
}

// Where the pointer rests, or the keyboard stops, a term says what it means.
function explained(made, term) {
  const text = report.terms[term] ?? report.terms[term.replace(/ \(.*/, "")];
  if (!text) return made;
  made.classList.add("term");
  made.setAttribute("aria-description", text);
  const say = () => {
    const hint = at("hint"), box = made.getBoundingClientRect();
    hint.textContent = text;
    hint.hidden = false;
    hint.style.left = `${Math.max(8, Math.min(box.left, innerWidth - hint.offsetWidth - 8))}px`;
    hint.style.top = `${box.bottom + 6}px`;
  };
  for (const event of ["pointerenter", "focus"]) made.addEventListener(event, say);
  for (const event of ["pointerleave", "blur", "click"]) made.addEventListener(event, () => { at("hint").hidden = true; });
  return made;
}

// The choice of a baseline, the forest of all others against it, and its table.
function comparisons() {
  const box = element("div"), all = report.cells[cell].comparisons;
  const names = Object.keys(all);
  const chosen = names.includes(baseline) ? baseline : report.cells[cell].baseline;
  const label = element("label", {}, element("p", {}, box), "Compare with ");
  const menu = element("select", {id: "baseline"}, label);
  for (const setting of look.order) {
    const group = element("optgroup", {label: setting});
    for (const name of names.filter((one) => look.settings[one] === setting)) element("option", {value: name}, group, name);
    if (group.children.length) menu.append(group);
  }
  menu.value = chosen;
  menu.addEventListener("change", () => {
    baseline = menu.value;
    renew();
  });
  const beside = element("div", {class: "beside"}, box);
  if (!all[chosen].rows.length) element("p", {}, box, "No other learner of this cell shares a replicate with it.");
  else beside.append(element("div", {class: "charts"}), table(forestSheet(all[chosen], look)));
  beside.querySelector(".charts")?.append(forest(all[chosen], look));
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
  const divided = panels.some((panel) => isCrowded(panel, look));
  if (panels.length) element("div", {class: divided ? "charts alone" : "charts"}, top)
    .append(...panels.map((panel) => chartOrMultiples(panel, look)));
  if (name in EMPTY && !panelsOf(name).length) element("p", {}, section, EMPTY[name]);
  if (name === "overview") {
    element("div", {class: "charts"}, top).append(forest(shown.ranking, look));
    top.append(table(shown.sheets.summary));
    section.append(table(shown.sheets.rewards), table(shown.sheets.certificates), table(report.overview));
  }
  if (name === "regret") top.append(table(shown.sheets.summary));
  if (name === "realised") top.append(table(shown.sheets.rewards));
  if (name === "rate") top.append(table(family.sheet));
  if (name === "comparisons") section.append(comparisons());
  if (name === "specs") section.append(specs());
  stale.delete(name);
}

function legend() {
  const keys = new Set(panelsOf(tab).flatMap((panel) => [panel.learner, ...panel.series.map((series) => series.key)]));
  if (!panelsOf(tab).length) for (const run of report.cells[cell].runs) keys.add(run.learner);
  keys.delete(null);
  const order = Object.keys(look.styles).filter((key) => keys.has(key));
  const groups = [undefined, ...look.order].map((name) => [name, order.filter((key) => look.settings[key] === name)]);
  at("legend").replaceChildren(...groups.filter(([, members]) => members.length).map(([name, members]) => {
    const group = element("div", {class: "group"});
    if (name) groupSwitch(group, name, members);
    group.append(...members.map((key) => entry(key, order)));
    return group;
  }));
}

// The name of a setting hides or shows all learners of it.
function groupSwitch(group, name, members) {
  const isShown = members.some((key) => !look.hidden.has(key));
  const button = element("button", {type: "button", class: "setting", "aria-pressed": isShown}, group, name);
  button.addEventListener("click", () => {
    for (const key of members) if (isShown) look.hidden.add(key); else look.hidden.delete(key);
    renew();
  });
}

function entry(key, order) {
  const made = element("button", {type: "button", "aria-pressed": !look.hidden.has(key), title: "double-click: this one alone"});
  made.dataset.key = key;
  if (!panelsOf(tab).some((panel) => panel.learner === key)) made.append(swatch(key, look));
  made.append(key);
  made.addEventListener("click", (event) => {
    if (event.detail > 1) return alone(key, order);
    if (!look.hidden.delete(key)) look.hidden.add(key);
    renew();
  });
  for (const event of ["pointerenter", "focus"]) made.addEventListener(event, () => light(key));
  for (const event of ["pointerleave", "blur"]) made.addEventListener(event, () => light(null));
  return made;
}

// One learner stands out in all charts, the others recede.
function light(key) {
  sections[tab].classList.toggle("dim", key !== null);
  for (const made of sections[tab].querySelectorAll("figure [data-key]"))
    made.classList.toggle("lit", made.dataset.key === key);
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
  const strip = at("tabs");
  for (const button of strip.children) button.setAttribute("aria-selected", button.dataset.tab === name);
  const chosen = at(`tab-${name}`);  // in the middle of the strip, where that is wider than the page
  strip.scrollLeft = chosen.offsetLeft - strip.offsetLeft - (strip.clientWidth - chosen.offsetWidth) / 2;
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
    explained(button, title);
    button.addEventListener("click", () => show(name));
    sections[name] = element("section", {id: name, role: "tabpanel", "aria-labelledby": `tab-${name}`}, at("sections"));
  }
  addEventListener("beforeprint", () => [...stale].forEach(draw));
  const [name, number] = location.hash.slice(1).split(".");
  choose(report.cells[Number(number)] ? Number(number) : 0, name in TABS ? name : "overview");
}

start();
