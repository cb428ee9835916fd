"""Known non-passes of a subject, with reasons, in a TOML file that the subject's owner keeps.

    subject = "onnx-reference"

    [[expect]]
    cases = ["test_adam_*_double"]
    verdict = "fail"
    reason = "casts double tensors to float where there are several"

An entry may leave cases out of its patterns with `except`, and name an `issue`. Of several entries that match a case
the first counts. Everything that no entry matches is expected to pass.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conformance.errors import ExpectationsError
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_REQUIRED = {"cases", "verdict", "reason"}
_OPTIONAL = {"except", "issue"}


@dataclass(frozen=True)
class Expectation:
    """One entry.

    Attributes:
        cases: patterns with `*` and `?` over case ids.
        exceptions: patterns over those of them that the entry is not about.
        verdict: what becomes of them.
        reason: why, for people.
        place: the file and the entry's number in it, for messages.
    """

    cases: tuple[str, ...]
    verdict: Verdict
    reason: str
    place: str
    exceptions: tuple[str, ...] = ()

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        return _any_of(self.cases), _any_of(self.exceptions)

    def matches(self, case: str) -> bool:
        """Whether this entry is about a case."""
        cases, exceptions = self._patterns
        return cases.fullmatch(case) is not None and exceptions.fullmatch(case) is None


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


def read_expectations(path: Path) -> Expectations:
    """Read a file.

    Raises:
        ExpectationsError: it is missing, not TOML, or an entry lacks its cases, its verdict or its reason.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExpectationsError(f"{path} cannot be read ({error.strerror}).", "Name an expectations file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ExpectationsError(f"{path} is not TOML: {error}.", "Mend the line it names.") from None
    subject, entries = document.get("subject"), document.get("expect", [])
    if not isinstance(subject, str) or not isinstance(entries, list) or set(document) - {"subject", "expect"}:
        raise ExpectationsError(
            f"{path} is not an expectations file.", 'Begin it with subject = "NAME" and list [[expect]] entries.'
        )
    return Expectations(subject, tuple(_entry(f"{path}, entry {i}", entry) for i, entry in enumerate(entries, 1)))


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
                f"Run it with -b {expectations.subject} or -o {expectations.subject}, or leave the file out.",
            )
        if expectations.subject in found:
            raise ExpectationsError(f"{path} is a second file about {expectations.subject}.", "Join the two.")
        found[expectations.subject] = expectations
    return found


def _entry(place: str, entry: Any) -> Expectation:
    if not isinstance(entry, dict) or not _REQUIRED <= set(entry) <= _REQUIRED | _OPTIONAL:
        told = f"{', '.join(sorted(_REQUIRED))}, and if need be {', '.join(sorted(_OPTIONAL))}"
        raise ExpectationsError(f"{place} is malformed.", f"Give it {told}.")
    if entry["verdict"] not in [verdict for verdict in Verdict if verdict is not Verdict.PASS]:
        raise ExpectationsError(f"{place} has the verdict {entry['verdict']!r}.", "Use one that is not a pass.")
    if not isinstance(entry["reason"], str) or not entry["reason"].strip():
        raise ExpectationsError(f"{place} has no reason.", "Say why this is expected.")
    exceptions = _patterns(place, entry["except"]) if "except" in entry else ()
    cases = _patterns(place, entry["cases"])
    return Expectation(cases, Verdict(entry["verdict"]), entry["reason"].strip(), place, exceptions)


def _patterns(place: str, given: Any) -> tuple[str, ...]:
    patterns = [given] if isinstance(given, str) else given
    if not isinstance(patterns, list) or not patterns or not all(isinstance(one, str) and one for one in patterns):
        raise ExpectationsError(f"{place} has no cases.", "Give a pattern or a list of patterns.")
    return tuple(patterns)
