"""Whether a release that is installed can be a subject: it starts, and its adapter finds in it what it calls."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from base64 import b64encode
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from conformance.errors import SubjectError

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.environments.requirements import Requirements

_PATIENCE = 300.0
"""Seconds that a runtime may take to be imported, and to run a model."""

_NOT_FOUND = ("AttributeError:", "ImportError:", "ModuleNotFoundError:", "TypeError:")
"""What an adapter raises that calls what a release has not, or not yet."""

_LABEL = re.compile("^(?:cause:|error:|\N{MULTIPLICATION SIGN}|╰─▶|├─▶) ", re.IGNORECASE)
"""How pip and uv begin what they have to say."""

_HINTS = ("hint:", "[notice]", "note:")


def started_version(requirements: Requirements, python: Path, scratch: Path) -> str:
    """The version that the runtime tells when it is hosted as in a run, and has been given an ArgMax.

    What it makes of the ArgMax is no matter here: that is what runs are for.

    Args:
        python: the environment's interpreter.
        scratch: a folder to work in.

    Raises:
        SubjectError: it does not start, or its adapter does not fit it.
    """
    done = _hosted(requirements, python, scratch)
    answers = done.stdout.splitlines()
    if not answers:
        why = signal.Signals(-done.returncode).name if done.returncode < 0 else last_line(done.stderr)
        raise _unusable(requirements, "does not start", why)
    started, *ran = (json.loads(answer) for answer in answers)
    if "runtime_version" not in started:
        raise _unusable(requirements, "does not start", started.get("error") or "it does not say why")
    if misfits := [told["error"] for told in ran if told.get("error", "").startswith(_NOT_FOUND)]:
        raise _unusable(requirements, "has not what its adapter calls", misfits[0])
    return str(started["runtime_version"])


def last_line(said: bytes) -> str:
    """The last thing that a program said, but for advice; what it broke into lines is one."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines()]
    telling = [line for line in lines if line and not line.lower().startswith(_HINTS)]
    begins = [place for place, line in enumerate(telling) if _LABEL.match(line)]
    last = " ".join(telling[begins[-1] if begins else -1 :])
    return _LABEL.sub("", last) or "it does not say why"


def _hosted(requirements: Requirements, python: Path, scratch: Path) -> subprocess.CompletedProcess[bytes]:
    path = scratch / "argmax.onnx"
    path.write_bytes(_argmax())
    data = b64encode(np.ones((2, 3), np.float32).tobytes()).decode()
    commands: list[dict[str, Any]] = [
        {"cmd": "start", "version": 1},
        {"cmd": "load", "model": str(path)},
        {"cmd": "run", "inputs": [{"name": "X", "dtype": "float", "shape": [2, 3], "data": data}]},
        {"cmd": "stop"},
    ]
    lines = "".join(json.dumps({"seq": number, **command}) + "\n" for number, command in enumerate(commands, 1))
    with resources.as_file(resources.files("conformance.backends") / "host.py") as host:
        quiet = {**os.environ, "HOME": str(scratch), "ORT_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
        try:
            return subprocess.run(
                [str(python), "-I", str(host), requirements.name],
                input=lines.encode(),
                capture_output=True,
                timeout=_PATIENCE,
                env=quiet,
                cwd=scratch,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _unusable(requirements, "does not start", f"no answer within {_PATIENCE:g} s") from None


def _argmax() -> bytes:
    """An ArgMax over the last axis of a matrix of floats, in an opset that every release has."""
    node = helper.make_node("ArgMax", ["X"], ["Y"], axis=1, keepdims=0)
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [2, 3])]
    outputs = [helper.make_tensor_value_info("Y", TensorProto.INT64, [2])]
    graph = helper.make_graph([node], "argmax", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)
    return bytes(model.SerializeToString())


def _unusable(requirements: Requirements, what: str, why: str) -> SubjectError:
    return SubjectError(f"{requirements.subject} installs, and {what}: {why.splitlines()[0]}", "Name another release.")
