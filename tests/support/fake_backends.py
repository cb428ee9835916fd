"""Backends named for their fault; apart from it they return correct outputs."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.adapters.reference import ReferenceBackend

if TYPE_CHECKING:
    import onnx

__version__ = "0.0.7"


class AlwaysRight:
    """Returns the outputs of the reference; the base class of the others."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.right = ReferenceBackend.prepare(model)
        self.runs = 0

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        return cls(model)

    def run(self, inputs: Any) -> Any:
        outputs = self.answer(inputs, list(self.right.run(inputs)))
        self.runs += 1
        return outputs

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return outputs


class FullyChecking(AlwaysRight):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        import onnx

        onnx.checker.check_model(model, full_check=True)
        return cls(model)


class AlwaysWrong(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [np.asarray(output + 1, dtype=output.dtype) for output in outputs]


class WrongOnArgMax(AlwaysWrong):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        is_argmax = any(node.op_type == "ArgMax" for node in self.model.graph.node)
        return super().answer(inputs, outputs) if is_argmax else outputs


class ZeroOnArgMax(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        is_argmax = any(node.op_type == "ArgMax" for node in self.model.graph.node)
        return [np.zeros_like(output) for output in outputs] if is_argmax else outputs


class ReturnsTooFew(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return outputs[:-1]


class ReturnsTooMany(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [*outputs, outputs[0]]


class ReturnsNothing(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return []


class ReturnsNone(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return None


class ReturnsOneArray(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return outputs[0]


class ReturnsADict(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return dict(enumerate(outputs))


class ReturnsNones(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [None for _ in outputs]


class ReturnsLists(AlwaysRight):
    """Returns lists of Python floats instead of arrays."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [output.tolist() for output in outputs]


class ReturnsScalars(AlwaysRight):
    """Returns one Python float per output instead of an array."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [float(output.flat[0]) for output in outputs]


class WrongType(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [output.astype(np.float64 if output.dtype == np.float32 else np.float32) for output in outputs]


class WrongShape(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [output[np.newaxis] for output in outputs]


class ReturnsObjects(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [output.astype(object) for output in outputs]


class ReturnsRecords(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [np.zeros(output.shape, dtype=[("mantissa", "f4"), ("exponent", "i4")]) for output in outputs]


class ReturnsSwappedBytes(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [output.astype(output.dtype.newbyteorder()) for output in outputs]


class ReturnsATuple(AlwaysRight):
    """Returns a tuple, as the backends of ONNX do."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return tuple(outputs)


class ReturnsOtherLayouts(AlwaysRight):
    """Returns correct elements in memory that is neither contiguous nor writable."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        spread = [np.repeat(output[..., np.newaxis], 2, axis=-1)[..., 0] for output in outputs]
        for output in spread:
            output.flags.writeable = False
        return spread


class PreparesNone:
    @staticmethod
    def prepare(model: onnx.ModelProto, device: str = "CPU") -> Any:
        return None


class ChangesItsInputs(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        inputs[-1][...] += 1
        return outputs


class UpdatesInPlace(AlwaysRight):
    """Returns its input arrays, overwritten with the correct values."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        X = next(array for array in inputs if array.shape == outputs[0].shape and array.dtype == outputs[0].dtype)
        X[...] = outputs[0]
        return [X, *outputs[1:]]


class KeepsStateBetweenRuns(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [np.asarray(output + self.runs, dtype=output.dtype) for output in outputs]


class ReusesItsBuffers(AlwaysRight):
    """Returns the arrays of the previous run with new elements."""

    buffers: Any = None

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        self.buffers = self.buffers or outputs
        for buffer, output in zip(self.buffers, outputs, strict=True):
            buffer[...] = output
        return self.buffers


class ChangesItsModel(AlwaysRight):
    """Changes the model that it prepares."""

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        model.graph.ClearField("node")


class PrintsMuch(AlwaysRight):
    """Writes to standard output and error, also directly to the file descriptors."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        sys.stdout.write('{"record": "result"}\n')
        sys.stderr.write("noise\n")
        os.write(1, b"\x00\xff noise\n")
        return outputs


class KillsItsProcess(AlwaysRight):
    """Kills its process on Momentum, as a segmentation fault does."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        if any(node.op_type == "Momentum" for node in self.model.graph.node):
            os._exit(0)
        return outputs


class Interrupted(AlwaysRight):
    """Raises KeyboardInterrupt in the third case."""

    prepared = 0

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        Interrupted.prepared += 1
        if Interrupted.prepared == 3:
            Interrupted.prepared = 0
            raise KeyboardInterrupt


class HasAVersion(AlwaysRight):
    __version__ = "<script>1.2</script>"


class HasNoPrepare:
    pass


class KillsItsProcessOnce(AlwaysWrong):
    """Kills its process the first time that it runs. It creates the file that the variable names, and then runs."""

    MARKER_VARIABLE = "FAKE_BACKENDS_DIED"

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        marker = Path(os.environ[self.MARKER_VARIABLE])
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().answer(inputs, outputs)
