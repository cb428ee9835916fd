"""A sweep of random nodes on ONNX Runtime through the reference: every element outside of a bound is printed.

Run `python tests/support/reference_sweep.py NODES SEED`. mpmath and integers of Python compute the exact value of such
an element. It is a fault of the runtime if the bound contains the exact value and the runtime's value is further away.
The exit status is 1 if an element outside of a bound of level `must` is no such fault.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import onnx
import onnxruntime
from onnx import helper

from conformance.models.arrays import type_name
from conformance.reference.enclosures import enclose_node
from conformance.reference.nodes import Node, attribute_values
from conformance.reference.numbers.enclosure import Enclosure, admissible_mask
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Array = np.ndarray[Any, Any]

mpmath.mp.prec = 400

UNARY = (
    "Abs",
    "Neg",
    "Relu",
    "Ceil",
    "Floor",
    "Round",
    "Sign",
    "Exp",
    "Log",
    "Sqrt",
    "Reciprocal",
    "Tanh",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Erf",
    "Gelu",
    "Elu",
    "Selu",
    "Celu",
    "LeakyRelu",
    "HardSigmoid",
    "HardSwish",
    "ThresholdedRelu",
    "Shrink",
    "Sin",
    "Cos",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    "Sinh",
    "Cosh",
    "Asinh",
    "Acosh",
    "Atanh",
    "Mish",
)
BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "PRelu", "Sum", "Mean", "Mod")
REDUCTIONS = (
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
)
ALONG_AXES = ("Softmax", "LogSoftmax", "ArgMax", "ArgMin", "TopK", "CumSum", "Hardmax", "LpNormalization")
LARGE = (
    "MatMul",
    "Gemm",
    "Conv",
    "ConvTranspose",
    "LayerNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "BatchNormalization",
    "MeanVarianceNormalization",
    "RMSNormalization",
    "AveragePool",
    "MaxPool",
    "GlobalAveragePool",
    "GlobalMaxPool",
)
TYPES = (np.dtype(np.float32), np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16))
INTEGERS = tuple(map(np.dtype, (np.int8, np.int32, np.int64)))
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1e-40, 3e38, -3e38, 60000.0, 2.5, -0.5)


@dataclass(frozen=True)
class Drawn:
    """A node with its inputs."""

    proto: onnx.NodeProto
    arrays: tuple[Array, ...]
    opset: int

    @property
    def node(self) -> Node:
        """The node in the form of the reference."""
        names = tuple(self.proto.input), tuple(self.proto.output)
        return Node(self.proto.op_type, *names, attribute_values(self.proto.attribute), self.opset)

    def feeds(self) -> dict[str, Array]:
        """Return the arrays by the names of the inputs; an input that the node leaves out has no name."""
        return dict(zip(filter(None, self.proto.input), self.arrays, strict=True))

    def model(self) -> onnx.ModelProto:
        """Return a model of the node alone."""
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in self.feeds().items()
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.proto.output if name]
        graph = helper.make_graph([self.proto], "g", inputs, outputs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


class Generator:
    """Draws random nodes."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def numbers(self, dtype: np.dtype[Any], *shape: int, special: float = 0.0) -> Array:
        """Return random numbers of one of several magnitudes, some of them special."""
        scale, shift = self.random.choice([1e-3, 1.0, 1.0, 8.0, 300.0]), self.random.choice([0.0, 0.0, 5.0])
        X = self.random.standard_normal(shape) * scale + shift
        X = np.where(self.random.random(shape) < special, self.random.choice(SPECIAL, shape), X)
        with np.errstate(all="ignore"):
            return np.asarray(X.astype(dtype))

    def draw(self) -> Drawn:
        """Return a random node."""
        random = self.random
        dtype = TYPES[random.integers(len(TYPES))]
        special = float(random.choice([0.0, 0.0, 0.15]))
        kind = random.integers(6)
        if kind == 5:
            return self._of_integers()
        shape = tuple(int(size) for size in random.integers(1, 7, random.integers(1, 4)))
        if kind == 0:
            return self._make(str(random.choice(UNARY)), [self.numbers(dtype, *shape, special=special)])
        if kind == 1:
            operator = str(random.choice(BINARY))
            second = shape if random.random() < 0.7 else shape[-1:]
            arrays = [self.numbers(dtype, *part, special=special) for part in (shape, second)]
            if operator == "Pow" and random.random() < 0.6:
                arrays[1] = np.full(1, random.choice([2.0, 3.0, 0.5, -1.0]), dtype)
            attributes = {"fmod": 1} if operator == "Mod" else {}
            return self._make(operator, arrays, **attributes)
        long = (int(random.integers(1, 4)), int(random.choice([1, 3, 50, 400, 2000])))
        if kind == 2:
            axes = np.array([1])
            X = self.numbers(dtype, *long, special=special / 10)
            return self._make(str(random.choice(REDUCTIONS)), [X, axes], keepdims=int(random.integers(2)))
        if kind == 3:
            operator = str(random.choice(ALONG_AXES))
            X = self.numbers(dtype, *long, special=special / 10)
            if operator == "TopK":
                return self._make(operator, [X, np.array([min(3, long[1])])], outputs=2, axis=1)
            if operator == "CumSum":
                return self._make(operator, [X, np.array(1)])
            return self._make(operator, [X], axis=1)
        return self._large(str(random.choice(LARGE)), dtype, special / 20)

    def _of_integers(self) -> Drawn:
        """Return a node of integers, or a cast to them."""
        random = self.random
        dtype = INTEGERS[random.integers(len(INTEGERS))]
        limits, reach = np.iinfo(dtype), int(random.choice([5, 100, 2**31, 2**62]))
        shape = tuple(int(size) for size in random.integers(1, 6, 2))
        first, second = (
            np.clip(random.integers(-reach, reach, shape), limits.min, limits.max).astype(dtype) for _ in range(2)
        )
        kind = random.integers(4)
        if kind == 0:
            return self._make(str(random.choice(["Abs", "Neg", "Sign", "Relu"])), [first])
        if kind == 1:
            return self._make(
                str(random.choice(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Pow"])), [first, second]
            )
        if kind == 2:
            operator = str(random.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"]))
            return self._make(operator, [first, np.array([1])])
        X = self.numbers(TYPES[random.integers(len(TYPES))], *shape, special=0.2)
        return self._make("Cast", [X], to=helper.np_dtype_to_tensor_dtype(dtype))

    def _large(self, operator: str, dtype: np.dtype[Any], special: float) -> Drawn:
        random = self.random
        n, k, m = (int(random.choice(sizes)) for sizes in ([1, 3], [1, 4, 64, 768], [1, 5]))
        X = self.numbers(dtype, n, k, special=special)
        if operator in ("MatMul", "Gemm"):
            arrays = [X, self.numbers(dtype, k, m, special=special)]
            if operator == "MatMul":
                return self._make(operator, arrays)
            attributes = {"alpha": float(random.choice([1.0, 0.3])), "beta": float(random.choice([1.0, 0.5, 0.0]))}
            return self._make(operator, [*arrays, self.numbers(dtype, m)], **attributes)
        if operator in ("LayerNormalization", "RMSNormalization"):
            parameters = [self.numbers(dtype, k) for _ in range(1 + (operator[0] == "L"))]
            return self._make(operator, [X, *parameters], outputs=1)
        channels = 4
        size = int(random.integers(3, 9))
        X = self.numbers(dtype, n, channels, size, size, special=special)
        if operator in ("Conv", "ConvTranspose"):
            W = self.numbers(dtype, channels, channels, 3, 3)
            return self._make(operator, [X, W, self.numbers(dtype, channels)], pads=[1] * 4, strides=[2, 1])
        if operator in ("AveragePool", "MaxPool"):
            return self._make(operator, [X], kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])
        if operator in ("GlobalAveragePool", "GlobalMaxPool", "MeanVarianceNormalization"):
            return self._make(operator, [X])
        scale, bias = (self.numbers(dtype, channels) for _ in range(2))
        if operator == "BatchNormalization":
            statistics = self.numbers(dtype, channels), np.abs(self.numbers(dtype, channels))
            return self._make(operator, [X, scale, bias, *statistics])
        attributes = {"num_groups": 2} if operator == "GroupNormalization" else {}
        return self._make(operator, [X, scale, bias], **attributes)

    def _make(self, operator: str, arrays: list[Array], *, outputs: int = 1, **attributes: Any) -> Drawn:
        names = [f"i{number}" for number in range(len(arrays))], [f"o{number}" for number in range(outputs)]
        return Drawn(helper.make_node(operator, *names, **attributes), tuple(arrays), 23)


def run(drawn: Drawn, *, is_optimized: bool) -> list[Array] | None:
    """Return the outputs of ONNX Runtime; None if it does not run the node."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if is_optimized else level.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(drawn.model().SerializeToString(), options)
        return list(session.run(None, drawn.feeds()))
    except Exception:  # noqa: BLE001 - the runtime lacks the operator for the type
        return None


def exact_value(drawn: Drawn, place: tuple[int, ...]) -> Any:
    """Return the exact value of an element, without code of the reference; None if no formula is known here."""
    operator, X = drawn.proto.op_type, drawn.arrays[0]
    if operator in EXACT:
        return EXACT[operator](mpmath.mpf(float(X[place])))
    if operator in ("ReduceSum", "ReduceMean") and X.dtype.kind == "i":
        row = [int(element) for element in X[place[0]]]
        return mpmath.mpf(sum(row)) / (len(row) if operator == "ReduceMean" else 1)
    if operator in ("Softmax", "LogSoftmax") and np.isnan(X[place[0]]).any():
        return mpmath.nan  # the sum of the exponentials has a term that is NaN
    return None


def is_fault_of_runtime(actual: float, value: float, error: float, exact: Any) -> bool:
    """Return whether the bound contains the exact value, and the runtime's value is further from it than the bound."""
    if exact is None:
        return False
    if mpmath.isnan(exact):
        return bool(np.isnan(value) and not np.isnan(actual))
    if not mpmath.isfinite(exact) or not np.isfinite(actual):
        return bool(exact == value and exact != actual)
    return bool(abs(exact - value) <= error + abs(exact) * OWN_ERROR and abs(exact - mpmath.mpf(actual)) > error)


OWN_ERROR = 2.0**-52
"""Relative error of an integer of the reference that is shown as a double."""


def describe(drawn: Drawn, actual: Array, tensor: Any, outside: Array) -> tuple[str, bool]:
    """Return a line about the first element outside of its bound, and whether exact arithmetic settles it."""
    place = tuple(int(part) for part in np.argwhere(outside)[0]) if outside.ndim else ()
    value = tensor.value[place] if isinstance(tensor, Enclosure) else tensor[place]
    error = tensor.error[place] if isinstance(tensor, Enclosure) else 0.0
    exact = exact_value(drawn, place)
    is_settled = is_fault_of_runtime(actual[place].item(), float(value), float(error), exact)
    shapes = " ".join(f"{type_name(array.dtype)}{list(array.shape)}" for array in drawn.arrays)
    line = (
        f"{drawn.proto.op_type} {shapes} {drawn.node.attributes}: {int(outside.sum())} elements, first {place}: "
        f"{actual[place]!r}, expected {value!r} ± {float(error):.3g}"
    )
    settled = "" if exact is None else f", exactly {mpmath.nstr(exact, 20)}"
    return f"{line}{settled}: {'fault of the runtime' if is_settled else 'not settled'}", is_settled


EXACT: Mapping[str, Callable[[Any], Any]] = {
    "Exp": mpmath.exp,
    "Sqrt": mpmath.sqrt,
    "Tanh": mpmath.tanh,
    "Erf": mpmath.erf,
    "Sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "Softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "Reciprocal": lambda x: 1 / x,
    "Sin": mpmath.sin,
    "Cos": mpmath.cos,
    "Tan": mpmath.tan,
    "Atan": mpmath.atan,
    "Gelu": lambda x: x * mpmath.ncdf(x),
    "Shrink": lambda x: x if abs(x) > mpmath.mpf("0.5") else mpmath.mpf(0),
    "HardSwish": lambda x: x * max(0, min(1, x / 6 + mpmath.mpf("0.5"))),
}


@dataclass
class Findings:
    """The results of a sweep.

    Attributes:
        counts: the number of judged nodes, and of others by reason.
        outside: by level, the number of nodes outside of a bound by operator.
        unsettled: the number of nodes outside of a bound of level `must` that are no proven fault of the runtime.
        lines: a line for each of these nodes.
    """

    counts: Counter[str] = field(default_factory=Counter)
    outside: dict[str, Counter[str]] = field(default_factory=lambda: {"must": Counter(), "should": Counter()})
    lines: list[str] = field(default_factory=list)
    unsettled: int = 0

    def compare(self, drawn: Drawn, actual: Array, tensor: Any) -> None:
        """Compare one output with its enclosure."""
        operator = drawn.proto.op_type
        if actual.dtype != tensor.dtype or actual.shape != tuple(tensor.shape):
            self.outside["must"][operator] += 1
            shapes = f"{actual.dtype}{list(actual.shape)}, expected {tensor.dtype}{list(tensor.shape)}"
            self.lines.append(f"must: {operator} returns {shapes}")
            self.unsettled += 1
            return
        bounds = {"must": tensor}
        if isinstance(tensor, Enclosure) and tensor.should is not None:
            bounds["should"] = tensor.should
        for level, bound in bounds.items():
            outside = ~admissible_mask(actual, bound)
            if outside.any():
                self.outside[level][operator] += 1
                line, is_settled = describe(drawn, actual, bound, outside)
                self.lines.append(f"{level}: {line}")
                self.unsettled += level == "must" and not is_settled
                return


def sweep(count: int, seed: int) -> Findings:
    """Judge random nodes on ONNX Runtime, with and without optimizations."""
    generator, findings = Generator(seed), Findings()
    for _ in range(count):
        drawn = generator.draw()
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = enclose_node(drawn.node, list(drawn.arrays))
        except Unsupported as reason:
            findings.counts[f"not judged: {reason}"] += 1
            continue
        for outputs in (run(drawn, is_optimized=flag) for flag in (True, False)):
            findings.counts["not run" if outputs is None else "judged"] += 1
            for actual, tensor in zip(outputs or [], expected, strict=outputs is not None):
                findings.compare(drawn, actual, tensor)
    return findings


def main() -> int:
    """Sweep, and return 1 if a node outside of a bound of level `must` is no proven fault of the runtime."""
    count, seed = [int(given) for given in sys.argv[1:3]] if len(sys.argv) > 2 else (5000, 1)
    findings = sweep(count, seed)
    text = [*findings.lines, *(f"{number:6} {reason}" for reason, number in findings.counts.most_common())]
    text += [f"outside at {level}: {names.total()} {dict(names)}" for level, names in findings.outside.items()]
    text.append(f"{findings.unsettled} at must are not settled as faults of the runtime")
    sys.stdout.write("\n".join(text) + "\n")
    return int(findings.unsettled > 0)


if __name__ == "__main__":
    sys.exit(main())
