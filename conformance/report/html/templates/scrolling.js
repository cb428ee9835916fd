// Boxes that scroll where their content is wider than the page, and say so.

const widths = new ResizeObserver((entries) => {
  for (const box of new Set(entries.map(({ target }) => target.closest(".scroll")))) noteWidth(box);
});

function scrolling(caption, properties, child) {
  const box = el("div", { ...properties, class: `scroll ${properties.class ?? ""}`.trim(), tabindex: 0, role: "group", "aria-label": caption }, child);
  widths.observe(box);
  widths.observe(child);
  box.addEventListener("scroll", () => noteWidth(box), { passive: true });
  return box;
}

function noteWidth(box) {
  const more = box.scrollWidth - box.clientWidth;
  box.classList.toggle("wide", more > 1);
  box.classList.toggle("cut", more - box.scrollLeft > 1);
}
