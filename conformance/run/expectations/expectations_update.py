"""Updating of an expectations file after a run, so that a run with the same results passes.

A case is removed from its entry if it passes, has another verdict, or violates a check that the entry does not list.
Patterns that match no case are removed. A changed verdict keeps the reason of the entry. Failures without an entry are
grouped by cause, apart from failures that the baseline of the run accepts. Their reason comes from the user, or from a
known fault or a diagnosis if the user asks for it. Entries with one reason are joined. The key `supports` is written
anew. tomlkit edits the file, so comments and formatting are kept.

An older file has no key `supports`, and its entries have the keys `cases` and `verdict`. It is converted: the entries
get a key for each verdict, and entries for unsupported cases are removed.
"""

from __future__ import annotations

import copy
import glob
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.items import AoT, Array, Comment, Table, Whitespace

from conformance.base.errors import ExpectationsError, UsageError
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case import CaseKind
from conformance.run.expectations.conditions import ConditionContext
from conformance.run.expectations.expectations_file import VERDICT_KEYS, check_same_corpus, parse_expectations
from conformance.run.expectations.support import SupportCounter, support_name
from conformance.run.mutants import mutants_by_id
from conformance.run.results.failure_groups import CaseResult, FailureGrouper, cause_text
from conformance.run.results.known_faults import known_faults_in
from conformance.run.results.results_file import fail_level, is_partial
from conformance.run.results.unexpected_results import is_worse_than_baseline
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tomlkit import TOMLDocument

    from conformance.run.expectations.expectations_file import Expectation, Expectations
    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.known_faults import KnownFault
    from conformance.run.results.records import DiagnosisRecord, ResultRow, SubjectRecord
    from conformance.run.results.results_file import Results

_CAUSE_KEYS = ("reason", "issue", "mutants", "checks", "intermittent")

MAX_ROUNDS = 1000
"""Largest number of rounds of edits; each round removes something, so fewer are needed."""

MAX_LINE_LENGTH = 110
"""Largest length of a line with a new list; a longer list has one line for each string."""


@dataclass(frozen=True)
class MissingEntry:
    """Failures with one cause for which the file has no entry.

    Attributes:
        verdict: the verdict of the failures.
        cause: the cause in one sentence.
        cases: the ids of the cases.
        checks: the checks that a graph optimizer violates in these cases.
        reason: the reason that a known fault or a diagnosis gives; empty if the cause is not known. The reason of an
            unsupported case is the message of the subject.
        issue: address of the issue about the known fault, or empty.
        mutants: the mutant of the diagnosis, and those together with which it explains some of the cases.
    """

    verdict: str
    cause: str
    cases: tuple[str, ...]
    checks: tuple[str, ...] = ()
    reason: str = ""
    issue: str = ""
    mutants: tuple[str, ...] = ()


