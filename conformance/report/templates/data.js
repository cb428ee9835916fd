// The data that the document carries: the index of all cases, and each case's detail, parsed when it is asked for.

const DATA = JSON.parse(document.getElementById("index").textContent);
const VERDICTS = Object.keys(DATA.verdicts);
const LEVELS = Object.keys(DATA.levels);
const NO_RESULT = ".";
const KNOWN = "k";
const UNEXPECTED = "u";

const SUBJECTS = DATA.subjects.map(([label, version, command], number) => ({ label, version, command, number }));

const CLAUSES = DATA.clauses.map(([id, text, source]) => ({ id, text, source }));

const CASES = inGroups(DATA.cases.map(([id, title, level, clauses, tags, verdicts, marks], number) => {
  const cited = clauses.map((clause) => CLAUSES[clause]);
  const named = tags.map((tag) => DATA.tags[tag]);
  return {
    number, id, title, level, verdicts, marks,
    clauses: cited,
    tags: named,
    operator: cited.length ? cited[0].id.split(".")[0] : "no clause",
    words: [id, title, ...cited.map((clause) => clause.id), ...named].join("\n").toLowerCase(),
  };
}));

const CASE_BY_ID = new Map(CASES.map((one) => [one.id, one]));

// The cases by operator, in the order in which operators first occur.
function grouped(cases) {
  const groups = new Map();
  for (const one of cases) {
    if (!groups.has(one.operator)) groups.set(one.operator, []);
    groups.get(one.operator).push(one);
  }
  return groups;
}

function inGroups(cases) {
  return [...grouped(cases).values()].flat();
}

// The verdict of a case on a subject, or null where that subject was not given the case.
function verdictOf(one, subject) {
  const code = one.verdicts[subject];
  return code === NO_RESULT ? null : VERDICTS[code];
}

// The classes that a verdict is drawn with.
function looks(one, subject) {
  const verdict = verdictOf(one, subject);
  const mark = one.marks[subject];
  const standing = mark === KNOWN ? "known" : mark === UNEXPECTED ? "new" : one.level === "silent" ? "silent" : "";
  return `verdict v-${verdict} ${standing}`.trim();
}

function detailOf(one) {
  const detail = JSON.parse(document.getElementById(`detail-${one.number}`).textContent);
  for (const evidence of detail.evidence) evidence.outputs = (evidence.outputs || []).map((told) => unpacked(told, detail));
  return detail;
}

// The evidence on an output stands in a row, its name and check with the expected output; see html_evidence.py.
function unpacked([set, at, ulp, fraction, worst, more], detail) {
  const { name, check } = at === null ? {} : detail.data_sets[set].outputs[at];
  const known = (value) => value ?? undefined;
  return { data_set: set, name, check, max_ulp: known(ulp), error_over_bound: known(fraction), worst_index: known(worst), ...more };
}
