// The result of a subject on a case: the verdict and its evidence.

// If more outputs are wrong, the first wrong elements of the others are closed.
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
      el("span", { class: verdictClass(one, subject.number) }, glyph(verdict), verdict),
      el("b", {}, subject.label), el("small", {}, subject.version),
      subject.environment && el("small", {}, el("a", { href: subjectAddress(subject), title: "Python, packages, processor and adapter" }, `environment ${subject.environment}`)),
      el("span", { class: "worst" }, worst(evidence.outputs)),
      evidence.level && el("small", { class: "remark" }, `at level ${evidence.level}`),
      mark === UNEXPECTED && el("small", { class: "remark" }, "unexpected"), mark === KNOWN && el("small", { class: "remark" }, "known")),
    el("div", { class: "proof" }, body(one, detail, evidence, subject, verdict)));
}

// The largest errors of a result in a few words.
function worst(outputs) {
  if (outputs.some((output) => output.wrong && output.max_ulp === undefined)) return "";  // a wrong element has no finite error
  const largest = (name) => {
    const values = outputs.map((output) => output[name]).filter((value) => value !== undefined);
    return values.length ? values.reduce((most, value) => (Number(value) > Number(most) || isNaN(value) ? value : most)) : null;
  };
  const ulp = largest("max_ulp");
  const fraction = outputs.some(isBeyond) ? null : largest("error_over_bound");
  return [ulp !== null && `max ${number(ulp)} ULP`, fraction !== null && fractionOf(fraction)].filter(Boolean).join(", ");
}

// Whether an output has a wrong element whose bound is 0 or whose error is not finite, so that there is no fraction.
function isBeyond(output) {
  return Boolean(output.wrong) && output.check === "bound" && output.error_over_bound === undefined;
}

function fractionOf(fraction) {
  if (fraction === Infinity) return "above the bound";

  return Number(fraction) <= 1 ? `${number(fraction)} of the bound` : `${number(fraction)} times the bound`;
}

// The meaning of verdicts on an invalid model; other verdicts have their usual meaning.
const OF_INVALID = { pass: "rejected the invalid model", fail: "computed outputs from an invalid model" };

// The meaning of verdicts on a graph optimizer.
const OF_OPTIMIZER = { pass: "rewrote the model as required", fail: "violated a check of the rewritten model" };

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
    evidence.baseline && evidence.baseline !== verdict && el("p", {}, "Verdict in the baseline: ", verdictWord(evidence.baseline)),
    evidence.expected && expectation(evidence.expected),
    isDefect(verdict) && knownFaults(one, subject),
    evidence.message && el("pre", { class: "message", tabindex: 0 }, evidence.message),
    evidence.mutants && mutants(evidence.mutants),
    evidence.checks.length > 0 && rewriteChecks(evidence.checks),
    evidence.hazards.length > 0 && hazardChanges(evidence.hazards),
    badElements(evidence.outputs.filter((output) => output.first_bad)),
    evidence.outputs.length > 0 && outputsTable(evidence.outputs),
    evidence.accuracy && accuracy(evidence.accuracy),
    evidence.outputs.map((output) => expectedAndActual(detail, output, output === evidence.outputs.find((one) => one.first_bad))),
    evidence.stderr && el("details", { open: verdict === "crash" || verdict === "timeout" }, el("summary", {}, "Output on stderr"),
      el("pre", { class: "message stderr", tabindex: 0 }, evidence.stderr)),
    rerun(one, detail, subject),
  ];
}

// The mutants that explain the result: the description if a diagnosis names the mutant, and the id.
function mutants(names) {
  return [el("p", {}, "Same result as a known mistake that"), el("ul", {}, names.map((name) =>
    el("li", {}, DATA.mutants[name] && `${DATA.mutants[name]} `, el("code", {}, name))))];
}

