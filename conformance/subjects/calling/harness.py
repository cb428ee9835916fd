"""Harness for subjects written in Python: it loads a backend or a graph optimizer, and speaks the harness protocol.

Usage: python harness.py REQUEST
       python harness.py [--optimizer] MODULE[:ATTRIBUTE][option=value,…]

REQUEST is a JSON object with the keys of `Request`; the suite writes it. By hand, the subject is a module, which is
searched in the current directory too, or the file of an adapter: `harness.py …/adapters/tract.py:TractBackend`.

The file stands by itself: it needs NumPy and the subject, and onnx only if the subject takes or returns a ModelProto.
It imports nothing of this suite, so it runs in every environment, and a subject can have a package of its own with the
name of the suite. Standard output carries only the protocol. The subject's own output, from C too, goes to standard
error.
"""

from __future__ import annotations

import importlib
import inspect
import json
import mmap
import os
import platform
import re
import sys
import time
from binascii import a2b_base64, b2a_base64
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec

    Array = Any


class Request(TypedDict, total=False):
    """Description of a subject.

    Attributes:
        kind: `backend` or `optimizer`.
        text: name with options, as in messages.
        name: name without options, as in messages.
        module: module of the subject; in the folder `adapters` if that is given.
        attribute: attribute of the module, with dots between nested names; empty for the module itself.
        adapters: folder of the adapter files of the suite, if the subject is one of them.
        options: options of the subject.
        directory: folder that is searched for the module first, and for other modules last; empty if the module is of
            the suite.
        path: import path; missing for that of the interpreter.
        is_path_appended: whether `path` follows the import path of the interpreter instead of replacing it.
        group: entry-point group that is searched for the name, because the interpreter is not that of the suite.
        suite: folder of the suite's package. A package of the subject with the same name hides it. Missing if the
            subject is part of the suite.
    """

    kind: str
    text: str
    name: str
    module: str
    attribute: str
    adapters: str
    options: dict[str, str]
    directory: str
    path: list[str]
    is_path_appended: bool
    group: str
    suite: str


def read_request(arguments: Sequence[str]) -> Request:
    """Return the request in the arguments of the program, after the import path was set as it says."""
    own = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != own]  # noqa: PTH100
    if not arguments or not arguments[-1].startswith("{"):
        return _request_by_hand(arguments)
    request: Request = json.loads(arguments[-1])
    if "path" in request:
        kept = sys.path if request.get("is_path_appended") else []
        sys.path[:] = [*kept, *request["path"]]
    return request


def _request_by_hand(arguments: Sequence[str]) -> Request:
    """Return the request for the arguments of a user.

    Raises:
        SystemExit: the arguments are wrong.
    """
    *flags, text = arguments or ["-"]
    match = re.fullmatch(r"([^\[\]]*?)(?:\[([^\[\]]*)\])?", text)
    if flags not in ([], ["--optimizer"]) or text.startswith("-") or match is None:
        sys.exit(__doc__)
    module, _, attribute = match[1].partition(":")
    options = dict(part.split("=", 1) for part in (match[2] or "").split(",") if "=" in part)
    request: Request = {
        "kind": "optimizer" if flags else "backend",
        "text": text,
        "name": match[1],
        "module": module,
        "attribute": attribute,
        "options": options,
        "directory": os.getcwd(),  # noqa: PTH109
    }
    if module.endswith(".py"):
        request["adapters"], file = os.path.split(os.path.abspath(module))  # noqa: PTH100
        request["module"] = file.removesuffix(".py")
    return request


_REQUEST: Request = read_request(sys.argv[1:]) if __name__ == "__main__" else {}

import numpy as np  # noqa: E402 - the request can have the path of NumPy

PROTOCOL_VERSION = 1

MESSAGE_LIMIT = 2000
"""Characters of a subject's message that results keep."""

FILE_THRESHOLD_BYTES = 2**20
"""Size from which a tensor goes to a file instead of into the message."""

PACKED_BYTES = 2**15
"""Size of all smaller tensors of a message from which they go to one file together."""

PACKED_ALIGNMENT = 16
"""The offset of each tensor in a file of several tensors is a multiple of this number of bytes."""

READ_SUFFIX = ".read"
"""Suffix that the suite appends to the name of an output file after reading it."""

DEFAULT_DEVICE = "CPU"
"""Device of a backend for which the user names none."""

UNSUPPORTED_CLASSES = {"BackendIsNotSupposedToImplementIt", "NotImplemented", "NotImplementedError", "Unsupported"}
"""Names of exceptions by which a subject reports that it does not support a model."""

_UNSUPPORTED_TEXTS = ("is not a registered function/op", "Failed to construct locale")
"""Texts of a `Fail` of ONNX Runtime for an unsupported operator, and for a locale that this machine does not have."""

