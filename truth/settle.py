"""Settle accusations by arithmetic of another kind, without the reference of the suite.

python -m truth.settle dist/truth/results.jsonl

Each accused node is written by `audit --output` with its operands. It is then computed in double, and as every correct
variant. The runtime is wrong if its error is far above the errors of all variants; all other accusations are open.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

from .chains.chain import draw_chain
from .evaluate import FLOATS, RECURRENT, evaluate
from .run import call, read_inputs, subject_name, write_model
from .variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

FACTOR = 4
"""An error above this many times the largest error of a variant, plus as many ULP, is one of the runtime."""


def settle_chain(seed: int, subject: str) -> list[str]:
    """Return a line for each accusation of a subject on a random chain."""
    model, feeds = draw_chain(seed).build()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, inputs = write_model(folder, model, feeds)
        options = ("--no-isolation", "--json", f"{folder}/a.json", "--output", f"{folder}/wrong")
        call(["audit", str(path), "-b", subject_name(subject), "--inputs", str(inputs), *options])
        nodes = json.loads((folder / "a.json").read_text())["audits"][0]["nodes"]
        wrong = [node for node in nodes if node["verdict"] == "wrong"]
        cases = {int(case.name.split("_")[3]): case for case in folder.glob("wrong/node/test_audit_*")}
        return [describe(node, cases.get(node["number"])) for node in wrong]


def describe(node: Mapping[str, Any], case: Path | None) -> str:
    """Return the settled truth of an accused node."""
    head = f"{node['operator']} {node['type']}"
    worst = node["worst"]
    if case is None or worst is None or not isinstance(worst.get("index"), list):
        return f"{head}: open, no element"
    model = onnx.load(case / "model.onnx")
    feeds = read_inputs(model, case / "test_data_set_0")
    at = [value.name for value in model.graph.output].index(worst["output"])
    type = model.graph.output[at].type.tensor_type.elem_type
    index = tuple(worst["index"])
    values = [evaluate(model, feeds, variant)[at][index] for variant in VARIANTS.values()]
    exact = values[0]
    if RECURRENT.isdisjoint(node.op_type for node in model.graph.node):
        exact = evaluate(widened(model), widened_feeds(feeds), VARIANTS["plain"])[at][index]
    value = float(worst["value"])
    if type not in FLOATS:
        return f"{head}: {'runtime' if value != float(exact) else 'OURS'}, {value} for {exact}"
    unit = ulp(float(exact), type)
    error = abs(value - float(exact)) / unit
    usual = max(abs(float(v) - float(exact)) for v in values) / unit
    truth = "runtime" if not error <= FACTOR * (usual + 1) else "open"
    return f"{head}: {truth}, {error:.3g} ULP, variants {usual:.3g} ULP, {value:.9g} for {float(exact):.9g}"


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
    """Settle all accusations of a file, and count them by subject, operator, type and truth."""
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


if __name__ == "__main__":
    main()
