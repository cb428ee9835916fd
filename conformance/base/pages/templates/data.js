// The data in the document. The index of all cases is parsed at once; the details of a case are parsed when its page opens.

const DATA = embedded("index");
const VERDICTS = Object.keys(DATA.verdicts);
const LEVELS = Object.keys(DATA.levels);
const NO_RESULT = ".";
const KNOWN = "k";
const UNEXPECTED = "u";
const NO_CLAUSE = "no clause";

const SUBJECTS = DATA.subjects.map(([label, version, command, kind, id, options, environment], number) => ({ label, version, command, kind, id, options, environment, number }));

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

// The details of a case, in which numbers refer to the pool of values; see report/html/data.py.

let pool = null;

function pooled(number) {
  pool ??= embedded("pool");
  return pool[number];
}

function detailOf(one) {
  const detail = embedded(`detail-${one.number}`);
  detail.kind = one.kind;
  detail.model = modelOf(detail.model);
  detail.data_sets = detail.data_sets.map((set) => ({
    ...set,
    inputs: set.inputs.map((number) => tensorOf(pooled(number))),
    outputs: set.outputs.map((number) => tensorOf(pooled(number))),
  }));
  detail.evidence = detail.evidence.map((evidence) => ({
    ...evidence,
    outputs: (evidence.outputs || []).map((row) => outputOf(row, detail)),
    signature: evidence.signature === undefined ? "" : pooled(evidence.signature),
    checks: evidence.checks === undefined ? [] : pooled(evidence.checks),
    hazards: evidence.hazards || [],
  }));
  return detail;
}

function modelOf(model) {
  const value = (number) => {
    const [name, type, shape] = pooled(number);
    return { name, type, shape };
  };
  const node = (number) => {
    const [op_type, domain, inputs, outputs, attributes] = pooled(number);
    return { op_type, domain, inputs, outputs, attributes };
  };
  return { ...model, inputs: model.inputs.map(value), outputs: model.outputs.map(value), nodes: model.nodes.map(node) };
}

function tensorOf([name, type, shape, elided, values, hex, check, bounds, accept]) {
  return { name, type, shape, elided, values: texts(values), hex: texts(hex, "0x"), check, bounds: texts(bounds), accept: accept ?? undefined };
}

function texts(packed, prefix = "") {
  return typeof packed === "string" ? packed.split(" ").map((text) => prefix + text) : packed ?? undefined;
}

// The evidence on an output is a row; name and check are those of the expected output. See report/html/data.py.
function outputOf([set, at, ulp, fraction, worst, more], detail) {
  const { name, check } = at === null ? {} : detail.data_sets[set].outputs[at];
  const known = (value) => value ?? undefined;
  const output = { data_set: set, name, check, max_ulp: known(ulp), error_over_bound: known(fraction), worst_index: known(worst), ...more };
  if (Array.isArray(output.actual)) output.actual = tensorOf(output.actual);
  return output;
}

// The evidence of a case on a subject, or null if the subject did not run the case.
function evidenceOf(detail, subject) {
  const result = detail.results[subject.number];
  return result && { ...detail.evidence[result[0]], seconds: result[1] };
}
