"""`onnx-conformance search`: draws beyond the corpus, and what they find made small."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.completion import backend_names, optimizer_names, pass_names
from conformance.commands.options import GateLevel, with_outputs
from conformance.commands.terminal import say
from conformance.report.outputs import Outputs
from conformance.verdicts import Level

if TYPE_CHECKING:
    from conformance.search.finds import Finds
    from conformance.search.job import Find, SearchJob
    from conformance.subjects.naming import SubjectKind

DEFAULT_SECONDS = 60.0


class SearchedOperator(StrEnum):
    """What draws can be about."""

    ADAM = "adam"
    MOMENTUM = "momentum"
    ADAGRAD = "adagrad"
    ARGMAX = "argmax"
    PASS = "pass"  # noqa: S105


_NAMES = {
    "adam": "Adam",
    "momentum": "Momentum",
    "adagrad": "Adagrad",
    "argmax": "ArgMax",
    "pass": "eliminate_nop_monotone_argmax",
}


@with_outputs
def search(
    backend: Annotated[
        list[str] | None,
        typer.Option(
            *("-b", "--backend"),
            metavar="NAME",
            help="A backend, as `run` takes it.",
            autocompletion=backend_names,
        ),
    ] = None,
    optimizer: Annotated[
        list[str] | None,
        typer.Option(
            *("-o", "--optimizer"),
            metavar="NAME",
            help="A graph optimizer, likewise.",
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
    operator: Annotated[
        list[SearchedOperator] | None,
        typer.Option("--operator", help="What draws are about; all that the subjects can be asked of by default."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help=f"How long to search (default: {DEFAULT_SECONDS:g}).")
    ] = None,
    examples: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many draws at least, instead of --seconds; the finds repeat."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Another seed, other draws.")] = 0,
    level: Annotated[
        GateLevel, typer.Option(metavar="must|should", help="At which level draws are judged.")
    ] = GateLevel.MUST,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the finds as a corpus, which run --data DIR takes.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run the finds once more, and write the results.")
    ] = None,
    *,
    outputs: Outputs,
    workers: Annotated[
        int | None, typer.Option("-n", metavar="N", help="Search in that many processes of this machine.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Search on the workers of a Dask scheduler: tcp://HOST:8786.")
    ] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Run subjects in the searching process: a crash of theirs ends it.")
    ] = False,
    timeout: Annotated[float, typer.Option(metavar="S", help="Seconds that a subject has for a draw.")] = 10.0,
) -> None:
    """Search for inputs and models beyond the corpus that a subject gets wrong, and make what is found small.

    Draws come from the dimensions that the corpus is made of, and are judged as its cases are. Equal causes are one
    find. Exit status: 0 where nothing is found, 1 where something is or a subject supports nothing, 2 where the command
    line is wrong, 130 after an interruption, which keeps the finds.
    """
    from conformance.campaigns.campaign import campaign
    from conformance.campaigns.choice import workers_of
    from conformance.errors import ExitStatus, UsageError
    from conformance.files.regular import check_results_target
    from conformance.files.scratch import scratch_folder
    from conformance.search.finds import Finds
    from conformance.search.job import SearchJob
    from conformance.subjects.naming import SubjectKind

    subjects = [(text, SubjectKind.BACKEND) for text in backend or ()]
    subjects += [(text, SubjectKind.OPTIMIZER) for text in optimizer or ()]
    if not subjects:
        raise UsageError("Nothing to search is named.", "Name a backend with -b, or a graph optimizer with -o.")
    if seconds is not None and examples is not None:
        raise UsageError("--seconds and --examples exclude each other.", "Leave one out.")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise UsageError(f"--seconds {seconds:g} is no time to search for.", "Give a positive number of seconds.")
    _check_empty(keep)
    if results is not None:
        check_results_target(results)
    outputs.check(*[results] if results else ())
    job = SearchJob(
        tuple(subjects),
        _operators(operator, subjects),
        seed,
        examples or 0,
        timeout,
        isolated=not in_process,
        claims=tuple(claims or ()),
        level=Level(level),
        until=float("inf") if examples else time.time() + (seconds or DEFAULT_SECONDS),
    )
    finds, started = Finds(job), time.monotonic()
    status = ExitStatus.HOLDS
    try:
        for piece in campaign(job, workers_of(workers, dask, lambda text: say(text, err=True))):
            finds.add(piece)
            _progress(finds, time.monotonic() - started)
            if time.time() >= job.until:
                break
    except KeyboardInterrupt:
        status = ExitStatus.INTERRUPTED
    _say_what_came(finds, time.monotonic() - started)
    if status is ExitStatus.HOLDS and (len(finds) or finds.unsupporting()):
        status = ExitStatus.FAILS
    if not len(finds):
        raise typer.Exit(status)
    with scratch_folder(Path(gettempdir()), "onnx-conformance-") as scratch:
        kept = keep or scratch / "finds"
        finds.keep(kept)
        if keep is not None:
            say(f"Wrote {keep}: run it with `onnx-conformance run --data {keep}`.")
        if results is not None or outputs.paths:
            _run_finds(job, kept, results or scratch / "results.jsonl", outputs)
    raise typer.Exit(status)


def _check_empty(keep: Path | None) -> None:
    """Refuse to write finds where something is already or nothing can be, before anything is searched."""
    from conformance.errors import UsageError
    from conformance.files.regular import check_target

    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError(f"{keep} is not an empty directory.", "Name one that is empty, or that is not there yet.")
    if keep is not None and not keep.exists():
        check_target(keep)


def _operators(operators: list[SearchedOperator] | None, subjects: list[tuple[str, SubjectKind]]) -> tuple[str, ...]:
    """The op_types that draws are about."""
    from conformance.subjects.naming import SubjectKind

    if operators:
        return tuple(dict.fromkeys(_NAMES[one] for one in operators))
    kinds = {kind for _, kind in subjects}
    of_backends = [name for word, name in _NAMES.items() if word != "pass" and SubjectKind.BACKEND in kinds]
    return (*of_backends, *([_NAMES["pass"]] if SubjectKind.OPTIMIZER in kinds else []))


def _progress(finds: Finds, seconds: float) -> None:
    if sys.stderr.isatty():
        say(f"\r{finds.draws} draws, {len(finds)} finds, {seconds:.0f} s ", nl=False, err=True)


def _say_what_came(finds: Finds, seconds: float) -> None:
    if sys.stderr.isatty():
        say("", err=True)
    for find in finds:
        _say_find(find)
    answered = finds.draws - sum(finds.unanswered.values())
    say(f"{finds.draws} draws in {seconds:.0f} s ({finds.draws / max(seconds, 0.001):.0f} a second), {answered} with a")
    say(f"must answer; {len(finds)} {'find' if len(finds) == 1 else 'finds'}.")
    for reason, number in finds.unanswered.most_common():
        say(f"  {number} left out: {reason}")
    for subject, counts in finds.verdicts.items():
        say(f"  {subject}: " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
        say(f"    {finds.unfilled[subject]} of them without the oracle, since the native reference decided")
    say("  in the place: " + ", ".join(f"{place} {number}" for place, number in finds.places.most_common()))
    for subject in finds.unsupporting():
        say(f"{subject} supported nothing of what was drawn: nothing is known of it.")


def _say_find(find: Find) -> None:
    from conformance.boundary.text import one_line
    from conformance.results.evidence import bounded
    from conformance.search.cases import described
    from conformance.search.choice import Choice
    from conformance.search.filled import id_of

    choice = Choice.of(find["choice"])
    say(f"{find['subject']}: {find['verdict']}: {one_line(bounded(find['message']))}")
    say(f"  {described(choice)} ({id_of(choice)})")


def _run_finds(job: SearchJob, corpus: Path, results: Path, outputs: Outputs) -> None:
    """Run the finds as a corpus, so that every report can be made of them."""
    from conformance.isolation.limits import Limits
    from conformance.report.writing import write_reports
    from conformance.run.runner import Request, run_corpus
    from conformance.run.selection import Selection
    from conformance.run.settings import Settings
    from conformance.run.terminal import Telling
    from conformance.subjects.naming import SubjectName

    subjects = tuple(SubjectName.of(text, kind) for text, kind in job.subjects)
    settings = Settings(
        *(subjects, corpus, Selection(), Level(job.level), ()),
        results=results,
        claims=job.claims,
        in_process=not job.isolated,
        limits=Limits(job.timeout),
    )
    run_corpus(Request(settings, telling=Telling(to_stderr=outputs.take_standard_output)))
    write_reports([results], outputs)
