"""Rewrites the model beside this file, and prints what became of it and of the model that was handed over.

Needs onnx and the graph optimizer that `subject.py` names. Ends with 1 where something changed, with 0 where not.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import onnx

HERE = Path(__file__).resolve().parent


def text(model: onnx.ModelProto) -> list[str]:
    """A model in protobuf's text format: nothing of it is left out."""
    return str(model).splitlines(keepends=True)


def shown(what: str, before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """Print how a model differs from what it was; whether it does."""
    lines = list(difflib.unified_diff(text(before), text(after), f"{what} before", f"{what} after", n=2))
    sys.stdout.writelines(lines)
    return bool(lines)


def main() -> int:
    """Rewrite the model once."""
    from subject import optimize

    model, given = onnx.load(HERE / "model.onnx"), onnx.load(HERE / "model.onnx")
    try:
        after = optimize(given)
    except Exception as error:  # noqa: BLE001 - what the graph optimizer raises is what is shown
        print(f"got an error: {type(error).__name__}: {error}")
        return 1
    changed = shown("the caller's model", model, given)
    changed |= shown("the model", model, after)
    try:
        onnx.checker.check_model(after)
    except Exception as error:  # noqa: BLE001
        print(f"onnx.checker refuses the rewritten model: {error}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
