// The page that compares two columns of the matrix: two runs of one subject, or two subjects.

// An error is reported if it grew by this factor and is at least this fraction of the bound.
const GROWTH = 2;
const NOTICEABLE = 0.1;

const BADNESS = { pass: 0, unsupported: 1, skipped: 1, fail: 2, error: 2, timeout: 3, crash: 3 };

const KINDS = [
  ["regressions", "New failures and other regressions"], ["fixes", "Fixes"], ["changes", "Other changes"],
  ["added", "Only in the second"], ["removed", "Only in the first"], ["growth", "Larger errors of passing outputs"],
];

// Titles for two subjects: neither is an earlier version of the other, so there are no regressions and no fixes.
const BETWEEN_SUBJECTS = { regressions: "The second does worse", fixes: "The second passes and the first does not", changes: "They differ otherwise", growth: "Both pass, with a larger error in the second" };

// Check whether both columns are the same subject in different runs.
function isLater(a, b) {
  return a.id === b.id && a.kind === b.kind;
}

function titlesOf(a, b) {
  return isLater(a, b) ? KINDS : KINDS.map(([kind, title]) => [kind, BETWEEN_SUBJECTS[kind] ?? title]);
}

// The rows of each kind of difference: case, first value, second value. A value is a verdict with its text, or an error.
// The rules are the same as those of `onnx-conformance diff`.
function differencesOf(a, b) {
  const found = Object.fromEntries(KINDS.map(([kind]) => [kind, []]));
  const errors = embedded("errors");
  const texts = loaded.get("failure-texts");
  for (const one of CASES) {
    const [first, second] = [a, b].map((subject) => (
      { verdict: verdictOf(one, subject.number), level: levelOf(one, subject.number), text: texts[one.number][subject.number] }));
    const kind = differenceOf(one, first, second);
    if (kind) found[kind].push([one, first, second]);
    else if (first.verdict === "pass") {
      const [before, after] = [a, b].map((subject) => errors[one.number][subject.number]);
      if (grew(before, after)) found.growth.push([one, before, after]);
    }
  }
  found.growth.sort((x, y) => y[2] / (y[1] || NOTICEABLE) - x[2] / (x[1] || NOTICEABLE));
  return found;
}

function differenceOf(one, first, second) {
  const isStronger = isDefect(first.verdict) && isDefect(second.verdict) && LEVELS.indexOf(second.level) < LEVELS.indexOf(first.level);
  if (isStronger) return "regressions";
  if (first.verdict === second.verdict) return isDefect(first.verdict) && (first.text !== second.text || first.level !== second.level) ? "changes" : null;
  if (first.verdict === null) return "added";
  if (second.verdict === null) return "removed";
  if (BADNESS[second.verdict] > BADNESS[first.verdict] && second.level !== "silent") return "regressions";
  return second.verdict === "pass" ? "fixes" : "changes";
}

function grew(before, after) {
  return typeof before === "number" && typeof after === "number" && after >= NOTICEABLE && after >= GROWTH * before;
}


function showCompare(state) {
  const [a, b] = pair(state);
  if (!a || !b) return [el("h1", { tabindex: -1 }, "Compare"), nothing("This report does not have both subjects of the address.")];
  const found = differencesOf(a, b);
  const kinds = titlesOf(a, b);
  const present = kinds.filter(([kind]) => found[kind].length);
  return [
    el("h1", { tabindex: -1 }, "Compare"),
    [...overviewView.querySelectorAll(".comparison")].map((banner) => banner.cloneNode(true)),
    el("p", { class: "picker" }, picker("a", "First", a, state), picker("b", "Second", b, state),
      el("a", { href: writeAddress({ ...state, view: "compare", a: b.label, b: a.label }) }, "Swap")),
    el("ul", { class: "counts-of" }, kinds.map(([kind, title]) => el("li", {}, `${title}: ${found[kind].length}`))),
    el("p", { class: "note" }, isLater(a, b)
      ? `A regression is a verdict that is worse than before, or a failure at a stronger level than before. ${RANKS} An error counts as larger if it is at least ${GROWTH} times the earlier error and ${NOTICEABLE} of its bound.`
      : `These are two different subjects. ${RANKS} A failure at a stronger level is worse. An error counts as larger if it is at least ${GROWTH} times the other error and ${NOTICEABLE} of its bound.`),
    present.length ? present.map(([kind, title]) => section(title, differenceTable(kind, title, found[kind], a, b))) : el("p", {}, "No case differs."),
  ];
}

const RANKS = "From best to worst: pass; unsupported and skipped; fail and error; timeout and crash.";

// The two subjects of the address; by default two runs of one subject, or the first two subjects.
function pair(state) {
  if (state.a !== null || state.b !== null) return [subjectByLabel(state.a), subjectByLabel(state.b)];
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
  const described = ({ verdict, level, text }, one) => (verdict === null ? "–" : [verdictWord(verdict), level !== one.level && ` at ${level}`, " ", text !== null && el("code", {}, text)]);
  const cell = (value, one) => (kind === "growth" ? [gauge(value), number(value)] : described(value, one));
  return [
    listing(title, ["Case", "Level", a.label, b.label], rows.slice(0, MOST_LISTED).map(([one, first, second]) => tr([
      [el("a", { href: caseAddress(NO_FILTER, one, b.label) }, el("code", {}, one.id)), el("div", { class: "muted" }, one.title)], one.level, cell(first, one), cell(second, one)]))),
    beyond(rows),
  ];
}
