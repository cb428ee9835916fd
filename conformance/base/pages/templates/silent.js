// The page of silent cases: the behaviour of each subject where the specification leaves it open.

function showSilent() {
  const cases = CASES.filter((one) => one.level === "silent");
  return [
    el("h1", { tabindex: -1 }, "Silent behaviours"),
    el("p", {}, "The specification leaves the outputs of these cases open. They affect the outcome of a run only if a profile defines them."),
    cases.length ? cases.map(silentCase) : nothing("No case of this report is silent."),
  ];
}

function silentCase(one) {
  const detail = detailOf(one);
  return section(el("a", { href: caseAddress(NO_FILTER, one) }, one.title),
    one.clauses.map((clause) => el("p", { class: "muted" }, el("code", {}, clause.id), " ", clause.text, clause.source && [" ", el("small", {}, source(clause.source))])),
    listing(`Behaviour of the subjects: ${one.title}`, ["Behaviour", "Subjects"],
      [...behaviours(one, detail)].map(([, { text, subjects }]) => tr([text, subjects.map((subject, at) => [at > 0 && ", ", el("a", { href: caseAddress(NO_FILTER, one, subject.label) }, subject.label)])]))));
}

// The subjects by their outputs, or by verdict and failure text if they have no outputs.
function behaviours(one, detail) {
  const found = new Map();
  for (const subject of SUBJECTS) {
    const evidence = evidenceOf(detail, subject);
    if (!evidence) continue;
    const verdict = verdictOf(one, subject.number);
    const answers = evidence.outputs.map((output) => answerOf(output, detail));
    const key = JSON.stringify(answers.length ? answers : [verdict, evidence.phase, evidence.signature]);
    if (!found.has(key)) found.set(key, { text: behaviour(verdict, evidence, answers), subjects: [] });
    found.get(key).subjects.push(subject);
  }
  return found;
}

// The output of a subject; for an accepted output without a preview, the expected output.
function answerOf(output, detail) {
  const wanted = detail.data_sets[output.data_set]?.outputs.find((one) => one.name === output.name);
  const isDifferent = output.actual !== undefined && !isSame(output.actual, wanted);
  const shown = isDifferent ? output.actual : output.violation ? null : wanted;
  return { set: output.data_set, name: output.name ?? "", type: shown ? typeOf(shown) : "", values: shown ? shown.values : [output.violation ?? ""], elided: shown ? shown.elided : 0 };
}

function behaviour(verdict, evidence, answers) {
  if (!answers.length) return [verdictWord(verdict), " ", el("code", {}, evidence.signature)];
  const several = answers.some((answer) => answer.set > 0);
  return answers.map((answer) => el("div", { class: "values" },
    `${answer.name}${several ? `, data set ${answer.set}` : ""} `, el("small", {}, answer.type), " = ", listed(answer.values), answer.elided ? ` … ${answer.elided} more` : ""));
}
