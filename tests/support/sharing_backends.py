"""Backends whose prepared models wrongly share state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fake_backends import AlwaysRight

if TYPE_CHECKING:
    import onnx


class KeepsTheNewestModel(AlwaysRight):
    """Runs the model that was prepared last."""

    newest: ClassVar[Any] = None

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        type(self).newest = self.right

    def run(self, inputs: Any) -> Any:
        return list(self.newest.run(inputs))


class KeepsTheLastInput(AlwaysRight):
    """Runs with the first input of the previous run, also of another model."""

    last: ClassVar[list[Any]] = []

    def run(self, inputs: Any) -> Any:
        first = self.last.pop() if self.last else inputs[0]
        self.last.append(inputs[0].copy())
        return super().run([first, *inputs[1:]])
