"""Options that several verbs share."""

from __future__ import annotations

import inspect
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer

from conformance.report.outputs import FORMATS, Outputs

if TYPE_CHECKING:
    from collections.abc import Callable

Data: TypeAlias = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The corpus to use instead of the bundled one.")
]


class GateLevel(StrEnum):
    """The levels that a gate can judge up to."""

    MUST = "must"
    SHOULD = "should"


def with_outputs(command: Callable[..., None]) -> Callable[..., None]:
    """A verb with an option for each format of reports, in the place of its parameter `outputs`."""

    @wraps(command)
    def verb(**given: Any) -> None:
        paths = {name: path for name in FORMATS if (path := given.pop(name))}
        command(**given, outputs=Outputs(paths))

    hints = get_type_hints(command, include_extras=True)
    parameters = [one.replace(annotation=hints[one.name]) for one in inspect.signature(command).parameters.values()]
    place = next(i for i, parameter in enumerate(parameters) if parameter.name == "outputs")
    parameters[place : place + 1] = map(_option, FORMATS)
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    vars(verb).update(__signature__=inspect.Signature(parameters), __annotations__=annotations)
    return verb


def _option(format: str) -> inspect.Parameter:
    """The option of a format, as a parameter of a verb."""
    annotation = Annotated[Path | None, typer.Option(f"--{format}", metavar="FILE", help=FORMATS[format].help)]
    return inspect.Parameter(format, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
