"use strict";
// The playground: choose a world, an adversary and learners; see the regret grow and the occupancy move.
// The server plays as fast as it can; what arrived is shown at the reader's pace, and can be stopped and turned back.

const SPEEDS = [["slow", 40], ["normal", 16], ["fast", 6]];  // seconds for a whole run
const BEST_POLICY = "best fixed policy";

class PlaygroundView {
  constructor(root, job) {
    this.root = root;
    root.classList.add("playground");
    const form = element("form", {class: "choices"}, root);
    this.stage = element("section", {class: "stage"}, root);
    this.hint = element("div", {class: "empty"}, this.stage);
    element("p", {}, this.hint, "Choose a world and learners, and press Play.");
    this.frame = null;
    this.choices = new Choices(form, (request) => this.start(request), () => post(`live/play/${this.job}/stop`, {}).catch(() => {}));
    this.choices.load().then(() => job && this.watch(job, true), (problem) => refusedHere(root, problem.status, problem.message));
  }

  close() {
    this.stream?.close();
    cancelAnimationFrame(this.frame);
    this.root.classList.remove("playground", "presenting");
  }

  async start(request) {
    this.choices.complain("");
    this.choices.go.disabled = true;
    try {
      const {job} = await post("live/play", request);
      history.replaceState(null, "", `#/play/${job}`);
      this.watch(job);
    } catch (problem) {
      this.choices.complain(problem.message);
    }
    this.choices.go.disabled = false;
  }

  // ---------------------------------------------------------------- the stage

  // With `again`, of a run that was begun earlier: the form then shows what was asked for.
  watch(job, again = false) {
    this.again = again;
    this.stream?.close();
    cancelAnimationFrame(this.frame);
    this.job = job;
    this.built = false;
    this.points = new Map();
    this.stream = followStream(`live/play/${encodeURIComponent(job)}`, (state, sections) => this.take(state, sections),
      (status, reason) => { this.say(status === 404 ? "The server does not have this run any more (it was restarted, or others came): press Play again." : reason); this.choices.halt.disabled = true; });
  }

  say(text) {
    if (this.built) { this.status.textContent = text; return; }
    this.hint.replaceChildren(element("p", {}, null, text));
    this.stage.replaceChildren(this.hint);
  }

  take(state, sections) {
    const {status, request, look, world, commands, explanations} = state.job;
    Object.assign(this, {state, request, world, commands, explanations, total: request.episodes, now: status});
    if (this.again) this.choices.fill(request);
    this.again = false;
    this.look = {...look, hidden: this.look?.hidden ?? new Set(), ...this.size()};
    this.choices.halt.disabled = !["starting", "playing"].includes(status.status);
    if (sections.has("points")) for (const point of Object.values(state.points)) {
      if (!this.points.has(point.learner)) this.points.set(point.learner, []);
      const list = this.points.get(point.learner);
      if (!list.length || list[list.length - 1].episodes < point.episodes) list.push(point);
      else if (!list.some((one) => one.episodes === point.episodes)) { list.push(point); list.sort((one, other) => one.episodes - other.episodes); }
    }
    if (status.status === "failed") this.say(`It could not be played: ${status.reason}`);
    if (!world && status.status !== "failed") this.say("Starting \u2026 (a learner that was never played here is compiled first)");
    if (world && !this.built) this.build();
    if (this.built) this.explain();
  }

