"""The inputs of the evidence: results files, census files, and measurements of the suite, in any order.

The first line of a file states its kind. All inputs must be of the corpus with which the suite is installed, or of the
corpus that `--data` names.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from conformance.base.errors import EvidenceError, ResultsError
from conformance.base.files.atomic_write import GZIP_SUFFIX, STANDARD_INPUT, open_input, read_input, unpack_gzip
from conformance.base.serialization.decoding import (
    Count,
    JsonReader,
    MalformedError,
    NonEmpty,
    StoredRecord,
    decode_json,
)
from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus
from conformance.run.results.results_file import read_results_of_one_corpus, require_distinct_files
from conformance.studies.census.census_file import read_census

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.results.results_file import Results
    from conformance.studies.census.census_results import CellResult

MAX_MEASUREMENT_BYTES = 2**26
"""Largest size of a file with measurements of the suite."""

_PEEK_BYTES = 2**16
"""Number of bytes at the start of a file that decide its kind; a line of a census or results file can be longer."""


class MeasuredCorpus(StoredRecord):
    """The corpus that was measured; `cases` is the number of all its cases."""

    version: NonEmpty
    digest: NonEmpty
    cases: Count


class DetectionDocument(StoredRecord):
    """The way in which a case detects a mutant; `margin` is the error divided by the bound."""

    case: NonEmpty
    how: str
    margin: float | None


class MutantDocument(StoredRecord):
    """A mutant of an operator. It survives if `detection` is null."""

    id: NonEmpty
    text: str
    clause: str
    level: str
    convention: str | None
    detection: DetectionDocument | None
    false_positive: DetectionDocument | None
    detected_by_onnx: bool | None


class FamilyDocument(StoredRecord):
    """The mutants of an operator family, and how many of them the cases detect, by level."""

    must: Count
    detected: Count
    detected_by_onnx: Count | None
    should: Count
    should_detected: Count
    mutants: list[MutantDocument]


class VariantDocument(StoredRecord):
    """A correct variant, the number of cases on which it ran, and the cases that it fails."""

    id: NonEmpty
    text: str
    cases: Count
    false_positives: list[str]


class PassDetection(StoredRecord):
    """The case that detects a mutant of the pass, and the violation that it reports."""

    case: NonEmpty
    violation: str


class PassMutantDocument(StoredRecord):
    """A mutant of the pass. It survives if `detection` is null."""

    theme: str
    id: NonEmpty
    text: str
    detection: PassDetection | None


class CorrectOptimizerDocument(StoredRecord):
    """A correct graph optimizer, the number of cases on which it ran, and the cases that it fails."""

    id: NonEmpty
    text: str
    cases: Count
    false_positives: list[PassDetection]


class PassScoreDocument(StoredRecord):
    """The mutants of the pass, and the correct graph optimizers."""

    mutants: list[PassMutantDocument]
    correct: list[CorrectOptimizerDocument]


class MutationDocument(StoredRecord, kw_only=True, rename={"of_pass": "pass"}):
    """The content of `mutation.json`, which `nox -s mutation` writes.

    `command` is the command that made it. `sweep` and `tightness` have the figures of the options of the same names.
    """

    format: Literal[1]
    suite: NonEmpty
    command: NonEmpty
    corpus: MeasuredCorpus
    passes: bool
    operators: Annotated[dict[str, FamilyDocument], Meta(min_length=1)]
    of_pass: PassScoreDocument
    variants: list[VariantDocument]
    sweep: list[dict[str, Any]]
    tightness: Any = None


class SecondOracleDocument(StoredRecord):
    """The content of the file of `python -m checks.oracle --json FILE`.

    `cases` is the number of computed cases. `counts` has the numbers of computed values by kind.
    """

    format: Literal[1]
    command: NonEmpty
    corpus: MeasuredCorpus
    cases: Count
    counts: dict[str, Count]
    differences: list[str]


_decode_mutation = JsonReader(MutationDocument)
_decode_second_oracle = JsonReader(SecondOracleDocument)


@dataclass(frozen=True)
class EvidenceInputs:
    """All inputs of the evidence, read and checked.

    Attributes:
        files: name, kind and SHA-256 of each input file.
        runs: the results files.
        cells: for each census file its environment and its cells, by the name of the file.
        mutation: the mutation score; None if no file has it.
        second_oracle: the comparison with the second oracle; None if no file has it.
    """

    corpus: Corpus
    files: Sequence[tuple[str, str, str]]
    runs: Sequence[Results]
    cells: Mapping[str, tuple[Mapping[str, str], Sequence[CellResult]]]
    mutation: MutationDocument | None = None
    second_oracle: SecondOracleDocument | None = None


def read_inputs(paths: Sequence[Path], data: Path | None = None) -> EvidenceInputs:
    """Read the files at `paths`, each of any kind, and the corpus.

    Args:
        data: folder of the corpus; None for the corpus of the suite.

    Raises:
        ResultsError: a results file is malformed, the results files are of several corpora, or a file is given twice.
        CensusFileError: a census file is malformed.
        EvidenceError: a measurement is malformed or of another corpus, or there is no results file.
        CorpusError: the corpus is missing or damaged.
    """
    by_kind: dict[str, list[Path]] = defaultdict(list)
    files = []
    require_distinct_files(paths)
    for path in paths:
        if path == STANDARD_INPUT:
            raise EvidenceError("standard-input")
        kind, digest = _identify(path)
        by_kind[kind].append(path)
        files.append((path.name, kind, digest))
    if not by_kind["results"]:
        raise EvidenceError("results-missing")
    runs = read_results_of_one_corpus(by_kind["results"])
    corpus = open_corpus(data or bundled_corpus_path())
    for run in runs:
        _check_corpus(run.path, run.header.corpus.digest, corpus)
    cells = {}
    for path in by_kind["census"]:
        name = path.name if path.name not in cells else str(path)
        cells[name] = read_census(path)
    measured = list(_read_measurements(by_kind["measurements"], corpus))
    return EvidenceInputs(
        corpus,
        sorted(files),
        runs,
        cells,
        mutation=next((each for each in measured if isinstance(each, MutationDocument)), None),
        second_oracle=next((each for each in measured if isinstance(each, SecondOracleDocument)), None),
    )


def results_paths(paths: Sequence[Path]) -> list[Path]:
    """Return the paths of results files; other reports than the evidence are made from these files only."""
    return [path for path in paths if path == STANDARD_INPUT or _identify(path)[0] == "results"]


def _identify(path: Path) -> tuple[str, str]:
    """Return the kind of a file, from its first bytes, and its SHA-256."""
    try:
        with open_input(path) as stream:
            packed = path.suffix == GZIP_SUFFIX
            head = (unpack_gzip(stream) if packed else stream).read(_PEEK_BYTES)
        with open_input(path) as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResultsError("unreadable.input", path=path, reason=reason) from None
    line = head.partition(b"\n")[0]
    if line.strip() == b"{":
        return "measurements", digest
    try:
        header = decode_json(line)
    except MalformedError:
        return "results", digest
    is_census = isinstance(header, dict) and "guard" in header
    return ("census" if is_census else "results"), digest


def _check_corpus(path: str | Path, digest: str, corpus: Corpus) -> None:
    if digest != corpus.digest:
        raise EvidenceError("other-corpus", path=path, digest=digest[:12], own_digest=corpus.digest[:12])


def _read_measurements(paths: Sequence[Path], corpus: Corpus) -> Iterator[MutationDocument | SecondOracleDocument]:
    """Yield the document of each file with measurements of the suite."""
    seen: dict[type, Path] = {}
    for path in paths:
        try:
            content = read_input(path, MAX_MEASUREMENT_BYTES)
            found = decode_json(content)
            is_of_oracle = isinstance(found, dict) and "counts" in found
            document = _decode_second_oracle(content) if is_of_oracle else _decode_mutation(content)
        except OSError as error:
            raise ResultsError("unreadable.measurement", path=path, reason=error.strerror) from None
        except MalformedError as error:
            raise EvidenceError("measurement-malformed", path=path, error=error) from None
        _check_corpus(path, document.corpus.digest, corpus)
        if type(document) in seen:
            kind = "second oracle" if is_of_oracle else "mutation"
            raise EvidenceError("measurement-twice", other=seen[type(document)], path=path, kind=kind)
        seen[type(document)] = path
        yield document
