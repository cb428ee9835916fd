"""Harness for subjects written in Python: loads a backend or graph optimizer by name, and speaks the protocol.

Usage: python -m conformance.isolation.harness [--directory DIR] [--optimizer] NAME[option=value,…]

DIR is searched for the subject's module; it is the current directory by default.

Standard output carries only the protocol. The subject's own output, from C too, goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser
from contextlib import chdir, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ENCODER = json.JSONEncoder(separators=(",", ":"))

_UNDECLARED = ("",)
"""Value of `Subject.passes` for a graph optimizer that does not declare its passes."""


def main(arguments: Sequence[str]) -> int:
    """Execute commands until `stop` or the end of the input."""
    commands, answers = _protocol_streams()
    parser = ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--optimizer", action="store_true")
    parser.add_argument("name")
    given = parser.parse_args(arguments)
    serve(Harness("optimizer" if given.optimizer else "backend", given.name, given.directory), commands, answers)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the shutdown of a runtime is not tested, and can take long


def serve(harness: Harness, commands: BinaryIO, answers: BinaryIO) -> None:
    """Read commands and write answers, one per line.

    If a `load` command succeeds, the command in its field `next` is executed too.
    """
    for line in iter(commands.readline, b""):
        command = json.loads(line)
        if command["cmd"] == "stop":
            break
        while command is not None:
            answer = {"seq": command["seq"], **harness.answer(command)}
            sys.stdout.flush()
            answers.write(_ENCODER.encode(answer).encode() + b"\n")
            command = command.get("next") if "loaded" in answer else None


def _protocol_streams() -> tuple[BinaryIO, BinaryIO]:
    """Move the protocol's streams to new descriptors, so that the subject cannot read or write them by accident."""
    commands, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(commands, "rb"), os.fdopen(answers, "wb", buffering=0)


