"""Measure the processor time of `judge` on large tensors, beside a comparison with NumPy's result in double precision.

The comparison is what a test with a tolerance does. PyTorch makes both results of it where it is installed. The time of
the import of the Python interface is measured beside that of onnx and NumPy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from conformance import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.table import Table

    from conformance import Judgement

ROUNDS = 3

IMPORTS = {
    "onnx and NumPy": "import onnx, numpy",
    "the public names": "import conformance; [getattr(conformance, name) for name in conformance.__all__]",
}
"""The imports whose time is measured, each in a new process."""

MAX_SAMPLED = 2**16
"""Elements of a tensor above which the rows of samples take a sample."""


def softmax(x: Any) -> Any:
    """Return the softmax of the last axis."""
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def convolution(x: Any, w: Any) -> Any:
    """Return the convolution with 3x3 kernels and a border of one zero, by the images of all windows."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w, optimize=True)


def judge_rows(table: Table, scratch: Path) -> None:
    """Add a row for each operator, and one for a sample of it.

    Args:
        table: the table.
        scratch: a folder for the compiled modules of new processes.
    """
    random = np.random.default_rng(0)
    image = random.standard_normal((1, 64, 56, 56))
    kernels = random.standard_normal((64, 64, 3, 3)) / 24
    calls: dict[str, tuple[str, Sequence[Any], Callable[..., Any], dict[str, Any], int]] = {
        "Softmax of 1,024 by 1,024": ("Softmax", [random.standard_normal((1024, 1024))], softmax, {"axis": -1}, 1),
        "MatMul of 512 by 512": ("MatMul", [random.standard_normal((512, 512)) for _ in "AB"], np.matmul, {}, 3),
        "Conv of a ResNet layer": ("Conv", [image, kernels], convolution, {"pads": [1, 1, 1, 1]}, 5),
    }
    for title, (operator, operands, function, attributes, limit) in calls.items():
        inputs = [each.astype(np.float32) for each in operands]
        compute = torch_function(operator) or function
        output = np.asarray(compute(*inputs), np.float32)
        seconds, judgement = _timed(lambda: judge(operator, inputs, [output], **attributes))  # noqa: B023 - called here
        compared, _ = _timed(lambda: _is_close(compute, inputs, output))  # noqa: B023 - called here
        judged = f"{judgement.judged:,} of {judgement.elements:,} elements"
        _row(table, f"judge {title}", seconds, f"in double {compared:.2f}", f"{judged}", f"at most {limit} s")
        seconds, judgement = _timed(
            lambda: judge(operator, inputs, [output], max_elements=MAX_SAMPLED, **attributes)  # noqa: B023 - called here
        )
        judged = f"{judgement.judged:,} of {judgement.elements:,} elements"
        _row(table, "  a sample", seconds, "", judged, "")
    _import_rows(table, scratch)


def torch_function(operator: str) -> Callable[..., Any] | None:
    """Return PyTorch's function of an operator on arrays of NumPy; None if PyTorch is not installed."""
    if find_spec("torch") is None:
        return None
    import torch

    functions: dict[str, Callable[..., Any]] = {
        "Softmax": lambda x: torch.softmax(x, -1),
        "MatMul": torch.matmul,
        "Conv": lambda x, w: torch.nn.functional.conv2d(x, w, padding=1),
    }
    return lambda *inputs: functions[operator](*map(torch.from_numpy, inputs)).numpy()


def _is_close(compute: Callable[..., Any], inputs: Sequence[Any], output: Any) -> bool:
    return bool(np.allclose(output, compute(*(each.astype(np.float64) for each in inputs)), 1e-4, 1e-5))


def _timed(call: Callable[[], Any]) -> tuple[float, Judgement]:
    """Return the least processor time of several calls, and the result."""
    found = []
    for _ in range(ROUNDS):
        started = time.process_time()
        result = call()
        found.append(time.process_time() - started)
    return min(found), result


def _row(table: Table, title: str, seconds: float, compared: str, judged: str, limit: str) -> None:
    table.add_row(title, f"{seconds:.2f}", compared, judged, limit)


def _import_rows(table: Table, scratch: Path) -> None:
    """Add the processor time of importing the Python interface after onnx and NumPy, in new processes."""
    lines = ["import time", "started = time.process_time()"]
    for statement in IMPORTS.values():
        lines += [statement, "print(time.process_time() - started)", "started = time.process_time()"]
    command = [sys.executable, "-c", "\n".join(lines)]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(scratch)}
    runs = []
    for _ in range(ROUNDS + 1):  # the first process compiles the modules
        printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        runs.append([float(line) for line in printed.split()])
    beside, own = (min(each) for each in zip(*runs, strict=True))
    table.add_row("import of all public names", f"{own:.2f}", f"onnx and NumPy {beside:.2f}", "", "at most 0.3 s")
