// Cases that stand together: causes of failures, diagnoses, and what no diagnosis explains.

const GROUPS = DATA.groups.map(([kind, subject, verdict, text, cases], number) => ({ number, kind, verdict, text, cases, subject: SUBJECTS[subject] }));

function groupAddress(group) {
  return matrixAddress({ group: String(group.number) });
}

// What is known of why a subject fails, with the cases of each.
function whys(subject) {
  const own = GROUPS.filter((group) => group.subject === subject);
  if (!own.length) return nothing("The gate holds nothing against it.");
  return listing("Causes", ["Cases", "Why", "Smallest or first case"], own.map((group) => tr([
    group.cases.length ? el("a", { href: groupAddress(group) }, plural(group.cases.length, "case")) : "",
    [group.verdict && [verdictWord(group.verdict), " "], group.text, faultsIn(subject, group.cases).map((fault) => [" ", faultLink(fault)])],
    group.cases.length ? caseLink(group.cases[0], subject.label) : "",
  ])));
}
