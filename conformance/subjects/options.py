"""The options in a subject's text against what its adapter takes: a mistake there is the user's, not a verdict.

What an adapter takes are the named parameters of its `prepare`, or of the function that a graph optimizer is. One that
collects the rest under a name that it uses takes any option; `**_` collects what it ignores, and takes none. Whether
this machine has what an option asks for, an adapter may say in `check_options(**options)`, by a ValueError of what is
missing and what to do. On which of its providers or devices all nodes are to run, it says in `asked_provider`.
"""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from conformance.errors import SubjectError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.subjects.naming import SubjectName

_NOT_OPTIONS = {"fixed_point"}
"""What the suite itself hands to a graph optimizer."""


def check_options(named: SubjectName, target: Any) -> None:
    """Check a subject's options before anything is run.

    Raises:
        UsageError: the adapter has no such option.
        SubjectError: it has, but what is asked for is not there.
    """
    options = dict(named.options)
    prepare = getattr(target, "prepare", target)
    taken = _taken(prepare)
    if unknown := sorted(set(options) - taken) if taken is not None else []:
        there = f"It takes {', '.join(sorted(taken or ()))}." if taken else "It takes none."
        there = did_you_mean(unknown[0], taken or (), there)
        raise UsageError(f"{named.kind.prose.capitalize()} {named.name} has no option {unknown[0]}.", there)
    supports = getattr(target, "supports_device", None)
    if supports is not None and "device" in options and not supports(options["device"]):
        raise SubjectError(
            f"Backend {named.name} says that it does not support the device {options['device']}.",
            "Name another device, or leave it out for the CPU.",
        )
    check = getattr(target, "check_options", None)
    if check is not None:
        _ask(check, {name: value for name, value in options.items() if name != "device"})


def asked_provider(target: Any, options: Mapping[str, str]) -> str | None:
    """The provider or device that by a backend's options every node of a model is to run on; None where it need not."""
    ask = getattr(target, "asked_provider", None)
    return ask(**options) if callable(ask) else None


def _ask(check: Any, options: Mapping[str, str]) -> None:
    """Have an adapter check options; it may know no class of this suite, and says by a ValueError what is not there."""
    try:
        check(**options)
    except ValueError as error:
        problem, mend = (*map(str, error.args), "", "")[:2]
        raise SubjectError(problem, mend or "Leave the option out, or give it another value.") from None


def _taken(function: Any) -> set[str] | None:
    """The names of the options, or None where any is taken or where they cannot be known."""
    try:
        _, *parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is Parameter.VAR_KEYWORD and not each.name.startswith("_") for each in parameters):
        return None
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return {each.name for each in parameters if each.kind in named} - _NOT_OPTIONS
