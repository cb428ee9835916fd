"""`onnx-conformance generate`: writes a corpus, or says how the one that is there differs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conformance.commands.completion import generator_names
from conformance.commands.terminal import say

Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Where to (default: ./data).")]


def generate(
    generator: Annotated[
        list[str] | None,
        typer.Option(
            *("-g", "--generator"),
            metavar="NAME",
            help="Only these generators; also others' own.",
            autocompletion=generator_names,
        ),
    ] = None,
    output: Output = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; say file by file what differs.")] = False,
    corpus_version: Annotated[str | None, typer.Option(metavar="X.Y.Z", help="The new corpus's version.")] = None,
    release: Annotated[
        bool, typer.Option("--release", help="Define no case: have released.json say that this corpus is released.")
    ] = False,
) -> None:
    """Write the corpus that the generators define, in place of the one that is there.

    A change that can fail a backend that passed before needs a higher version: major where a case judges otherwise,
    minor where cases come or go. Where released.json says what was released last, the version follows from what changed
    since then, however often the corpus is written in between. Exit status with --check: 0 where nothing differs, 1
    where something does.
    """
    from conformance.generation.defined import defined_cases
    from conformance.generation.generation import differences
    from conformance.generation.generation import generate as write
    from conformance.run.progress import counting

    directory = output or Path("data")
    if release:
        _release(directory, alone=not (generator or check or corpus_version))
        return
    cases = defined_cases(generator or ())
    with counting("filling", len(cases)) as progress:
        if check:
            found = differences(directory, cases, progress)
        else:
            written = write(directory, cases, corpus_version, progress)
    if not check:
        counts = f"{written.cases} cases, {written.files} files, {written.bytes} bytes"
        say(f"Wrote corpus {written.version} to {directory}: {counts}.")
        return
    for line in found:
        say(line)
    say(f"{len(found)} files differ." if found else f"{directory} is what the generators give: {len(cases)} cases.")
    raise typer.Exit(1 if found else 0)


def _release(directory: Path, *, alone: bool) -> None:
    """Take the corpus that is there as the one that is released.

    Raises:
        UsageError: something else is asked for at the same time.
    """
    from conformance.corpus.corpus import RELEASED
    from conformance.errors import UsageError
    from conformance.generation.generation import release

    if not alone:
        raise UsageError("--release is about the corpus that is there.", "Generate it first, then release it.")
    released = release(directory)
    say(f"{directory / RELEASED} says that corpus {released.version} is released: {len(released.cases)} cases.")
