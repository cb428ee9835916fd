"""`onnx-conformance strength`: what the corpus notices, and that it accuses nobody wrongly."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conformance.commands.options import Data
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.corpus.corpus import Corpus


REWRITES_TAKE = 5
"""How many times as long as for deviations is drawn for faulty rewrites."""


def strength(
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print every deviation and who notices it.")] = False,
    sweep: Annotated[
        int, typer.Option(metavar="N", min=0, help="Also try correct variants on N random elements per type.")
    ] = 0,
    tightness: Annotated[
        bool, typer.Option("--tightness", help="Also let an adversary choose each rounding: how tight is each bound?")
    ] = False,
    bounds_of: Annotated[
        str,
        typer.Option(metavar="PATTERN", help="Only attack the bounds of cases whose ids fit it, with * for any text."),
    ] = "",
    search: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="Instead, with the corpus withheld: what do the draws of `search` notice in so much processor time?",
        ),
    ] = 0,
    variants: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Instead: do N draws of `search` accuse a correct variant or a right rewrite?"
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the draws of --search and --variants.")] = 0,
) -> None:
    """Run the corpus against the catalogue of wrong implementations and against correct variants.

    Exit status: 0 where every deviation of level must is noticed by a must case, every faulty rewrite by a case of the
    pass, no correct variant or rewrite is accused, and no bound is refuted or wide, 1 where not. With
    --search: 0 where draws notice every deviation that they can reach, and in five times as long 98 of 101 faulty
    rewrites. With --variants: 0 where draws accuse nobody.
    """
    if search or variants:
        findings = [*_searched(search, seed), *_acquitted(variants, seed)]
    else:
        findings = _of_corpus(data, sweep, bounds_of, verbose=verbose, tightness=tightness)
    holds = all(finding.holds for finding in findings)
    if as_json:
        merged = {name: value for finding in findings for name, value in finding.document.items()}
        say(json.dumps(merged | {"holds": holds}, indent=1))
    else:
        for line in (line for finding in findings for line in finding.lines):
            say(line)
    raise typer.Exit(0 if holds else 1)


@dataclass(frozen=True)
class _Finding:
    """Something that was measured, as it is printed, and whether all is well with it."""

    holds: bool
    document: Mapping[str, Any]
    lines: Sequence[str]


def _of_corpus(data: Path | None, sweep: int, bounds_of: str, *, verbose: bool, tightness: bool) -> list[_Finding]:
    from conformance.corpus.corpus import bundled, open_corpus

    corpus = open_corpus(data or bundled())
    findings = [] if bounds_of else list(_noticed(corpus, sweep, verbose=verbose))
    if tightness or bounds_of:
        findings.append(_attacked(corpus, bounds_of or "*"))
    return findings


def _searched(seconds: float, seed: int) -> Iterator[_Finding]:
    from conformance.deviations import catalogue
    from conformance.deviations.rewrites import faulty_rewrites
    from conformance.run.progress import counting
    from conformance.search.measuring import measure_search, search_document, search_lines
    from conformance.search.rewriting import measure_rewrites_drawn

    if not seconds:
        return
    deviations = [deviation for family in catalogue().values() for deviation in family]
    faults = [fault for group in faulty_rewrites().values() for fault in group]
    with counting("searching", len(deviations) + len(faults)) as progress:
        found = measure_search(deviations, seed, lambda strength: strength.seconds > seconds, progress)
        rewrites = measure_rewrites_drawn(faults, seed, REWRITES_TAKE * seconds, progress)
    yield _Finding(found.holds, {"search": search_document(found)}, list(search_lines(found)))
    yield _Finding(rewrites.holds, {"search_rewrites": asdict(rewrites)}, list(rewrites.lines()))


def _acquitted(draws: int, seed: int) -> Iterator[_Finding]:
    from conformance.deviations.rewrites.admissible import ADMISSIBLE, WITHOUT_CLAIM
    from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
    from conformance.run.progress import counting
    from conformance.search.acquitting import acquit
    from conformance.strength.variants import VARIANTS

    if not draws:
        return
    variants = [(variant.id, set(variant.alterations), variant.backend) for variant in VARIANTS]
    rewrites = [(right, (PASS_NAME,)) for right in ADMISSIBLE] + [(right, ()) for right in WITHOUT_CLAIM]
    with counting("drawing", draws) as progress:
        found = acquit(variants, rewrites, seed, draws, progress)
    yield _Finding(found.holds, {"variants": asdict(found)}, list(found.lines()))


def _noticed(corpus: Corpus, sweep: int, *, verbose: bool) -> Iterator[_Finding]:
    from conformance.run.progress import counting
    from conformance.strength.operators import measure, work
    from conformance.strength.report import document, lines, rewrite_document, rewrite_lines
    from conformance.strength.rewrites import measure_rewrites, rewrites_work

    with counting("measuring", work() + rewrites_work()) as progress:
        strength, rewrites = measure(corpus, progress), measure_rewrites(corpus, progress)
    swept = []
    if sweep:
        from conformance.strength.sweep import SWEEPS
        from conformance.strength.sweep import sweep as run_sweep

        with counting("sweeping", SWEEPS) as progress:
            swept = run_sweep(sweep, progress)
    holds = strength.holds and all(one.holds for one in swept)
    yield _Finding(holds, document(corpus, strength, swept), list(lines(strength, swept, verbose=verbose)))
    told = {"rewrites": rewrite_document(rewrites)}
    yield _Finding(rewrites.holds, told, list(rewrite_lines(rewrites, verbose=verbose)))


def _attacked(corpus: Corpus, pattern: str) -> _Finding:
    from conformance.errors import UsageError
    from conformance.run.progress import counting
    from conformance.strength.tightness import bounded_cases, measure_tightness
    from conformance.strength.tightness_report import Tightness, tightness_document, tightness_lines

    if not (cases := bounded_cases(corpus, pattern)):
        raise UsageError(
            f"No must case with a bound has an id that fits {pattern!r}.",
            "Cases that were lowered from others (_expanded) are not attacked; onnx-conformance list names all.",
        )
    with counting("attacking bounds", len(cases)) as progress:
        found = Tightness(measure_tightness(corpus, cases, progress))
    return _Finding(found.holds, {"tightness": tightness_document(found)}, list(tightness_lines(found)))
