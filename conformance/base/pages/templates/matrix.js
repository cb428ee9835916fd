// The matrix of cases by subjects. Only visible rows have nodes, so that a large matrix is fast.

const OVERSCAN = 6;
// Longer labels of subjects are shortened in the head of the matrix, in letters.
const LONGEST_HEAD = 48;

class Matrix {
  // `turn` is called with a clause to fold or unfold.
  constructor(turn) {
    this.turn = turn;
    this.columns = [];
    this.rows = [];
    this.live = new Map();
    this.body = el("div", { role: "rowgroup", class: "rows" });
    this.stuck = el("div", { class: "row group stuck", "aria-hidden": "true", hidden: true });
    this.top = el("div", { class: "top", role: "rowgroup" });
    this.sheet = el("div", { class: "sheet" }, this.top, this.body);
    this.box = el("div", { class: "matrix", role: "table", "aria-label": "Cases by subject", tabindex: 0 }, this.sheet);
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.step(event));
    window.addEventListener("resize", () => this.draw());
    window.addEventListener("beforeprint", () => this.draw(true));
    window.addEventListener("afterprint", () => this.draw());
  }

  head() {
    return el("div", { class: "row head", role: "row", "aria-rowindex": 1 },
      el("div", { role: "columnheader", class: "title" }, "Case"),
      this.columns.map((subject) => el("div", { role: "columnheader", class: "subject", title: `${subject.label} ${subject.version}` },
        el("a", { href: subjectAddress(subject) }, el("span", {}, breakable(shortened(subject.label, LONGEST_HEAD)))), el("small", {}, subject.version))));
  }

  show(state, cases) {
    this.state = state;
    this.columns = columnsOf(state);
    this.sheet.style.setProperty("--subjects", this.columns.length);
    this.top.replaceChildren(this.head(), this.stuck);
    this.rows = [];
    for (const [operator, clauses] of grouped(cases)) {
      const isUncited = clauses.size === 1 && clauses.has(UNCITED.get(operator));
      if (!isUncited) this.rows.push({ operator, members: [...clauses.values()].flat() });
      for (const [clause, members] of clauses) this.rows.push({ operator, clause, members }, ...(isFolded(state, clause) ? [] : members));
    }
    this.above = null;
    this.body.replaceChildren();
    this.live.clear();
    this.box.setAttribute("aria-rowcount", this.rows.length + 1);
    this.draw();
  }

  draw(all = false) {
    const height = this.height();
    const first = all ? 0 : Math.max(0, Math.floor(this.box.scrollTop / height) - OVERSCAN);
    const last = all ? this.rows.length : Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / height) + OVERSCAN);
    this.body.style.height = `${this.rows.length * height}px`;
    const wanted = [];
    for (let at = first; at < last; at++) wanted.push(at);
    for (const [at, row] of this.live) {
      if (at >= first && at < last) continue;
      // A row with the focus is kept although it is not visible.
      if (row.contains(document.activeElement)) wanted.push(at);
      else {
        row.remove();
        this.live.delete(at);
      }
    }
    this.place(wanted.sort((a, b) => a - b), height);
    this.stick(Math.floor(this.box.scrollTop / height));
  }

  // Keep the heading of the topmost group visible.
  stick(top) {
    let at = Math.min(top, this.rows.length - 1);
    while (at >= 0 && !this.rows[at].members) at--;
    const group = this.box.scrollTop > 0 && at >= 0 ? this.rows[at] : null;
    this.stuck.hidden = group === null;
    if (group === null || group === this.above) return;
    this.above = group;
    this.stuck.replaceChildren(...this.group(group, false).childNodes);
  }

  place(wanted, height) {
    let next = this.body.firstChild;
    for (const at of wanted) {
      if (!this.live.has(at)) this.live.set(at, this.row(at));
      const row = this.live.get(at);
      row.style.top = `${at * height}px`;
      if (row === next) next = next.nextSibling;
      else this.body.insertBefore(row, next);
    }
  }

  row(at) {
    const item = this.rows[at];
    const row = item.members ? this.group(item) : this.line(item);
    row.setAttribute("aria-rowindex", at + 2);
    return row;
  }

  group({ operator, clause, members }, foldable = true) {
    const name = clause && clause !== UNCITED.get(operator)
      ? [el("code", { title: clause.text }, clause.id), el("span", { class: "says" }, clause.text)]
      : el("b", {}, operator);
    return el("div", { class: `row group${clause ? " clause-row" : ""}`, role: "row" },
      el("div", { role: "rowheader", class: "title" }, clause && foldable && this.fold(clause), el("span", { class: "name" }, name), el("small", {}, plural(members.length, "case"))),
      this.columns.map((subject) => {
        const given = members.map((one) => verdictOf(one, subject.number)).filter(Boolean);
        const passed = given.filter((verdict) => verdict === "pass").length;
        return el("div", { role: "cell" }, el("small", {}, given.length ? `${passed} of ${given.length}` : "–"));
      }));
  }

  fold(clause) {
    const button = el("button", { type: "button", class: "fold", "aria-expanded": String(!isFolded(this.state, clause)), "aria-label": `Cases of ${clause.id}` });
    button.addEventListener("click", () => {
      this.turn(clause);
      const at = this.rows.findIndex((row) => row.clause === clause);
      this.live.get(at)?.querySelector(".fold").focus({ preventScroll: true });
    });
    return button;
  }

  line(one) {
    return el("div", { class: "row", role: "row" },
      el("div", { role: "rowheader", class: "title" },
        el("a", { href: caseAddress(this.state, one), title: `${one.id}\n${one.title}` },
          el("code", {}, one.id), el("span", { class: "says" }, el("span", { class: "chip" }, one.level), " ", one.title))),
      this.columns.map((subject) => el("div", { role: "cell" }, this.cell(one, subject))));
  }

  cell(one, subject) {
    const verdict = verdictOf(one, subject.number);
    if (verdict === null) return el("span", { class: "verdict none", title: "no result" }, "–");
    const mark = one.marks[subject.number];
    const remark = mark === KNOWN ? "known" : mark === UNEXPECTED && verdict === "pass" ? "unexpected" : null;
    return el("a", {
      class: verdictClass(one, subject.number),
      href: caseAddress(this.state, one, subject.label),
      title: `${subject.label}: ${DATA.verdicts[verdict]}${mark === KNOWN ? " (known)" : mark === UNEXPECTED ? " (unexpected)" : ""}`,
    }, glyph(verdict), verdict, remark && el("small", {}, remark));
  }

  // Scroll to the row of a case and focus it.
  focus(id) {
    const at = this.rows.findIndex((row) => row.id === id);
    if (at < 0) return;
    const height = this.height();
    const room = this.box.clientHeight - 2 * height;
    if (at * height < this.box.scrollTop || at * height > this.box.scrollTop + room) this.box.scrollTop = at * height - room / 2;
    this.draw();
    this.live.get(at).querySelector("a").focus({ preventScroll: true });
  }

  height() {
    return parseFloat(getComputedStyle(this.sheet).getPropertyValue("--row"));
  }

  // Move between the links of the matrix with the arrow keys, as in a spreadsheet.
  step(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const row = event.target.closest(".row");
    if (!step || !row || event.ctrlKey || event.altKey || event.metaKey) return;
    const links = [...row.querySelectorAll("a")];
    const column = links.indexOf(event.target);
    if (column < 0) return;
    event.preventDefault();
    let beside = row;
    do beside = step[0] < 0 ? beside.previousSibling : step[0] > 0 ? beside.nextSibling : beside;
    while (step[0] && beside && !beside.querySelector("a"));
    const target = beside && beside.querySelectorAll("a")[column + step[1]];
    if (target) target.focus();
  }
}
