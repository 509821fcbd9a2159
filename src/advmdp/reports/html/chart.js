"use strict";
// A chart as SVG: axes, bands, lines, dots with error bars, and a tooltip that follows the pointer.
// A panel is that of figures/panels.py; `look` has colours, dashes, styles by key, and the hidden keys.

const WIDTH = 680, HEIGHT = 400, RIGHT = 26, TOP = 10, BOTTOM = 50;
const MOST_DECADES = 6, MOST_READ = 14;
let charts = 0;

function element(name, attributes = {}, parent = null, text = null) {
  const isDrawing = ["svg", "g", "path", "line", "rect", "circle", "text", "clipPath"].includes(name);
  const made = isDrawing ? document.createElementNS("http://www.w3.org/2000/svg", name)
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
  if (colour >= 0) made.style.setProperty("--hue", look.colours[colour]);
  if (made.classList.contains("line") && look.dashes[dash].length)
    made.setAttribute("stroke-dasharray", look.dashes[dash].map((length) => 1.5 * length).join(" "));
  return made;
}

function numberText(value) {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  if (size === 0 || size >= 0.001) return String(Number(value.toPrecision(4)));
  return value.toExponential(1).replace(".0e", "e");
}

function roundTicks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= rough * (1 - 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  return ticks;
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

function drawAxes(svg, panel, ticks, left, x, y) {
  const bottom = HEIGHT - BOTTOM, right = WIDTH - RIGHT;
  for (const tick of ticks.y) {
    element("line", {class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick)}, svg);
    element("text", {x: left - 8, y: y(tick) + 5, "text-anchor": "end"}, svg, numberText(tick));
  }
  for (const tick of ticks.x) {
    element("line", {class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 5}, svg);
    const label = numberText(tick), inside = WIDTH - 4.5 * label.length;  // the last one stays whole
    element("text", {x: Math.min(x(tick), inside), y: bottom + 21, "text-anchor": "middle"}, svg, label);
  }
  element("line", {class: "axis", x1: left, x2: right, y1: bottom, y2: bottom}, svg);
  element("line", {class: "axis", x1: left, x2: left, y1: TOP, y2: bottom}, svg);
  element("text", {x: (left + right) / 2, y: HEIGHT - 8, "text-anchor": "middle"}, svg, panel.x_label);
  const middle = (TOP + bottom) / 2;
  element("text", {x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})`},
          svg, panel.y_label);
}

function drawSeries(group, series, panel, x, y, look) {
  const floor = HEIGHT - BOTTOM + 40;  // where values that have no logarithm go, out of sight
  const height = (value) => (panel.y_log && value <= 0 ? floor : y(value));
  const points = series.x.map((_, i) => i).filter(
    (i) => series.y[i] !== null && !(panel.x_log && series.x[i] <= 0));
  const at = (i, values) => `${x(series.x[i]).toFixed(1)} ${height(values[i]).toFixed(1)}`;
  const banded = series.low ? points.filter((i) => series.low[i] !== null) : [];
  if (series.dots) {
    for (const i of banded)
      dressed(element("line", {class: "whisker", x1: x(series.x[i]), x2: x(series.x[i]),
                               y1: height(series.low[i]), y2: height(series.high[i])}, group), series.key, look);
    for (const i of points)
      dressed(element("circle", {class: "dot", cx: x(series.x[i]), cy: height(series.y[i]), r: series.low ? 3 : 2.2}, group),
              series.key, look);
    return;
  }
  if (banded.length) {
    const outline = [...banded.map((i) => at(i, series.high)), ...banded.reverse().map((i) => at(i, series.low))];
    dressed(element("path", {class: "band", d: `M${outline.join("L")}Z`}, group), series.key, look);
  }
  if (points.length)
    dressed(element("path", {class: "line", d: `M${points.map((i) => at(i, series.y)).join("L")}`}, group),
            series.key, look);
}

// Values at the evaluation point nearest to the pointer, largest first.
function follow(svg, figure, shown, panel, left, x, look) {
  const stops = [...new Set(shown.flatMap((series) => series.x))].filter((stop) => !panel.x_log || stop > 0);
  const reader = element("line", {class: "reader", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden"}, svg);
  const tip = element("div", {class: "tip", hidden: ""}, figure);
  const area = element("rect", {class: "area", x: left, y: TOP, width: WIDTH - left - RIGHT,
                                height: HEIGHT - TOP - BOTTOM, fill: "transparent"}, svg);
  area.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), across = (event.clientX - box.left) / box.width * WIDTH;
    const stop = stops.reduce((best, other) => Math.abs(x(other) - across) < Math.abs(x(best) - across) ? other : best);
    tip.replaceChildren(element("strong", {}, null, `${panel.x_label}: ${numberText(stop)}`));
    const read = shown.map((series) => ({series, i: series.x.indexOf(stop)}))
      .filter(({series, i}) => i >= 0 && series.y[i] !== null)
      .sort((one, other) => other.series.y[other.i] - one.series.y[one.i]);
    for (const {series, i} of read.slice(0, MOST_READ)) {
      const line = element("div", {}, tip);
      line.append(swatch(series.key, look));
      element("span", {}, line, series.label);
      const known = series.low && series.low[i] !== null;
      const interval = known ? ` [${numberText(series.low[i])}, ${numberText(series.high[i])}]` : "";
      element("span", {}, line, numberText(series.y[i]) + interval);
    }
    reader.setAttribute("x1", x(stop));
    reader.setAttribute("x2", x(stop));
    reader.setAttribute("visibility", "visible");
    tip.hidden = false;
    const place = x(stop) / WIDTH * box.width, after = place + 16 + tip.offsetWidth < box.width;
    tip.style.left = `${after ? place + 16 : Math.max(0, place - 16 - tip.offsetWidth)}px`;
    tip.style.top = `${svg.offsetTop || 40}px`;
  });
  area.addEventListener("pointerleave", () => {
    tip.hidden = true;
    reader.setAttribute("visibility", "hidden");
  });
}

function swatch(key, look) {
  const svg = element("svg", {width: 26, height: 8, viewBox: "0 0 26 8", "aria-hidden": "true"});
  dressed(element("path", {class: "line", d: "M1 4L25 4"}, svg), key, look);
  return svg;
}

function chart(panel, look) {
  const figure = element("figure");
  const head = element("header", {}, figure);
  element("strong", {}, head, panel.title);
  const switches = element("span", {}, head);
  for (const axis of ["x", "y"]) {
    const log = element("button", {type: "button", "aria-pressed": panel[`${axis}_log`]}, switches, `log ${axis}`);
    log.addEventListener("click", () => {
      panel[`${axis}_log`] = !panel[`${axis}_log`];
      figure.replaceWith(chart(panel, look));
    });
  }
  const shown = panel.series.filter((series) => !look.hidden.has(series.key));
  const svg = element("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": panel.title}, figure);
  const xs = shown.flatMap((series) => series.x).filter((value) => !panel.x_log || value > 0);
  const xEnds = xs.length ? [Math.min(...xs), Math.max(...xs)] : [1, 10];
  const edges = shown.flatMap((series) => (series.low ? [...series.low, ...series.high] : []));
  const yEnds = ends(shown.flatMap((series) => series.y), edges, panel.y_log, panel.from_zero);
  const inset = shown.some((series) => series.dots) ? 12 : 0;  // dots at the ends stay whole
  const ticks = {x: panel.x_log ? logTicks(...xEnds) : roundTicks(...xEnds, 6),
                 y: panel.y_log ? logTicks(...yEnds) : roundTicks(...yEnds, 6)};
  const left = 42 + 8 * Math.max(...ticks.y.map((tick) => numberText(tick).length));
  const x = scale(xEnds, left + inset, WIDTH - RIGHT - inset, panel.x_log);
  const y = scale(yEnds, HEIGHT - BOTTOM, TOP, panel.y_log);
  drawAxes(svg, panel, ticks, left, x, y);
  const clip = element("clipPath", {id: `clip${++charts}`}, svg);
  element("rect", {x: left, y: TOP - 3, width: WIDTH - left - RIGHT + 3, height: HEIGHT - TOP - BOTTOM + 3}, clip);
  const group = element("g", {"clip-path": `url(#clip${charts})`}, svg);
  for (const series of shown) drawSeries(group, series, panel, x, y, look);
  if (shown.length) follow(svg, figure, shown, panel, left, x, look);
  else element("text", {x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle"}, svg, "everything is hidden");
  element("figcaption", {}, figure, panel.note);
  return figure;
}
