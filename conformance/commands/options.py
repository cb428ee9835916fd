"""Declarations of the command line's options: each option is declared once and has one meaning in all verbs.

If a verb has a parameter `options`, `selection` or `outputs`, the decorator `add_options` replaces the parameter by
several options. Each other shared option is a type of this module, which verbs use as annotation of a parameter.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from conformance.commands.completion import (
    backend_names,
    case_ids,
    clause_ids,
    operators,
    optimizer_names,
    pass_names,
    profile_names,
    tags,
)
from conformance.errors import ConformanceError
from conformance.files.atomic_write import is_standard_output, write_text_atomically
from conformance.report.report_files import FORMATS, ReportFiles
from conformance.run.options import OUTPUT, RUN_OPTIONS, RUNNING, SELECTION_OPTIONS, flag_name
from conformance.serialization.terminal import print_line
from conformance.serialization.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COMPLETIONS: Mapping[str, Callable[..., list[str]]] = {
    "backend": backend_names,
    "optimizer": optimizer_names,
    "implements": pass_names,
    "case": case_ids,
    "tag": tags,
    "clause": clause_ids,
    "operator": operators,
    "require": operators,
    "profile": profile_names,
}
"""Functions for shell completion of option values, by the name of the parameter."""


MAX_WORKERS = 1024
"""Largest value of `--workers`: one process too many must not exhaust the process table of a machine."""

MAX_SHOWN_LENGTH = 40
"""Characters of a wrong value that an error message shows."""


@dataclass
class Invocation:
    """State of one call of the command line; every verb can read it as `context.obj` of its typer context.

    Attributes:
        is_verbose: whether the user gave `--verbose`.
    """

    is_verbose: bool = False


def _set_verbose(context: typer.Context, value: bool) -> bool:
    if value:
        context.ensure_object(Invocation).is_verbose = True
    return value


def check_positive(value: float | None) -> float | None:
    """Return the value of an option unchanged, after the check that it is positive or None.

    Raises:
        BadParameter: the value is not a positive number.
    """
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise typer.BadParameter(f"must be a positive number (got {value:g}).")
    return value


def parse_workers(text: str) -> int:
    """Return the number of processes for the value of `--workers`; `auto` is the number of processors.

    Raises:
        BadParameter: the value is neither `auto` nor a number from 1 to `MAX_WORKERS`.
    """
    from conformance.processes.start import available_processors

    if text == "auto":
        return min(available_processors(), MAX_WORKERS)
    if re.fullmatch("[0-9]{1,9}", text, re.ASCII) is None or not 1 <= int(text) <= MAX_WORKERS:
        shown = text if len(text) <= MAX_SHOWN_LENGTH else f"{text[:MAX_SHOWN_LENGTH]}…"
        raise typer.BadParameter(f"must be auto or a number from 1 to {MAX_WORKERS} (got {shown}).")
    return int(text)


_CHECKS: Mapping[str, Callable[[Any], Any]] = {"timeout": check_positive}


def run_option(name: str, **changes: Any) -> Any:
    """Return the typer declaration of a run option.

    Args:
        name: the name of the option, a key of `RUN_OPTIONS`.
        changes: arguments of `typer.Option` that replace those from `RUN_OPTIONS`.
    """
    option = RUN_OPTIONS[name]
    flags = [] if name == "keyword" else [flag_name(name)]
    if option.default is True:
        flags = [f"{flags[0]}/--no-{flags[0][2:]}"]
    given: dict[str, Any] = {
        "metavar": option.metavar or None,
        "help": option.help.replace("[", "\\["),
        "min": option.minimum,
        "max": option.maximum,
        "autocompletion": COMPLETIONS.get(name),
        "callback": _CHECKS.get(name),
        "rich_help_panel": option.panel,
    }
    return typer.Option(*option.short, *flags, **(given | changes))


class FailLevel(StrEnum):
    """The weakest level of cases that can fail a run."""

    MUST = "must"
    SHOULD = "should"


class SelectLevel(StrEnum):
    """The levels that a case can have."""

    MUST = "must"
    SHOULD = "should"
    SILENT = "silent"


_ENUMS: Mapping[str, type[StrEnum]] = {"fail_level": FailLevel, "select_level": SelectLevel}

Backend: TypeAlias = Annotated[str | None, run_option("backend")]
Backends: TypeAlias = Annotated[list[str] | None, run_option("backend")]
Optimizer: TypeAlias = Annotated[str | None, run_option("optimizer")]
Optimizers: TypeAlias = Annotated[list[str] | None, run_option("optimizer")]
Implements: TypeAlias = Annotated[list[str] | None, run_option("implements")]
Python: TypeAlias = Annotated[Path | None, run_option("python")]
NoIsolation: TypeAlias = Annotated[bool, run_option("no_isolation")]
Timeout: TypeAlias = Annotated[
    float, run_option("timeout", help="Time limit in seconds for the start of a subject, and for each request.")
]
Data: TypeAlias = Annotated[Path | None, run_option("data")]
ProfileName: TypeAlias = Annotated[str | None, run_option("profile")]
FailLevelOption: TypeAlias = Annotated[FailLevel, run_option("fail_level")]
Results: TypeAlias = Annotated[Path | None, run_option("results")]
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--workers",
        metavar="N|auto",
        parser=parse_workers,
        help="Use N processes of this machine, or one process per processor with `auto`.",
        rich_help_panel=RUNNING,
    ),
]
Dask: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Use the workers of the Dask scheduler at ADDRESS: tcp://HOST:8786."),
]
FromResults: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "-r", "--from-results", metavar="FILE", help="Results file of a run, from which the results are read."
    ),
]
CaseId: TypeAlias = Annotated[
    str, typer.Argument(metavar="CASE", help="Id of the case. `list` prints all ids.", autocompletion=case_ids)
]
ModelFile: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="Path of an ONNX model.")]
InputFiles: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--inputs",
        metavar="PATH",
        help="Inputs: an .npz file, or a folder of input_N.pb or input_N.npy, or of folders test_data_set_N.",
    ),
]
InputShapes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--shape", metavar="NAME=SIZES", help="Shape of an input, or size of a named dimension: X=2x3, batch=4."
    ),
]
InputSeed: TypeAlias = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Seed of the inputs without --inputs.")
]
ResultsFiles: TypeAlias = Annotated[list[Path], typer.Argument(metavar="RESULTS…", help="Paths of results files.")]
PythonForEnvironment: TypeAlias = Annotated[
    str,
    run_option("python", help="Python interpreter of the new environments; the default is that of this command."),
]


def verbose_option(help: str) -> Any:
    """Return the typer declaration of `--verbose`; the option also adds the error code to error messages."""
    return typer.Option("-v", "--verbose", help=help, callback=_set_verbose, is_eager=True, rich_help_panel=OUTPUT)


Verbose: TypeAlias = Annotated[
    bool, verbose_option("Print every failure group with all its cases, and add the code to each error message.")
]
_ErrorCodes: TypeAlias = Annotated[bool, verbose_option("Add the error code to each error message.")]
Quiet: TypeAlias = Annotated[
    bool,
    typer.Option("-q", "--quiet", help="Print only PASSED or FAILED, with the reasons.", rich_help_panel=OUTPUT),
]


def output_option(metavar: str, help: str) -> Any:
    """Return the typer declaration of `--output`; each verb has its own help text."""
    return typer.Option("--output", metavar=metavar, help=help)


def report_option(format: str, help: str = "") -> Any:
    """Return the typer declaration of the option that writes a report.

    Args:
        format: the report format, a key of `FORMATS`.
        help: the help text; by default that of the format.
    """
    panel = None if help else OUTPUT
    return typer.Option(flag_name(format), metavar="FILE", help=help or FORMATS[format].help, rich_help_panel=panel)


class _CommonHelp:
    """Layout of `--help` and usage errors of verbs and groups: flags have no type, and paragraphs are reflowed."""

    def __init__(self, *arguments: Any, **given: Any) -> None:
        super().__init__(*arguments, **given)
        self.help: str | None = getattr(self, "help", None)
        if self.help:
            paragraphs = inspect.cleandoc(self.help).split("\n\n")
            self.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the verb, including `--help` and `--verbose`."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; typer prints a usage error, in which escapes replace unprintable characters."""
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc,no-any-return]
        except Exception as error:
            if hasattr(error, "format_message"):
                vars(error)["message"] = escape_unprintable(vars(error)["message"])
            raise


