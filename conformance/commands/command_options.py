"""Declarations of the command line's options: each option is declared once and has one meaning in all verbs.

`options.toml` declares the options of the verbs, and `conformance/run/corpus_run/options.toml` those of a run. The
decorator `add_options` gives each parameter of a verb its declaration, and replaces a parameter `settings`, `selection`
or `outputs` by several options.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from conformance.base.errors import ConformanceError, ExitStatus, UsageError
from conformance.base.files.atomic_write import (
    check_distinct_targets,
    check_target_is_no_input,
    check_writable,
    has_generators,
    is_standard_output,
    write_text_atomically,
)
from conformance.base.processes.start import available_processors
from conformance.base.serialization.decoding import read_own_toml
from conformance.base.serialization.printable_text import escape_unprintable, print_line, print_notice, resume_option
from conformance.base.verdicts import Level
from conformance.commands.completion import completion_by
from conformance.run.corpus_run.run_options import RUN_OPTIONS, SELECTION_OPTIONS, flag_name, option_entries
from conformance.run.report.report_files import FORMATS, ReportFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.run.corpus_run.run_options import OptionEntry


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


def check_number(value: float) -> float:
    """Return the value of an option unchanged, after the check that it is a number: NaN is within every range.

    Raises:
        BadParameter: the value is NaN.
    """
    if math.isnan(value):
        raise typer.BadParameter("must be a number (got nan).")
    return value


def parse_workers(text: str) -> int:
    """Return the number of processes for the value of `--workers`; `auto` is the number of processors.

    Raises:
        BadParameter: the value is neither `auto` nor a number from 1 to `MAX_WORKERS`.
    """
    if text == "auto":
        return min(available_processors(), MAX_WORKERS)
    if re.fullmatch("[0-9]{1,9}", text, re.ASCII) is None or not 1 <= int(text) <= MAX_WORKERS:
        shown = text if len(text) <= MAX_SHOWN_LENGTH else f"{text[:MAX_SHOWN_LENGTH]}…"
        raise typer.BadParameter(f"must be auto or a number from 1 to {MAX_WORKERS} (got {shown}).")
    return int(text)


_BEHAVIOUR: Mapping[str, Mapping[str, Any]] = {
    "require_judged": {"callback": check_number},
    "seconds": {"callback": check_positive},
    "timeout": {"callback": check_positive},
    "verbose": {"callback": _set_verbose, "is_eager": True},
    "workers": {"parser": parse_workers},
}
"""Checks and conversions of the values of options, as arguments of `typer.Option`, by the name of the parameter."""

_VERB_OPTIONS = {
    verb: option_entries(table) for verb, table in read_own_toml("conformance.commands", "options.toml").items()
}


def _verb_option(verb: str, name: str) -> OptionEntry:
    """Return the entry of a parameter of a verb: its own, else the shared one, else that of a run."""
    tables = (_VERB_OPTIONS.get(verb, {}), _VERB_OPTIONS["shared"], RUN_OPTIONS)
    return next(table[name] for table in tables if name in table)


def default_of(verb: str, name: str) -> Any:
    """Return the default of an option that the verb must tell from a given value, so that its parameter is None."""
    return _VERB_OPTIONS[verb][name].default


def declare_option(name: str, entry: OptionEntry) -> Any:
    """Return the typer declaration of an option or argument, by the name of its parameter."""
    given: dict[str, Any] = {
        "metavar": entry.metavar or None,
        "help": entry.help.replace("[", "\\[").replace("{default}", str(entry.default)),
        "min": entry.minimum,
        "max": entry.maximum,
        "autocompletion": completion_by(entry.completion) if entry.completion else None,
        "show_default": entry.show_default,
        "rich_help_panel": entry.panel,
    }
    if entry.is_argument:
        return typer.Argument(**given)
    given |= _BEHAVIOUR.get(name, {})
    return typer.Option(*(entry.flags or [flag_name(name)]), **given)


class FailLevel(StrEnum):
    """The weakest level of cases that can fail a run."""

    MUST = "must"
    SHOULD = "should"


_ENUMS: Mapping[str, type[StrEnum]] = {"fail_level": FailLevel, "select_level": Level}


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
        entries = _VERB_OPTIONS.get(ctx.command.name or "", {})
        for parameter in parameters:
            if parameter.name in entries and entries[parameter.name].needs_checkout:
                parameter.hidden = not has_generators()
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
            Exit: a subject in this process has raised SystemExit, which no verb does.
        """
        try:
            return super().invoke(ctx)
        except SystemExit:
            print_line("FAILED", err=True)
            print_line("  A subject in the process of the command raised SystemExit outside of its run.", err=True)
            raise typer.Exit(ExitStatus.FAILS) from None
        except ConformanceError as error:
            target = ctx.params.get("json")
            is_new = target is not None and (Path(target) == Path("-") or not Path(target).exists())
            if is_new and target != ctx.params.get("resume"):  # an error is nothing to continue with
                write_text_atomically(Path(target), json.dumps({"error": error.as_json()}) + "\n")
            raise


