"use strict";
// A chart as SVG: axes, bands, lines, dots with error bars, and a tooltip that follows the pointer.
// A panel is that of figures/panels.py; `look` has colours, dashes, styles by key, and the hidden keys.
// One unit of a drawing is one pixel, so that its text has the size of the page at every width.

const RIGHT = 26, TOP = 10, BOTTOM = 50, LETTER = 7.6;
const MOST_DECADES = 6, MOST_BANDS = 6, MOST_ON_TOP = 2;  // more bands than these cover each other
const DRAWN = ["svg", "g", "path", "line", "rect", "circle", "text", "title", "clipPath"];
const LOG_NOTE = " \u25be at the bottom: a value or a band reaches zero or below, where a logarithmic axis ends.";
const EDGE_NOTE = " Bands that end at the edge of a chart go on beyond it.";
let charts = 0;

function element(name, attributes = {}, parent = null, text = null) {
  const made = DRAWN.includes(name) ? document.createElementNS("http://www.w3.org/2000/svg", name)
                                    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;  // never markup: labels come from users
  if (parent) parent.append(made);
  return made;
}

function dressed(made, key, look) {
  const [colour, dash] = look.styles[key];
  made.classList.add("series");
  made.dataset.key = key;
  if (colour >= 0) {
    made.style.setProperty("--hue", look.colours[colour]);
    made.style.setProperty("--hue-on-dark", look.colours_on_dark[colour]);
  }
  if (made.classList.contains("line") && look.dashes[dash].length)
    made.setAttribute("stroke-dasharray", look.dashes[dash].map((length) => 1.5 * length).join(" "));
  return made;
}

const isPlain = (key, look) => look.styles[key][0] < 0;  // neither a learner nor a term

function numberText(value) {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  if (size === 0 || size >= 0.001) return String(Number(value.toPrecision(4)));
  return value.toExponential(1).replace(".0e", "e");
}

// About `count` round numbers, and more if there would be fewer than three: one or two tell no scale.
function roundTicks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= rough * (1 - 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  return ticks.length > 2 || count > 20 ? ticks : roundTicks(low, high, 1.5 * count);
}

function logTicks(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const parts = Math.log10(high / low) < 2 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = first; power <= last; power++)
    for (const part of parts) ticks.push(Number((part * 10 ** power).toPrecision(1)));
  const inside = ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
  return inside.length > 1 ? inside : roundTicks(low, high, 4);  // less than a factor of two or so
}

// Those ticks whose labels do not run into each other.
function apart(ticks, place) {
  const kept = [];
  for (const tick of ticks) {
    const last = kept[kept.length - 1], half = (label) => LETTER / 2 * numberText(label).length;
    if (!kept.length || Math.abs(place(tick) - place(last)) > half(tick) + half(last) + 6) kept.push(tick);
  }
  return kept;
}

// Ends of an axis over the visible series: all means, and bands unless they are much wider.
function ends(values, bands, log, fromZero) {
  let means = values.filter((value) => value !== null && (!log || value > 0));
  if (!means.length) return log ? [0.1, 1] : [0, 1];
  const place = log ? Math.log10 : (value) => value;
  means = means.map(place);
  let high = Math.max(...means);
  let low = Math.min(...means.filter((mean) => !log || mean >= high - MOST_DECADES));
  if (fromZero && !log) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const room = high - low || Math.abs(high) || 1;
  const wide = bands.filter((value) => value !== null && (!log || value > 0)).map(place);
  let bottom = Math.max(Math.min(low, ...wide), low - room / 2);
  let top = Math.min(Math.max(high, ...wide), high + room / 2);
  if (log || bottom < 0 || !fromZero) bottom -= 0.04 * room;
  top += 0.04 * room;
  return log ? [10 ** bottom, 10 ** top] : [bottom, top];
}

function scale([low, high], begin, end, log) {
  const place = log ? Math.log : (value) => value;
  const span = place(high) - place(low) || 1;
  return (value) => begin + (end - begin) * (place(value) - place(low)) / span;
}

