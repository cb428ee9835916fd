"""What a search has come to: its finds, one for each cause and the smallest of each, and what was tried."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.corpus.case import CaseKind
from conformance.generation.generation import generate
from conformance.search.cases import as_case
from conformance.search.choice import Choice
from conformance.search.filled import NoAnswerError, filled
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conformance.campaigns.job import Piece
    from conformance.corpus.case import Case
    from conformance.search.job import Find, SearchJob

VERSION = "1.0.0"
"""Of the corpus that finds are kept as."""


@dataclass
class Finds:
    """The finds of a search so far.

    Attributes:
        draws: how many choices were drawn.
        unanswered: those of which no case could be made, by reason.
        verdicts: by subject.
        unfilled: by subject how many of them the native reference decided, so that the oracle was not asked.
        places: the draws by the place of the node.
    """

    job: SearchJob
    draws: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    unfilled: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    _smallest: dict[tuple[str, ...], tuple[tuple[int, ...], int, Find]] = field(default_factory=dict)

    def add(self, piece: Piece) -> None:
        """Count what came of a piece; of two finds of one cause the smaller stays, the earlier of equal ones."""
        result = piece.result
        self.draws += result["draws"]
        self.unanswered.update(result["unanswered"])
        self.unfilled.update(result["unfilled"])
        self.places.update(result["places"])
        for subject, counts in result["verdicts"].items():
            self.verdicts.setdefault(subject, Counter()).update(counts)
        for find in result["finds"]:
            key = find["subject"], find["about"], find["verdict"], find["phase"], find["complaint"]
            entry = Choice.of(find["choice"]).size, piece.number, find
            if key not in self._smallest or entry[:2] < self._smallest[key][:2]:
                self._smallest[key] = entry

    def __len__(self) -> int:
        return len(self._smallest)

    def __iter__(self) -> Iterator[Find]:
        """The finds, by subject, the smallest first."""
        kept = sorted(self._smallest.values(), key=lambda entry: (entry[2]["subject"], *entry[:2]))
        return (find for _, _, find in kept)

    def unsupporting(self) -> list[str]:
        """The subjects that supported nothing of what was drawn."""
        return [text for text, _ in self.job.subjects if not set(self.verdicts.get(text, {})) - {Verdict.UNSUPPORTED}]

    def keep(self, directory: Path) -> None:
        """Write the finds as a corpus, which `run --data` takes; those with an unsettled element left are only told.

        Raises:
            CorpusError: the directory holds something already, or cannot be written.
        """
        kinds = dict(self.job.subjects)
        cases: dict[str, tuple[str, Case]] = {}
        for find in self:
            kind = CaseKind.PASS if kinds[find["subject"]] is SubjectKind.OPTIMIZER else CaseKind.NODE
            choice = Choice.of(find["choice"])
            if _is_case(choice, self.job):
                case = as_case(choice, kind, self.job.level)
                cases.setdefault(case.id, ("search", case))
        generate(directory, list(cases.values()), VERSION, lambda _: None)


def _is_case(choice: Choice, job: SearchJob) -> bool:
    try:
        filled(choice, job.level, whole=True)
    except NoAnswerError:
        return False
    return True
