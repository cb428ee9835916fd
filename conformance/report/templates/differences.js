// How two columns of the matrix differ, case by case.

// An error that grows by less than this factor, or stays below this fraction of the bound, is no news.
const GROWTH = 1.5;
const NEGLIGIBLE = 0.05;

const KINDS = [
  ["failures", "New failures"], ["fixes", "Fixes"], ["changes", "Other changes of verdict"],
  ["added", "Only in the second"], ["removed", "Only in the first"], ["growth", "Error grew while still passing"],
];

// Per kind of difference its rows: [case, verdict or error in the first, in the second].
function differencesOf(a, b) {
  const found = Object.fromEntries(KINDS.map(([kind]) => [kind, []]));
  const errors = embedded("errors");
  for (const one of CASES) {
    const [first, second] = [verdictOf(one, a.number), verdictOf(one, b.number)];
    const kind = differenceOf(first, second);
    if (kind) found[kind].push([one, first, second]);
    else if (first === "pass") {
      const [before, after] = [a, b].map((subject) => errors[one.number][subject.number]);
      if (grew(before, after)) found.growth.push([one, before, after]);
    }
  }
  found.growth.sort((x, y) => y[2] / (y[1] || NEGLIGIBLE) - x[2] / (x[1] || NEGLIGIBLE));
  return found;
}

function differenceOf(first, second) {
  if (first === second) return null;
  if (first === null) return "added";
  if (second === null) return "removed";
  if (isDefect(second) && !isDefect(first)) return "failures";
  return isDefect(first) && second === "pass" ? "fixes" : "changes";
}

function grew(before, after) {
  return typeof before === "number" && typeof after === "number" && after > NEGLIGIBLE && after > GROWTH * before;
}
