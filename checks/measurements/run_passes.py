"""Run the passes of one graph optimizer on the models of a corpus: all together, none, and each pass alone.

python checks/measurements/run_passes.py OPTIMIZER MODE FOLDER ANSWERS [NAMES]

The environment has the optimizer; the suite is on PYTHONPATH. OPTIMIZER is a module of
`conformance.subjects.adapters.optimizers`, and MODE `all`, or `each` for each pass alone too. FOLDER has the cases of
`generate --passes`; NAMES is a file with the names of those to run, one a line. ANSWERS gets a line before a run and a
line after it. If the process ends during a run, start the script again until it exits with 0: it then continues, and
notes a crash for the run that did not end.

A pass alone is compared with no pass at all. Passes that change most models run alone at once. The script halves the
list of the others until no half changes the model. `pass_table` judges the answers. Some passes of onnxsim that a user
has to ask for never come to an end: set `ONNXSIM_FIXED_POINT_ITERS` to 2 for the mode `each`.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
import tomllib
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

import conformance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

warnings.simplefilter("ignore")

SMALL = '<ir_version: 8, opset_import: ["" : 17]> small (float[1] X) => (float[1] Y) { Y = Neg(X) }'

NO_PASS = "none"  # noqa: S105


def call(name: str) -> tuple[Any, list[str]]:
    """Return the function of an adapter that takes names of passes with `+` between them, and all names."""
    module = importlib.import_module(f"conformance.subjects.adapters.optimizers.{name}")
    if name == "onnxruntime":
        path = Path(conformance.__file__).parent / "own/blame/onnxruntime_optimizers.toml"
        names = list(tomllib.loads(path.read_text(encoding="utf-8"))["names"])

        def only(model: onnx.ModelProto, chosen: str) -> onnx.ModelProto:
            disabled = "+".join(each for each in names if chosen and each not in chosen.split("+"))
            optimized: onnx.ModelProto = module.optimize(model, level="extended", disabled_optimizers=disabled)
            return optimized

        return only, names
    optimize = getattr(module, "optimize_by_default", module.optimize)
    listed = optimize(onnx.parser.parse_model(SMALL), passes="list")
    found = next((entry.value for entry in listed.metadata_props if entry.key == "passes"), "").split("+")
    names = [each for each in found if each != "nop"]
    if name != "onnxsim" or len(names) <= len(module.OWN_STEPS):
        return (lambda model, chosen: optimize(model, passes=chosen)), names
    listing = importlib.import_module("onnxsim.onnxsim_cpp2py_export")
    others = list(getattr(listing, "_list_other_optimizers", list)())  # the passes that users ask for, since 0.8

    def with_others(model: onnx.ModelProto, chosen: str) -> Any:
        if not chosen:
            return optimize(model)
        every = chosen.split("+")
        passes = [each for each in every if each not in others]
        extra = [each for each in every if each in others]
        return optimize(model, passes="+".join(passes) or NO_PASS, extra="+".join(extra))

    return with_others, [*names, *others]


class Answers:
    """The file of answers. Runs that it already has are not run again.

    Args:
        path: the file.
        run: the optimizer: a function of a model and of names of passes.
    """

    def __init__(self, path: Path, run: Any) -> None:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._file = path.open("a", encoding="utf-8")
        self._run = run
        self._known: dict[tuple[str, str], dict[str, Any]] = {}
        for answer in map(json.loads, lines):
            self._known[answer["case"], answer["pass"]] = answer
        for key, answer in self._known.items():
            if answer["status"] == "start":
                self._known[key] = self._tell(*key, status="crash", message="the process ended")

    def _tell(self, case: str, chosen: str, **answer: Any) -> dict[str, Any]:
        answer = {"case": case, "pass": chosen, **answer}
        self._file.write(json.dumps(answer) + "\n")
        self._file.flush()
        return answer

    def of(self, case: str, content: bytes, chosen: str, base: Sequence[Any]) -> dict[str, Any]:
        """Return the answer for some passes on a case.

        Args:
            case: the name of the case.
            content: its model.
            chosen: the names of the passes; empty for the default.
            base: the parts of the model without any pass.
        """
        if (case, chosen) not in self._known:
            self._tell(case, chosen, status="start")
            try:
                after = self._run(onnx.load_model_from_string(content), chosen)
            except Exception as error:  # noqa: BLE001 - any error is an answer
                answer: dict[str, Any] = {"status": "error", "message": str(error)[:300]}
            else:
                has_change = parts(after) != base
                is_kept = has_change and "+" not in chosen
                text = base64.b64encode(after.SerializeToString()).decode() if is_kept else ""
                answer = {"status": "changed" if has_change else "same", "model": text}
            self._known[case, chosen] = self._tell(case, chosen, **answer)
        return self._known[case, chosen]


def acting_passes(answers: Answers, case: str, content: bytes, names: Sequence[str], base: Sequence[Any]) -> list[str]:
    """Run halves of the passes, down to the passes alone that change a model, and return these."""
    if not names or answers.of(case, content, "+".join(names), base)["status"] == "same":
        return []
    if len(names) == 1:
        return [*names]
    middle = len(names) // 2
    halves = (names[:middle], names[middle:])
    return [name for half in halves for name in acting_passes(answers, case, content, half, base)]


def main() -> None:
    """Answer for each model."""
    optimizer, mode, models, path = sys.argv[1:5]
    chosen = Path(sys.argv[5]).read_text(encoding="utf-8").split() if len(sys.argv) > 5 else None
    run, names = call(optimizer)
    answers = Answers(Path(path), run)
    acted: Counter[str] = Counter()
    for number, (case, content) in enumerate(cases(Path(models), chosen)):
        before = parts(onnx.load_model_from_string(content))
        default = answers.of(case, content, "", before)
        if mode != "each" or len(names) < 2:
            continue
        none = answers.of(case, content, NO_PASS, before)
        if none["status"] == "changed":
            base = parts(onnx.load_model_from_string(base64.b64decode(none["model"])))
        elif none["status"] == "same":
            base = before
        else:
            continue
        if optimizer == "onnxsim" or default["status"] != none["status"] or default.get("model") != none.get("model"):
            frequent = [name for name in names if 2 * acted[name] > number]
            groups = [*([name] for name in frequent), [name for name in names if name not in frequent]]
            acted.update(name for group in groups for name in acting_passes(answers, case, content, group, base))


def cases(folder: Path, chosen: Sequence[str] | None) -> Iterator[tuple[str, bytes]]:
    """Yield the names and models of the chosen cases of a folder, or of all."""
    for each in sorted(folder.iterdir()):
        if chosen is None or each.name in chosen:
            yield each.name, (each / "model.onnx").read_bytes()


def parts(model: onnx.ModelProto) -> list[Any]:
    """Return the parts of a model that a rewrite changes: nodes, initializers, functions, inputs and outputs."""
    graph = model.graph
    tensors = sorted(each.SerializeToString() for each in graph.initializer)
    ends = [each.SerializeToString() for each in (*graph.input, *graph.output)]
    functions = sorted(each.SerializeToString() for each in model.functions)
    return [[node.SerializeToString() for node in graph.node], tensors, ends, functions]


if __name__ == "__main__":
    main()
