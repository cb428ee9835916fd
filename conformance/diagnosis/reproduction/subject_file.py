"""`subject.py` of a reproduction: how the script calls what is under test, without this suite where that can be."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from conformance.plugins import registered
from conformance.subjects.naming import EXEC, SubjectKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.subjects.naming import SubjectName

_OWN = "conformance.backends."
_NOT_ALONE = {"reference"}
"""Adapters of the suite that are no file of their own."""

_OPTIMIZERS: Mapping[str, tuple[str, str]] = {
    "onnxoptimizer": ("onnxoptimizer", 'onnxoptimizer.optimize(model, ["eliminate_nop_monotone_argmax"])'),
    "onnxoptimizer-defaults": ("onnxoptimizer", "onnxoptimizer.optimize(model)"),
    "onnxscript": ("onnxscript.optimizer", "onnxscript.optimizer.optimize(model)"),
    "onnxsim": ("onnxsim", "onnxsim.simplify(model)[0]"),
}
"""Per graph optimizer that is called in a line what is imported, and the line."""

_BACKENDS: Mapping[str, tuple[str, str]] = {
    "onnx-reference": ("from onnx.reference import ReferenceEvaluator", "ReferenceEvaluator(model)"),
    "onnxruntime": (
        "import onnxruntime",
        'onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])',
    ),
}
"""Per backend that is called in a line what is imported, and the line that makes what has `run`."""

_HEADER = '"""Calls {name}."""\n\nfrom __future__ import annotations\n\n'

_ADAPTER = """\
from adapter.{module} import {attribute} as Backend

OPTIONS = {options!r}


def prepare(model):
    \"\"\"A function from inputs, in the graph's order, to outputs.\"\"\"
    valued = {{each.name for each in model.graph.initializer}}
    valued |= {{each.values.name for each in model.graph.sparse_initializer}}
    names = [each.name for each in model.graph.input if each.name not in valued]
    options = dict(OPTIONS)
    prepared = Backend.prepare(model.SerializeToString(), options.pop("device", "CPU"), **options)
    return lambda inputs: prepared.run(dict(zip(names, inputs, strict=True)))
"""

_CALLED_BACKEND = """\
{imported}


def prepare(model):
    \"\"\"A function from inputs, in the graph's order, to outputs.\"\"\"
    valued = {{each.name for each in model.graph.initializer}}
    valued |= {{each.values.name for each in model.graph.sparse_initializer}}
    names = [each.name for each in model.graph.input if each.name not in valued]
    prepared = {call}
    return lambda inputs: prepared.run(None, dict(zip(names, inputs, strict=True)))
"""

_BACKEND = """\
from importlib import import_module
from operator import attrgetter

{path}OPTIONS = {options!r}


def prepare(model):
    \"\"\"A function from inputs, in the graph's order, to outputs.\"\"\"
    module = import_module({module!r})
    backend = attrgetter({attribute!r})(module) if {attribute!r} else module
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
    \"\"\"A function from inputs, in the graph's order, to outputs; a line of JSON out, a line back.\"\"\"
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
    fed = [each.name for each in model.graph.input if each.name not in valued]

    def encoded(name, array):
        data = base64.b64encode(array.tobytes()).decode()
        return {{"name": name, "dtype": types[array.dtype], "shape": list(array.shape), "data": data}}

    def decoded(message):
        data = base64.b64decode(message["data"])
        return np.frombuffer(data, names[message["dtype"]]).reshape(message["shape"])

    return lambda inputs: [decoded(each) for each in ask("run", inputs=list(map(encoded, fed, inputs)))["outputs"]]
"""

_CALL = """\
import {module}


def optimize(model):
    \"\"\"The rewritten model.\"\"\"
    return {call}
"""

_ONNXRUNTIME = """\
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
import onnxruntime


def optimize(model):
    \"\"\"The optimized model that a session saves.\"\"\"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_{level}
    with TemporaryDirectory() as scratch:
        options.optimized_model_filepath = str(Path(scratch) / "optimized.onnx")
        onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return onnx.load_model(options.optimized_model_filepath)
"""
"""How onnxruntime's graph optimizations are called, which is in no line."""

_FUNCTION = """\
from importlib import import_module
from operator import attrgetter

{path}OPTIONS = {options!r}


def optimize(model):
    \"\"\"The rewritten model.\"\"\"
    module = import_module({module!r})
    return (attrgetter({attribute!r})(module) if {attribute!r} else module)(model, **OPTIONS)
"""


def subject_files(named: SubjectName, directory: str) -> dict[str, str]:
    """`subject.py` and what it needs besides, by their names in the folder.

    Args:
        directory: where a module of the user's may lie, in which no installed one is found.
    """
    header = _HEADER.format(name=named.text.replace("\\", "\\\\").replace('"', '\\"'))
    points = registered(named.kind.group)
    place = points[named.name].value if named.name in points else named.name
    module, _, attribute = place.partition(":")
    about = {"options": dict(named.options), "module": module, "attribute": attribute}
    own_path = "" if named.name in points else f"import sys\n\nsys.path.append({directory!r})\n"
    if named.text.startswith(EXEC):
        return {"subject.py": header + _HARNESS.format(command=named.text.removeprefix(EXEC))}
    if named.kind is SubjectKind.OPTIMIZER:
        return {"subject.py": header + (_called_optimizer(named) or _FUNCTION.format(path=own_path, **about))}
    if named.name in _BACKENDS and not named.options:
        imported, call = _BACKENDS[named.name]
        return {"subject.py": header + _CALLED_BACKEND.format(imported=imported, call=call)}
    if module.startswith(_OWN) and named.name not in _NOT_ALONE:
        file = module.removeprefix(_OWN)
        sources = resources.files("conformance.backends")
        copied = {f"adapter/{name}.py": sources.joinpath(f"{name}.py").read_text("utf-8") for name in ("host", file)}
        return {"subject.py": header + _ADAPTER.format(**{**about, "module": file}), **copied}
    return {"subject.py": header + _BACKEND.format(path=own_path, **about)}


def _called_optimizer(named: SubjectName) -> str | None:
    """How a graph optimizer of a package is called; None of any other."""
    if named.name == "onnxruntime":
        return _ONNXRUNTIME.format(level=named.options.get("level", "all").upper())
    if named.name not in _OPTIMIZERS or named.options:
        return None
    package, call = _OPTIMIZERS[named.name]
    return _CALL.format(module=package, call=call)
