"""Base class of adapters, and a harness for one adapter in a Python where this suite is not installed.

Usage: python server.py NAME[option=value,…]

NAME is a file in this folder, as in `onnx-conformance run -b 'exec:/opt/old/bin/python …/server.py tract'`. The
program implements the harness protocol (docs/reference/protocol.md). It needs NumPy, the runtime, and onnx if the
adapter imports it. Standard output carries only the protocol. The runtime's own output goes to standard error.
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
except ModuleNotFoundError:  # the rest of this suite is not installed

    class Unsupported(Exception):  # type: ignore[no-redef]
        """The runtime does not support an operator, type or opset of the model."""


__all__ = ["Adapter", "Array", "Prepared", "Unsupported", "raise_unsupported"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

PROTOCOL_VERSION = 1
MESSAGE_LIMIT = 2000
"""Largest number of characters of a runtime's message."""

UNSUPPORTED_CLASSES = {"BackendIsNotSupposedToImplementIt", "NotImplemented", "NotImplementedError", "Unsupported"}
"""Names of exceptions that mean "unsupported"; a test compares them with `subjects.failures`."""

NUMPY_TYPES = {
    "float": "float32",
    "double": "float64",
    "bfloat16": "bfloat16",
    "bool": "bool",
    "float16": "float16",
} | {f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
"""NumPy's names of the element types, by the names in the protocol."""


class Prepared(Protocol):
    """A model that is ready to run."""

    def run(self, feeds: Mapping[str, Array]) -> Sequence[Any]:
        """Run the model, and return the outputs in the graph's order.

        Args:
            feeds: inputs by name, in the graph's order.

        Raises:
            Unsupported: the runtime reports only now that it does not support the model.
        """


class Adapter:
    """Base class of adapters: classes with which the suite runs a released runtime; each adapter has its own file.

    `run` receives the inputs of the model that do not have an initializer; their types and shapes were checked. It must
    return the outputs of the runtime unchanged, so that wrong types are detected.

    An adapter with options can have a class method `check_options(**options)`. It is called before any model is loaded
    and raises ValueError(problem, hint). If its runtime has several providers or devices, the class method
    `required_provider(**options)` returns the provider or device on which every node must run. Its prepared models have
    an attribute `placement`: the number of nodes by provider and operator, or None while it is unknown.

    Attributes:
        is_adapter: distinguishes an adapter from a class with ONNX's interface.
    """

    __version__ = "unknown"
    is_adapter: ClassVar[bool] = True

    if TYPE_CHECKING:  # an adapter without it is refused; a default here would turn that into a verdict

        @classmethod
        def prepare(cls, model: bytes, device: str = "CPU", **options: Any) -> Prepared:
            """Load a model into the runtime.

            Args:
                model: a serialised ModelProto.
                device: the requested device.
                options: options in brackets after the subject's name.

            Raises:
                Unsupported: the runtime does not support an operator, type or opset.
            """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether the adapter supports the device; by default only the CPU."""
        return device == "CPU"

    @classmethod
    def required_provider(cls, **_: str) -> str | None:
        """Return the provider or device on which every node must run; None for no requirement."""
        return None


@contextmanager
def raise_unsupported(texts: Iterable[str], *kinds: type[Exception]) -> Iterator[None]:
    """Convert errors of the block to `Unsupported`.

    An error is converted if its class is in `kinds` and its message contains one of `texts`.

    Raises:
        Unsupported: the block raised an error that is converted.
    """
    try:
        yield
    except kinds as error:
        if any(text in str(error) for text in texts):
            raise Unsupported(str(error)) from None
        raise


def main(arguments: Sequence[str]) -> int:
    """Execute commands until `stop` or the end of the input."""
    if len(arguments) != 1:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    commands, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    server = AdapterServer(arguments[0])
    for line in iter(commands.readline, b""):
        command = json.loads(line)
        if command["cmd"] == "stop":
            break
        answers.write(json.dumps({"seq": command["seq"], **server.answer(command)}).encode() + b"\n")
    sys.stderr.flush()
    os._exit(0)  # the shutdown of a runtime is not tested, and can take long


class AdapterServer:
    """Runs one adapter, with the one or two models that it has prepared.

    Args:
        text: name of the adapter, with options in brackets.
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
        self._returned: list[list[tuple[Array, bytes]]] = []
        self._commands: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "start": self._start,
            "load": self._load,
            "run": self._run,
        }

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Execute a command, and return its answer without the number."""
        execute = self._commands.get(command["cmd"])
        if execute is None:
            return {"error": f"unknown command {command['cmd']}"}
        try:
            return execute(command)
        except BaseException as error:  # noqa: BLE001 - SystemExit, and the panics of runtimes written in Rust, too
            if any(cls.__name__ in UNSUPPORTED_CLASSES for cls in type(error).__mro__):
                return {"unsupported": _format_exception(error)}
            return {"error": _format_exception(error)} | ({} if isinstance(error, Exception) else {"fatal": True})

    def _start(self, _: dict[str, Any]) -> dict[str, Any]:
        self._adapter = load_adapter(self._name)
        try:
            self._check_options(self._adapter)
        except ValueError as error:
            answer = dict(zip(("error", "hint"), map(str, error.args), strict=False))
            return answer | {"code": "subject.unusable-option"}
        version = str(self._adapter.__version__)[:200] or "unknown"
        started = {"version": PROTOCOL_VERSION, "name": self._text[:200], "runtime_version": version}
        started |= {"language": "Python", "kind": "backend", "models": 2}
        provider = self._adapter.required_provider(**self._given)
        return started | ({"provider": provider} if provider else {})

    def _check_options(self, adapter: Any) -> None:
        """Check the options like `conformance.subjects.loading.check_options`, which is not available here.

        Raises:
            ValueError: the adapter has no such option or device; the arguments are problem and hint.
        """
        parameters = list(inspect.signature(adapter.prepare).parameters.values())[2:]
        collects = any(each.kind is each.VAR_KEYWORD and not each.name.startswith("_") for each in parameters)
        names = {each.name for each in parameters if each.kind is not each.VAR_KEYWORD}
        if (unknown := sorted(set(self._options) - names)) and not collects:
            raise ValueError(
                f"Backend {self._name} has no option {unknown[0]}.",
                f"Its options: {', '.join(sorted(names | {'device'}))}.",
            )
        if not adapter.supports_device(self._device):
            raise ValueError(
                f"Backend {self._name} does not support the device {self._device}.", "Name another device."
            )
        getattr(adapter, "check_options", lambda **_: None)(**self._options)

    def _load(self, command: dict[str, Any]) -> dict[str, Any]:
        slot = command.get("slot", 0)
        if slot == 0:
            self._prepared.clear()
            self._returned.clear()
        model = Path(command["model"]).read_bytes()
        self._prepared[slot] = self._adapter.prepare(model, self._device, **self._options)
        return {"loaded": True, **self._placement(slot)}

    def _placement(self, slot: int) -> dict[str, Any]:
        """Return the field `placement` of an answer; no field if the prepared model does not report it (yet)."""
        placement = getattr(self._prepared[slot], "placement", None)
        return {"placement": placement} if placement is not None else {}

    def _run(self, command: dict[str, Any]) -> dict[str, Any]:
        feeds = {message["name"]: _decode_tensor(message) for message in command["inputs"]}
        before = [array.tobytes() for array in feeds.values()]
        slot = command.get("slot", 0)
        outputs = [np.asarray(output) for output in self._prepared[slot].run(feeds)]
        answer = {"outputs": [_encode_tensor(output) for output in outputs], **self._placement(slot)}
        changed = [i for i, array in enumerate(feeds.values()) if array.tobytes() != before[i]]
        overwritten = self._overwritten()
        self._returned.append([(output, output.tobytes()) for output in outputs])
        effects = {"changed": changed, "overwritten": overwritten}
        return answer | {name: found for name, found in effects.items() if found}

    def _overwritten(self) -> list[tuple[int, int]]:
        """Return the outputs of earlier runs that have changed, as pairs of run and index of the output.

        Each change is reported once.
        """
        found = []
        for run, outputs in enumerate(self._returned):
            for number, (output, before) in enumerate(outputs):
                if output.tobytes() != before:
                    found.append((run, number))
                    outputs[number] = output, output.tobytes()
        return found


def load_adapter(name: str) -> type[Adapter]:
    """Return the adapter class in the file `NAME.py` of this folder.

    The file is imported as part of a package, so that the adapter `tract.py` does not hide the runtime tract.

    Raises:
        ModuleNotFoundError: the file does not exist, or its runtime is not installed.
    """
    folder = str(Path(__file__).resolve().parent)
    sys.path[:] = [path for path in sys.path if str(Path(path).resolve()) != folder]
    package = ModuleType("adapters")
    package.__path__ = [folder]
    sys.modules |= {"adapters": package, "adapters.server": sys.modules[__name__]}
    found = vars(importlib.import_module(f"adapters.{name}")).values()
    adapters = (each for each in found if isinstance(each, type) and issubclass(each, Adapter) and each is not Adapter)
    return next(adapters)


def _decode_tensor(message: Mapping[str, Any]) -> Array:
    """Return the tensor of a message, as a new writable array."""
    data = a2b_base64(message["data"])
    return np.frombuffer(data, _numpy_dtype(NUMPY_TYPES[message["dtype"]])).reshape(message["shape"]).copy()


def _encode_tensor(array: Array) -> dict[str, Any]:
    """Return the message of an output."""
    types = {numpy: onnx for onnx, numpy in NUMPY_TYPES.items()}
    if array.dtype.name not in types:
        return {"invalid_return": f"ndarray of {array.dtype}"[:200]}
    data = b2a_base64(array.tobytes(), newline=False).decode("ascii")
    return {"name": "", "dtype": types[array.dtype.name], "shape": array.shape, "data": data}


def _numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's type of this name; bfloat16 comes from ml_dtypes, a dependency of onnx."""
    if name == "bfloat16":
        importlib.import_module("ml_dtypes")  # registers the name with NumPy
    return np.dtype(name)


def _format_exception(error: BaseException) -> str:
    """Return class and message of an exception as text of limited length that can be encoded as UTF-8."""
    text = f"{type(error).__name__}: {error}"
    return text[:MESSAGE_LIMIT].encode(errors="backslashreplace").decode()[:MESSAGE_LIMIT]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