NUMPY_TYPES = {
    **{name: name for name in ("bool", "float16", "bfloat16", "complex64", "complex128")},
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)},
    "float": "float32",
    "double": "float64",
    "float4e2m1": "float4_e2m1fn",
    "float8e8m0": "float8_e8m0fnu",
    **{f"float6{short}": f"float6_{short}fn" for short in ("e2m3", "e3m2")},
    **{f"float8{short}": f"float8_{short}" for short in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")},
}
"""NumPy's names of the element types, by the names in the protocol."""

_ONNX_TYPES = {numpy: onnx for onnx, numpy in NUMPY_TYPES.items()}

_ADAPTERS = "onnx_conformance_adapters"
"""Name of the package that has the adapter files of the suite in this process."""

_ENCODER = json.JSONEncoder(separators=(",", ":"))


class Unsupported(Exception):
    """The subject does not support an operator, type or opset."""


class HarnessFault(Exception):
    """The harness itself failed, and not the subject: the fault is never a verdict."""


FAULT_CODE = "fault.harness"
"""Code of an answer for a `HarnessFault`."""


class DamagedProcess(Exception):
    """NumPy or the harness fails on a valid output: the subject has damaged this process, which is not used again."""


@contextmanager
def own_code(fault: type[Exception] = HarnessFault) -> Iterator[None]:
    """Raise `fault` for an exception of the block, which runs no code of the subject.

    A lack of memory or of files is none: the subject in this process may have used them up.
    """
    try:
        yield
    except (Unsupported, MemoryError, OSError):
        raise
    except Exception as error:
        raise fault(f"{type(error).__name__}: {message_of(error)}") from error


class Refused(Exception):
    """The subject cannot be started.

    Attributes:
        code: code of the error.
        problem: the problem, as a sentence.
        hint: the next step of the user.
    """

    def __init__(self, code: str, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.code, self.problem, self.hint = code, problem, hint


def load_target(request: Request) -> tuple[Any, str]:
    """Import a subject, check it and its options; return the object that the request names, and its version.

    Raises:
        Refused: the module or attribute does not exist, is not of the kind, or has no such option.
    """
    module, is_backend = _import_module(request), request["kind"] == "backend"
    found: Any = module
    prose = _prose(request)
    for part in request["attribute"].split(".") if request["attribute"] else ():
        if not hasattr(found, part):
            what = "an object with `prepare`" if is_backend else "a function"
            raise Refused(
                "subject.attribute-missing",
                f"{prose}: module {request['module']} has no attribute {request['attribute']}.",
                (_suggested_backend(request["module"], module) if is_backend else "") + f"Name {what} in the module.",
            )
        found = getattr(found, part)
    if is_backend and not callable(getattr(found, "prepare", None)):
        raise Refused(
            "subject.not-a-backend",
            f"{prose} has no function `prepare`.",
            ("" if request["attribute"] else _suggested_backend(request["name"], module))
            + "Name a module or class with ONNX's interface: prepare(model, device), then run(inputs).",
        )
    if not is_backend and not callable(found):
        raise Refused(
            "subject.not-callable",
            f"{prose} cannot be called.",
            "Name a function that takes a model and returns another: package.module:function.",
        )
    check_options(request, found)
    package = sys.modules.get(request["module"].partition(".")[0])
    version = getattr(found, "__version__", None) or getattr(package, "__version__", None)
    return found, str(version) if version else "unknown"


def _suggested_backend(name: str, module: ModuleType) -> str:
    """Return a sentence that names the backend that a module defines, if there is one; `name` names the module."""
    defined = [
        each
        for each, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and callable(getattr(value, "prepare", None))
    ]
    return f"Did you mean {name}:{defined[0]}? " if defined else ""


def _prose(request: Request) -> str:
    return f"{'Backend' if request['kind'] == 'backend' else 'Graph optimizer'} {request['name']}"


def _import_module(request: Request) -> ModuleType:
    """Import the module of a subject; it is searched in the directory first, unless it is loaded already.

    All other modules are searched in the directory last, so that its files (a `numpy.py`) cannot hide installed
    modules. A registered subject imports nothing from the directory.
    """
    if "adapters" in request:
        return _import_adapter(request)
    _resolve_entry_point(request)
    name, directory = request["module"], request["directory"]
    if not all(name.split(".")):
        raise _unknown(request)
    if directory and directory not in sys.path:
        sys.path.append(directory)
    try:
        if directory:
            _import_from_directory(directory, name.partition(".")[0], request.get("suite", ""))
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise _unknown(request) from None
        raise _import_failed(request, error) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001
        raise _import_failed(request, error) from None


def _import_adapter(request: Request) -> ModuleType:
    """Import a file of the folder `adapters` as part of a package, so that `tract.py` does not hide the runtime."""
    package = ModuleType(_ADAPTERS)
    package.__path__ = [request["adapters"]]
    sys.modules[_ADAPTERS] = package
    sys.meta_path.insert(0, _OwnPackageFinder("", request.get("suite", "")))
    try:
        return importlib.import_module(f"{_ADAPTERS}.{request['module']}")
    except (Exception, SystemExit) as error:  # noqa: BLE001
        raise _import_failed(request, error) from None


def _resolve_entry_point(request: Request) -> None:
    """Set module and attribute to those of an entry point of this interpreter, if it has one with the name."""
    if "group" in request:
        from importlib.metadata import entry_points

        for point in entry_points(group=request["group"], name=request["name"]):
            request["module"], _, request["attribute"] = point.value.partition(":")
            request["directory"] = ""


def _import_from_directory(directory: str, name: str, suite: str) -> None:
    """Import a module or package from a folder, if the folder has it and no module of this name is imported yet."""
    spec = PathFinder.find_spec(name, [directory])
    is_here = spec is not None and spec.loader is not None and name not in sys.stdlib_module_names
    if suite:
        sys.meta_path.insert(0, _OwnPackageFinder(directory if is_here else "", suite))
    if spec is None or spec.loader is None or not is_here or name in sys.modules:
        return
    sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[name])
    except BaseException:
        sys.modules.pop(name, None)
        raise


