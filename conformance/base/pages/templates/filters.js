// The filters: which cases match, and the controls above the matrix.
//
// A case must match every kind of filter; within one kind, one of the chosen values is enough.

function matching(state) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const subjects = state.of === null ? SUBJECTS : SUBJECTS.filter((subject) => subject.label === state.of);
  const codes = new Set([...state.verdict].map((verdict) => String(VERDICTS.indexOf(verdict))));
  const members = state.group === null ? null : new Set(GROUPS[state.group].cases);
  const columns = columnsOf(state);
  return CASES.filter((one) =>
    words.every((word) => one.words.includes(word))
    && (members === null || members.has(one.number))
    && isChosen(state.kind, [one.kind])
    && isChosen(state.type, one.types)
    && isChosen(state.tag, one.tags)
    && (!state.clause.size || one.clauses.some((clause) => state.clause.has(clause.id)))
    && (codes.size
      ? subjects.some(({ number }) => codes.has(one.verdicts[number]) && isChosen(state.level, [levelOf(one, number)]))
      : isChosen(state.level, [one.level]))
    && (!state.unexpected || subjects.some((subject) => one.marks[subject.number] === UNEXPECTED))
    && (!state.given || subjects.every((subject) => one.verdicts[subject.number] !== NO_RESULT))
    && (!state.differences || differs(one, columns)));
}

function isChosen(chosen, values) {
  return !chosen.size || values.some((value) => chosen.has(value));
}

// Check whether the subjects that ran a case have different verdicts.
function differs(one, columns) {
  const given = columns.map(({ number }) => one.verdicts[number]).filter((code) => code !== NO_RESULT);
  return given.some((code) => code !== given[0]);
}

// Descriptions of the folders of the corpus; one folder has the same name as a verdict.
const FOLDERS = { node: "operators", invalid: "invalid models", pass: "models for the pass" };

// Labels of the switches.
const ONLY = { differences: "only different verdicts", unexpected: "only unexpected", given: "only with all results" };

// The controls above the matrix. They change the address; the address changes what is shown.

class Toolbar {
  // `change` is called with the changed part of the state.
  constructor(change) {
    this.change = change;
    this.buttons = [];
    this.search = el("input", { type: "search", id: "search", placeholder: "Search ids, titles, clauses, tags", "aria-label": "Search cases", autocomplete: "off", spellcheck: "false" });
    this.search.addEventListener("input", () => change({ q: this.search.value }));
    this.of = el("select", { id: "of", "aria-label": "Subject with the verdict" },
      el("option", { value: "" }, "any subject"),
      SUBJECTS.map((subject) => el("option", { value: subject.label }, subject.label)));
    this.of.addEventListener("change", () => change({ of: this.of.value || null }));
    this.count = el("output", { id: "count", role: "status" });
    this.reset = el("a", { href: "#view=matrix", id: "reset" }, "Reset");
    this.clauses = el("span", { class: "chips", role: "group", "aria-label": "Clause" });
    this.group = el("span", { class: "chips", role: "group", "aria-label": "Cause" });
    this.columns = el("details", { class: "popup columns" }, el("summary", {}, "Columns"), el("div", { class: "chips" }, this.choices("column", SUBJECTS.map((subject) => subject.label))));
    this.tags = el("details", { class: "popup tags" }, el("summary", {}, "Tags"), el("div", { class: "chips" }, this.choices("tag", DATA.tags)));
    this.node = el("div", { class: "toolbar", role: "search" }, this.groups());
  }

  groups() {
    const present = new Set(CASES.flatMap((one) => [...one.verdicts]));
    const verdicts = VERDICTS.filter((_, code) => present.has(String(code)));
    const kinds = [...new Set(CASES.map((one) => one.kind))];
    const partly = CASES.some((one) => one.verdicts.includes(NO_RESULT));
    const wide = matchMedia("(min-width: 721px)");
    const filters = el("details", { class: "filters", open: wide.matches },
      el("summary", {}, "Filters"), el("div", { class: "filter-rows" }, this.filters(verdicts, kinds, partly)));
    // On a wide screen the filters cannot be opened again, so they stay open.
    wide.addEventListener("change", () => {
      if (wide.matches) filters.open = true;
    });
    return [el("div", { class: "find" }, this.search, this.count, this.reset), filters];
  }

