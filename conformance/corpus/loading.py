"""A case as a run needs it: its model, and each data set's inputs and what the outputs are held against."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.errors import CorpusError
from conformance.models.arrays import Array, dtype_of
from conformance.verdicts import Level, check_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.corpus import Corpus, CorpusCase

_MEND = "Write the corpus anew with `onnx-conformance generate`."
MOST_NAMED = 512
"""Of how many cases the files' names are known by data set; most cases have the names of another."""

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
        return check_name(bound=self.bound, choices=self.choices)


@dataclass(frozen=True, slots=True)
class DataSet:
    """Inputs in graph-input order, and expected outputs in graph-output order; none of a model to be rejected."""

    inputs: tuple[Array, ...]
    outputs: tuple[ExpectedTensor, ...]


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A case read from the corpus for one run: nothing of it is shared with another run, so a subject may spoil it.

    Attributes:
        entry: what the manifest has of it.
        model: what a subject is to prepare.
        early: the inputs of the first data set, where they were read before it is asked for.
    """

    corpus: Corpus
    entry: CorpusCase
    model: onnx.ModelProto
    early: tuple[Array, ...] | None = field(default=None, kw_only=True)

    def with_early_inputs(self) -> LoadedCase:
        """The same case, with the inputs of its first data set read, which are then given out once.

        One without data sets is as it was.

        Raises:
            CorpusError: a file is altered, or is not what its name says.
        """
        first = next(iter(_by_data_set(tuple(self.entry.files))), None)
        if first is None:
            return self
        with _readable(self.corpus, self.entry):
            tensors = [_tensor(self.corpus.read(self.entry, first["input", i])) for i in range(_inputs(first))]
        return replace(self, early=tuple(tensors))

    @property
    def id(self) -> str:
        """Its name."""
        return self.entry.id

    @property
    def is_invalid(self) -> bool:
        """Whether its model must be rejected, so that no output is expected."""
        return self.entry.is_invalid

    @property
    def is_structural(self) -> bool:
        """Whether it has no data set, since it is about what a graph optimizer does with its graph and no more."""
        return self.entry.is_structural

    def data_sets(self) -> Iterator[DataSet]:
        """The data sets in order, each read when it is asked for: a model that is refused costs no reading.

        A structural case has none.

        Raises:
            CorpusError: a file is altered, or is not what its name says.
        """
        names = [] if self.is_invalid else [value.name for value in self.model.graph.output]
        data_sets = _by_data_set(tuple(self.entry.files))
        if not data_sets and not self.is_structural:
            raise CorpusError(f"Case {self.entry.path} in {self.corpus.path} has no data set.", _MEND)
        for number, files in enumerate(data_sets):
            with _readable(self.corpus, self.entry):
                yield _data_set(self.corpus, self.entry, files, names, None if number else self.early)


def load_case(corpus: Corpus, case: CorpusCase) -> LoadedCase:
    """Read a case.

    Raises:
        CorpusError: its model is altered, or is none.
    """
    with _readable(corpus, case):
        return LoadedCase(corpus, case, onnx.ModelProto.FromString(corpus.read(case, "model.onnx")))


@contextmanager
def _readable(corpus: Corpus, case: CorpusCase) -> Iterator[None]:
    try:
        yield
    except (DecodeError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"Case {case.path} in {corpus.path} cannot be read: {type(error).__name__}: {error}.",
            _MEND,
        ) from None


@lru_cache(maxsize=MOST_NAMED)
def _by_data_set(files: tuple[str, ...]) -> list[Mapping[tuple[str, int], str]]:
    """The files of each data set, by what they hold and its number."""
    found: dict[int, dict[tuple[str, int], str]] = {}
    for file in files:
        if match := _FILE.fullmatch(file):
            found.setdefault(int(match[1]), {})[match[2], int(match[3])] = file
    return [found[number] for number in sorted(found)]


def _inputs(files: Iterable[tuple[str, int]]) -> int:
    """How many inputs a data set has."""
    return sum(what == "input" for what, _ in files)


def _data_set(
    corpus: Corpus,
    case: CorpusCase,
    files: Mapping[tuple[str, int], str],
    names: Sequence[str],
    early: tuple[Array, ...] | None,
) -> DataSet:
    tensors = {
        key: _tensor(corpus.read(case, file)) for key, file in files.items() if early is None or key[0] != "input"
    }
    return DataSet(
        tuple(tensors["input", i] for i in range(_inputs(files))) if early is None else early,
        tuple(
            _expected(name, tensors["output", i], tensors.get(("bound", i)), tensors.get(("accept", i)))
            for i, name in enumerate(names)
        ),
    )


def _expected(name: str, expected: Array, bound: Array | None, choices: Array | None) -> ExpectedTensor:
    """What an output is held against; nothing is broadcast.

    Raises:
        ValueError: a bound is not of the output's shape, or choices are not of it with one more axis.
    """
    if bound is not None and bound.shape != expected.shape:
        raise ValueError(f"the bound of {name} has shape {bound.shape} instead of {expected.shape}")
    if choices is not None and (choices.dtype != np.bool_ or choices.shape[:-1] != expected.shape):
        raise ValueError(f"the acceptable indices of {name} do not fit its shape {expected.shape}")
    return ExpectedTensor(name, expected, bound, choices)


def _tensor(content: bytes) -> Array:
    """A writable array of its own; the corpus keeps every tensor as raw bytes."""
    proto = onnx.TensorProto.FromString(content)
    return np.frombuffer(proto.raw_data, dtype=dtype_of(proto.data_type)).reshape(tuple(proto.dims)).copy()


@dataclass(frozen=True, slots=True)
class CaseInMemory(LoadedCase):
    """A case whose data sets are read once; each run gets copies, so a subject may spoil them.

    Attributes:
        held: its data sets.
    """

    held: tuple[DataSet, ...]

    @property
    def level(self) -> Level:
        """Its level."""
        return self.entry.level

    def data_sets(self) -> Iterator[DataSet]:
        """The data sets, with inputs that a subject may spoil."""
        return (DataSet(tuple(array.copy() for array in kept.inputs), kept.outputs) for kept in self.held)

    def fresh_model(self) -> onnx.ModelProto:
        """A copy of the model, which a subject may spoil."""
        copy = type(self.model)()
        copy.CopyFrom(self.model)
        return copy


def case_in_memory(corpus: Corpus, case: CorpusCase) -> CaseInMemory:
    """Read a case whole.

    Raises:
        CorpusError: it is altered, or cannot be read.
    """
    loaded = load_case(corpus, case)
    return CaseInMemory(corpus, case, loaded.model, tuple(loaded.data_sets()))