class _OwnPackageFinder:
    """Finds a package of the subject that has the name of the suite's package, before that of the suite.

    Args:
        directory: folder of the subject's module, if it is not installed.
        suite: folder of the suite's package.
    """

    def __init__(self, directory: str, suite: str) -> None:
        self._directory, self._suite = directory, suite

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return the module of the name if it is not of the suite; None makes Python search as usual."""
        if not self._suite or name != os.path.basename(self._suite):  # noqa: PTH119
            return None
        for entry in [self._directory, *sys.path] if self._directory else sys.path:
            spec = PathFinder.find_spec(name, [entry])
            if spec is not None and spec.loader is not None and not self._is_of_suite(spec.origin or ""):
                return spec
        return None

    def _is_of_suite(self, origin: str) -> bool:
        return os.path.realpath(os.path.dirname(origin)) == os.path.realpath(self._suite)  # noqa: PTH120


def _unknown(request: Request) -> Refused:
    prose = "backend" if request["kind"] == "backend" else "graph optimizer"
    folder = f"{request['directory']} and " if request["directory"] else ""
    meant = _name_with_colon(request)
    return Refused(
        "name.unknown-subject",
        f"There is no {prose} {request['name']} in {folder}the installed packages.",
        f"Did you mean {meant}?"
        if meant
        else "Use a registered name, or a Python name: package.module or package.module:Attribute.",
    )


def _name_with_colon(request: Request) -> str:
    """Return the name of an attribute of a module with a colon, if the request has a dot there; otherwise no text."""
    module, _, attribute = request["module"].rpartition(".")
    while module and module not in sys.modules:  # the import of `module.Attribute` imports `module`
        module, _, name = module.rpartition(".")
        attribute = f"{name}.{attribute}"
    found = sys.modules.get(module)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    is_whole = found is not None and not request["attribute"]
    return f"{request['name'][: len(module)]}:{attribute}" if is_whole else ""


def _import_failed(request: Request, error: BaseException) -> Refused:
    return Refused(
        "subject.import-failed",
        f"{_prose(request)} fails to import: {type(error).__name__}: {error}.",
        "Install what it needs, or correct its code;"
        f" `python -c 'import {request['module']}'` prints the whole traceback.",
    )


_SUITE_PARAMETERS = {"fixed_point"}
"""Parameters of a graph optimizer that the suite sets itself; they are not options."""


def check_options(request: Request, target: Any) -> None:
    """Check a subject's options before any case runs.

    Raises:
        Refused: the subject has no such option, or this machine lacks what an option requests.
    """
    options = request["options"]
    known = _option_names(getattr(target, "prepare", target))
    if unknown := sorted(set(options) - known) if known is not None else []:
        hint = f"The options are {', '.join(sorted(known or ()))}." if known else "The subject has no options."
        from difflib import get_close_matches

        close = get_close_matches(unknown[0], sorted(known or ()), n=1)
        raise Refused(
            "usage.unknown-option",
            f"{_prose(request)} has no option {unknown[0]}.",
            f"Did you mean {close[0]}?" if close else hint,
        )
    supports = getattr(target, "supports_device", None)
    has_onnx_interface = request["kind"] == "backend" and not getattr(target, "is_adapter", False)
    device = options.get("device", DEFAULT_DEVICE if has_onnx_interface else None)
    if callable(supports) and device is not None and not supports(device):
        leave = "leave the option out for the CPU" if "device" in options else "correct its supports_device"
        raise Refused(
            "subject.unsupported-device",
            f"{_prose(request)} does not support the device {device}.",
            f"Name another device as {request['name']}[device=NAME], or {leave}.",
        )
    check = getattr(target, "check_options", None)
    try:
        if check is not None:
            check(**{name: value for name, value in options.items() if name != "device"})
    except ValueError as error:
        problem, hint = (*map(str, error.args), "", "")[:2]
        raise Refused(
            "subject.unusable-option", problem, hint or "Leave the option out, or give it another value."
        ) from None


def _option_names(function: Any) -> set[str] | None:
    """Return the names of the options of a function; None if it accepts any option or has no readable signature."""
    try:
        _, *parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_KEYWORD and not each.name.startswith("_") for each in parameters):
        return None
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {each.name for each in parameters if each.kind in kinds} - _SUITE_PARAMETERS


def takes_fixed_point(optimize: Any) -> bool:
    """Return whether a graph optimizer has the parameter `fixed_point`."""
    try:
        return "fixed_point" in inspect.signature(optimize).parameters
    except (TypeError, ValueError):
        return False


def required_provider(target: Any, options: Mapping[str, str]) -> str | None:
    """Return the execution provider or device that must run every node; None for no requirement."""
    required = getattr(target, "required_provider", None)
    provider: str | None = required(**options) if callable(required) else None
    return provider


MAX_LOADED_BYTES = 2**30
"""Size of the external data up to which a backend with ONNX's interface receives a model with all tensors."""


