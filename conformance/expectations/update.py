"""Brings an expectations file up to date with a run: exactly what the gate asks for, and nothing without a reason.

Cases that pass now, come to another verdict, or fail by a check that the entry does not name, leave it; a pattern that
matches nothing goes; a changed verdict keeps the entry's reason. A failure that no entry names needs a reason that only
a person can give.
"""

from __future__ import annotations

import glob
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.errors import ExpectationsError
from conformance.expectations.conditions import Situation
from conformance.expectations.edits import Edits, entry_text, quoted
from conformance.expectations.file import parse_expectations
from conformance.expectations.places import EntryPlace, entry_places
from conformance.results.failure_kinds import normalized
from conformance.results.file import is_partial, level_of
from conformance.results.levels import complaining_checks
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.expectations.file import Expectation
    from conformance.results.file import Results
    from conformance.results.records import ResultRow

MOST_STEPS = 1000


@dataclass(frozen=True)
class Missing:
    """Failures that look alike and that no entry names."""

    verdict: str
    message: str
    cases: tuple[str, ...]
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Update:
    """A file's new text, what it still lacks, and the cases whose verdict varies, which no entry can name."""

    text: str
    missing: tuple[Missing, ...]
    varying: tuple[str, ...]


@dataclass(frozen=True)
class _Seen:
    """What a run says about one subject.

    Attributes:
        verdicts: the verdict of every case.
        judged: the cases that the gate judged and whose verdict is one.
        checks: of each case, the checks of a graph optimizer that complain at a level that the gate judged.
        whole: whether every case of the corpus was run.
    """

    results: Mapping[str, ResultRow]
    verdicts: Mapping[str, Verdict]
    judged: frozenset[str]
    varying: tuple[str, ...]
    checks: Mapping[str, tuple[str, ...]]
    situation: Situation
    whole: bool


@dataclass
class _Fate:
    """What becomes of the cases of one entry."""

    stays: set[str] = field(default_factory=set)
    leaves: set[str] = field(default_factory=set)
    changes: dict[Verdict, set[str]] = field(default_factory=lambda: defaultdict(set))


def new_file(subject: str) -> str:
    """A file that expects nothing."""
    return f"subject = {quoted(subject)}\n"


def updated(text: str, name: str, run: Results, reason: str = "") -> Update:
    """A file's text after a run of its subject.

    Args:
        name: the file's, for messages.
        reason: why the failures that no entry names are expected; without one they are told and not written.

    Raises:
        ExpectationsError: the file is malformed, its subject was not run, or it is written in a form without places.
    """
    subject = parse_expectations(text, name).subject
    seen = _seen(run, subject, name)
    for _ in range(MOST_STEPS):
        after = _step(text, name, seen)
        if after == text:
            break
        text = after
    missing = _missing(text, name, seen)
    if reason and missing:
        text = text.rstrip("\n") + "\n"
        text += "".join("\n" + entry_text(one.cases, one.verdict, reason, checks=one.checks) for one in missing)
        missing = ()
    return Update(text, missing, seen.varying)


def _seen(run: Results, subject: str, name: str) -> _Seen:
    versions = {one["id"]: one["version"] for one in run.header["subjects"]}
    if subject not in versions:
        raise ExpectationsError(
            f"{name} is about {subject}, of which {run.path} has no result.", f"Run it with -b {subject}."
        )
    results = {case: row for (of, case), row in run.rows.items() if of == subject}
    level = level_of(run.header)
    varying = tuple(sorted(case for case, result in results.items() if len(result.get("repeats", ())) > 1))
    judged = (case for case, result in results.items() if Level(result["level"]).within(level))
    return _Seen(
        results,
        {case: Verdict(result["verdict"]) for case, result in results.items()},
        frozenset(judged) - set(varying),
        varying,
        {case: complaining_checks(result, level) for case, result in results.items()},
        Situation.of(versions[subject], run.header["environment"]),
        not is_partial(run),
    )


