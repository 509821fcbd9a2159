"use strict";
// The overview, the way from an address to a view, and the question for a token.

function refusedHere(root, status, reason) {
  if (status === 401) return askToken(root);
  sayConnection("lost", "");
  root.replaceChildren();
  const box = element("div", {class: "empty"}, root);
  element("h1", {}, box, "Nothing here");
  element("p", {}, box, reason ?? "The server has nothing to show under this address.");
  element("a", {href: "#/"}, box, "Back to the overview");
}

function askToken(root) {
  sayConnection("lost", "locked");
  root.replaceChildren();
  const form = element("form", {class: "token"}, root);
  element("h1", {}, form, "Token");
  element("p", {class: "note"}, form, "This page is protected. The token was given to whoever started the server.");
  element("input", {type: "text", value: "advmdp", autocomplete: "username", hidden: ""}, form);  // for password managers
  const input = element("input", {type: "password", id: "token", autocomplete: "current-password", required: "", "aria-label": "token"}, form);
  element("button", {type: "submit", class: "primary"}, form, "Enter");
  const error = element("p", {class: "problem", hidden: "", role: "alert"}, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await post("live/token", {token: input.value});
      route();
    } catch (problem) {
      error.textContent = problem.message;
      error.hidden = false;
      input.select();
    }
  });
  input.focus();
}

class OverviewView {
  constructor(root) {
    this.root = root;
    document.title = "advmdp";
    this.body = element("div", {class: "overview"}, root);
    this.stream = followStream("live/overview", (state) => this.show(state), (status, reason) => refusedHere(root, status, reason));
  }

  close() { this.stream.close(); }

  // Cards are filled anew only where something has changed, and stay the same elements: a reader may be on one.
  show({page, stores, services}) {
    const numbers = Object.keys(stores).sort((one, other) => one - other), names = Object.keys(services);
    const wanted = JSON.stringify([numbers, names, page.playground]);
    if (this.wanted !== wanted) this.arrange(numbers, names, page.playground);
    this.wanted = wanted;
    for (const number of numbers) this.renew(`store ${number}`, stores[number], (card, store) => this.storeCard(card, store));
    for (const name of names) this.renew(`service ${name}`, services[name], (card, service) => this.serviceCard(card, name, service));
  }

  arrange(numbers, names, playground) {
    this.cards = new Map();
    this.body.replaceChildren();
    const group = (title, entries) => {
      if (!entries.length) return;
      element("h1", {}, this.body, `${title}${entries.length === 1 ? "" : "s"}`);
      const cards = element("div", {class: "cards"}, this.body);
      for (const [key, address] of entries) this.cards.set(key, {made: element("a", {class: "card", href: address}, cards), text: null});
    };
    group("Store", numbers.map((number) => [`store ${number}`, `#/store/${number}`]));
    group("Service", names.map((name) => [`service ${name}`, `#/service/${encodeURIComponent(name)}`]));
    if (!numbers.length && !names.length) element("p", {class: "empty"}, this.body, "No store and no service is shown by this server.");
    if (playground) this.playgroundCard();
  }

  renew(key, data, fill) {
    const card = this.cards.get(key), text = JSON.stringify(data);
    if (card.text === text) return;
    card.text = text;
    card.made.replaceChildren();
    fill(card.made, data);
  }

  storeCard(card, store) {
    const top = element("div", {class: "top"}, card);
    element("strong", {}, top, store.name);
    const state = store.problem ? "failed" : store.counts.running ? "running" : store.counts.failed ? "failed" : store.counts.cut ? "cut" : store.n_runs ? "finished" : "waiting";
    const words = {cut: "interrupted", failed: store.problem ? "cannot be read" : "some failed", running: "running", finished: "at rest", waiting: "empty"};
    element("span", {class: `chip ${state}`}, top, words[state]);
    element("p", {class: "path"}, card, store.path);
    if (store.problem) element("p", {class: "problem"}, card, store.problem);
    else {
      card.append(countsBar(store.counts, store.share));
      element("p", {class: "headline"}, card).append(...headlineOf(store));
    }
  }

  serviceCard(card, name, service) {
    const top = element("div", {class: "top"}, card);
    element("strong", {}, top, name);
    element("span", {class: `chip ${service.open ? "running" : "finished"}`}, top, service.open ? `${count(service.open)} open` : "idle");
    element("p", {class: "path"}, card, service.learner);
    const figures = element("div", {class: "figures"}, card);
    figureOf(figures, "episodes", count(service.finished));
    figureOf(figures, "recent loss", service.loss === null ? "\u2013" : numberText(service.loss));
    if (service.epoch !== null) figureOf(figures, "epoch", count(service.epoch));
    if (service.width !== null) figureOf(figures, "width", numberText(service.width));
  }

  playgroundCard() {
    const card = element("a", {class: "card wide-card", href: "#/play"}, this.body);
    element("strong", {}, element("div", {class: "top"}, card), "Playground");
    element("p", {}, card, "Choose a world, an adversary and learners, and see the regret grow and the occupancy move.");
  }
}

let view = null;

function navigation(kind) {
  const nav = document.getElementById("nav");
  nav.replaceChildren();
  for (const [name, title] of [["", "Overview"], ["play", "Playground"]]) {
    const link = element("a", {href: `#/${name}`}, nav, title);
    if (kind === name) link.setAttribute("aria-current", "page");
  }
}

function route() {
  view?.close();
  document.body.classList.remove("presenting");
  sayConnection("lost", "connecting \u2026");
  const root = document.getElementById("view"), [kind = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  root.replaceChildren();
  root.className = "";
  navigation(kind);
  if (kind === "store") view = new SweepView(root, rest[0] ?? "0", rest[1] ?? "-");
  else if (kind === "service") view = new ServiceView(root, rest[0] ?? "");
  else if (kind === "play") { sayConnection("live", ""); view = new PlaygroundView(root, rest[0]); document.title = "Playground \u00b7 advmdp"; }
  else view = new OverviewView(root);
}

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

addEventListener("hashchange", route);
route();
