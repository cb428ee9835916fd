"""`onnx-conformance strength`: what the corpus notices, and that it accuses nobody wrongly."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from conformance.commands.options import Data
from conformance.commands.terminal import say


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
) -> None:
    """Run the corpus against the catalogue of wrong implementations and against correct variants.

    Exit status: 0 where every deviation of level must is noticed by a must case, every faulty rewrite by a case of the
    pass, no correct variant or rewrite is accused, and no bound is refuted or wide without a reason, 1 where not.
    """
    from conformance.corpus.corpus import bundled, open_corpus
    from conformance.run.terminal import counting
    from conformance.strength.operators import measure, work
    from conformance.strength.report import document, lines, rewrite_document, rewrite_lines
    from conformance.strength.rewrites import measure_rewrites, rewrites_work
    from conformance.strength.tightness_report import Tightness, tightness_document

    corpus = open_corpus(data or bundled())
    with counting("measuring", work() + rewrites_work()) as progress:
        strength, rewrites = measure(corpus, progress), measure_rewrites(corpus, progress)
    swept = []
    if sweep:
        from conformance.strength.sweep import SWEEPS
        from conformance.strength.sweep import sweep as run_sweep

        with counting("sweeping", SWEEPS) as progress:
            swept = run_sweep(sweep, progress)
    tight = None
    if tightness:
        from conformance.strength.tightness import measure_tightness, tightness_work

        with counting("attacking bounds", tightness_work(corpus)) as progress:
            tight = Tightness(measure_tightness(corpus, progress))
    if as_json:
        whole = document(corpus, strength, swept)
        whole |= {"holds": whole["holds"] and rewrites.holds, "rewrites": rewrite_document(rewrites)}
        if tight is not None:
            whole |= {"holds": whole["holds"] and tight.holds, "tightness": tightness_document(tight)}
        say(json.dumps(whole, indent=1))
    else:
        for line in (*lines(strength, swept, verbose=verbose), *rewrite_lines(rewrites, verbose=verbose)):
            say(line)
    raise typer.Exit(0 if strength.holds and rewrites.holds and all(one.holds for one in swept) else 1)
