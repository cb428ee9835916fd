// The page of a case: verdicts, clauses of the specification, model, data, and how to run the case again.

// If a data set has more outputs, their tables are closed.
const MANY = 6;
// Longer attribute values are closed, and longer titles are divided, in characters.
const LONG = 120;

function showCase(state, shown) {
  const one = CASE_BY_ID.get(state.case);
  if (!one) return [el("h1", { tabindex: -1 }, "No such case"), el("p", {}, "This report has no case ", el("code", {}, state.case), ".")];
  const detail = detailOf(one);
  const open = (subject) => isOpen(state, one, subject);
  return [
    neighbours(state, shown, one),
    heading(one.title),
    el("p", { class: "identity" }, command(one.id, "the name of the case"), el("span", { class: "chip", title: DATA.levels[one.level] }, one.level),
      el("span", { class: "muted" }, DATA.levels[one.level])),
    one.tags.length > 0 && el("p", { class: "muted" }, `Kind: ${one.kind}. Types: ${one.types.join(", ") || "none"}. Tags: ${one.tags.join(", ")}.`),
    section("Verdicts", groupedSubjects(one, detail).map((group) => groupOfEvidence(one, detail, group, open)), errorStrip(detail)),
    section("Specification", clauses(one)),
    section("Model", model(detail.model), detail.rewrite && rewriteWanted(detail.rewrite)),
    detail.data_sets.map((set, at) => detail.data_sets.length > 1
      ? el("details", { class: "data set", open: at === 0 }, el("summary", {}, el("h2", {}, `Data set ${at}`), set.hazard && hazardChip(set.hazard)), dataSet(set, isInvalid(detail)))
      : section("Data", set.hazard && hazardChip(set.hazard), dataSet(set, isInvalid(detail)))),
    section("Download", caseDownload(one)),
  ];
}

// The title; the details after the first colon or parenthesis of a long one are a paragraph.
function heading(title) {
  const at = title.length > LONG ? title.search(/: | \(/) : -1;
  if (at < 0) return el("h1", { tabindex: -1 }, title);
  return [el("h1", { tabindex: -1 }, title.slice(0, at)), el("p", {}, title.slice(at).replace(/^: /, "").trim())];
}

// Groups of subjects with the same verdict, phase and failure text; failures come first.
function groupedSubjects(one, detail) {
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
  const messages = new Set(subjects.map((subject) => evidenceOf(detail, subject)?.message));
  const shown = messages.size === 1 ? [...messages][0] || text : text;
  const evidence = subjects.map((subject) => subjectEvidence(one, detail, subject, open(subject)));
  if (SUBJECTS.length === 1 || verdict === null) return evidence;
  return el("section", { class: "same-result", "aria-label": `${verdict} on ${plural(subjects.length, "subject")}` },
    el("h3", {}, el("span", { class: `ink-${verdict}` }, glyph(verdict), ` ${verdict}`), ` on ${subjects.length} of ${plural(SUBJECTS.length, "subject")}`,
      verdict !== "pass" && el("small", {}, [phase && ` in ${phase}`, shown && `: ${shortened(shown.split("\n")[0], 2 * LONG)}`])),
    evidence);
}

function errorStrip(detail) {
  const rows = SUBJECTS.map((subject) => [subject.label, (evidenceOf(detail, subject)?.outputs || [])
    .filter((output) => output.error_over_bound !== undefined || isBeyond(output))
    .map((output) => [output.error_over_bound ?? Infinity, `${output.name}, data set ${output.data_set}`])]).filter(([, points]) => points.length);
  return rows.length > 0 && strip("Largest error of each output, as a fraction of its bound", rows);
}

// The evidence of the subject in the address is open. Without a subject in the address, the evidence of failures is open.
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
    el("p", {}, clause.text || "The results file does not contain the text of this clause."),
    el("footer", {}, el("code", {}, clause.id), clause.source && [" · ", source(clause.source)])));
}

