"""What a graph optimizer is held to, one module for each check: a module added here is a check added.

A check's module has `complaint(rewriting)`, which returns what is wrong in one phrase, or None where the check holds,
and raises `NotJudged` where there is nothing to judge. Its name in the results is the module's.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.judging.rewriting import Rewriting


@cache
def checks() -> Mapping[str, Callable[[Rewriting], str | None]]:
    """All checks by name, in the order of their names."""
    names = sorted(module.name for module in iter_modules(__path__))
    return {name: import_module(f"{__name__}.{name}").complaint for name in names}
