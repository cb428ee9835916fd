// How two columns of the matrix differ, case by case.

// An error that grows by less than this factor, or stays below this fraction of the bound, is no news.
const GROWTH = 2;
const NOTICEABLE = 0.1;

const BADNESS = { pass: 0, unsupported: 1, skipped: 1, fail: 2, error: 2, timeout: 3, crash: 3 };

const KINDS = [
  ["regressions", "New failures and other regressions"], ["fixes", "Fixes"], ["changes", "Other changes"],
  ["added", "Only in the second"], ["removed", "Only in the first"], ["growth", "Error grew while still passing"],
];

// Of two subjects neither came first, so that nothing was broken or mended between them.
const BETWEEN_SUBJECTS = { regressions: "The second does worse", fixes: "The second passes and the first does not", changes: "They differ otherwise", growth: "Both pass, with a larger error in the second" };

// Whether the second is the first again, in another run.
function isLater(a, b) {
  return a.id === b.id && a.kind === b.kind;
}

function titlesOf(a, b) {
  return isLater(a, b) ? KINDS : KINDS.map(([kind, title]) => [kind, BETWEEN_SUBJECTS[kind] ?? title]);
}

// Per kind of difference its rows: [case, what is of it in the first, in the second]: a verdict and what it says, or
// an error. The rules are those of `onnx-conformance diff`.
function differencesOf(a, b) {
  const found = Object.fromEntries(KINDS.map(([kind]) => [kind, []]));
  const errors = embedded("errors");
  const says = embedded("complaints");
  for (const one of CASES) {
    const [first, second] = [a, b].map((subject) => (
      { verdict: verdictOf(one, subject.number), level: levelOf(one, subject.number), says: says[one.number][subject.number] }));
    const kind = differenceOf(one, first, second);
    if (kind) found[kind].push([one, first, second]);
    else if (first.verdict === "pass") {
      const [before, after] = [a, b].map((subject) => errors[one.number][subject.number]);
      if (grew(before, after)) found.growth.push([one, before, after]);
    }
  }
  found.growth.sort((x, y) => y[2] / (y[1] || NOTICEABLE) - x[2] / (x[1] || NOTICEABLE));
  return found;
}

function differenceOf(one, first, second) {
  const isStronger = isDefect(first.verdict) && isDefect(second.verdict) && LEVELS.indexOf(second.level) < LEVELS.indexOf(first.level);
  if (isStronger) return "regressions";
  if (first.verdict === second.verdict) return isDefect(first.verdict) && (first.says !== second.says || first.level !== second.level) ? "changes" : null;
  if (first.verdict === null) return "added";
  if (second.verdict === null) return "removed";
  if (BADNESS[second.verdict] > BADNESS[first.verdict] && second.level !== "silent") return "regressions";
  return second.verdict === "pass" ? "fixes" : "changes";
}

function grew(before, after) {
  return typeof before === "number" && typeof after === "number" && after >= NOTICEABLE && after >= GROWTH * before;
}
