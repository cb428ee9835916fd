"""The descriptive files of a case: case.json, and companion.json for a case with a companion.

The types also define `schemas/case.schema.json`. A companion is a second case whose model is loaded after the model of
the tested case; see `judging.backend`.
"""

from __future__ import annotations

import json
from typing import Annotated

from msgspec import Meta, to_builtins

from conformance.base.errors import UnknownName
from conformance.base.serialization.codec import JsonReader
from conformance.base.serialization.decoding import Count, MalformedError, NonEmpty, StoredRecord
from conformance.base.serialization.json_schema import schema_violation
from conformance.base.verdicts import CheckKind, Level
from conformance.corpus.cases.case import CaseKind, PassEffect
from conformance.corpus.cases.case_loading import LoadedCase, load_case
from conformance.corpus.cases.corpus import Corpus, CorpusCase, damaged_corpus_error, find_case
from conformance.exact.models.summaries import ModelSummary, TensorPreview

UniqueTexts = Annotated[list[str], Meta(extra_json_schema={"uniqueItems": True})]


class ExpectedOutput(TensorPreview, kw_only=True):
    """Preview of an expected output: its first elements with bounds or acceptable indices, and its check."""

    check: CheckKind
    bounds: list[str] | None = None
    accept: list[str] | None = None


class DataSetPreview(StoredRecord):
    """Preview of one data set of a case: inputs, expected outputs, and the hazard that the data set exposes."""

    inputs: list[TensorPreview]
    outputs: list[ExpectedOutput]
    hazard: NonEmpty = ""


class RewriteDocument(StoredRecord):
    """The required effect of the pass on the model of a case.

    `once` has the paths of the values whose producers one run removes; `fixed_point` the same for runs to a fixed
    point. `check` is the graph optimizer check that the case tests.
    """

    effect: PassEffect
    once: list[str]
    fixed_point: list[str]
    check: NonEmpty = ""


class CaseDocument(StoredRecord):
    """The content of case.json; `uses` is how often the models of a user have the node of the case."""

    title: NonEmpty
    level: Level
    generator: NonEmpty
    clauses: UniqueTexts
    tags: UniqueTexts
    model: ModelSummary
    data_sets: list[DataSetPreview]
    rewrite: RewriteDocument | None = None
    uses: Count = 0


MAX_CASE_JSON_BYTES = 2**23
"""Largest size of a case.json: its record must fit in a line of a results file."""

_decode_case = JsonReader(CaseDocument)

_EFFECT_OF_ANSWER = {
    b'"answer": "fires"': b'"effect": "applies"',
    b'"answer": "stays"': b'"effect": "does_not_apply"',
    b'"answer": "may"': b'"effect": "optional"',
}
"""The key of the effect of the pass in corpora before 2.0.0, with its values, and what stands there since 2.0.0.

The title of a case cannot contain the text of a key: JSON writes a quotation mark in a text with a backslash.
"""


def read_case_json(corpus: Corpus, case: CorpusCase) -> CaseDocument:
    """Return the case.json of a case.

    Raises:
        CorpusError: the file is altered or malformed.
    """
    content = corpus.read(case, "case.json")
    problem: str | None
    try:
        if len(content) > MAX_CASE_JSON_BYTES:
            raise MalformedError(f"it is larger than {MAX_CASE_JSON_BYTES} bytes")  # noqa: TRY301 - one message for both
        for old, new in _EFFECT_OF_ANSWER.items():
            content = content.replace(old, new)
        document = _decode_case(content)
        problem = schema_violation("case", to_builtins(document))
    except MalformedError as error:
        problem = str(error)
    if problem:
        raise damaged_corpus_error("malformed", corpus.path, f"{case.path}/case.json is malformed: {problem}")
    return document


def runnable_cases(corpus: Corpus, *, by_optimizers: bool) -> frozenset[str]:
    """Return the ids of the cases that backends run, or those that graph optimizers run.

    Backends run each case with data sets or an invalid model, and graph optimizers each case of the pass: its case.json
    defines the effect of the pass.
    """
    cases = corpus.cases.values()
    if not by_optimizers:
        return frozenset(case.id for case in cases if not case.is_structural)
    others = (case for case in cases if case.kind is not CaseKind.NODE)
    return frozenset(case.id for case in others if read_case_json(corpus, case).rewrite)


COMPANION_FILE = "companion.json"


class CompanionDocument(StoredRecord):
    """The content of companion.json: the id of the companion case."""

    case: str


_decode_companion = JsonReader(CompanionDocument)


def verify_companions(corpus: Corpus) -> None:
    """Check that every companion file names a case of the corpus that can be run.

    Raises:
        CorpusError: a companion file is malformed or names an unsuitable case.
    """
    for entry in corpus.cases.values():
        if COMPANION_FILE in entry.files:
            load_companion(load_case(corpus, entry))


def companion_bytes(id: str) -> bytes:
    """Return the content of the file companion.json for the companion case `id`."""
    return (json.dumps({"case": id}) + "\n").encode()


def find_companion(corpus: Corpus, case: CorpusCase) -> CorpusCase | None:
    """Return the companion of a case, which can be the case itself; None if it has no companion.

    Raises:
        CorpusError: the companion file is malformed, or names a case that does not exist or cannot be run.
    """
    if COMPANION_FILE not in case.files:
        return None
    file = f"{case.path}/{COMPANION_FILE}"
    try:
        other = find_case(corpus, _decode_companion(corpus.read(case, COMPANION_FILE)).case)
    except MalformedError as error:
        raise damaged_corpus_error("malformed", corpus.path, f"{file} is malformed: {error}") from None
    except UnknownName:
        raise damaged_corpus_error(
            "companion-unsuitable", corpus.path, f"{file} names a case that does not exist"
        ) from None
    if other.is_invalid or other.is_structural:
        raise damaged_corpus_error("companion-unsuitable", corpus.path, f"{file} names {other.id}, which cannot be run")
    return other


def load_companion(case: LoadedCase) -> LoadedCase | None:
    """Load the companion of a case, see `find_companion`."""
    other = find_companion(case.corpus, case.entry)
    return None if other is None else load_case(case.corpus, other)
