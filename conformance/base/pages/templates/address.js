// The part of the address after "#" determines the view, so that a link can show any view to a colleague.

const CHOICES = ["level", "verdict", "type", "kind", "clause", "tag"];
const TOGGLES = ["differences", "unexpected", "given"];
const PLACES = ["subject", "a", "b"];
// Parts of the matrix that are visible: the columns, and the clauses whose folding differs from the others. They are not filters.
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

// The address of the matrix with these filters and no others.
function matrixAddress(filters) {
  return writeAddress({ ...NO_FILTER, ...filters });
}

// The columns of the matrix: the chosen subjects, or all subjects.
function columnsOf(state) {
  return state.column.size ? SUBJECTS.filter((subject) => state.column.has(subject.label)) : SUBJECTS;
}

function isFolded(state, clause) {
  return state.folded !== state.turned.has(clause.id);
}

function subjectAddress(subject) {
  return writeAddress({ ...NO_FILTER, view: "subject", subject: subject.label });
}

// An address may name a case, a subject or a filter that this report does not have. The report lists these names.

const PLAIN = new Set(["view", "case", "q", ...PLACES, "of", "group", ...CHOICES, ...TOGGLES, ...SIGHT, "folded"]);

// The valid values of a name in the address, if there is a list of them. The pages of cases and subjects report unknown ids themselves.
function valuesOf(name) {
  const labels = SUBJECTS.map((subject) => subject.label);
  const clauses = CLAUSES.map((clause) => clause.id);
  return {
    view: VIEWS, level: LEVELS, verdict: VERDICTS, type: DATA.types, tag: DATA.tags, kind: CASES.map((one) => one.kind),
    clause: clauses, turned: clauses.concat([...UNCITED.keys()]), of: labels, column: labels, group: GROUPS.map((_, number) => String(number)),
  }[name];
}

function unknownIn(hash) {
  return [...new URLSearchParams(hash.replace(/^#/, ""))].filter(([name, value]) =>
    !PLAIN.has(name) || (valuesOf(name) && !valuesOf(name).includes(value)));
}

function showUnknown() {
  const unknown = unknownIn(location.hash);
  const words = new URLSearchParams(location.hash.replace(/^#/, ""));
  for (const [name, value] of unknown) words.delete(name, value);
  return [
    el("h1", { tabindex: -1 }, "No such address"),
    el("p", {}, "This report does not have the following parts of the address. The address may belong to another report."),
    el("ul", {}, unknown.map(([name, value]) => el("li", {}, el("code", {}, value ? `${name}=${value}` : name)))),
    el("p", {}, el("a", { href: `#${words}` }, "Show the view without them"), " or ", el("a", { href: "#" }, "the overview"), "."),
  ];
}
