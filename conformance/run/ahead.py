"""Reading ahead: the case that comes next is read while a subject in a process of its own works on the one before."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from conformance.corpus.loading import case_in_memory, load_case
from conformance.errors import CorpusError

if TYPE_CHECKING:
    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.corpus.loading import LoadedCase


class ReadingAhead:
    """The cases of a corpus, of which the one that comes next may have been read already."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._read: LoadedCase | None = None

    def read(self, entry: CorpusCase) -> None:
        """Read a case that is expected to be asked for next; one that cannot be read is told of when it is."""
        with suppress(CorpusError):
            self._read = case_in_memory(self._corpus, entry)

    def case(self, entry: CorpusCase) -> LoadedCase:
        """A case for one run.

        Raises:
            CorpusError: its model is altered, or is none.
        """
        read, self._read = self._read, None
        return read if read is not None and read.entry is entry else load_case(self._corpus, entry)
