"""Known non-passes of a subject, with reasons, in a TOML file that the subject's owner keeps.

    subject = "onnx-reference"

    [[expect]]
    cases = ["test_adam_*_double"]
    verdict = "fail"
    reason = "casts double tensors to float where there are several"

An entry may leave cases out of its patterns with `except`, name an `issue`, and apply only `when` the version of the
subject or of Python, or the platform, is a given one. One about failures of a graph optimizer may name the `checks`
that complain, so that a complaint of another is a surprise. Of several entries that apply and match a case the first
counts. Everything that no entry matches is expected to pass.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conformance.errors import ExpectationsError, did_you_mean
from conformance.expectations.conditions import Condition, Situation, read_condition
from conformance.expectations.places import EntryPlace, entry_places, line_of
from conformance.files.regular import read_input
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LARGEST_FILE = 2**24
"""Bytes."""

_REQUIRED = {"cases", "verdict", "reason"}
_OPTIONAL = {"checks", "except", "issue", "when"}


@dataclass(frozen=True)
class Expectation:
    """One entry.

    Attributes:
        cases: patterns with `*` and `?` over case ids.
        exceptions: patterns over those of them that the entry is not about.
        verdict: what becomes of them.
        reason: why, for people.
        place: the file and the entry's line in it, for messages.
        issue: where it is reported, or nothing.
        condition: when the entry applies, or None for always.
        lines: the place of each pattern; empty where they are not known.
        checks: the checks of a graph optimizer that may complain; empty for any.
    """

    cases: tuple[str, ...]
    verdict: Verdict
    reason: str
    place: str
    exceptions: tuple[str, ...] = ()
    issue: str = ""
    condition: Condition | None = None
    lines: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        return _any_of(self.cases), _any_of(self.exceptions)

    @cached_property
    def _each(self) -> tuple[re.Pattern[str], ...]:
        return tuple(_any_of([pattern]) for pattern in self.cases)

    def matches(self, case: str) -> bool:
        """Whether this entry is about a case."""
        cases, exceptions = self._patterns
        return cases.fullmatch(case) is not None and exceptions.fullmatch(case) is None

    def matching(self, case: str) -> list[int]:
        """The numbers of the patterns that a case of this entry matches."""
        return [number for number, pattern in enumerate(self._each) if pattern.fullmatch(case)]

    def place_of(self, case: str) -> str:
        """The place of the first pattern that a case of this entry matches."""
        return self.place_of_pattern(self.matching(case)[0])

    def place_of_pattern(self, number: int) -> str:
        """The place of a pattern, or that of the entry where the pattern's is not known."""
        return self.lines[number] if number < len(self.lines) else self.place


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)")


@dataclass(frozen=True)
class Expectations:
    """One subject's file."""

    subject: str
    entries: tuple[Expectation, ...]

    def of(self, case: str) -> Expectation | None:
        """The entry that counts for a case, or None where it is expected to pass."""
        return next((entry for entry in self.entries if entry.matches(case)), None)

    def applying(self, situation: Situation) -> Expectations:
        """The entries whose conditions hold.

        Raises:
            ExpectationsError: a condition cannot be judged.
        """
        holding = (entry for entry in self.entries if entry.condition is None or entry.condition.holds(situation))
        return replace(self, entries=tuple(holding))


def read_expectations(path: Path) -> Expectations:
    """Read a file.

    Raises:
        ExpectationsError: it is missing, not TOML, or an entry lacks its cases, its verdict or its reason.
    """
    return parse_expectations(expectations_text(path), str(path))


def expectations_text(path: Path) -> str:
    """A file's text.

    Raises:
        ExpectationsError: it is missing, too large or no text.
    """
    try:
        return read_input(path, LARGEST_FILE).decode()
    except OSError as error:
        raise ExpectationsError(f"{path} cannot be read ({error.strerror}).", "Name an expectations file.") from None
    except UnicodeDecodeError as error:
        raise _no_toml(str(path), error) from None