def _step(text: str, name: str, seen: _Seen) -> str:
    """One round of edits; a case that leaves its entry may come under a later one, which the next round sees."""
    entries = parse_expectations(text, name).entries
    fates = _fates(entries, seen)
    edits, places = Edits(text), _places(text, name)
    for number, entry in enumerate(entries):
        if number in fates:
            _edit(edits, places[number], entry, fates[number], seen.whole)
    return edits.result()


def _fates(entries: Sequence[Expectation], seen: _Seen) -> dict[int, _Fate]:
    """What becomes of the cases of each entry that applies."""
    applying = [n for n, one in enumerate(entries) if one.condition is None or one.condition.holds(seen.situation)]
    fates = {number: _Fate() for number in applying}
    for case, verdict in seen.verdicts.items():
        number = next((number for number in applying if entries[number].matches(case)), None)
        if number is None:
            continue
        fate, expected = fates[number], entries[number].verdict
        unnamed = set(seen.checks[case]) - set(named) if (named := entries[number].checks) else set()
        if (verdict is expected and not unnamed) or case not in seen.judged:
            fate.stays.add(case)
        elif verdict is expected or verdict is Verdict.PASS:
            fate.leaves.add(case)
        else:
            fate.changes[verdict].add(case)
    return fates


def _edit(edits: Edits, place: EntryPlace, entry: Expectation, fate: _Fate, whole: bool) -> None:
    if len(fate.changes) == 1 and not fate.stays and not fate.leaves and whole and not entry.checks:
        verdict = place.strings["verdict"][0]
        edits.replace(verdict.start, verdict.end, quoted(next(iter(fate.changes))))
        fate.stays |= next(iter(fate.changes.values()))
        fate.changes.clear()
    split = [
        entry_text(_literal(cases), verdict, entry.reason, entry.issue, entry.condition)
        for verdict, cases in sorted(fate.changes.items())
    ]
    gone = fate.leaves | {case for cases in fate.changes.values() for case in cases}
    if _narrow(edits, place, entry, fate.stays, gone, whole):
        if split:
            edits.add_entries(place, "\n".join(split))
    else:
        edits.remove_entry(place, "\n".join(split))


def _narrow(edits: Edits, place: EntryPlace, entry: Expectation, stays: set[str], gone: set[str], whole: bool) -> bool:
    """Take cases out of an entry: by removing a pattern, by naming what stays, or by `except`; whether any is left."""
    literals, lost, excepted = place.strings["cases"], [], set()
    for number, pattern in enumerate(entry.cases):
        own = {case for case in stays if number in entry.matching(case)}
        leaving = {case for case in gone if number in entry.matching(case)}
        known = whole or pattern in gone
        if known and not own:
            lost.append(number)
        elif whole and len(own) < len(leaving):
            edits.replace_string(place, number, _literal(own))
        else:
            excepted |= leaving
    if len(lost) == len(entry.cases):
        return False
    if lost:
        edits.remove_strings(literals, lost)
    if excepted:
        edits.add_exceptions(place, _literal(excepted))
    return True


def _missing(text: str, name: str, seen: _Seen) -> tuple[Missing, ...]:
    expectations = parse_expectations(text, name).applying(seen.situation)
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for case in sorted(seen.judged):
        verdict = seen.verdicts[case]
        if verdict is not Verdict.PASS and expectations.of(case) is None:
            checks = seen.checks[case] if verdict is Verdict.FAIL else ()
            groups[str(verdict), normalized(seen.results[case]["message"]), checks].append(case)
    return tuple(
        Missing(verdict, seen.results[cases[0]]["message"], tuple(_literal(cases)), checks)
        for (verdict, _, checks), cases in sorted(groups.items())
    )


def _literal(cases: Iterable[str]) -> list[str]:
    """Cases as patterns that match nothing else."""
    return [glob.escape(case) for case in sorted(cases)]


def _places(text: str, name: str) -> list[EntryPlace]:
    places = entry_places(text, tomllib.loads(text).get("expect", []))
    if places is None:
        raise ExpectationsError(
            f"{name} has entries in a form that cannot be edited.", "Write each as an [[expect]] table with its keys."
        )
    return places
