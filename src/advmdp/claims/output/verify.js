// The table of claims, and a section for each: texts, figures with their legends, numbers, runs.

const report = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
sideways(at("overview").parentElement).append(at("overview"));
const badge = (verdict) => element("span", {class: `verdict ${verdict}`}, null, verdict);

function row(found) {
  const line = element("tr", {}, at("overview").tBodies[0]);
  element("td", {}, line).append(badge(found.verdict));
  const claim = element("td", {}, line);
  element("a", {href: `#${found.name}`}, claim, found.claim);
  element("small", {}, claim, found.reference);
  for (const text of [found.measured, found.bound, found.margin]) element("td", {}, line, text);
}

// A chart and the keys below it; a click on a key hides or shows what it stands for.
function figure(panel, look) {
  const box = element("div"), own = {...look, hidden: new Set()};
  const draw = () => {
    const keys = element("div", {class: "keys"});
    box.replaceChildren(chart(panel, own), keys);
    const labels = new Map();
    for (const series of panel.series) if (!labels.has(series.key)) labels.set(series.key, series.label);
    for (const [key, label] of labels) {
      const entry = element("button", {type: "button", "aria-pressed": !own.hidden.has(key)}, keys);
      entry.dataset.key = key;
      entry.append(swatch(key, own), label);
      entry.addEventListener("click", () => {
        if (!own.hidden.delete(key)) own.hidden.add(key);
        draw();
      });
    }
  };
  draw();
  return box;
}

function folded(section, title, fill) {
  const box = element("details", {}, section);
  element("summary", {}, box, title);
  box.addEventListener("toggle", () => box.open && box.children.length === 1 && fill(box));  // made when seen
}

function claim(found) {
  const section = element("section", {class: "claim", id: found.name}, at("claims"));
  element("h2", {}, section, found.claim).append(badge(found.verdict));
  element("small", {}, section, `${found.reference} · advmdp verify --claim ${found.name}`);
  const texts = element("dl", {}, section);
  for (const [name, text] of found.texts) {
    element("dt", {}, texts, name);
    element("dd", {}, texts, text);
  }
  const look = {...report.look, styles: found.styles};
  element("div", {class: "charts"}, section).append(...found.panels.map((panel) => figure(panel, look)));
  folded(section, "Numbers", (box) => element("pre", {}, box, JSON.stringify(found.data, null, 2)));
  if (!found.runs.length) return;
  folded(section, `Runs behind it: ${found.runs.length.toLocaleString("en-US")}`, (box) => {
    element("p", {class: "note"}, box, "Any of them, with its spec and its curve:");
    element("pre", {}, box, `advmdp show ${found.runs[0]} --store ${report.store}`);
    const list = element("div", {class: "ids"}, box);
    for (const run of found.runs) element("div", {}, list, run);
  });
}

at("summary").textContent = report.summary;
at("command").textContent = report.command;
for (const found of report.findings) {
  row(found);
  claim(found);
}