function drawAxes(svg, panel, ticks, {left, right, bottom, width, height}, x, y) {
  for (const tick of ticks.y) {
    element("line", {class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick)}, svg);
    element("text", {x: left - 8, y: y(tick) + 5, "text-anchor": "end"}, svg, numberText(tick));
  }
  for (const tick of apart(ticks.x, x)) {
    element("line", {class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 5}, svg);
    const label = numberText(tick), inside = width - LETTER / 2 * label.length;  // the last one stays whole
    element("text", {x: Math.min(x(tick), inside), y: bottom + 21, "text-anchor": "middle"}, svg, label);
  }
  element("line", {class: "axis", x1: left, x2: right, y1: bottom, y2: bottom}, svg);
  element("line", {class: "axis", x1: left, x2: left, y1: TOP, y2: bottom}, svg);
  if (!panel.x_label) return;
  element("text", {x: (left + right) / 2, y: height - 8, "text-anchor": "middle"}, svg, panel.x_label);
  const middle = (TOP + bottom) / 2;
  element("text", {x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})`},
          svg, panel.y_label);
}

// `manner`: "ghost" (a thin grey line), "quiet" (its band appears when it is lit), or "".
function drawSeries(group, series, panel, x, y, bottom, look, manner) {
  const floor = bottom + 40;  // where values that have no logarithm go, out of sight
  const height = (value) => (panel.y_log && value <= 0 ? floor : y(value));
  const points = series.x.map((_, i) => i).filter(
    (i) => series.y[i] !== null && !(panel.x_log && series.x[i] <= 0));
  const at = (i, values) => `${x(series.x[i]).toFixed(1)} ${height(values[i]).toFixed(1)}`;
  const banded = series.low && manner !== "ghost" ? points.filter((i) => series.low[i] !== null) : [];
  const mark = (name, attributes) => {
    const made = dressed(element(name, attributes, group), series.key, look);
    if (manner) made.classList.add(manner);
    return made;
  };
  if (panel.y_log && !manner) {
    let last = -Infinity;  // marks would cover each other where every value is zero
    for (const i of points) {
      const cut = series.y[i] <= 0 || (series.low && series.low[i] !== null && series.low[i] <= 0);
      if (!cut || series.x[i] <= 0 || x(series.x[i]) < last + 14) continue;
      mark("path", {class: "cut", d: `M${((last = x(series.x[i])) - 4).toFixed(1)} ${bottom - 7}h8l-4 6Z`});
    }
  }
  if (series.dots) {
    for (const i of banded)
      mark("line", {class: "whisker", x1: x(series.x[i]), x2: x(series.x[i]),
                    y1: height(series.low[i]), y2: height(series.high[i])});
    for (const i of points)
      mark("circle", {class: "dot", cx: x(series.x[i]), cy: height(series.y[i]), r: series.low ? 3 : 2.2});
    return;
  }
  if (banded.length) {
    const outline = [...banded.map((i) => at(i, series.high)), ...banded.reverse().map((i) => at(i, series.low))];
    mark("path", {class: "band", d: `M${outline.join("L")}Z`});
  }
  if (points.length) mark("path", {class: "line", d: `M${points.map((i) => at(i, series.y)).join("L")}`});
}

// Values at the evaluation point nearest to the pointer, largest first as the lines are, all of them.
function follow(svg, figure, shown, panel, {left, right, bottom, width}, x, look) {
  const stops = [...new Set(shown.flatMap((series) => series.x))].filter((stop) => !panel.x_log || stop > 0);
  const reader = element("line", {class: "reader", y1: TOP, y2: bottom, visibility: "hidden"}, svg);
  const tip = element("div", {class: "tip", hidden: ""}, figure);
  const area = element("rect", {class: "area", x: left, y: TOP, width: Math.max(1, right - left),
                                height: bottom - TOP, fill: "transparent"}, svg);
  area.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), across = (event.clientX - box.left) / box.width * width;
    const stop = stops.reduce((best, other) => Math.abs(x(other) - across) < Math.abs(x(best) - across) ? other : best);
    const label = panel.x_label || "episodes";
    tip.replaceChildren(element("strong", {}, null, `${label}: ${numberText(stop)}`));
    const read = shown.map((series) => ({series, i: series.x.indexOf(stop)}))
      .filter(({series, i}) => i >= 0 && series.y[i] !== null)
      .sort((one, other) => other.series.y[other.i] - one.series.y[one.i]);
    const rows = element("div", {class: read.length > 16 ? "many" : ""}, tip);
    for (const {series, i} of read) {
      const line = element("div", {class: "read"}, rows);
      line.append(swatch(series.key, look));
      element("span", {}, line, series.label);
      const known = series.low && series.low[i] !== null && read.length <= 16;
      const interval = known ? ` [${numberText(series.low[i])}, ${numberText(series.high[i])}]` : "";
      element("span", {}, line, numberText(series.y[i]) + interval);
    }
    reader.setAttribute("x1", x(stop));
    reader.setAttribute("x2", x(stop));
    reader.setAttribute("visibility", "visible");
    tip.hidden = false;
    const place = x(stop), after = place + 16 + tip.offsetWidth < Math.max(box.width, innerWidth - box.left - 20);
    tip.style.left = `${after ? place + 16 : Math.max(12 - box.left, place - 16 - tip.offsetWidth)}px`;
    tip.style.top = `${svg.offsetTop || 40}px`;
  });
  area.addEventListener("pointerleave", () => {
    tip.hidden = true;
    reader.setAttribute("visibility", "hidden");
  });
}

// What has to be said of values that a drawing cannot show.
function edgeNotes(figure) {
  return (figure.querySelector(".cut") ? LOG_NOTE : "") + (figure.querySelector("svg.beyond") ? EDGE_NOTE : "");
}

function swatch(key, look) {
  const svg = element("svg", {width: 26, height: 8, viewBox: "0 0 26 8", "aria-hidden": "true"});
  dressed(element("path", {class: "line", d: "M1 4L25 4"}, svg), key, look);
  return svg;
}

const isThin = (series, look) => (look.thin ?? []).includes(series.key);  // a single run beside a mean
const visible = (panel, look) => panel.series.filter((series) => !look.hidden.has(series.key));

function extentOf(panel, shown) {
  const xs = shown.flatMap((series) => series.x).filter((value) => !panel.x_log || value > 0);
  const edges = shown.flatMap((series) => (series.low ? [...series.low, ...series.high] : []));
  const values = shown.flatMap((series) => series.y).concat(panel.y_also ?? []);
  return {x: xs.length ? [Math.min(...xs), Math.max(...xs, panel.x_end ?? -Infinity)] : [1, panel.x_end ?? 10],
          y: ends(values, edges, panel.y_log, panel.from_zero)};
}

// On how many bands an average point of the drawing lies: from three on they are one grey ground.
function bandsOnTop(series, log, y, bottom) {
  const place = (value) => (log && value <= 0 ? bottom : Math.max(TOP, Math.min(bottom, y(value))));
  return series.filter((one) => one.low).reduce((sum, {low, high}) => {
    const heights = low.map((value, i) => (value === null ? 0 : place(value) - place(high[i])));
    return sum + heights.reduce((all, height) => all + height, 0) / heights.length / (bottom - TOP);
  }, 0);
}

// Draw into `svg`, which has a width in pixels.  With `focus`, only that key has colour and a band.
function plot(svg, figure, panel, look, width, focus = null) {
  const height = focus === null ? Math.max(240, Math.min(look.tallest ?? 400, 0.59 * width)) : 0.66 * width + 20;
  const shown = visible(panel, look), extent = extentOf(panel, shown);
  const bottom = height - (panel.x_label ? BOTTOM : 28), right = width - (focus === null ? RIGHT : 14);
  const inset = shown.some((series) => series.dots) ? 12 : 0;  // dots at the ends stay whole
  const ticks = {x: panel.x_log ? logTicks(...extent.x) : roundTicks(...extent.x, Math.max(2, width / 110)),
                 y: panel.y_log ? logTicks(...extent.y) : roundTicks(...extent.y, Math.max(2, height / 60))};
  const left = (panel.x_label ? 36 : 12) + LETTER * Math.max(...ticks.y.map((tick) => numberText(tick).length));
  const area = {left, right, bottom, width, height};
  const x = scale(extent.x, left + inset, right - inset, panel.x_log), y = scale(extent.y, bottom, TOP, panel.y_log);
  for (const [name, value] of [["viewBox", `0 0 ${width} ${height}`], ["width", width], ["height", height]])
    svg.setAttribute(name, value);
  svg.replaceChildren();
  figure.querySelector(".tip")?.remove();
  for (const [begin, end] of panel.shaded ?? [])
    element("rect", {class: "shade", x: x(begin), y: TOP, width: Math.max(0, x(end) - x(begin)), height: bottom - TOP}, svg);
  drawAxes(svg, panel, ticks, area, x, y);
  const clip = element("clipPath", {id: `clip${++charts}`}, svg);
  element("rect", {x: left, y: TOP - 3, width: Math.max(1, right - left + 3), height: bottom - TOP + 3}, clip);
  const group = element("g", {"clip-path": `url(#clip${charts})`}, svg);
  const own = (series) => focus === null || series.key === focus || isPlain(series.key, look);
  const whole = shown.filter((series) => !isThin(series, look));
  const many = focus === null && (new Set(whole.map((series) => series.key)).size > MOST_BANDS
    || bandsOnTop(whole, panel.y_log, y, bottom) > MOST_ON_TOP);
  for (const series of shown.filter((one) => !own(one) && !one.dots)) drawSeries(group, series, panel, x, y, bottom, look, "ghost");
  for (const series of shown.filter((one) => isThin(one, look))) drawSeries(group, series, panel, x, y, bottom, look, "thin");
  for (const series of whole.filter(own)) drawSeries(group, series, panel, x, y, bottom, look, many ? "quiet" : "");
  const banded = whole.filter((series) => own(series) && series.low && !many);
  const beyond = (value) => value !== null && (value > extent.y[1] || (value < extent.y[0] && !(panel.y_log && value <= 0)));
  svg.classList.toggle("beyond", banded.some((series) => [...series.low, ...series.high].some(beyond)));
  const read = whole.filter(own);
  if (read.length) follow(svg, figure, read, panel, area, x, look);
  if (!shown.length) element("text", {x: width / 2, y: height / 2, "text-anchor": "middle"}, svg, "everything is hidden");
  return many;
}

