// Tables of words rather than numbers, and cases by the dozen.

// More links than this are not listed.
const MOST_LISTED = 400;

function listing(caption, heads, rows) {
  const box = table(caption, heads, rows);
  box.classList.add("listing");
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
  const list = el("ul", {});
  const box = el("details", {}, el("summary", {}, plural(numbers.length, "case")), list);
  box.addEventListener("toggle", () => {
    if (!box.open || list.firstChild) return;
    list.append(...numbers.slice(0, MOST_LISTED).map((number) => el("li", {}, caseLink(number, subject))));
    if (numbers.length > MOST_LISTED) list.append(el("li", { class: "muted" }, `and ${numbers.length - MOST_LISTED} more`));
  });
  return box;
}

function verdictWord(verdict) {
  return el("span", { class: `verdict v-${verdict}` }, glyph(verdict), verdict);
}

function nothing(text) {
  return el("p", { class: "muted" }, text);
}
