"""From the text that names a subject to the object that is run: built-in, by entry point, or by Python name."""

from __future__ import annotations

import importlib
import inspect
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.errors import SubjectError, UnknownName, UsageError, did_you_mean
from conformance.models.feeds import Feeds
from conformance.plugins import DISTRIBUTION, extra_of, registered
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.subjects.options import asked_provider, check_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.models.arrays import Array


@dataclass(frozen=True)
class Subject:
    """A backend or a graph optimizer under test.

    Attributes:
        id: the text that named it.
        version: its own version, or that of its package.
        target: what has `prepare`, or is called with a model to rewrite.
        kind: which of the two it is.
        passes: of a graph optimizer, the passes that it claims to implement.
        language: what it is written in.
        provider: of a backend, the execution provider or device that every node is to run on; None where there is none.
    """

    id: str
    version: str
    target: Any
    kind: SubjectKind = SubjectKind.BACKEND
    passes: tuple[str, ...] = ()
    language: str = "Python"
    provider: str | None = None

    @property
    def placement(self) -> str | None:
        """Of a backend that was given a provider or a device, whether it tells what ran where; None of any other."""
        options = SubjectName.of(self.id, self.kind).options
        if self.provider is not None or options.get("fallback") == "allow":
            return "told"
        return "cannot tell" if "provider" in options or options.get("device", "CPU") != "CPU" else None


class _Configured:
    """A backend that is given options, and the device among them, with every model.

    An adapter of the suite's (`backends.host.Adapter`) is given bytes and feeds by name, any other what ONNX's own
    interface says.
    """

    def __init__(self, backend: Any, options: Mapping[str, str]) -> None:
        self._backend = backend
        self._options = dict(options)
        self._device = self._options.pop("device", "CPU")

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        """Prepare a model as the options say."""
        device = self._device or device
        if not getattr(self._backend, "is_adapter", False):
            return _Prepared(self._backend.prepare(model, device, **self._options))
        prepared = self._backend.prepare(model.SerializeToString(), device, **self._options)
        return _Prepared(_FedByName(prepared, Feeds.of(model)))

    def __getattr__(self, name: str) -> Any:
        """What else a backend has, as `supports_device`."""
        return getattr(self._backend, name)


class _FedByName:
    """A model that an adapter has prepared, behind ONNX's own interface."""

    def __init__(self, prepared: Any, feeds: Feeds) -> None:
        self._prepared, self._feeds = prepared, feeds

    @property
    def placement(self) -> Any:
        """What the adapter says of where the nodes run."""
        return getattr(self._prepared, "placement", None)

    def run(self, inputs: Sequence[Array]) -> Any:
        """The outputs for inputs in the graph's order, which are held against the model first."""
        return self._prepared.run(self._feeds.by_name(inputs))


class _Prepared:
    """A prepared model whose outputs may be another library's arrays, as ONNX's interface allows."""

    def __init__(self, prepared: Any) -> None:
        self._prepared = prepared

    @property
    def placement(self) -> Any:
        """What the backend says of where the nodes run."""
        return getattr(self._prepared, "placement", None)

    def run(self, inputs: Any) -> Any:
        """The outputs; each that has a type, a shape and a way to become a NumPy array is one."""
        outputs = self._prepared.run(inputs)
        return [_as_array(output) for output in outputs] if isinstance(outputs, list | tuple) else outputs


def _as_array(output: Any) -> Any:
    return np.asarray(output) if all(hasattr(output, name) for name in ("__array__", "dtype", "shape")) else output


