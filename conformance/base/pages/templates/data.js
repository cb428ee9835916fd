// The data in the document. The index of all cases is parsed at once; the details of cases are unpacked when a page shows them.

const DATA = embedded("index");
const VERDICTS = Object.keys(DATA.verdicts);
const LEVELS = Object.keys(DATA.levels);
const NO_RESULT = ".";
const KNOWN = "k";
const UNEXPECTED = "u";

const SUBJECTS = DATA.subjects.map(([label, version, command, kind, id, options, environment], number) => ({ label, version, command, kind, id, options, environment, number }));

const CLAUSES = DATA.clauses.map(([id, text, source], number) => ({ id, text, source, number }));

// Of an operator whose cases name no clause, an entry in place of a clause, by the operator.
const UNCITED = new Map();

function uncited(operator) {
  if (!UNCITED.has(operator)) UNCITED.set(operator, { id: operator, text: "", source: "", number: CLAUSES.length });
  return UNCITED.get(operator);
}

const CASE_BY_NUMBER = DATA.cases.map(([id, title, level, clauses, tags, verdicts, marks, kind, types, levels], number) => {
  const cited = clauses.map((clause) => CLAUSES[clause]);
  const named = tags.map((tag) => DATA.tags[tag]);
  const operator = cited.length ? cited[0].id.split(".")[0] : named[0] ?? kind;
  return {
    number, id, title, level, verdicts, marks, kind, levels,
    clauses: cited,
    tags: named,
    types: types.map((type) => DATA.types[type]),
    chief: cited.length ? cited[0] : uncited(operator),
    operator,
    words: [id, title, ...cited.map((clause) => clause.id), ...named].join("\n").toLowerCase(),
  };
});

const CASES = inGroups(CASE_BY_NUMBER);
const CASE_BY_ID = new Map(CASES.map((one) => [one.id, one]));

function embedded(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

// The cases by operator, and the cases of each operator by their first clause.
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

// The cases with operators in the order of their first case, and clauses in the order of the specification.
function inGroups(cases) {
  return [...grouped(cases).values()].flatMap((clauses) =>
    [...clauses].sort(([a], [b]) => a.number - b.number).flatMap(([, members]) => members));
}

// The verdict of a case on a subject, or null if the subject did not run the case.
function verdictOf(one, subject) {
  const code = one.verdicts[subject];
  return code === NO_RESULT ? null : VERDICTS[code];
}

// The level of a result. It differs from the level of the case if only checks of a weaker level are violated,
// or if a profile raises the level.
function levelOf(one, subject) {
  const code = one.levels === undefined ? NO_RESULT : one.levels[subject];
  return code === NO_RESULT ? one.level : LEVELS[code];
}

// The CSS classes of a verdict.
function verdictClass(one, subject) {
  const verdict = verdictOf(one, subject);
  const mark = one.marks[subject];
  const relation = mark === KNOWN ? "known" : mark === UNEXPECTED ? "new" : levelOf(one, subject) === "silent" ? "silent" : "";
  return `verdict v-${verdict} ${relation}`.trim();
}

function isDefect(verdict) {
  return DATA.defects.includes(verdict);
}

function subjectByLabel(label) {
  return SUBJECTS.find((subject) => subject.label === label);
}

// Values that are packed by gzip. A page loads those that it shows before it is drawn; see `PACKED` in report.js.

const loaded = new Map();

async function load(id) {
  const packed = new Blob([decoded(document.getElementById(id).textContent)]).stream();
  loaded.set(id, await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).json());
}

function blockOf(one) {
  return `details-${Math.floor(one.number / DATA.block)}`;
}

function detailOf(one) {
  return { kind: one.kind, ...loaded.get(blockOf(one))[one.number % DATA.block] };
}

// The evidence of a case on a subject, or null if the subject did not run the case. Empty values are left out in the data.
function evidenceOf(detail, subject) {
  const result = detail.results[subject.number];
  return result && { signature: "", outputs: [], checks: [], hazards: [], ...result };
}
