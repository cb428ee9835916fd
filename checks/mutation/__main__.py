"""`python -m checks.mutation`: run mutants and correct variants on the corpus and on random examples of the search."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conformance.base.errors import ConformanceError, ExitStatus, UsageError
from conformance.base.plugins import suite_version
from conformance.commands.command_options import declare_option
from conformance.run.corpus_run.run_options import RUN_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checks.mutation.pass_mutants import PassMutant
    from conformance.run.mutants import Mutant

    Catalogue = tuple[Mapping[str, Sequence[Mutant]], Mapping[str, Sequence[PassMutant]]]


PASS_TIME_FACTOR = 5
"""Factor between the time for mutants of the pass and the time for mutants of operators, in the search."""

CORPUS, SEARCH = "Corpus", "Search (instead of the corpus)"

FORMAT = 1
"""Format of the JSON document; `conformance.studies.evidence.evidence_inputs` reads it."""


def _help() -> str:
    """Return the help text, with the number of mutants in the catalogue."""
    from checks.mutation.dimensions import all_mutants
    from checks.mutation.pass_mutants import pass_mutants
    from checks.mutation.search_score import MIN_DETECTION_RATE
    from checks.mutation.variants import VARIANTS

    operators, passes = (sum(map(len, table.values())) for table in (all_mutants(), pass_mutants()))
    return (
        f"Run the corpus on {operators} mutants of operators, {passes} mutants of the pass and {len(VARIANTS)} correct"
        " variants.\n\n"
        "Exit status 0: every mutant of level must is detected by a must case, every mutant of the pass by a case of"
        " the pass, there are no false positives, and no bound is refuted or too wide. Exit status 1: otherwise.\n\n"
        "With --search: 0 if random examples detect every mutant that they can reach and, in"
        f" {PASS_TIME_FACTOR} times that time, {MIN_DETECTION_RATE:.0%} of the mutants of the pass. With"
        " --false-positives: 0 if there are none. With --held-out: only the mutants of the file run, and there is no"
        " required rate of detection: 0 if all are detected."
    )


@dataclass(frozen=True)
class _Result:
    """The result of one measurement, as JSON and as text."""

    passes: bool
    document: Mapping[str, Any]
    lines: Sequence[str]


def run_mutation_tests(
    context: typer.Context,
    data: Annotated[Path | None, declare_option("data", RUN_OPTIONS["data"])] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, dir_okay=False, help="Run the mutants in this TOML file instead."),
    ] = None,
    json_file: Annotated[
        str, typer.Option("--json", metavar="FILE", help="Write the results as JSON; - is standard output.")
    ] = "",
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print every mutant and the case that detects it.")
    ] = False,
    sweep: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, rich_help_panel=CORPUS, help="Also run correct variants on N random elements per type."
        ),
    ] = 0,
    tightness: Annotated[
        bool,
        typer.Option(
            "--tightness",
            rich_help_panel=CORPUS,
            help="Also measure how tight each bound is: an adversary chooses each rounding.",
        ),
    ] = False,
    bounds_of: Annotated[
        str,
        typer.Option(
            metavar="PATTERN",
            rich_help_panel=CORPUS,
            help="Only measure the bounds of the cases whose ids match; * is any text.",
        ),
    ] = "",
    search: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            rich_help_panel=SEARCH,
            help="Measure which mutants random examples detect in so much processor time.",
        ),
    ] = 0,
    examples: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            rich_help_panel=SEARCH,
            help="With --search: stop after N examples. The time then limits each mutant as if it were tested alone.",
        ),
    ] = 0,
    false_positives: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            rich_help_panel=SEARCH,
            help="Run correct variants, a new random one each time, and correct optimizers on N random examples.",
        ),
    ] = 0,
    family: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SEARCH,
            help="With --false-positives: draw examples of this operator, or of the pass, alone.",
        ),
    ] = "",
    seed: Annotated[int, typer.Option(metavar="N", min=0, rich_help_panel=SEARCH, help="Random seed.")] = 0,
) -> None:
    """Run the measurements that the options select, print them, and exit."""
    chosen = _catalogue(held_out)
    if search or false_positives:
        results = [
            *_search_results(search, examples, seed, chosen),
            *_false_positive_results(false_positives, family, seed),
        ]
    else:
        results = _corpus_results(data, sweep, bounds_of, chosen, verbose=verbose, tightness=tightness)
    passes = all(result.passes for result in results)
    if json_file:
        merged = {name: value for result in results for name, value in result.document.items()}
        command = shlex.join(["python", "-m", "checks.mutation", *(context.obj or ())])
        head = {"format": FORMAT, "suite": suite_version(), "command": command}
        text = json.dumps(head | merged | {"passes": passes}, indent=1) + "\n"
        if json_file == "-":
            typer.echo(text, nl=False)
        else:
            Path(json_file).write_text(text, "utf-8")
    if json_file != "-":
        for line in (line for result in results for line in result.lines):
            typer.echo(line)
    raise typer.Exit(ExitStatus.PASSES if passes else ExitStatus.FAILS)


def _catalogue(held_out: Path | None) -> Catalogue | None:
    """Return the mutants in a file; None if no file is given, for the mutants of the catalogue."""
    from checks.mutation.held_out import read_held_out

    return None if held_out is None else read_held_out(held_out)


def _corpus_results(
    data: Path | None, sweep: int, bounds_of: str, chosen: Catalogue | None, *, verbose: bool, tightness: bool
) -> list[_Result]:
    from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus

    corpus = open_corpus(data or bundled_corpus_path())
    results = [] if bounds_of else list(_score_results(corpus, sweep, chosen, verbose=verbose))
    if tightness or bounds_of:
        results.append(_tightness_result(corpus, bounds_of or "*"))
    return results


def _search_results(seconds: float, examples: int, seed: int, chosen: Catalogue | None) -> Iterator[_Result]:
    from checks.mutation.dimensions import all_mutants
    from checks.mutation.pass_mutants import pass_mutants
    from checks.mutation.search_score import measure_pass_search_score, measure_search_score
    from conformance.base.serialization.printable_text import progress_counter

    if not seconds:
        return
    families, themes = chosen or (all_mutants(), pass_mutants())
    mutants = [mutant for family in families.values() for mutant in family]
    of_pass = [mutant for theme in themes.values() for mutant in theme]
    with progress_counter("searching", len(mutants) + len(of_pass)) as progress:
        if examples:
            score = measure_search_score(mutants, seed, lambda so_far: so_far.examples >= examples, progress, seconds)
        else:
            score = measure_search_score(mutants, seed, lambda so_far: so_far.seconds > seconds, progress)
        pass_seconds = seconds if examples else PASS_TIME_FACTOR * seconds
        pass_score = (
            measure_pass_search_score(of_pass, seed, pass_seconds, progress, examples or None) if of_pass else None
        )
    yield _Result(score.passes, {"search": score.to_document()}, list(score.lines()))
    if pass_score is not None:
        passes = pass_score.passes if chosen is None else not pass_score.missed
        yield _Result(passes, {"pass_search": asdict(pass_score)}, list(pass_score.lines()))


def _false_positive_results(examples: int, family: str, seed: int) -> Iterator[_Result]:
    from checks.mutation.false_positives import FAMILIES, MIXED, find_false_positives
    from checks.mutation.pass_mutants.correct_variants import CORRECT_OTHER_OPTIMIZERS, CORRECT_PASSES
    from checks.mutation.variants import VARIANTS
    from conformance.base.serialization.printable_text import progress_counter
    from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME

    if not examples:
        return
    if family and family not in FAMILIES:
        raise UsageError("unknown-family", f"--family: there is no family {family!r}.", f"Use {', '.join(FAMILIES)}.")
    optimizers: list[tuple[PassMutant, tuple[str, ...]]] = [(one, (PASS_NAME,)) for one in CORRECT_PASSES]
    optimizers += [(one, ()) for one in CORRECT_OTHER_OPTIMIZERS]
    with progress_counter("running examples", examples) as progress:
        found = find_false_positives(VARIANTS, optimizers, seed, examples, progress, (family,) if family else MIXED)
    yield _Result(found.passes, {"false_positives": asdict(found)}, list(found.lines()))


def _score_results(corpus: Any, sweep: int, chosen: Catalogue | None, *, verbose: bool) -> Iterator[_Result]:
    from checks.mutation.operators import measure_mutation_score, progress_steps
    from checks.mutation.passes import measure_pass_mutation_score, pass_progress_steps
    from checks.mutation.report import pass_score_document, pass_score_lines, score_document, score_lines
    from conformance.base.serialization.printable_text import progress_counter

    mutants, of_pass = chosen or (None, None)
    steps = progress_steps() + pass_progress_steps()
    if chosen is not None:
        steps = sum(len(rows) for table in chosen for rows in table.values())
    with progress_counter("running mutants", steps) as progress:
        score = None if mutants == {} else measure_mutation_score(corpus, progress, mutants=mutants)
        pass_score = None if of_pass == {} else measure_pass_mutation_score(corpus, progress, of_pass)
    swept = []
    if sweep:
        from checks.mutation.variant_sweep import NUMBER_OF_SWEEPS
        from checks.mutation.variant_sweep import sweep as run_sweep

        with progress_counter("sweeping", NUMBER_OF_SWEEPS) as progress:
            swept = run_sweep(sweep, progress)
    if score is not None:
        passes = score.passes and all(one.passes for one in swept)
        yield _Result(passes, score_document(corpus, score, swept), list(score_lines(score, swept, verbose=verbose)))
    if pass_score is not None:
        document = {"pass": pass_score_document(pass_score)}
        yield _Result(pass_score.passes, document, list(pass_score_lines(pass_score, verbose=verbose)))


def _tightness_result(corpus: Any, pattern: str) -> _Result:
    from checks.mutation.bound_tightness import (
        Tightness,
        bounded_cases,
        measure_tightness,
        tightness_document,
        tightness_lines,
    )
    from conformance.base.serialization.printable_text import progress_counter

    if not (cases := bounded_cases(corpus, pattern)):
        raise UsageError(
            "no-bounded-cases",
            f"--bounds-of: no must case with a bound has an id that matches {pattern!r}.",
            "Expanded cases (_expanded) are not measured. onnx-conformance list prints all ids.",
        )
    with progress_counter("measuring bounds", len(cases)) as progress:
        found = Tightness(measure_tightness(corpus, cases, progress))
    return _Result(found.passes, {"tightness": tightness_document(found)}, list(tightness_lines(found)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(help=_help())(run_mutation_tests)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(given, prog_name="python -m checks.mutation", standalone_mode=True, obj=given)
    except SystemExit as ended:
        return int(ended.code or 0)
    except ConformanceError as error:
        sys.stderr.write(f"error[{error.code}]: {error.problem}\n       {error.hint}\n")
        return ExitStatus.USAGE
    return ExitStatus.PASSES


if __name__ == "__main__":
    sys.exit(main())