class Harness:
    """Runs one subject and answers the commands about it.

    Args:
        kind: `backend` or `optimizer`.
        name: name of the subject, with options in brackets.
        directory: folder that is searched for the subject's module.
    """

    def __init__(self, kind: str, name: str, directory: Path | None = None) -> None:
        self._kind, self._name, self._directory = kind, name, directory
        self._target: Any = None
        self._prepared: dict[int, Any] = {}
        self._returned: list[list[tuple[Any, bytes] | None]] = []
        self._commands: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "start": self._start,
            "load": self._load,
            "run": self._run,
            "optimize": self._optimize,
        }

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Execute a command, and return its answer without the number."""
        execute = self._commands.get(command["cmd"])
        if execute is None:
            return {"error": f"unknown command {command['cmd']}"}
        try:
            return execute(command)
        except BaseException as error:  # noqa: BLE001 - SystemExit, and the panics of runtimes written in Rust, too
            return self._failure(error)

    def _failure(self, error: BaseException) -> dict[str, Any]:
        from conformance.subjects.failures import format_exception, is_unsupported

        if is_unsupported(error):
            return {"unsupported": format_exception(error)}
        return {"error": format_exception(error)} | ({} if isinstance(error, Exception) else {"fatal": True})

    def _start(self, _: dict[str, Any]) -> dict[str, Any]:
        from conformance.errors import ConformanceError
        from conformance.isolation.protocol import PROTOCOL_VERSION
        from conformance.subjects.loading import load_subject, takes_fixed_point
        from conformance.subjects.naming import SubjectKind, SubjectName

        try:
            named = SubjectName.parse(self._name, SubjectKind(self._kind))
            subject = load_subject(named, _UNDECLARED, self._directory)
        except ConformanceError as error:
            return {"error": error.problem, "hint": error.hint, "code": error.code}
        self._target = subject.target
        started: dict[str, Any] = {
            "version": PROTOCOL_VERSION,
            "name": subject.id[:200],
            "runtime_version": subject.version[:200] or "unknown",
            "language": "Python",
            "kind": self._kind,
            "python": subject.python,
            "packages": list(subject.packages),
        }
        if subject.provider is not None:
            started["provider"] = subject.provider
        if self._kind == "optimizer":
            started["fixed_point"] = takes_fixed_point(subject.target)
            started |= {"passes": list(subject.passes)} if subject.passes != _UNDECLARED else {}
        else:
            started |= {"models": 2, "files": True, "next": True}
        return started

    def _load(self, command: dict[str, Any]) -> dict[str, Any]:
        slot = command.get("slot", 0)
        if slot == 0:
            self._prepared.clear()
            self._returned.clear()
        began = time.perf_counter()
        with chdir(command.get("data", os.curdir)):  # runtimes look there for the external data of a model in memory
            self._prepared[slot] = self._target.prepare(_read_model(command["model"]), "CPU")
        return {"loaded": True, "seconds": time.perf_counter() - began, **self._placement(slot)}

    def _placement(self, slot: int) -> dict[str, Any]:
        """Return the field `placement` of an answer; no field if the prepared model does not report it (yet)."""
        placement = getattr(self._prepared[slot], "placement", None)
        return {"placement": placement} if isinstance(placement, dict) else {}

    def _run(self, command: dict[str, Any]) -> dict[str, Any]:
        from conformance.isolation.protocol import decode_tensor
        from conformance.isolation.tensor_files import is_unchanged, map_tensor

        messages, slot = command["inputs"], command.get("slot", 0)
        inputs = [map_tensor(message) if "file" in message else decode_tensor(message) for message in messages]
        before = [
            b"" if "file" in message else array.tobytes() for message, array in zip(messages, inputs, strict=True)
        ]
        began = time.perf_counter()
        outputs = self._prepared[slot].run(list(inputs))
        seconds = time.perf_counter() - began
        if not isinstance(outputs, list | tuple):
            return {"invalid_return": _type_name(outputs)}
        prefix = command.get("files", "")
        answer: dict[str, Any] = {
            "outputs": [
                _output_message(output, f"{prefix}{number}" if prefix else "") for number, output in enumerate(outputs)
            ],
            "seconds": seconds,
        }
        changed = [
            number
            for number, (message, array, old) in enumerate(zip(messages, inputs, before, strict=True))
            if not (is_unchanged(message, array) if "file" in message else array.tobytes() == old)
        ]
        overwritten = self._overwritten()
        self._returned.append([_snapshot(output) for output in outputs])
        answer |= {"changed": changed} if changed else {}
        answer |= {"overwritten": overwritten} if overwritten else {}
        return answer | self._placement(slot)

    def _overwritten(self) -> list[tuple[int, int]]:
        """Return the outputs of earlier runs that have changed since, as pairs of run and index of the output.

        Each output is reported once.
        """
        found = []
        for run, outputs in enumerate(self._returned):
            for number, snapshot in enumerate(outputs):
                if snapshot is not None and snapshot[0].tobytes() != snapshot[1]:
                    found.append((run, number))
                    outputs[number] = None
        return found

    def _optimize(self, command: dict[str, Any]) -> dict[str, Any]:
        import onnx

        from conformance.subjects.loading import takes_fixed_point

        model = _read_model(command["model"])
        before = model.SerializeToString(deterministic=True)
        options = {"fixed_point": command["fixed_point"]} if takes_fixed_point(self._target) else {}
        rewritten = self._target(model, **options)
        if not isinstance(rewritten, onnx.ModelProto):
            return {"invalid_return": _type_name(rewritten)}
        _write_model(command["output"], rewritten)
        if model.SerializeToString(deterministic=True) == before:
            return {"optimized": True}
        _write_model(f"{command['output']}.given", model)
        return {"optimized": True, "changed_input": True}


def _read_model(path: str) -> Any:
    import onnx

    with open(path, "rb") as stream:  # noqa: PTH123
        return onnx.ModelProto.FromString(stream.read())


def _write_model(path: str, model: Any) -> None:
    with open(path, "wb") as stream:  # noqa: PTH123
        stream.write(model.SerializeToString())


def _output_message(output: Any, file: str) -> dict[str, Any]:
    """Return the message of an output; if the output is not a tensor, the message names its type.

    Args:
        output: one element of what the subject returned.
        file: file for a large tensor; empty if the tensor must be in the message.
    """
    import numpy as np

    from conformance.isolation.protocol import encode_tensor
    from conformance.isolation.tensor_files import FILE_THRESHOLD_BYTES, overwrite_tensor

    if not isinstance(output, np.ndarray | np.generic):
        return {"invalid_return": _type_name(output)}
    try:
        array = np.asarray(output)
        if file and array.nbytes >= FILE_THRESHOLD_BYTES:
            with suppress(OSError):  # without space for the file, the message has the tensor
                return overwrite_tensor(file, "", array)
        return encode_tensor("", array)
    except (KeyError, TypeError, ValueError):
        return {"invalid_return": f"ndarray of {output.dtype}"[:200]}


def _snapshot(output: Any) -> tuple[Any, bytes] | None:
    """Return an output with a copy of its bytes, to detect later changes; None for large outputs and for non-arrays."""
    import numpy as np

    from conformance.isolation.tensor_files import FILE_THRESHOLD_BYTES

    is_small = isinstance(output, np.ndarray) and output.nbytes < FILE_THRESHOLD_BYTES
    return (output, output.tobytes()) if is_small else None


def _type_name(value: object) -> str:
    return type(value).__name__[:200]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
