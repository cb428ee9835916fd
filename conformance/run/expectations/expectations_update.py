"""Updating of an expectations file after a run, so that a run with the same results passes.

A case is removed from its entry if it passes, has another verdict, or fails otherwise than the entry lists. A case with
fewer wrong elements than listed gets an entry with the same reason that lists fewer. Patterns that match no case are
removed. A changed verdict keeps the reason of the entry. Failures without an entry are grouped by cause, apart from
failures that the baseline of the run accepts. Their reason comes from the user, or from a known fault or a diagnosis if
the user asks for it. Entries with one reason are joined. The key `supports` is written anew. tomlkit edits the file, so
comments and formatting are kept.

An older file has no key `supports`, and its entries have the keys `cases` and `verdict`. It is converted: the entries
get a key for each verdict, and entries for unsupported cases are removed.
"""

from __future__ import annotations

import copy
import glob
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.items import AoT, Array, Comment, Table, Whitespace

from conformance.base.errors import ExpectationsError, UsageError
from conformance.base.serialization.printable_text import one_line
from conformance.base.verdicts import Verdict
from conformance.run.expectations.conditions import ConditionContext
from conformance.run.expectations.criterion import support_names
from conformance.run.expectations.expectations_file import (
    VERDICT_KEYS,
    Expectation,
    Expectations,
    check_same_corpus,
    parse_expectations,
    read_expectations_text,
)
from conformance.run.expectations.support import SupportCounter
from conformance.run.mutants import mutants_by_id
from conformance.run.results.failure_groups import CaseResult, FailureGrouper, cause_text, group_failures
from conformance.run.results.known_faults import known_faults_in
from conformance.run.results.results_file import (
    UnexpectedKind,
    difference_from_entry,
    fail_level,
    is_partial,
    is_worse_than_baseline,
)
from conformance.run.results.wrong_elements import common_words, is_wrong_otherwise, wrong_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tomlkit import TOMLDocument

    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.known_faults import KnownFault
    from conformance.run.results.records import DiagnosisRecord, ResultRow, SubjectRecord
    from conformance.run.results.results_file import Results

_CAUSE_KEYS = ("reason", "issue", "mutants", "wrong", "checks", "intermittent")

MAX_ROUNDS = 1000
"""Largest number of rounds of updates; each round removes something, so fewer are needed."""

MAX_LINE_LENGTH = 110
"""Largest length of a line with a new list; a longer list has one line for each string."""


@dataclass(frozen=True)
class MissingEntry:
    """Failures with one cause for which the file has no entry.

    Attributes:
        number: the number of the cause. A cause that the report of the run lists has its number there.
        verdict: the verdict of the failures.
        cause: the cause in one sentence.
        cases: the ids of the cases.
        checks: the checks that a graph optimizer violates in these cases.
        reason: the reason that a known fault or a diagnosis gives; empty if the cause is not known. The reason of an
            unsupported case is the message of the subject.
        issue: address of the issue about the known fault, or empty.
        mutants: the mutant of the diagnosis, and those together with which it explains some of the cases.
        wrong: what is wrong with the outputs, if no mutant explains the failures.
    """

    number: int
    verdict: str
    cause: str
    cases: tuple[str, ...]
    checks: tuple[str, ...] = ()
    reason: str = ""
    issue: str = ""
    mutants: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class NewEntries:
    """The settings for new entries.

    Attributes:
        reason: the reason of the user, for one cause; empty if there is none.
        by_cause: whether a known fault or a diagnosis gives the reason. If there is neither, `reason` is used for
            one cause, or else the text of the failure.
        numbers: the numbers of the causes to write; None for all.
        is_selected: function that returns whether a case is selected.
        pins_unsupported: whether unsupported cases get entries too; the message of the subject is their reason.
        pins_wrong: whether entries that accept any wrong outputs get what is wrong on every machine.
    """

    reason: str = ""
    by_cause: bool = False
    numbers: frozenset[int] | None = None
    is_selected: Callable[[str], bool] = field(default=lambda _: True)
    pins_unsupported: bool = False
    pins_wrong: bool = False

    def text_for(self, entry: MissingEntry) -> str:
        """Return the reason for a missing entry, or an empty text if no entry is to be written."""
        if self.numbers is not None and entry.number not in self.numbers:
            return ""
        if entry.verdict == Verdict.UNSUPPORTED or (self.by_cause and entry.reason):
            return entry.reason
        return self.reason or (f"unexplained: {entry.cause}" if self.by_cause else "")


