"use strict";
// A service: episodes, losses, the policy as a graph, epochs and widths, open episodes, and what has changed.

const SERVICE_PANELS = ["loss", "epoch", "width"];

function figureOf(parent, name, value, hint = "") {
  const box = element("div", {class: "figure"}, parent);
  element("span", {class: "value"}, box, value);
  element("span", {class: "label"}, box, name);
  if (hint) element("span", {class: "hint"}, box, hint);
  return box;
}

class ServiceView {
  constructor(root, name) {
    this.look = {hidden: new Set(), widest: 1100, tallest: 480};
    this.charts = new Map();
    const head = element("section", {class: "head"}, root);
    element("h1", {}, head, name);
    this.about = element("p", {class: "path"}, head);
    this.figures = element("div", {class: "figures"}, head);
    const columns = element("div", {class: "columns"}, root);
    this.drawn = element("div", {class: "live-charts"}, columns);
    const change = element("section", {class: "change"}, columns);
    element("h2", {}, change, "What has changed");
    this.change = element("div", {}, change);
    const policy = this.policySection = element("section", {}, root);
    element("h2", {}, policy, "Policy of the next episode");
    element("p", {class: "note"}, policy, "Boxes: the states of each layer and the chance to pass them; bars: the probability of each action; lines: where episodes go, as the learner expects.");
    this.graph = new LayeredGraph(policy, "The policy as a layered graph with flows");
    const open = element("section", {}, root);
    element("h2", {}, open, "Open episodes");
    this.tickets = element("div", {class: "tickets"}, open);
    this.stream = followStream(`live/service/${encodeURIComponent(name)}`, (state, sections) => this.show(state, sections),
                          (status, reason) => refusedHere(root, status, reason));
    this.name = name;
  }

  close() { this.stream.close(); }

  show(state, sections) {
    const {service, look} = state.summary;
    Object.assign(this.look, look);
    if (sections.has("summary")) this.showFigures(service);
    if (sections.has("panels")) this.showPanels(state.panels);
    if (sections.has("graph")) {
      this.policySection.hidden = !state.graph.graph;
      if (state.graph.graph) this.graph.draw(state.graph.graph, this.look);
    }
    if (sections.has("tickets")) this.showTickets(state.tickets, service.open);
    if (sections.has("change")) this.showChange(state.change.policy);
  }

  showFigures(service) {
    document.title = `${count(service.finished)} episodes \u00b7 ${this.name} \u00b7 advmdp`;
    this.about.textContent = `${service.learner}${service.kept ? ` \u00b7 kept in ${service.kept}` : " \u00b7 kept nowhere"}`;
    this.figures.replaceChildren();
    figureOf(this.figures, "episodes learnt from", count(service.finished),
             service.horizon ? `of ${count(service.horizon)} planned` : "");
    figureOf(this.figures, "open now", count(service.open));
    figureOf(this.figures, "recent loss per episode", service.loss === null ? "\u2013" : numberText(service.loss));
    if (service.epoch !== null) figureOf(this.figures, "epoch", count(service.epoch));
    if (service.width !== null) figureOf(this.figures, "mean width", numberText(service.width), "1: nothing known");
    if (service.abandoned) figureOf(this.figures, "given up", count(service.abandoned));
    if (service.clipped) figureOf(this.figures, "losses clipped", count(service.clipped));
    if (service.range)
      figureOf(this.figures, "range of the losses", `${numberText(service.range.low)} to ${numberText(service.range.high)}`,
               `doubled ${count(service.range.doublings)} times`);
  }

  showPanels(panels) {
    if (!Object.keys(panels).length && !this.drawn.children.length)
      element("p", {class: "empty"}, this.drawn, "No episode has been finished yet; the losses appear here with the first.");
    else if (Object.keys(panels).length) this.drawn.querySelector(".empty")?.remove();
    for (const name of SERVICE_PANELS) {
      if (!(name in panels)) continue;
      const box = this.charts.get(name);
      if (box) box.querySelector("figure").renew(structuredClone(panels[name]));
      else {
        const made = element("div", {class: `chart-${name}`}, this.drawn);
        made.append(chart(structuredClone(panels[name]), this.look));
        this.charts.set(name, made);
      }
    }
  }

  showTickets(tickets, all) {
    const numbers = Object.keys(tickets).map(Number).sort((one, other) => one - other);
    this.tickets.replaceChildren(...numbers.map((number) => {
      const context = tickets[number].context;
      return element("span", {class: "ticket"}, null, `${count(number)}${context === null ? "" : ` (context ${context})`}`);
    }));
    if (all > numbers.length) element("span", {class: "faint"}, this.tickets, `and ${count(all - numbers.length)} more`);
    if (!numbers.length) element("p", {class: "note"}, this.tickets, "None: all feedback has come.");
  }

  showChange(change) {
    this.change.replaceChildren();
    if (!change) return;
    const when = new Date(1000 * change.since).toLocaleString([], {dateStyle: "medium", timeStyle: "short"});
    const since = change.a_day ? `Since yesterday (${when})` : `Since the server began (${when})`;
    const later = change.a_day ? "" : " From tomorrow on this is a comparison with the day before.";
    element("p", {class: "note"}, this.change, `${since}: ${plural(change.episodes, "episode")}.${later}`);
    if (!change.pairs.length) {
      element("p", {}, this.change, "The policy is the same.");
      return;
    }
    const body = tableWith(this.change, [["layer", "number"], ["state", ""], ["action", ""], ["before", "number"], ["now", "number"]], "changes");
    for (const [layer, state, action, before, after] of change.pairs) {
      const line = element("tr", {}, body);
      element("td", {class: "number"}, line, String(layer));
      element("td", {}, line, state);
      element("td", {}, line, action);
      element("td", {class: "number"}, line, percent(before));
      element("td", {class: `number ${after > before ? "up" : "down"}`}, line, `${after > before ? "\u2191" : "\u2193"} ${percent(after)}`);
    }
    element("p", {class: "note"}, this.change, "The largest changes where episodes go most.");
  }
}
