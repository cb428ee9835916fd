"""`onnx-conformance run`: the corpus on one or more backends and graph optimizers."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import which
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.completion import backend_names, operators, optimizer_names, pass_names
from conformance.commands.options import (
    CaseLevels,
    Cases,
    Clauses,
    Data,
    GateLevel,
    Keyword,
    Operators,
    ProfileName,
    Tags,
    selection_of,
    with_outputs,
)
from conformance.commands.terminal import say, say_written
from conformance.report.outputs import Outputs
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.run.resuming import Begun
    from conformance.run.settings import Settings


def _as_it_was_begun(context: typer.Context, path: Path | None) -> Path | None:
    """Have the options of the run that is continued be the defaults of this one's; the run is the context's object."""
    if path is None:
        return None
    from conformance.run.resuming import begun_run

    context.obj = begun_run(path)
    try:
        words = shlex.split(context.obj.header["command"])
    except ValueError:  # nothing that was typed
        return path
    if words[1:2] == ["run"]:  # and not pytest itself
        given, _, _ = context.command.make_parser(context).parse_args(words[2:])
        context.default_map = {name: value for name, value in given.items() if name not in {"results", "resume"}}
    return path


@with_outputs
def run(
    context: typer.Context,
    backend: Annotated[
        list[str] | None,
        typer.Option(
            *("-b", "--backend"),
            metavar="NAME",
            help="onnxruntime, package.module:Attribute or exec:COMMAND; options in brackets: NAME\\[device=CUDA].",
            autocompletion=backend_names,
        ),
    ] = None,
    optimizer: Annotated[
        list[str] | None,
        typer.Option(
            *("-o", "--optimizer"),
            metavar="NAME",
            help="A graph optimizer, run on the cases of the pass: onnxsim, package.module:function, NAME\\[a=b].",
            autocompletion=optimizer_names,
        ),
    ] = None,
    claims: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PASS",
            help="A pass that graph optimizers implement which do not say so themselves.",
            autocompletion=pass_names,
        ),
    ] = None,
    python: Annotated[
        Path | None,
        typer.Option(
            metavar="PROGRAM",
            help="The Python that subjects run in, with what is installed there.",
        ),
    ] = None,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process",
            help="Run subjects in Python in this process: a crash of theirs is ours.",
        ),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(metavar="S", help="Seconds for a subject to start, and for each case."),
    ] = 60,
    memory: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Address space of a subject's process, as in 4G."),
    ] = "",
    keyword: Keyword = "",
    case: Cases = None,
    tag: Tags = None,
    clause: Clauses = None,
    case_level: CaseLevels = None,
    operator: Operators = None,
    data: Data = None,
    shard: Annotated[
        str,
        typer.Option(
            "--shard",
            metavar="N/M",
            help="Only the Nth of M parts of the cases; `merge` joins them.",
        ),
    ] = "",
    last_failed: Annotated[bool, typer.Option("--lf", help="Only what failed the last time.")] = False,
    level: Annotated[
        GateLevel,
        typer.Option(metavar="must|should", help="Up to which level the gate judges."),
    ] = GateLevel.MUST,
    expect: Annotated[
        list[Path] | None,
        typer.Option("--expect", metavar="FILE", help="Known non-passes of a subject, with reasons."),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            metavar="OPERATOR",
            help="Fail where this one is unsupported or not run.",
            autocompletion=operators,
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="Results of an earlier run: only regressions fail.",
        ),
    ] = None,
    profile: ProfileName = None,
    workers: Annotated[str, typer.Option("-n", metavar="N|auto", help="Run in that many processes.")] = "",
    exit_first: Annotated[bool, typer.Option("-x", help="Stop at the first surprise.")] = False,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            max=1000,
            help="Run every case N times; verdicts must agree.",
        ),
    ] = 1,
    diagnosis: Annotated[
        bool,
        typer.Option("--diagnosis/--no-diagnosis", help="Look for what explains the failures."),
    ] = True,
    quality: Annotated[
        bool,
        typer.Option(
            "--quality", help="Tell how accurate answers are, too: IEEE 754, OpenCL, WGSL. No verdict rests on it."
        ),
    ] = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Continue the run that was to write these results, with its options.",
            is_eager=True,
            callback=_as_it_was_begun,
        ),
    ] = None,
    results: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the results: JSON lines.")] = None,
    *,
    outputs: Outputs,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show every cause, and name all its cases.")] = False,
    quiet: Annotated[
        bool,
        typer.Option("-q", "--quiet", help="Show only whether the gate holds and why not."),
    ] = False,
) -> None:
    """Run the corpus on one or more backends and graph optimizers.

    Exit status: 0 where the gate holds, 1 where it does not, 2 where the command line, the corpus or a file is wrong,
    3 after a fault of the suite itself, 130 after an interruption.
    """
    if in_process:
        _go_on_watched(results or resume)
    from conformance.errors import ExitStatus, UsageError
    from conformance.isolation.limits import Limits, bytes_of
    from conformance.report.writing import write_reports
    from conformance.run.runner import Request, run_corpus
    from conformance.run.selection import Selection, Shard
    from conformance.run.settings import Settings
    from conformance.run.terminal import Detail, Telling
    from conformance.subjects.naming import SubjectKind, SubjectName

    if verbose and quiet:
        raise UsageError("-v and -q contradict each other.", "Give one of them.")
    begun: Begun | None = context.obj if resume else None
    selected = selection_of(keyword, case, tag, clause, case_level, operator)
    subjects = [SubjectName.of(text, SubjectKind.BACKEND) for text in backend or ()]
    subjects += [SubjectName.of(text, SubjectKind.OPTIMIZER) for text in optimizer or ()]
    if begun is not None:
        if results is not None and results.absolute() != begun.target.absolute():
            raise UsageError("--resume and --results name two files.", "Leave --results out.")
        selection = begun.header["selection"]
        subjects = subjects or [SubjectName.of(one["id"], SubjectKind(one["kind"])) for one in begun.header["subjects"]]
        selected = selected if selected.options else Selection.of_options(selection)
        recorded = [each for each in GateLevel if each == selection.get("--level")]
        level = recorded[0] if recorded and level == GateLevel.MUST else level
        shard = shard or selection.get("--shard", "")
    if not subjects:
        raise UsageError("Nothing to run is named.", "Name a backend with -b, or a graph optimizer with -o.")
    settings = Settings(
        *(tuple(subjects), data, selected, Level(level), tuple(expect or ())),
        results=begun.target if begun else results,
        claims=tuple(claims or ()),
        diagnosis=diagnosis,
        quality=quality,
        shard=Shard.read(shard) if shard else None,
        repeat=repeat,
        require=tuple(require or ()),
        baseline=baseline,
        profile=profile,
        in_process=in_process,
        python=Path(which(python) or python).absolute() if python else None,
        limits=Limits(timeout, bytes_of(memory)),
    )
    outputs.check(*[settings.results] if settings.results else ())
    detail = Detail.CASES if verbose else Detail.GATE if quiet else Detail.CAUSES
    telling = Telling(detail, settings.results, data, outputs.take_standard_output)
    with _with_results(settings, outputs) as settings:
        status = run_corpus(Request(settings, workers, exit_first, last_failed, begun, telling))
        if settings.results is not None:
            write_reports([settings.results], outputs)
            say_written(outputs)
    if status is ExitStatus.INTERRUPTED and settings.results is not None and (results or begun):
        say(f"Continue it with --resume {settings.results}", err=True)
    raise typer.Exit(status)


def _go_on_watched(results: Path | None) -> None:
    """Run on in a child that subjects may end as they like, and end here as it does; without a status, as a shut gate.

    Args:
        results: where its results go, if they are kept.
    """
    from conformance.errors import ExitStatus
    from conformance.run.partial import partial_of
    from conformance.run.watching import EndedFromWithin, watch

    try:
        status = watch()
    except EndedFromWithin as how:
        kept = f" What it had is kept: --resume {results}" if results and partial_of(results).is_file() else ""
        say(f"The gate does not hold: the process {how} before the run was done, by a subject in it.", err=True)
        say(f"Without --in-process that is a verdict, and the run goes on.{kept}", err=True)
        raise typer.Exit(ExitStatus.FAILS) from None
    if status is not None:
        raise typer.Exit(status)


@contextmanager
def _with_results(settings: Settings, outputs: Outputs) -> Iterator[Settings]:
    """The settings, with a results file for as long as reports are made of it where none is to be kept."""
    if settings.results is not None or not outputs.paths:
        yield settings
        return
    from conformance.files.scratch import scratch_folder

    with scratch_folder(Path(gettempdir()), "onnx-conformance-") as scratch:
        yield replace(settings, results=scratch / "results.jsonl")