def prepare_model(
    target: Any, options: Mapping[str, str], content: bytes, model: Any = None, data_folder: str = ""
) -> Any:
    """Load a model into a backend with its options.

    Args:
        target: the backend. An adapter of the suite receives bytes, every other backend receives a ModelProto.
        options: options of the subject.
        content: the encoded model.
        model: the model, if it is decoded already.
        data_folder: the folder of the model's external data, which is the working directory then; empty for a model
            without such data. A backend with ONNX's interface, which has no folder, receives a model with all tensors
            if that fits into a file.

    Raises:
        Unsupported: `is_compatible` of the backend refuses the model.
    """
    device = options.get("device", DEFAULT_DEVICE)
    others = {name: value for name, value in options.items() if name != "device"}
    with _working_directory(data_folder):
        if getattr(target, "is_adapter", False):
            return target.prepare(content, device, **others)
        decoded = decode_model(content) if model is None else model
        decoded = _with_external_data(decoded, data_folder) if data_folder else decoded
        if not _is_compatible(target, decoded, device):
            raise Unsupported("is_compatible of the backend refuses the model")
        return target.prepare(decoded, device, **others)


def _with_external_data(model: Any, folder: str) -> Any:
    """Return a model with all tensors, of which some are in files of a folder; the same model if they are too large."""
    from onnx.external_data_helper import load_external_data_for_model

    entries = [entry for tensor in model.graph.initializer for entry in tensor.external_data]
    if sum(int(entry.value) for entry in entries if entry.key == "length") > MAX_LOADED_BYTES:
        return model
    copy = type(model)()
    copy.CopyFrom(model)
    load_external_data_for_model(copy, folder)
    return copy


def _is_compatible(target: Any, model: Any, device: str) -> bool:
    """Return the answer of the backend's `is_compatible`; True if it has none, as in the test runner of onnx.

    The device is passed if the function takes one. The runner of onnx passes only the model.
    """
    is_compatible = getattr(target, "is_compatible", None)
    if not callable(is_compatible):
        return True
    try:
        inspect.signature(is_compatible).bind(model, device)
    except (TypeError, ValueError):
        return bool(is_compatible(model))
    return bool(is_compatible(model, device))


def run_prepared(target: Any, prepared: Any, feeds: Mapping[str, Any]) -> Any:
    """Run a prepared model; outputs that are arrays of another library become NumPy arrays, as ONNX's interface allows.

    A tensor of texts becomes an array of `str`, whether the backend returns it as such, as NumPy's type U or as UTF-8.
    What is returned runs no code of the subject: a value of no ONNX type is replaced by an object of an empty class.

    Args:
        target: the backend. An adapter of the suite receives inputs by name, every other backend receives a list.
        prepared: what the backend returned for the model.
        feeds: the inputs by name, in the order of the graph.

    Raises:
        Unsupported: the adapter does not pass values of a type.
    """
    is_adapter = getattr(target, "is_adapter", False)
    for name, value in feeds.items() if is_adapter else ():
        if (kind := kind_of(value)) not in {"tensor", *target.input_kinds}:
            raise Unsupported(f"the adapter passes no {KINDS[kind]} to the runtime, and input {name} is one")
    outputs = prepared.run(feeds if is_adapter else list(feeds.values()))
    return [_as_value(output) for output in outputs] if has_type(outputs, (list, tuple)) else _stand_in(outputs)


