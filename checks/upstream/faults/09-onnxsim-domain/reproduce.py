"""Optimize the model next to this file and print how the optimized model differs.

This script needs NumPy, onnx and the graph optimizer that `subject.py` names. onnx's ReferenceEvaluator computes the
outputs of both models. Exit status: 1 if something is wrong, otherwise 0.
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


def text_lines(model: onnx.ModelProto) -> list[str]:
    """Return a model in protobuf's text format, complete except for empty strings."""
    return [line for line in str(model).splitlines(keepends=True) if not line.endswith(': ""\n')]


def print_model_difference(name: str, before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """Print the difference between two models, and return whether they differ."""
    lines = list(difflib.unified_diff(text_lines(before), text_lines(after), f"{name} before", f"{name} after", n=2))
    sys.stdout.writelines(lines)
    return bool(lines)


def produced_values(graph: onnx.GraphProto) -> list[str]:
    """Return the names of the values that the nodes of a graph and of its subgraphs produce."""
    subgraphs = [value for node in graph.node for each in node.attribute for value in (each.g, *each.graphs)]
    own = [name for node in graph.node for name in node.output if name]
    return own + [name for subgraph in subgraphs for name in produced_values(subgraph)]


def print_removed_nodes(before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """Compare the removed nodes with the nodes that must be removed; print both if they differ.

    Return whether they differ.
    """
    file = HERE / "rewrite.json"
    if not file.is_file():
        return False
    removed = sorted(set(produced_values(before.graph)) - set(produced_values(after.graph)))
    expected = sorted(json.loads(file.read_text()))
    print(f"removed nodes, by the values that they produce: got {removed}, expected {expected}")
    return True


def run_model(model: onnx.ModelProto, folder: Path) -> list[Any]:
    """Run a model on the inputs of a data set with onnx's ReferenceEvaluator."""
    count = sum(1 for _ in folder.glob("input_*.pb"))
    files = [(folder / f"input_{number}.pb").read_bytes() for number in range(count)]
    arrays = [numpy_helper.to_array(onnx.TensorProto.FromString(file)) for file in files]
    initialized = {each.name for each in model.graph.initializer}
    initialized |= {each.values.name for each in model.graph.sparse_initializer}
    every = [each.name for each in model.graph.input]
    names = every if count == len(every) else [name for name in every if name not in initialized]
    return list(ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True))))


def are_equal(actual: Any, expected: Any) -> bool:
    """Return whether two outputs are equal in type, shape and elements. NaN equals NaN."""
    if not isinstance(expected, np.ndarray):
        return True
    actual = np.asarray(actual)
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    return bool(((actual == expected) | ((actual != actual) & (expected != expected))).all())  # noqa: PLR0124


def print_output_differences(before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """Print the outputs of the optimized model that differ from those of the original model.

    Return whether an output differs.
    """
    is_wrong = False
    for folder in sorted(HERE.glob("test_data_set_*")):
        try:
            expected = run_model(before, folder)
        except Exception as error:  # noqa: BLE001 - the evaluator lacks an operator: the outputs cannot be compared
            print(f"{folder.name}: onnx's ReferenceEvaluator cannot run the model ({type(error).__name__}: {error})")
            continue
        try:
            actual = run_model(after, folder)
        except Exception as error:  # noqa: BLE001 - the evaluator can run the original model
            print(f"{folder.name}: got {type(error).__name__}: {error}, expected outputs")
            is_wrong = True
            continue
        for output, one, other in zip(before.graph.output, actual, expected, strict=False):
            if not are_equal(one, other):
                print(f"{folder.name}: {output.name}: got {np.asarray(one).tolist()}, expected {other.tolist()}")
                is_wrong = True
    return is_wrong


def main() -> int:
    """Optimize the model once and return the exit status."""
    from subject import optimize

    model, given = onnx.load(HERE / "model.onnx"), onnx.load(HERE / "model.onnx")
    try:
        after = optimize(given)
    except Exception as error:  # noqa: BLE001 - a graph optimizer can raise anything
        print(f"got {type(error).__name__}: {error}, expected a model")
        return 1
    is_wrong = print_model_difference("the caller's model", model, given)
    is_wrong |= print_model_difference("the model", model, after)
    is_wrong |= print_removed_nodes(model, after)
    is_wrong |= print_output_differences(model, after)
    try:
        onnx.checker.check_model(after)
    except Exception as error:  # noqa: BLE001
        print(f"got a model that onnx.checker rejects, expected a valid one: {error}")
        is_wrong = True
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
