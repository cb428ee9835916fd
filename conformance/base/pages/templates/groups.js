// Groups of failing cases: causes, diagnoses, cases without a diagnosis, and known faults.

const GROUPS = DATA.groups.map(([kind, subject, verdict, text, cases], number) => ({ number, kind, verdict, text, cases, subject: SUBJECTS[subject] }));

const CAUSES = "Causes of failures";
const DIAGNOSIS = "Diagnosis";

function groupAddress(group) {
  return matrixAddress({ group: String(group.number) });
}

// The causes of the failures of a subject with their cases, or its diagnoses, which can have the same cases.
function groupsOf(subject, heading, isShown, without) {
  const own = GROUPS.filter((group) => group.subject === subject && isShown(group));
  if (!own.length) return nothing(without);
  return listing(heading, ["Cases", heading === CAUSES ? "Cause" : "Text", "Smallest or first case"], own.map((group) => tr([
    group.cases.length ? el("a", { href: groupAddress(group) }, plural(group.cases.length, "case")) : "",
    [group.verdict && [verdictWord(group.verdict), " "], group.text, faultsIn(subject, group.cases).map((fault) => [" ", faultLink(fault, group.cases)])],
    group.cases.length ? caseLink(group.cases[0], subject.label) : "",
  ])));
}

// Known faults of the subjects, as the findings list them.

const FAULTS = DATA.known.map(([subject, runtime, title, points, upstream, place, cases]) => ({ subject: SUBJECTS[subject], runtime, title, points, upstream, place, cases }));

// The faults of a subject that are known in one of these cases; `cases` are numbers in the index.
function faultsIn(subject, cases) {
  return FAULTS.filter((fault) => fault.subject === subject && fault.cases.some((number) => cases.includes(number)));
}

// The title of a fault as a link to its first case.
// If not all of the cases show the fault, their number is added.
function faultLink(fault, cases) {
  const shown = cases.filter((number) => fault.cases.includes(number)).length;
  const address = caseAddress(NO_FILTER, CASE_BY_NUMBER[fault.cases[0]], fault.subject.label);
  return el("small", { class: "known" }, `known fault of ${fault.runtime}: `, el("a", { href: address }, fault.title), shown < cases.length && ` (${shown} of ${plural(cases.length, "case")})`);
}

function knownFaults(one, subject) {
  return faultsIn(subject, [one.number]).map((fault) => el("details", { class: "fault", open: true },
    el("summary", {}, `Known fault of ${fault.runtime}: `, el("b", {}, fault.title)),
    el("ul", {},
      fault.points.map((point) => el("li", {}, inCode(point))),
      fault.upstream && el("li", {}, "Upstream: ", source(fault.upstream))),
    el("p", { class: "muted" }, "Described in ", el("code", {}, fault.place), ".")));
}

// A text with code between backquotes.
function inCode(text) {
  return text.split("`").map((part, at) => at % 2 ? el("code", {}, part) : part);
}
