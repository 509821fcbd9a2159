// Intervals, one learner a row, grouped by what the learners know and see; a forest is that of figures/forests.py.

const ROW = 24, GROUP = 30;

function forest(data, look, log = false) {
  const figure = element("figure", {class: "forest"});
  const rows = data.rows.filter((row) => !look.hidden.has(row.learner));
  const mayLog = rows.length > 0 && rows.every((row) => row.estimate > 0);
  const again = () => figure.replaceWith(forest(data, look, !log));
  const names = ["learner", "knows and sees", data.x_label, "low", "high", "n", "p", "adjusted p"];
  const numbers = () => [names, ...rows.map((row) =>
    [row.learner, row.group, row.estimate, row.low, row.high, row.n, row.p_value, row.adjusted])];
  heading(figure, data.title, [...(mayLog ? [["log x", log, again]] : []), ...downloads(figure, data.title, look, numbers)]);
  const svg = element("svg", {role: "img", "aria-label": data.title}, figure);
  element("figcaption", {}, figure, data.note);
  return fitted(figure, (width) => drawForest(svg, data, rows, look, width, log && mayLog), 760);
}

function drawForest(svg, data, rows, look, width, log) {
  const groups = [...new Set(rows.map((row) => row.group))], letters = Math.max(8, ...rows.map((row) => row.learner.length));
  const left = Math.min(14 + LETTER * letters, 0.52 * width), right = width - 16, most = Math.floor((left - 14) / LETTER);
  const height = TOP + ROW * rows.length + GROUP * groups.length + BOTTOM + 4, bottom = height - BOTTOM;
  for (const [name, value] of [["viewBox", `0 0 ${width} ${height}`], ["width", width], ["height", height]])
    svg.setAttribute(name, value);
  svg.replaceChildren();
  const extent = ends(rows.map((row) => row.estimate), rows.flatMap((row) => [row.low, row.high]), log, true);
  const x = scale(extent, left, right, log), ticks = log ? logTicks(...extent) : roundTicks(...extent, Math.max(3, (right - left) / 90));
  for (const tick of apart(ticks, x)) {
    element("line", {class: "grid", x1: x(tick), x2: x(tick), y1: TOP, y2: bottom}, svg);
    const inside = width - LETTER / 2 * numberText(tick).length;
    element("text", {x: Math.min(x(tick), inside), y: bottom + 20, "text-anchor": "middle"}, svg, numberText(tick));
  }
  if (!log && extent[0] < 0) element("line", {class: "zero", x1: x(0), x2: x(0), y1: TOP, y2: bottom}, svg);
  element("line", {class: "axis", x1: left, x2: right, y1: bottom, y2: bottom}, svg);
  const label = data.x_label, half = LETTER / 2 * label.length;
  element("text", {x: Math.max(half, Math.min((left + right) / 2, width - half)), y: height - 8, "text-anchor": "middle"}, svg, label);
  let y = TOP;
  for (const group of groups) {
    y += GROUP;
    element("text", {class: "group", x: 0, y: y - 9}, svg, group);
    for (const row of rows.filter((one) => one.group === group)) {
      drawRow(element("g", {}, svg), row, look, {left, right, most, y: y + ROW / 2, low: extent[0], high: extent[1]}, x, log);
      y += ROW;
    }
  }
}

function drawRow(made, row, look, {left, right, most, y, low, high}, x, log) {
  const name = row.learner.length > most ? `${row.learner.slice(0, most - 1)}\u2026` : row.learner;
  element("text", {x: left - 10, y: y + 5, "text-anchor": "end"}, made, name);
  element("title", {}, made, told(row));
  element("rect", {x: 0, y: y - ROW / 2, width: right, height: ROW, fill: "transparent"}, made);
  const series = (kind, attributes) => dressed(element(kind, attributes, made), row.learner, look);
  if (row.low !== null) {
    const begin = row.low < low || (log && row.low <= 0) ? null : x(row.low), end = row.high > high ? null : x(row.high);
    series("line", {class: "whisker", x1: begin ?? left, x2: end ?? right, y1: y, y2: y});
    if (begin === null) series("path", {class: "dot", d: `M${left} ${y}l7 -4v8Z`});  // it goes on outside
    if (end === null) series("path", {class: "dot", d: `M${right} ${y}l-7 -4v8Z`});
  }
  const open = row.adjusted !== null && !row.marked;
  series("circle", {class: open ? "dot open" : "dot", cx: x(row.estimate), cy: y, r: 5});
}

function told(row) {
  const interval = row.low === null ? "" : ` [${numberText(row.low)}, ${numberText(row.high)}]`;
  const p = row.adjusted === null ? "" : `, p ${row.p_value.toFixed(4)}, adjusted ${row.adjusted.toFixed(4)}`;
  return `${row.learner}: ${numberText(row.estimate)}${interval}, n = ${row.n}${p}`;
}

// The same rows as a table.
function forestSheet(data, look) {
  const entry = (text, value = null) => ({text, value});
  const number = (value) => (value === null ? entry("-") : entry(numberText(Number(value.toPrecision(4))), value));
  return {
    title: data.title,
    columns: ["learner", "told", "difference", "95% interval", "n", "p", "adjusted p", ""],
    rows: [...data.rows].sort((one, other) => one.estimate - other.estimate).map((row) => ({
      learners: [row.learner], cell: null,
      entries: [entry(row.learner), entry(look.told[row.learner]), number(row.estimate),
                row.low === null ? entry("-") : entry(`[${number(row.low).text}, ${number(row.high).text}]`, row.low),
                number(row.n), entry(row.p_value.toFixed(4), row.p_value), entry(row.adjusted.toFixed(4), row.adjusted),
                entry(row.marked ? "significant" : "")],
    })),
    note: "",
  };
}
