// The page of a subject: its failures, expectations, largest errors and slowest cases.

function showSubject(state) {
  const subject = state.subject === null ? SUBJECTS[0] : subjectByLabel(state.subject);
  if (!subject) return [el("h1", { tabindex: -1 }, "No such subject"), el("p", {}, "This report has no subject ", el("code", {}, state.subject ?? ""), "."), tabs(null)];
  const page = embedded(`subject-${subject.number}`);
  return [
    tabs(subject),
    el("h1", { tabindex: -1 }, subject.label, " ", el("small", {}, subject.version)),
    el("p", {}, el("a", { href: matrixAddress({ of: subject.label, given: true }) }, "Show its cases")),
    section(CAUSES, groupsOf(subject, CAUSES, (group) => group.kind === "cause", "It has no unexpected result.")),
    section(DIAGNOSIS, groupsOf(subject, DIAGNOSIS, (group) => group.kind !== "cause", "There is nothing beyond the causes.")),
    section(OTHER_RESULTS, otherResults(page.signatures, subject)),
    section("Expectations", expectations(page.expectations, subject)),
    section("Accuracy: errors of outputs", distributions(page.errors)),
    section("Accepted outputs nearest to their bound", margins(page.margins, subject)),
    section("Slowest cases", slowest(page.slowest, subject)),
    section("Facts", facts(page.facts)),
  ];
}

function tabs(subject) {
  return el("nav", { class: "tabs", "aria-label": "Subjects" }, SUBJECTS.map((one) =>
    el("a", { class: "chip", href: subjectAddress(one), "aria-current": one === subject ? "page" : null }, one.label)));
}

const RUN_AGAIN = "Run it again";

function facts(rows) {
  return el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, name === RUN_AGAIN ? command(value) : value))));
}

const OTHER_RESULTS = "Results that are neither pass nor unexpected";

function otherResults(rows, subject) {
  if (!rows.length) return nothing("There are none.");
  return listing(OTHER_RESULTS, ["Verdict", "Phase", "Text without numbers", "Cases"],
    rows.map(([verdict, phase, text, cases]) => tr([
      verdictWord(verdict), phase ?? "", el("code", {}, text), caseList(cases, subject.label),
    ])));
}

function expectations(rows, subject) {
  if (!rows.length) return nothing("No expectation applies to a case of this run.");
  return listing("Expectations", ["Expected", "Reason", "Issue", "Location", "As expected", "Other verdict"],
    rows.map(([verdict, reason, issue, place, met, unmet]) => tr([
      verdictWord(verdict), reason, issue ? source(issue) : "", place ?? "", caseList(met, subject.label), caseList(unmet, subject.label),
    ])));
}

function distributions(rows) {
  if (!rows.length) return nothing("No output was compared with a bound.");
  return [
    el("p", { class: "note" }, "First bar: no error. Next bars: tenths of the bound. After the dashed line: errors above the bound, and NaN."),
    el("div", { class: "side-by-side" }, rows.map(([output, type, counts]) => el("figure", { class: "strip" }, el("figcaption", {}, el("code", {}, output), ` ${type}`), histogram(counts)))),
  ];
}

function margins(rows, subject) {
  if (!rows.length) return nothing("No accepted output has an error.");
  return listing("Accepted outputs nearest to their bound", ["Error as a fraction of the bound", "Max ULP", "Output", "Data set", "Case"],
    rows.map(([at, set, output, fraction, ulp]) => tr([
      [gauge(fraction), number(fraction)], ulp === null ? "" : number(ulp), el("code", {}, output), set, caseLink(at, subject.label),
    ])));
}

function slowest(rows, subject) {
  if (!rows.length) return nothing("No case took any time.");
  return listing("Slowest cases", ["Milliseconds", "Case"], rows.map(([at, seconds]) => tr([number(seconds * 1000), caseLink(at, subject.label)])));
}
