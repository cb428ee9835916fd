"""What is done ahead of the case that comes next, on a subject in a process of its own.

While the subject works, the next case's files are read, those first that it takes to ask for it. One file is a step,
and a step is taken only where there is no answer yet: a subject that waits is asked at once. While the suite compares
the last answer, the subject loads the next model.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.corpus.corpus import Corpus
from conformance.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.corpus.corpus import CorpusCase

_MODEL = "model.onnx"
_NOT_RUN = "case.json"
"""What a case has for people and not for a subject."""


def _is_asked(name: str) -> bool:
    """Whether a file is a model or an input of the first data set."""
    return name == _MODEL or name.startswith("test_data_set_0/input_")


@dataclass(frozen=True)
class CorpusAhead(Corpus):
    """A corpus of which the files of a case or two may have been read already; what was read is given once."""

    _files: dict[str, dict[str, bytes]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, corpus: Corpus) -> CorpusAhead:
        """The same corpus."""
        return cls(corpus.path, corpus.version, corpus.digest, corpus.cases)

    def questions_ahead(self, case: CorpusCase, *, with_inputs: bool = True) -> Iterator[None]:
        """Read the files that it takes to ask for the case that comes next, one a step.

        One that cannot be read is told of when it is asked for. Of other cases, those of the case that was begun last
        are kept: it is the one that is run.

        Args:
            with_inputs: whether more than the model is read.
        """
        for id in [*self._files][:-1]:
            del self._files[id]
        self._files[case.id] = {}
        return self._read_ahead(case, filter(_is_asked, case.files) if with_inputs else [_MODEL])

    def answers_ahead(self, case: CorpusCase) -> Iterator[None]:
        """Read what answers are held against, likewise, once all that is asked was read."""
        return self._read_ahead(case, (name for name in case.files if name != _NOT_RUN and not _is_asked(name)))

    def _read_ahead(self, case: CorpusCase, names: Iterable[str]) -> Iterator[None]:
        with suppress(CorpusError):
            for name in names:
                self._files[case.id][name] = super().read(case, name)
                yield

    def read(self, case: CorpusCase, file: str) -> bytes:
        """A file of a case, by its path therein.

        Raises:
            CorpusError: it is not what the manifest says.
        """
        content = self._files.get(case.id, {}).pop(file, None)
        return super().read(case, file) if content is None else content
