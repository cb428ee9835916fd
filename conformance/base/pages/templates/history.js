// The tables of a history, the search and the keyboard.

const DATA = JSON.parse(document.getElementById("data").textContent);
const input = document.getElementById("search");
const COLUMN = 17;

function mark(symbol, title) {
  const verdict = DATA.verdicts[symbol];
  return el("i", { class: verdict ? `m-${verdict}` : "", title }, symbol === "." ? "\u00b7" : symbol);
}

document.getElementById("legend").append(...Object.entries(DATA.verdicts).filter(([, verdict]) => verdict)
  .map(([symbol, verdict]) => el("span", {}, mark(symbol, verdict), verdict)));

// A word of a shell command: in quotes unless no character of it has a meaning in the shell.
function quotedWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function commandsOf(subject, row) {
  const at = subject.releases.indexOf(row.since);
  if (at < 0) return [];
  const name = quotedWord(subject.commands[at]);
  return [`onnx-conformance env create ${name}`, `onnx-conformance run ${subject.option} ${name} --case ${quotedWord(row.cases[0])}`];
}

function detailsOf(subject, row) {
  const at = subject.releases.indexOf(row.since);
  const changes = at >= 0 ? subject.changes[at] : [];
  return [
    el("p", {}, row.name, row.known && el("small", {}, ` known fault, ${row.known}`)),
    at >= 0 && el("pre", {}, commandsOf(subject, row).join("\n")),
    row.good && changes.length > 0 && el("p", {}, `Other packages since ${row.good}: ${changes.join(", ")}.`),
    row.varies > 0 && el("p", {}, `The verdict varied between repetitions in ${plural(row.varies, "release")}.`),
    el("ul", {}, row.cases.map((id) => el("li", {}, el("code", {}, id)))),
  ];
}

function rowOf(subject, row) {
  const opener = el("button", { type: "button", "aria-expanded": "false" }, row.known ? el("b", {}, row.name) : row.name);
  const line = el("tr", { class: "row" },
    el("td", { class: "releases" }, el("div", {}, [...row.verdicts].map((symbol, at) => mark(symbol, `${subject.releases[at]}: ${DATA.verdicts[symbol] || "no result"}`)))),
    el("td", { class: "count" }, plural(row.cases.length, "case"), el("br"), el("small", {}, row.level)),
    el("td", { class: "span" }, row.span.map((text) => el("div", {}, text))),
    el("td", { class: "what" }, opener, row.varies > 0 && el("small", {}, " (varies)")));
  const details = el("tr", { class: "details", hidden: true }, el("td", { colspan: 4 }));
  const open = (isOpen) => {
    details.hidden = !isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen && !details.firstChild.childNodes.length) details.firstChild.append(...detailsOf(subject, row).flat(Infinity).filter(Boolean));
  };
  // A click on the button is also a click on the row.
  line.addEventListener("click", () => open(details.hidden));
  const text = [subject.name, row.course, row.name, row.known, ...row.span, ...row.cases].join("\n").toLowerCase();
  return { line, open, details, text, course: row.course };
}

const shown = DATA.subjects.map((subject) => {
  const rows = subject.rows.map((row) => rowOf(subject, row));
  const heads = new Map(DATA.courses.map(([course, meaning]) => [course,
    el("tr", { class: "course" }, el("th", { colspan: 4, scope: "rowgroup" }, sentence(course), el("small", {}, meaning)))]));
  const body = el("tbody", {}, DATA.courses.map(([course]) => {
    const own = rows.filter((row) => row.course === course);
    return own.length ? [heads.get(course), own.map(({ line, details }) => [line, details])] : [];
  }));
  const width = Math.max(subject.releases.length * COLUMN, 60);
  const node = el("section", { id: subject.name },
    el("h2", {}, subject.name, el("small", {}, ` ${plural(subject.releases.length, "release")}; ${plural(subject.unfailing, "case")} without a failure`)),
    el("table", { class: "timeline" },
      el("colgroup", {}, el("col", { width }), el("col", { width: 80 }), el("col", { width: 170 }), el("col")),
      el("thead", {}, el("tr", {},
        el("th", { class: "releases", scope: "col" }, el("div", {}, subject.releases.map((release) => el("span", { title: release }, release)))),
        el("th", { class: "count", scope: "col" }, "Cases"), el("th", { scope: "col" }, "Releases"), el("th", { scope: "col" }, "Cause or known fault"))),
      body),
    subject.unavailable.length > 0 && el("details", {}, el("summary", {}, `${plural(subject.unavailable.length, "release")} without results`),
      el("ul", {}, subject.unavailable.map(([release, reason]) => el("li", {}, el("b", {}, release), `: ${reason}`)))));
  return { node, rows, heads };
});

document.getElementById("tables").append(...shown.map(({ node }) => node));
document.getElementById("subjects").append(...DATA.subjects.map((subject) => el("a", { href: `#${encodeURIComponent(subject.name)}` }, subject.name)));

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const { node, rows, heads } of shown) {
    const courses = new Set();
    for (const row of rows) {
      const fits = words.every((word) => row.text.includes(word));
      row.line.hidden = !fits;
      if (!fits) row.open(false);
      if (fits) courses.add(row.course);
      count += fits;
    }
    for (const [course, head] of heads) head.hidden = !courses.has(course);
    node.hidden = words.length > 0 && !courses.size;
  }
  document.getElementById("found").textContent = words.length ? plural(count, "row") : "";
  try {
    history.replaceState(null, "", words.length ? `#q=${encodeURIComponent(input.value)}` : location.pathname);
  } catch {
    // Browsers reject very frequent changes of the address.
  }
}

function readHash() {
  const words = new URLSearchParams(location.hash.replace(/^#/, ""));
  if (words.has("q")) {
    input.value = words.get("q");
    search();
  }
}

const KEYS = [["/", "go to the search"], ["\u2191 \u2193", "move among the rows"], ["Enter", "open or close a row"], ["?", "show these keys"], ["Esc", "close this"]];
const help = el("dialog", { id: "help", "aria-labelledby": "help-title" },
  el("h2", { id: "help-title" }, "Keys"),
  el("dl", { class: "facts" }, KEYS.map(([key, does]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)))),
  el("form", { method: "dialog" }, el("button", { class: "chip" }, "Close")));
document.body.append(help);
document.getElementById("help-button").addEventListener("click", () => help.showModal());

function step(by) {
  const openers = [...document.querySelectorAll("tr.row button")].filter((button) => button.checkVisibility());
  const at = openers.indexOf(document.activeElement);
  const next = openers[at < 0 ? 0 : Math.min(openers.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const ACTIONS = { "/": () => input.focus(), "?": () => help.showModal(), ArrowDown: () => step(1), ArrowUp: () => step(-1) };

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.target === input && event.key === "Escape") input.blur();
  if (event.target.closest?.("input") && event.key !== "ArrowDown") return;
  if (!Object.hasOwn(ACTIONS, event.key)) return;
  event.preventDefault();
  ACTIONS[event.key]();
});

input.addEventListener("input", search);
window.addEventListener("hashchange", readHash);
readHash();
