// Two columns beside each other: two runs of one subject, or two subjects.

function showCompare(state) {
  const [a, b] = pair(state);
  if (!a || !b) return [el("h1", { tabindex: -1 }, "Compare"), nothing("There are no two subjects of that name to compare.")];
  const found = differencesOf(a, b);
  const kinds = titlesOf(a, b);
  const told = kinds.filter(([kind]) => found[kind].length);
  return [
    el("h1", { tabindex: -1 }, "Compare"),
    [...overviewView.querySelectorAll(".between")].map((banner) => banner.cloneNode(true)),
    el("p", { class: "picker" }, picker("a", "First", a, state), picker("b", "Second", b, state),
      el("a", { href: writeAddress({ ...state, view: "compare", a: b.label, b: a.label }) }, "Swap")),
    el("ul", { class: "counts-of" }, kinds.map(([kind, title]) => el("li", {}, `${title}: ${found[kind].length}`))),
    el("p", { class: "note" }, isLater(a, b)
      ? `A regression is a verdict worse than before: ${RANKS}; a failure at a stronger level than before is one too. An error grew where it is at least ${GROWTH} times what it was and ${NOTICEABLE} of its bound.`
      : `Two subjects, and none is the other's past. ${sentence(RANKS)}; a failure at a stronger level is worse, too. An error is larger where it is at least ${GROWTH} times the other and ${NOTICEABLE} of its bound.`),
    told.length ? told.map(([kind, title]) => section(title, differenceTable(kind, title, found[kind], a, b))) : el("p", {}, "No case differs."),
  ];
}

const RANKS = "a pass is better than unsupported or skipped, these than a fail or error, and these than a timeout or crash";

// Where the address names none, the first two runs of one subject, or else the first two subjects.
function pair(state) {
  if (state.a !== null || state.b !== null) return [subjectCalled(state.a), subjectCalled(state.b)];
  for (const a of SUBJECTS) {
    const b = SUBJECTS.find((other) => other.number > a.number && other.id === a.id && other.kind === a.kind);
    if (b) return [a, b];
  }
  return SUBJECTS;
}

function picker(name, label, chosen, state) {
  const [a, b] = pair(state);
  const select = el("select", { "data-pick": name }, SUBJECTS.map((subject) => el("option", { value: subject.label, selected: subject === chosen }, subject.label)));
  select.addEventListener("change", () => {
    location.hash = writeAddress({ ...state, view: "compare", a: a.label, b: b.label, [name]: select.value });
  });
  return el("label", {}, `${label} `, select);
}

function differenceTable(kind, title, rows, a, b) {
  const told = ({ verdict, level, says }, one) => (verdict === null ? "–" : [verdictWord(verdict), level !== one.level && ` at ${level}`, " ", says !== null && el("code", {}, pooled(says))]);
  const cell = (value, one) => (kind === "growth" ? [gauge(value), number(value)] : told(value, one));
  return [
    listing(title, ["Case", "Level", a.label, b.label], rows.slice(0, MOST_LISTED).map(([one, first, second]) => tr([
      [el("a", { href: caseAddress(NO_FILTER, one, b.label) }, el("code", {}, one.id)), el("div", { class: "muted" }, one.title)], one.level, cell(first, one), cell(second, one)]))),
    beyond(rows),
  ];
}
