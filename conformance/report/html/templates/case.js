// One case: what became of it on each subject, what the specification says, the model, and the data.

// More outputs than this are shown closed.
const MANY = 6;
// An attribute's value longer than this is shown closed.
const LONG = 120;

function showCase(state, shown) {
  const one = CASE_BY_ID.get(state.case);
  if (!one) return [el("h1", { tabindex: -1 }, "No such case"), el("p", {}, "This report has no case ", el("code", {}, state.case), ".")];
  const detail = detailOf(one);
  const open = (subject) => isOpen(state, one, subject);
  return [
    neighbours(state, shown, one),
    el("h1", { tabindex: -1 }, one.title),
    el("p", { class: "identity" }, command(one.id, "the name of the case"), el("span", { class: "chip", title: DATA.levels[one.level] }, one.level),
      el("span", { class: "muted" }, DATA.levels[one.level])),
    one.tags.length > 0 && el("p", { class: "muted" }, `Kind: ${one.kind}. Types: ${one.types.join(", ")}. Tags: ${one.tags.join(", ")}.`),
    section("Verdicts", alike(one, detail).map((group) => groupOfEvidence(one, detail, group, open)), errorStrip(detail)),
    section("What the specification says", clauses(one)),
    section("Model", model(detail.model), detail.rewrite && rewriteWanted(detail.rewrite)),
    detail.data_sets.map((set, at) => detail.data_sets.length > 1
      ? el("details", { class: "data set", open: at === 0 }, el("summary", {}, el("h2", {}, `Data set ${at}`), set.hazard && hazardChip(set.hazard)), dataSet(set, isInvalid(detail)))
      : section("Data", set.hazard && hazardChip(set.hazard), dataSet(set, isInvalid(detail)))),
    section("Take it away", takeAway(one)),
  ];
}

// The subjects by what became of the case: those that fail alike stand together, defects first.
function alike(one, detail) {
  const groups = new Map();
  for (const subject of SUBJECTS) {
    const evidence = evidenceOf(detail, subject);
    const verdict = verdictOf(one, subject.number);
    const key = JSON.stringify([verdict, evidence && verdict !== "pass" ? [evidence.phase, evidence.signature] : null]);
    if (!groups.has(key)) groups.set(key, { verdict, phase: evidence?.phase, text: evidence?.signature, subjects: [] });
    groups.get(key).subjects.push(subject);
  }
  const rank = ({ verdict }) => (verdict === null ? 3 : isDefect(verdict) ? 0 : verdict === "pass" ? 2 : 1);
  return [...groups.values()].sort((a, b) => rank(a) - rank(b));
}

function groupOfEvidence(one, detail, { verdict, phase, text, subjects }, open) {
  const evidence = subjects.map((subject) => subjectEvidence(one, detail, subject, open(subject)));
  if (SUBJECTS.length === 1 || verdict === null) return evidence;
  return el("section", { class: "alike", "aria-label": `${verdict} on ${plural(subjects.length, "subject")}` },
    el("h3", {}, el("span", { class: `ink-${verdict}` }, glyph(verdict), ` ${verdict}`), ` on ${subjects.length} of ${plural(SUBJECTS.length, "subject")}`,
      verdict !== "pass" && el("small", {}, [phase && ` in ${phase}`, text && `: ${text}`])),
    evidence);
}

function errorStrip(detail) {
  const rows = SUBJECTS.map((subject) => [subject.label, (evidenceOf(detail, subject)?.outputs || [])
    .filter((output) => output.error_over_bound !== undefined)
    .map((output) => [output.error_over_bound, `${output.name}, data set ${output.data_set}`])]).filter(([, points]) => points.length);
  return rows.length > 0 && strip("Largest error of each output, as a fraction of its bound", rows);
}

// The subject that was asked for is open; where none was, those that went wrong are.
function isOpen(state, one, subject) {
  if (state.subject !== null) return state.subject === subject.label;
  return SUBJECTS.length === 1 || !["pass", "unsupported", "skipped", null].includes(verdictOf(one, subject.number));
}

function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), children);
}

function neighbours(state, shown, one) {
  const at = shown.indexOf(one);
  const link = (other, rel, text) => other ? el("a", { href: caseAddress(state, other, state.subject), rel, title: other.id }, text) : el("span", { class: "muted" }, text);
  return el("nav", { class: "neighbours", "aria-label": "Cases" },
    el("a", { href: writeAddress({ ...state, view: "matrix" }) }, "All cases"),
    at >= 0 && [link(shown[at - 1], "prev", "← Previous"), link(shown[at + 1], "next", "Next →"), el("span", { class: "muted" }, `${at + 1} of ${shown.length}`)]);
}

function clauses(one) {
  if (!one.clauses.length) return el("p", { class: "muted" }, "The case names no clause.");
  return one.clauses.map((clause) => el("blockquote", { class: "clause" },
    el("p", {}, clause.text || "The results file does not carry this clause's text."),
    el("footer", {}, el("code", {}, clause.id), clause.source && [" · ", source(clause.source)])));
}

function model(model) {
  const opsets = Object.entries(model.opset_imports).map(([domain, version]) => `${domain || "ai.onnx"} ${version}`);
  return [
    drawGraph(model),
    el("p", { class: "muted" }, `IR version ${model.ir_version}. Opsets: ${opsets.join(", ")}.`),
    el("div", { class: "beside" }, table("Inputs and outputs of the graph", ["", "Name", "Type"], [
      ...model.inputs.map((value) => tr(["input", el("code", {}, value.name), el("code", {}, typeOf(value))])),
      ...model.outputs.map((value) => tr(["output", el("code", {}, value.name), el("code", {}, typeOf(value))])),
    ]), attributes(model.nodes)),
  ];
}

function attributes(nodes) {
  const rows = nodes.flatMap((node, at) => Object.entries(node.attributes).map(([name, value]) =>
    tr([`${node.op_type}${nodes.length > 1 ? ` (node ${at})` : ""}`, el("code", {}, name), attributeValue(value)])));
  if (!rows.length) return el("p", { class: "muted" }, "No attribute is written in the model: every one has its default.");
  return table("Attributes", ["Node", "Attribute written in the model", "Value"], rows);
}

// A subgraph is written out whole, which is more than a cell of a table can show at once.
function attributeValue(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= LONG && !text.includes("\n")) return el("code", {}, text);
  return el("details", {}, el("summary", {}, plural(text.length, "character")), el("pre", { class: "message", tabindex: 0 }, text));
}

function dataSet(set, invalid) {
  return [
    inputsTable(set.inputs),
    invalid && el("p", {}, "No output is expected: the model is invalid and must be rejected, at load or at run."),
    [...new Set(set.outputs.map((output) => output.check))].map((check) =>
      el("p", { class: "muted" }, el("b", {}, `Check ${check}: `), DATA.checks[check])),
    el("div", { class: "beside" }, set.outputs.map((output) =>
      el("details", { class: "data", open: set.outputs.length <= MANY },
        el("summary", {}, el("h3", {}, "Expected ", el("code", {}, output.name), " ", el("small", {}, `${typeOf(output)}, check ${output.check}`))),
        elementsTable(`Expected ${output.name}`, output)))),
  ];
}
