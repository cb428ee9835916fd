"""`onnx-conformance list`, `verify`, `generate` and `export`: print, check and write a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import check_empty, write_folder
from conformance.base.serialization.printable_text import name_list, print_line, progress_counter
from conformance.commands.command_options import add_options

if TYPE_CHECKING:
    from conformance.run.results.records import Selection


@add_options
def list_(
    clauses: bool = False,
    backends: bool = False,
    generators: bool = False,
    coverage: bool = False,
    *,
    selection: Selection,
    data: Path | None = None,
) -> None:
    """List the cases with level and title; with an option, list clauses, backends, generators or coverage instead."""
    from conformance.base.plugins import registered_entry_points
    from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus
    from conformance.corpus.generation.corpus_listing import case_lines, clause_lines, coverage_lines
    from conformance.run.corpus_run.settings import select_cases

    if backends or generators:
        from conformance.corpus.generation.generators import generator_locations

        places = {name: point.value for name, point in registered_entry_points("backends").items()}
        for name, place in (places if backends else generator_locations()).items():
            print_line(f"{name}  {place}")
        return
    corpus = open_corpus(data or bundled_corpus_path())
    if coverage:
        for line in coverage_lines(corpus):
            print_line(line)
        return
    chosen = select_cases(corpus, selection)
    for line in clause_lines(corpus) if clauses else case_lines(corpus, chosen):
        print_line(line)


@add_options
def verify(data: Path | None = None) -> None:
    """Check the files of the corpus against the hashes of the manifest."""
    from conformance.corpus.cases.case_loading import verify_companions
    from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus
    from conformance.corpus.cases.released import read_released

    corpus = open_corpus(data or bundled_corpus_path())
    files = corpus.verify()
    verify_companions(corpus)
    read_released(corpus.path)
    print_line(f"corpus {corpus.label} is intact: {len(corpus.cases)} cases, {files} files, digest {corpus.digest}")


@add_options
def export(directory: Path, *, selection: Selection, data: Path | None = None) -> None:
    """Write the corpus as a folder for runners in any language: cases, index.csv, a judge in C, licence and README.

    The selection options choose cases; the default is all cases. The README describes the files and the rules of a
    verdict.

    Exit status: 0 if the folder is written, 2 if the folder is not empty, or an option or the corpus is wrong.
    """
    from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus
    from conformance.corpus.generation.export import exported_files
    from conformance.run.corpus_run.settings import select_cases

    check_empty(directory)
    corpus = open_corpus(data or bundled_corpus_path())
    chosen = select_cases(corpus, selection)
    if not chosen:
        raise UsageError("no-case-selected")
    with progress_counter("cases", len(chosen)) as progress:
        write_folder(directory, exported_files(corpus, chosen, progress))
    print_line(f"Wrote {len(chosen)} of {len(corpus.cases)} cases of corpus {corpus.label} to {directory}.")
    print_line(f"Read {directory / 'README.md'}: run your program on the cases, then judge its outputs.")


@add_options
def generate(
    generator: list[str] | None = None,
    onnx: bool = False,
    operator: list[str] | None = None,
    opset: str | None = None,
    model: list[Path] | None = None,
    inputs: Path | None = None,
    shape: list[str] | None = None,
    no_values: bool = False,
    passes: bool = False,
    output: Path | None = None,
    replace: bool = False,
    check: bool = False,
    corpus_version: str | None = None,
    release: bool = False,
) -> None:
    """Generate the corpus; an existing corpus in the folder is replaced only with --replace.

    A change that can make a passing backend fail needs a higher corpus version: a new major version if expected results
    of a case change, a new minor version if cases are added or removed. If the folder has a file released.json, which
    describes the last released corpus, the version is computed from the changes since then.

    With --onnx, the corpus has the node cases of the installed onnx. Their expected values and bounds are those of the
    reference. Where the reference has no answer, a case has onnx's outputs and the level should. Cases of drawn nodes
    are added for mistakes and types that no case of onnx has. If the folder has such a corpus, cases are added to it.
    With --opset, the corpus has drawn nodes of the versions of this opset instead, or of all versions, which the pages
    of these versions judge.

    With --model, the corpus has a case for each distinct node of your models, and for each region that runtimes fuse,
    with hard values. Sizes of large tensors are reduced. The file NOTICE lists them, and the nodes without a case.

    With --passes, the corpus has models with patterns that graph optimizers rewrite, for `run -o`.

    Exit status with --check: 0 if no file would change, 1 if a file would change.
    """
    from conformance.corpus.cases.corpus import corpus_label
    from conformance.own.model_cases.corpus_request import CorpusRequest

    request = CorpusRequest(
        generator or (),
        corpus_version,
        onnx,
        operator or (),
        opset,
        model or (),
        inputs,
        shape or (),
        not no_values,
        passes,
        output,
    )
    request.check(is_release=release, is_compared=check, replaces=replace)
    directory = request.directory
    if release:
        _release(directory)
        return
    if check:
        count, found = request.differences()
        for line in found:
            print_line(line)
        print_line(f"{len(found)} files differ." if found else f"{directory} is up to date: {count} cases.")
        raise typer.Exit(1 if found else 0)
    extends = not replace and request.is_extensible
    whole = request.extended() if extends else request
    if whole is None:
        print_line(f"{directory} has the cases of {name_list(sorted({*request.operators}))} already.")
        return
    written = whole.write(keeps=extends)
    for line in written.notes:
        print_line(line)
    size = written.size
    counts = f"{size.cases} cases, {size.files} files, {size.bytes} bytes"
    print_line(f"Wrote corpus {corpus_label(written.name, size.version)} to {directory}: {counts}.")
    for line in written.lines():
        print_line(line)


def _release(directory: Path) -> None:
    """Record in released.json that the corpus in a directory is released."""
    from conformance.corpus.cases.corpus import RELEASED
    from conformance.corpus.generation.write_corpus import mark_released

    released = mark_released(directory)
    print_line(
        f"Recorded corpus {released.version} as released in {directory / RELEASED}: {len(released.cases)} cases."
    )
