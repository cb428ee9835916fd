// What the page shows follows from its address, and from nothing else.

const overviewView = document.getElementById("overview");
const matrixView = document.getElementById("matrix");
const caseView = document.getElementById("case");
const matrix = new Matrix();
const toolbar = new Toolbar(change);
matrixView.append(el("h1", { class: "unseen" }, "Cases"), toolbar.node, matrix.box);

let state = readAddress("");
let shown = CASES;
let scrolled = 0;
let left = null;

matrix.box.addEventListener("scroll", () => {
  if (!matrixView.hidden) scrolled = matrix.box.scrollTop;
}, { passive: true });

function change(news) {
  state = { ...state, ...news };
  try {
    // Not a step in the history: going back leaves the matrix, it does not untype a search.
    history.replaceState(null, "", writeAddress(state));
  } catch {
    // Browsers refuse to change the address very often; what is shown matters more.
  }
  scrolled = 0;
  matrix.box.scrollTop = 0;
  refresh();
}

function refresh() {
  shown = matching(state);
  toolbar.show(state, shown.length);
  matrix.show(state, shown);
}

function go() {
  const before = state;
  state = readAddress(location.hash);
  overviewView.hidden = state.view !== "overview";
  matrixView.hidden = state.view !== "matrix";
  caseView.hidden = state.view !== "case";
  document.body.className = `at-${state.view}`;
  for (const link of document.querySelectorAll("[data-view]")) {
    const here = link.dataset.view === (state.view === "case" ? "matrix" : state.view);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (state.view === "case") openCase();
  else caseView.replaceChildren();
  if (state.view === "matrix") openMatrix(before);
  if (state.view === "overview") scrollTo(0, 0);
}

function openCase() {
  shown = matching(state);
  left = state.case;
  caseView.replaceChildren(...showCase(state, shown).flat(Infinity).filter(Boolean));
  scrollTo(0, 0);
  caseView.querySelector("h1").focus({ preventScroll: true });
  if (state.subject !== null) caseView.querySelector("details[open]")?.scrollIntoView({ block: "nearest" });
}

function openMatrix(before) {
  if (writeAddress({ ...before, view: "matrix" }) !== writeAddress(state)) scrolled = 0;
  refresh();
  matrix.box.scrollTop = scrolled;
  matrix.draw();
  if (before.view === "case" && left !== null) matrix.focus(left);
}

window.addEventListener("hashchange", go);
window.addEventListener("keydown", (event) => {
  if (event.key !== "/" || state.view !== "matrix" || event.target === toolbar.search || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  toolbar.search.focus();
});
go();