@dataclass(frozen=True)
class UpdatedFile:
    """The result of an update.

    Attributes:
        text: the new text of the file.
        missing: failures for which the file still has no entry.
        varying: cases with different verdicts in repeated runs; an entry cannot expect that.
        lost: for each support that the file no longer lists in full, the support before and after.
        accepted: number of failures that need no entry, because the baseline of the run has them too.
        before: the text before the update; empty for a new file.
    """

    text: str
    missing: tuple[MissingEntry, ...]
    varying: tuple[str, ...]
    lost: tuple[str, ...] = ()
    accepted: int = 0
    before: str = ""

    @property
    def is_changed(self) -> bool:
        """Whether the text is another one than before."""
        return self.text != self.before

    def difference(self, name: str) -> str:
        """Return a unified diff of both texts; `name` is the file name in its header."""
        before = self.before.splitlines(keepends=True)
        lines = unified_diff(before, self.text.splitlines(keepends=True), name, name)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


@dataclass(frozen=True)
class _SubjectResults:
    """The results of one subject in a run.

    Attributes:
        results: the result of each case.
        judged: cases whose level the pass criterion judges, without the cases in `varying`.
        varying: cases with different verdicts in repeated runs (`--repeat`).
        checks: for each case, the checks that a graph optimizer violates, at a level that the pass criterion judges.
        subject: the record of the subject.
        run: the run.
        context: the versions and the platform of the run, with which the `when` conditions of entries are compared.
        is_complete: whether every case of the corpus was run.
    """

    results: Mapping[str, ResultRow]
    judged: frozenset[str]
    varying: tuple[str, ...]
    checks: Mapping[str, tuple[str, ...]]
    context: ConditionContext
    is_complete: bool
    subject: SubjectRecord
    run: Results

    def wrong_words(self, case: str) -> tuple[str, ...]:
        """Return what is wrong with the outputs of a failing case, sorted; empty if it is unknown."""
        return tuple(sorted(wrong_words(self.run.results[self.subject.id, case])))


@dataclass
class _EntryUpdate:
    """The update of one entry: the cases to keep, to remove and to move to another entry with the reason of this one.

    Attributes:
        kept: cases that stay in the entry.
        removed: cases that pass, or fail otherwise than the entry lists.
        changed: cases with another verdict than the entry, or with fewer wrong elements than it lists, by their verdict
            and what the new entry lists as wrong.
    """

    kept: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    changed: dict[tuple[Verdict, tuple[str, ...]], set[str]] = field(default_factory=lambda: defaultdict(set))


