"""Settle accusations by arithmetic of another kind, without the reference of the suite.

python -m checks.truth.settle dist/truth/results.jsonl

`checks.truth.run chains` has written each accused node with its operands. It is computed by `exact`, with numbers of 60
digits, and as every correct variant; operators that `exact` lacks are computed in double. An accusation is ours if the
bound does not contain the exact value. The runtime is wrong if its error is far above the errors of all variants, or
above the roundings that a passage of the page admits. All other accusations are open.

The exit status is 1 if an accusation is ours or open.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import mpmath
import numpy as np
import onnx
from onnx import TensorProto, helper

from .evaluate import FLOATS, HALVES, evaluate
from .exact import evaluate_exactly
from .exact_node import NoFormula, exact_array, rounded
from .run import cases_folder, read_inputs
from .variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

FACTOR = 4
"""An error above this many times the largest error of a variant, plus as many ULP, is one of the runtime."""


WITH_STATES = frozenset({"GRU", "RNN"})
"""Operators whose outputs are the states after each step."""


def settle_chain(record: Mapping[str, Any], folder: Path) -> list[str]:
    """Return a line for each accusation of a record, from the cases in a folder."""
    cases = {int(case.name.split("_")[3]): case for case in folder.glob("node/test_audit_*")}
    return [describe(node, cases.get(node["number"])) for node in record["wrong"]]


def describe(node: Mapping[str, Any], case: Path | None) -> str:
    """Return the settled truth of an accused node."""
    head = f"{node['operator']} {node['type']}"
    worst = node["worst"]
    if case is None:
        return f"{head}: open, no case"
    model = onnx.load(case / "model.onnx")
    feeds = read_inputs(model, case / "test_data_set_0")
    if worst is None:
        return f"{head}: {describe_shape(model, feeds, node['reason'])}"
    at = [value.name for value in model.graph.output].index(worst["output"])
    type = model.graph.output[at].type.tensor_type.elem_type
    index = tuple(worst["index"])
    exact, way = exact_element(model, feeds, at, index)
    value = float(worst["value"])
    if type not in FLOATS:
        is_right = mpmath.mpf(str(worst["expected"])) == exact != mpmath.mpf(str(worst["value"]))
        return f"{head}: {'runtime' if is_right else 'OURS'}, {worst['value']} for {int(exact)} ({way})"
    values = [float(evaluate(model, feeds, variant)[at][index]) for variant in VARIANTS.values()]
    unit = ulp(float(exact), type)
    error = float(abs(mpmath.mpf(value) - exact)) / unit
    usual = max(float(abs(mpmath.mpf(each) - exact)) for each in values) / unit
    admitted = ADMITTED.get(tuple(each.op_type for each in model.graph.node))
    if admitted is None or (admitted is layer_normalization and type not in HALVES):
        limit = FACTOR * (usual + 1)
    else:
        limit = float(admitted(Element(model, feeds, index, exact)) / unit)
    expected = [float(worst["expected"])]
    if {each.op_type for each in model.graph.node} & WITH_STATES:  # the audit computes a step from the states before it
        stored = onnx.TensorProto.FromString((case / "test_data_set_0" / f"output_{at}.pb").read_bytes())
        expected.append(float(onnx.numpy_helper.to_array(stored)[index]))
    claimed = min(abs(mpmath.mpf(each) - exact) for each in expected)
    if claimed > float(worst["bound"]) + abs(exact) * 2.0**-50:
        truth = "OURS"
    else:
        truth = "runtime" if not error <= limit else "open"
    return (
        f"{head}: {truth}, {error:.3g} ULP, variants {usual:.3g} ULP, limit {limit:.3g} ULP, "
        f"{value:.9g} for {mpmath.nstr(exact, 17)} ({way})"
    )


def exact_element(
    model: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]], at: int, index: tuple[int, ...]
) -> tuple[Any, str]:
    """Return an element of an output, and by which numbers it was computed."""
    try:
        return mpmath.mpf(evaluate_exactly(model, feeds)[at][index]), "exact"
    except NoFormula:
        wide = evaluate(widened(model), widened_feeds(feeds), VARIANTS["plain"])[at][index]
        return mpmath.mpf(float(wide)), "in double"


def describe_shape(model: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]], reason: str) -> str:
    """Return the truth of an accusation of an output's shape: `NAME is TYPE [...], but must be TYPE [...]`."""
    found = re.fullmatch(r"(\S+) is (\w+) (\[.*\]), but must be (\w+) (\[.*\])", reason)
    if found is None:
        return f"open, {reason}"
    at = [value.name for value in model.graph.output].index(found[1])
    try:
        shape = str(list(evaluate_exactly(model, feeds)[at].shape))
    except NoFormula as operator:
        return f"open, no formula of {operator}"
    return f"{'runtime' if found[3] != shape == found[5] else 'OURS'}, {reason} (exact)"