KINDS = {
    "string": "tensor of strings",
    "sequence": "sequence",
    "map": "map",
    "optional": "empty optional",
}
"""The kinds of values besides tensors of numbers, by their name in the protocol."""


def kind_of(value: Any) -> str:
    """Return the kind of a value: a key of `KINDS`, or `tensor`."""
    if value is None:
        return "optional"
    if isinstance(value, dict):
        return "map"
    if isinstance(value, (list, tuple)):
        return "sequence"
    return "string" if value.dtype.kind in "OUS" else "tensor"


def has_type(value: object, kinds: Any) -> bool:
    """Return whether a subject's value has one of the types; its attribute `__class__`, which can lie, is not read."""
    return issubclass(type(value), kinds)


def type_name_of(value: object) -> str:
    """Return the name of the type of a subject's value, without code of the subject's metaclass."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name[:200]


def _stand_in(value: object) -> Any:
    """Return an object of an empty class with the name of the type of a value."""
    return type(type_name_of(value), (), {})()


def _as_value(output: Any) -> Any:
    """Return an output with NumPy's arrays, and with texts as `str`; an object of another kind is replaced."""
    if has_type(output, (list, tuple)):
        return [_as_value(each) for each in output]
    if has_type(output, dict):
        return _as_map(output)
    is_array = has_type(output, (np.ndarray, np.generic))
    if not is_array and not all(hasattr(output, name) for name in ("__array__", "dtype", "shape")):
        return None if output is None else _stand_in(output)
    array = np.asarray(output)
    if array.dtype.kind not in "OUS":
        return array
    texts = _texts_of(array)
    return array if texts is None else text_array(texts, array.shape)


def _as_map(output: Any) -> Any:
    """Return a map of Python's texts and numbers; an object of another kind stands for a map with other elements."""
    elements = [*dict.keys(output), *dict.values(output)]
    if not all(type(each) in (str, int, float, bool) or has_type(each, np.generic) for each in elements):
        return _stand_in(output)
    return output if type(output) is dict else dict(dict.items(output))


def _texts_of(array: Array) -> list[str] | None:
    """Return the elements of an array of texts; None if an element is not a text of Unicode."""
    texts = []
    for element in array.reshape(-1).tolist():
        if not has_type(element, (str, bytes)):
            return None
        try:
            text = bytes.decode(element) if has_type(element, bytes) else str.__str__(element)
            text.encode()
        except UnicodeError:
            return None
        texts.append(text)
    return texts


def text_array(texts: Sequence[str], shape: Sequence[int]) -> Array:
    """Return a tensor of texts."""
    return np.fromiter(texts, dtype=object, count=len(texts)).reshape(tuple(shape))


def decode_model(content: bytes) -> Any:
    """Return the ModelProto of an encoded model."""
    import onnx

    return onnx.ModelProto.FromString(content)


def is_unsupported(error: BaseException) -> bool:
    """Return whether an exception of a subject means that the subject does not support the model.

    Classes are compared by name, so that no runtime or test module has to be imported.
    """
    names = [type.__dict__["__name__"].__get__(cls) for cls in type.__dict__["__mro__"].__get__(type(error))]
    return any(name in UNSUPPORTED_CLASSES for name in names) or (
        names[0] == "Fail" and any(text in message_of(error) for text in _UNSUPPORTED_TEXTS)
    )


def message_of(error: BaseException) -> str:
    """Return the message of a subject's exception."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - also SystemExit: the method is of the subject
        return "(its message cannot be read)"


def error_text(error: BaseException) -> str:
    """Return class and message of a subject's exception; the verdict repeats the class `Unsupported`."""
    name, text = type_name_of(error), message_of(error)
    return shorten(text if name == "Unsupported" and text else f"{name}: {text}")


def shorten(text: str) -> str:
    """Return a message, without the stack trace of Rust, as text of limited length that can be encoded as UTF-8."""
    head, trace, _ = text.partition("Stack backtrace:")
    text = head.rstrip().removesuffix("\\n\\n") if trace else text  # tract escapes newlines
    return text[:MESSAGE_LIMIT].encode(errors="backslashreplace").decode()[:MESSAGE_LIMIT]


def installed_packages() -> list[str]:
    """Return the packages on the import path of this process, as `name==version`, sorted by name.

    The names are those of their metadata folders, because reading the metadata of all packages takes longer.
    """
    found: dict[str, str] = {}
    for folder in map(Path, sys.path):
        for path in folder.glob("*.*-info") if folder.is_dir() else ():
            name, _, version = path.name.rpartition(".")[0].partition("-")
            if version:
                found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version.partition("-py")[0])
    return sorted(f"{name}=={version}" for name, version in found.items())


