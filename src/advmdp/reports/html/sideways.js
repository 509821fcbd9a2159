// A box for a table that may be wider than the page: it scrolls, and a sign says so.
function sideways(box) {
  const sign = element("p", {class: "sign", hidden: ""}, box, "\u2190 the table goes on: scroll sideways \u2192");
  const wide = element("div", {class: "wide", tabindex: 0}, box);
  new ResizeObserver(() => {
    sign.hidden = wide.scrollWidth <= wide.clientWidth + 1;
  }).observe(wide);
  return wide;
}
