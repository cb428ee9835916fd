"""Which generators there are: the suite's own, beside the package in a checkout, and others' by their entry points."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from conformance.corpus.corpus import bundled
from conformance.errors import CaseError, ConformanceError, UnknownName, did_you_mean
from conformance.plugins import registered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from conformance.corpus.case import Case

    Generator: TypeAlias = Callable[[], Iterable[Case]]

OWN = "generators"
"""The folder of the suite's own, which is also the name that its modules import each other by."""


def defined_cases(names: Sequence[str]) -> list[tuple[str, Case]]:
    """The cases of some generators (of the suite's own where none is named), each with its generator's name.

    Raises:
        UnknownName: there is no generator of that name, or none is named and this is no checkout.
        CaseError: a generator fails, two cases have one id, or there are none.
    """
    cases: dict[str, tuple[str, Case]] = {}
    for name, generator in _chosen(names).items():
        for case in _defined(name, generator):
            if case.id in cases:
                raise CaseError(f"Two cases are called {case.id}.", "Rename one of them.")
            cases[case.id] = name, case
    if not cases:
        raise CaseError("The generators define no case.", "Name one with --generator.")
    return list(cases.values())


def generator_places() -> dict[str, str]:
    """Every generator's name and the function that it is, as `package.module:function`."""
    own = {name: f"{cases.__module__}:{cases.__qualname__}" for name, cases in own_generators().items()}
    others = {name: point.value for name, point in registered("generators").items()}
    return dict(sorted({**others, **own}.items()))


def own_generators() -> Mapping[str, Generator]:
    """The generators beside the corpus that comes with the suite: in a checkout; an installed package has none.

    The folder is read by its place, so that nobody's package of the same name is taken for it.
    """
    folder = bundled().with_name(OWN)
    init = folder / "__init__.py"
    if not init.is_file():
        return {}
    module = sys.modules.get(OWN)
    if module is None or not module.__file__ or not init.samefile(module.__file__):
        spec = importlib.util.spec_from_file_location(OWN, init, submodule_search_locations=[str(folder)])
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[OWN] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    found: Mapping[str, Generator] = module.GENERATORS
    return found


def _chosen(names: Sequence[str]) -> dict[str, Generator]:
    """The generators of these names, or the suite's own where none is named."""
    own = own_generators()
    others = {name: point for name, point in registered("generators").items() if name not in own}
    if (not names and not own) or (names and any(name not in {*own, *others} for name in names)):
        raise _unknown(names, own, sorted(others))
    return {name: own[name] if name in own else _loaded(name) for name in names or own}


def _unknown(names: Sequence[str], own: Iterable[str], others: Sequence[str]) -> UnknownName:
    """What to say of a name that there is not, or of none where there are no generators of the suite."""
    known = [*own, *others]
    unknown = next((name for name in names if name not in known), "")
    problem = f"There is no generator {unknown}." if unknown else "No generator is named."
    if own:
        return UnknownName(problem, did_you_mean(unknown, known, f"There are {', '.join(sorted(known))}."))
    there = f" Installed here: {', '.join(others)}." if others else ""
    return UnknownName(problem, f"The suite's own generators are in its checkout; name another with -g.{there}")


def _loaded(name: str) -> Generator:
    """Another's generator.

    Raises:
        CaseError: it fails to import.
    """
    point = registered("generators")[name]
    try:
        loaded: Generator = point.load()
    except Exception as error:
        raise _failed(name, point.value, error) from error
    return loaded


def _defined(name: str, generator: Generator) -> list[Case]:
    try:
        return list(generator())
    except ConformanceError:
        raise
    except Exception as error:
        place = f"{getattr(generator, '__module__', '?')}:{getattr(generator, '__qualname__', '?')}"
        raise _failed(name, place, error) from error


def _failed(name: str, place: str, error: Exception) -> CaseError:
    return CaseError(f"Generator {name} ({place}) fails: {type(error).__name__}: {error}.", "Mend it.")
