// Faults that are written up: what is known of a subject in a case that goes wrong there.

const FAULTS = DATA.known.map(([subject, runtime, title, points, upstream, place, cases]) => ({ subject: SUBJECTS[subject], runtime, title, points, upstream, place, cases }));

// Those of a subject that are known in one of these cases, given by their numbers.
function faultsIn(subject, cases) {
  return FAULTS.filter((fault) => fault.subject === subject && fault.cases.some((number) => cases.includes(number)));
}

// Its title, which leads to where it is told.
function faultLink(fault) {
  const address = caseAddress(NO_FILTER, CASE_BY_NUMBER[fault.cases[0]], fault.subject.label);
  return el("small", { class: "known" }, `known of ${fault.runtime}: `, el("a", { href: address }, fault.title));
}

function knownFaults(one, subject) {
  return faultsIn(subject, [one.number]).map((fault) => el("details", { class: "fault", open: true },
    el("summary", {}, `Known of ${fault.runtime}: `, el("b", {}, fault.title)),
    el("ul", {},
      fault.points.map((point) => el("li", {}, inCode(point))),
      fault.upstream && el("li", {}, "Upstream: ", source(fault.upstream))),
    el("p", { class: "muted" }, "Written up in ", el("code", {}, fault.place), ".")));
}

// A text in which what stands between backquotes is code.
function inCode(text) {
  return text.split("`").map((part, at) => at % 2 ? el("code", {}, part) : part);
}
