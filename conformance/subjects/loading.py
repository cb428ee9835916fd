"""Import of subjects written in Python, and the check of their options.

The options of a backend are the named parameters of its `prepare`, without the model and `device`. The options of a
graph optimizer are the named parameters of its function, without the model and `fixed_point`. A parameter `**options`
accepts any option; `**_` accepts none. An unknown option is an error of the user, not a verdict.

An adapter can have two further class methods:

- `check_options(**options)` raises ValueError(problem, hint) if this machine does not have what the options request.
- `required_provider(**options)` returns the execution provider or device that must run every node of a model.
"""

from __future__ import annotations

import importlib
import platform
import sys
from dataclasses import dataclass
from functools import partial
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.errors import SubjectError, UnknownName, UsageError, did_you_mean
from conformance.models.inputs import GraphInputs
from conformance.plugins import DISTRIBUTION, extra_for_adapter, registered_entry_points
from conformance.subjects.identity import installed_packages
from conformance.subjects.naming import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.models.arrays import Array


@dataclass(frozen=True)
class Subject:
    """A backend or a graph optimizer under test.

    Attributes:
        id: the text that names it on the command line.
        version: its own version, or the version of its package.
        target: an object with `prepare` for a backend, a function from model to model for a graph optimizer.
        kind: backend or graph optimizer.
        passes: passes that a graph optimizer implements.
        language: language of its harness.
        provider: execution provider or device on which a backend must run every node; None for no requirement.
        python: version of the Python that runs it; empty for a harness in another language.
        packages: packages that it can use, as `name==version`.
    """

    id: str
    version: str
    target: Any
    kind: SubjectKind = SubjectKind.BACKEND
    passes: tuple[str, ...] = ()
    language: str = "Python"
    provider: str | None = None
    python: str = ""
    packages: tuple[str, ...] = ()

    @property
    def placement(self) -> str | None:
        """Whether a backend reports which provider or device ran each node: `reported` or `not reported`.

        It is None if the user did not request a provider or device.
        """
        options = SubjectName.parse(self.id, self.kind).options
        if self.provider is not None or options.get("fallback") == "allow":
            return "reported"
        return "not reported" if "provider" in options or options.get("device", "CPU") != "CPU" else None


def load_subject(named: SubjectName, implements: tuple[str, ...] = (), directory: Path | None = None) -> Subject:
    """Import a subject: a registered name, `package.module` or `package.module:Attribute`.

    Args:
        named: the subject.
        implements: passes of a graph optimizer that does not declare its passes.
        directory: folder that is searched for the subject's module; by default the current directory.

    Raises:
        UnknownName: no registered entry point and no module has this name.
        UsageError: the subject has no such option, or needs another Python than this one.
        SubjectError: the import fails, the object is not of the given kind, or this machine lacks what an option
            requests.
    """
    if named.release or named.python:
        raise UsageError(
            "needs-other-python",
            f"{named.text} runs in another Python, and this command runs subjects in its own Python only.",
            "Leave out the release or interpreter, or use `onnx-conformance run`.",
        )
    target, module_name = _resolve(named, directory or Path.cwd())
    version = _version_of(target, module_name)
    environment: Any = {"python": platform.python_version(), "packages": tuple(installed_packages())}
    if named.kind is SubjectKind.BACKEND:
        if not callable(getattr(target, "prepare", None)):
            raise SubjectError(
                "not-a-backend",
                f"Backend {named.name} has no function `prepare`.",
                "Name a module or class with ONNX's interface: prepare(model, device), then run(inputs).",
            )
        check_options(named, target)
        required = getattr(target, "required_provider", None)
        provider = required(**named.options) if callable(required) else None
        backend = _ConfiguredBackend(target, named.options)
        return Subject(named.text, version, backend, provider=provider, **environment)
    if not callable(target):
        raise SubjectError(
            "not-callable",
            f"Graph optimizer {named.name} cannot be called.",
            "Name a function that takes a model and returns another: package.module:function.",
        )
    check_options(named, target)
    passes = tuple(str(name) for name in getattr(target, "passes", implements))
    if named.options:
        target = partial(target, **named.options)
    return Subject(named.text, version, target, SubjectKind.OPTIMIZER, passes, **environment)


def load_backend(name: str) -> Subject:
    """Import the backend with this name; see `load_subject`."""
    return load_subject(SubjectName.parse(name, SubjectKind.BACKEND))


def _resolve(named: SubjectName, directory: Path) -> tuple[Any, str]:
    """Return the object that a subject's name refers to, and the name of its module."""
    available = registered_entry_points(named.kind.group)
    target = available[named.name].value if named.name in available else named.name
    module_name, _, attribute = target.partition(":")
    found: Any = _import_module(named, module_name, directory)
    for part in attribute.split(".") if attribute else ():
        if not hasattr(found, part):
            what = "an object with `prepare`" if named.kind is SubjectKind.BACKEND else "a function"
            raise SubjectError(
                "attribute-missing",
                f"{named.kind.prose.capitalize()} {named.name}: module {module_name} has no attribute {attribute}.",
                f"Name {what} in the module.",
            )
        found = getattr(found, part)
    return found, module_name


def _import_module(named: SubjectName, module_name: str, directory: Path) -> Any:
    """Import the module of a subject; it is searched in `directory` first, as with `python -m`.

    All other modules are searched in `directory` last, so that its files (a `numpy.py`, a folder `conformance`) cannot
    hide installed modules.
    """
    if str(directory) not in sys.path:
        sys.path.append(str(directory))
    if not all(module_name.split(".")):
        raise _unknown_subject(named)
    try:
        _import_from_directory(directory, module_name.partition(".")[0])
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise _unknown_subject(named) from None
        raise _import_error(named, error) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001
        raise _import_error(named, error) from None