function model(model) {
  const opsets = Object.entries(model.opset_imports).map(([domain, version]) => `${domain || "ai.onnx"} ${version}`);
  return [
    drawGraph(model),
    el("p", { class: "muted" }, `IR version ${model.ir_version}. Opsets: ${opsets.join(", ")}.`),
    el("div", { class: "side-by-side" }, table("Inputs and outputs of the graph", ["", "Name", "Type"], [
      ...model.inputs.map((value) => tr(["input", el("code", {}, value.name), el("code", {}, typeOf(value))])),
      ...model.outputs.map((value) => tr(["output", el("code", {}, value.name), el("code", {}, typeOf(value))])),
    ]), attributes(model.nodes)),
  ];
}

function attributes(nodes) {
  const rows = nodes.flatMap((node, at) => Object.entries(node.attributes).map(([name, value]) =>
    tr([`${node.op_type}${nodes.length > 1 ? ` (node ${at})` : ""}`, el("code", {}, name), attributeValue(value)])));
  if (!rows.length) return el("p", { class: "muted" }, "The model sets no attribute: all attributes have their defaults.");
  return table("Attributes", ["Node", "Attribute in the model", "Value"], rows);
}

// The text of a subgraph is too long for a cell of a table, so it is closed.
function attributeValue(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= LONG && !text.includes("\n")) return el("code", {}, text);
  return el("details", {}, el("summary", {}, plural(text.length, "character")), el("pre", { class: "message", tabindex: 0 }, text));
}

function dataSet(set, invalid) {
  return [
    inputsTable(set.inputs),
    invalid && el("p", {}, "No output is expected. The model is invalid, and a backend must reject it at load or at run."),
    [...new Set(set.outputs.map((output) => output.check))].map((check) =>
      el("p", { class: "muted" }, el("b", {}, `Check ${check}: `), DATA.checks[check])),
    el("div", { class: "side-by-side" }, set.outputs.map((output) =>
      el("details", { class: "data", open: set.outputs.length <= MANY },
        el("summary", {}, el("h3", {}, "Expected ", el("code", {}, output.name), " ", el("small", {}, `${typeOf(output)}, check ${output.check}`))),
        elementsTable(`Expected ${output.name}`, output)))),
  ];
}

// How to reproduce a result: a command, a Python script, and the files of the case.

function rerun(one, detail, subject) {
  return el("div", { class: "rerun" },
    el("p", {}, "Run it again: ", command(`${subject.command} --case ${detail.select ?? one.id}`)),
    el("details", {}, el("summary", {}, "Python script"),
      el("p", { class: "muted" }, "The script reads the case from the installed suite. With a folder as argument, it reads the unpacked download from there."),
      el("p", {}, copyable(script(one, subject), "the script")),
      el("pre", { class: "message script", tabindex: 0 }, script(one, subject))));
}

function script(one, subject) {
  const { case: ofCase, subject: ofSubject, options: ofOptions, of } = DATA.scripts;
  const ofThisSubject = (part) => part.split(ofOptions).map((piece) => piece.split(ofSubject).join(JSON.stringify(subject.id))).join(subject.options);
  return of[subject.kind].split(ofCase).map(ofThisSubject).join(JSON.stringify(one.id));
}

function caseDownload(one) {
  const archive = document.getElementById(`archive-${one.number}`);
  if (!archive) return el("p", { class: "muted" }, "This report does not contain the files of this case: no subject failed it, or the archives of failing cases exceeded their limit. The corpus of the suite contains them: ", el("code", {}, `${one.kind}/${one.id}`), ".");
  const button = el("button", { type: "button", class: "chip download" }, `Download ${fileName(one)}`);
  button.addEventListener("click", () => download(fileName(one), decoded(archive.textContent)));
  return [
    el("p", {}, button),
    el("p", { class: "muted" }, "The archive is a corpus of this case: model, inputs, expected outputs and bounds. Unpack the archive and run ",
      command(`onnx-conformance run -b NAME --data ${folderName(one)}`)),
  ];
}

function folderName(one) {
  return one.id.replace(/[^\w-]/g, "_");
}

function fileName(one) {
  return `${folderName(one)}.zip`;
}

function decoded(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

// Save bytes as a file; nothing is sent over the network.
function download(name, bytes) {
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