  build() {
    this.built = true;
    this.position = 0;
    this.playing = true;
    this.shown = this.request.learners[0];
    this.stage.replaceChildren();
    const controls = element("div", {class: "controls"}, this.stage);
    this.pause = element("button", {type: "button", class: "round", id: "pause", "aria-label": "pause or go on"}, controls, "\u275a\u275a");
    this.pause.addEventListener("click", () => this.toggle());
    this.slider = element("input", {type: "range", min: 0, max: this.total, value: 0, step: "any", "aria-label": "episode"}, controls);
    this.slider.addEventListener("input", () => { this.playing = false; this.position = Number(this.slider.value); this.draw(); });
    this.clock = element("output", {class: "clock"}, controls);
    this.speed = element("select", {"aria-label": "speed"}, controls);
    for (const [name, seconds] of SPEEDS) element("option", {value: seconds}, this.speed, name);
    this.speed.value = SPEEDS[1][1];
    const present = element("button", {type: "button", id: "present"}, controls, "Present");
    present.addEventListener("click", () => this.present(present));
    this.status = element("p", {class: "note status", role: "status"}, this.stage);
    const beside = element("div", {class: "both-pictures"}, this.stage);
    this.regret = element("div", {class: "regret"}, beside);
    this.lines = element("ul", {class: "explain"}, beside);
    const picture = element("div", {class: "occupancy"}, this.stage);
    this.tabs = element("div", {class: "tabs", role: "group", "aria-label": "whose occupancy"}, picture);
    this.graph = new LayeredGraph(picture, "Where the episodes go");
    const elsewhere = element("details", {}, this.stage);
    element("summary", {}, elsewhere, "The same run on the command line");
    element("pre", {}, elsewhere, Object.values(this.commands).join("\n"));
    this.figure = null;
    if (innerWidth < 960) this.stage.scrollIntoView({behavior: "smooth"});  // below the form there
    this.last = performance.now();
    const tick = (time) => {
      const passed = Math.min(0.1, (time - this.last) / 1000);
      this.last = time;
      if (this.playing) {
        this.position = Math.min(this.reached(), this.position + passed * this.total / Number(this.speed.value));
        if (this.position >= this.total) this.playing = false;
        if (time - (this.drawn ?? 0) > 60 || !this.playing) { this.drawn = time; this.draw(); }
      }
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  // How far all learners are that have not failed; what came can be shown.
  reached() {
    const names = this.request.learners.filter((name) => this.state.learners[name]?.status !== "failed");
    return Math.min(...names.map((name) => this.points.get(name)?.at(-1)?.episodes ?? 0), this.total);
  }

  toggle() {
    if (this.position >= this.total) this.position = 0;
    this.playing = !this.playing;
    this.draw();
  }

  present(button) {
    const on = this.root.classList.toggle("presenting");
    document.body.classList.toggle("presenting", on);
    button.textContent = on ? "Back" : "Present";
    if (on) document.documentElement.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
    Object.assign(this.look, this.size());
    this.regret.replaceChildren();
    this.draw();
  }

  // A small drawing that is enlarged has large letters.
  size() {
    return this.root.classList.contains("presenting") ? {widest: 560, tallest: 250} : {widest: 1100, tallest: 480};
  }

  draw() {
    this.pause.textContent = this.playing ? "\u275a\u275a" : "\u25b6";
    this.slider.value = this.position;
    this.clock.textContent = `episode ${count(Math.floor(this.position))} of ${count(this.total)}`;
    this.drawRegret();
    this.drawTabs();
    const policy = this.shown === BEST_POLICY ? this.bestPolicy() : this.at(this.shown)?.policy;
    const n = this.world.n_actions;
    this.graph.draw(graphOf(this.world, policy ?? new Array(this.world.layer_sizes.slice(0, -1).reduce((a, b) => a + b) * n).fill(1 / n)), this.look);
    this.explain();
  }

  // The last point of a learner that is not after the position.
  at(learner) {
    const list = this.points.get(learner) ?? [];
    let found = null;
    for (const point of list) if (point.episodes <= this.position + 1e-6) found = point; else break;
    return found;
  }

  bestPolicy() {
    return Object.values(this.state.learners).find((one) => one.best)?.best;
  }

  drawRegret() {
    const series = [...this.points].map(([learner, list]) => {
      const seen = list.filter((point) => point.episodes <= this.position + 1e-6);
      return {key: learner, label: learner, x: [0, ...seen.map((p) => p.episodes)], y: [0, ...seen.map((p) => p.regret)], low: null, high: null, dots: false};
    });
    const panel = {title: "Regret", x_label: "episodes", y_label: "regret", series, x_log: false, y_log: false, from_zero: true,
                   x_end: this.total, y_also: [...this.points.values()].flatMap((list) => list.map((p) => p.regret)),
                   shaded: this.world.shaded.filter(([begin]) => begin < this.position).map(([begin, end]) => [begin, Math.min(end, this.position)]),
                   note: `${this.world.told} What each learner has lost more than the best fixed policy for the losses so far. A straight line: nothing is learnt; a curve that bends: it is.`.trim()};
    if (this.figure?.isConnected) this.figure.renew(panel);
    else {
      this.regret.replaceChildren(chart(panel, this.look));
    }
    this.figure = this.regret.querySelector("figure");
  }

  drawTabs() {
    const names = [...this.request.learners, ...(this.bestPolicy() ? [BEST_POLICY] : [])];
    if (this.tabs.querySelectorAll("button").length !== names.length) {
      this.tabs.replaceChildren(element("span", {class: "label"}, null, "Occupancy of "), ...names.map((name) => {
        const button = element("button", {type: "button"}, null, name);
        button.dataset.name = name;
        button.addEventListener("click", () => { this.shown = name; this.draw(); });
        return button;
      }));
    }
    for (const button of this.tabs.querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.name === this.shown);
  }

  // A line for each curve: what the learner is, and what its curve says so far.
  explain() {
    const lines = this.request.learners.map((name) => {
      const item = element("li");
      item.dataset.learner = name;
      const top = element("div", {class: "who"}, item);
      top.append(swatch(name, this.look));
      element("strong", {}, top, name);
      element("output", {}, top, this.at(name) ? numberText(this.at(name).regret) : "");
      element("p", {}, item, this.explanations[name]);
      const {status, reason} = this.state.learners[name] ?? {};
      element("p", {class: "says"}, item, status === "failed" ? `It could not go on: ${reason}` : this.verdict(name));
      return item;
    });
    this.lines.replaceChildren(...lines);
    const {status} = this.now;
    this.status.textContent = {starting: "starting \u2026", playing: "playing \u2026", stopped: "stopped",
      done: "played; the picture can be stopped and turned back", failed: `failed: ${this.now.reason}`}[status];
    this.stage.dataset.status = status;
  }

  verdict(name) {
    const now = this.at(name);
    if (!now || now.episodes < 20) return "";
    const half = (this.points.get(name) ?? []).filter((p) => p.episodes <= now.episodes / 2).at(-1);
    const per = Number((now.regret / now.episodes).toPrecision(2));
    const end = this.state.learners[name];
    const exact = end?.status === "ended" && now.episodes >= this.total ? end.regret : now.regret;
    const text = `After ${count(now.episodes)} episodes ${numberText(exact)} behind the best fixed policy, ${numberText(per)} an episode`;
    if (!half || now.regret <= 0) return `${text}.`;
    const second = now.regret - half.regret;
    if (second <= 0) return `${text}; in the second half it fell no further behind.`;
    const share = second / now.regret;
    return `${text}; ${percent(share)} of it in the second half: ${share < 0.4 ? "the curve bends." : share > 0.6 ? "it falls behind faster." : "no bend so far."}`;
  }
}
