"""`onnx-conformance generate`: writes a corpus, or says how the one that is there differs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Where to (default: ./data).")]


def generate(
    generator: Annotated[
        list[str] | None,
        typer.Option("-g", "--generator", metavar="NAME", help="Only these generators; also others' own."),
    ] = None,
    output: Output = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; say file by file what differs.")] = False,
    corpus_version: Annotated[str | None, typer.Option(metavar="X.Y.Z", help="The new corpus's version.")] = None,
) -> None:
    """Write the corpus that the generators define, in place of the one that is there.

    A change that can fail a backend that passed before needs a higher version: major where a case judges otherwise,
    minor where cases come or go. Exit status with --check: 0 where nothing differs, 1 where something does.
    """
    from conformance.generation.defined import defined_cases
    from conformance.generation.generation import differences
    from conformance.generation.generation import generate as write
    from conformance.run.terminal import counting

    directory = output or Path("data")
    cases = defined_cases(generator or ())
    with counting("filling", len(cases)) as progress:
        if check:
            found = differences(directory, cases, progress)
        else:
            written = write(directory, cases, corpus_version, progress)
    if not check:
        counts = f"{written.cases} cases, {written.files} files, {written.bytes} bytes"
        typer.echo(f"Wrote corpus {written.version} to {directory}: {counts}.")
        return
    for line in found:
        typer.echo(line)
    typer.echo(
        f"{len(found)} files differ." if found else f"{directory} is what the generators give: {len(cases)} cases."
    )
    raise typer.Exit(1 if found else 0)
