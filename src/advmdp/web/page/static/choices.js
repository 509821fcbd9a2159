"use strict";
// The form of the playground: what a visitor may choose, within the limits that the server tells.

class Choices {
  // `play(request)` and `stop()` are called when the buttons are pressed.
  constructor(form, play, stop) {
    Object.assign(this, {form, stop});
    form.addEventListener("submit", (event) => { event.preventDefault(); play(this.request()); });
  }

  async load() {
    const answer = await fetch("live/catalogue"), said = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(said.error), {status: answer.status});
    this.catalogue = said;
    this.fill(said.usual);
  }

  fill(chosen) {
    const {limits} = this.catalogue;
    this.form.replaceChildren();
    element("h2", {}, this.form, "World");
    this.sizes = [...chosen.layers];
    this.layers(element("div", {class: "sizes"}, this.field("States in each layer between start and end", "layers")), limits);
    this.actions = this.number("Actions", "actions", chosen.actions, 1, limits.actions);
    this.losses = element("select", {id: "losses"}, this.field("Adversary", "losses"));
    for (const name of Object.keys(this.catalogue.losses)) element("option", {value: name}, this.losses, name);
    this.losses.value = chosen.losses;
    const words = element("p", {class: "note"}, this.form);
    const say = () => { words.textContent = `${this.catalogue.losses[this.losses.value]}.`; };
    this.losses.addEventListener("change", say);
    say();
    element("h2", {}, this.form, "Learners");
    this.learners = Array.from({length: limits.learners}, (_, i) => this.learnerMenu(chosen.learners[i] ?? ""));
    const practical = element("label", {class: "check"}, this.form);
    this.practical = element("input", {type: "checkbox", id: "practical"}, practical);
    this.practical.checked = chosen.practical;
    practical.append(" practical constants instead of the theorems\u2019");
    element("h2", {}, this.form, "Run");
    const pair = element("div", {class: "pair"}, this.form);
    this.episodes = this.number("Episodes", "episodes", chosen.episodes, 10, limits.episodes, pair);
    this.seed = this.number("Seed", "seed", chosen.seed, 0, limits.seed, pair);
    const buttons = element("div", {class: "buttons"}, this.form);
    this.go = element("button", {type: "submit", class: "primary", id: "go"}, buttons, "Play");
    this.halt = element("button", {type: "button", id: "halt", disabled: ""}, buttons, "Stop");
    this.halt.addEventListener("click", () => this.stop());
    this.error = element("p", {class: "problem", hidden: "", role: "alert"}, this.form);
  }

  layers(list, limits) {
    list.replaceChildren();
    this.sizes.forEach((size, k) => {
      const input = element("input", {type: "number", min: 1, max: limits.states, value: size, "aria-label": `states in layer ${k + 1}`}, list);
      input.addEventListener("input", () => { this.sizes[k] = Number(input.value); });
    });
    const less = element("button", {type: "button", title: "one layer less"}, list, "\u2212");
    const more = element("button", {type: "button", title: "one layer more"}, list, "+");
    less.disabled = this.sizes.length <= 1;
    more.disabled = this.sizes.length >= limits.layers;
    less.addEventListener("click", () => { this.sizes.pop(); this.layers(list, limits); });
    more.addEventListener("click", () => { this.sizes.push(this.sizes.at(-1)); this.layers(list, limits); });
  }

  field(text, id, parent = this.form) {
    const label = element("label", {class: "field", for: id}, parent);
    element("span", {}, label, text);
    return label;
  }

  number(text, id, value, min, max, parent = this.form) {
    return element("input", {type: "number", id, value, min, max, step: 1, required: ""}, this.field(text, id, parent));
  }

  learnerMenu(chosen) {
    const menu = element("select", {class: "learner", "aria-label": "learner"}, this.form);
    element("option", {value: ""}, menu, "\u2014 none \u2014");
    for (const {setting, names} of this.catalogue.learners) {
      const group = element("optgroup", {label: setting}, menu);
      for (const name of names) element("option", {value: name}, group, name);
    }
    menu.value = chosen;
    return menu;
  }

  request() {
    return {
      layers: this.sizes, actions: Number(this.actions.value), losses: this.losses.value,
      learners: this.learners.map((menu) => menu.value).filter(Boolean),
      episodes: Number(this.episodes.value), seed: Number(this.seed.value), practical: this.practical.checked,
    };
  }

  complain(text) {
    this.error.textContent = text;
    this.error.hidden = !text;
  }
}
