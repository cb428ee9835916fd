"""Run the faults of `faults.jsonl` again, with a graph optimizer and ONNX Runtime alone.

python rerun.py OPTIMIZER [VERSION]

The environment has the optimizer of this version, onnx and onnxruntime. Each pass runs in a process of its own. The
script prints what comes back for each fault and hazard: another output, an invalid model, an error or the end of the
process. It exits with 1 if a fault does not come back.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from onnx import numpy_helper

HERE = Path(__file__).parent


def optimize(optimizer: str, chosen: str, content: bytes) -> bytes:
    """Return the model after one pass, after all default passes (`all`), or without any (`no pass`)."""
    by_name = {"onnxoptimizer": by_onnxoptimizer, "onnxsim": by_onnxsim, "onnxscript": by_onnxscript}
    return by_name.get(optimizer, by_onnxruntime)(chosen, content)


def by_onnxoptimizer(chosen: str, content: bytes) -> bytes:
    """Return the model after passes of onnxoptimizer."""
    import onnxoptimizer

    every = [name for name in onnxoptimizer.get_fuse_and_elimination_passes() if name != "nop"]
    passes = every if chosen == "all" else ["nop" if chosen == "no pass" else chosen]
    return onnxoptimizer.optimize(onnx.load_model_from_string(content), passes).SerializeToString()


def by_onnxsim(chosen: str, content: bytes) -> bytes:
    """Return the model after passes of onnxsim, which has two steps besides its passes."""
    import onnxsim

    arguments: dict[str, Any] = {}
    if chosen != "all":
        arguments = {f"skip_{step}": step != chosen for step in ("shape_inference", "constant_folding")}
        onnxsim.simplify(onnx.parser.parse_model(SMALL))  # registers passes
        names = list(onnxsim.onnxsim_cpp2py_export._list_optimizers())
        arguments["perform_optimization"] = chosen not in ("no pass", "shape_inference", "constant_folding")
        arguments["skipped_optimizers"] = [name for name in names if name != chosen]
        if arguments["perform_optimization"] and chosen not in names:
            arguments["extra_optimizers"] = [chosen]
    return onnxsim.simplify(onnx.load_model_from_string(content), **arguments)[0].SerializeToString()


SMALL = '<ir_version: 8, opset_import: ["" : 17]> small (float[1] X) => (float[1] Y) { Y = Neg(X) }'


def by_onnxscript(chosen: str, content: bytes) -> bytes:
    """Return the model after the optimizer of ONNX Script, after one of its passes, or after a rule by its number."""
    import onnx_ir.passes.common
    import onnxscript.optimizer
    from onnxscript import rewriter

    model = onnx.load_model_from_string(content)
    common = onnx_ir.passes.common
    alone = {"eliminate_common_subexpressions": "CommonSubexpressionEliminationPass", "inline": "InlinePass"}
    if chosen in alone:
        read = onnx_ir.serde.deserialize_model(model)
        getattr(common, alone[chosen])()(read)
        return onnx_ir.serde.serialize_model(read).SerializeToString()
    if chosen != "all":
        rule = rewriter._DEFAULT_REWRITE_RULES[int(chosen.rpartition("_")[2])]
        return rewriter.rewrite(model, pattern_rewrite_rules=[rule]).SerializeToString()
    return onnxscript.optimizer.optimize(model).SerializeToString()


def by_onnxruntime(chosen: str, content: bytes) -> bytes:
    """Return the model that ONNX Runtime saves after its graph optimizations of the level `extended`."""
    import onnxruntime

    rows = json.loads((HERE / "passes.json").read_text(encoding="utf-8"))["rows"]
    names = {row["pass"] for row in rows if row["optimizer"] == "onnxruntime"}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    with TemporaryDirectory() as scratch:
        saved = Path(scratch) / "optimized.onnx"
        options.optimized_model_filepath = str(saved)
        disabled = [] if chosen == "all" else sorted(names - {chosen, "all", "no pass"})
        onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"], disabled_optimizers=disabled)
        return saved.read_bytes()


def run(content: bytes, inputs: dict[str, Any]) -> list[Any]:
    """Return the outputs of ONNX Runtime without optimizations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    names = {each.name for each in (*session.get_inputs(), *session.get_overridable_initializers())}
    return session.run(None, {name: array for name, array in inputs.items() if name in names})


def sizes(value: onnx.ValueInfoProto) -> list[int | str]:
    """Return the declared sizes of an input, or their names; 0 for a size without both."""
    return [size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim]


def difference(before: bytes, after: bytes, inputs: dict[str, Any]) -> str:
    """Return what is wrong with a rewritten model; an empty text if nothing is."""
    try:
        onnx.checker.check_model(onnx.load_model_from_string(after), full_check=True)
    except Exception as error:
        return f"invalid model: {' '.join(str(error).split())[:100]}"
    ends = [
        {value.name: sizes(value) for value in onnx.load_model_from_string(each).graph.input}
        for each in (before, after)
    ]
    for name, given in ends[0].items():
        if name not in ends[1]:
            return f"the input {name} is gone"
        if any(old and old != new for old, new in zip(given, ends[1][name], strict=True)):
            return f"the input {name} has the sizes {ends[1][name]} instead of {given}"
    old = run(before, inputs)
    try:
        new = run(after, inputs)
    except Exception as error:
        return f"ONNX Runtime does not run it: {' '.join(str(error).split())[:100]}"
    for one, other in zip(old, new, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype or one.tobytes() != other.tobytes():
            return f"{other.ravel()[:6].tolist()} instead of {one.ravel()[:6].tolist()}"
    return ""


def rerun(fault: dict[str, Any]) -> str:
    """Return what comes back for a fault; an empty text if nothing does."""
    content = base64.b64decode(fault["model"])
    tensors = [onnx.TensorProto.FromString(base64.b64decode(text)) for text in fault["inputs"]]
    try:
        after = optimize(fault["optimizer"], fault["pass"], content)
    except Exception as error:
        return f"error: {' '.join(str(error).split())[:100]}"
    return difference(content, after, {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors})


def main(optimizer: str, version: str = "") -> int:
    """Run all faults of an optimizer, each in a process of its own."""
    failed = 0
    count = 0
    for number, line in enumerate((HERE / "faults.jsonl").read_text(encoding="utf-8").splitlines()):
        fault = json.loads(line)
        if fault["optimizer"] != optimizer or version not in ("", fault["version"]):
            continue
        count += 1
        command = [sys.executable, __file__, "--one", str(number)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = done.stdout.strip().splitlines()[-1:] if done.returncode == 0 else [f"exit status {done.returncode}"]
        failed += not found
        print(f"{fault['class']} {fault['version']} {fault['pass']} {fault['case']}: {''.join(found) or 'NOTHING'}")
    print(f"{count - failed} of {count} faults come back")
    return int(failed > 0)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        line = (HERE / "faults.jsonl").read_text(encoding="utf-8").splitlines()[int(sys.argv[2])]
        print(rerun(json.loads(line)))
    else:
        sys.exit(main(*sys.argv[1:]))