  filters(verdicts, kinds, partly) {
    return [
      el("div", { class: "chips" },
        el("span", { class: "chips", role: "group", "aria-label": "Verdict" }, this.choices("verdict", verdicts)),
        SUBJECTS.length > 1 && el("label", {}, "of ", this.of),
        el("span", { class: "chips", role: "group", "aria-label": "Level" }, this.choices("level", LEVELS)),
        kinds.length > 1 && el("span", { class: "chips", role: "group", "aria-label": "Kind" }, this.choices("kind", kinds)),
        el("span", { class: "chips", role: "group", "aria-label": "Only" },
          SUBJECTS.length > 1 && this.toggle("differences"),
          this.toggle("unexpected"),
          partly && this.toggle("given")),
        el("span", { class: "chips", role: "group", "aria-label": "Show" }, this.folding()),
        this.clauses,
        this.group,
        SUBJECTS.length > 1 && this.columns,
        DATA.tags.length > 0 && this.tags),
      DATA.types.length > 1 && el("div", { class: "chips types" },
        el("span", { class: "muted", id: "types" }, "Types of the inputs"),
        el("span", { class: "chips", role: "group", "aria-labelledby": "types" }, this.choices("type", DATA.types))),
    ];
  }

  choices(name, values) {
    return values.map((value) => this.button(name, value, [name === "verdict" && glyph(value), name === "kind" ? FOLDERS[value] ?? value : value], (state) => {
      const chosen = new Set(state[name]);
      if (!chosen.delete(value)) chosen.add(value);
      return { [name]: chosen };
    }, (state) => state[name].has(value)));
  }

  toggle(name) {
    return this.button(name, "1", [ONLY[name]], (state) => ({ [name]: !state[name] }), (state) => state[name]);
  }

  button(name, value, label, next, pressed) {
    const node = el("button", { type: "button", class: `chip ${name}`, "data-choice": `${name}=${value}`, "aria-pressed": "false" }, label);
    node.addEventListener("click", () => this.change(next(this.state)));
    this.buttons.push({ node, pressed });
    return node;
  }

  folding() {
    return this.button("folded", "1", ["fold clauses"], (state) => ({ folded: !state.folded, turned: new Set() }), (state) => state.folded);
  }

  // A group is chosen on the overview; here it can only be removed.
  chosenGroup(group) {
    const node = el("button", { type: "button", class: "chip", "aria-pressed": "true", title: `${group.text}\nShow all cases` }, `${group.kind}: ${beginning(group.text, 60)} ×`);
    node.addEventListener("click", () => this.change({ group: null }));
    return node;
  }

  // A clause is chosen on the page of clauses; here it can only be removed.
  chosenClause(id) {
    const node = el("button", { type: "button", class: "chip", "aria-pressed": "true", title: "Show all clauses" }, `clause ${id} ×`);
    node.addEventListener("click", () => this.change({ clause: new Set([...this.state.clause].filter((one) => one !== id)) }));
    return node;
  }

  show(state, shown) {
    this.state = state;
    if (this.search.value !== state.q) this.search.value = state.q;
    this.of.value = state.of || "";
    for (const { node, pressed } of this.buttons) node.setAttribute("aria-pressed", String(pressed(state)));
    this.tags.firstChild.textContent = state.tag.size ? `Tags (${state.tag.size})` : "Tags";
    this.count.textContent = `showing ${shown} of ${plural(CASES.length, "case")}`;
    this.clauses.replaceChildren(...[...state.clause].map((id) => this.chosenClause(id)));
    this.columns.firstChild.textContent = state.column.size ? `Columns (${state.column.size} of ${SUBJECTS.length})` : "Columns";
    this.group.replaceChildren(...(state.group === null ? [] : [this.chosenGroup(GROUPS[state.group])]));
    this.reset.hidden = !isFiltered(state);
  }
}

// The page without a matching case: words that occur nowhere, and the number of cases without each filter.

function noMatch(state, change) {
  const words = state.q.toLowerCase().split(/\s+/).filter((word) => word && !CASES.some((one) => one.words.includes(word)));
  return [
    el("h2", {}, "No case matches"),
    words.length > 0 && el("p", {}, "In no id, title, clause or tag: ", words.map((word, at) => [at > 0 && ", ", el("code", {}, word)]), "."),
    el("p", { class: "muted" }, "A case must contain every word of the search and match every kind of filter."),
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