// A figure whose drawing has as many units as it has pixels, also when the page becomes narrower.
function fitted(figure, draw, widest) {
  const page = document.documentElement.clientWidth - 40;
  let drawn = Math.min(widest, Math.max(200, page));
  draw(drawn);
  figure.redraw = () => draw(drawn);
  new ResizeObserver(() => {
    const width = Math.min(widest, Math.round(figure.clientWidth));
    if (width > 100 && Math.abs(width - drawn) > 1) draw(drawn = width);
  }).observe(figure);
  return figure;
}

// The heading of a figure: its title, and switches and downloads at the right.
function heading(figure, title, switches) {
  const head = element("header", {}, figure);
  element("strong", {}, head, title);
  const side = element("span", {}, head);
  for (const [name, pressed, press] of switches) {
    const button = element("button", {type: "button"}, side, name);
    if (pressed !== null) button.setAttribute("aria-pressed", pressed);
    button.addEventListener("click", press);
  }
  return head;
}

function axisSwitches(panel, renewed) {
  return ["x", "y"].map((axis) => [`log ${axis}`, panel[`${axis}_log`], () => {
    panel[`${axis}_log`] = !panel[`${axis}_log`];
    renewed();
  }]);
}

// `figure.renew(next)` draws other numbers in the same figure; the reader's choice of axes stays.
function chart(panel, look, more = []) {
  const figure = element("figure");
  figure.renew = (next) => {
    Object.assign(panel, next, {x_log: panel.x_log, y_log: panel.y_log});
    figure.redraw();
  };
  const again = () => figure.replaceWith(chart(panel, look, more));
  heading(figure, panel.title, [...more, ...axisSwitches(panel, again), ...downloads(figure, panel.title, look,
          () => panelRows(panel, look))]);
  const svg = element("svg", {role: "img", "aria-label": panel.title}, figure);
  const caption = element("figcaption", {}, figure);
  return fitted(figure, (width) => {
    const many = plot(svg, figure, panel, look, width);
    caption.textContent = panel.note + edgeNotes(figure) +
      (many ? " Bands appear where the pointer rests on a name of the legend." : "");
  }, look.widest ?? 760);
}