def load_subject(named: SubjectName, claims: tuple[str, ...] = (), directory: Path | None = None) -> Subject:
    """The subject of a registered name, or of `package.module` or `package.module:Attribute`.

    Args:
        claims: the passes that a graph optimizer claims which does not say so itself.
        directory: the user's, where a module may lie; by default the current one.

    Raises:
        UnknownName: nothing is registered or importable under that name.
        UsageError: it has no such option, or is to run in another Python than this one.
        SubjectError: it fails to import, is not of its kind, or lacks what an option asks for.
    """
    if named.release or named.python:
        raise UsageError(
            f"{named.text} runs in an environment of its own, and not here.", "Leave that out, or `run` it."
        )
    target, module_name = _resolved(named, directory or Path.cwd())
    version = _version(target, module_name)
    if named.kind is SubjectKind.BACKEND:
        if not callable(getattr(target, "prepare", None)):
            raise SubjectError(
                f"Backend {named.name} has no `prepare`: it is not a backend.",
                "Name a module or class with ONNX's interface: prepare(model, device), then run(inputs).",
            )
        check_options(named, target)
        provider = asked_provider(target, named.options)
        return Subject(named.text, version, _Configured(target, named.options), provider=provider)
    if not callable(target):
        raise SubjectError(
            f"Graph optimizer {named.name} cannot be called.",
            "Name a function that takes a model and returns another: package.module:function.",
        )
    check_options(named, target)
    passes = tuple(str(name) for name in getattr(target, "passes", claims))
    if named.options:
        from functools import partial

        target = partial(target, **named.options)
    return Subject(named.text, version, target, SubjectKind.OPTIMIZER, passes)


def load_backend(name: str) -> Subject:
    """The backend of that name; see `load_subject`."""
    return load_subject(SubjectName.of(name, SubjectKind.BACKEND))


def _resolved(named: SubjectName, directory: Path) -> tuple[Any, str]:
    """The object that a subject's text names, and the module it is in."""
    available = registered(named.kind.group)
    target = available[named.name].value if named.name in available else named.name
    module_name, _, attribute = target.partition(":")
    found: Any = _module(named, module_name, directory)
    for part in attribute.split(".") if attribute else ():
        if not hasattr(found, part):
            raise SubjectError(
                f"{named.kind.prose.capitalize()} {named.name}: {module_name} has no {attribute}.",
                "Name what has `prepare`." if named.kind is SubjectKind.BACKEND else "Name a function in it.",
            )
        found = getattr(found, part)
    return found, module_name


def _module(named: SubjectName, module_name: str, directory: Path) -> Any:
    """Import it, from the user's directory before all other places, as `python -m` does.

    That goes for the module that is named, and for nothing else: whatever the directory holds besides (a `numpy.py`, a
    folder `conformance`) is looked at last, so that it takes no module's place.
    """
    if str(directory) not in sys.path:
        sys.path.append(str(directory))
    if not all(module_name.split(".")):
        raise _unknown(named)
    try:
        _import_from(directory, module_name.partition(".")[0])
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise _unknown(named) from None
        raise _broken(named, error) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001
        raise _broken(named, error) from None


def _import_from(directory: Path, name: str) -> None:
    """Import a module or package of this name from a directory, if it has one and Python has none yet."""
    spec = PathFinder.find_spec(name, [str(directory)])
    if spec is None or spec.loader is None or name in {*sys.modules, *sys.stdlib_module_names}:
        return
    sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[name])
    except BaseException:
        sys.modules.pop(name, None)
        raise


def _unknown(named: SubjectName) -> UnknownName:
    known = registered(named.kind.group)
    return UnknownName(
        f"There is no {named.kind.prose} {named.name}.",
        did_you_mean(
            named.name,
            known,
            f"Use {', '.join(known)}, or a Python name: package.module or package.module:Attribute.",
        ),
    )


def _broken(named: SubjectName, error: BaseException) -> SubjectError:
    mend = "Install what it needs, or mend the import; `python -c 'import …'` shows the whole trace."
    if isinstance(error, ModuleNotFoundError) and (extra := extra_of(named.kind.group, named.name)):
        mend = f"Install it: pip install '{DISTRIBUTION}[{extra}]'."
    return SubjectError(
        f"{named.kind.prose.capitalize()} {named.name} fails to import: {type(error).__name__}: {error}.", mend
    )


def _version(target: Any, module_name: str) -> str:
    package = sys.modules.get(module_name.partition(".")[0])
    version = getattr(target, "__version__", None) or getattr(package, "__version__", None)
    return str(version) if version else "unknown"


def takes_fixed_point(optimize: Any) -> bool:
    """Whether a graph optimizer knows a single run and runs to a fixed point apart."""
    try:
        return "fixed_point" in inspect.signature(optimize).parameters
    except (TypeError, ValueError):
        return False
