"""Whether a run holds: no surprise among the judged levels, and something passed on every subject.

Without an expectations file, a defect (fail, error, crash, timeout) is a surprise and `unsupported` is not. With one,
every verdict other than the expected one is, and so is an entry that matches nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.expectations import Expectation, Expectations

MOST_REASONS = 20


class Gate:
    """Judges results one by one and keeps nothing of them but counts and surprises."""

    def __init__(self, level: Level, subjects: Sequence[str], expectations: Mapping[str, Expectations]) -> None:
        self._level = level
        self._expectations = expectations
        self._unmatched: set[tuple[str, Expectation | None]] = {
            (name, entry) for name, file in expectations.items() for entry in file.entries
        }
        self._idle = set(subjects)
        self._surprises: list[str] = []
        self._surprise_count = 0
        self.verdicts: dict[str, dict[Level, Counter[Verdict]]] = {name: defaultdict(Counter) for name in subjects}

    def judge(
        self, subject: str, case: str, level: Level, verdict: Verdict, *, rejection: bool = False
    ) -> tuple[Expectation | None, bool]:
        """Count a result; the expectation about it, and whether it is as expected or tolerated.

        Args:
            rejection: whether the case asks for a rejection, which a subject that can do nothing passes too.
        """
        self.verdicts[subject][level][verdict] += 1
        if verdict is Verdict.PASS and not rejection:
            self._idle.discard(subject)
        expectation = self._expectations[subject].of(case) if subject in self._expectations else None
        self._unmatched.discard((subject, expectation))
        if not level.within(self._level):
            return expectation, True
        surprise = self._surprise(subject, case, verdict, expectation)
        if surprise:
            self._surprise_count += 1
            if len(self._surprises) < MOST_REASONS:
                self._surprises.append(surprise)
        return expectation, surprise is None

    def reasons(self, *, partial: bool) -> list[str]:
        """Why the gate is shut, a sentence each; empty where it holds.

        Args:
            partial: whether only a selection was run, so that an unmatched expectation means nothing.
        """
        reasons = list(self._surprises)
        if self._surprise_count > len(reasons):
            reasons.append(f"and {self._surprise_count - len(reasons)} more")
        reasons += [f"{subject} passed nothing" for subject in sorted(self._idle)]
        if not partial:
            unmatched = sorted((entry.place, ", ".join(entry.cases)) for _, entry in self._unmatched if entry)
            reasons += [f"{place} ({cases}) matches no case: remove it" for place, cases in unmatched]
        return reasons

    def _surprise(self, subject: str, case: str, verdict: Verdict, expectation: Expectation | None) -> str | None:
        if expectation is None:
            tolerated = verdict is Verdict.UNSUPPORTED and subject not in self._expectations
            return None if verdict is Verdict.PASS or tolerated else f"{case} on {subject}: {verdict}"
        if verdict is expectation.verdict:
            return None
        mend = "remove the case from it" if verdict is Verdict.PASS else "mend it"
        return f"{case} on {subject}: {verdict}, but {expectation.place} expects {expectation.verdict}: {mend}"