class VerbWithPanels(Verb):
    """A verb with many options, which `--help` shows in panels."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the verb, each with its panel of `--help`."""
        return _CommonHelp.get_params(self, ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            UsageError: an argument that is left over is the file of a model, or may be the name of a subject.
        """
        words = list(args)  # the parser removes them from its list
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            left_over = str(getattr(error, "message", ""))
            models = [word for word in words if word.endswith(".onnx") and word in left_over and Path(word).is_file()]
            if models:
                raise UsageError("model-for-run", path=models[0]) from None
            names = [word for word in words if left_over.endswith(f"({word})") and re.fullmatch(r"\w[\w.:-]*", word)]
            if names and any("-b" in option.opts for option in self.params):
                raise UsageError("argument-left-over", verb=self.name, argument=names[0]) from None
            raise


class Verbs(_CommonHelp, TyperGroup):
    """A group of verbs."""


def add_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the verb for `command`: the tables of options declare its parameters.

    `settings` is replaced by the options of a run; `command` receives a `Settings`. `selection` is replaced by the
    options that select cases; `command` receives a `Selection`. `outputs` is replaced by one option per report format;
    `command` receives a `ReportFiles`. If `command` has no parameter `verbose`, the verb gets the option `--verbose`,
    which adds the error code to error messages.

    The verb first checks that its outputs are different files and replace none of its inputs. If it is interrupted, it
    prints what is kept and how to go on: the notes of the KeyboardInterrupt, if any.
    """
    groups = {"settings": list(RUN_OPTIONS), "selection": ["keyword", *SELECTION_OPTIONS]}
    own = inspect.signature(command).parameters
    entries: dict[str, OptionEntry] = {}

    @wraps(command)
    def verb(**given: Any) -> None:
        _check_files(entries, given)
        outputs = {name: Path(given[name]) for name, entry in entries.items() if entry.is_output and given.get(name)}
        before = {name: _last_change(path) for name, path in outputs.items()}
        is_resumed = bool(given.get("resume"))
        values = {group: {name: given.pop(name) for name in groups[group]} for group in groups.keys() & own.keys()}
        if "settings" in own:
            from conformance.run.corpus_run.settings import settings_from_options

            given["settings"] = settings_from_options(values["settings"])
        if "selection" in own:
            from conformance.run.corpus_run.settings import selection_from_values

            given["selection"] = selection_from_values(values["selection"])
        if "outputs" in own:
            given["outputs"] = ReportFiles({name: path for name in FORMATS if (path := given.pop(name))})
        if "verbose" not in own:
            given.pop("verbose", None)
        try:
            command(**given)
        except KeyboardInterrupt as interruption:
            for line in getattr(interruption, "__notes__", [_interruption_line(entries, outputs, before, is_resumed)]):
                print_notice(line)
            raise

    hints = get_type_hints(command, localns={"Settings": object, "Selection": object})  # their imports take time
    parameters: list[inspect.Parameter] = []

    def add(name: str, entry: OptionEntry, type: Any, default: object) -> None:
        entries[name] = entry
        annotation = Annotated[type, declare_option(name, entry)]
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))

    for parameter in own.values():
        if parameter.name in groups:
            for name in groups[parameter.name]:
                add(name, RUN_OPTIONS[name], *_run_type(name))
        elif parameter.name == "outputs":
            for name in FORMATS:
                add(name, _VERB_OPTIONS["shared"][name], Path | None, None)
        else:
            entry = _verb_option(command.__name__.strip("_"), parameter.name)
            add(parameter.name, entry, hints[parameter.name], parameter.default)
    if "verbose" not in hints:
        add("verbose", _VERB_OPTIONS["shared"]["verbose"], bool, False)
    vars(verb)["__signature__"] = inspect.Signature(parameters)
    verb.__annotations__ = {}  # typer would evaluate those of `command`
    return verb


