"""Audit public models as ONNX Runtime rewrites them, and a small transformer; write reports/models/rewritten.md.

python scripts/audit_rewritten_models.py --work dist/models

Each model is quantized to int8 by `onnxruntime.quantization`, dynamically and with QuantizeLinear and DequantizeLinear,
and optimized at the level that has no layout of one processor. `nox -s rewritten-models` installs the packages.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from audit_models import FURTHER_MODELS, MODELS, REPOSITORY, AuditedFile, audit, inputs_of, short
from onnx import numpy_helper, parser, version_converter
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static
from onnxruntime.quantization.registry import IntegerOpsRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array

PAGE = REPOSITORY / "reports" / "models" / "rewritten.md"

SUBJECT = "onnxruntime[optimization=disabled]"
"""The subject that audits the models: it runs the nodes as the model has them."""


class _OneInput(CalibrationDataReader):  # type: ignore[misc]  # ONNX Runtime has no types
    """The inputs of the audit, once, from which the scales of a quantized model are computed."""

    def __init__(self, inputs: Mapping[str, Array]) -> None:
        self._inputs: list[Mapping[str, Array]] = [inputs]

    def get_next(self) -> Mapping[str, Array] | None:
        return self._inputs.pop() if self._inputs else None


def optimized(path: Path, target: Path, level: onnxruntime.GraphOptimizationLevel) -> Path:
    """Return a model as ONNX Runtime optimizes it."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath, options.graph_optimization_level = str(target), level
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return target


