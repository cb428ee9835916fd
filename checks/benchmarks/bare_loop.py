"""The baseline of `run`: a minimal loop that loads the same files, prepares, runs and compares.

Usage: python bare_loop.py BACKEND DATA
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from conformance.subjects.calling.subject_loading import load_backend


def tensor(path: Path) -> np.ndarray:
    """Read a TensorProto file as an array."""
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(proto)


def run_case(backend: object, case: Path) -> bool:
    """Check that every output of every data set is within its bound, or equal if it has no bound."""
    prepared = backend.prepare(onnx.load(case / "model.onnx"), "CPU")
    good = True
    for folder in sorted(case.glob("test_data_set_*")):
        inputs = [tensor(folder / f"input_{i}.pb") for i in range(len(list(folder.glob("input_*.pb"))))]
        for i, actual in enumerate(prepared.run(inputs)):
            expected, bound = tensor(folder / f"output_{i}.pb"), folder / f"bound_{i}.pb"
            try:
                atol = tensor(bound) if bound.exists() else 0
                np.testing.assert_array_less(np.abs(actual - expected), np.nextafter(atol, np.inf))
            except AssertionError:
                good = False
    return good


def main() -> None:
    """Run all cases, and print the number of passed cases."""
    backend, good = load_backend(sys.argv[1]).target, 0
    for case in sorted(path.parent for path in Path(sys.argv[2]).glob("*/*/model.onnx")):
        try:
            good += run_case(backend, case)
        except Exception:  # noqa: BLE001, S112 - an unsupported or failing case is not counted
            continue
    print(good)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