def parse_expectations(text: str, name: str) -> Expectations:
    """Read a file's text; `name` is the file's, for messages.

    Raises:
        ExpectationsError: as `read_expectations`.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of many digits is none of TOML's own errors
        raise _no_toml(name, error) from None
    subject, entries = document.get("subject"), document.get("expect", [])
    if not isinstance(subject, str) or not isinstance(entries, list) or set(document) - {"subject", "expect"}:
        raise ExpectationsError(
            f"{name} is not an expectations file.", 'Begin it with subject = "NAME" and list [[expect]] entries.'
        )
    tables = [entry if isinstance(entry, dict) else {} for entry in entries]
    places: Sequence[EntryPlace | None] = entry_places(text, tables) or [None] * len(tables)
    return Expectations(
        subject,
        tuple(
            _entry(_Place(name, number, text, place), entry)
            for number, (place, entry) in enumerate(zip(places, tables, strict=True), 1)
        ),
    )


@dataclass(frozen=True)
class _Place:
    """Where an entry stands: by line where the scanner found it, otherwise by number."""

    file: str
    number: int
    text: str
    found: EntryPlace | None

    def __str__(self) -> str:
        return self._at(self.found.start) if self.found else f"{self.file}, entry {self.number}"

    def patterns(self) -> tuple[str, ...]:
        """The place of each pattern, or nothing."""
        return tuple(self._at(literal.start) for literal in self.found.strings["cases"]) if self.found else ()

    def _at(self, offset: int) -> str:
        return f"{self.file}:{line_of(self.text, offset)}"


def by_subject(paths: Sequence[Path], subjects: Sequence[str]) -> Mapping[str, Expectations]:
    """The expectations of the subjects of a run.

    Raises:
        ExpectationsError: a file is malformed, is of a subject that is not run, or one subject has two.
    """
    found: dict[str, Expectations] = {}
    for path in paths:
        expectations = read_expectations(path)
        if expectations.subject not in subjects:
            raise ExpectationsError(
                f"{path} is about {expectations.subject}, which is not run.",
                did_you_mean(
                    expectations.subject,
                    subjects,
                    f"Run it with -b {expectations.subject} or -o {expectations.subject}, or leave the file out.",
                ),
            )
        if expectations.subject in found:
            raise ExpectationsError(f"{path} is a second file about {expectations.subject}.", "Join the two.")
        found[expectations.subject] = expectations
    return found


def _entry(place: _Place, entry: Mapping[str, Any]) -> Expectation:
    _check_keys(place, entry)
    verdicts = [verdict for verdict in Verdict if verdict is not Verdict.PASS]
    if entry["verdict"] not in verdicts:
        hint = did_you_mean(str(entry["verdict"]), verdicts, f"Use one of {', '.join(verdicts)}.")
        raise ExpectationsError(f"{place} has the verdict {entry['verdict']!r}.", hint)
    if not isinstance(entry["reason"], str) or not entry["reason"].strip():
        raise ExpectationsError(f"{place} has no reason.", "Say why this is expected.")
    if not isinstance(entry.get("issue", ""), str):
        raise ExpectationsError(f"{place} has an issue that is no text.", "Give the issue's address.")
    return Expectation(
        cases=_patterns(place, entry["cases"]),
        verdict=Verdict(entry["verdict"]),
        reason=entry["reason"].strip(),
        place=str(place),
        exceptions=_patterns(place, entry["except"]) if "except" in entry else (),
        issue=entry.get("issue", "").strip(),
        condition=read_condition(str(place), entry["when"]) if "when" in entry else None,
        lines=place.patterns(),
        checks=_checks(place, entry) if "checks" in entry else (),
    )


def _check_keys(place: _Place, entry: Mapping[str, Any]) -> None:
    told = f"Give it {', '.join(sorted(_REQUIRED))}, and if need be {', '.join(sorted(_OPTIONAL))}."
    if unknown := sorted(set(entry) - _REQUIRED - _OPTIONAL):
        hint = did_you_mean(unknown[0], _REQUIRED | _OPTIONAL, told)
        raise ExpectationsError(f"{place} is malformed: it has the key {unknown[0]}.", hint)
    if missing := sorted(_REQUIRED - set(entry)):
        raise ExpectationsError(f"{place} is malformed: it has no {missing[0]}.", told)


def _checks(place: _Place, entry: Mapping[str, Any]) -> tuple[str, ...]:
    given = [entry["checks"]] if isinstance(entry["checks"], str) else entry["checks"]
    if not isinstance(given, list) or not given or not all(isinstance(name, str) and name for name in given):
        raise ExpectationsError(f"{place} has no checks.", "Name a check or a list of checks, or leave the key out.")
    if entry["verdict"] != Verdict.FAIL:
        raise ExpectationsError(f"{place} names checks of an {entry['verdict']}.", "Only a fail rests on checks.")
    return tuple(given)


def _patterns(place: _Place, given: Any) -> tuple[str, ...]:
    patterns = [given] if isinstance(given, str) else given
    if not isinstance(patterns, list) or not patterns or not all(isinstance(one, str) and one for one in patterns):
        raise ExpectationsError(f"{place} has no cases.", "Give a pattern or a list of patterns.")
    return tuple(patterns)


def _no_toml(name: str, error: Exception) -> ExpectationsError:
    return ExpectationsError(f"{name} is not TOML: {error}.", "Mend the line it names.")
