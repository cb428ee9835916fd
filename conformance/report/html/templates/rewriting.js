// What a graph optimizer had to do with a case's model, what it was held to, and where its rewrite changed an answer.

const ANSWERS = {
  fires: "The pass fires on this model: it removes what is named here, and the rest stays.",
  stays: "The pass stays away from this model: nothing of it is removed.",
  may: "The pass may fire on this model or stay away from it: both are right.",
};
const RUNS = { once: "one run", fixed_point: "runs to a fixed point" };

function rewriteWanted({ answer, once, fixed_point: fixedPoint }) {
  const gone = (what, names) => names.length > 0 && el("li", {}, `After ${what} the producers of these are gone: `, names.flatMap((name, at) => [at ? ", " : "", el("code", {}, name)]));
  return el("div", { class: "rewrite" }, el("h3", {}, "What the pass must do: ", answer), el("p", {}, ANSWERS[answer]),
    el("ul", {}, gone(RUNS.once, once), gone(RUNS.fixed_point, fixedPoint)));
}

function rewriteChecks(checks) {
  const rows = checks.map(([name, run, complaint, level]) => tr([
    el("span", { class: `verdict v-${complaint ? "fail" : "pass"}` }, glyph(complaint ? "fail" : "pass"), complaint ? "broken" : "held"),
    name, level ?? "", RUNS[run] ?? "", complaint ?? "",
  ], { class: complaint ? "broken" : null }));
  return listing("What it was held to besides answers", ["", "Check", "Level", "After", "Complaint"], rows);
}

function hazardChanges(hazards) {
  return listing("Answers that the rewrite changed", ["Hazard", "Data set", "After", "Answer before", "Answer after"],
    hazards.map(([kind, set, run, before, after]) => tr([hazardChip(kind), set, RUNS[run], answers(before), answers(after)])));
}

function answers(values) {
  return el("span", { class: "values" }, listed(values));
}

function hazardChip(kind) {
  return el("span", { class: "chip hazard" }, el("span", { "aria-hidden": "true" }, "⚠"), ` hazard: ${kind}`);
}
