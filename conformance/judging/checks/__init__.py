"""What a graph optimizer is held to, one module for each check: a module added here is a check added.

A check's module has `complaint(rewriting)`, which returns what is wrong in one phrase, or None where the check holds,
and raises `NotJudged` where there is nothing to judge. Its name in the results is the module's. It is asked of valid
models, and of those that are not only if it says `OF_INVALID_MODELS = True`.

Its `LEVEL` says how strongly the specification stands behind it, and `CLAUSES` on which statements it rests: a check
that rests on none cannot be `must`. A complaint counts at the weaker of the case's and the check's level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.judging.rewriting import Rewriting
    from conformance.verdicts import Level


@dataclass(frozen=True)
class Check:
    """One thing that a graph optimizer is held to.

    Attributes:
        level: how strongly the specification stands behind it.
        clauses: the ids of the clauses that it rests on.
        complaint: what is wrong with a rewriting, or None.
        of_invalid_models: whether it is asked of a model that is not valid, too.
    """

    name: str
    level: Level
    clauses: tuple[str, ...]
    complaint: Callable[[Rewriting], str | None]
    of_invalid_models: bool = False


@cache
def checks() -> tuple[Check, ...]:
    """All checks, in the order of their names."""
    names = sorted(module.name for module in iter_modules(__path__))
    modules = {name: import_module(f"{__name__}.{name}") for name in names}
    return tuple(
        Check(name, module.LEVEL, module.CLAUSES, module.complaint, getattr(module, "OF_INVALID_MODELS", False))
        for name, module in modules.items()
    )