// The numbers of verdicts of repeated runs.
function repeats(counts) {
  const present = VERDICTS.filter((verdict) => counts[verdict]);
  const all = present.reduce((sum, verdict) => sum + counts[verdict], 0);
  return el("p", { class: present.length > 1 ? "varies" : "muted" }, present.length > 1 ? "The verdict varies: " : "", `of ${plural(all, "run")} ${present.map((verdict) => `${counts[verdict]} ${verdict}`).join(", ")}.`);
}

function expectation({ verdict, reason, issue, location }) {
  return el("p", { class: "expectation" }, `Expected: ${verdict}. ${ended(reason)}`,
    issue && [" Issue: ", source(issue), "."], location && [" Location: ", el("code", {}, location), "."]);
}

function outputsTable(outputs) {
  const columns = [
    ["Data set", (output) => output.data_set],
    ["Output", (output) => el("code", {}, output.name)],
    ["Check", (output) => output.check],
    ["Max ULP", (output) => output.max_ulp !== undefined && number(output.max_ulp)],
    ["Error as a fraction of the bound", (output) => output.error_over_bound !== undefined && [gauge(output.error_over_bound), number(output.error_over_bound)]],
    ["Worst at", (output) => output.worst_index && coordinates(output.worst_index)],
    ["Violation", (output) => output.violation],
  ].filter(([, cell]) => outputs.some((output) => ![undefined, false, ""].includes(cell(output))));
  return table("Outputs", columns.map(([head]) => head), outputs.map((output) => tr(columns.map(([, cell]) => cell(output) ?? ""))));
}

// The numbers of elements within each accuracy grade. The verdict does not depend on them.
function accuracy(counts) {
  return el("p", { class: "accuracy" }, "Accuracy (does not affect the verdict): ",
    Object.entries(counts).map(([name, { within, elements }]) => `${within} of ${plural(elements, "element")} within ${name}`).join("; "), ".");
}

function gauge(fraction) {
  const share = Number.isFinite(Number(fraction)) ? Math.min(1, Number(fraction)) : 1;
  return svg("svg", { class: "gauge", width: 60, height: 8, "aria-hidden": "true" },
    svg("rect", { class: "range", width: 60, height: 8, rx: 2 }),
    svg("rect", { class: Number(fraction) <= 1 ? "fill-pass" : "fill-fail", width: Math.max(1, 60 * share), height: 8, rx: 2 }));
}

// The first wrong element of each output; after the first few outputs, the others are closed.
function badElements(outputs) {
  const more = outputs.slice(FEW);
  return [
    outputs.slice(0, FEW).map(badElement),
    more.length > 0 && el("details", { class: "more-bad" }, el("summary", {}, `First wrong elements of ${plural(more.length, "more output")}`), more.map(badElement)),
  ];
}

function badElement({ name, data_set: set, wrong, first_bad: bad }) {
  const bits = bad.expected_hex !== undefined || bad.actual_hex !== undefined;
  const line = (what, decimal, hex) => el("tr", {}, el("th", { scope: "row" }, what), el("td", {}, decimal), bits && el("td", {}, hex ?? ""));
  const difference = bad.expected_hex === undefined ? NaN : Number(bad.actual) - Number(bad.expected);
  const title = `First wrong element of ${name} ${coordinates(bad.index)}, data set ${set}${wrong === undefined ? "" : ` (${wrong} wrong)`}`;
  return el("div", { class: "bad" },
    el("h4", {}, title),
    scrolling(title, {},
      el("table", { class: "numbers" },
        el("thead", {}, el("tr", {}, ["", "decimal", ...(bits ? ["hex"] : [])].map(columnHead))),
        el("tbody", {},
          line("expected", plainDecimal(bad.expected), bad.expected_hex),
          line("actual", plainDecimal(bad.actual), bad.actual_hex),
          Number.isFinite(difference) && line("difference", number(difference, 4)),
          bad.bound !== undefined && line("bound", `± ${bad.bound}`),
          bad.ulp !== undefined && line("error", `${number(bad.ulp, 6)} ULP`)))));
}

// Whether an output has the type, the shape and the shown elements of the expected output.
function isSame(actual, wanted) {
  return wanted !== undefined && ["type", "shape", "values", "hex"].every((key) => JSON.stringify(actual[key]) === JSON.stringify(wanted[key]));
}

