// Tables of words rather than numbers, and cases by the dozen.

// More links than this are not listed.
const MOST_LISTED = 400;

function listing(caption, heads, rows) {
  const box = table(caption, heads, rows);
  box.classList.add("listing");
  return box;
}

// One that is a list where there is no room beside: each cell then says its own head, which is in its data-head.
function stacking(caption, heads, rows) {
  const box = listing(caption, heads, rows);
  box.classList.add("stacking");
  return box;
}

function caseLink(number, subject = null) {
  const one = CASE_BY_NUMBER[number];
  return el("a", { href: caseAddress(NO_FILTER, one, subject), title: one.title }, el("code", {}, one.id));
}

// How many cases, and on request which.
function caseList(numbers, subject = null) {
  if (!numbers.length) return "none";
  if (numbers.length === 1) return caseLink(numbers[0], subject);
  return later(plural(numbers.length, "case"), () => [
    el("ul", {}, numbers.slice(0, MOST_LISTED).map((number) => el("li", {}, caseLink(number, subject)))),
    beyond(numbers),
  ]);
}

// What is drawn when it is opened, and not before.
function later(summary, draw) {
  const box = el("details", {}, el("summary", {}, summary));
  box.addEventListener("toggle", () => {
    if (box.open && box.childNodes.length === 1) box.append(...[draw()].flat(Infinity).filter(Boolean));
  });
  return box;
}

function beyond(rows) {
  return rows.length > MOST_LISTED && nothing(`and ${rows.length - MOST_LISTED} more`);
}

function verdictWord(verdict) {
  return el("span", { class: `verdict v-${verdict}` }, glyph(verdict), verdict);
}

function nothing(text) {
  return el("p", { class: "muted" }, text);
}
