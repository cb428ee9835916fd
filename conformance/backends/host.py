"""What an adapter needs besides its runtime, and a program that hosts one where nothing else of ours is installed.

Usage: python host.py NAME[option=value,…]

NAME is an adapter's file in this folder, as in `onnx-conformance run -b 'exec:/opt/old/bin/python …/host.py tract'`.
The program speaks the harness protocol (docs/harness.md) and needs NumPy, the runtime, and onnx where the adapter does.
What the runtime prints, from C too, goes to standard error; standard output is the protocol's alone.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from binascii import a2b_base64, b2a_base64
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

try:
    from conformance.verdicts import Unsupported
except ModuleNotFoundError:  # this file and an adapter's are all that there is

    class Unsupported(Exception):  # type: ignore[no-redef]
        """The runtime says that it has no such operator, type or opset."""


__all__ = ["Adapter", "Array", "Prepared", "Unsupported", "saying_unsupported"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

PROTOCOL = 1
LONGEST = 2000
"""Characters of a message."""

SAYS_UNSUPPORTED = {"BackendIsNotSupposedToImplementIt", "NotImplemented", "NotImplementedError", "Unsupported"}
"""The classes, by name, of what a runtime raises to say that it cannot; a test holds them against the suite's."""

TYPES = {"float": "float32", "double": "float64", "bfloat16": "bfloat16", "bool": "bool", "float16": "float16"} | {
    f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
"""NumPy's names of the element types that the protocol carries, by ONNX's."""


class Prepared(Protocol):
    """A model that a runtime is ready to run."""

    def run(self, feeds: Mapping[str, Array]) -> Sequence[Any]:
        """The outputs in the graph's order, for the inputs by name in the graph's order.

        Raises:
            Unsupported: the runtime says so only now.
        """


class Adapter:
    """A released runtime as a backend: one class in a file of its own.

    The inputs that it is fed are those that the model declares and no initializer gives a value to; their types and
    shapes have been checked. Outputs go back as they come: a wrong type is a finding.

    An adapter with options may have `check_options(**options)` besides, which is asked before anything is run and
    raises ValueError(what is not there, what to do). One whose runtime has several providers or devices says in
    `asked_provider(**options)` on which all nodes of a model are to run, and in the attribute `placement` of what it
    prepares where they did: the number of nodes by provider and operator, None as long as it cannot tell.

    Attributes:
        is_adapter: tells it from a class of ONNX's own interface, which is given a ModelProto, and inputs by position.
    """

    __version__ = "unknown"
    is_adapter: ClassVar[bool] = True

    if TYPE_CHECKING:  # an adapter that lacks it is refused, and no verdict of a runtime is made of that

        @classmethod
        def prepare(cls, model: bytes, device: str = "CPU", **options: Any) -> Prepared:
            """Have the runtime read a model.

            Args:
                model: a serialised ModelProto.
                options: what stands in brackets after the subject's name.

            Raises:
                Unsupported: the runtime says that it has no such operator, type or opset.
            """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        return device == "CPU"

    @classmethod
    def asked_provider(cls, **_: str) -> str | None:
        """What every node is to run on; None where there is no choice."""
        return None


@contextmanager
def saying_unsupported(texts: Iterable[str], *kinds: type[Exception]) -> Iterator[None]:
    """Take errors of these kinds that say one of these texts for what a runtime does not have.

    Raises:
        Unsupported: it says so.
    """
    try:
        yield
    except kinds as error:
        if any(text in str(error) for text in texts):
            raise Unsupported(str(error)) from None
        raise


def main(arguments: Sequence[str]) -> int:
    """Answer commands until `stop` or the end of the input."""
    if len(arguments) != 1:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    commands, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    host = AdapterHost(arguments[0])
    for line in iter(commands.readline, b""):
        command = json.loads(line)
        if command["cmd"] == "stop":
            break
        answers.write(json.dumps({"seq": command["seq"], **host.answer(command)}).encode() + b"\n")
    sys.stderr.flush()
    os._exit(0)  # how a runtime ends is not tested, and need not be waited for


class AdapterHost:
    """Keeps one adapter, and the one or two models that it has prepared.

    Args:
        text: the adapter's name, with options in brackets.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        name, _, rest = text.partition("[")
        self._name = name.replace("-", "_")
        self._given = dict(part.split("=", 1) for part in rest.removesuffix("]").split(",") if part)
        self._options = dict(self._given)
        self._device = self._options.pop("device", "CPU")
        self._adapter: Any = None
        self._prepared: dict[int, Any] = {}
        self._kept: list[list[tuple[Array, bytes]]] = []
        self._verbs: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "start": self._start,
            "load": self._load,
            "run": self._run,
        }

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """The answer to a command, but for its number."""
        verb = self._verbs.get(command["cmd"])
        if verb is None:
            return {"error": f"unknown command {command['cmd']}"}
        try:
            return verb(command)
        except BaseException as error:  # noqa: BLE001 - SystemExit, and the panics of runtimes written in Rust, too
            if any(cls.__name__ in SAYS_UNSUPPORTED for cls in type(error).__mro__):
                return {"unsupported": _told(error)}
            return {"error": _told(error)} | ({} if isinstance(error, Exception) else {"fatal": True})

    def _start(self, _: dict[str, Any]) -> dict[str, Any]:
        self._adapter = load_adapter(self._name)
        try:
            self._check_options(self._adapter)
        except ValueError as error:
            return dict(zip(("error", "mend"), map(str, error.args), strict=False))
        version = str(self._adapter.__version__)[:200] or "unknown"
        started = {"version": PROTOCOL, "name": self._text[:200], "runtime_version": version}
        started |= {"language": "Python", "kind": "backend", "models": 2}
        provider = self._adapter.asked_provider(**self._given)
        return started | ({"provider": provider} if provider else {})

    def _check_options(self, adapter: Any) -> None:
        """Refuse what the adapter has not; the suite does the same where it hosts an adapter itself.

        Raises:
            ValueError: what it has not, and what to do.
        """
        parameters = list(inspect.signature(adapter.prepare).parameters.values())[2:]
        collects = any(each.kind is each.VAR_KEYWORD and not each.name.startswith("_") for each in parameters)
        taken = {each.name for each in parameters if each.kind is not each.VAR_KEYWORD}
        if (unknown := sorted(set(self._options) - taken)) and not collects:
            raise ValueError(
                f"Backend {self._name} has no option {unknown[0]}.",
                f"It takes {', '.join(sorted(taken | {'device'}))}.",
            )
        if not adapter.supports_device(self._device):
            raise ValueError(
                f"Backend {self._name} says that it does not support the device {self._device}.", "Name another device."
            )
        getattr(adapter, "check_options", lambda **_: None)(**self._options)

    def _load(self, command: dict[str, Any]) -> dict[str, Any]:
        slot = command.get("slot", 0)
        if slot == 0:
            self._prepared.clear()
            self._kept.clear()
        model = Path(command["model"]).read_bytes()
        self._prepared[slot] = self._adapter.prepare(model, self._device, **self._options)
        return {"loaded": True, **self._placed(slot)}

    def _placed(self, slot: int) -> dict[str, Any]:
        placement = getattr(self._prepared[slot], "placement", None)
        return {"placement": placement} if placement is not None else {}

    def _run(self, command: dict[str, Any]) -> dict[str, Any]:
        feeds = {message["name"]: _decoded(message) for message in command["inputs"]}
        before = [array.tobytes() for array in feeds.values()]
        slot = command.get("slot", 0)
        outputs = [np.asarray(output) for output in self._prepared[slot].run(feeds)]
        answer = {"outputs": [_encoded(output) for output in outputs], **self._placed(slot)}
        changed = [i for i, array in enumerate(feeds.values()) if array.tobytes() != before[i]]
        overwritten = self._overwritten()
        self._kept.append([(output, output.tobytes()) for output in outputs])
        told = {"changed": changed, "overwritten": overwritten}
        return answer | {name: places for name, places in told.items() if places}

    def _overwritten(self) -> list[tuple[int, int]]:
        """The run and the place of each output that was handed out before and is another now; each is told once."""
        found = []
        for run, outputs in enumerate(self._kept):
            for place, (output, before) in enumerate(outputs):
                if output.tobytes() != before:
                    found.append((run, place))
                    outputs[place] = output, output.tobytes()
        return found


def load_adapter(name: str) -> type[Adapter]:
    """The adapter in the file of this name beside this one.

    The folder becomes a package of its own, so that its `tract.py` is not taken for the runtime called tract.

    Raises:
        ModuleNotFoundError: there is no such file, or its runtime is not installed.
    """
    folder = str(Path(__file__).resolve().parent)
    sys.path[:] = [path for path in sys.path if str(Path(path).resolve()) != folder]
    package = ModuleType("adapters")
    package.__path__ = [folder]
    sys.modules |= {"adapters": package, "adapters.host": sys.modules[__name__]}
    found = vars(importlib.import_module(f"adapters.{name}")).values()
    adapters = (one for one in found if isinstance(one, type) and issubclass(one, Adapter) and one is not Adapter)
    return next(adapters)


def _decoded(message: Mapping[str, Any]) -> Array:
    """The tensor of a message: a writable array of its own."""
    data = a2b_base64(message["data"])
    return np.frombuffer(data, _dtype(TYPES[message["dtype"]])).reshape(message["shape"]).copy()


def _encoded(array: Array) -> dict[str, Any]:
    """The message of an output."""
    types = {numpy: onnx for onnx, numpy in TYPES.items()}
    if array.dtype.name not in types:
        return {"returned": f"ndarray of {array.dtype}"[:200]}
    data = b2a_base64(array.tobytes(), newline=False).decode("ascii")
    return {"name": "", "dtype": types[array.dtype.name], "shape": array.shape, "data": data}


def _dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of this name; bfloat16 is that of ml_dtypes, which onnx brings along."""
    if name == "bfloat16":
        importlib.import_module("ml_dtypes")  # makes the name known to NumPy
    return np.dtype(name)


def _told(error: BaseException) -> str:
    """What a runtime raised, as text that can be written anywhere."""
    text = f"{type(error).__name__}: {error}"
    return text[:LONGEST].encode(errors="backslashreplace").decode()[:LONGEST]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
