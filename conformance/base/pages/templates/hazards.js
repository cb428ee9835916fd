// The page of hazards: inputs on which even the documented rewrite changes the output. Hazards do not affect verdicts.

// A longer list is closed.
const MANY_HAZARDS = 50;

function showHazards() {
  const rows = embedded("hazards");
  const kinds = [...new Set(rows.map(([kind]) => kind))].sort();
  const subjects = SUBJECTS.filter((subject) => rows.some(([, number]) => number === subject.number));
  return [
    el("h1", { tabindex: -1 }, "Hazards"),
    el("p", {}, "On these inputs the documented rewrite changes the output. The removed operator is monotone for real numbers, but not injective in floating point. These changes do not affect the verdict of a graph optimizer."),
    kinds.length ? hazardMap(rows, kinds, subjects) : nothing("No rewrite in this report changed an output."),
    kinds.map((kind) => section(sentence(kind), hazardsOf(rows.filter((row) => row[0] === kind)))),
  ];
}

function hazardMap(rows, kinds, subjects) {
  const count = (kind, subject) => rows.filter((row) => row[0] === kind && row[1] === subject.number).length;
  const most = Math.max(...kinds.flatMap((kind) => subjects.map((subject) => count(kind, subject))));
  return listing("Hazards by class and subject", ["Class", ...subjects.map((subject) => subject.label)], kinds.map((kind) => el("tr", {},
    el("th", { scope: "row" }, kind),
    subjects.map((subject) => {
      const found = count(kind, subject);
      return el("td", { class: "short" }, found ? [weight(found / most), ` ${plural(found, "change")}`] : "–");
    }))));
}

// A square whose area is proportional to a share.
function weight(fraction) {
  const side = 4 + 10 * Math.sqrt(fraction);
  return svg("svg", { class: "dot", width: 16, height: 16, "aria-hidden": "true" }, svg("rect", { class: "fill-timeout", x: 8 - side / 2, y: 8 - side / 2, width: side, height: side }));
}

function hazardsOf(rows) {
  return rows.length > MANY_HAZARDS ? later(plural(rows.length, "change"), () => [hazardList(rows), beyond(rows)]) : hazardList(rows);
}

function hazardList(rows) {
  return listing("Outputs that a rewrite changed", ["Subject", "Case", "Inputs", "After", "Output before", "Output after"],
    rows.slice(0, MOST_LISTED).map(([, number, at, set, run, before, after]) => tr([
      SUBJECTS[number].label, caseLink(at, SUBJECTS[number].label), inputsOf(at, set), RUNS[run], answers(before), answers(after),
    ])));
}

const inputsSeen = new Map();

function inputsOf(at, set) {
  if (!inputsSeen.has(at)) inputsSeen.set(at, detailOf(CASE_BY_NUMBER[at]).data_sets);
  const inputs = inputsSeen.get(at)[set]?.inputs || [];
  return inputs.map((input) => el("div", { class: "values" }, `${input.name} = `, listed(input.values), input.elided ? ` … ${input.elided} more` : ""));
}
