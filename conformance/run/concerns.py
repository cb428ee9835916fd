"""Which cases of a corpus a subject is asked: a graph optimizer those of the pass, a backend those with data."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from conformance.corpus.corpus import case_json
from conformance.corpus.loading import is_structural
from conformance.subjects.loading import Kind

if TYPE_CHECKING:
    from conformance.corpus.corpus import Corpus


class Concerns:
    """Tells it of every case; what must be read for it is read once, and not for backends."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __call__(self, kind: Kind, path: str) -> bool:
        """Whether subjects of a kind are asked the case in this directory of the corpus."""
        return not is_structural(self._corpus, path) if kind is Kind.BACKEND else path in self._rewritten

    @cached_property
    def _rewritten(self) -> frozenset[str]:
        """The cases that say what the pass does with their models, invalid ones among them."""
        paths = (path for path in self._corpus.cases if path.startswith(("pass/", "invalid/")))
        return frozenset(path for path in paths if "rewrite" in case_json(self._corpus, path))
