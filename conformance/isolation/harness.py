"""The harness for subjects in Python: hosts any backend or graph optimizer that can be named, and speaks the protocol.

Usage: python -m conformance.isolation.harness [--directory DIR] [--optimizer] NAME[option=value,…]

DIR is where a module of the user's may lie; by default the current directory.

What the subject prints, from C too, goes to standard error; standard output is the protocol's alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ENCODER = json.JSONEncoder(separators=(",", ":"))

_UNSAID = ("",)
"""The passes of a graph optimizer that does not say which it implements."""


def main(arguments: Sequence[str]) -> int:
    """Answer commands until `stop` or the end of the input."""
    commands, answers = _private_streams()
    parser = ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--optimizer", action="store_true")
    parser.add_argument("name")
    given = parser.parse_args(arguments)
    converse(Harness("optimizer" if given.optimizer else "backend", given.name, given.directory), commands, answers)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # how a runtime ends is not tested, and need not be waited for


def converse(harness: Harness, commands: BinaryIO, answers: BinaryIO) -> None:
    """Read commands and write answers, one a line; a `load` may carry what comes after it."""
    for line in iter(commands.readline, b""):
        command = json.loads(line)
        if command["cmd"] == "stop":
            break
        while command is not None:
            answer = {"seq": command["seq"], **harness.answer(command)}
            sys.stdout.flush()
            answers.write(_ENCODER.encode(answer).encode() + b"\n")
            command = command.get("then") if "loaded" in answer else None


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The protocol's streams under other descriptors, so that nothing which the subject reads or prints disturbs it."""
    commands, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(commands, "rb"), os.fdopen(answers, "wb", buffering=0)