class Harness:
    """Runs one subject and answers the commands about it.

    Args:
        request: the subject.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
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
        except Refused as error:
            return {"error": shorten(error.problem), "hint": shorten(error.hint), "code": error.code}
        except HarnessFault as error:
            return {"error": shorten(message_of(error)), "code": FAULT_CODE}
        except BaseException as error:  # noqa: BLE001 - SystemExit, and the panics of runtimes written in Rust, too
            text = error_text(error)
            if is_unsupported(error):
                return {"unsupported": text}
            is_ordinary = has_type(error, Exception) and not has_type(error, DamagedProcess)
            return {"error": text} | ({} if is_ordinary else {"fatal": True})

    def _start(self, _: dict[str, Any]) -> dict[str, Any]:
        kind, options = self._request["kind"], self._request["options"]
        self._target, version = load_target(self._request)
        started: dict[str, Any] = {
            "version": PROTOCOL_VERSION,
            "name": self._request["text"][:200],
            "runtime_version": version[:200],
            "language": "Python",
            "kind": kind,
            "python": platform.python_version(),
            "packages": installed_packages(),
        }
        if kind == "backend":
            provider = required_provider(self._target, options)
            started |= {"models": 2, "files": True, "packed": True}
            started["types"] = list(KINDS)
            return started | ({"provider": provider} if provider else {})
        passes = getattr(self._target, "passes", None)
        self._target = partial(self._target, **options) if options else self._target
        started["fixed_point"] = takes_fixed_point(self._target)
        return started | ({"passes": [str(name) for name in passes]} if passes is not None else {})

    def _load(self, command: dict[str, Any]) -> dict[str, Any]:
        slot = command.get("slot", 0)
        if slot == 0:
            self._prepared.clear()
            self._returned.clear()
        content = Path(command["model"]).read_bytes()
        model = None if getattr(self._target, "is_adapter", False) else decode_model(content)
        began = time.perf_counter()
        folder = command.get("data", "")
        self._prepared[slot] = prepare_model(self._target, self._request["options"], content, model, folder)
        return {"loaded": True, "seconds": time.perf_counter() - began, **self._placement(slot)}

    def _placement(self, slot: int) -> dict[str, Any]:
        """Return the field `placement` of an answer; no field if the prepared model does not report it (yet)."""
        placement = getattr(self._prepared[slot], "placement", None)
        return {"placement": placement} if isinstance(placement, dict) else {}

    def _run(self, command: dict[str, Any]) -> dict[str, Any]:
        messages, slot = command["inputs"], command.get("slot", 0)
        with own_code():
            feeds = read_inputs(messages)
            inputs = list(feeds.values())
            before = [
                b"" if _has_own_file(message) else _value_bytes(value)
                for message, value in zip(messages, inputs, strict=True)
            ]
        began = time.perf_counter()
        outputs = run_prepared(self._target, self._prepared[slot], feeds)
        seconds = time.perf_counter() - began
        if not isinstance(outputs, list):
            return {"invalid_return": type_name_of(outputs)}
        with own_code(DamagedProcess):
            written = _output_messages(outputs, command.get("files", ""), command.get("packed", ""))
        answer: dict[str, Any] = {"outputs": written, "seconds": seconds}
        changed = [
            number
            for number, (message, value, old) in enumerate(zip(messages, inputs, before, strict=True))
            if not (_is_unchanged(message, value) if _has_own_file(message) else _value_bytes(value) == old)
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
                if snapshot is not None and _value_bytes(snapshot[0]) != snapshot[1]:
                    found.append((run, number))
                    outputs[number] = None
        return found

    def _optimize(self, command: dict[str, Any]) -> dict[str, Any]:
        model = decode_model(Path(command["model"]).read_bytes())
        before = model.SerializeToString(deterministic=True)
        modes = {"fixed_point": command["fixed_point"]} if takes_fixed_point(self._target) else {}
        rewritten = self._target(model, **modes)
        if not has_type(rewritten, type(model)):
            return {"invalid_return": type_name_of(rewritten)}
        Path(command["output"]).write_bytes(rewritten.SerializeToString())
        if model.SerializeToString(deterministic=True) == before:
            return {"optimized": True}
        Path(f"{command['output']}.given").write_bytes(model.SerializeToString())
        return {"optimized": True, "changed_input": True}


@contextmanager
def _working_directory(folder: str) -> Iterator[None]:
    """Change the working directory for the block; an empty name changes nothing.

    A subject may have removed the directory in which the process is, so it is kept open, and not named.
    """
    if not folder:
        yield
        return
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


@lru_cache(maxsize=64)
def numpy_type(name: str) -> Any:
    """Return NumPy's type for a type of the protocol; some types come from ml_dtypes, a dependency of onnx.

    Raises:
        Unsupported: ml_dtypes is not installed.
    """
    if not hasattr(np, NUMPY_TYPES[name]) and name != "bool":
        try:
            importlib.import_module("ml_dtypes")  # registers its names with NumPy
        except ModuleNotFoundError:
            raise Unsupported(f"{name} needs the package ml_dtypes, which is not installed in this Python") from None
    return np.dtype(NUMPY_TYPES[name])


def _has_own_file(message: Mapping[str, Any]) -> bool:
    return "file" in message and "offset" not in message


def read_inputs(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of the messages of a command, by name."""
    packs = {path: Path(path).read_bytes() for path in {each["file"] for each in messages if "offset" in each}}
    return {message["name"]: read_value(message, packs) for message in messages}


