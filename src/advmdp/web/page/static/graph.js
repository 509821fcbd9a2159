"use strict";
// The layered graph of a policy: states as boxes with a bar for each action, flows as lines that are as
// thick as they are likely.  Elements are kept from one picture to the next, so that they move.

const BOX = 178, GAP = 116, LINE = 22, HEAD = 30, SPACE = 18, EDGE = 12, HEADING = 26, WIDEST = 26;
const short = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`);
const percent = (chance) => `${(100 * chance).toFixed(chance >= 0.0005 && chance < 0.0995 ? 1 : 0)}%`;

class LayeredGraph {
  constructor(parent, label) {
    this.frame = element("div", {class: "graph", tabindex: 0}, parent);
    this.svg = element("svg", {role: "img", "aria-label": label}, this.frame);
    this.lines = element("g", {}, this.svg);
    this.boxes = element("g", {}, this.svg);
    this.shape = null;
  }

  // `graph`: {layers: [[[number, name, chance, [[row, name, action, probability]]]]], hidden, flows: [[row, target, chance]]}
  draw(graph, palettes) {
    const shape = JSON.stringify(graph.layers.map((layer) => layer.map((state) => [state[0], state[3].map((action) => action[0])])));
    if (shape !== this.shape) this.build(graph, palettes);
    this.shape = shape;
    for (const layer of graph.layers) for (const [number, , chance, actions] of layer) {
      const state = this.states.get(number);
      state.chance.textContent = percent(chance);
      state.fill.style.opacity = 0.05 + 0.3 * chance;
      for (const [row, , , probability] of actions) {
        const bar = this.rows.get(row);
        bar.bar.style.width = `${Math.max(0.5, bar.room * probability).toFixed(1)}px`;
        bar.value.textContent = percent(probability);
      }
    }
    this.flow(graph.flows);
  }

  build(graph, palettes) {
    this.states = new Map();
    this.rows = new Map();
    this.flows = new Map();
    this.lines.replaceChildren();
    this.boxes.replaceChildren();
    const tall = (actions) => HEAD + LINE * actions.length + (actions.length ? 8 : 0);
    const heights = graph.layers.map((layer) => layer.reduce((sum, state) => sum + tall(state[3]) + SPACE, -SPACE));
    const most = Math.max(...heights), more = graph.hidden.some((n) => n) ? 20 : 0;
    const width = 2 * EDGE + graph.layers.length * BOX + (graph.layers.length - 1) * GAP, height = HEADING + most + more + EDGE;
    for (const [name, value] of [["viewBox", `0 0 ${width} ${height}`], ["width", width], ["height", height]])
      this.svg.setAttribute(name, value);
    graph.layers.forEach((layer, k) => {
      const x = EDGE + k * (BOX + GAP);
      element("text", {class: "faint", x: x + BOX / 2, y: 14, "text-anchor": "middle"}, this.boxes, `layer ${k}`);
      let y = HEADING + (most - heights[k]) / 2;
      for (const [number, name, , actions] of layer) {
        this.box(number, name, actions, x, y, tall(actions), palettes);
        y += tall(actions) + SPACE;
      }
      if (graph.hidden[k]) element("text", {class: "faint", x: x + BOX / 2, y: y - SPACE + 15, "text-anchor": "middle"},
                                   this.boxes, `and ${graph.hidden[k]} more`);
    });
  }

  box(number, name, actions, x, y, height, palettes) {
    const group = element("g", {class: "state"}, this.boxes);
    element("title", {}, group, name);
    element("rect", {class: "box", x, y, width: BOX, height, rx: 7}, group);
    const fill = element("rect", {class: "fill", x, y, width: BOX, height, rx: 7}, group);
    element("text", {class: "name", x: x + 10, y: y + 20}, group, short(name, 13));
    const chance = element("text", {class: "end", x: x + BOX - 10, y: y + 20}, group);
    this.states.set(number, {x, y, height, chance, fill});
    actions.forEach(([row, label, action], i) => {
      const top = y + HEAD + LINE * i, place = action % palettes.colours.length;
      const item = element("g", {}, group);
      element("title", {}, item, label);
      element("text", {class: "action", x: x + 10, y: top + 13}, item, short(label, 8));
      element("rect", {class: "track", x: x + 72, y: top + 3, width: 48, height: 11, rx: 2}, item);
      const bar = element("rect", {class: "bar", x: x + 72, y: top + 3, height: 11, rx: 2}, item);
      this.hue(bar, place, palettes);
      const value = element("text", {class: "end", x: x + BOX - 10, y: top + 13}, item);
      this.rows.set(row, {bar, value, room: 48, x: x + BOX, y: top + 9, place, palettes});
    });
  }

  flow(flows) {
    const seen = new Set();
    for (const [row, target, chance] of flows) {
      const from = this.rows.get(row), to = this.states.get(target);
      if (!from || !to) continue;
      const key = `${row} ${target}`;
      seen.add(key);
      if (!this.flows.has(key)) {
        const y = to.y + Math.min(to.height, HEAD) / 2, middle = (from.x + to.x) / 2;
        const line = element("path", {class: "flow", d: `M${from.x} ${from.y}C${middle} ${from.y} ${middle} ${y} ${to.x} ${y}`}, this.lines);
        this.hue(line, from.place, from.palettes);
        this.flows.set(key, {line, title: element("title", {}, line)});
      }
      const {line, title} = this.flows.get(key);
      line.style.strokeWidth = `${Math.max(0.5, WIDEST * chance).toFixed(2)}px`;
      line.style.opacity = 0.35 + 0.4 * Math.min(1, 3 * chance);
      title.textContent = `${percent(chance)} of the episodes`;
    }
    for (const [key, {line}] of this.flows) if (!seen.has(key)) line.style.strokeWidth = "0px";
  }

  hue(made, place, palettes) {
    made.style.setProperty("--hue", palettes.colours[place]);
    made.style.setProperty("--hue-on-dark", palettes.colours_on_dark[place]);
  }
}

// What a policy does in a world: the graph from flat lists over pairs and over triples.
function graphOf(world, policy) {
  const {layer_sizes: sizes, n_actions: n, chances} = world;
  const starts = sizes.reduce((all, size) => [...all, all[all.length - 1] + size], [0]);
  const mass = new Array(starts[sizes.length]).fill(0), flows = [], layers = [];
  mass[0] = 1;
  let entry = 0;
  for (let k = 0; k + 1 < sizes.length; k++)
    for (let x = 0; x < sizes[k]; x++) for (let a = 0; a < n; a++) {
      const number = starts[k] + x, row = number * n + a, q = mass[number] * policy[row];
      for (let next = 0; next < sizes[k + 1]; next++) {
        const chance = q * chances[entry++], target = starts[k + 1] + next;
        mass[target] += chance;
        if (chance >= 0.002) flows.push([row, target, chance]);
      }
    }
  sizes.forEach((size, k) => layers.push(Array.from({length: size}, (_, x) => {
    const number = starts[k] + x, last = k + 1 === sizes.length;
    const actions = last ? [] : Array.from({length: n}, (__, a) => [number * n + a, `action ${a}`, a, policy[number * n + a]]);
    return [number, k === 0 ? "start" : last ? "end" : `state ${x}`, mass[number], actions];
  })));
  return {layers, hidden: sizes.map(() => 0), flows};
}
