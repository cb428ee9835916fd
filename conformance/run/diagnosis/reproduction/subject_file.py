"""The file `subject.py` of a reproduction folder: code that calls the runtime or graph optimizer under test.

The generated code works without this suite, except for subjects that only an adapter of this suite can call.
"""

from __future__ import annotations

import sys
from importlib import resources
from typing import TYPE_CHECKING

from conformance.base.pages.templating import render_text
from conformance.base.plugins import registered_entry_points
from conformance.subjects.calling.subject_names import EXEC_PREFIX, SubjectKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.subjects.calling.subject_names import SubjectName

ADAPTER_PACKAGE = "conformance.subjects.adapters."
_NOT_STANDALONE = {"reference"}
"""Adapters of the suite that need more of the suite than their own file."""

_OPTIMIZERS: Mapping[str, tuple[str, str]] = {
    "onnxoptimizer": ("onnxoptimizer", 'onnxoptimizer.optimize(model, ["eliminate_nop_monotone_argmax"])'),
    "onnxoptimizer-defaults": ("onnxoptimizer", "onnxoptimizer.optimize(model)"),
    "onnxscript": ("onnxscript.optimizer", "onnxscript.optimizer.optimize(model)"),
    "onnxsim": ("onnxsim", "onnxsim.simplify(model)[0]"),
}
"""Graph optimizers that one expression calls: the module to import and the expression."""

_BACKENDS: Mapping[str, tuple[str, str]] = {
    "onnx-reference": ("from onnx.reference import ReferenceEvaluator", "ReferenceEvaluator(model)"),
    "onnxruntime": (
        "import onnxruntime",
        'onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])',
    ),
}
"""Backends that one expression creates: the import statement, and the expression for an object with a `run` method."""


def subject_files(named: SubjectName, directory: str) -> dict[str, str]:
    """Return `subject.py` and the files that it needs, by relative path.

    Args:
        directory: folder in which a subject's module is searched if it is not installed.
    """
    points = registered_entry_points(named.kind.group)
    place = points[named.name].value if named.name in points else named.name
    module, _, attribute = place.partition(":")
    own = {module.partition(".")[0], __name__.partition(".")[0]} - sys.stdlib_module_names

    def source(way: str, **more: str) -> str:
        return render_text(
            "subject.py.j2",
            way=way,
            name=named.text.replace("\\", "\\\\").replace('"', '\\"'),
            options=dict(named.options),
            module=module,
            attribute=attribute,
            directory=directory,
            own=() if named.name in points else sorted(own),
            **more,
        )

    if named.text.startswith(EXEC_PREFIX):
        return {"subject.py": source("harness", command=named.text.removeprefix(EXEC_PREFIX))}
    if named.kind is SubjectKind.OPTIMIZER:
        if named.name == "onnxruntime":
            return {"subject.py": source("onnxruntime", level=named.options.get("level", "all").upper())}
        if named.name in _OPTIMIZERS and not named.options:
            imported, expression = _OPTIMIZERS[named.name]
            return {"subject.py": source("optimizer expression", imported=imported, expression=expression)}
        return {"subject.py": source("optimizer")}
    if named.name in _BACKENDS and not named.options:
        imported, expression = _BACKENDS[named.name]
        return {"subject.py": source("backend expression", imported=imported, expression=expression)}
    if module.startswith(ADAPTER_PACKAGE) and named.name not in _NOT_STANDALONE:
        file = module.removeprefix(ADAPTER_PACKAGE)
        sources = resources.files("conformance.subjects.adapters")
        copied = {f"adapter/{name}.py": sources.joinpath(f"{name}.py").read_text("utf-8") for name in ("server", file)}
        return {"subject.py": source("adapter", file=file), **copied}
    return {"subject.py": source("backend")}
