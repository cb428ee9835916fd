"""Runs the model beside this file, and prints what came where something else must come.

Needs NumPy, onnx and the runtime that `subject.py` names. Ends with 1 where something is wrong, with 0 where not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent


def tensor(path: Path) -> Any:
    """The tensor in a file, or None where there is no such file."""
    if not path.is_file():
        return None
    return np.array(numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes())))


def tensors(folder: Path, what: str) -> list[Any]:
    """The tensors of one kind in a data set: `input_0.pb` and so on."""
    count = sum(1 for _ in folder.glob(f"{what}_*.pb"))
    return [tensor(folder / f"{what}_{number}.pb") for number in range(count)]


def acceptable(got: Any, expected: Any, bound: Any, choices: Any) -> Any:
    """Which elements may be so: within the bound, among the acceptable indices, or else equal; NaN is like NaN."""
    if choices is not None:
        return ((got[..., np.newaxis] == np.arange(choices.shape[-1])) & choices).any(axis=-1)
    same = (got == expected) | ((got != got) & (expected != expected))  # noqa: PLR0124
    if bound is None:
        signs = expected.dtype.kind == "f"
        return same & (np.signbit(got) == np.signbit(expected) | (got != got)) if signs else same  # noqa: PLR0124
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    return same | (error <= bound) | np.isinf(bound)


def shown(name: str, got: Any, expected: Any, bound: Any, choices: Any) -> bool:
    """Print what is wrong with an output; whether something is."""
    if not isinstance(got, np.ndarray | np.generic):
        print(f"{name}: got a {type(got).__name__}, expected an array")
        return True
    got = np.asarray(got)
    if got.dtype != expected.dtype or got.shape != expected.shape:
        print(f"{name}: got {got.dtype}{list(got.shape)}, expected {expected.dtype}{list(expected.shape)}")
        return True
    wrong = np.argwhere(~np.asarray(acceptable(got, expected, bound, choices)))
    for place in map(tuple, wrong[:8]):
        index = [int(part) for part in place]
        room = f" within {bound[place]:.3g}" if bound is not None else ""
        wanted = f"one of {np.flatnonzero(choices[place]).tolist()}" if choices is not None else expected[place]
        print(f"{name}{index}: got {got[place]}, expected {wanted}{room}")
    if len(wrong) > 8:
        print(f"{name}: {len(wrong) - 8} more elements are wrong")
    return len(wrong) > 0


def main() -> int:
    """Run every data set on the one prepared model."""
    from subject import prepare

    model = onnx.load(HERE / "model.onnx")
    names = [output.name for output in model.graph.output]
    wrong = False
    try:
        run = prepare(model)
        for folder in sorted(HERE.glob("test_data_set_*"), key=lambda path: int(path.name.rpartition("_")[2])):
            inputs = tensors(folder, "input")
            before = [array.tobytes() for array in inputs]
            outputs = run(inputs)
            expected = tensors(folder, "output")
            if not expected:
                print(f"got {len(outputs)} outputs, expected an error: the model is invalid")
                return 1
            if len(outputs) != len(expected):
                print(f"{folder.name}: got {len(outputs)} outputs, expected {len(expected)}")
                return 1
            for number, (name, wanted) in enumerate(zip(names, expected, strict=True)):
                beside = (tensor(folder / f"{what}_{number}.pb") for what in ("bound", "accept"))
                wrong |= shown(f"{folder.name}: {name}", outputs[number], wanted, *beside)
            for number, array in enumerate(inputs):
                if array.tobytes() != before[number]:
                    print(f"{folder.name}: input {number} is not what it was before the run")
                    wrong = True
    except Exception as error:  # noqa: BLE001 - what the runtime raises is what is shown
        invalid = not any(HERE.glob("test_data_set_*/output_0.pb"))
        said = f"{type(error).__name__}: {error}"
        print(f"rejected, as it must be: {said}" if invalid else f"got {said}, expected an answer")
        return 0 if invalid else 1
    print("Something is wrong." if wrong else "All elements are as they must be.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