@dataclass(frozen=True)
class NewEntries:
    """The settings for new entries.

    Attributes:
        reason: the reason of the user, for one cause; empty if there is none.
        by_cause: whether a known fault or a diagnosis gives the reason. If there is neither, `reason` is used for
            one cause, or else the text of the failure.
        numbers: the causes to write, by their position from 1 among the missing entries; None for all.
        is_selected: function that returns whether a case is selected.
        pins_unsupported: whether unsupported cases get entries too; the message of the subject is their reason.
    """

    reason: str = ""
    by_cause: bool = False
    numbers: frozenset[int] | None = None
    is_selected: Callable[[str], bool] = field(default=lambda _: True)
    pins_unsupported: bool = False

    def text_for(self, number: int, entry: MissingEntry) -> str:
        """Return the reason for a missing entry, or an empty text if no entry is to be written."""
        if self.numbers is not None and number not in self.numbers:
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
    """

    text: str
    missing: tuple[MissingEntry, ...]
    varying: tuple[str, ...]
    lost: tuple[str, ...] = ()
    accepted: int = 0


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


@dataclass
class _EntryUpdate:
    """The update of one entry: the cases to keep, to remove and to move to an entry with another verdict.

    Attributes:
        kept: cases that stay in the entry.
        removed: cases that pass, or violate a check that the entry does not list.
        changed: cases with another verdict than the entry, by their verdict.
    """

    kept: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    changed: dict[Verdict, set[str]] = field(default_factory=lambda: defaultdict(set))


def empty_expectations_file(subject: str, corpus: str) -> str:
    """Return the text of an expectations file without entries; the corpus of the suite has an empty name."""
    return tomlkit.dumps({"subject": subject, **({"corpus": corpus} if corpus else {})})


def update_expectations(text: str, name: str, run: Results, new: NewEntries = NewEntries()) -> UpdatedFile:
    """Update an expectations file with the results of a run, and return its new text and the open points.

    Args:
        text: the text of the file.
        name: name of the file, for messages.
        run: results of a run of the subject that the file is about.
        new: the settings for new entries; by default none is written.

    Raises:
        ExpectationsError: the file is malformed or cannot be edited, or its subject was not run.
        UsageError: there is no cause with one of the chosen numbers.
    """
    before = parse_expectations(text, name)
    has_windows_line_ends = "\r\n" in text
    check_same_corpus(before, run.header.corpus.name)
    results = _subject_results(run, before.subject, name)
    text = _convert(text, name, keeps_unsupported=before.supports is not None or new.pins_unsupported)
    for _ in range(MAX_ROUNDS):
        updated = _update_entries(text, name, results, new)
        if updated == text:
            break
        text = updated
    missing, accepted = _missing_entries(text, name, results, new)
    text, left = _add_entries(text, missing, new, name)
    text = _join_causes(text, name, results)
    listed = before.supports or ()
    supports = _supports(results).supports(listed, is_complete=results.is_complete)
    after = {support.name: support for support in supports}
    lost = tuple(
        f"{support} is now {after.get(support.name, 'unsupported')}"
        for support in listed
        if support.name not in after or after[support.name].unsupported > support.unsupported
    )
    text = _set_supports(text, list(map(str, supports)))
    if has_windows_line_ends:
        text = re.sub(r"\r?\n", "\r\n", text)
    return UpdatedFile(text, tuple(left), results.varying, lost, accepted)


def _add_entries(
    text: str, missing: Sequence[MissingEntry], new: NewEntries, name: str
) -> tuple[str, list[MissingEntry]]:
    """Return the text with new entries, and the failures that still have none.

    Raises:
        UsageError: there is no cause with one of the chosen numbers, or the reason would be written for several causes.
    """
    if unknown := sorted(number for number in new.numbers or () if not 1 <= number <= len(missing)):
        causes = f"{len(missing)} cause{'s' * (len(missing) != 1)}"
        variant = "number" if missing else "nothing"
        raise UsageError(f"no-such-cause.{variant}", number=unknown[0], name=name, causes=causes)
    left: list[MissingEntry] = []
    explained: set[str] = set()
    for number, entry in enumerate(missing, 1):
        chosen = tuple(case for case in entry.cases if new.is_selected(case))
        reason = new.text_for(number, entry) if chosen else ""
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
            raise UsageError("reason-for-several-causes", count=len(missing), name=name, instead=instead)
        issue = entry.issue if reason == entry.reason else ""
        table = _new_entry(_literal(chosen), entry.verdict, reason, issue, checks=entry.checks, mutants=entry.mutants)
        text = f"{text.rstrip(chr(10))}\n\n[[expect]]\n{table.as_string()}"
        if others := tuple(case for case in entry.cases if case not in chosen):
            left.append(replace(entry, cases=others))
    return text, left


def _supports(results: _SubjectResults) -> SupportCounter:
    """Return the counts of supported cases; for a backend, cases of the pass do not count."""
    counter = SupportCounter()
    cases = results.run.cases
    is_backend = results.subject.kind == SubjectKind.BACKEND
    for case, result in results.results.items():
        if not (is_backend and cases[case].kind == CaseKind.PASS):
            counter.add(support_name(cases[case]), case, result.verdict)
    return counter


def _set_supports(text: str, supports: Sequence[str]) -> str:
    """Return the text with these supports, in place of the old ones or after the subject."""
    document = tomlkit.parse(text)
    if list(document.get("supports", ())) == list(supports) and "supports" in document:
        return text
    array = _string_list(supports, "supports")
    if "supports" in document:
        document["supports"] = array
    else:
        _insert_after(document.body, "subject", tomlkit.key("supports"), array)
    return tomlkit.dumps(document)


def _convert(text: str, name: str, *, keeps_unsupported: bool) -> str:
    """Return the text with a key for each verdict in place of the keys `cases` and `verdict` of an older file.

    Args:
        keeps_unsupported: whether entries for unsupported cases are kept.
    """
    entries = parse_expectations(text, name).entries
    document = tomlkit.parse(text)
    tables = _tables(document, name) if entries else []
    for entry in reversed(entries):
        if entry.verdict is not Verdict.UNSUPPORTED or keeps_unsupported:
            if entry.key == "cases":
                _name_key_after_verdict(tables[entry.table], entry.verdict)
        elif any(one.table == entry.table and one is not entry for one in entries):
            tables[entry.table].remove(entry.key)
        else:
            _replace_entry(document, entry.table, [])
    return tomlkit.dumps(document)


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


def _join_causes(text: str, name: str, results: _SubjectResults) -> str:
    """Return the text with one table for each cause: entries with one reason, issue and condition are joined.

    Patterns with an exception are then replaced by the ids of their cases. Entries are not joined if another entry
    would then apply to a case of the run, or if a partial run lacks cases of such a pattern.
    """
    place = 0
    while True:
        expectations = parse_expectations(text, name)
        causes = {entry.table: _cause_of(entry) for entry in expectations.entries}
        pairs = [(one, other) for other in causes for one in range(other) if causes[one] == causes[other]]
        if place >= len(pairs):
            return text
        document = tomlkit.parse(text)
        tables = [entry for entry in expectations.entries if entry.table in pairs[place]]
        if any(entry.exceptions for entry in tables):
            if not results.is_complete:
                place += 1
                continue
            for entry in tables:
                _write_out_exceptions(_tables(document)[entry.table], entry, results)
        _join_tables(document, *pairs[place])
        joined = tomlkit.dumps(document)
        if _applied_entries(parse_expectations(joined, name), results) == _applied_entries(expectations, results):
            text = joined
        else:
            place += 1


def _cause_of(entry: Expectation) -> tuple[object, ...]:
    condition = entry.condition and replace(entry.condition, location="")
    return entry.reason, entry.issue, condition, entry.checks, entry.intermittent, entry.mutants[:1]


def _write_out_exceptions(table: Table, entry: Expectation, results: _SubjectResults) -> None:
    """Replace each pattern that matches an excepted case by the ids of its other cases, and remove the key `except`."""
    replacements = {}
    for number in range(len(entry.cases)):
        matched = {case for case in results.results if number in entry.matching(case)}
        kept = {case for case in matched if entry.matches(case)}
        if kept != matched:
            replacements[number] = _literal(kept)
    _replace_strings(table, entry.key, replacements)
    if "except" in table:
        table.remove("except")


def _applied_entries(expectations: Expectations, results: _SubjectResults) -> dict[str, tuple[object, ...]]:
    """Return the cause and the verdict that the file gives for each case of the run."""
    found = ((case, expectations.entry_for(case)) for case in results.results)
    return {case: (entry.verdict, *_cause_of(entry)) for case, entry in found if entry is not None}


def _join_tables(document: TOMLDocument, number: int, other: int) -> None:
    """Move the cases of a table to another table, and remove the table.

    Args:
        number: index of the table that is kept.
        other: index of the table that is removed.
    """
    tables = _tables(document)
    table = tables[number]
    body = tables[number].value.body
    if "mutants" in table:
        mutants = (id for one in (table, tables[other]) for id in _strings_of(one["mutants"]))
        table["mutants"] = _string_list(list(dict.fromkeys(mutants)), "mutants")
    for key, item in tables[other].value.body:
        if key is None or key.key not in VERDICT_KEYS:
            continue
        if key.key in table:
            present = _strings_of(table[key.key])
            _replace_strings(table, key.key, {len(present) - 1: [str(present[-1]), *map(str, _strings_of(item))]})
        else:
            _insert_after(body, [name for name in map(_name_of, body) if name in VERDICT_KEYS][-1], key, item)
    _replace_entry(document, other, [])


def _strings_of(item: Any) -> list[Any]:
    """Return the strings of the value of a key, which is a string or a list of strings."""
    return [item] if isinstance(item, str) else list(item)


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


def _update_entries(text: str, name: str, results: _SubjectResults, new: NewEntries) -> str:
    """Return the text of an expectations file after one round of edits.

    The caller repeats this function until the text does not change: if a case is removed from its entry, a later entry
    may match it in the next round.
    """
    entries = parse_expectations(text, name).entries
    document = tomlkit.parse(text)
    updates = _entry_updates(entries, results)
    _remove_outdated_reasons(entries, updates, results, new)
    edited: set[int] = set()
    for number in sorted(updates, reverse=True):
        entry = entries[number]
        if entry.table not in edited and _update_entry(
            document, entry, updates[number], is_complete=results.is_complete
        ):
            edited.add(entry.table)  # another key of the table is edited in the next round
    return tomlkit.dumps(document)


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
        verdict = result.verdict
        expected = entry.verdict
        may_pass = entry.intermittent and verdict is Verdict.PASS
        unnamed = set(results.checks[case]) - set(entry.checks) if entry.checks else set()
        is_other = unnamed or _has_other_cause(entry, result)
        if (verdict is expected and not is_other) or may_pass or case not in results.judged:
            update.kept.add(case)
        elif verdict is expected or verdict is Verdict.PASS:
            update.removed.add(case)
        else:
            update.changed[verdict].add(case)
    return updates


def _has_other_cause(entry: Expectation, result: ResultRow) -> bool:
    """Return whether the run found that a failure is not the one of the entry with these mutants."""
    expected = result.expected
    return expected is not None and expected.has_other_cause and tuple(expected.mutants) == entry.mutants


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
    texts = {f"{mutant.operator}: {mutant.text}" for mutant in mutants_by_id().values()}
    for number, update in updates.items():
        reason = entries[number].reason
        is_of_a_diagnosis = any(reason.split(mark)[0] in texts for mark in (";", " (", "\n"))
        if is_of_a_diagnosis and entries[number].mutants[:1] not in current:
            outdated = update.kept & diagnosed & results.judged
            update.kept -= outdated
            update.removed |= outdated


def _update_entry(document: TOMLDocument, entry: Expectation, update: _EntryUpdate, *, is_complete: bool) -> bool:
    """Edit one entry, and return whether it is changed.

    Its verdict is changed, cases are removed from it, or it is split into an entry for each new verdict.
    """
    table = _tables(document)[entry.table]
    before = table.as_string()
    has_one_new_verdict = len(update.changed) == 1 and not update.kept and not update.removed
    if (
        has_one_new_verdict
        and is_complete
        and not (entry.checks or entry.mutants)
        and not update.changed.keys() & table.keys()
    ):
        _rename_key(table, entry.key, next(iter(update.changed)))
        return True
    split = [
        _new_entry(_literal(cases), verdict, entry.reason, entry.issue, table.get("when"))
        for verdict, cases in sorted(update.changed.items())
    ]
    removed = update.removed.union(*update.changed.values())
    is_kept = _remove_cases(table, entry, update.kept, removed, is_complete=is_complete)
    if not is_kept and len(set(VERDICT_KEYS) & table.keys()) > 1:
        table.remove(entry.key)
        is_kept = True
    if not is_kept or split:
        _replace_entry(document, entry.table, [*([table] if is_kept else []), *split])
        return True
    return table.as_string() != before


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


def _remove_cases(table: Table, entry: Expectation, kept: set[str], removed: set[str], *, is_complete: bool) -> bool:
    """Remove cases from an entry, and return whether the entry still has a pattern.

    If no case of a pattern is kept, the pattern is removed. If fewer cases of a pattern are kept than removed, the ids
    of the kept cases replace the pattern. Otherwise the ids of the removed cases are added to the key `except`.
    """
    excepted: set[str] = set()
    replacements: dict[int, list[str]] = {}
    for number, pattern in enumerate(entry.cases):
        own = {case for case in kept if number in entry.matching(case)}
        leaving = {case for case in removed if number in entry.matching(case)}
        if not own and (is_complete or pattern in removed):
            replacements[number] = []
        elif is_complete and len(own) < len(leaving):
            replacements[number] = _literal(own)
        else:
            excepted |= leaving
    if len(replacements) == len(entry.cases) and not any(replacements.values()):
        return False
    _replace_strings(table, entry.key, replacements)
    if excepted and "except" in table:
        last = entry.exceptions[-1]
        _replace_strings(table, "except", {len(entry.exceptions) - 1: [last, *_literal(excepted)]})
    elif excepted:
        item = _string_list(_literal(excepted), "except")
        _insert_after(table.value.body, entry.key, tomlkit.key("except"), item)
    return True


def _replace_strings(table: Table, key: str, replacements: Mapping[int, Sequence[str]]) -> None:
    """Replace strings in the value of a key, which is a string or a list of strings.

    Args:
        replacements: for the index of a string, the strings that replace it; an empty sequence removes the string.
    """
    strings = table[key]
    if not isinstance(strings, Array):
        for by in replacements.values():
            table[key] = by[0] if len(by) == 1 else _string_list(by, key)
        return
    for number in sorted(replacements, reverse=True):
        by = replacements[number]
        if not by:
            strings.pop(number)
            continue
        if strings[number] != by[0]:
            strings[number] = by[0]
        for place, string in enumerate(by[1:], number + 1):
            strings.insert(place, string)


def _missing_entries(
    text: str, name: str, results: _SubjectResults, new: NewEntries
) -> tuple[tuple[MissingEntry, ...], int]:
    """Return the failures without an entry by cause, and the number of failures that the baseline accepts.

    Causes with a diagnosis come first, then those with most cases.
    """
    expectations = parse_expectations(text, name).applying(results.context)
    run = results.run
    subject = results.subject.id
    grouper = FailureGrouper(lambda of, case: CaseResult(run.cases[case], run.results[of, case]))
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
            grouper.add(run.cases[case], run.results[subject, case])
    groups = grouper.groups(run.footer.diagnoses)
    return tuple(entry for group in groups for entry in _entries_of_cause(group, results)), accepted


def _entries_of_cause(group: FailureGroup, results: _SubjectResults) -> Iterator[MissingEntry]:
    """Yield the missing entries of a cause.

    The cases of a known fault have an entry of their own, unless a diagnosis explains the whole group. Cases with
    different violated checks have different entries.
    """
    faults = {case: _known_fault(case, results) for case in group.cases}
    parts: dict[tuple[KnownFault | None, tuple[str, ...]], list[str]] = defaultdict(list)
    for case in sorted(group.cases):
        checks = results.checks[case] if group.verdict == Verdict.FAIL else ()
        parts[None if group.diagnosis else faults[case], checks].append(case)
    for (fault, checks), cases in parts.items():
        found = [fault] if fault else list(dict.fromkeys(filter(None, map(faults.__getitem__, cases))))
        known = "; ".join(f"{one.title} ({one.location})" for one in found)
        mutants: tuple[str, ...] = ()
        reason = known
        if group.diagnosis:
            reason = cause_text(group.diagnosis) + (f"; known fault: {known}" if known else "")
            mutants = _mutants_of_cause(group.diagnosis, results)
        if group.verdict == Verdict.UNSUPPORTED:
            reason = group.message or group.text or "The subject does not support the case."
        issue = _issue_address(found[0].upstream) if len(found) == 1 else ""
        yield MissingEntry(group.verdict, group.sentence, tuple(cases), checks, reason, issue, mutants)


def _mutants_of_cause(diagnosis: DiagnosisRecord, results: _SubjectResults) -> tuple[str, ...]:
    """Return the mutant of a diagnosis, and those together with which it explains some cases."""
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


def _literal(cases: Iterable[str]) -> list[str]:
    """Return patterns that match exactly these cases."""
    return [glob.escape(case) for case in sorted(cases)]


def _new_entry(
    cases: Sequence[str],
    verdict: str,
    reason: str,
    issue: str = "",
    when: Any = None,
    checks: Sequence[str] = (),
    mutants: Sequence[str] = (),
) -> Table:
    """Return a new `[[expect]]` table; `when` is the condition of another entry, which is copied."""
    table = tomlkit.table()
    table["reason"] = reason
    if issue:
        table["issue"] = issue
    for key, strings in (("checks", checks), ("mutants", mutants), (str(verdict), cases)):
        if strings:
            table[key] = _string_list(strings, key)
    if when is not None:
        table["when"] = copy.deepcopy(when)
    return table


def _string_list(strings: Sequence[str], key: str) -> Array:
    """Return strings as a TOML array, in one line if `key` and the array fit."""
    texts = [tomlkit.string(string).as_string() for string in strings]
    line = f"[{', '.join(texts)}]"
    if len(key) + len(line) > MAX_LINE_LENGTH:
        line = "[\n" + "".join(f"  {text},\n" for text in texts) + "]"
    return tomlkit.parse(f"{key} = {line}\n").item(key)  # type: ignore[return-value]
