"""Find and run generators of cases.

A generator is a function that yields cases. The suite's own generators are in the folder `generators` of a checkout.
Other packages register generators as entry points.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, TypeAlias

from conformance.base.errors import CaseError, ConformanceError, UnknownName
from conformance.base.plugins import registered_entry_points
from conformance.corpus.cases.corpus import bundled_corpus_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType

    from conformance.corpus.cases.case import Case

    Generator: TypeAlias = Callable[[], Iterable[Case]]


OWN_PACKAGE = "generators"
"""Name of the folder and of the Python package with the suite's own generators."""

PATTERNS = "patterns"
"""Name of the suite's own generator whose cases have a corpus of their own."""


def define_cases(names: Sequence[str]) -> list[tuple[str, Case]]:
    """Return the cases of the named generators, each with its generator's name.

    If `names` is empty, run all of the suite's own generators.

    Raises:
        UnknownName: a generator does not exist, or `names` is empty outside of a checkout.
        CaseError: a generator fails, or there are no cases.
    """
    selected = _select_generators(names).items()
    cases = [(name, case) for name, generator in selected for case in _run_generator(name, generator)]
    if not cases:
        raise CaseError("none-defined")
    return cases


def generator_locations() -> dict[str, str]:
    """Return the location of every generator's function, as `package.module:function`, by generator name."""
    own = {name: f"{cases.__module__}:{cases.__qualname__}" for name, cases in bundled_generators().items()}
    others = {name: point.value for name, point in registered_entry_points("generators").items()}
    return dict(sorted({**others, **own}.items()))


def bundled_generators() -> Mapping[str, Generator]:
    """Return the suite's own generators by name; an empty mapping if the suite is not run from a checkout."""
    package = bundled_package()
    found: Mapping[str, Generator] = package.GENERATORS if package else {}
    return found


def bundled_package() -> ModuleType | None:
    """Return the package `generators` of the checkout. Return None if the suite is not run from a checkout.

    The folder is imported by path, so that another installed package of the same name cannot be used by mistake.
    """
    folder = bundled_corpus_path().with_name(OWN_PACKAGE)
    init = folder / "__init__.py"
    if not init.is_file():
        return None
    module = sys.modules.get(OWN_PACKAGE)
    if module is None or not module.__file__ or not init.samefile(module.__file__):
        spec = importlib.util.spec_from_file_location(OWN_PACKAGE, init, submodule_search_locations=[str(folder)])
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[OWN_PACKAGE] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def _select_generators(names: Sequence[str]) -> dict[str, Generator]:
    """Return the named generators by name, or all of the suite's own generators if `names` is empty."""
    own = bundled_generators()
    if PATTERNS in names and (package := bundled_package()):
        own = {**own, PATTERNS: package.pattern_cases}
    others = {name: point for name, point in registered_entry_points("generators").items() if name not in own}
    if (not names and not own) or (names and any(name not in {*own, *others} for name in names)):
        raise _unknown_generator(names, own, sorted(others))
    return {name: own[name] if name in own else _load_generator(name) for name in names or own}


def _unknown_generator(names: Sequence[str], own: Iterable[str], others: Sequence[str]) -> UnknownName:
    """Return the error for an unknown generator name, or for an empty list of names outside of a checkout.

    Args:
        names: the names that the user gave.
        own: names of the suite's own generators.
        others: names of the generators of other packages.
    """
    known = [*own, *others]
    unknown = next((name for name in names if name not in known), "")
    problem = f"There is no generator {unknown}." if unknown else "No generator was given."
    if own:
        return UnknownName("generator-not-found.name", problem=problem, unknown=unknown, known=sorted(known))
    installed = f" Installed generators: {', '.join(others)}." if others else ""
    return UnknownName("generator-not-found.checkout", problem=problem, installed=installed)


def _load_generator(name: str) -> Generator:
    """Import a generator that another package registers.

    Raises:
        CaseError: the import fails.
    """
    point = registered_entry_points("generators")[name]
    try:
        loaded: Generator = point.load()
    except Exception as error:
        raise _generator_error(name, point.value, error) from error
    return loaded


def _run_generator(name: str, generator: Generator) -> list[Case]:
    try:
        return list(generator())
    except ConformanceError:
        raise
    except Exception as error:
        place = f"{getattr(generator, '__module__', '?')}:{getattr(generator, '__qualname__', '?')}"
        raise _generator_error(name, place, error) from error


def _generator_error(name: str, place: str, error: Exception) -> CaseError:
    return CaseError("generator-failed", name=name, place=place, error_type=type(error).__name__, error=error)
