// Subjects by operator, form, type and level: what each passes, what it does wrong, and what it says that it cannot.

const ELEMENT_TYPES = ["float", "double", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];

function showScores() {
  const rows = scored(CASES).filter((row) => row.level !== "silent");
  return [
    el("h1", { tabindex: -1 }, "Scores"),
    el("p", {}, "What each subject passes, of what it was given; then what it does wrong, and apart from that what it says that it cannot. Silent cases have no score."),
    el("p", { class: "note" }, "Form: native is the operator's own node; function is a node of a model-local function that computes it; lowered is the same computation in primitive operators. Type: of the elements that the case is about."),
    section("By operator", scoreTable("Scores by operator", merged(rows, ["operator", "level"]))),
    [...new Set(rows.map((row) => row.operator))].sort().map((operator) => section(operator, ofOperator(operator, rows.filter((row) => row.operator === operator)))),
  ];
}

// What the overview of many subjects begins with: each beside all others, at the level that a gate goes by.
function boardTable() {
  const rows = scored(CASES).filter((row) => row.level === "must");
  return scoreTable("Scores at level must by operator", merged(rows, ["operator"]));
}

function ofOperator(operator, rows) {
  return [
    scoreTable(`Scores of ${operator} by form`, merged(rows, ["form", "level"])),
    scoreTable(`Scores of ${operator} by form and type`, merged(rows, ["form", "type", "level"])),
  ];
}

function scored(cases) {
  return cases.flatMap((one) => levelsOf(one).map((level) => (
    { one, level, operator: one.operator, form: formOf(one), type: one.tags.find((tag) => ELEMENT_TYPES.includes(tag)) ?? "any" })));
}

// A case's level, and the others at which its verdict on some subject stands.
function levelsOf(one) {
  return [...new Set([one.level, ...SUBJECTS.map(({ number }) => levelOf(one, number))])];
}

function formOf(one) {
  if (one.kind === "invalid") return "invalid model";
  if (one.kind === "pass") return "graph";
  return one.tags.includes("expanded") ? "lowered" : one.tags.includes("function") ? "function" : "native";
}

// The cases that agree in some of their marks, the level among them, by those.
function merged(rows, marks) {
  const found = new Map();
  for (const row of rows) {
    const key = marks.map((mark) => row[mark]).join("\n");
    if (!found.has(key)) found.set(key, { heads: marks.map((mark) => row[mark]), level: row.level, cases: [] });
    found.get(key).cases.push(row.one);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

// Subjects below each other: there are more of them than of anything else.
function scoreTable(caption, groups) {
  if (!groups.length) return nothing("No case of this report has a score.");
  return listing(caption, ["Subject", ...groups.map(({ heads, cases }) => [heads.map((head) => el("div", {}, head)), el("small", {}, plural(cases.length, "case"))])],
    SUBJECTS.map((subject) => el("tr", {},
      el("th", { scope: "row" }, el("a", { href: subjectAddress(subject) }, breakable(subject.label))),
      groups.map(({ cases, level }) => el("td", { class: "short" },
        score(cases.filter((one) => levelOf(one, subject.number) === level), subject))))));
}

// As in "12 of 20", what is wrong, and what is not supported: a dash where the subject was given nothing.
function score(cases, subject) {
  const counts = counted(cases, [subject]);
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (!all) return "–";
  const wrong = VERDICTS.filter(isDefect).reduce((sum, verdict) => sum + (counts[verdict] || 0), 0);
  const cannot = all - wrong - (counts.pass || 0);
  return [
    el("div", {}, `${counts.pass || 0} of ${all}`),
    wrong > 0 && el("div", { class: "ink-fail" }, glyph("fail"), `${wrong} wrong`),
    cannot > 0 && el("div", { class: "ink-unsupported" }, glyph("unsupported"), `${cannot} cannot`),
  ];
}
