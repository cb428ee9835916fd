"""`onnx-conformance list`, `verify`, `generate` and `export`: print, check and write a corpus."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import check_empty, write_folder
from conformance.base.serialization.printable_text import print_line, print_progress, progress_counter
from conformance.commands.command_options import add_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.own.model_cases.model_cases import ModelCases
    from conformance.own.model_cases.onnx_cases import OnnxCases
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
    are added for mistakes and types that no case of onnx has. With --opset, the corpus has drawn nodes of older
    versions of the operators instead, which the pages of these versions judge.

    With --model, the corpus has a case for each distinct node of your models, and for each region that runtimes fuse,
    with hard values. Sizes of large tensors are reduced. The file NOTICE lists them, and the nodes without a case.

    With --passes, the corpus has models with patterns that graph optimizers rewrite, for `run -o`.

    Exit status with --check: 0 if no file would change, 1 if a file would change.
    """
    from conformance.corpus.cases.corpus import corpus_label
    from conformance.corpus.generation.generators import PATTERNS, define_cases
    from conformance.corpus.generation.write_corpus import check_no_corpus, corpus_differences
    from conformance.corpus.generation.write_corpus import generate as write_corpus

    folder = "onnx-cases" if onnx else "model-cases" if model else "pass-cases" if passes else "data"
    directory = output or Path(folder)
    if onnx and (generator or corpus_version or release or model):
        raise UsageError("options-conflict.alone", option="--onnx")
    if model and (generator or corpus_version or release):
        raise UsageError("options-conflict.alone", option="--model")
    if (operator or opset) and not onnx:
        raise UsageError("onnx-missing", option="--operator" if operator else "--opset")
    if passes and (generator or corpus_version or release or model or onnx):
        raise UsageError("options-conflict.alone", option="--passes")
    if not model and (inputs is not None or shape or no_values):
        raise UsageError("model-missing")
    if release and (generator or check or corpus_version or replace):
        raise UsageError("options-conflict.alone", option="--release")
    if release:
        _release(directory)
        return
    if not (check or replace):
        check_no_corpus(directory)
    theirs: OnnxCases | ModelCases | None = None
    if onnx:
        from conformance.own.model_cases.drawn_cases import chosen_onnx_cases

        theirs = chosen_onnx_cases(operator, opset, partial(progress_counter, "cases"))
    elif model:
        theirs = _model_cases(model, inputs, shape, no_values=no_values)
    cases = theirs.cases if theirs else define_cases([PATTERNS] if passes else generator or ())
    added = theirs.added_files() if theirs else {}
    with progress_counter("expected outputs", len(cases)) as progress:
        if check:
            found = corpus_differences(directory, cases, progress, added)
        else:
            version, name = (theirs.version, theirs.name) if theirs else (corpus_version, PATTERNS if passes else "")
            is_versioned = theirs is None and not passes
            written = write_corpus(directory, cases, version, progress, name, is_versioned=is_versioned, added=added)
    if not check:
        counts = f"{written.cases} cases, {written.files} files, {written.bytes} bytes"
        print_line(f"Wrote corpus {corpus_label(name, written.version)} to {directory}: {counts}.")
        for line in theirs.summary() if theirs else ():
            print_line(line)
        return
    for line in found:
        print_line(line)
    print_line(f"{len(found)} files differ." if found else f"{directory} is up to date: {len(cases)} cases.")
    raise typer.Exit(1 if found else 0)


def _model_cases(
    models: Sequence[Path], inputs: Path | None, shape: Sequence[str] | None, *, no_values: bool
) -> ModelCases:
    from conformance.own.graphs.model_inputs import chosen_text
    from conformance.own.graphs.reading import LoadedModel
    from conformance.own.model_cases.model_cases import define_model_cases, given_models

    given = given_models([LoadedModel.read(path) for path in models], inputs, shape or ())
    for each in given:
        if each.chosen:
            print_line(f"{each.model.path.name}: {chosen_text(each.chosen)}")
    return define_model_cases(given, has_values=not no_values, progress=print_progress)


def _release(directory: Path) -> None:
    """Record in released.json that the corpus in a directory is released."""
    from conformance.corpus.cases.corpus import RELEASED
    from conformance.corpus.generation.write_corpus import mark_released

    released = mark_released(directory)
    print_line(
        f"Recorded corpus {released.version} as released in {directory / RELEASED}: {len(released.cases)} cases."
    )
