// Which cases a view shows. Within one kind of choice any may hold; all kinds must.

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

// Whether the subjects that were given a case disagree on it.
function differs(one, columns) {
  const given = columns.map(({ number }) => one.verdicts[number]).filter((code) => code !== NO_RESULT);
  return given.some((code) => code !== given[0]);
}
