"""Base class of adapters, and a harness for one adapter in a Python where this suite is not installed.

Usage: python server.py [--optimizer FILE:FUNCTION] NAME[option=value,…]

NAME is a file in this folder, as in `onnx-conformance run -b 'exec:/opt/old/bin/python …/server.py tract'`. With
`--optimizer`, NAME is a graph optimizer, and its function is in a file of the folder `optimizers`. The program
implements the harness protocol (docs/reference/protocol.md). It needs NumPy, the runtime, and onnx if the adapter
imports it. Standard output carries only the protocol. The runtime's own output goes to standard error.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import platform
import re
import sys
from abc import ABC, abstractmethod
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
    *flags, name = arguments or [""]
    if not name or (flags and (len(flags) != 2 or flags[0] != "--optimizer")):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    commands, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    server = OptimizerServer(name, flags[1]) if flags else BackendServer(name)
    for line in iter(commands.readline, b""):
        command = json.loads(line)
        if command["cmd"] == "stop":
            break
        answers.write(json.dumps({"seq": command["seq"], **server.answer(command)}).encode() + b"\n")
    sys.stderr.flush()
    os._exit(0)  # the shutdown of a runtime is not tested, and can take long


class AdapterServer(ABC):
    """Answers commands about one subject.

    Args:
        text: name of the subject, with options in brackets.
    """

    kind: ClassVar[str]
    prose: ClassVar[str]

    def __init__(self, text: str) -> None:
        self._text = text
        self._name, _, rest = text.partition("[")
        self._options = dict(part.split("=", 1) for part in rest.removesuffix("]").split(",") if part)
        self._commands: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"start": self._start}

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
        try:
            version, properties = self._import_subject()
        except ValueError as error:
            answer = dict(zip(("error", "hint"), map(str, error.args), strict=False))
            return answer | {"code": "subject.unusable-option"}
        started = {"version": PROTOCOL_VERSION, "name": self._text[:200], "runtime_version": version[:200] or "unknown"}
        started |= {"python": platform.python_version(), "packages": installed_packages()}
        return started | {"language": "Python", "kind": self.kind, **properties}

    @abstractmethod
    def _import_subject(self) -> tuple[str, dict[str, Any]]:
        """Import the subject, check its options, and return its version and its further properties.

        Raises:
            ValueError: the subject has no such option or device; the arguments are problem and hint.
        """

    def _check_option_names(self, parameters: Iterable[inspect.Parameter], always: Iterable[str] = ()) -> None:
        """Check the options like `conformance.subjects.loading.check_options`, which is not available here.

        Args:
            parameters: the parameters of the adapter's function that are options.
            always: options that the server handles.

        Raises:
            ValueError: the subject has no such option; the arguments are problem and hint.
        """
        each = list(parameters)
        collects = any(one.kind is one.VAR_KEYWORD and not one.name.startswith("_") for one in each)
        names = {one.name for one in each if one.kind is not one.VAR_KEYWORD} | {*always}
        if (unknown := sorted(set(self._options) - names)) and not collects:
            raise ValueError(
                f"{self.prose} {self._name} has no option {unknown[0]}.",
                f"Its options: {', '.join(sorted(names))}." if names else "It has no options.",
            )


class BackendServer(AdapterServer):
    """Runs the adapter of one backend, with the one or two models that it has prepared."""

    kind = "backend"
    prose = "Backend"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._adapter: Any = None
        self._device = "CPU"
        self._prepared: dict[int, Any] = {}
        self._returned: list[list[tuple[Array, bytes]]] = []
        self._commands |= {"load": self._load, "run": self._run}

    def _import_subject(self) -> tuple[str, dict[str, Any]]:
        self._adapter = load_adapter(self._name.replace("-", "_"))
        self._check_option_names([*inspect.signature(self._adapter.prepare).parameters.values()][2:], {"device"})
        given = dict(self._options)
        self._device = self._options.pop("device", "CPU")
        if not self._adapter.supports_device(self._device):
            raise ValueError(
                f"Backend {self._name} does not support the device {self._device}.", "Name another device."
            )
        getattr(self._adapter, "check_options", lambda **_: None)(**self._options)
        provider = self._adapter.required_provider(**given)
        return str(self._adapter.__version__), {"models": 2, **({"provider": provider} if provider else {})}

    def _load(self, command: dict[str, Any]) -> dict[str, Any]:
        slot = command.get("slot", 0)
        if slot == 0:
            self._prepared.clear()
            self._returned.clear()
        model, before = Path(command["model"]).read_bytes(), os.getcwd()  # noqa: PTH109
        os.chdir(command.get("data", before))  # runtimes look there for the external data of a model in memory
        try:
            self._prepared[slot] = self._adapter.prepare(model, self._device, **self._options)
        finally:
            os.chdir(before)
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


class OptimizerServer(AdapterServer):
    """Runs the function of one graph optimizer.

    Args:
        text: name of the graph optimizer, with options in brackets.
        function: its function, as `FILE:FUNCTION`.
    """

    kind = "optimizer"
    prose = "Graph optimizer"

    def __init__(self, text: str, function: str) -> None:
        super().__init__(text)
        self._function = function
        self._target: Any = None
        self._has_modes = False
        self._commands["optimize"] = self._optimize

    def _import_subject(self) -> tuple[str, dict[str, Any]]:
        file, _, name = self._function.partition(":")
        self._target = vars(_import_adapter(f"optimizers.{file}"))[name]
        _, *parameters = inspect.signature(self._target).parameters.values()
        self._has_modes = any(each.name == "fixed_point" for each in parameters)
        self._check_option_names(each for each in parameters if each.name != "fixed_point")
        return str(self._target.__version__), {"fixed_point": self._has_modes, "passes": [*self._target.passes]}

    def _optimize(self, command: dict[str, Any]) -> dict[str, Any]:
        model_type = importlib.import_module("onnx").ModelProto
        model = model_type.FromString(Path(command["model"]).read_bytes())
        before = model.SerializeToString(deterministic=True)
        modes = {"fixed_point": command["fixed_point"]} if self._has_modes else {}
        rewritten = self._target(model, **modes, **self._options)
        if not isinstance(rewritten, model_type):
            return {"invalid_return": type(rewritten).__name__[:200]}
        Path(command["output"]).write_bytes(rewritten.SerializeToString())
        if model.SerializeToString(deterministic=True) == before:
            return {"optimized": True}
        Path(f"{command['output']}.given").write_bytes(model.SerializeToString())
        return {"optimized": True, "changed_input": True}


def load_adapter(name: str) -> type[Adapter]:
    """Return the adapter class in the file `NAME.py` of this folder.

    Raises:
        ModuleNotFoundError: the file does not exist, or its runtime is not installed.
    """
    found = vars(_import_adapter(name)).values()
    adapters = (each for each in found if isinstance(each, type) and issubclass(each, Adapter) and each is not Adapter)
    return next(adapters)


def _import_adapter(name: str) -> ModuleType:
    """Import a module of this folder as part of a package, so that the adapter `tract.py` does not hide the runtime."""
    folder = str(Path(__file__).resolve().parent)
    sys.path[:] = [path for path in sys.path if str(Path(path).resolve()) != folder]
    package = ModuleType("adapters")
    package.__path__ = [folder]
    sys.modules |= {"adapters": package, "adapters.server": sys.modules[__name__]}
    return importlib.import_module(f"adapters.{name}")


def installed_packages() -> list[str]:
    """Return the packages on the import path, as `name==version`; the same as `conformance.subjects.identity`.

    The names are those of their metadata folders, because reading the metadata of all packages takes longer.
    """
    found: dict[str, str] = {}
    for folder in map(Path, sys.path):
        for path in folder.glob("*.*-info") if folder.is_dir() else ():
            name, _, version = path.name.rpartition(".")[0].partition("-")
            if version:
                found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version.partition("-py")[0])
    return sorted(f"{name}=={version}" for name, version in found.items())


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
    """Return NumPy's type of this name; bfloat16 comes from ml_dtypes, a dependency of onnx.

    Raises:
        Unsupported: ml_dtypes is not installed.
    """
    if name == "bfloat16":
        try:
            importlib.import_module("ml_dtypes")  # registers the name with NumPy
        except ModuleNotFoundError:
            raise Unsupported("bfloat16 needs the package ml_dtypes, which is not installed in this Python") from None
    return np.dtype(name)


def _format_exception(error: BaseException) -> str:
    """Return class and message of an exception as text of limited length that can be encoded as UTF-8."""
    text = f"{type(error).__name__}: {error}"
    return text[:MESSAGE_LIMIT].encode(errors="backslashreplace").decode()[:MESSAGE_LIMIT]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
