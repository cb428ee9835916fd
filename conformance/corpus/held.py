"""A case kept in memory for many runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.corpus.loading import DataSet, LoadedCase, load_case
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx

    from conformance.corpus.corpus import Corpus


@dataclass(frozen=True, slots=True)
class HeldCase(LoadedCase):
    """A case whose data sets are read once; each run gets copies, so a subject may spoil them.

    Attributes:
        level: its level.
        held: its data sets.
    """

    level: Level
    held: tuple[DataSet, ...]

    @property
    def id(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    def data_sets(self) -> Iterator[DataSet]:
        """The data sets, with inputs that a subject may spoil."""
        return (DataSet(tuple(array.copy() for array in kept.inputs), kept.outputs) for kept in self.held)

    def fresh_model(self) -> onnx.ModelProto:
        """A copy of the model, which a subject may spoil."""
        copy = type(self.model)()
        copy.CopyFrom(self.model)
        return copy


def held(corpus: Corpus, path: str) -> HeldCase:
    """Read a case whole.

    Raises:
        CorpusError: it is altered, or cannot be read.
    """
    loaded = load_case(corpus, path)
    level = Level(corpus.levels[path])
    return HeldCase(corpus, path, loaded.model, level, tuple(loaded.data_sets()))
