"""Rewrites the model beside this file, and prints what became of it and of the model that was handed over.

Needs NumPy, onnx and the graph optimizer that `subject.py` names. Ends with 1 where something is wrong, with 0 where
not. What the model computes before and after is computed by onnx's ReferenceEvaluator.
"""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = Path(__file__).resolve().parent


def text(model: onnx.ModelProto) -> list[str]:
    """A model in protobuf's text format: nothing of it is left out, but for texts that are empty."""
    return [line for line in str(model).splitlines(keepends=True) if not line.endswith(': ""\n')]


def differs(what: str, before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """Print how a model differs from what it was; whether it does."""
    lines = list(difflib.unified_diff(text(before), text(after), f"{what} before", f"{what} after", n=2))
    sys.stdout.writelines(lines)
    return bool(lines)


def made(graph: onnx.GraphProto) -> list[str]:
    """What the nodes of a graph and of the graphs in it give."""
    inner = [value for node in graph.node for each in node.attribute for value in (each.g, *each.graphs)]
    return [name for node in graph.node for name in node.output if name] + [n for each in inner for n in made(each)]


def goes_astray(before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """Print which nodes are gone, where others must be; whether that is so."""
    file = HERE / "rewrite.json"
    if not file.is_file():
        return False
    gone = sorted(set(made(before.graph)) - set(made(after.graph)))
    print(f"nodes that are gone, by what they give: got {gone}, expected {sorted(json.loads(file.read_text()))}")
    return True


def answers(model: onnx.ModelProto, folder: Path) -> list[Any]:
    """What a model computes from the inputs of a data set."""
    count = sum(1 for _ in folder.glob("input_*.pb"))
    files = [(folder / f"input_{number}.pb").read_bytes() for number in range(count)]
    arrays = [numpy_helper.to_array(onnx.TensorProto.FromString(file)) for file in files]
    valued = {each.name for each in model.graph.initializer}
    valued |= {each.values.name for each in model.graph.sparse_initializer}
    names = [each.name for each in model.graph.input if each.name not in valued]
    return list(ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True))))


def answers_otherwise(before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """Print what the rewritten model computes, where the model computes something else; whether it does."""
    wrong = False
    for folder in sorted(HERE.glob("test_data_set_*")):
        try:
            expected = answers(before, folder)
        except Exception as error:  # noqa: BLE001 - the evaluator lacks something, and says nothing of the rewriting
            print(f"{folder.name}: onnx's ReferenceEvaluator does not run the model ({type(error).__name__}: {error})")
            continue
        try:
            got = answers(after, folder)
        except Exception as error:  # noqa: BLE001 - as above, but it ran the model before
            print(f"{folder.name}: got {type(error).__name__}: {error}, expected an answer")
            wrong = True
            continue
        for output, one, other in zip(before.graph.output, got, expected, strict=False):
            if not isinstance(other, np.ndarray) or np.array_equal(one, other, equal_nan=other.dtype.kind == "f"):
                continue
            print(f"{folder.name}: {output.name}: got {np.asarray(one).tolist()}, expected {other.tolist()}")
            wrong = True
    return wrong


def main() -> int:
    """Rewrite the model once."""
    from subject import optimize

    model, given = onnx.load(HERE / "model.onnx"), onnx.load(HERE / "model.onnx")
    try:
        after = optimize(given)
    except Exception as error:  # noqa: BLE001 - what the graph optimizer raises is what is shown
        print(f"got {type(error).__name__}: {error}, expected a model")
        return 1
    wrong = differs("the caller's model", model, given)
    wrong |= differs("the model", model, after)
    wrong |= goes_astray(model, after)
    wrong |= answers_otherwise(model, after)
    try:
        onnx.checker.check_model(after)
    except Exception as error:  # noqa: BLE001
        print(f"got a model that onnx.checker refuses, expected a valid one: {error}")
        wrong = True
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
