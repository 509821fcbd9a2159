// Small multiples: a small chart for every learner, all with the same axes; the others are grey behind it.

const MOST_TOGETHER = 6;  // learners in one chart, before it is divided

function learnersOf(panel, look) {
  return [...new Set(visible(panel, look).map((series) => series.key))].filter((key) => key in look.settings);
}

function isCrowded(panel, look) {
  return panel.learner === null && learnersOf(panel, look).length > MOST_TOGETHER;
}

function multiples(panel, look, more) {
  const box = element("figure", {class: "multiples"});
  const again = () => box.replaceWith(multiples(panel, look, more));
  heading(box, `${panel.title}: ${panel.y_label} over ${panel.x_label}`,
          [...more, ...axisSwitches(panel, again), ...downloads(box, panel.title, look, () => panelRows(panel, look))]);
  const keys = learnersOf(panel, look), small = {...panel, x_label: "", y_label: ""};
  for (const setting of look.order.filter((name) => keys.some((key) => look.settings[key] === name))) {
    if (setting) element("h3", {}, box, setting);
    const grid = element("div", {class: "grid-of-small"}, box);
    for (const key of keys.filter((one) => look.settings[one] === setting)) {
      const figure = element("div", {class: "small"}, grid);
      element("h4", {title: key}, figure, key);
      const svg = element("svg", {role: "img", "aria-label": `${panel.title}: ${key}`}, figure);
      fitted(figure, (width) => plot(svg, figure, small, look, width, key), 340);
    }
  }
  element("figcaption", {}, box, panel.note + edgeNotes(box));
  return box;
}

// One chart, or one for each learner where there are many; a switch changes between the two everywhere.
function chartOrMultiples(panel, look) {
  if (!isCrowded(panel, look)) return chart(panel, look);
  const other = [[look.together ? "one each" : "together", null, (event) => {
    look.together = !look.together;
    event.currentTarget.closest("figure").replaceWith(chartOrMultiples(panel, look));
  }]];
  return look.together ? chart(panel, look, other) : multiples(panel, look, other);
}
