"""Run the corpus with the backend test runner of onnx under pytest, for comparison with `run`."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx.backend.test.runner
from onnx.backend.test.case.test_case import TestCase

from conformance.subjects.calling.subject_loading import load_backend


def _argument(name: str) -> str:
    return next(argument.partition("=")[2] for argument in sys.argv if argument.startswith(f"--{name}="))


def _cases(kind: str, **_: object) -> list[TestCase]:
    """Return every case as the loader of onnx describes it; all have the kind that the runner loads last."""
    if kind != "simple":
        return []
    folders = sorted(path.parent for path in Path(_argument("conformance-data")).glob("*/*/model.onnx"))
    return [
        TestCase(
            name=folder.name,
            model_name=folder.name,
            url=None,
            model_dir=str(folder),
            model=None,
            data_sets=None,
            kind=kind,
            rtol=1e-3,
            atol=1e-7,
        )
        for folder in folders
    ]


onnx.backend.test.runner.load_model_tests = _cases
_backend = load_backend(_argument("conformance-backend")).target
globals().update(onnx.backend.test.runner.Runner(_backend, __name__).test_cases)
