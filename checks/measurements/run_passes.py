"""Run the passes of one graph optimizer on the models of a corpus, each pass alone or all together.

python checks/measurements/run_passes.py OPTIMIZER MODE FOLDER ANSWERS START [NAMES [STRIDE]]

The environment has the optimizer; the suite is on PYTHONPATH. OPTIMIZER is a module of
`conformance.subjects.adapters.optimizers`, and MODE `all` or `each`. FOLDER has the cases of `generate --passes`.
ANSWERS gets a line before a pass runs and a line after it, so that a caller knows the pass that ended the process. The
caller then continues with START, the number of the last line. NAMES are the passes of ONNX Runtime, with commas between
them; STRIDE is the distance of two cases. A pass runs alone only on models that all passes together change.
`pass_table` judges the answers.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import onnx

warnings.simplefilter("ignore")


def call(name: str) -> tuple[Any, list[str]]:
    """Return the function of an adapter that takes the name of a pass, and the names of all passes."""
    module = importlib.import_module(f"conformance.subjects.adapters.optimizers.{name}")
    if name == "onnxruntime":
        names = [each.partition("@")[0] for each in sys.argv[6].split(",")]

        def only(model: onnx.ModelProto, chosen: str) -> onnx.ModelProto:
            disabled = "+".join(each for each in names if chosen not in ("", each))
            optimized: onnx.ModelProto = module.optimize(model, level="extended", disabled_optimizers=disabled)
            return optimized

        return only, names
    optimize = getattr(module, "optimize_by_default", module.optimize)
    listed = optimize(onnx.parser.parse_model(SMALL), passes="list")
    found = next((entry.value for entry in listed.metadata_props if entry.key == "passes"), "")
    return (lambda model, chosen: optimize(model, passes=chosen)), found.split("+")


SMALL = '<ir_version: 8, opset_import: ["" : 17]> small (float[1] X) => (float[1] Y) { Y = Neg(X) }'


def main() -> None:
    """Answer for each model and pass."""
    optimizer, passes, models, answers, start = sys.argv[1:6]
    run, names = call(optimizer)
    number = 0
    with Path(answers).open("a", encoding="utf-8") as file:

        def tell(**answer: Any) -> None:
            file.write(json.dumps(answer) + "\n")
            file.flush()

        stride = int(sys.argv[7]) if len(sys.argv) > 7 else 1
        for folder in sorted(Path(models).iterdir())[::stride]:
            content = (folder / "model.onnx").read_bytes()
            before = parts(onnx.load_model_from_string(content))
            is_changed = True
            for chosen in ["", *names] if passes == "each" else [""]:
                number += 1
                if number <= int(start) or (chosen and not is_changed):
                    continue
                head = {"number": number, "case": folder.name, "pass": chosen}
                tell(**head, status="start")
                try:
                    after = run(onnx.load_model_from_string(content), chosen)
                except Exception as error:  # noqa: BLE001 - any error is an answer
                    tell(**head, status="error", message=str(error)[:300])
                    continue
                has_change = parts(after) != before
                if not chosen:
                    is_changed = has_change
                text = base64.b64encode(after.SerializeToString()).decode() if has_change else ""
                tell(**head, status="changed" if has_change else "same", model=text)


def parts(model: onnx.ModelProto) -> list[Any]:
    """Return the parts of a model that a rewrite changes: nodes, initializers, functions, inputs and outputs."""
    graph = model.graph
    tensors = sorted(each.SerializeToString() for each in graph.initializer)
    ends = [each.name for each in (*graph.input, *graph.output)]
    functions = sorted(each.SerializeToString() for each in model.functions)
    return [[node.SerializeToString() for node in graph.node], tensors, ends, functions]


if __name__ == "__main__":
    main()
