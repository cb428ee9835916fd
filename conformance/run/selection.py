"""A run in several parts: `3/8` is the third of eight, and every case is in exactly one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from conformance.corpus.case import CaseKind
from conformance.corpus.document import case_json
from conformance.errors import UsageError
from conformance.subjects.naming import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus.corpus import Corpus, CorpusCase

_TEXT = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")

LONGEST_KEYWORD = 250
"""Words and brackets of a `-k`: pytest reads them by recursion, three calls to a bracket, of which Python has 1000."""


@dataclass(frozen=True, order=True)
class Shard:
    """One of several parts; numbers begin with 1."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that a text such as `3/8` names.

        Raises:
            UsageError: it names none.
        """
        match = _TEXT.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise UsageError(f"{text} is not a shard.", "Write 3/8 for the third of eight.")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def of_cases(self, cases: Mapping[str, CorpusCase]) -> dict[str, CorpusCase]:
        """The cases of this part: every so many, so that operators spread over all shards."""
        return {id: cases[id] for id in sorted(cases)[self.number - 1 :: self.of]}


def check_keyword(keyword: str) -> None:
    """Make sure that a `-k` is what pytest can read: it does so in a worker, of which it would be the end.

    Raises:
        UsageError: it is too long, or no expression.
    """
    from _pytest.mark.expression import Expression  # pytest has no public name for it

    if (words := len(re.findall(r"[()]|[^\s()]+", keyword))) > LONGEST_KEYWORD:
        raise UsageError(
            f"-k has {words} words and brackets, and may have {LONGEST_KEYWORD}.",
            "Name cases one by one with --case, or patterns that they share.",
        )
    try:
        Expression.compile(keyword)
    except Exception as error:  # noqa: BLE001 - another class in each version of pytest
        raise UsageError(
            f"-k {keyword} is no expression: {error}.", "Write words with and, or, not and brackets, as in pytest."
        ) from None


class Asked:
    """Tells it of every case; what must be read for it is read once, and not for backends."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __call__(self, kind: SubjectKind, case: CorpusCase) -> bool:
        """Whether subjects of a kind are asked a case."""
        return not case.is_structural if kind is SubjectKind.BACKEND else case.id in self._rewritten

    @cached_property
    def _rewritten(self) -> frozenset[str]:
        """The cases that say what the pass does with their models, invalid ones among them."""
        cases = (case for case in self._corpus.cases.values() if case.kind is not CaseKind.NODE)
        return frozenset(case.id for case in cases if "rewrite" in case_json(self._corpus, case))
