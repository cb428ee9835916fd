"""Run the model next to this file and print every output element that is wrong.

This script needs NumPy, onnx and the runtime that `subject.py` names. Exit status: 1 if something is wrong, otherwise
0.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent

MAX_ELEMENTS_PRINTED = 8
"""Number of wrong elements that are printed for each output."""


def load_tensor(path: Path) -> Any:
    """Load the tensor in a file. Return None if the file does not exist."""
    if not path.is_file():
        return None
    return np.array(numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes())))


def load_tensors(folder: Path, kind: str) -> list[Any]:
    """Load the inputs or outputs of a data set: `input_0.pb`, `input_1.pb` and so on."""
    count = sum(1 for _ in folder.glob(f"{kind}_*.pb"))
    return [load_tensor(folder / f"{kind}_{number}.pb") for number in range(count)]


def acceptable_elements(actual: Any, expected: Any, bound: Any, accepted_indices: Any) -> Any:
    """Return which elements are acceptable, as an array of booleans.

    Args:
        actual: the output of the runtime, of the expected type and shape.
        expected: the expected output.
        bound: the largest permitted error of each element; None if the output must be equal, including signs of zeros.
        accepted_indices: for an output of indices, a boolean array whose last axis has one element per index: whether
            the index is acceptable. None if only the expected index is acceptable.
    """
    if accepted_indices is not None:
        indices = np.arange(accepted_indices.shape[-1])
        return ((actual[..., np.newaxis] == indices) & accepted_indices).any(axis=-1)
    both_nan = (actual != actual) & (expected != expected)  # noqa: PLR0124
    if bound is not None:
        with np.errstate(all="ignore"):
            error = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        return (actual == expected) | both_nan | (error <= bound) | np.isinf(bound)
    if "float" not in expected.dtype.name:  # bfloat16 and the 8-bit floats have "float" in their names, too
        return actual == expected
    return ((actual == expected) & (np.signbit(actual) == np.signbit(expected))) | both_nan


def print_differences(name: str, actual: Any, expected: Any, bound: Any, accepted_indices: Any) -> bool:
    """Print the wrong elements of an output, and return whether there is a wrong element."""
    if not isinstance(actual, np.ndarray | np.generic):
        print(f"{name}: got a {type(actual).__name__}, expected an array")
        return True
    actual = np.asarray(actual)
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        print(f"{name}: got {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}")
        return True
    wrong = np.argwhere(~np.asarray(acceptable_elements(actual, expected, bound, accepted_indices)))
    for position in map(tuple, wrong[:MAX_ELEMENTS_PRINTED]):
        index = [int(part) for part in position]
        tolerance = f" within {bound[position]:.3g}" if bound is not None else ""
        wanted = expected[position]
        if accepted_indices is not None:
            wanted = f"one of {np.flatnonzero(accepted_indices[position]).tolist()}"
        print(f"{name}{index}: got {actual[position]}, expected {wanted}{tolerance}")
    if len(wrong) > MAX_ELEMENTS_PRINTED:
        print(f"{name}: {len(wrong) - MAX_ELEMENTS_PRINTED} more elements are wrong")
    return len(wrong) > 0


def is_data_set_wrong(folder: Path, run: Any, names: list[str]) -> bool:
    """Run the prepared model on a data set, print its wrong outputs, and return whether there is a wrong output."""
    inputs = load_tensors(folder, "input")
    before = [array.tobytes() for array in inputs]
    outputs = list(run(inputs))
    expected = load_tensors(folder, "output")
    if not expected:
        print(f"got {len(outputs)} outputs, expected an error: the model is invalid")
        return True
    if len(outputs) != len(expected):
        print(f"{folder.name}: got {len(outputs)} outputs, expected {len(expected)}")
        return True
    is_wrong = False
    for number, (name, actual, wanted) in enumerate(zip(names, outputs, expected, strict=True)):
        limits = (load_tensor(folder / f"{kind}_{number}.pb") for kind in ("bound", "accept"))
        is_wrong |= print_differences(f"{folder.name}: {name}", actual, wanted, *limits)
    for number, array in enumerate(inputs):
        if array.tobytes() != before[number]:
            print(f"{folder.name}: the run changed input {number}")
            is_wrong = True
    return is_wrong


def main() -> int:
    """Prepare the model once, run every data set on it, and return the exit status."""
    from subject import prepare

    model = onnx.load(HERE / "model.onnx")
    names = [output.name for output in model.graph.output]
    folders = sorted(HERE.glob("test_data_set_*"), key=lambda path: int(path.name.rpartition("_")[2]))
    try:
        run = prepare(model)
        is_wrong = False
        for folder in folders:
            is_wrong |= is_data_set_wrong(folder, run, names)
    except Exception as error:  # noqa: BLE001 - a runtime can raise anything
        message = f"{type(error).__name__}: {error}"
        is_invalid = not any(HERE.glob("test_data_set_*/output_0.pb"))
        print(f"rejected, as required: {message}" if is_invalid else f"got {message}, expected outputs")
        return 0 if is_invalid else 1
    print("Something is wrong." if is_wrong else "All outputs are acceptable.")
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
