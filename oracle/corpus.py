"""The corpus as docs/formats.md describes it: cases, their data sets, and what each output must be."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import ModelProto, TensorProto

from oracle.tensors import Tensor, tensor_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Expected:
    """One output of one data set: the expected tensor, and its bound or its accept sets where it has them."""

    tensor: Tensor
    bound: Tensor | None
    accept: Tensor | None


@dataclass(frozen=True)
class DataSet:
    """The inputs of one run by name, and what must come of it in the order of the graph's outputs."""

    name: str
    inputs: dict[str, Tensor]
    expected: tuple[Expected, ...]


@dataclass(frozen=True)
class Case:
    """One folder of the corpus."""

    id: str
    level: str
    folder: Path

    def model(self) -> ModelProto:
        """The model, without the external data that it may name."""
        model = ModelProto()
        model.ParseFromString((self.folder / "model.onnx").read_bytes())
        return model

    def data_sets(self, model: ModelProto) -> Iterator[DataSet]:
        """The case's data sets, in order; a model that must be rejected has none that could be recomputed."""
        if self.id.startswith("invalid/"):
            return
        count = sum(1 for _ in self.folder.glob("test_data_set_*"))
        for number in range(count):
            folder = self.folder / f"test_data_set_{number}"
            inputs = {name: _tensor(folder / f"input_{at}.pb") for at, name in enumerate(fed_inputs(model))}
            yield DataSet(folder.name, inputs, tuple(_outputs(folder, model)))


def cases(data: Path) -> list[Case]:
    """Every case that the manifest lists, by its place. Raises FileNotFoundError where there is no corpus."""
    levels: dict[str, str] = json.loads((data / "manifest.json").read_text(encoding="utf-8"))["levels"]
    return [Case(id=place, level=levels[place], folder=data / place) for place in sorted(levels)]


def fed_inputs(model: ModelProto) -> list[str]:
    """The names of the graph's inputs that no initializer gives, in order."""
    given = {initializer.name for initializer in model.graph.initializer}
    given |= {initializer.values.name for initializer in model.graph.sparse_initializer}
    return [declared.name for declared in model.graph.input if declared.name not in given]


def _outputs(folder: Path, model: ModelProto) -> Iterator[Expected]:
    for number in range(len(model.graph.output)):
        bound, accept = (folder / f"{name}_{number}.pb" for name in ("bound", "accept"))
        yield Expected(
            _tensor(folder / f"output_{number}.pb"),
            _tensor(bound) if bound.exists() else None,
            _tensor(accept) if accept.exists() else None,
        )


def _tensor(file: Path) -> Tensor:
    return tensor_of(TensorProto.FromString(file.read_bytes()), file.parent)
