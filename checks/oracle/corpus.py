"""Reader of the corpus (docs/reference/formats.md): cases, their data sets, and the expected outputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import ModelProto, TensorProto

from checks.oracle.tensors import Tensor, tensor_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class ExpectedOutput:
    """One output of a data set: the expected tensor, its bound or None, and its acceptable indices or None."""

    tensor: Tensor
    bound: Tensor | None
    acceptable: Tensor | None


@dataclass(frozen=True)
class DataSet:
    """The inputs of one run by name, and the expected outputs in the order of the graph."""

    name: str
    inputs: dict[str, Tensor]
    expected: tuple[ExpectedOutput, ...]


@dataclass(frozen=True)
class Case:
    """One case: a folder of the corpus."""

    id: str
    level: str
    folder: Path

    def model(self) -> ModelProto:
        """Return the model, without its external data."""
        model = ModelProto()
        model.ParseFromString((self.folder / "model.onnx").read_bytes())
        return model

    def data_sets(self, model: ModelProto) -> Iterator[DataSet]:
        """Yield the data sets. A case with an invalid model has no outputs to recompute."""
        if self.id.startswith("invalid/"):
            return
        count = sum(1 for _ in self.folder.glob("test_data_set_*"))
        for number in range(count):
            folder = self.folder / f"test_data_set_{number}"
            fed = sum(1 for _ in folder.glob("input_*.pb"))
            every = [declared.name for declared in model.graph.input]
            names = every if fed == len(every) else required_inputs(model)
            inputs = {name: _tensor(folder / f"input_{at}.pb") for at, name in enumerate(names)}
            yield DataSet(folder.name, inputs, tuple(_outputs(folder, model)))


def cases(data: Path) -> list[Case]:
    """Return the cases of the manifest, sorted by id. Raise FileNotFoundError if there is no corpus."""
    levels: dict[str, str] = json.loads((data / "manifest.json").read_text(encoding="utf-8"))["levels"]
    return [Case(id=place, level=levels[place], folder=data / place) for place in sorted(levels)]


def required_inputs(model: ModelProto) -> list[str]:
    """Return the names of the graph's inputs without an initializer, in order."""
    given = {initializer.name for initializer in model.graph.initializer}
    given |= {initializer.values.name for initializer in model.graph.sparse_initializer}
    return [declared.name for declared in model.graph.input if declared.name not in given]


def _outputs(folder: Path, model: ModelProto) -> Iterator[ExpectedOutput]:
    for number in range(len(model.graph.output)):
        bound, accept = (folder / f"{name}_{number}.pb" for name in ("bound", "accept"))
        yield ExpectedOutput(
            _tensor(folder / f"output_{number}.pb"),
            _tensor(bound) if bound.exists() else None,
            _tensor(accept) if accept.exists() else None,
        )


def _tensor(file: Path) -> Tensor:
    return tensor_of(TensorProto.FromString(file.read_bytes()), file.parent)
