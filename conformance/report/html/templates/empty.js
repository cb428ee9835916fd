// What to do where no case matches: which words occur nowhere, and what there would be without one filter.

function noMatch(state, change) {
  const words = state.q.toLowerCase().split(/\s+/).filter((word) => word && !CASES.some((one) => one.words.includes(word)));
  return [
    el("h2", {}, "No case matches"),
    words.length > 0 && el("p", {}, "In no id, title, clause or tag: ", words.map((word, at) => [at > 0 && ", ", el("code", {}, word)]), "."),
    el("p", { class: "muted" }, "Every word of the search has to occur, and every kind of filter has to hold."),
    el("p", { class: "chips" }, without(state).map(([label, news]) => withoutButton(label, news, state, change)).filter(Boolean), el("a", { href: "#view=matrix" }, "Show all cases")),
  ];
}

function without(state) {
  return [
    state.q && [`the search for “${state.q}”`, { q: "" }],
    ...CHOICES.filter((name) => state[name].size).map((name) => [`${name} ${[...state[name]].join(" or ")}`, { [name]: new Set() }]),
    state.of && [`of ${state.of}`, { of: null }],
    state.group !== null && ["the chosen group", { group: null }],
    ...TOGGLES.filter((name) => state[name]).map((name) => [ONLY[name], { [name]: false }]),
  ].filter(Boolean);
}

function withoutButton(label, news, state, change) {
  const found = matching({ ...state, ...news }).length;
  if (!found) return null;
  const button = el("button", { type: "button", class: "chip" }, `Without ${label}: ${plural(found, "case")}`);
  button.addEventListener("click", () => change(news));
  return button;
}
