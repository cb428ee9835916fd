"""Backends for a census, each with one planted fault or none, named for it. They run one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.census.scale import SCALES
from conformance.census.truth import FUNCTIONS, into

if TYPE_CHECKING:
    import onnx

__version__ = "1"


class CorrectlyRounded:
    """Has correctly rounded Exp, Log and Sqrt; the others derive from it."""

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
                scale = next(scale for scale in SCALES.values() if scale.dtype == X.dtype)
                Y = into(scale, FUNCTIONS[self.operator].in_double(X.astype(np.float64)))
                return [self.plant(X, Y.copy(), scale)]
            return [self.softmax(X.astype(np.float64)).astype(X.dtype)]

    def plant(self, X: Any, Y: Any, scale: Any) -> Any:
        return Y

    def softmax(self, X: Any) -> Any:
        Y = np.exp(X - X.max(axis=1, keepdims=True))
        return Y / Y.sum(axis=1, keepdims=True)

    def argmax(self, X: Any) -> Any:
        wins = X[:, 1] >= X[:, 0] if self.last else X[:, 1] > X[:, 0]
        return wins.astype(np.int64)


def places_of(values: Any, scale: Any, X: Any) -> Any:
    """Where in X these values are."""
    wanted = np.asarray(values).astype(scale.dtype)
    return np.flatnonzero(np.isin(X.astype(np.float64), wanted.astype(np.float64)))


class OutOfOrderOnce(CorrectlyRounded):
    """One value is the next one of its type, so that the neighbour above it is below it."""

    places = (5.0,)

    def plant(self, X: Any, Y: Any, scale: Any) -> Any:
        for i in places_of(self.places, scale, X):
            Y[i] = scale.values(int(scale.places(Y[i : i + 1])[0]) + 200, 1)[0]
        return Y


class OutOfOrderSevenTimes(OutOfOrderOnce):
    places = (-4.0, -2.0, -1.0, 1.0, 2.0, 3.0, 6.0)


class OffByOneAndAHalf(CorrectlyRounded):
    """At 3 the value is one and a half ULP from the exact one, as near as a type of this width comes to it."""

    def plant(self, X: Any, Y: Any, scale: Any) -> Any:
        for i in places_of([3.0], scale, X):
            exact = np.exp(3.0)
            place = int(scale.places(Y[i : i + 1])[0])
            Y[i] = scale.values(place + (1 if float(Y[i]) > exact else -1), 1)[0]
        return Y


class OtherAlone(CorrectlyRounded):
    """In short tensors, each value is that of its upper neighbour."""

    def plant(self, X: Any, Y: Any, scale: Any) -> Any:
        return Y if len(X) > 100 else np.append(Y[1:], Y[-1:])


class OneNan(CorrectlyRounded):
    def plant(self, X: Any, Y: Any, scale: Any) -> Any:
        Y[places_of([0.5], scale, X)] = np.nan
        return Y


class OneInfinity(CorrectlyRounded):
    def plant(self, X: Any, Y: Any, scale: Any) -> Any:
        Y[places_of([0.5], scale, X)] = np.inf
        return Y


class FlushesSubnormals(CorrectlyRounded):
    """What is below the smallest normal value is 0."""

    def plant(self, X: Any, Y: Any, scale: Any) -> Any:
        Y[np.abs(Y.astype(np.float64)) < float(scale.format.smallest_normal)] = 0
        return Y


class TiesOnce(CorrectlyRounded):
    """At 1 the value is that of the neighbour above."""

    def plant(self, X: Any, Y: Any, scale: Any) -> Any:
        for i in places_of([1.0], scale, X):
            Y[i] = Y[i + 1]
        return Y


class NotShiftSymmetric(CorrectlyRounded):
    """Softmax takes no largest element away: rows of large elements are NaN."""

    def softmax(self, X: Any) -> Any:
        Y = np.exp(X.astype(np.float16).astype(np.float32)).astype(np.float16)
        return Y / Y.sum(axis=1, keepdims=True)


class SoftmaxOutOfOrderOnce(CorrectlyRounded):
    """Of the row [0, 2] the second element is the smaller one."""

    def softmax(self, X: Any) -> Any:
        Y = super().softmax(X)
        planted = (X[:, 0] == 0) & (X[:, 1] == 2)
        Y[planted] = Y[planted][:, ::-1]
        return Y


class SoftmaxOutOfOrderInSeventeen(CorrectlyRounded):
    """In rows of 17 elements of which the sixth is the largest, it is the smallest."""

    def softmax(self, X: Any) -> Any:
        Y = super().softmax(X)
        if X.shape[1] == 17:
            Y[X.argmax(axis=1) == 5, 5] = 0
        return Y


class ArgMaxPrefersOne(CorrectlyRounded):
    """ArgMax of [2, 1] is 1."""

    def argmax(self, X: Any) -> Any:
        Y = super().argmax(X)
        Y[(X[:, 0] == 2) & (X[:, 1] == 1)] = 1
        return Y


class TakesOneSize(CorrectlyRounded):
    """Of a model whose sizes are open, the size of the first input is the only one that it takes."""

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