@dataclass(frozen=True)
class Element:
    """One element of the first output of a model.

    Attributes:
        model: the model of the accused node, with the hidden nodes before it.
        feeds: its inputs.
        index: the position of the element.
        exact: its exact value.
    """

    model: onnx.ModelProto
    feeds: Mapping[str, NDArray[Any]]
    index: tuple[int, ...]
    exact: Any

    @cached_property
    def type(self) -> int:
        """The number of the element type."""
        return int(self.model.graph.output[0].type.tensor_type.elem_type)

    def operand(self, name: str) -> Any:
        """Return the exact element of an operand; 0 if it is left out."""
        known = {**{each.name: onnx.numpy_helper.to_array(each) for each in self.model.graph.initializer}, **self.feeds}
        shape = known[self.model.graph.node[0].input[0]].shape
        return np.broadcast_to(exact_array(known[name]), shape)[self.index] if name else mpmath.mpf(0)

    def number(self, name: str, default: float) -> Any:
        """Return an attribute of the first node, in float."""
        given = {each.name: each.f for each in self.model.graph.node[0].attribute}
        return mpmath.mpf(float(np.float32(given.get(name, default))))

    def half_ulp(self, number: Any) -> Any:
        """Return the largest error of a rounding to the element type."""
        return mpmath.mpf(ulp(float(number), self.type)) / 2


def layer_normalization(element: Element) -> Any:
    """Return the error that the second stage of LayerNormalization admits in a narrow type.

    The page computes the first stage in the type `stash_type`, which is float: it is exact up to a rounding. Then the
    normalized numbers are rounded to the type, and so are the product with the scale and the sum with the bias. A node
    after it may add a constant, which may be folded into the bias.
    """
    first, *others = element.model.graph.node
    scale, bias = (element.operand(name) for name in [*first.input[1:], ""][:2])
    summand = mpmath.mpf(0)
    if others:
        (name,) = set(others[0].input) - set(first.output)
        summand = element.operand(name) * (-1 if others[0].op_type == "Sub" else 1)
    total = abs(element.exact - summand)
    product = abs(element.exact - summand - bias)
    half = element.half_ulp
    error = product * 2.0**-18 + abs(scale) * half(product / abs(scale) * (1 + 2.0**-18))
    error += half(product + error)
    error += half(total + error)
    return error + (half(bias + summand) + half(abs(element.exact) + error) if others else 0)


def hard_swish(element: Element) -> Any:
    """Return the error of HardSwish with 1/6 in float, as in the function of the schema, and of roundings."""
    x = element.operand(element.model.graph.node[0].input[0])
    return x * x * abs(mpmath.mpf(float(np.float32(1 / 6))) - mpmath.mpf(1) / 6) + 8 * element.half_ulp(x)


def leaky_relu(element: Element) -> Any:
    """Return the error of LeakyRelu with alpha in the type, as in the function of the schema, and of roundings."""
    x, alpha = element.operand(element.model.graph.node[0].input[0]), element.number("alpha", 0.01)
    error = abs(x * (rounded(alpha, helper.tensor_dtype_to_np_dtype(element.type)) - alpha))
    return error + element.half_ulp(abs(element.exact) + error)


def erf(element: Element) -> Any:
    """Return the error of Erf in the table of OpenCL C: 16 ULP, and 4 ULP in half precision."""
    return (8 if element.type in HALVES else 32) * element.half_ulp(element.exact)


ADMITTED: Mapping[tuple[str, ...], Callable[[Element], Any]] = {
    ("Erf",): erf,
    ("HardSwish",): hard_swish,
    ("LayerNormalization",): layer_normalization,
    ("LayerNormalization", "Add"): layer_normalization,
    ("LayerNormalization", "Sub"): layer_normalization,
    ("LeakyRelu",): leaky_relu,
}
"""The largest error that a passage admits, by the operators of the model; for others the errors of variants decide."""


def ulp(value: float, type: int) -> float:
    """Return the distance of numbers of a type near a value."""
    info: Any = ml_dtypes.finfo(helper.tensor_dtype_to_np_dtype(type))  # type: ignore[no-untyped-call]
    size = max(abs(value), float(info.smallest_normal))
    return float(info.eps) * 2.0 ** np.floor(np.log2(size)) if np.isfinite(size) else float("inf")


def widened(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model in double."""
    result: onnx.ModelProto = onnx.ModelProto.FromString(model.SerializeToString())
    for value in [*result.graph.input, *result.graph.output]:
        if value.type.tensor_type.elem_type in FLOATS:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in result.graph.initializer:
        if tensor.data_type in FLOATS:
            array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    return result


def widened_feeds(feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays with floats in double."""
    return {k: v.astype(np.float64) if is_float(v) else v for k, v in feeds.items()}


def is_float(array: NDArray[Any]) -> bool:
    """Return whether an array has floats, bfloat16 among them."""
    return helper.np_dtype_to_tensor_dtype(array.dtype) in FLOATS


def main() -> None:
    """Settle all accusations of a file, and count them by subject, operator, type, truth and kind of numbers."""
    counts: Counter[str] = Counter()
    results = Path(sys.argv[1])
    for line in results.read_text().splitlines():
        record = json.loads(line)
        kind, seed, *rest = record["job"].split()
        if kind == "chain" and rest[0] not in VARIANTS and record.get("wrong"):
            try:
                lines = settle_chain(record, cases_folder(results.parent, int(seed), rest[0]))
            except Exception as error:  # noqa: BLE001 - an accusation that cannot be settled is open
                lines = [f"{node['operator']} {node['type']}: open, {error!r}" for node in record["wrong"]]
            for text in lines:
                print(f"{record['job']}: {text}", flush=True)
                counts[f"{rest[0]} {text.split(',')[0]}"] += 1
    for key, count in sorted(counts.items()):
        print(f"{count:6} {key}")
    sys.exit(int(any(key.endswith(("OURS", "open")) for key in counts)))


if __name__ == "__main__":
    main()
