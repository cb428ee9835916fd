"""The file `subject.py` of a reproduction folder: code that calls the runtime or graph optimizer under test.

The generated code works without this suite, except for subjects that only an adapter of this suite can call.
"""

from __future__ import annotations

import sys
from importlib import resources
from typing import TYPE_CHECKING

from conformance.plugins import registered_entry_points
from conformance.subjects.naming import EXEC_PREFIX, SubjectKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.subjects.naming import SubjectName

ADAPTER_PACKAGE = "conformance.adapters."
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

_HEADER = '"""Calls {name}."""\n\nfrom __future__ import annotations\n\n'

_ADAPTER = """\
from adapter.{module} import {attribute} as Backend

OPTIONS = {options!r}


def prepare(model):
    \"\"\"Return a function from inputs, in the graph's order, to outputs.\"\"\"
    valued = {{each.name for each in model.graph.initializer}}
    valued |= {{each.values.name for each in model.graph.sparse_initializer}}
    every = [each.name for each in model.graph.input]
    names = [name for name in every if name not in valued]
    options = dict(OPTIONS)
    prepared = Backend.prepare(model.SerializeToString(), options.pop("device", "CPU"), **options)
    fed = {{len(names): names, len(every): every}}
    return lambda inputs: prepared.run(dict(zip(fed[len(inputs)], inputs, strict=True)))
"""

_CALLED_BACKEND = """\
{imported}


def prepare(model):
    \"\"\"Return a function from inputs, in the graph's order, to outputs.\"\"\"
    valued = {{each.name for each in model.graph.initializer}}
    valued |= {{each.values.name for each in model.graph.sparse_initializer}}
    every = [each.name for each in model.graph.input]
    names = [name for name in every if name not in valued]
    prepared = {call}
    fed = {{len(names): names, len(every): every}}
    return lambda inputs: prepared.run(None, dict(zip(fed[len(inputs)], inputs, strict=True)))
"""

_BACKEND = """\
from importlib import import_module
from operator import attrgetter

{path}OPTIONS = {options!r}
MODULE = import_module({module!r})


def prepare(model):
    \"\"\"Return a function from inputs, in the graph's order, to outputs.\"\"\"
    backend = attrgetter({attribute!r})(MODULE) if {attribute!r} else MODULE
    options = dict(OPTIONS)
    return backend.prepare(model, options.pop("device", "CPU"), **options).run
"""

_HARNESS = """\
import base64
import json
import shlex
import subprocess
from pathlib import Path

import numpy as np
from onnx import helper

COMMAND = {command!r}


def prepare(model):
    \"\"\"Return a function from inputs, in the graph's order, to outputs. Messages are lines of JSON.\"\"\"
    harness = subprocess.Popen(shlex.split(COMMAND), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    number = 0

    def ask(command, **more):
        nonlocal number
        number += 1
        harness.stdin.write(json.dumps({{"cmd": command, "seq": number, **more}}).encode() + b"\\n")
        harness.stdin.flush()
        line = harness.stdout.readline()
        if not line:
            raise RuntimeError(f"the harness ended with status {{harness.wait()}}")
        answer = json.loads(line)
        for problem in ("error", "unsupported"):
            if problem in answer:
                raise RuntimeError(f"{{problem}}: {{answer[problem]}}")
        return answer

    names = {{helper.tensor_dtype_to_string(n)[12:].lower(): helper.tensor_dtype_to_np_dtype(n)
             for n in (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13)}}
    types = {{dtype: name for name, dtype in names.items()}}
    ask("start", version=1)
    ask("load", model=str(Path(__file__).with_name("model.onnx")))
    valued = {{each.name for each in model.graph.initializer}}
    every = [each.name for each in model.graph.input]
    required = [name for name in every if name not in valued]

    def encoded(name, array):
        data = base64.b64encode(array.tobytes()).decode()
        return {{"name": name, "dtype": types[array.dtype], "shape": list(array.shape), "data": data}}

    def decoded(message):
        data = base64.b64decode(message["data"])
        return np.frombuffer(data, names[message["dtype"]]).reshape(message["shape"])

    def run(inputs):
        names = every if len(inputs) == len(every) else required
        return [decoded(each) for each in ask("run", inputs=list(map(encoded, names, inputs)))["outputs"]]

    return run
"""

