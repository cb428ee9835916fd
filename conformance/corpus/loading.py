"""A case as a run needs it: its model, and each data set's inputs and what the outputs are held against."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.corpus.case import INVALID, PASS
from conformance.errors import CorpusError
from conformance.models.arrays import Array, dtype_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.corpus import Corpus

_MEND = "Write the corpus anew with `onnx-conformance generate`."
_FILE = re.compile(r"test_data_set_(\d+)/(input|output|bound|accept)_(\d+)\.pb")


@dataclass(frozen=True, slots=True)
class ExpectedTensor:
    """What an output is held against: bits, a distance from the expected value, or acceptable indices."""

    name: str
    expected: Array
    bound: Array | None = None
    choices: Array | None = None

    @property
    def check(self) -> str:
        """How it is checked: `exact`, `bound` or `index`."""
        if self.choices is not None:
            return "index"
        return "exact" if self.bound is None else "bound"


@dataclass(frozen=True, slots=True)
class DataSet:
    """Inputs in graph-input order, and expected outputs in graph-output order; none of a model to be rejected."""

    inputs: tuple[Array, ...]
    outputs: tuple[ExpectedTensor, ...]


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A case read from the corpus for one run: nothing of it is shared with another run, so a subject may spoil it.

    Attributes:
        path: its directory in the corpus.
        model: what a subject is to prepare.
    """

    corpus: Corpus
    path: str
    model: onnx.ModelProto

    @property
    def is_invalid(self) -> bool:
        """Whether its model must be rejected, so that no output is expected."""
        return self.path.startswith(f"{INVALID}/")

    @property
    def is_structural(self) -> bool:
        """Whether it has no data set, since it is about what a graph optimizer does with its graph and no more."""
        return is_structural(self.corpus, self.path)

    def data_sets(self) -> Iterator[DataSet]:
        """The data sets in order, each read when it is asked for: a model that is refused costs no reading.

        A structural case has none.

        Raises:
            CorpusError: a file is altered, or is not what its name says.
        """
        names = [] if self.is_invalid else [value.name for value in self.model.graph.output]
        data_sets = _by_data_set(self.corpus.cases[self.path])
        if not data_sets and not self.is_structural:
            raise CorpusError(f"Case {self.path} in {self.corpus.path} has no data set.", _MEND)
        for files in data_sets:
            with _readable(self.corpus, self.path):
                yield _data_set(self.corpus, self.path, files, names)


def load_case(corpus: Corpus, path: str) -> LoadedCase:
    """Read a case.

    Args:
        path: its directory in the corpus.

    Raises:
        CorpusError: its model is altered, or is none.
    """
    with _readable(corpus, path):
        return LoadedCase(corpus, path, onnx.ModelProto.FromString(corpus.read(path, "model.onnx")))


def is_structural(corpus: Corpus, path: str) -> bool:
    """Whether a case has no data set, since it is about what a graph optimizer does with its graph and no more."""
    return path.startswith(f"{PASS}/") and not any(map(_FILE.fullmatch, corpus.cases[path]))


@contextmanager
def _readable(corpus: Corpus, path: str) -> Iterator[None]:
    try:
        yield
    except (DecodeError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"Case {path} in {corpus.path} cannot be read: {type(error).__name__}: {error}.",
            _MEND,
        ) from None


def _by_data_set(files: Iterable[str]) -> list[dict[tuple[str, int], str]]:
    """The files of each data set, by what they hold and its number."""
    found: dict[int, dict[tuple[str, int], str]] = {}
    for file in files:
        if match := _FILE.fullmatch(file):
            found.setdefault(int(match[1]), {})[match[2], int(match[3])] = file
    return [found[number] for number in sorted(found)]


def _data_set(corpus: Corpus, path: str, files: Mapping[tuple[str, int], str], names: Sequence[str]) -> DataSet:
    tensors = {key: _tensor(corpus.read(path, file)) for key, file in files.items()}
    inputs = sum(what == "input" for what, _ in files)
    return DataSet(
        tuple(tensors["input", i] for i in range(inputs)),
        tuple(
            ExpectedTensor(name, tensors["output", i], tensors.get(("bound", i)), tensors.get(("accept", i)))
            for i, name in enumerate(names)
        ),
    )


def _tensor(content: bytes) -> Array:
    """A writable array of its own; the corpus keeps every tensor as raw bytes."""
    proto = onnx.TensorProto.FromString(content)
    return np.frombuffer(proto.raw_data, dtype=dtype_of(proto.data_type)).reshape(tuple(proto.dims)).copy()
