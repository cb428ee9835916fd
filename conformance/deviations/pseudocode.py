"""An operator's pseudo-code with some of its text replaced: how the catalogue writes down what someone misread."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from conformance.deviations import arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def rewritten(formula: Callable[..., Any], edits: Mapping[str, str]) -> Callable[..., Any]:
    """The formula with each key of `edits` replaced by its value.

    The new text may use everything that the formula's module has, and the functions of
    `conformance.deviations.arithmetic`.

    Raises:
        ValueError: a text to replace does not stand in the pseudo-code exactly once, or two of them share some of it.
    """
    return _rewritten(formula, tuple(edits.items()))


@cache
def _rewritten(formula: Callable[..., Any], edits: tuple[tuple[str, str], ...]) -> Callable[..., Any]:
    if not edits:
        return formula
    source = pseudocode(formula)
    for start, end, new in reversed(_places(formula, edits)):
        source = source[:start] + new + source[end:]
    namespace = {**vars(arithmetic), **formula.__globals__}
    exec(compile(source, f"<{formula.__name__} rewritten>", "exec", dont_inherit=True), namespace)  # noqa: S102
    changed: Callable[..., Any] = namespace[formula.__name__]
    return changed


def _places(formula: Callable[..., Any], edits: tuple[tuple[str, str], ...]) -> list[tuple[int, int, str]]:
    """Where each text to replace begins and ends in the pseudo-code, in order, with what comes in its place.

    Raises:
        ValueError: one does not stand there exactly once, or two of them share some of it.
    """
    source, places = pseudocode(formula), []
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"{old!r} stands {source.count(old)} times in the pseudo-code of {formula.__name__}")
        start = source.index(old)
        places.append((start, start + len(old), new))
    places.sort()
    for (_, end, _), (start, _, _) in pairwise(places):
        if start < end:
            raise ValueError(f"two replacements in the pseudo-code of {formula.__name__} share {source[start:end]!r}")
    return places


@cache
def pseudocode(formula: Callable[..., Any]) -> str:
    """A formula's source from its first statement on, under a signature without annotations."""
    source = textwrap.dedent(inspect.getsource(formula))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    statements = source.splitlines()[function.body[0].end_lineno :]
    positional = [argument.arg for argument in function.args.args]
    keyword = [argument.arg for argument in function.args.kwonlyargs]
    signature = f"def {formula.__name__}({', '.join([*positional, '*', *keyword])}):"
    return "\n".join([signature, *statements, ""])
