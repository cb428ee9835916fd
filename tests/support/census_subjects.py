"""Backends with at most one fault each, for tests of the census. They run models of one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.census.correct_rounding import FUNCTIONS, round_to
from conformance.census.float_ordinals import FLOAT_TYPES

if TYPE_CHECKING:
    import onnx

__version__ = "1"


class CorrectlyRounded:
    """Computes correctly rounded Exp, Log and Sqrt; base class of the others."""

    def __init__(self, model: onnx.ModelProto) -> None:
        (node,) = model.graph.node
        self.operator = node.op_type
        self.last = any(one.name == "select_last_index" and one.i for one in node.attribute)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        return cls(model)

    def run(self, inputs: Any) -> Any:
        (X,) = inputs
        with np.errstate(all="ignore"):
            if self.operator == "ArgMax":
                return [self.argmax(X)]
            if self.operator in FUNCTIONS:
                float_type = next(float_type for float_type in FLOAT_TYPES.values() if float_type.dtype == X.dtype)
                Y = round_to(float_type, FUNCTIONS[self.operator].in_double(X.astype(np.float64)))
                return [self.plant(X, Y.copy(), float_type)]
            return [self.softmax(X.astype(np.float64)).astype(X.dtype)]

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        return Y

    def softmax(self, X: Any) -> Any:
        Y = np.exp(X - X.max(axis=1, keepdims=True))
        return Y / Y.sum(axis=1, keepdims=True)

    def argmax(self, X: Any) -> Any:
        wins = X[:, 1] >= X[:, 0] if self.last else X[:, 1] > X[:, 0]
        return wins.astype(np.int64)


def positions_of(values: Any, float_type: Any, X: Any) -> Any:
    """Return the positions of these values in X."""
    wanted = np.asarray(values).astype(float_type.dtype)
    return np.flatnonzero(np.isin(X.astype(np.float64), wanted.astype(np.float64)))


class OutOfOrderOnce(CorrectlyRounded):
    """Returns a value at 5 that is 200 ordinals too large, so that the next value is smaller."""

    arguments = (5.0,)

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        for i in positions_of(self.arguments, float_type, X):
            Y[i] = float_type.consecutive_values(int(float_type.ordinals(Y[i : i + 1])[0]) + 200, 1)[0]
        return Y


class OutOfOrderSevenTimes(OutOfOrderOnce):
    arguments = (-4.0, -2.0, -1.0, 1.0, 2.0, 3.0, 6.0)


class OffByOneAndAHalf(CorrectlyRounded):
    """Returns the neighbour of the correctly rounded value at 3, which has an error of 1 to 1.5 ULP."""

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        for i in positions_of([3.0], float_type, X):
            exact = np.exp(3.0)
            ordinal = int(float_type.ordinals(Y[i : i + 1])[0])
            Y[i] = float_type.consecutive_values(ordinal + (1 if float(Y[i]) > exact else -1), 1)[0]
        return Y


class OtherAlone(CorrectlyRounded):
    """Returns the value of the next argument in short tensors."""

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        return Y if len(X) > 100 else np.append(Y[1:], Y[-1:])


class OneNan(CorrectlyRounded):
    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        Y[positions_of([0.5], float_type, X)] = np.nan
        return Y


class OneInfinity(CorrectlyRounded):
    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        Y[positions_of([0.5], float_type, X)] = np.inf
        return Y


class FlushesSubnormals(CorrectlyRounded):
    """Returns 0 instead of a subnormal value."""

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        Y[np.abs(Y.astype(np.float64)) < float(float_type.format.smallest_normal)] = 0
        return Y


class TiesOnce(CorrectlyRounded):
    """Returns the value of the next argument at 1."""

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        for i in positions_of([1.0], float_type, X):
            Y[i] = Y[i + 1]
        return Y


class NotShiftSymmetric(CorrectlyRounded):
    """Computes Softmax without subtracting the largest element: rows of large elements give NaN."""

    def softmax(self, X: Any) -> Any:
        Y = np.exp(X.astype(np.float16).astype(np.float32)).astype(np.float16)
        return Y / Y.sum(axis=1, keepdims=True)


class SoftmaxOutOfOrderOnce(CorrectlyRounded):
    """Swaps the elements of the result for the row [0, 2]."""

    def softmax(self, X: Any) -> Any:
        Y = super().softmax(X)
        planted = (X[:, 0] == 0) & (X[:, 1] == 2)
        Y[planted] = Y[planted][:, ::-1]
        return Y


class SoftmaxOutOfOrderInSeventeen(CorrectlyRounded):
    """Returns 0 for the largest element of a row of 17 elements if it is the sixth."""

    def softmax(self, X: Any) -> Any:
        Y = super().softmax(X)
        if X.shape[1] == 17:
            Y[X.argmax(axis=1) == 5, 5] = 0
        return Y


class ArgMaxPrefersOne(CorrectlyRounded):
    """Returns 1 for the ArgMax of [2, 1]."""

    def argmax(self, X: Any) -> Any:
        Y = super().argmax(X)
        Y[(X[:, 0] == 2) & (X[:, 1] == 1)] = 1
        return Y


class TakesOneSize(CorrectlyRounded):
    """Accepts only inputs of the size of the first input of a model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        self.size = model.graph.input[0].type.tensor_type.shape.dim[0].dim_value

    def run(self, inputs: Any) -> Any:
        self.size = self.size or len(inputs[0])
        if len(inputs[0]) != self.size:
            raise ValueError(f"takes {self.size} elements")
        return super().run(inputs)


class SupportsNothing(CorrectlyRounded):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        raise NotImplementedError("nothing at all")


class GivesDoubles(CorrectlyRounded):
    def run(self, inputs: Any) -> Any:
        return [Y.astype(np.float64) for Y in super().run(inputs)]