@dataclass(eq=False)
class _EntryTable:
    """An `[[expect]]` table during the update: its entries change, and at the end they are written into its item.

    Attributes:
        item: the table in the document, or a table that the update adds.
        entries: the entries of the table, one for each verdict; a table without entries is removed.
        number: the index of the table in the file. A table that is split off has the index of its origin; a table at
            the end of the file has None.
    """

    item: Table
    entries: list[Expectation]
    number: int | None = None

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts of the entries."""
        return [entry.verdict for entry in self.entries]


def empty_expectations_file(subject: str, corpus: str) -> str:
    """Return the text of an expectations file without entries; the corpus of the suite has an empty name."""
    return tomlkit.dumps({"subject": subject, **({"corpus": corpus} if corpus else {})})


def update_file(path: Path, results: Path, run: Results, new: NewEntries = NewEntries()) -> UpdatedFile:
    """Update the text of an expectations file, or of a new one; the file itself is not written.

    Args:
        path: the expectations file.
        results: the file of the run, for an error.
        run: the run.
        new: the entries that may be added.

    Raises:
        UsageError: the file does not exist, and the run has no subject or several.
        ExpectationsError: the file is malformed.
    """
    before = read_expectations_text(path) if path.exists() else ""
    subjects = [subject.id for subject in run.header.subjects]
    if not before and len(subjects) != 1:
        raise UsageError("subject-count.new-file", results=results, count=len(subjects), expect=path)
    text = before or empty_expectations_file(subjects[0], run.header.corpus.name)
    return replace(update_expectations(text, str(path), run, new), before=before)


_HINT = (
    "Give --by-cause: each cause becomes an entry with its own text as reason."
    " Or give a reason of your own: --reason TEXT, with --cause N for a single cause."
)


def open_point_lines(updated: UpdatedFile, *, hint: bool = False) -> Iterator[str]:
    """Yield the failures that have no entry, and the cases whose verdict varies, as lines for the terminal."""
    causes: dict[int, list[MissingEntry]] = defaultdict(list)
    for missing in updated.missing:
        causes[missing.number].append(missing)
    for number, entries in causes.items():
        cases = [case for entry in entries for case in entry.cases]
        named = ", ".join(cases[:3]) + (f" and {len(cases) - 3} more" if len(cases) > 3 else "")
        verb = Verdict(entries[0].verdict).verb(len(cases))
        yield f"{number}. no entry expects that {named} {verb}: {one_line(entries[0].cause)}"
        for reason in dict.fromkeys(filter(None, (entry.reason for entry in entries))):
            yield f"   --by-cause would give the reason: {one_line(reason)}"
    if updated.accepted:
        failures = "1 failure needs" if updated.accepted == 1 else f"{updated.accepted} failures need"
        yield f"{failures} no entry, because the baseline of the run has the same failures."
    if updated.missing and hint:
        yield _HINT
    yield from (f"support is lost: {lost}" for lost in updated.lost)
    yield from (f"the verdict of {case} varies; no entry can expect that" for case in updated.varying)


def update_expectations(text: str, name: str, run: Results, new: NewEntries = NewEntries()) -> UpdatedFile:
    """Update an expectations file with the results of a run, and return its new text and the open points.

    Args:
        text: the text of the file.
        name: name of the file, for messages.
        run: results of a run of the subject that the file is about.
        new: the settings for new entries; by default none is written.

    Raises:
        ExpectationsError: the file is malformed or cannot be edited, is about another corpus, or its subject was not
            run.
        UsageError: there is no cause with one of the chosen numbers.
    """
    before = parse_expectations(text, name)
    check_same_corpus(before, run.header.corpus.name, run.case_rows)
    results = _subject_results(run, before.subject, name)
    document = tomlkit.parse(text)
    items = _tables(document, name) if "expect" in document else []
    tables = [_EntryTable(item, [], number) for number, item in enumerate(items)]
    for entry in before.entries:
        tables[entry.table].entries.append(entry)
    if before.supports is None and not new.pins_unsupported:
        for table in tables:
            table.entries = [entry for entry in table.entries if entry.verdict is not Verdict.UNSUPPORTED]
    for _ in range(MAX_ROUNDS):
        if not _update_entries(tables, results, new):
            break
    if new.pins_wrong:
        _pin_wrong(tables, results)
    missing, accepted = _missing_entries(tables, results, new)
    left = _add_entries(tables, missing, new, name)
    _join_causes(tables, results)
    listed = before.supports or ()
    supports = _supports(results).supports(listed, is_complete=results.is_complete)
    after = {support.name: support for support in supports}
    lost = tuple(
        f"{support} is now {after.get(support.name, 'unsupported')}"
        for support in listed
        if support.name not in after or after[support.name].unsupported > support.unsupported
    )
    updated = _write(document, tables, list(map(str, supports)))
    if "\r\n" in text:
        updated = re.sub(r"\r?\n", "\r\n", updated)
    return UpdatedFile(updated, tuple(left), results.varying, lost, accepted)


def _add_entries(
    tables: list[_EntryTable], missing: Sequence[MissingEntry], new: NewEntries, name: str
) -> list[MissingEntry]:
    """Add tables for missing entries, and return the failures that still have no entry.

    Raises:
        UsageError: there is no cause with one of the chosen numbers, or the reason would be written for several causes.
    """
    known = {entry.number for entry in missing}
    if unknown := sorted((new.numbers or frozenset()) - known):
        causes = f"{len(known)} cause{'s' * (len(known) != 1)}"
        variant = "number" if missing else "nothing"
        raise UsageError(f"no-such-cause.{variant}", number=unknown[0], name=name, causes=causes)
    left: list[MissingEntry] = []
    explained: set[str] = set()
    for entry in missing:
        chosen = tuple(case for case in entry.cases if new.is_selected(case))
        reason = new.text_for(entry) if chosen else ""
        if not reason:
            left.append(entry)
            continue
        explained |= {entry.cause} if new.numbers is None and reason == new.reason else set()
        if len(explained) > 1:
            instead = (
                "leave out --reason, so that each other cause gets the text of its failure"
                if new.by_cause
                else "give --by-cause instead"
            )
            count = len({each.cause for each in missing})
            raise UsageError("reason-for-several-causes", count=count, name=name, instead=instead)
        issue = entry.issue if reason == entry.reason else ""
        added = Expectation(
            cases=_literal(chosen),
            verdict=Verdict(entry.verdict),
            reason=reason,
            location="",
            issue=issue,
            checks=entry.checks,
            mutants=entry.mutants,
            wrong=entry.wrong,
            key=entry.verdict,
        )
        tables.append(_new_table(added))
        if others := tuple(case for case in entry.cases if case not in chosen):
            left.append(replace(entry, cases=others))
    return left


def _supports(results: _SubjectResults) -> SupportCounter:
    """Return the counts of supported cases."""
    counter = SupportCounter()
    for case, result in results.results.items():
        counter.add(support_names(results.run.cases[case], results.subject.kind), case, result.verdict)
    return counter


def _name_key_after_verdict(table: Table, verdict: str) -> None:
    """Rename the key `cases` of a table to the verdict, remove the key `verdict`, and move the reason to the front."""
    _rename_key(table, "cases", verdict)
    body = [pair for pair in table.value.body if _name_of(pair) != "verdict"]
    first = [pair for pair in body if _name_of(pair) in _CAUSE_KEYS]
    others = [pair for pair in body if _name_of(pair) not in _CAUSE_KEYS]
    start = next(place for place, pair in enumerate(others) if _name_of(pair))
    table.value.body[:] = [*others[:start], *first, *others[start:]]


def _rename_key(table: Table, before: str, after: str) -> None:
    body = table.value.body
    renamed = tomlkit.key(after)
    place = _place_of(body, before)
    renamed.sep = " = "
    body[place] = (renamed, body[place][1])


def _name_of(pair: tuple[Any, Any]) -> str:
    """Return the key of an item of a table; empty for a comment or an empty line."""
    return pair[0].key if pair[0] is not None else ""


def _place_of(body: Sequence[tuple[Any, Any]], name: str) -> int:
    """Return the index of the first item with this key."""
    return [_name_of(pair) for pair in body].index(name)


def _insert_after(body: list[tuple[Any, Any]], name: str, key: Any, item: Any) -> None:
    """Insert an item after the item with the key `name`."""
    body.insert(_place_of(body, name) + 1, (key, item))


def _join_causes(tables: list[_EntryTable], results: _SubjectResults) -> None:
    """Join the tables with one cause: one reason, issue and condition.

    Patterns with an exception are then replaced by the ids of their cases. Tables are not joined if another entry
    would then apply to a case of the run, or if a partial run lacks cases of such a pattern.
    """
    applied = _applied_entries(tables, results)
    for other in [table for table in tables if table.entries]:
        for table in tables[: tables.index(other)]:
            if not table.entries or not _has_cause_of(table, other):
                continue
            has_exceptions = bool(table.entries[0].exceptions or other.entries[0].exceptions)
            if has_exceptions and not results.is_complete:
                continue
            before = table.entries, other.entries
            table.entries = _joined_entries(*before, results)
            other.entries = []
            if _applied_entries(tables, results) == applied:
                break
            table.entries, other.entries = before


def _joined_entries(
    entries: Sequence[Expectation], others: Sequence[Expectation], results: _SubjectResults
) -> list[Expectation]:
    """Return the entries of a table with the cases of the entries of another table."""
    mutants = tuple(dict.fromkeys(entries[0].mutants + others[0].mutants))
    found: dict[Verdict, Expectation] = {}
    has_exceptions = entries[0].exceptions or others[0].exceptions
    for entry in (*entries, *others):
        cases = _cases_without_exceptions(entry, results) if has_exceptions else entry.cases
        present = found.setdefault(entry.verdict, replace(entry, cases=(), exceptions=(), mutants=mutants))
        found[entry.verdict] = replace(present, cases=tuple(dict.fromkeys(present.cases + cases)))
    return [entry for entry in found.values() if entry.cases]


def _cause_of(entry: Expectation) -> tuple[object, ...]:
    condition = entry.condition and replace(entry.condition, location="")
    return entry.reason, entry.issue, condition, entry.checks, entry.intermittent, entry.mutants[:1]


def _has_cause_of(table: _EntryTable, other: _EntryTable) -> bool:
    """Return whether two tables have one cause; kinds of wrong elements are compared if both list failures."""
    wrong = {entry.wrong for entry in (*table.entries, *other.entries) if entry.verdict is Verdict.FAIL}
    return len(wrong) < 2 and _cause_of(table.entries[0]) == _cause_of(other.entries[0])


def _cases_without_exceptions(entry: Expectation, results: _SubjectResults) -> tuple[str, ...]:
    """Return the patterns of an entry; the ids of its other cases replace a pattern that matches an excepted case."""
    cases: list[str] = []
    for pattern, matched in zip(entry.cases, entry.cases_of_each(results.results), strict=True):
        kept = {case for case in matched if entry.matches(case)}
        cases += [pattern] if kept == matched else _literal(kept)
    return tuple(cases)


def _applied_entries(tables: Sequence[_EntryTable], results: _SubjectResults) -> dict[str, tuple[object, ...]]:
    """Return the cause and the verdict that the tables give for each case of the run."""
    expectations = Expectations("", tuple(_entries_of(tables)))
    found = ((case, expectations.entry_for(case)) for case in results.results)
    return {case: (entry.verdict, entry.wrong, *_cause_of(entry)) for case, entry in found if entry is not None}


def _entries_of(tables: Sequence[_EntryTable]) -> list[Expectation]:
    return [entry for table in tables for entry in table.entries]


def _subject_results(run: Results, subject: str, name: str) -> _SubjectResults:
    """Return the results of one subject of a run.

    Args:
        name: name of the expectations file, for messages.

    Raises:
        ExpectationsError: the subject was not run.
    """
    subjects = {one.id: one for one in run.header.subjects}
    if subject not in subjects:
        raise ExpectationsError("subject-not-run.in-results", name=name, subject=subject, path=run.path)
    results = {case: row for (of, case), row in run.rows.items() if of == subject}
    level = fail_level(run.header)
    varying = tuple(sorted(case for case, result in results.items() if result.varies))
    judged = (case for case, result in results.items() if result.level.is_within(level))
    return _SubjectResults(
        results,
        frozenset(judged) - set(varying),
        varying,
        {case: result.violated_checks(level) for case, result in results.items()},
        ConditionContext.from_environment(subjects[subject].version, run.header.environment),
        not is_partial(run),
        subjects[subject],
        run,
    )


def _update_entries(tables: list[_EntryTable], results: _SubjectResults, new: NewEntries) -> bool:
    """Update one entry of each table, and return whether an entry has changed.

    The caller repeats this function until no entry changes: if a case is removed from its entry, a later entry may
    match it in the next round.
    """
    entries = _entries_of(tables)
    updates = _entry_updates(entries, results)
    _remove_outdated_reasons(entries, updates, results, new)
    is_changed = False
    for place, table in reversed(list(enumerate(tables))):
        own = [number for number, entry in enumerate(entries) if any(entry is one for one in table.entries)]
        for number in reversed([number for number in own if number in updates]):
            before = list(table.entries)
            split = _update_entry(table, entries[number], updates[number], is_complete=results.is_complete)
            if split or table.entries != before:
                tables[place + 1 : place + 1] = split
                is_changed = True
                break  # another entry of the table is updated in the next round
    return is_changed


def _entry_updates(entries: Sequence[Expectation], results: _SubjectResults) -> dict[int, _EntryUpdate]:
    """Return the update of each entry whose condition is satisfied, by the index of the entry."""
    applying = [
        number
        for number, entry in enumerate(entries)
        if entry.condition is None or entry.condition.holds(results.context)
    ]
    updates = {number: _EntryUpdate() for number in applying}
    for case, result in results.results.items():
        number = next((number for number in applying if entries[number].matches(case)), None)
        if number is None:
            continue
        update = updates[number]
        entry = entries[number]
        recorded = result.expected
        is_other = recorded is not None and recorded.has_other_cause and tuple(recorded.mutants) == entry.mutants
        smaller: tuple[str, ...] | None = None
        if entry.wrong and result.verdict is entry.verdict:
            words = results.wrong_words(case)
            is_other = is_other or is_wrong_otherwise(words, entry.wrong)
            smaller = entry.smaller_wrong(words)
        expected = entry.expected(case, has_other_cause=is_other)
        difference = difference_from_entry(result, expected, fail_level(results.run.header))
        if difference is None and smaller is not None and case in results.judged:
            update.changed[result.verdict, smaller].add(case)
        elif difference is None or case not in results.judged:
            update.kept.add(case)
        elif difference is UnexpectedKind.DIFFERS:
            update.changed[result.verdict, ()].add(case)
        else:
            update.removed.add(case)
    return updates


def _pin_wrong(tables: Sequence[_EntryTable], results: _SubjectResults) -> None:
    """Write what is wrong into each entry that accepts any wrong outputs of its cases."""
    entries = _entries_of(tables)
    updates = _entry_updates(entries, results)
    kept = {id(entries[number]): update.kept for number, update in updates.items()}
    for table in tables:
        for place, entry in enumerate(table.entries):
            if entry.verdict is Verdict.FAIL and not (entry.wrong or entry.mutants or entry.checks):
                failing = (case for case in kept.get(id(entry), ()) if results.results[case].verdict is Verdict.FAIL)
                table.entries[place] = replace(entry, wrong=common_words(map(results.wrong_words, failing)))


def _remove_outdated_reasons(
    entries: Sequence[Expectation], updates: Mapping[int, _EntryUpdate], results: _SubjectResults, new: NewEntries
) -> None:
    """With `--by-cause`, remove the cases from entries with the reason of an earlier diagnosis.

    These are cases that the diagnosis of this run explains by another mistake; they get a new entry. A reason that the
    user wrote stays.
    """
    if not new.by_cause or new.numbers is not None:
        return
    own = [record for record in results.run.footer.diagnoses if record.subject == results.subject.id]
    diagnosed = {case for record in own for case in record.cases if new.is_selected(case)}
    current = {(record.mutant,) for record in own}
    reasons = {cause_text(record) for record in own}
    texts = {f"{mutant.operator}: {mutant.text}" for mutant in mutants_by_id().values()}
    for number, update in updates.items():
        reason = entries[number].reason
        is_of_a_diagnosis = any(reason.split(mark)[0] in texts for mark in (";", " (", "\n"))
        is_current = entries[number].mutants[:1] in current or (not entries[number].mutants and reason in reasons)
        if is_of_a_diagnosis and not is_current:
            outdated = update.kept & diagnosed & results.judged
            update.kept -= outdated
            update.removed |= outdated


def _update_entry(
    table: _EntryTable, entry: Expectation, update: _EntryUpdate, *, is_complete: bool
) -> list[_EntryTable]:
    """Update one entry of a table, and return the tables that are split off, one for each change.

    An entry whose cases all have one other verdict, or fewer wrong elements of one description, is changed itself.
    """
    place = table.entries.index(entry)
    if len(update.changed) == 1 and not update.kept and not update.removed and is_complete:
        ((verdict, wrong),) = update.changed
        is_plain = not (entry.checks or entry.mutants or entry.wrong) and verdict not in table.verdicts
        if wrong or is_plain:
            table.entries[place] = replace(entry, verdict=verdict, wrong=wrong)
            return []
    removed = update.removed.union(*update.changed.values())
    left = _without_cases(entry, update.kept, removed, is_complete=is_complete)
    table.entries[place : place + 1] = [left] if left.cases else []
    table.entries = [replace(one, exceptions=left.exceptions) for one in table.entries]
    origin = replace(entry, exceptions=(), checks=(), mutants=(), wrong=(), intermittent=False)
    return [
        _new_table(
            replace(origin, cases=_literal(cases), verdict=verdict, wrong=wrong, key=str(verdict)),
            table.item.get("when"),
            table.number,
        )
        for (verdict, wrong), cases in sorted(update.changed.items())
    ]


def _write(document: TOMLDocument, tables: Sequence[_EntryTable], supports: Sequence[str]) -> str:
    """Write the entries into their tables, the tables and the supports into the document, and return its text."""
    items: dict[int | None, list[Table]] = defaultdict(list)
    for table in tables:
        if table.entries:
            _write_entries(table)
            items[table.number].append(table.item)
    old = _tables(document) if "expect" in document else []
    for number in reversed(range(len(old))):
        if items[number] != [old[number]]:
            _replace_entry(document, number, items[number])
    if "supports" not in document:
        _insert_after(document.body, "subject", tomlkit.key("supports"), _string_list(supports, "supports"))
    elif _strings_of(document["supports"]) != list(supports):
        document["supports"] = _string_list(supports, "supports")
    text = tomlkit.dumps(document)
    for item in items[None]:
        text = f"{text.rstrip(chr(10))}\n\n[[expect]]\n{item.as_string()}"
    return text


def _write_entries(table: _EntryTable) -> None:
    """Write the cases, exceptions and mutants of the entries of a table into its item.

    tomlkit does not find the keys after changes of `body`, so these come last.
    """
    item = table.item
    first = table.entries[0]
    written: dict[str, Expectation] = {}
    added = []
    for entry in table.entries:
        if entry.key in item and entry.key not in written:
            written[entry.key] = entry
        else:
            added.append((str(entry.verdict), entry.cases))
    for key in {"cases", *VERDICT_KEYS} & item.keys() - written.keys():
        item.remove(key)
    wrong = next((entry.wrong for entry in table.entries if entry.wrong), ())
    listed = wrong if "wrong" in item else ()
    for key, strings in (
        ("mutants", first.mutants),
        ("wrong", listed),
        *((key, entry.cases) for key, entry in written.items()),
    ):
        _set_strings(item, key, strings)
    if "except" in item:
        _set_strings(item, "except", first.exceptions)
    elif first.exceptions:
        added.append(("except", first.exceptions))
    for key, entry in written.items():
        if key == "cases":
            _name_key_after_verdict(item, entry.verdict)
        elif key != entry.verdict:
            _rename_key(item, key, entry.verdict)
    body = item.value.body
    for key, strings in added:
        last = [name for name in map(_name_of, body) if name in VERDICT_KEYS][-1]
        _insert_after(body, last, tomlkit.key(key), _string_list(strings, key))
    if wrong and not listed:
        _insert_after(body, "reason", tomlkit.key("wrong"), _string_list(wrong, "wrong"))


def _tables(document: TOMLDocument, name: str = "") -> list[Table]:
    """Return the mutable list of the `[[expect]]` tables in a document.

    Args:
        name: name of the file, for messages.

    Raises:
        ExpectationsError: the entries are written in another form.
    """
    entries: Any = document["expect"]
    if not isinstance(entries, AoT):
        raise ExpectationsError("cannot-edit", name=name)
    tables: list[Table] = entries.body
    return tables


def _replace_entry(document: TOMLDocument, number: int, by: list[Table]) -> None:
    """Replace an entry by other entries with empty lines between them; comments and lines after the entry are kept."""
    tables = _tables(document)
    after = _pop_trailing_lines(tables[number])
    if not by:
        while after and isinstance(after[0][1], Whitespace):
            after.pop(0)
    for table in by[:-1]:
        table.value.body.append((None, Whitespace("\n")))
    tables[number : number + 1] = by
    before = tables[number + len(by) - 1] if number + len(by) else None
    if before is not None:
        _innermost_body(before).extend(after)
        return
    place = _place_of(document.body, "expect")
    document.body[place : place + (not tables)] = after  # tomlkit would write an empty list as `expect = []`


def _pop_trailing_lines(table: Table) -> list[tuple[Any, Any]]:
    """Remove and return the comments and empty lines at the end of a table."""
    body = _innermost_body(table)
    end = len(body)
    while end and isinstance(body[end - 1][1], Comment | Whitespace):
        end -= 1
    after = body[end:]
    del body[end:]
    return after


def _innermost_body(table: Table) -> list[tuple[Any, Any]]:
    """Return the mutable list of items of a table, or of a table at its end, such as `[expect.when]`."""
    body: list[tuple[Any, Any]] = table.value.body
    last = body[-1][1] if body else None
    return _innermost_body(last) if isinstance(last, Table) and not last.is_super_table() and body else body


def _without_cases(entry: Expectation, kept: set[str], removed: set[str], *, is_complete: bool) -> Expectation:
    """Return an entry without the removed cases; it may have no pattern left.

    If no case of a pattern is kept, the pattern is removed. If fewer cases of a pattern are kept than removed, the ids
    of the kept cases replace the pattern. Otherwise the ids of the removed cases are added to the exceptions.
    """
    cases: list[str] = []
    excepted: set[str] = set()
    for pattern, own, leaving in zip(entry.cases, entry.cases_of_each(kept), entry.cases_of_each(removed), strict=True):
        if not own and (is_complete or pattern in removed):
            continue
        if is_complete and len(own) < len(leaving):
            cases += _literal(own)
        else:
            cases.append(pattern)
            excepted |= leaving
    return replace(entry, cases=tuple(cases), exceptions=entry.exceptions + _literal(excepted))


def _set_strings(table: Table, key: str, strings: Sequence[str]) -> None:
    """Set the value of a key, which is a string or a list of strings; equal strings of a list keep their lines."""
    item = table.get(key, [])
    before = _strings_of(item)
    if not strings and before:
        table.remove(key)
    elif not isinstance(item, Array) and before != list(strings):
        table[key] = strings[0] if len(strings) == 1 else _string_list(strings, key)
    else:
        for _, start, end, first, after in reversed(SequenceMatcher(None, before, strings, False).get_opcodes()):
            for number in reversed(range(start + after - first, end)):
                item.pop(number)
            for number, string in enumerate(strings[first:after], start):
                if number >= end:
                    item.insert(number, string)
                elif before[number] != string:
                    item[number] = string


def _strings_of(item: Any) -> list[str]:
    """Return the strings of the value of a key, which is a string or a list of strings."""
    return [item] if isinstance(item, str) else list(item)


def _missing_entries(
    tables: Sequence[_EntryTable], results: _SubjectResults, new: NewEntries
) -> tuple[tuple[MissingEntry, ...], int]:
    """Return the failures without an entry by cause, and the number of failures that the baseline accepts.

    The causes have the numbers of the report of the run, which do not depend on the entries of the file. Further causes
    follow: those of failures that another file of the run expected, and of unsupported cases.
    """
    expectations = Expectations("", tuple(_entries_of(tables))).applying(results.context)
    run = results.run
    subject = results.subject.id
    missing: set[str] = set()
    accepted = 0
    for case in sorted(results.judged):
        row = results.results[case]
        verdict = row.verdict
        is_listed = verdict.is_defect or (new.pins_unsupported and verdict is Verdict.UNSUPPORTED)
        if not is_listed or expectations.entry_for(case) is not None:
            continue
        if row.baseline is not None and verdict.is_defect and not is_worse_than_baseline(row):
            accepted += 1
        else:
            missing.add(case)
    groups = [group for group in group_failures(run) if group.subject == subject]
    further = FailureGrouper(lambda of, case: CaseResult(run.cases[case], run.results[of, case]))
    for case in sorted(missing.difference(*(group.cases for group in groups))):
        further.add(run.cases[case], run.results[subject, case])
    entries: list[MissingEntry] = []
    for number, group in enumerate([*groups, *further.groups(run.footer.diagnoses)], 1):
        if cases := tuple(case for case in group.cases if case in missing):
            entries += _entries_of_cause(replace(group, cases=cases), number, results)
    return tuple(entries), accepted


def _entries_of_cause(group: FailureGroup, number: int, results: _SubjectResults) -> Iterator[MissingEntry]:
    """Yield the missing entries of a cause.

    The cases of a known fault have an entry of their own, unless a diagnosis explains the whole group. Cases with
    different violated checks have different entries. So have cases with other wrong elements, if no mutant of the
    catalogue explains them.
    """
    mutants = _mutants_of_cause(group.diagnosis, results) if group.diagnosis else ()
    faults = {case: _known_fault(case, results) for case in group.cases}
    parts: dict[tuple[KnownFault | None, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for case in sorted(group.cases):
        checks = results.checks[case] if group.verdict == Verdict.FAIL else ()
        wrong = () if checks or mutants else results.wrong_words(case)
        parts[None if group.diagnosis else faults[case], checks, wrong].append(case)
    for (fault, checks, wrong), cases in parts.items():
        found = [fault] if fault else list(dict.fromkeys(filter(None, map(faults.__getitem__, cases))))
        known = "; ".join(f"{one.title} ({one.location})" for one in found)
        reason = known
        if group.diagnosis:
            reason = cause_text(group.diagnosis) + (f"; known fault: {known}" if known else "")
        if group.verdict == Verdict.UNSUPPORTED:
            reason = group.message or group.text or "The subject does not support the case."
        issue = _issue_address(found[0].upstream) if len(found) == 1 else ""
        yield MissingEntry(number, group.verdict, group.sentence, tuple(cases), checks, reason, issue, mutants, wrong)


def _mutants_of_cause(diagnosis: DiagnosisRecord, results: _SubjectResults) -> tuple[str, ...]:
    """Return the mutant of a diagnosis, and those together with which it explains some cases.

    A mutant of a node that is not in the catalogue cannot be run on another model, so that no entry names it.
    """
    if diagnosis.mutant not in mutants_by_id():
        return ()
    jointly = set(diagnosis.jointly_explained)
    own = (one for one in results.run.footer.diagnoses if one.subject == diagnosis.subject)
    partners = (one.mutant for one in own if one is not diagnosis and jointly & set(one.jointly_explained))
    return tuple(dict.fromkeys((diagnosis.mutant, *partners)))


def _known_fault(case: str, results: _SubjectResults) -> KnownFault | None:
    """Return the known fault that a failing case shows, or None."""
    subject = results.subject
    result = results.results[case]
    found = known_faults_in(subject.id, subject.kind, case)
    return next((fault for fault in found if fault.fits(subject.version, result)), None)


_ISSUE = re.compile(r"\b([\w-]+/[\w.-]+)#(\d+)")


def _issue_address(upstream: str) -> str:
    """Return the address of the first issue in the upstream state of a known fault; empty if it names no issue."""
    found = _ISSUE.search(upstream)
    return f"https://github.com/{found[1]}/issues/{found[2]}" if found else ""


def _literal(cases: Iterable[str]) -> tuple[str, ...]:
    """Return patterns that match exactly these cases."""
    return tuple(glob.escape(case) for case in sorted(cases))


def _new_table(entry: Expectation, when: Any = None, number: int | None = None) -> _EntryTable:
    """Return a table with one entry.

    Args:
        when: the condition of another table, which is copied.
        number: the index of the table that it is split off from; None for a table at the end of the file.
    """
    item = tomlkit.table()
    item["reason"] = entry.reason
    if entry.issue:
        item["issue"] = entry.issue
    for key, strings in (
        ("checks", entry.checks),
        ("mutants", entry.mutants),
        ("wrong", entry.wrong),
        (entry.key, entry.cases),
    ):
        if strings:
            item[key] = _string_list(strings, key)
    if when is not None:
        item["when"] = copy.deepcopy(when)
    return _EntryTable(item, [entry], number)


def _string_list(strings: Sequence[str], key: str) -> Array:
    """Return strings as a TOML array, in one line if `key` and the array fit."""
    texts = [tomlkit.string(string).as_string() for string in strings]
    line = f"[{', '.join(texts)}]"
    if len(key) + len(line) > MAX_LINE_LENGTH:
        line = "[\n" + "".join(f"  {text},\n" for text in texts) + "]"
    return tomlkit.parse(f"{key} = {line}\n").item(key)  # type: ignore[return-value]
