// The page of accuracy: histograms of errors by output, type and subject.

function showErrors() {
  const bySubject = SUBJECTS.map((subject) => new Map(embedded(`subject-${subject.number}`).errors.map(([output, type, counts]) => [`${output} ${type}`, counts])));
  const keys = [...new Set(bySubject.flatMap((errors) => [...errors.keys()]))].sort();
  return [
    el("h1", { tabindex: -1 }, "Accuracy"),
    el("p", {}, "Numbers of outputs by error. The error of an output is that of its worst element, as a fraction of the bound of that element."),
    el("p", { class: "note" }, "First bar: no error. Next bars: tenths of the bound. After the dashed line: errors above the bound, and NaN. Numbered outputs count under one name."),
    keys.length
      ? stacking("Distribution of errors by output and type", ["Output and type", ...SUBJECTS.map((subject) => subject.label)], keys.map((key) => el("tr", {},
        el("th", { scope: "row" }, el("code", {}, key)),
        bySubject.map((errors, at) => el("td", { class: "short", "data-head": SUBJECTS[at].label }, errors.has(key) ? histogram(errors.get(key)) : "–")))))
      : nothing("No output was compared with a bound."),
  ];
}
