// What is shown is what the address says after its "#", so that any view can be sent to a colleague.

const CHOICES = ["level", "verdict", "tag"];
const TOGGLES = ["differences", "unexpected"];
const VIEWS = ["overview", "matrix", "case"];

function readAddress(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { case: words.get("case"), subject: words.get("subject"), q: words.get("q") || "", of: words.get("of") };
  for (const name of CHOICES) state[name] = new Set(words.getAll(name));
  for (const name of TOGGLES) state[name] = words.get(name) === "1";
  const filtered = isFiltered(state) ? "matrix" : "overview";
  state.view = state.case !== null ? "case" : VIEWS.includes(words.get("view")) ? words.get("view") : filtered;
  return state;
}

function writeAddress(state) {
  const words = new URLSearchParams();
  if (state.view === "case") {
    words.set("case", state.case);
    if (state.subject) words.set("subject", state.subject);
  } else if (state.view === "matrix") words.set("view", "matrix");
  if (state.q) words.set("q", state.q);
  for (const name of CHOICES) for (const value of state[name]) words.append(name, value);
  if (state.of) words.set("of", state.of);
  for (const name of TOGGLES) if (state[name]) words.set(name, "1");
  return `#${words}`;
}

function isFiltered(state) {
  return Boolean(state.q || state.of || CHOICES.some((name) => state[name].size) || TOGGLES.some((name) => state[name]));
}

function caseAddress(state, one, subject = null) {
  return writeAddress({ ...state, view: "case", case: one.id, subject });
}