def _extended(path: Path, target: Path, _: Mapping[str, Array]) -> Path:
    # ONNX Runtime writes LayerNormalization into models of every opset, and onnx has it since opset 17
    model = onnx.load(path)
    if max(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")) < 17:
        path = target.with_suffix(".opset17.onnx")
        onnx.save(version_converter.convert_version(model, 17), path)
    return optimized(path, target, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)


def _basic(path: Path, target: Path) -> Path:
    """Return a model whose constants are initializers, as the quantizer needs it."""
    return optimized(path, target.with_suffix(".basic.onnx"), onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC)


def _dynamic(path: Path, target: Path, _: Mapping[str, Array]) -> Path:
    # the quantizer takes Attention of onnx for the operator of com.microsoft
    kinds = [kind for kind in IntegerOpsRegistry if kind != "Attention"]
    quantize_dynamic(_basic(path, target), target, op_types_to_quantize=kinds)
    return target


def _with_steps(path: Path, target: Path, inputs: Mapping[str, Array]) -> Path:
    quantize_static(_basic(path, target), target, _OneInput(inputs))
    return target


REWRITES: Mapping[str, Callable[[Path, Path, Mapping[str, Array]], Path]] = {
    "int8, dynamic": _dynamic,
    "int8, QDQ": _with_steps,
    "optimized": _extended,
}
"""The ways to rewrite a model, by their names in the report."""

TRANSFORMER = """
<ir_version: 10, opset_import: ["" : 23]>
decoder (float[1, L, 16] x, float[1, 2, P, 8] past_k, float[1, 2, P, 8] past_v, int64[1, L] positions)
    => (float[1, L, 16] y, float[1, 2, T, 8] present_k, float[1, 2, T, 8] present_v)
{
    n = RMSNormalization <axis = -1> (x, norm_1)
    q = MatMul (n, w_q)
    k = MatMul (n, w_k)
    v = MatMul (n, w_v)
    q_rotated = RotaryEmbedding <num_heads = 2> (q, cosines, sines, positions)
    k_rotated = RotaryEmbedding <num_heads = 2> (k, cosines, sines, positions)
    a, present_k, present_v =
        Attention <is_causal = 1, q_num_heads = 2, kv_num_heads = 2> (q_rotated, k_rotated, v, mask, past_k, past_v)
    o = MatMul (a, w_o)
    h = Add (x, o)
    m = RMSNormalization <axis = -1> (h, norm_2)
    gate = MatMul (m, w_gate)
    up = MatMul (m, w_up)
    g = Sigmoid (gate)
    silu = Mul (gate, g)
    product = Mul (silu, up)
    down = MatMul (product, w_down)
    y = Add (h, down)
}
"""
"""A block of a decoder with a rotary embedding, a cache of keys and values, and a gated network."""


def transformer(folder: Path) -> Path:
    """Write the transformer with weights of a fixed seed."""
    model = parser.parse_model(TRANSFORMER.replace("v, mask,", "v, ,"))
    random = np.random.default_rng(0)
    shapes = {f"w_{name}": (16, 16) for name in "qkvo"} | {"w_gate": (16, 32), "w_up": (16, 32), "w_down": (32, 16)}
    weights = {name: random.standard_normal(shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}
    angles = np.outer(np.arange(32), 100.0 ** (-np.arange(4) / 4))
    weights |= {"norm_1": np.ones(16), "norm_2": np.ones(16), "cosines": np.cos(angles), "sines": np.sin(angles)}
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    onnx.checker.check_model(model, full_check=True)
    path = folder / "transformer.onnx"
    onnx.save(model, path)
    return path


CACHE = np.random.default_rng(1).standard_normal((2, 1, 2, 5, 8)).astype(np.float32)

DECODER = AuditedFile(
    *("transformer", "onnx", transformer, {"x": (1, 3, 16)}),
    {"past_k": CACHE[0], "past_v": CACHE[1], "positions": np.array([[5, 6, 7]])},
)


def rewritten(given: AuditedFile, name: str, work: Path) -> AuditedFile | str:
    """Return a model that is rewritten, or why ONNX Runtime does not rewrite it."""
    slug = "".join(character for character in name if character.isalnum())
    target = work / f"{given.name}-{slug}.onnx"
    try:
        path = REWRITES[name](given.find(work), target, inputs_of(given))
    except Exception as error:  # noqa: BLE001  # the quantizer raises errors of many types
        return short(str(error) or type(error).__name__)
    return replace(given, name=f"{given.name}-{slug}", find=lambda _: path)


def rows(given: AuditedFile, work: Path, total: Counter[str]) -> Iterator[str]:
    """Yield a row of the table for each way to rewrite a model, and add its nodes to the counts."""
    names = ["as it is", *REWRITES] if given is DECODER else list(REWRITES)
    for name in names:
        model = given if name == "as it is" else rewritten(given, name, work)
        if isinstance(model, str):
            yield f"| {given.name} | {name} | - | - | - | - | ONNX Runtime does not rewrite it: {model} |"
            continue
        document = audit(model, SUBJECT, work)
        (result,) = document.get("audits") or [{"failure": document.get("error", {}).get("problem", "no result")}]
        if result["failure"]:
            yield f"| {given.name} | {name} | - | - | - | - | {short(result['failure'])} |"
            continue
        yield row(given.name, name, result["nodes"], total)


def row(model: str, name: str, nodes: Sequence[Mapping[str, Any]], total: Counter[str]) -> str:
    """Return a row of the table, and add its nodes to the counts of its way to rewrite."""
    skipped = Counter(
        short(f"{node['operator']}: {node['reason'] or 'judged at level should only'}")
        for node in nodes
        if node["verdict"] == "not judged" or node["level"] == "should"
    )
    judged, wrong = len(nodes) - skipped.total(), sum(node["verdict"] == "wrong" for node in nodes)
    total[name, "nodes"] += len(nodes)
    total[name, "judged"] += judged
    total[name, "wrong"] += wrong
    reasons = "; ".join(f"{count}: {reason}" for reason, count in skipped.most_common()) or "-"
    return f"| {model} | {name} | {len(nodes)} | {judged} | {judged / len(nodes):.1%} | {wrong} | {reasons} |"


def page(lines: Sequence[str], total: Mapping[Any, int]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from (
        "# Audits of rewritten models",
        "",
        "Public models that ONNX Runtime quantized or optimized, and a small transformer with a rotary embedding and a",
        "cache of keys and values. `nox -s rewritten-models` writes this page. For users who want to",
        "see how many nodes of a quantized or fused model are judged. No model is copied.",
        "",
        f"ONNX Runtime {onnxruntime.__version__}, onnx {onnx.__version__}. The subject is `{SUBJECT}`.",
        "Optimized means the level extended, which writes no layout of one processor. Float16 is on [a page of its",
        "own](float16.md).",
        "",
        "| rewritten | nodes | judged | share | wrong |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {name} | {total[name, 'nodes']} | {total[name, 'judged']} "
            f"| {total[name, 'judged'] / total[name, 'nodes']:.1%} | {total[name, 'wrong']} |"
            for name in ("as it is", *REWRITES)
            if (name, "nodes") in total
        ),
        "",
        "| model | rewritten | nodes | judged | share | wrong | not judged |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *lines,
    )


def main() -> None:
    """Rewrite and audit the models, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--work", type=Path, default=REPOSITORY / "dist" / "models", help="folder of results")
    arguments.add_argument("--model", action="append", help="audit this model only; may be repeated")
    arguments.add_argument("--output", type=Path, default=PAGE, help="page to write")
    given = arguments.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    total: Counter[Any] = Counter()
    lines: list[str] = []
    for model in (DECODER, *MODELS, *FURTHER_MODELS):
        if not given.model or model.name in given.model:
            lines += rows(model, given.work, total)
            print("\n".join(lines[-3:]), flush=True)
    given.output.write_text("\n".join(page(lines, total)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
