// The data that the document carries. The index of all cases is read at once, the rest when it is asked for.

const DATA = embedded("index");
const VERDICTS = Object.keys(DATA.verdicts);
const LEVELS = Object.keys(DATA.levels);
const NO_RESULT = ".";
const KNOWN = "k";
const UNEXPECTED = "u";
const NO_CLAUSE = "no clause";

const SUBJECTS = DATA.subjects.map(([label, version, command, kind, id, options], number) => ({ label, version, command, kind, id, options, number }));

const CLAUSES = DATA.clauses.map(([id, text, source], number) => ({ id, text, source, number }));

const CASE_BY_NUMBER = DATA.cases.map(([id, title, level, clauses, tags, verdicts, marks, kind, types, levels], number) => {
  const cited = clauses.map((clause) => CLAUSES[clause]);
  const named = tags.map((tag) => DATA.tags[tag]);
  return {
    number, id, title, level, verdicts, marks, kind, levels,
    clauses: cited,
    tags: named,
    types: types.map((type) => DATA.types[type]),
    chief: cited.length ? cited[0] : { id: NO_CLAUSE, text: "", source: "", number: CLAUSES.length },
    operator: cited.length ? cited[0].id.split(".")[0] : NO_CLAUSE,
    words: [id, title, ...cited.map((clause) => clause.id), ...named].join("\n").toLowerCase(),
  };
});

const CASES = inGroups(CASE_BY_NUMBER);
const CASE_BY_ID = new Map(CASES.map((one) => [one.id, one]));

function embedded(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

// The cases by operator, and each operator's by the clause that they are chiefly about.
function grouped(cases) {
  const operators = new Map();
  for (const one of cases) {
    if (!operators.has(one.operator)) operators.set(one.operator, new Map());
    const clauses = operators.get(one.operator);
    if (!clauses.has(one.chief)) clauses.set(one.chief, []);
    clauses.get(one.chief).push(one);
  }
  return operators;
}

// Operators in the order in which they first occur, clauses in the order in which the specification has them.
function inGroups(cases) {
  return [...grouped(cases).values()].flatMap((clauses) =>
    [...clauses].sort(([a], [b]) => a.number - b.number).flatMap(([, members]) => members));
}

// The verdict of a case on a subject, or null where that subject was not given the case.
function verdictOf(one, subject) {
  const code = one.verdicts[subject];
  return code === NO_RESULT ? null : VERDICTS[code];
}

// The level at which a case's verdict on a subject stands: the case's, but for failures that rest on weaker checks alone,
// and for cases that a profile raises.
function levelOf(one, subject) {
  const code = one.levels === undefined ? NO_RESULT : one.levels[subject];
  return code === NO_RESULT ? one.level : LEVELS[code];
}

// The classes that a verdict is drawn with.
function looks(one, subject) {
  const verdict = verdictOf(one, subject);
  const mark = one.marks[subject];
  const standing = mark === KNOWN ? "known" : mark === UNEXPECTED ? "new" : levelOf(one, subject) === "silent" ? "silent" : "";
  return `verdict v-${verdict} ${standing}`.trim();
}

function isDefect(verdict) {
  return DATA.defects.includes(verdict);
}

function subjectCalled(label) {
  return SUBJECTS.find((subject) => subject.label === label);
}
