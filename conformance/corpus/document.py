"""What case.json says of a case, as types; `schemas/case.schema.json` is their definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

from conformance.boundary.decoding import JsonDecoder, MalformedError, NonEmpty
from conformance.corpus.corpus import unfit
from conformance.models.preview import ModelSummary, Preview
from conformance.schemas import complaint
from conformance.verdicts import Level

if TYPE_CHECKING:
    from conformance.corpus.corpus import Corpus, CorpusCase


LevelName = Annotated[str, Level]

CheckName = Annotated[str, Literal["exact", "bound", "index"]]
"""How an output is checked."""


class ExpectedOutput(Preview):
    """An output's expected value, how it is checked, and the bounds or acceptable indices of the elements shown."""

    check: CheckName
    bounds: NotRequired[list[str]]
    accept: NotRequired[list[str]]


class DataSetPreview(TypedDict):
    """One data set of a case: what goes in and what must come out."""

    inputs: list[Preview]
    outputs: list[ExpectedOutput]
    hazard: NotRequired[NonEmpty]


class RewriteDocument(TypedDict):
    """What the pass must do with a case's model: fire, stay away, or either.

    `once` and `fixed_point` name the values whose producers are gone after one run, and after runs to a fixed point; a
    value in a subgraph is named by the path to it. `check` is the check of graph optimizers that the case is about.
    """

    answer: Annotated[str, Literal["fires", "stays", "may"]]
    once: list[str]
    fixed_point: list[str]
    check: NotRequired[str]


class CaseDocument(TypedDict):
    """All that a case says of itself."""

    title: str
    level: LevelName
    generator: str
    clauses: list[str]
    tags: list[str]
    model: ModelSummary
    data_sets: list[DataSetPreview]
    rewrite: NotRequired[RewriteDocument]


_DECODER = JsonDecoder(CaseDocument)


def case_json(corpus: Corpus, case: CorpusCase) -> dict[str, Any]:
    """A case's case.json.

    Raises:
        CorpusError: it is not what its schema says.
    """
    content = corpus.read(case, "case.json")
    try:
        document: dict[str, Any] = _DECODER(content)
        problem = complaint("case", document)
    except MalformedError as error:
        problem = str(error)
    if problem:
        raise unfit(corpus.path, f"{case.path}/case.json is malformed: {problem}")
    return document
