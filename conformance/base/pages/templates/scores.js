// The page of scores: passed, wrong and unsupported cases by subject, operator, form, type and level.

const ELEMENT_TYPES = ["float", "double", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];

function showScores() {
  const rows = scored(CASES).filter((row) => row.level !== "silent");
  return [
    el("h1", { tabindex: -1 }, "Scores"),
    el("p", {}, "Passed cases of each subject, then wrong cases and unsupported cases. Silent cases have no score."),
    el("p", { class: "note" }, "Form: a native case has a node of the operator; a function case calls a model-local function with the same computation; an expanded case has primitive operators instead. Type: element type of the case."),
    section("By operator", scoreTable("Scores by operator", merged(rows, ["operator", "level"]))),
    [...new Set(rows.map((row) => row.operator))].sort().map((operator) => section(operator, ofOperator(operator, rows.filter((row) => row.operator === operator)))),
  ];
}

// The table at the start of the overview if there are many subjects: scores at level must.
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

// The level of a case and the levels of its results.
function levelsOf(one) {
  return [...new Set([one.level, ...SUBJECTS.map(({ number }) => levelOf(one, number))])];
}

function formOf(one) {
  if (one.kind === "invalid") return "invalid model";
  if (one.kind === "pass") return "graph";
  return one.tags.includes("expanded") ? "expanded" : one.tags.includes("function") ? "function" : "native";
}

// Groups of cases with equal values of some keys; one of the keys must be the level or all rows must have one level.
function merged(rows, keys) {
  const found = new Map();
  for (const row of rows) {
    const key = keys.map((name) => row[name]).join("\n");
    if (!found.has(key)) found.set(key, { heads: keys.map((name) => row[name]), level: row.level, cases: [] });
    found.get(key).cases.push(row.one);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

// A table with one row for each subject.
function scoreTable(caption, groups) {
  if (!groups.length) return nothing("No case of this report has a score.");
  return listing(caption, ["Subject", ...groups.map(({ heads, cases }) => [heads.map((head) => el("div", {}, head)), el("small", {}, plural(cases.length, "case"))])],
    SUBJECTS.map((subject) => el("tr", {},
      el("th", { scope: "row" }, el("a", { href: subjectAddress(subject) }, breakable(subject.label))),
      groups.map(({ cases, level }) => el("td", { class: "short" },
        score(cases.filter((one) => levelOf(one, subject.number) === level), subject))))));
}

// The score as "12 of 20", with the numbers of wrong and unsupported cases; a dash if the subject ran none of the cases.
function score(cases, subject) {
  const counts = counted(cases, [subject]);
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (!all) return "–";
  const wrong = VERDICTS.filter(isDefect).reduce((sum, verdict) => sum + (counts[verdict] || 0), 0);
  const unsupported = all - wrong - (counts.pass || 0);
  return [
    el("div", {}, `${counts.pass || 0} of ${all}`),
    wrong > 0 && el("div", { class: "ink-fail" }, glyph("fail"), `${wrong} wrong`),
    unsupported > 0 && el("div", { class: "ink-unsupported" }, glyph("unsupported"), `${unsupported} unsupported`),
  ];
}
