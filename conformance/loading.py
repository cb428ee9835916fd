"""A case as a run needs it: its model, and each data set's inputs and what the outputs are held against."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from conformance.arrays import Array, dtype_of
from conformance.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus import Corpus

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
    """Inputs in graph-input order, and expected outputs in graph-output order."""

    inputs: tuple[Array, ...]
    outputs: tuple[ExpectedTensor, ...]


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A case read from the corpus for one run: nothing of it is shared with another run, so a subject may spoil it."""

    id: str
    model: onnx.ModelProto
    data_sets: tuple[DataSet, ...]


def load_case(corpus: Corpus, path: str) -> LoadedCase:
    """Read a case.

    Args:
        path: its directory in the corpus.

    Raises:
        CorpusError: a file is altered, or is not what its name says.
    """
    try:
        model = onnx.ModelProto.FromString(corpus.read(path, "model.onnx"))
        tensors = _tensors(corpus, path)
        names = [value.name for value in model.graph.output]
        numbers = sorted({number for number, _ in tensors})
        data_sets = tuple(_data_set(tensors, number, names) for number in numbers)
    except (DecodeError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"Case {path} in {corpus.path} cannot be read: {type(error).__name__}: {error}.",
            "Write the corpus anew with `onnx-conformance generate`.",
        ) from None
    return LoadedCase(path.rpartition("/")[2], model, data_sets)


def _tensors(corpus: Corpus, path: str) -> dict[tuple[int, str], dict[int, Array]]:
    """The tensors of all data sets, by data set and what they are, then by their number."""
    tensors: dict[tuple[int, str], dict[int, Array]] = {}
    for file in corpus.cases[path]:
        if match := _FILE.fullmatch(file):
            data_set, what, number = int(match[1]), match[2], int(match[3])
            tensors.setdefault((data_set, what), {})[number] = _tensor(corpus.read(path, file))
    return tensors


def _tensor(content: bytes) -> Array:
    """A writable array of its own; the corpus keeps every tensor as raw bytes."""
    proto = onnx.TensorProto.FromString(content)
    return np.frombuffer(proto.raw_data, dtype=dtype_of(proto.data_type)).reshape(proto.dims).copy()


def _data_set(tensors: Mapping[tuple[int, str], Mapping[int, Array]], number: int, names: list[str]) -> DataSet:
    inputs, outputs = tensors[number, "input"], tensors[number, "output"]
    bounds, choices = tensors.get((number, "bound"), {}), tensors.get((number, "accept"), {})
    return DataSet(
        tuple(inputs[i] for i in range(len(inputs))),
        tuple(ExpectedTensor(name, outputs[i], bounds.get(i), choices.get(i)) for i, name in enumerate(names)),
    )
