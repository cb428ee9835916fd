"""Prefetching: while a subject works on a case, the suite reads the next case and encodes its commands.

Prefetching has three steps. `PrefetchingCorpus` reads the files of the next case while a subject computes its answer.
Then `BackendProxy.prepare_prefetch` encodes the commands of that case. While the suite compares the outputs of the
current case, `BackendProxy.prefetch` lets the subject load the next model.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.corpus.case_json import COMPANION_FILE
from conformance.corpus.corpus import Corpus
from conformance.corpus.loading import load_case
from conformance.errors import CorpusError
from conformance.isolation.proxies import BackendProxy
from conformance.isolation.start_subjects import client_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.corpus.corpus import CorpusCase
    from conformance.corpus.loading import LoadedCase
    from conformance.subjects.loading import Subject


_MODEL_FILE = "model.onnx"
_DESCRIPTION_FILE = "case.json"
"""File that describes a case for readers; it is not needed to run a case."""


@dataclass(frozen=True)
class PrefetchingCorpus(Corpus):
    """A corpus that can read the files of the next case in advance; `read` then returns them from memory.

    The content of a file is dropped when it is read.
    """

    _files: dict[str, dict[str, bytes]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, corpus: Corpus) -> PrefetchingCorpus:
        """Return a `PrefetchingCorpus` with the same content as `corpus`."""
        return cls(corpus.path, corpus.version, corpus.digest, corpus.cases, corpus.name)

    def prefetch_inputs(self, case: CorpusCase, *, only_model: bool = False) -> Iterator[None]:
        """Read the model and the inputs of the next case, one file per step.

        The prefetched files of the current case are kept, and those of earlier cases are dropped. If a file cannot be
        read, prefetching stops, and `read` raises the error later.

        Args:
            only_model: whether to read no inputs.
        """
        for id in [*self._files][:-1]:
            del self._files[id]
        self._files[case.id] = {}
        return self._prefetch(case, [_MODEL_FILE] if only_model else filter(_is_input, case.files))

    def prefetch_expected(self, case: CorpusCase) -> Iterator[None]:
        """Read the other files of the next case, such as expected outputs, one file per step."""
        return self._prefetch(case, (name for name in case.files if name != _DESCRIPTION_FILE and not _is_input(name)))

    def _prefetch(self, case: CorpusCase, names: Iterable[str]) -> Iterator[None]:
        with suppress(CorpusError):
            for name in names:
                self._files[case.id][name] = super().read(case, name)
                yield

    def read(self, case: CorpusCase, file: str) -> bytes:
        """Return the content of a file of a case.

        Raises:
            CorpusError: the content differs from the manifest.
        """
        content = self._files.get(case.id, {}).pop(file, None)
        return super().read(case, file) if content is None else content


def _is_input(name: str) -> bool:
    """Return whether a file of a case is the model or an input of the first data set."""
    return name == _MODEL_FILE or name.startswith("test_data_set_0/input_")


class Prefetcher:
    """Loads cases in the order in which they run, and prefetches the case that runs next.

    Args:
        corpus: the corpus of the cases.
        repeat: how often each case is run; a model is prefetched only if each case is run once.

    Attributes:
        was_unsupported: whether the last case was unsupported. Unsupported cases are often adjacent, so less is read.
    """

    def __init__(self, corpus: Corpus, repeat: int) -> None:
        self._corpus = PrefetchingCorpus.of(corpus)
        self._repeat = repeat
        self._prefetched: LoadedCase | None = None
        self.was_unsupported = False

    def load(self, case: CorpusCase) -> LoadedCase:
        """Return a case, which may be prefetched.

        Raises:
            CorpusError: the model is altered or malformed.
        """
        prefetched, self._prefetched = self._prefetched, None
        return prefetched if prefetched is not None and prefetched.entry is case else load_case(self._corpus, case)

    def set_idle_work(self, subject: Subject, following: CorpusCase) -> None:
        """Prefetch the case `following` step by step while the suite waits for answers of an isolated subject."""
        client = client_of(subject)
        if client is not None:
            client.idle_work = self._steps(subject, following)

    def send_ahead(self, subject: Subject, following: CorpusCase) -> None:
        """Make the subject load the model of the case `following`, if it can prefetch and is not prefetching already.

        A subject can prefetch if it is isolated and its harness reports the seconds that loading a model takes.
        """
        backend = self._prefetching_backend(subject)
        if (
            backend is not None
            and not backend.client.is_prefetching
            and (case := self._prefetch(following)) is not None
        ):
            backend.prefetch(case.model, case.prefetched_inputs)

    def _steps(self, subject: Subject, following: CorpusCase) -> Iterator[None]:
        yield from self._corpus.prefetch_inputs(following, only_model=self.was_unsupported)
        backend = self._prefetching_backend(subject)
        if backend is not None and (case := self._prefetch(following)) is not None:
            yield
            backend.prepare_prefetch(case.model, case.prefetched_inputs)
            yield
        if not self.was_unsupported:
            yield from self._corpus.prefetch_expected(following)

    def _prefetching_backend(self, subject: Subject) -> BackendProxy | None:
        backend = subject.target
        can_prefetch = self._repeat == 1 and isinstance(backend, BackendProxy) and backend.reports_seconds
        return backend if can_prefetch else None

    def _prefetch(self, following: CorpusCase) -> LoadedCase | None:
        """Read the next case; return None if it cannot be read. The error is raised later, when the case is run."""
        if self._prefetched is None or self._prefetched.entry is not following:
            with suppress(CorpusError):
                loaded = load_case(self._corpus, following)
                # a companion is loaded before the first run, so the inputs are not sent with the model
                is_run_next = COMPANION_FILE not in following.files and not self.was_unsupported
                self._prefetched = loaded.with_prefetched_inputs() if is_run_next else loaded
                return self._prefetched
            return None
        return self._prefetched
