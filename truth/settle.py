"""Settle accusations by arithmetic of another kind, without the reference of the suite.

python -m truth.settle dist/truth/results.jsonl

Each accused node is written by `audit --output` with its operands. It is then computed by `exact`, with numbers of 60
digits, and as every correct variant; operators that `exact` lacks are computed in double. An accusation is ours if the
bound does not contain the exact value. The runtime is wrong if its error is far above the errors of all variants, or
above the roundings that a passage of the page admits. All other accusations are open.

The exit status is 1 if an accusation is ours or open.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import mpmath
import numpy as np
import onnx
from onnx import TensorProto, helper

from .chains.chain import draw_chain
from .evaluate import FLOATS, HALVES, evaluate
from .exact import evaluate_exactly
from .exact_node import NoFormula, exact_array
from .run import NO_PROBES, call, read_inputs, subject_name, write_model
from .variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

FACTOR = 4
"""An error above this many times the largest error of a variant, plus as many ULP, is one of the runtime."""


WITH_STATES = frozenset({"GRU", "RNN"})
"""Operators whose outputs are the states after each step."""


def settle_chain(seed: int, subject: str) -> list[str]:
    """Return a line for each accusation of a subject on a random chain."""
    model, feeds = draw_chain(seed).build()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, inputs = write_model(folder, model, feeds)
        options = (*NO_PROBES, "--no-isolation", "--json", f"{folder}/a.json", "--output", f"{folder}/wrong")
        call(["audit", str(path), "-b", subject_name(subject), "--inputs", str(inputs), *options])
        nodes = json.loads((folder / "a.json").read_text())["audits"][0]["nodes"]
        wrong = [node for node in nodes if node["verdict"] == "wrong"]
        cases = {int(case.name.split("_")[3]): case for case in folder.glob("wrong/node/test_audit_*")}
        return [describe(node, cases.get(node["number"])) for node in wrong]


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
    limit = FACTOR * (usual + 1)
    if [each.op_type for each in model.graph.node] == ["LayerNormalization"] and type in HALVES:
        limit = second_stage(model, feeds, index) / unit
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


def second_stage(model: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]], index: tuple[int, ...]) -> float:
    """Return the error that the second stage of LayerNormalization admits in a narrow type.

    The page computes the first stage in the type `stash_type`, which is float: it is exact up to a rounding. Then the
    normalized numbers are rounded to the type, and so are the product with the scale and the sum with the bias.
    """
    exact, names = evaluate_exactly(model, feeds)[0], model.graph.node[0].input
    known = {**{each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}, **feeds}
    type = helper.np_dtype_to_tensor_dtype(known[names[0]].dtype)
    scale, bias = (
        np.broadcast_to(exact_array(known[name]), exact.shape)[index] if name else 0 for name in [*names[1:], ""][:2]
    )
    sum, product = abs(exact[index]), abs(exact[index] - bias)
    first_stage = product * 2.0**-18
    error = first_stage + abs(scale) * ulp(float(product / abs(scale)) * (1 + 2.0**-18), type) / 2
    error += ulp(float(product + error), type) / 2
    return float(error + ulp(float(sum + error), type) / 2)


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
    for line in Path(sys.argv[1]).read_text().splitlines():
        record = json.loads(line)
        kind, seed, *rest = record["job"].split()
        if kind == "chain" and rest[0] not in VARIANTS and record.get("wrong"):
            try:
                lines = settle_chain(int(seed), rest[0])
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