class Verb(_CommonHelp, TyperCommand):
    """A verb of the command line. If an error ends the verb, the error is also written to the file of `--json`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the verb; `--help` shows them without panels."""
        parameters = super().get_params(ctx)
        for parameter in parameters:
            parameter.rich_help_panel = None
        return parameters

    def invoke(self, ctx: Any) -> Any:
        """Run the verb.

        Raises:
            ConformanceError: an error that the user can correct. It is also written to the file of `--json`, if given.
        """
        try:
            return super().invoke(ctx)
        except ConformanceError as error:
            target = ctx.params.get("json")
            if target is not None and (Path(target) == Path("-") or not Path(target).exists()):
                write_text_atomically(Path(target), json.dumps({"error": error.as_json()}) + "\n")
            raise


class VerbWithPanels(Verb):
    """A verb with many options, which `--help` shows in panels."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the verb, each with its panel of `--help`."""
        return _CommonHelp.get_params(self, ctx)


class Verbs(_CommonHelp, TyperGroup):
    """A group of verbs."""


def add_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the verb for `command`: some parameters of `command` are replaced by several options each.

    `options` is replaced by the options of a run; `command` receives a dictionary of their values by name. `selection`
    is replaced by the options that select cases; `command` receives a dictionary. `outputs` is replaced by one option
    per report format; `command` receives a `ReportFiles`. If `command` has no parameter `verbose`, the verb gets the
    option `--verbose`, which adds the error code to error messages.
    """
    groups = {"options": list(RUN_OPTIONS), "selection": ["keyword", *SELECTION_OPTIONS.values()]}

    @wraps(command)
    def verb(**given: Any) -> None:
        own = inspect.signature(command).parameters
        for group, names in groups.items():
            if group in own:
                given[group] = {name: _plain(given.pop(name)) for name in names}
        if "outputs" in own:
            given["outputs"] = ReportFiles({name: path for name in FORMATS if (path := given.pop(name))})
        if "verbose" not in own:
            given.pop("verbose", None)
        command(**given)

    hints = get_type_hints(command, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            parameters += [_run_parameter(name) for name in groups[parameter.name]]
        elif parameter.name == "outputs":
            parameters += [_parameter(name, Path | None, report_option(name), None) for name in FORMATS]
        else:
            parameters.append(parameter.replace(annotation=hints[parameter.name], kind=keyword))
    if "verbose" not in hints:
        parameters.append(inspect.Parameter("verbose", keyword, default=False, annotation=_ErrorCodes))
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    vars(verb).update(__signature__=inspect.Signature(parameters), __annotations__=annotations)
    return verb


def _run_parameter(name: str) -> inspect.Parameter:
    """Return the function parameter that declares the run option `name` for a verb."""
    option = RUN_OPTIONS[name]
    type: Any = _ENUMS.get(name, option.type)
    if option.is_repeatable:
        type = list[type] | None
    elif option.default is None:
        type = type | None
    return _parameter(name, type, run_option(name), None if option.is_repeatable else option.default)


def _parameter(name: str, type: Any, declaration: Any, default: object) -> inspect.Parameter:
    annotation = Annotated[type, declaration]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _plain(value: Any) -> Any:
    """Return the value of an option; members of an enumeration, also in a list, are converted to text."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value


def echo(text: str, *, err: bool = False) -> None:
    """Print a text as one line, see `print_line`."""
    print_line(text, err=err)


def echo_written_reports(outputs: ReportFiles) -> None:
    """Print the path of every report that was written to a file."""
    for path in outputs.paths.values():
        if not is_standard_output(path):
            echo(f"Wrote {path}.", err=outputs.take_standard_output)
