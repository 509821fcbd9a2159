"use strict";
// Streams of events.  A state is a table of sections of entries; it arrives whole, then in changes.
// The browser connects again by itself, also after a restart of the server; the whole state follows.

const AGAIN = 2000;  // milliseconds until a stream that was refused is asked for again
const UNSEEN = 20_000;  // after which a hidden tab lets go: a browser opens six connections to a server, for all tabs

function sayConnection(state, text) {
  const place = document.getElementById("connection");
  place.dataset.state = state;
  place.textContent = text;
}

const table = (entries = {}) => Object.assign(Object.create(null), entries);  // a key may be "__proto__"

function apply(state, change) {
  const touched = new Set();
  for (const [section, entries] of Object.entries(change.set ?? {})) {
    state[section] ??= table();
    for (const key of Object.keys(entries)) state[section][key] = entries[key];
    touched.add(section);
  }
  for (const [section, keys] of Object.entries(change.drop ?? {})) {
    for (const key of keys) delete state[section]?.[key];
    touched.add(section);
  }
  return touched;
}

// Follow an address: `changed(state, sections)` after every event, `refused(status, reason)` if the server says no.
function followStream(address, changed, refused = () => {}) {
  let source = null, timer = null, over = false, asleep = false;
  const state = table();
  const open = () => {
    source = new EventSource(address);
    source.addEventListener("whole", (event) => {
      sayConnection("live", "live");
      for (const section of Object.keys(state)) delete state[section];
      const whole = JSON.parse(event.data);
      for (const section of Object.keys(whole)) state[section] = table(whole[section]);
      changed(state, new Set(Object.keys(whole)));
    });
    source.addEventListener("change", (event) => changed(state, apply(state, JSON.parse(event.data))));
    source.addEventListener("error", () => {
      sayConnection("lost", "connecting …");
      if (source.readyState === EventSource.CLOSED) explain();
    });
  };
  // A browser does not try again what a server has refused, and does not say why it was.
  const explain = async () => {
    source.close();
    try {
      const stop = new AbortController(), answer = await fetch(address, {signal: stop.signal});
      if (over) return stop.abort();
      if (!answer.ok) refused(answer.status, (await answer.json()).error);
      stop.abort();
      if ([401, 404].includes(answer.status)) return;
    } catch { /* the server is away */ }
    if (!over) timer = setTimeout(open, AGAIN);
  };
  const seen = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => { asleep = true; source.close(); }, UNSEEN);
    else if (asleep || source.readyState === EventSource.CLOSED) { asleep = false; open(); }
  };
  document.addEventListener("visibilitychange", seen);
  open();
  return {state, close() {
    over = true;
    document.removeEventListener("visibilitychange", seen);
    clearTimeout(timer);
    source.close();
  }};
}

async function post(address, data) {
  const answer = await fetch(address, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(data),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error);
  return said;
}