def read_value(message: Mapping[str, Any], packs: Mapping[str, bytes] | None = None) -> Any:
    """Return the value of a message: a tensor, a sequence, a map, or None for an empty optional.

    Args:
        message: the message.
        packs: as for `read_tensor`.
    """
    if "sequence" in message:
        return [read_value(each, packs) for each in message["sequence"]]
    if "map" in message:
        keys, values = (read_tensor(message["map"][part], packs).tolist() for part in ("keys", "values"))
        return dict(zip(keys, values, strict=True))
    return None if "empty" in message else read_tensor(message, packs)


def read_tensor(message: Mapping[str, Any], packs: Mapping[str, bytes] | None = None) -> Array:
    """Return the tensor of a message, as a writable array; changes of it are not written to a file.

    Args:
        message: the message.
        packs: the contents of the files that several tensors share, by path.
    """
    if "texts" in message:
        return text_array(message["texts"], message["shape"])
    dtype = numpy_type(message["dtype"])
    if packs and "offset" in message:
        count, offset = prod(message["shape"]), message["offset"]
        return np.frombuffer(packs[message["file"]], dtype, count, offset).reshape(message["shape"]).copy()
    if "file" not in message:
        return np.frombuffer(a2b_base64(message["data"]), dtype).reshape(message["shape"]).copy()
    with open(message["file"], "rb") as stream:  # noqa: PTH123
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.frombuffer(content, dtype).reshape(message["shape"])


def _is_unchanged(message: Mapping[str, Any], array: Array) -> bool:
    """Return whether a mapped array still has the elements of its file."""
    given, seen = (each.reshape(-1).view(np.uint8) for each in (read_tensor(message), array))
    word = np.uint64 if given.size % 8 == 0 else np.uint8
    return bool(np.array_equal(given.view(word), seen.view(word)))


def _output_messages(outputs: Sequence[Any], prefix: str, packed: str) -> list[dict[str, Any]]:
    """Return the messages of what a subject returned.

    Args:
        outputs: the outputs.
        prefix: beginning of the paths of files for large tensors; empty if all tensors must be in the messages.
        packed: path of one file for all other tensors; empty if they must be in the messages.
    """
    small = {
        number: np.asarray(output)
        for number, output in enumerate(outputs)
        if packed and _is_tensor_of_numbers(output) and output.nbytes < FILE_THRESHOLD_BYTES
    }
    offsets: dict[int, int] = {}
    if sum(array.nbytes for array in small.values()) >= PACKED_BYTES:
        content, places = pack_elements(list(small.values()))
        with suppress(OSError):  # without space for the file, the messages have the tensors
            write_output(packed, content)
            offsets = dict(zip(small, places, strict=True))
    return [
        {**_tensor_fields(output), "file": packed, "offset": offsets[number]}
        if number in offsets
        else _output_message(output, f"{prefix}{number}" if prefix else "")
        for number, output in enumerate(outputs)
    ]