def _import_from_directory(directory: Path, name: str) -> None:
    """Import a module or package from a folder, if the folder has it and no module of this name is imported yet."""
    spec = PathFinder.find_spec(name, [str(directory)])
    if spec is None or spec.loader is None or name in {*sys.modules, *sys.stdlib_module_names}:
        return
    sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[name])
    except BaseException:
        sys.modules.pop(name, None)
        raise


def _unknown_subject(named: SubjectName) -> UnknownName:
    known = registered_entry_points(named.kind.group)
    hint = f"Use {', '.join(known)}, or a Python name: package.module or package.module:Attribute."
    return UnknownName(
        "unknown-subject", f"There is no {named.kind.prose} {named.name}.", did_you_mean(named.name, known, hint)
    )


def _import_error(named: SubjectName, error: BaseException) -> SubjectError:
    hint = "Install what it needs, or correct its code; `python -c 'import …'` prints the whole traceback."
    if isinstance(error, ModuleNotFoundError) and (extra := extra_for_adapter(named.kind.group, named.name)):
        hint = f"Install it: pip install '{DISTRIBUTION}[{extra}]'."
    reason = f"{type(error).__name__}: {error}"
    return SubjectError(
        "import-failed", f"{named.kind.prose.capitalize()} {named.name} fails to import: {reason}.", hint
    )


def _version_of(target: Any, module_name: str) -> str:
    package = sys.modules.get(module_name.partition(".")[0])
    version = getattr(target, "__version__", None) or getattr(package, "__version__", None)
    return str(version) if version else "unknown"


_SUITE_PARAMETERS = {"fixed_point"}
"""Parameters of a graph optimizer that the suite sets itself; they are not options."""


def check_options(named: SubjectName, target: Any) -> None:
    """Check a subject's options before any case runs.

    Raises:
        UsageError: the subject has no such option.
        SubjectError: this machine lacks what an option requests.
    """
    options = dict(named.options)
    known = _option_names(getattr(target, "prepare", target))
    if unknown := sorted(set(options) - known) if known is not None else []:
        hint = f"The options are {', '.join(sorted(known or ()))}." if known else "The subject has no options."
        raise UsageError(
            "unknown-option",
            f"{named.kind.prose.capitalize()} {named.name} has no option {unknown[0]}.",
            did_you_mean(unknown[0], known or (), hint),
        )
    supports = getattr(target, "supports_device", None)
    if supports is not None and "device" in options and not supports(options["device"]):
        raise SubjectError(
            "unsupported-device",
            f"Backend {named.name} does not support the device {options['device']}.",
            "Name another device, or leave the option out for the CPU.",
        )
    check = getattr(target, "check_options", None)
    try:
        if check is not None:
            check(**{name: value for name, value in options.items() if name != "device"})
    except ValueError as error:
        problem, hint = (*map(str, error.args), "", "")[:2]
        raise SubjectError(
            "unusable-option", problem, hint or "Leave the option out, or give it another value."
        ) from None


def _option_names(function: Any) -> set[str] | None:
    """Return the names of the options of a function; None if it accepts any option or has no readable signature."""
    try:
        _, *parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is Parameter.VAR_KEYWORD and not each.name.startswith("_") for each in parameters):
        return None
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return {each.name for each in parameters if each.kind in named} - _SUITE_PARAMETERS


def takes_fixed_point(optimize: Any) -> bool:
    """Return whether a graph optimizer has the parameter `fixed_point`."""
    try:
        return "fixed_point" in signature(optimize).parameters
    except (TypeError, ValueError):
        return False


class _ConfiguredBackend:
    """A backend together with its options and its device, which are passed to `prepare` with every model.


    An adapter of this suite (`adapters.server.Adapter`) receives the model as bytes and the inputs by name. Any other
    backend receives a ModelProto and a list of inputs, as the interface of ONNX defines.
    """

    def __init__(self, backend: Any, options: Mapping[str, str]) -> None:
        self._backend = backend
        self._options = dict(options)
        self._device = self._options.pop("device", "CPU")

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        """Prepare a model with the options and the device of the subject."""
        device = self._device or device
        if not getattr(self._backend, "is_adapter", False):
            return _PreparedModel(self._backend.prepare(model, device, **self._options))
        prepared = self._backend.prepare(model.SerializeToString(), device, **self._options)
        return _PreparedModel(prepared, GraphInputs.of(model))

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the backend, such as `supports_device`."""
        return getattr(self._backend, name)


class _PreparedModel:
    """A prepared model; its outputs may be arrays of another library, as ONNX's interface allows.

    Args:
        prepared: what the backend returned.
        graph_inputs: the inputs of the model if an adapter prepared it, which receives them by name.
    """

    def __init__(self, prepared: Any, graph_inputs: GraphInputs | None = None) -> None:
        self._prepared, self._graph_inputs = prepared, graph_inputs

    @property
    def placement(self) -> Any:
        """Node placement as the backend reports it."""
        return getattr(self._prepared, "placement", None)

    def run(self, inputs: Sequence[Array]) -> Any:
        """Run the model, and convert array-like outputs to NumPy arrays.

        The inputs of an adapter are first checked against the model.
        """
        outputs = self._prepared.run(self._graph_inputs.by_name(inputs) if self._graph_inputs else inputs)
        return [_as_array(output) for output in outputs] if isinstance(outputs, list | tuple) else outputs


def _as_array(output: Any) -> Any:
    return np.asarray(output) if all(hasattr(output, name) for name in ("__array__", "dtype", "shape")) else output
