"""What is kept of a run's results to say at its end what explains the failures, which `diagnosis` does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a subject's result on a case.

    Attributes:
        agrees_with: ids of the deviations that fail the case as the subject does.
    """

    level: Level
    verdict: Verdict
    agrees_with: frozenset[str] = frozenset()


class Findings:
    """All results of a run, by subject and case; `suspected` where a deviation agrees with one of them."""

    def __init__(self) -> None:
        self.by_subject: dict[str, dict[str, Finding]] = defaultdict(dict)
        self.suspected = False

    def add(self, result: Mapping[str, Any], level: Level) -> None:
        """Note a result."""
        agrees_with = frozenset(result.get("agrees_with", ()))
        self.suspected = self.suspected or bool(agrees_with)
        self.by_subject[result["subject"]][result["case"]] = Finding(level, Verdict(result["verdict"]), agrees_with)
