// How large the errors are, by output and type, subject beside subject.

function showErrors() {
  const bySubject = SUBJECTS.map((subject) => new Map(embedded(`subject-${subject.number}`).errors.map(([output, type, counts]) => [`${output} ${type}`, counts])));
  const keys = [...new Set(bySubject.flatMap((errors) => [...errors.keys()]))].sort();
  return [
    el("h1", { tabindex: -1 }, "Errors"),
    el("p", {}, "How many outputs have an error of what size. The error is the largest of an output's elements, as a fraction of that element's bound."),
    el("p", { class: "note" }, "First bar: no error at all. Then each tenth of the bound. After the dashed line: beyond the bound. Outputs of several tensors count under one name."),
    keys.length
      ? stacking("Distribution of errors by output and type", ["Output and type", ...SUBJECTS.map((subject) => subject.label)], keys.map((key) => el("tr", {},
        el("th", { scope: "row" }, el("code", {}, key)),
        bySubject.map((errors, at) => el("td", { class: "short", "data-head": SUBJECTS[at].label }, errors.has(key) ? histogram(errors.get(key)) : "–")))))
      : nothing("No output was held against a bound."),
  ];
}
