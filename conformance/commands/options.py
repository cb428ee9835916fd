"""Options that several verbs share."""

from __future__ import annotations

import inspect
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from conformance.commands.completion import case_ids, clause_ids, operators, profile_names, tags
from conformance.report.outputs import FORMATS, Outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.run.selection import Selection

PANELS: Mapping[str, Sequence[str]] = {
    "Subjects": ("backend", "optimizer", "claims", "python", "in_process", "timeout", "memory"),
    "Selection": (
        *("keyword", "case", "tag", "clause", "case_level", "operator"),
        *("data", "shard", "last_failed"),
    ),
    "Gate": ("level", "expect", "require", "baseline", "profile"),
    "Running": ("workers", "exit_first", "repeat", "diagnosis", "resume"),
    "Output": ("results", *FORMATS, "verbose", "quiet"),
}
"""The panels in which a verb's options are shown that has many, and the parameters of each."""

_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


class _PlainFlags:
    """A command or group of commands whose options that take no value are shown without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, the help's option among them."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class Verb(_PlainFlags, TyperCommand):
    """A verb."""


class VerbOfManyOptions(Verb):
    """A verb whose options are shown in panels."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each in its panel."""
        parameters = super().get_params(ctx)
        for parameter in parameters:
            parameter.rich_help_panel = _PANEL_OF.get(parameter.name)
        return parameters


class Verbs(_PlainFlags, TyperGroup):
    """Several verbs."""


Keyword: TypeAlias = Annotated[
    str,
    typer.Option(
        "-k",
        metavar="EXPR",
        help="Only cases whose ids match, with and, or, not and brackets; unlike pytest's -k not subjects.",
    ),
]
Cases: TypeAlias = Annotated[
    list[str] | None, typer.Option("--case", metavar="ID", help="Only this case.", autocompletion=case_ids)
]
Tags: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Only cases with this tag.", autocompletion=tags),
]
Clauses: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--clause", metavar="CLAUSE", help="Only cases about this clause.", autocompletion=clause_ids),
]
Operators: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--operator", metavar="OPERATOR", help="Only models with this operator.", autocompletion=operators),
]


class CaseLevel(StrEnum):
    """The levels that cases can have."""

    MUST = "must"
    SHOULD = "should"
    SILENT = "silent"


CaseLevels: TypeAlias = Annotated[
    list[CaseLevel] | None,
    typer.Option("--case-level", metavar="must|should|silent", help="Only cases of this level."),
]


def selection_of(
    keyword: str,
    cases: list[str] | None,
    with_tags: list[str] | None,
    clauses: list[str] | None,
    levels: list[CaseLevel] | None,
    with_operators: list[str] | None,
) -> Selection:
    """What the options of a selection say."""
    from conformance.run.selection import Selection

    named = (cases, with_tags, clauses, [str(level) for level in levels or ()], with_operators)
    return Selection(keyword, *(tuple(names or ()) for names in named))


CaseId: TypeAlias = Annotated[
    str, typer.Argument(metavar="CASE", help="A case's id, as `list` shows it.", autocompletion=case_ids)
]

ProfileName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME|FILE",
        help="What is asked beyond the specification: sonnx, or a file.",
        autocompletion=profile_names,
    ),
]

Data: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The corpus to use instead of the bundled one."),
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
    told = typer.Option(f"--{format}", metavar="FILE", help=FORMATS[format].help)
    annotation = Annotated[Path | None, told]
    return inspect.Parameter(format, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
