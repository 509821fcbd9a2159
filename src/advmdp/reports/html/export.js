// Downloads: the numbers of a figure or a table as CSV, and a figure as an SVG file of its own.

const SHOWN_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "font-family"];
const quoted = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csvText = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
const fileName = (title, ending) =>
  `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "figure"}.${ending}`;

function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = element("a", {href: url, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const saveCsv = (title, rows) => save(fileName(title, "csv"), "text/csv;charset=utf-8", csvText(rows));

function panelRows(panel, look) {
  const rows = [["series", panel.x_label || "x", panel.y_label || "y", "low", "high"]];
  for (const series of visible(panel, look))
    series.x.forEach((x, i) => rows.push([series.label, x, series.y[i], series.low?.[i], series.high?.[i]]));
  return rows;
}

// All drawings of a figure at their places, with the styles of the page written into them, and a legend.
function svgText(figure, title, look) {
  const frame = figure.getBoundingClientRect(), drawings = [...figure.querySelectorAll("figure > svg, .small > svg")]
    .concat(figure.matches("figure") ? [...figure.querySelectorAll(":scope > svg")] : []);
  const page = getComputedStyle(document.body), ground = page.backgroundColor, ink = page.color;
  const whole = element("svg", {xmlns: "http://www.w3.org/2000/svg"});
  const paper = element("rect", {fill: ground}, whole);
  const text = (x, y, words, weight = 400) => element("text",
    {x, y, fill: ink, "font-size": 14, "font-weight": weight, "font-family": page.fontFamily}, whole, words);
  text(8, 22, title, 600);
  let lowest = 0;
  for (const drawing of new Set(drawings)) {
    const box = drawing.getBoundingClientRect(), copy = styled(drawing);
    for (const [name, value] of [["x", box.left - frame.left], ["y", box.top - frame.top + 10], ["width", box.width], ["height", box.height]])
      copy.setAttribute(name, value);
    whole.append(copy);
    lowest = Math.max(lowest, box.bottom - frame.top + 10);
    const name = drawing.parentElement.querySelector(":scope > h4");
    if (name) text(box.left - frame.left, box.top - frame.top + 6, name.textContent, 600);
  }
  const keys = figure.querySelector(".small, .forest") ? [] : [...new Set([...figure.querySelectorAll("[data-key]")].map((made) => made.dataset.key))];
  let x = 8, y = lowest + 18;
  for (const key of keys) {
    const wide = 50 + 7.6 * key.length;
    if (x > 8 && x + wide > frame.width) [x, y] = [8, y + 20];
    const sample = styled(figure.ownerDocument.body.appendChild(swatch(key, look)), true);
    sample.setAttribute("x", x);
    sample.setAttribute("y", y - 8);
    whole.append(sample);
    text(x + 32, y, key);
    x += wide;
  }
  const size = {width: Math.ceil(frame.width) + 8, height: Math.ceil(keys.length ? y + 12 : lowest + 8)};
  for (const made of [whole, paper]) for (const [name, value] of Object.entries(size)) made.setAttribute(name, value);
  whole.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  return new XMLSerializer().serializeToString(whole);
}

// A copy of a drawing that needs no style sheet; `taken`: the original was attached for this alone.
function styled(drawing, taken = false) {
  const copy = drawing.cloneNode(true), originals = drawing.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((made, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of SHOWN_STYLES) made.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style"]) made.removeAttribute(name);
  });
  copy.querySelectorAll("[visibility=hidden]").forEach((made) => made.remove());
  if (taken) drawing.remove();
  return copy;
}

// The two buttons below a figure's title.
function downloads(figure, title, look, rows) {
  return [
    ["SVG", null, () => save(fileName(title, "svg"), "image/svg+xml", svgText(figure, title, look))],
    ["CSV", null, () => saveCsv(title, rows())],
  ];
}
