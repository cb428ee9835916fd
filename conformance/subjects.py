"""From the text that names a subject to the object that is run: built-in, by entry point, or by Python name."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import SubjectError, UnknownName
from conformance.plugins import registered


@dataclass(frozen=True)
class Subject:
    """A backend under test.

    Attributes:
        id: the text that named it.
        version: its own version, or that of its package.
        backend: what has `prepare`.
    """

    id: str
    version: str
    backend: Any


def load_backend(name: str) -> Subject:
    """The backend of a registered name, or of `package.module` or `package.module:Attribute`.

    Raises:
        UnknownName: nothing is registered or importable under that name.
        SubjectError: it fails to import, or has no `prepare`.
    """
    available = registered("backends")
    target = available[name].value if name in available else name
    module_name, _, attribute = target.partition(":")
    backend: Any = _module(name, module_name)
    for part in attribute.split(".") if attribute else ():
        if not hasattr(backend, part):
            raise SubjectError(f"Backend {name}: {module_name} has no {attribute}.", "Name what has `prepare`.")
        backend = getattr(backend, part)
    if not callable(getattr(backend, "prepare", None)):
        raise SubjectError(
            f"Backend {name} has no `prepare`: it is not a backend.",
            "Name a module or class with ONNX's interface: prepare(model, device), then run(inputs).",
        )
    return Subject(name, _version(backend, module_name), backend)


def _module(name: str, module_name: str) -> Any:
    """Import it, from the current directory too, as `python -m` does."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    if not all(module_name.split(".")):
        raise _unknown(name)
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise _unknown(name) from None
        raise _broken(name, error) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001
        raise _broken(name, error) from None


def _unknown(name: str) -> UnknownName:
    return UnknownName(
        f"There is no backend {name}.",
        f"Use {', '.join(registered('backends'))}, or a Python name: package.module or package.module:Attribute.",
    )


def _broken(name: str, error: BaseException) -> SubjectError:
    return SubjectError(
        f"Backend {name} fails to import: {type(error).__name__}: {error}.",
        "Install what it needs, or mend the import; `python -c 'import …'` shows the whole trace.",
    )


def _version(backend: Any, module_name: str) -> str:
    package = sys.modules.get(module_name.partition(".")[0])
    version = getattr(backend, "__version__", None) or getattr(package, "__version__", None)
    return str(version) if version else "unknown"
