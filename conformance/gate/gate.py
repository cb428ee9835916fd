"""Whether a run holds: no surprise among the judged levels, and something passed on every subject.

Without an expectations file, a defect (fail, error, crash, timeout) is a surprise and `unsupported` is not. With one,
every verdict other than the expected one is, and so is a pattern that matches nothing. With a baseline, only a verdict
that is worse than the earlier one is. A verdict that varies is always a surprise, and so is `unsupported` where an
operator is required, of which a case must have been asked. What a subject was not asked (`skipped`) is none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from conformance.errors import nearest
from conformance.gate.baseline import is_worse_than_baseline
from conformance.gate.reasons import Surprise, SurpriseKind, reasons
from conformance.results.levels import complaining_checks, passes_what_is_judged
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.expectations.file import Expectation
    from conformance.gate.case_facts import Facts
    from conformance.gate.rules import Rules

_OF_AN_ENTRY = {SurpriseKind.PASSES, SurpriseKind.DIFFERS, SurpriseKind.COMPLAINS}

_LIKE = 0.9
"""How like a case's name a pattern has to be that matches none, to be taken for a slip: many names are much alike."""


class Gate:
    """Judges results one by one, in any order, and keeps nothing of them but counts and surprises."""

    def __init__(self, rules: Rules, subjects: Sequence[str]) -> None:
        self.rules = rules
        self._matched: set[tuple[str, str]] = set()
        self._cases: set[str] = set()
        self._idle = set(subjects)
        self._asked: set[tuple[str, str]] = set()
        self._surprises: dict[Surprise, list[str]] = defaultdict(list)
        self.verdicts: dict[str, dict[Level, Counter[Verdict]]] = {name: defaultdict(Counter) for name in subjects}

    def expectation(self, subject: str, case: str) -> Expectation | None:
        """The entry about a case on a subject."""
        file = self.rules.expectations.get(subject)
        return file.of(case) if file else None

    def judge(self, result: Mapping[str, Any], facts: Callable[[], Facts]) -> bool:
        """Count a result; whether it is as expected or tolerated.

        Args:
            result: a result record, with its level, and its expectation and its baseline's verdict if there are any.
            facts: gives those of its case; called only where they matter.
        """
        subject, case = result["subject"], result["case"]
        level, verdict = Level(result["level"]), Verdict(result["verdict"])
        self._cases.add(case)
        self.verdicts[subject][level][verdict] += 1
        passes = verdict is Verdict.PASS or passes_what_is_judged(result, self.rules.level)
        if passes and subject in self._idle and not facts().rejection:
            self._idle.discard(subject)
        self._note(subject, case, result.get("expected"))
        if not level.within(self.rules.level):
            return True
        if self.rules.require:
            self._asked |= {(subject, operator) for operator in facts().operators}
        kind = self._kind(result, verdict, facts)
        if kind is None:
            return True
        expected = result.get("expected") if kind in _OF_AN_ENTRY else None
        place, meant = (expected.get("place", ""), expected["verdict"]) if expected else ("", "")
        match kind:
            case SurpriseKind.REGRESSED:
                meant = _was(result)
            case SurpriseKind.COMPLAINS:
                meant = ", ".join(self._unnamed(result))
        self._surprises[Surprise(kind, subject, facts().family, str(verdict), place, meant)].append(case)
        return False

    def reasons(self, *, partial: bool) -> list[str]:
        """Why the gate is shut, a sentence each; empty where it holds.

        Args:
            partial: whether only a selection was run, so that an unmatched expectation means nothing.
        """
        found = reasons(self._surprises) + [f"{subject} passed nothing" for subject in sorted(self._idle)]
        return found if partial or self.rules.baseline else found + self._stale()

    def unasked(self, kinds: Mapping[str, str]) -> list[str]:
        """A sentence for each operator that is required and that a subject was asked no judged case of.

        Args:
            kinds: the subjects' kinds. Graph optimizers are asked the pass's operators alone, and need no others where
                there are backends.
        """
        bound = [subject for subject, kind in kinds.items() if kind == SubjectKind.BACKEND] or list(kinds)
        return [
            f"{operator} is required, and no case of it was run on {subject}"
            for operator in self.rules.require
            for subject in bound
            if (subject, operator) not in self._asked
        ]

    def _kind(self, result: Mapping[str, Any], verdict: Verdict, facts: Callable[[], Facts]) -> SurpriseKind | None:
        """In which way a result is a surprise, if it is one."""
        if len(result.get("repeats", ())) > 1:
            return SurpriseKind.VARIES
        if verdict is Verdict.UNSUPPORTED and self.rules.require and facts().operators & set(self.rules.require):
            return SurpriseKind.REQUIRED
        kind = self._unexpected(result, verdict)
        if kind is None or "baseline" not in result:
            return kind
        return SurpriseKind.REGRESSED if is_worse_than_baseline(result) else None

    def _unexpected(self, result: Mapping[str, Any], verdict: Verdict) -> SurpriseKind | None:
        expected = result.get("expected")
        if expected is None:
            tolerated = not verdict.is_defect and result["subject"] not in self.rules.expectations
            asked = verdict is not Verdict.SKIPPED
            return None if verdict is Verdict.PASS or tolerated or not asked else SurpriseKind.UNEXPECTED
        if verdict == expected["verdict"]:
            return SurpriseKind.COMPLAINS if self._unnamed(result) else None
        return SurpriseKind.PASSES if verdict is Verdict.PASS else SurpriseKind.DIFFERS

    def _unnamed(self, result: Mapping[str, Any]) -> list[str]:
        """The checks that complain of a graph optimizer beyond those that its entry names."""
        named = (result.get("expected") or {}).get("checks")
        return [name for name in complaining_checks(result, self.rules.level) if named and name not in named]

    def _note(self, subject: str, case: str, expected: Mapping[str, Any] | None) -> None:
        """Note the patterns that a case matches, of the entry that it was held against."""
        if expected is None or subject not in self.rules.expectations:
            return
        for entry in self.rules.expectations[subject].entries:
            if entry.matches(case) and entry.place_of(case) == expected.get("place"):
                self._matched |= {(entry.place, entry.cases[number]) for number in entry.matching(case)}
                return

    def _stale(self) -> list[str]:
        """What is to go from the expectations: no case matches it, or an earlier entry takes them all."""
        entries = [entry for file in self.rules.expectations.values() for entry in file.entries]
        return [sentence for entry in entries for sentence in self._unmatched(entry)]

    def _unmatched(self, entry: Expectation) -> list[str]:
        lost = [number for number, pattern in enumerate(entry.cases) if (entry.place, pattern) not in self._matched]
        if len(lost) == len(entry.cases):
            return [f"{entry.place}: the entry ({', '.join(entry.cases)}) matches no case: {self._mended(entry.cases)}"]
        patterns = [(entry.place_of_pattern(number), entry.cases[number]) for number in lost]
        return [f"{place}: {pattern} matches no case: {self._mended([pattern])}" for place, pattern in patterns]

    def _mended(self, patterns: Sequence[str]) -> str:
        """What to do about patterns that match no case: each may be a case's name that is misspelt."""
        strange = [pattern for pattern in patterns if pattern not in self._cases]  # what is one, an entry before hides
        meant = [near for pattern in strange if (near := nearest(pattern, self._cases, _LIKE))]
        return f"remove it, or did you mean {', '.join(meant)}?" if meant else "remove it"


def _was(result: Mapping[str, Any]) -> str:
    """What the baseline has, with its level where that was weaker than the case's."""
    level = result.get("baseline_level")
    return f"{result['baseline']} at level {level}" if level else str(result["baseline"])