function expectedAndActual(detail, output, open) {
  const wanted = detail.data_sets[output.data_set]?.outputs.find((one) => one.name === output.name);
  if (output.actual === undefined) return null;
  const what = `${output.name}, data set ${output.data_set}`;
  if (isSame(output.actual, wanted) && !output.first_bad) return el("p", { class: "muted" }, `${what}: all shown elements are the expected ones.`);
  if (!wanted) return el("div", {}, el("p", {}, `${what}: `, el("code", {}, typeOf(output.actual))), inline(output.actual));
  return el("details", { open }, el("summary", {}, `${what}: expected and actual`),
    elementErrors(what, wanted, output.actual),
    elementsTable(`${what}: expected and actual`, wanted, output.actual, output.first_bad));
}

// The error of each shown element as a fraction of its bound.
function elementErrors(what, wanted, actual) {
  if (!wanted.bounds || String(wanted.shape) !== String(actual.shape) || wanted.type !== actual.type) return null;
  const rows = wanted.values.map((value, at) => {
    const error = Math.abs(real(actual.values[at]) - real(value));
    const fraction = isUndetermined(wanted, at) || error === 0 || actual.values[at] === value ? 0 : error / real(wanted.bounds[at]);
    const place = coordinates(unravel(at, wanted.shape));
    return [place, [[Number.isNaN(fraction) ? Infinity : fraction, place]]];
  });
  return rows.length > 1 && strip(`${what}: error of each shown element, as a fraction of its bound`, rows);
}

// The checks of a graph optimizer: the required rewrite, the checks and their violations, and outputs that a rewrite changed.

const EFFECTS = {
  applies: "The pass applies to this model. It removes the nodes named here and keeps all others.",
  does_not_apply: "The pass does not apply to this model. It removes no node.",
  optional: "The pass may apply to this model or not. Both are correct.",
};
const RUNS = { once: "one run", fixed_point: "runs to a fixed point" };
const RUNS_DEFINED = "One run: the pass visits each node once and removes at most one operator before each ArgMax. Runs to a fixed point: the run is repeated until it changes nothing, which removes whole chains of operators.";

function rewriteWanted({ effect, once, fixed_point: fixedPoint }) {
  const gone = (what, names) => names.length > 0 && el("li", {}, `After ${what}, the producers of these values are removed: `, names.flatMap((name, at) => [at ? ", " : "", el("code", {}, name)]));
  return el("div", { class: "rewrite" }, el("h3", {}, "Required effect of the pass: ", effect.replaceAll("_", " ")), el("p", {}, EFFECTS[effect]),
    el("p", { class: "note" }, RUNS_DEFINED),
    el("ul", {}, gone(RUNS.once, once), gone(RUNS.fixed_point, fixedPoint)));
}

function rewriteChecks(checks) {
  const rows = checks.map(({ name, run, violation, level, not_judged: notJudged }) => {
    const [look, word] = violation ? ["fail", "violated"] : notJudged ? ["skipped", "not judged"] : ["pass", "satisfied"];
    return tr([
      el("span", { class: `verdict v-${look}` }, glyph(look), word), name, level ?? "", RUNS[run] ?? "", violation ?? notJudged ?? "",
    ], { class: violation ? "violated" : notJudged ? "not-judged" : null });
  });
  return listing("Checks of the optimizer", ["", "Check", "Level", "After", "Violation, or reason why not judged"], rows);
}

function hazardChanges(hazards) {
  return listing("Outputs that the rewrite changed", ["Hazard", "Data set", "After", "Output before", "Output after"],
    hazards.map(({ class: kind, data_set: set, run, before, after }) => tr([hazardChip(kind), set, RUNS[run], answers(before), answers(after)])));
}

function answers(values) {
  return el("span", { class: "values" }, listed(values));
}

function hazardChip(kind) {
  return el("span", { class: "chip hazard" }, el("span", { "aria-hidden": "true" }, "⚠"), ` hazard: ${kind}`);
}
