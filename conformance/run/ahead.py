"""What is done ahead of the case that comes next, on a subject in a process of its own.

While the subject works, the next case's files are read. One file is a step, and a step is taken only where there is no
answer yet: a subject that waits is asked at once. While the suite compares the last answer, the subject loads the next
model.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.corpus.corpus import Corpus
from conformance.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.corpus import CorpusCase

_NOT_RUN = "case.json"
"""What a case has for people and not for a subject."""


@dataclass(frozen=True)
class CorpusAhead(Corpus):
    """A corpus of which the files of a case or two may have been read already; what was read is given once."""

    _files: dict[str, dict[str, bytes]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, corpus: Corpus) -> CorpusAhead:
        """The same corpus."""
        return cls(corpus.path, corpus.version, corpus.digest, corpus.cases)

    def ahead(self, case: CorpusCase) -> Iterator[None]:
        """Read the files of the case that comes next, one a step.

        One that cannot be read is told of when it is asked for. Of other cases, those of the case that was begun last
        are kept: it is the one that is run.
        """
        for id in [*self._files][:-1]:
            del self._files[id]
        self._files[case.id] = {}
        with suppress(CorpusError):
            for name in case.files:
                if name != _NOT_RUN:
                    self._files[case.id][name] = super().read(case, name)
                    yield

    def read(self, case: CorpusCase, file: str) -> bytes:
        """A file of a case, by its path therein.

        Raises:
            CorpusError: it is not what the manifest says.
        """
        content = self._files.get(case.id, {}).pop(file, None)
        return super().read(case, file) if content is None else content