def _last_change(path: Path) -> int | None:
    """Return the time of the last change of a file or folder; None if it does not exist."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _interruption_line(
    entries: Mapping[str, OptionEntry],
    outputs: Mapping[str, Path],
    before: Mapping[str, int | None],
    is_resumed: bool,
) -> str:
    """Return which outputs an interrupted verb has written, and how it is continued.

    Args:
        entries: the options of the verb, by the name of the parameter.
        outputs: the paths of the outputs that are given.
        before: the time of their last change before the verb began.
        is_resumed: whether `--resume` is given.
    """
    if not any(entry.is_output for entry in entries.values()):
        return "Interrupted."
    state = (entries["resume"].continued_by or "resume") if "resume" in entries else ""
    kept = [
        name
        for name, path in outputs.items()
        if (time := _last_change(path)) is not None and (name == state or time != before[name])
    ]
    files = ", ".join(str(outputs[name]) for name in kept)
    line = f"Interrupted: {files or 'nothing'} {'are' if len(kept) > 1 else 'is'} kept."
    if state in kept:
        more = "" if is_resumed else f" and {resume_option(outputs[state])}"
        return f"{line} Continue with the same options{more}."
    if state in outputs:
        return f"{line} Nothing was written yet: give the same command again."
    if state and not is_resumed:
        flag = (entries[state].flags or [flag_name(state)])[0]
        return f"{line} With {flag} {entries[state].metavar}, the same command can be continued."
    return line


_FOLDER_METAVARS = {"DIR", "FOLDER"}


def _check_files(entries: Mapping[str, OptionEntry], given: Mapping[str, Any]) -> None:
    """Check that the outputs of a verb are different files that can be written, and that none replaces an input.

    Raises:
        UsageError: two of the files are the same, or an output cannot be written. With `--check`, none is written.
    """
    targets = {name: Path(given[name]) for name, entry in entries.items() if entry.is_output and given.get(name)}
    check_distinct_targets(list(targets.values()))
    for name, entry in entries.items():
        for path in _input_paths(entry, given.get(name)) if targets and not entry.is_output else []:
            for output, target in targets.items():
                if output != entry.continued_by:
                    check_target_is_no_input(target, path)
    for output, target in targets.items() if not given.get("check") else ():
        check_writable(target, is_folder=entries[output].metavar in _FOLDER_METAVARS)


def _input_paths(entry: OptionEntry, value: object) -> list[Path]:
    """Return the paths in the value of an option, also those of a command that starts a harness."""
    if isinstance(value, list):
        return [path for each in value for path in _input_paths(entry, each)]
    if isinstance(value, Path):
        return [value]
    if not isinstance(value, str):
        return []
    from conformance.subjects.calling.subject_names import EXEC_PREFIX

    if value.startswith(EXEC_PREFIX):
        with suppress(ValueError):  # another check finds a quotation mark without its end
            return [Path(word) for word in shlex.split(value.removeprefix(EXEC_PREFIX))]
    return [Path(value)] if "FILE" in entry.metavar else []


def _run_type(name: str) -> tuple[Any, object]:
    """Return the type of a run option's value, and its default."""
    option = RUN_OPTIONS[name]
    type: Any = _ENUMS.get(name, option.type)
    if option.is_repeatable:
        return list[type] | None, None
    return (type | None if option.default is None else type), option.default


def print_written_reports(outputs: ReportFiles) -> None:
    """Print the path of every report that was written to a file."""
    for path in outputs.paths.values():
        if not is_standard_output(path):
            print_line(f"Wrote {path}.", err=outputs.take_standard_output)