class Harness:
    """Hosts one subject.

    Args:
        kind: `backend` or `optimizer`.
        name: what names it, with options in brackets.
        directory: where a module of the user's may lie.
    """

    def __init__(self, kind: str, name: str, directory: Path | None = None) -> None:
        self._kind, self._name, self._directory = kind, name, directory
        self._target: Any = None
        self._prepared: dict[int, Any] = {}
        self._kept: list[list[tuple[Any, bytes] | None]] = []
        self._verbs: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "start": self._start,
            "load": self._load,
            "run": self._run,
            "optimize": self._optimize,
        }

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """The answer to a command, but for its number."""
        verb = self._verbs.get(command["cmd"])
        if verb is None:
            return {"error": f"unknown command {command['cmd']}"}
        try:
            return verb(command)
        except BaseException as error:  # noqa: BLE001 - SystemExit, and the panics of runtimes written in Rust, too
            return self._failure(error)

    def _failure(self, error: BaseException) -> dict[str, Any]:
        from conformance.subjects.failures import is_unsupported, told

        if is_unsupported(error):
            return {"unsupported": told(error)}
        return {"error": told(error)} | ({} if isinstance(error, Exception) else {"fatal": True})

    def _start(self, _: dict[str, Any]) -> dict[str, Any]:
        from conformance.errors import ConformanceError
        from conformance.isolation.protocol import PROTOCOL
        from conformance.subjects.loading import load_subject, takes_fixed_point
        from conformance.subjects.naming import SubjectKind, SubjectName

        try:
            subject = load_subject(SubjectName.of(self._name, SubjectKind(self._kind)), _UNSAID, self._directory)
        except ConformanceError as error:
            return {"error": error.problem, "mend": error.mend}
        self._target = subject.target
        started: dict[str, Any] = {
            "version": PROTOCOL,
            "name": subject.id[:200],
            "runtime_version": subject.version[:200] or "unknown",
            "language": "Python",
            "kind": self._kind,
        }
        if subject.provider is not None:
            started["provider"] = subject.provider
        if self._kind == "optimizer":
            started["fixed_point"] = takes_fixed_point(subject.target)
            started |= {"passes": list(subject.passes)} if subject.passes != _UNSAID else {}
        else:
            started |= {"models": 2, "files": True, "then": True}
        return started

    def _load(self, command: dict[str, Any]) -> dict[str, Any]:
        slot = command.get("slot", 0)
        if slot == 0:
            self._prepared.clear()
            self._kept.clear()
        began = time.perf_counter()
        self._prepared[slot] = self._target.prepare(_model(command["model"]), "CPU")
        return {"loaded": True, "seconds": time.perf_counter() - began, **self._placed(slot)}

    def _placed(self, slot: int) -> dict[str, Any]:
        """What a prepared model says by now of where its nodes run."""
        placement = getattr(self._prepared[slot], "placement", None)
        return {"placement": placement} if isinstance(placement, dict) else {}

    def _run(self, command: dict[str, Any]) -> dict[str, Any]:
        from conformance.isolation.protocol import decoded
        from conformance.isolation.tensor_files import is_as_given, mapped

        messages = command["inputs"]
        inputs = [mapped(message) if "file" in message else decoded(message) for message in messages]
        before = [
            b"" if "file" in message else array.tobytes() for message, array in zip(messages, inputs, strict=True)
        ]
        began = time.perf_counter()
        outputs = self._prepared[command.get("slot", 0)].run(list(inputs))
        seconds = time.perf_counter() - began
        if not isinstance(outputs, list | tuple):
            return {"returned": _type_of(outputs)}
        folder = command.get("files", "")
        answer: dict[str, Any] = {
            "outputs": [
                _output(output, f"{folder}{number}" if folder else "") for number, output in enumerate(outputs)
            ],
            "seconds": seconds,
        }
        kept = [
            is_as_given(message, array) if "file" in message else array.tobytes() == old
            for message, array, old in zip(messages, inputs, before, strict=True)
        ]
        changed = [number for number, is_kept in enumerate(kept) if not is_kept]
        overwritten = self._overwritten()
        self._kept.append([_kept(output) for output in outputs])
        answer |= {"changed": changed} if changed else {}
        answer |= {"overwritten": overwritten} if overwritten else {}
        return answer | self._placed(command.get("slot", 0))

    def _overwritten(self) -> list[tuple[int, int]]:
        """The run and the place of each output that was handed out before and is another now; each is told once."""
        found = []
        for run, outputs in enumerate(self._kept):
            for place, kept in enumerate(outputs):
                if kept is not None and kept[0].tobytes() != kept[1]:
                    found.append((run, place))
                    outputs[place] = None
        return found

    def _optimize(self, command: dict[str, Any]) -> dict[str, Any]:
        import onnx

        from conformance.subjects.loading import takes_fixed_point

        model = _model(command["model"])
        before = model.SerializeToString(deterministic=True)
        options = {"fixed_point": command["fixed_point"]} if takes_fixed_point(self._target) else {}
        rewritten = self._target(model, **options)
        if not isinstance(rewritten, onnx.ModelProto):
            return {"returned": _type_of(rewritten)}
        _write(command["output"], rewritten)
        if model.SerializeToString(deterministic=True) == before:
            return {"optimized": True}
        _write(f"{command['output']}.given", model)
        return {"optimized": True, "changed_input": True}


def _model(path: str) -> Any:
    import onnx

    with open(path, "rb") as stream:  # noqa: PTH123
        return onnx.ModelProto.FromString(stream.read())


def _write(path: str, model: Any) -> None:
    with open(path, "wb") as stream:  # noqa: PTH123 - pathlib is not needed for anything else here
        stream.write(model.SerializeToString())


def _output(output: Any, file: str) -> dict[str, Any]:
    """An output's message; what is no tensor is told by its type's name.

    Args:
        file: where a large one goes; none does if that is empty.
    """
    import numpy as np

    from conformance.isolation.protocol import encoded
    from conformance.isolation.tensor_files import LARGE, put_again

    if not isinstance(output, np.ndarray | np.generic):
        return {"returned": _type_of(output)}
    try:
        array = np.asarray(output)
        return put_again(file, "", array) if file and array.nbytes >= LARGE else encoded("", array)
    except (KeyError, TypeError, ValueError):
        return {"returned": f"ndarray of {output.dtype}"[:200]}


def _kept(output: Any) -> tuple[Any, bytes] | None:
    """An output and what is in it now; None of what is no tensor, and of what is so large that it would fill memory."""
    import numpy as np

    from conformance.isolation.tensor_files import LARGE

    is_kept = isinstance(output, np.ndarray) and output.nbytes < LARGE
    return (output, output.tobytes()) if is_kept else None


def _type_of(thing: object) -> str:
    return type(thing).__name__[:200]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
