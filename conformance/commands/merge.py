"""`onnx-conformance merge A B… -o OUT`: one results file from those of shards, of subjects, or of both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conformance.commands.options import Data
from conformance.commands.terminal import say


def merge(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS…", help="results.jsonl files of one corpus.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Write the merged results there.")],
    data: Data = None,
) -> None:
    """Join results of one corpus, and judge the union as one run would have been judged.

    Exit status: 0 where the gate of the whole holds, 1 where it does not, 2 where the files do not fit together.
    """
    from conformance.boundary.text import one_line
    from conformance.corpus.corpus import bundled, read_manifest
    from conformance.errors import CorpusError
    from conformance.files.regular import check_target, is_standard_output, write_pieces
    from conformance.results.file import line_of, read
    from conformance.run.merge import merged

    check_target(output)
    taken = is_standard_output(output)
    runs = [read(path) for path in results]
    try:
        corpus = read_manifest(data or bundled())
    except CorpusError:
        corpus = None
    same = corpus is not None and corpus.digest == runs[0].header["corpus"]["digest"]
    run = merged(runs, corpus if same else None)
    write_pieces(output, map(line_of, run.records()))
    count, subjects = run.footer["results"], len(run.header["subjects"])
    say(f"Wrote {output}: {count} results on {subjects} subject{'s' if subjects > 1 else ''}.", err=taken)
    say("The gate holds." if run.footer["gate"] == "pass" else "The gate does not hold:", err=taken)
    for reason in run.footer["reasons"]:
        say(f"  {one_line(reason)}", err=taken)
    raise typer.Exit(1 if run.footer["reasons"] else 0)
