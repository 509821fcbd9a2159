// Rewards alone: the legend that all charts share, the charts, and one table.

const report = JSON.parse(document.getElementById("data").textContent);
const look = {...report.look, hidden: new Set()};
const at = (id) => document.getElementById(id);
const grid = element("table", {}, sideways(at("sheet")));
const head = element("tr", {}, element("thead", {}, grid)), body = element("tbody", {}, grid);

function draw() {
  at("charts").replaceChildren(...report.panels.map((panel) => chartOrMultiples(panel, look)));
  at("charts").classList.toggle("alone", at("charts").querySelector(".multiples") !== null);
  body.replaceChildren();
  for (const row of report.sheet.rows) {
    if (row.learners.some((learner) => look.hidden.has(learner))) continue;
    const line = element("tr", {}, body);
    row.entries.forEach((entry, i) => element(i ? "td" : "th",
      {...(entry.value === null ? {} : {class: "number"}), ...(i ? {} : {scope: "row"})}, line, entry.text));
  }
}

const keys = element("div", {class: "group"}, at("legend"));
for (const learner of report.learners) {
  const key = element("button", {type: "button", "aria-pressed": true}, keys);
  key.append(swatch(learner, look), learner);
  key.addEventListener("click", () => {
    if (!look.hidden.delete(learner)) look.hidden.add(learner);
    key.setAttribute("aria-pressed", !look.hidden.has(learner));
    draw();
  });
}
report.sheet.columns.forEach((name, i) => {
  const isNumber = report.sheet.rows.some((row) => row.entries[i].value !== null);
  element("th", {scope: "col", class: isNumber ? "number" : ""}, head, name);
});
at("counts").textContent = report.counts;
at("note").textContent = report.sheet.note;
draw();
