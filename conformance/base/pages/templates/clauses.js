// The page of clauses: the cases of each clause, and the verdicts of each subject on them.

function showClauses() {
  const covered = coverage();
  if (!covered.size) return [el("h1", { tabindex: -1 }, "Clauses"), el("p", {}, "The cases of this report name no clause: the page of each operator states their results.")];
  const uncovered = CLAUSES.filter((clause) => !covered.has(clause));
  return [
    el("h1", { tabindex: -1 }, "Clauses"),
    el("p", {}, `${covered.size} of ${plural(CLAUSES.length, "clause")} have a case in this report. A case with several clauses counts for each of them.`),
    [...byOperator(covered)].map(([operator, rows]) => section(operator, clauseTable(operator, rows))),
    uncovered.length > 0 && section(`Without a case: ${uncovered.length}`, el("ul", { class: "uncovered" }, uncovered.map((clause) =>
      el("li", {}, el("code", {}, clause.id), " ", clause.text)))),
  ];
}

// The cases of each clause that has a case.
function coverage() {
  const cases = new Map();
  for (const one of CASES) for (const clause of one.clauses) cases.set(clause, [...(cases.get(clause) || []), one]);
  return new Map([...cases].sort(([a], [b]) => a.number - b.number));
}

function byOperator(covered) {
  const operators = new Map();
  for (const [clause, cases] of covered) {
    const operator = clause.id.split(".")[0];
    if (!operators.has(operator)) operators.set(operator, []);
    operators.get(operator).push([clause, cases]);
  }
  return operators;
}

function clauseTable(operator, rows) {
  return listing(`Clauses of ${operator}`, ["Clause", "Cases", "Verdicts of all subjects", ...SUBJECTS.map((subject) => subject.label)],
    rows.map(([clause, cases]) => el("tr", {},
      el("th", { scope: "row" }, el("a", { href: matrixAddress({ clause: new Set([clause.id]) }) }, el("code", {}, clause.id)), clause.text, " ", el("small", {}, source(clause.source))),
      el("td", { class: "short" }, cases.length),
      el("td", { class: "short" }, stacked(counted(cases, SUBJECTS))),
      SUBJECTS.map((subject) => el("td", { class: "short" }, share(clause, cases, subject))))));
}

function counted(cases, subjects) {
  const counts = {};
  for (const one of cases) for (const subject of subjects) {
    const verdict = verdictOf(one, subject.number);
    if (verdict !== null) counts[verdict] = (counts[verdict] || 0) + 1;
  }
  return counts;
}

function share(clause, cases, subject) {
  const counts = counted(cases, [subject]);
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (!all) return "–";
  const defects = VERDICTS.filter((verdict) => isDefect(verdict) && counts[verdict]);
  return [`${counts.pass || 0} of ${all}`, defects.map((verdict) => [" ",
    el("a", { class: `ink-${verdict}`, href: matrixAddress({ clause: new Set([clause.id]), verdict: new Set([verdict]), of: subject.label }), title: `${subject.label}: ${counts[verdict]} ${verdict}` },
      glyph(verdict), counts[verdict], el("span", { class: "unseen" }, ` ${verdict}`))])];
}
