// What is shown is what the address says after its "#", so that any view can be sent to a colleague.

const CHOICES = ["level", "verdict", "type", "kind", "clause", "tag"];
const TOGGLES = ["differences", "unexpected", "given"];
const PLACES = ["subject", "a", "b"];
// What of the matrix is in sight, and no filter: its columns, whether clauses are folded, and those that are otherwise.
const SIGHT = ["column", "turned"];
const VIEWS = ["overview", "matrix", "case", "subject", "scores", "clauses", "errors", "silent", "hazards", "compare"];
const NO_FILTER = readAddress("#view=matrix");

function readAddress(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { case: words.get("case"), q: words.get("q") || "", of: words.get("of"), group: words.get("group"), folded: words.get("folded") === "1" };
  for (const name of PLACES) state[name] = words.get(name);
  for (const name of [...CHOICES, ...SIGHT]) state[name] = new Set(words.getAll(name));
  for (const name of TOGGLES) state[name] = words.get(name) === "1";
  const filtered = isFiltered(state) ? "matrix" : "overview";
  state.view = state.case !== null ? "case" : VIEWS.includes(words.get("view")) ? words.get("view") : filtered;
  return state;
}

function writeAddress(state) {
  const words = new URLSearchParams();
  if (state.view === "case") words.set("case", state.case);
  else if (state.view !== "overview") words.set("view", state.view);
  if (state.view !== "matrix") for (const name of PLACES) if (state[name]) words.set(name, state[name]);
  if (state.q) words.set("q", state.q);
  for (const name of [...CHOICES, ...SIGHT]) for (const value of state[name]) words.append(name, value);
  if (state.of) words.set("of", state.of);
  if (state.group !== null) words.set("group", state.group);
  if (state.folded) words.set("folded", "1");
  for (const name of TOGGLES) if (state[name]) words.set(name, "1");
  return `#${words}`;
}

function isFiltered(state) {
  return Boolean(state.q || state.of || state.group !== null || CHOICES.some((name) => state[name].size) || TOGGLES.some((name) => state[name]));
}

function caseAddress(state, one, subject = null) {
  return writeAddress({ ...state, view: "case", case: one.id, subject, a: null, b: null });
}

// The matrix narrowed to what is given, and to nothing else.
function matrixAddress(filters) {
  return writeAddress({ ...NO_FILTER, ...filters });
}

// The subjects that the matrix has columns for: those that are chosen, or all.
function columnsOf(state) {
  return state.column.size ? SUBJECTS.filter((subject) => state.column.has(subject.label)) : SUBJECTS;
}

function isFolded(state, clause) {
  return state.folded !== state.turned.has(clause.id);
}

function subjectAddress(subject) {
  return writeAddress({ ...NO_FILTER, view: "subject", subject: subject.label });
}