def pack_elements(arrays: Sequence[Array]) -> tuple[Array, list[int]]:
    """Return the bytes of arrays one after another, and the offset of each array in them."""
    offsets, size = [], 0
    for array in arrays:
        offsets.append(size)
        size += -(-array.nbytes // PACKED_ALIGNMENT) * PACKED_ALIGNMENT
    content = np.zeros(size, np.uint8)
    for array, offset in zip(arrays, offsets, strict=True):
        content[offset : offset + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return content, offsets


def _is_tensor_of_numbers(output: Any) -> bool:
    return isinstance(output, (np.ndarray, np.generic)) and bool(_onnx_type(output.dtype))


def _tensor_fields(output: Any) -> dict[str, Any]:
    return {"name": "", "dtype": _onnx_type(output.dtype), "shape": output.shape}


@lru_cache(maxsize=64)
def _onnx_type(dtype: np.dtype[Any]) -> str:
    """Return the protocol's name of an element type; an empty text if the protocol has no such type."""
    return _ONNX_TYPES.get(dtype.name, "") if dtype.isnative else ""


def _output_message(output: Any, file: str) -> dict[str, Any]:
    """Return the message of an output; if the output is not a value of an ONNX type, the message names its type.

    Args:
        output: one element of what the subject returned.
        file: file for a large tensor; empty if the tensor must be in the message.
    """
    if file and _is_tensor_of_numbers(output) and output.nbytes >= FILE_THRESHOLD_BYTES:
        with suppress(OSError):  # without space for the file, the message has the tensor
            write_output(file, np.asarray(output))
            return {**_tensor_fields(output), "file": file}
    return value_message(output) or {"invalid_return": _invalid_type(output)}


def _invalid_type(output: Any) -> str:
    """Return the name of the type of an output that is not a value of an ONNX type."""
    is_array = isinstance(output, (np.ndarray, np.generic))
    return f"ndarray of {output.dtype}"[:200] if is_array else type_name_of(output)


def value_message(value: Any) -> dict[str, Any] | None:
    """Return the message of a value with all its elements; None if it is not a value of an ONNX type.

    A sequence within a sequence has no message, because no operator makes one.
    """
    if not isinstance(value, (list, tuple)):
        return _element_message(value)
    parts = list(map(_element_message, value))
    return None if any(part is None for part in parts) else {"sequence": parts}


def _element_message(value: Any) -> dict[str, Any] | None:
    """Return the message of a tensor, a map or an empty optional; None for a value of another kind."""
    if value is None:
        return {"empty": True}
    if isinstance(value, dict):
        keys, values = (_element_message(_array_of(part)) for part in (value.keys(), value.values()))
        return None if keys is None or values is None else {"map": {"keys": keys, "values": values}}
    if _is_tensor_of_numbers(value):
        data = b2a_base64(np.asarray(value).tobytes(), newline=False).decode("ascii")
        return {**_tensor_fields(value), "data": data}
    texts = _texts_of(value) if isinstance(value, np.ndarray) else None
    return None if texts is None else {"name": "", "dtype": "string", "shape": value.shape, "texts": texts}


def _array_of(parts: Iterable[Any]) -> Any:
    """Return the keys or the values of a map as a tensor; an object of another kind if they are no texts or numbers."""
    elements = list(parts)
    if all(isinstance(element, str) for element in elements):
        return text_array(elements, (len(elements),))
    is_numeric = all(isinstance(element, (int, float, np.generic)) for element in elements)
    return np.array(elements) if is_numeric else object()


def _value_bytes(value: Any) -> bytes:
    """Return bytes that change if an element of a value changes."""
    if isinstance(value, (list, tuple)):
        return b"".join(map(_value_bytes, value))
    if isinstance(value, dict):
        return repr(value).encode(errors="backslashreplace")
    if not isinstance(value, (np.ndarray, np.generic)):
        return b""
    texts = _texts_of(np.asarray(value)) if value.dtype.hasobject else None
    return value.tobytes() if texts is None else repr(texts).encode()


def write_output(path: str, array: Array) -> None:
    """Write the elements of an output to a file.

    If the suite has renamed an earlier output file, that file is overwritten and renamed back, because its memory is
    already allocated.

    Raises:
        OSError: the file cannot be written.
    """
    with suppress(FileNotFoundError):
        os.rename(f"{path}{READ_SUFFIX}", path)  # noqa: PTH104
    write_elements(path, 0, array)


def write_elements(path: str, flags: int, array: Array) -> None:
    """Write the elements of an array to a file: little-endian, in row-major order."""
    rest = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    size = len(rest)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o644)
    with os.fdopen(descriptor, "wb", buffering=0) as stream:
        while rest:
            rest = rest[stream.write(rest) :]
        stream.truncate(size)


def _snapshot(output: Any) -> tuple[Any, bytes] | None:
    """Return an output with a copy of its bytes, to detect later changes; None for large outputs and for non-arrays."""
    is_small = isinstance(output, np.ndarray) and output.nbytes < FILE_THRESHOLD_BYTES
    return (output, _value_bytes(output)) if is_small else None


def serve(harness: Harness, commands: BinaryIO, answers: BinaryIO) -> None:
    """Read commands and write answers, one per line. A fork that a subject returns in does neither."""
    process = os.getpid()
    for line in iter(commands.readline, b""):
        command = json.loads(line)
        if command["cmd"] == "stop":
            break
        answer = {"seq": command["seq"], **harness.answer(command)}
        if os.getpid() != process:
            os._exit(0)
        sys.stdout.flush()
        answers.write(_ENCODER.encode(answer).encode() + b"\n")


def _protocol_streams() -> tuple[BinaryIO, BinaryIO]:
    """Move the protocol's streams to new descriptors, so that the subject cannot read or write them by accident."""
    commands, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(commands, "rb"), os.fdopen(answers, "wb", buffering=0)


def main(request: Request) -> None:
    """Execute commands until `stop` or the end of the input."""
    serve(Harness(request), *_protocol_streams())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the shutdown of a runtime is not tested, and can take long


if __name__ == "__main__":
    main(_REQUEST)
