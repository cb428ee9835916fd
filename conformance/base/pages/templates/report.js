// The keyboard shortcuts.

const KEYS = [
  ["/", "go to the search"],
  ["↑ ↓ ← →", "move among the cells of the matrix"],
  ["n, p", "next and previous case"],
  ["u", "from a case to the matrix"],
  ["?", "show these keys"],
  ["Esc", "close this"],
];

const help = el("dialog", { id: "help", "aria-labelledby": "help-title" },
  el("h2", { id: "help-title" }, "Keys"),
  el("dl", { class: "facts" }, KEYS.map(([key, does]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)))),
  el("form", { method: "dialog" }, el("button", { class: "chip" }, "Close")));
document.body.append(help);
document.getElementById("help-button").addEventListener("click", () => help.showModal());

// The router: it shows the view of the address.

const PAGES = { subject: showSubject, scores: showScores, clauses: showClauses, errors: showErrors, silent: showSilent, hazards: showHazards, compare: showCompare, unknown: showUnknown };
const overviewView = document.getElementById("overview");
const matrixView = document.getElementById("matrix");
const caseView = document.getElementById("case");
const pageView = document.getElementById("page");
const matrix = new Matrix(turn);
const toolbar = new Toolbar(change);
const empty = el("div", { class: "empty", hidden: true });
const ownTitle = document.title;
matrixView.append(el("h1", { class: "unseen" }, "Cases"), toolbar.node, matrix.box, empty);

let state = readAddress("");
let shown = CASES;
let scrolled = 0;
let left = null;
let searching = false;

matrix.box.addEventListener("scroll", () => {
  if (!matrixView.hidden) scrolled = matrix.box.scrollTop;
}, { passive: true });

function change(news) {
  scrolled = 0;
  matrix.box.scrollTop = 0;
  changeInPlace(news);
}

// Fold or unfold the cases of a clause.
function turn(clause) {
  const turned = new Set(state.turned);
  if (!turned.delete(clause.id)) turned.add(clause.id);
  changeInPlace({ turned });
}

function changeInPlace(news) {
  state = { ...state, ...news };
  try {
    // Replace the entry in the history, so that "back" leaves the matrix instead of undoing a typed letter.
    history.replaceState(null, "", writeAddress(state));
  } catch {
    // Browsers reject very frequent changes of the address; the view is refreshed nevertheless.
  }
  refresh();
}

function refresh() {
  shown = matching(state);
  toolbar.show(state, shown.length);
  matrix.show(state, shown);
  matrix.box.hidden = !shown.length && CASES.length > 0;
  empty.hidden = !matrix.box.hidden;
  empty.replaceChildren(...(empty.hidden ? [] : noMatch(state, change).flat(Infinity).filter(Boolean)));
}

// The packed values of each page that needs some.
const PACKED = {
  case: (state) => [CASE_BY_ID.get(state.case)].filter(Boolean).map(blockOf),
  silent: () => CASES.filter((one) => one.level === "silent").map(blockOf),
  hazards: () => embedded("hazards").map(([, , at]) => blockOf(CASE_BY_NUMBER[at])),
  compare: () => ["failure-texts"],
};

async function go() {
  const before = state;
  const address = location.hash;
  const next = readAddress(address);
  if (unknownIn(address).length) next.view = "unknown";
  const missing = new Set((PACKED[next.view]?.(next) ?? []).filter((id) => !loaded.has(id)));
  if (missing.size) await Promise.all([...missing].map(load));
  if (location.hash !== address) return;
  state = next;
  overviewView.hidden = state.view !== "overview";
  matrixView.hidden = state.view !== "matrix";
  caseView.hidden = state.view !== "case";
  pageView.hidden = !(state.view in PAGES);
  document.body.className = `at-${state.view}`;
  for (const link of document.querySelectorAll("[data-view]")) {
    const here = link.dataset.view === (state.view === "case" ? "matrix" : state.view);
    if (here) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  caseView.replaceChildren();
  pageView.replaceChildren();
  if (state.view === "case") openCase();
  else if (state.view === "matrix") openMatrix(before);
  else if (state.view in PAGES) fill(pageView, PAGES[state.view](state));
  else scrollTo(0, 0);
  document.title = titled();
}

document.getElementById("board")?.append(boardTable());

function titled() {
  if (state.view === "overview") return ownTitle;
  const place = state.view === "case" ? state.case : document.querySelector("main:not([hidden]) h1").textContent;
  return `${place} · ONNX conformance`;
}

// Show the nodes of a page from its top, with the focus on its heading.
function fill(view, nodes) {
  view.replaceChildren(...nodes.flat(Infinity).filter(Boolean));
  scrollTo(0, 0);
  view.querySelector("h1").focus({ preventScroll: true });
}

function openCase() {
  shown = matching(state);
  left = state.case;
  fill(caseView, showCase(state, shown));
  if (state.subject !== null) caseView.querySelector("details[open]")?.scrollIntoView({ block: "nearest" });
}

function openMatrix(before) {
  if (writeAddress({ ...before, view: "matrix" }) !== writeAddress(state)) scrolled = 0;
  refresh();
  matrix.box.scrollTop = scrolled;
  matrix.draw();
  if (searching) search();
  else if (before.view === "case" && left !== null) matrix.focus(left);
}

function search() {
  searching = false;
  toolbar.search.focus();
}

// The actions of keys outside of input fields.
const ACTIONS = {
  "/": () => {
    searching = true;
    if (state.view === "matrix") search();
    else location.hash = "#view=matrix";
  },
  "?": () => help.showModal(),
  n: () => caseView.querySelector("a[rel=next]")?.click(),
  p: () => caseView.querySelector("a[rel=prev]")?.click(),
  u: () => caseView.querySelector(".neighbours a")?.click(),
};

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open || event.target.closest("input, select, textarea")) return;
  if (!Object.hasOwn(ACTIONS, event.key)) return;
  event.preventDefault();
  ACTIONS[event.key]();
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  const target = document.querySelector("main:not([hidden]) :is(h1:not(.unseen), input)");
  if (target.matches("h1")) target.tabIndex = -1;
  target.focus();
});

window.addEventListener("hashchange", go);
go();