_CALL = """\
import {module}


def optimize(model):
    \"\"\"Return the optimized model.\"\"\"
    return {call}
"""

_ONNXRUNTIME = """\
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
import onnxruntime


def optimize(model):
    \"\"\"Return the optimized model that a session saves.\"\"\"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_{level}
    with TemporaryDirectory() as scratch:
        options.optimized_model_filepath = str(Path(scratch) / "optimized.onnx")
        onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return onnx.load_model(options.optimized_model_filepath)
"""
"""Code that calls the graph optimizations of onnxruntime; it needs more than one expression."""

_OWN_PATH = """\
import sys
from importlib.machinery import PathFinder

DIRECTORY = {directory!r}


class OwnPackages:
    \"\"\"Finds these packages in the folder of the subject, before installed packages of the same names.\"\"\"

    @staticmethod
    def find_spec(name, *_):
        found = PathFinder.find_spec(name, [DIRECTORY]) if name in {own!r} else None
        return found if found and found.loader else None


sys.meta_path.insert(0, OwnPackages)
sys.path.append(DIRECTORY)

"""
"""Code that imports a subject from its folder. Other files of the folder do not hide installed packages."""

_FUNCTION = """\
from importlib import import_module
from operator import attrgetter

{path}OPTIONS = {options!r}
MODULE = import_module({module!r})


def optimize(model):
    \"\"\"Return the optimized model.\"\"\"
    return (attrgetter({attribute!r})(MODULE) if {attribute!r} else MODULE)(model, **OPTIONS)
"""


def subject_files(named: SubjectName, directory: str) -> dict[str, str]:
    """Return `subject.py` and the files that it needs, by relative path.

    Args:
        directory: folder in which a subject's module is searched if it is not installed.
    """
    header = _HEADER.format(name=named.text.replace("\\", "\\\\").replace('"', '\\"'))
    points = registered_entry_points(named.kind.group)
    place = points[named.name].value if named.name in points else named.name
    module, _, attribute = place.partition(":")
    about = {"options": dict(named.options), "module": module, "attribute": attribute}
    own = sorted({module.partition(".")[0], __name__.partition(".")[0]} - sys.stdlib_module_names)
    own_path = "" if named.name in points else _OWN_PATH.format(directory=directory, own=own)
    if named.text.startswith(EXEC_PREFIX):
        return {"subject.py": header + _HARNESS.format(command=named.text.removeprefix(EXEC_PREFIX))}
    if named.kind is SubjectKind.OPTIMIZER:
        return {"subject.py": header + (_optimizer_call(named) or _FUNCTION.format(path=own_path, **about))}
    if named.name in _BACKENDS and not named.options:
        imported, call = _BACKENDS[named.name]
        return {"subject.py": header + _CALLED_BACKEND.format(imported=imported, call=call)}
    if module.startswith(ADAPTER_PACKAGE) and named.name not in _NOT_STANDALONE:
        file = module.removeprefix(ADAPTER_PACKAGE)
        sources = resources.files("conformance.adapters")
        copied = {f"adapter/{name}.py": sources.joinpath(f"{name}.py").read_text("utf-8") for name in ("server", file)}
        return {"subject.py": header + _ADAPTER.format(**{**about, "module": file}), **copied}
    return {"subject.py": header + _BACKEND.format(path=own_path, **about)}


def _optimizer_call(named: SubjectName) -> str | None:
    """Return Python code that calls a graph optimizer known to this module, or None for any other graph optimizer."""
    if named.name == "onnxruntime":
        return _ONNXRUNTIME.format(level=named.options.get("level", "all").upper())
    if named.name not in _OPTIMIZERS or named.options:
        return None
    package, call = _OPTIMIZERS[named.name]
    return _CALL.format(module=package, call=call)
