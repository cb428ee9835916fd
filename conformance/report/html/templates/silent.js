// What the specification leaves open, and who does what there.

function showSilent() {
  const cases = CASES.filter((one) => one.level === "silent");
  return [
    el("h1", { tabindex: -1 }, "Silent behaviours"),
    el("p", {}, "The specification leaves these answers open. What a subject does is recorded and compared, and held against it only where a profile of the run decides."),
    cases.length ? cases.map(silentCase) : nothing("No case of this report is silent."),
  ];
}

function silentCase(one) {
  const detail = detailOf(one);
  return section(el("a", { href: caseAddress(NO_FILTER, one) }, one.title),
    one.clauses.map((clause) => el("p", { class: "muted" }, el("code", {}, clause.id), " ", clause.text, clause.source && [" ", el("small", {}, source(clause.source))])),
    listing(`What each subject does: ${one.title}`, ["What it does", "Subjects"],
      [...behaviours(one, detail)].map(([, { told, subjects }]) => tr([told, subjects.map((subject, at) => [at > 0 && ", ", el("a", { href: caseAddress(NO_FILTER, one, subject.label) }, subject.label)])]))));
}

// The subjects by what they do: what they answer, or that and how they do not.
function behaviours(one, detail) {
  const found = new Map();
  for (const subject of SUBJECTS) {
    const evidence = evidenceOf(detail, subject);
    if (!evidence) continue;
    const verdict = verdictOf(one, subject.number);
    const answers = evidence.outputs.map((output) => answerOf(output, detail));
    const key = JSON.stringify(answers.length ? answers : [verdict, evidence.phase, evidence.signature]);
    if (!found.has(key)) found.set(key, { told: behaviour(verdict, evidence, answers), subjects: [] });
    found.get(key).subjects.push(subject);
  }
  return found;
}

// An accepted output is the expected one as far as it is shown.
function answerOf(output, detail) {
  const wanted = detail.data_sets[output.data_set]?.outputs.find((one) => one.name === output.name);
  const shown = typeof output.actual === "object" ? output.actual : output.complaint === undefined ? wanted : null;
  return { set: output.data_set, name: output.name ?? "", type: shown ? typeOf(shown) : "", values: shown ? shown.values : [output.complaint ?? ""], elided: shown ? shown.elided : 0 };
}

function behaviour(verdict, evidence, answers) {
  if (!answers.length) return [verdictWord(verdict), " ", el("code", {}, evidence.signature)];
  const several = answers.some((answer) => answer.set > 0);
  return answers.map((answer) => el("div", { class: "values" },
    `${answer.name}${several ? `, data set ${answer.set}` : ""} `, el("small", {}, answer.type), " = ", listed(answer.values), answer.elided ? ` … ${answer.elided} more` : ""));
}
