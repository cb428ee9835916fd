// What an address names that this report does not have, said rather than passed over.

const PLAIN = new Set(["view", "case", "q", ...PLACES, "of", "group", ...CHOICES, ...TOGGLES, ...SIGHT, "folded"]);

// The values that a name can have, where they are known beforehand; cases and the subjects of pages are told by those pages.
function valuesOf(name) {
  const labels = SUBJECTS.map((subject) => subject.label);
  const clauses = CLAUSES.map((clause) => clause.id);
  return {
    view: VIEWS, level: LEVELS, verdict: VERDICTS, type: DATA.types, tag: DATA.tags, kind: CASES.map((one) => one.kind),
    clause: clauses, turned: clauses.concat(NO_CLAUSE), of: labels, column: labels, group: GROUPS.map((_, number) => String(number)),
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
    el("p", {}, "This report does not have what the address names. It may be of another report, or of an older one."),
    el("ul", {}, unknown.map(([name, value]) => el("li", {}, el("code", {}, value ? `${name}=${value}` : name)))),
    el("p", {}, el("a", { href: `#${words}` }, "Show the rest of it"), " or ", el("a", { href: "#" }, "the overview"), "."),
  ];
}
