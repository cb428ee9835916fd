// What each subject made of a case: its verdict, and the evidence for it.

// Of more outputs than this the first bad elements are shown closed.
const FEW = 2;

function subjectEvidence(one, detail, subject, open) {
  const evidence = evidenceOf(detail, subject);
  const verdict = verdictOf(one, subject.number);
  if (!evidence) {
    return el("p", { class: "subject-line" }, el("span", { class: "verdict none" }, "–"), el("b", {}, subject.label), el("small", {}, "no result"));
  }
  const mark = one.marks[subject.number];
  return el("details", { class: `evidence v-${verdict}`, open, "data-subject": subject.label },
    el("summary", {},
      el("span", { class: looks(one, subject.number) }, glyph(verdict), verdict),
      el("b", {}, subject.label), el("small", {}, subject.version),
      el("span", { class: "worst" }, worst(evidence.outputs)),
      evidence.level && el("small", { class: "remark" }, `at level ${evidence.level}`),
      mark === UNEXPECTED && el("small", { class: "remark" }, "unexpected"), mark === KNOWN && el("small", { class: "remark" }, "known")),
    el("div", { class: "proof" }, body(one, detail, evidence, subject, verdict)));
}

// The largest errors of a result in a few words, for those who only want to know how close it was.
function worst(outputs) {
  const largest = (name) => {
    const values = outputs.map((output) => output[name]).filter((value) => value !== undefined);
    return values.length ? values.reduce((most, value) => (Number(value) > Number(most) || isNaN(value) ? value : most)) : null;
  };
  const ulp = largest("max_ulp");
  const fraction = largest("error_over_bound");
  return [ulp !== null && `max ${number(ulp)} ULP`, fraction !== null && fractionOf(fraction)].filter(Boolean).join(", ");
}

function fractionOf(fraction) {
  return Number(fraction) <= 1 ? `${number(fraction)} of the bound` : `${number(fraction)} times the bound`;
}

// What a verdict says of a model that must be rejected; the other verdicts mean what they always do.
const OF_INVALID = { pass: "rejected the model", fail: "computed something from a model that is invalid" };

// The same of a graph optimizer, which rewrites a model and runs none.
const OF_OPTIMIZER = { pass: "rewrote the model as it must, or rightly left it alone", fail: "did with the model what it must not" };

function meaningOf(verdict, detail, subject) {
  const special = subject.kind === "optimizer" ? OF_OPTIMIZER : isInvalid(detail) ? OF_INVALID : {};
  return sentence(special[verdict] || DATA.verdicts[verdict]);
}

function isInvalid(detail) {
  return detail.kind === "invalid";
}

function body(one, detail, evidence, subject, verdict) {
  return [
    el("p", {}, meaningOf(verdict, detail, subject),
      evidence.phase ? `; phase: ${evidence.phase}` : "", `; ${number(evidence.seconds * 1000)} ms.`),
    evidence.repeats && repeats(evidence.repeats),
    evidence.baseline && evidence.baseline !== verdict && el("p", {}, "In the run that is the baseline: ", verdictWord(evidence.baseline)),
    evidence.expected && expectation(evidence.expected),
    isDefect(verdict) && knownFaults(one, subject),
    evidence.message && el("pre", { class: "message", tabindex: 0 }, evidence.message),
    evidence.deviations && deviations(evidence.deviations),
    evidence.checks.length > 0 && rewriteChecks(evidence.checks),
    evidence.hazards.length > 0 && hazardChanges(evidence.hazards),
    badElements(evidence.outputs.filter((output) => output.first_bad)),
    evidence.outputs.length > 0 && outputsTable(evidence.outputs),
    evidence.quality && quality(evidence.quality),
    evidence.outputs.map((output) => besideExpected(detail, output, output === evidence.outputs.find((one) => one.first_bad))),
    evidence.stderr && el("details", { open: verdict === "crash" || verdict === "timeout" }, el("summary", {}, "What it wrote to stderr"),
      el("pre", { class: "message stderr", tabindex: 0 }, evidence.stderr)),
    rerun(one, detail, subject),
  ];
}

// Wrong implementations by what they do; one that no diagnosis names has its id alone.
function deviations(names) {
  return [el("p", {}, "Agrees with an implementation that"), el("ul", {}, names.map((name) =>
    el("li", {}, DATA.deviations[name] && `${DATA.deviations[name]} `, el("code", {}, name))))];
}

// How often there was which verdict, where a case was run several times.
function repeats(counts) {
  const told = VERDICTS.filter((verdict) => counts[verdict]);
  const all = told.reduce((sum, verdict) => sum + counts[verdict], 0);
  return el("p", { class: told.length > 1 ? "varies" : "muted" }, told.length > 1 ? "The verdict varies: " : "", `of ${plural(all, "run")} ${told.map((verdict) => `${counts[verdict]} ${verdict}`).join(", ")}.`);
}

function expectation({ verdict, reason, issue, place }) {
  return el("p", { class: "expectation" }, `Expected: ${verdict}. ${ended(reason)}`,
    issue && [" Issue: ", source(issue), "."], place && [" Written in ", el("code", {}, place), "."]);
}

function outputsTable(outputs) {
  const columns = [
    ["Data set", (output) => output.data_set],
    ["Output", (output) => el("code", {}, output.name)],
    ["Check", (output) => output.check],
    ["Max ULP", (output) => output.max_ulp !== undefined && number(output.max_ulp)],
    ["Error as a fraction of the bound", (output) => output.error_over_bound !== undefined && [gauge(output.error_over_bound), number(output.error_over_bound)]],
    ["Worst at", (output) => output.worst_index && coordinates(output.worst_index)],
    ["Complaint", (output) => output.complaint],
  ].filter(([, cell]) => outputs.some((output) => ![undefined, false, ""].includes(cell(output))));
  return table("Outputs", columns.map(([head]) => head), outputs.map((output) => tr(columns.map(([, cell]) => cell(output) ?? ""))));
}

// How many elements are within the accuracy that each of some sources asks of operations; no verdict rests on it.
function quality(counts) {
  return el("p", { class: "quality" }, "Quality, on which no verdict rests: ",
    counts.map(([name, within, all]) => `${within} of ${plural(all, "element")} within ${name}`).join("; "), ".");
}

function gauge(fraction) {
  const share = Number.isFinite(Number(fraction)) ? Math.min(1, Number(fraction)) : 1;
  return svg("svg", { class: "gauge", width: 60, height: 8, "aria-hidden": "true" },
    svg("rect", { class: "room", width: 60, height: 8, rx: 2 }),
    svg("rect", { class: Number(fraction) <= 1 ? "fill-pass" : "fill-fail", width: Math.max(1, 60 * share), height: 8, rx: 2 }));
}

// One bad element is enough to begin with; where more outputs than a few have one, the others are shown closed.
function badElements(outputs) {
  const more = outputs.slice(FEW);
  return [
    outputs.slice(0, FEW).map(badElement),
    more.length > 0 && el("details", { class: "more-bad" }, el("summary", {}, `First bad elements of ${plural(more.length, "more output")}`), more.map(badElement)),
  ];
}

function badElement({ name, data_set: set, wrong, first_bad: bad }) {
  const bits = bad.expected_hex !== undefined || bad.actual_hex !== undefined;
  const line = (what, decimal, hex) => el("tr", {}, el("th", { scope: "row" }, what), el("td", {}, decimal), bits && el("td", {}, hex ?? ""));
  const difference = bad.expected_hex === undefined ? NaN : Number(bad.actual) - Number(bad.expected);
  const title = `First bad element of ${name} ${coordinates(bad.index)}, data set ${set}${wrong === undefined ? "" : ` (${wrong} wrong)`}`;
  return el("div", { class: "bad" },
    el("h4", {}, title),
    scrolling(title, {},
      el("table", { class: "numbers" },
        el("thead", {}, el("tr", {}, ["", "decimal", ...(bits ? ["hex"] : [])].map(columnHead))),
        el("tbody", {},
          line("expected", bad.expected, bad.expected_hex),
          line("actual", bad.actual, bad.actual_hex),
          Number.isFinite(difference) && line("difference", number(difference, 4)),
          bad.bound !== undefined && line("bound", `± ${bad.bound}`),
          bad.ulp !== undefined && line("apart", `${number(bad.ulp, 6)} ULP`)))));
}

function besideExpected(detail, output, open) {
  const wanted = detail.data_sets[output.data_set]?.outputs.find((one) => one.name === output.name);
  if (output.actual === undefined) return null;
  const what = `${output.name}, data set ${output.data_set}`;
  if (output.actual === "expected") return el("p", { class: "muted" }, `${what}: every element shown is the expected one.`);
  if (!wanted) return el("div", {}, el("p", {}, `${what}: `, el("code", {}, typeOf(output.actual))), inline(output.actual));
  return el("details", { open }, el("summary", {}, `${what}: expected beside actual`),
    elementErrors(what, wanted, output.actual),
    elementsTable(`${what}: expected beside actual`, wanted, output.actual));
}

// The error of each element shown against its bound, where there are both.
function elementErrors(what, wanted, actual) {
  if (!wanted.bounds || String(wanted.shape) !== String(actual.shape) || wanted.type !== actual.type) return null;
  const rows = wanted.values.map((value, at) => {
    const error = Math.abs(real(actual.values[at]) - real(value));
    const fraction = error === 0 || actual.values[at] === value ? 0 : error / real(wanted.bounds[at]);
    const place = coordinates(unravel(at, wanted.shape));
    return [place, [[Number.isNaN(fraction) ? Infinity : fraction, place]]];
  });
  return rows.length > 1 && strip(`${what}: error of each element shown, as a fraction of its bound`, rows);
}
