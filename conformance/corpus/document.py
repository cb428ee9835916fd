"""What case.json says of a case, as types; `schemas/case.schema.json` is their definition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from conformance.corpus.corpus import unfit
from conformance.models.preview import Preview
from conformance.schemas import complaint

if TYPE_CHECKING:
    from conformance.corpus.corpus import Corpus, CorpusCase


class ExpectedOutput(Preview):
    """An output's expected value, how it is checked, and the bounds or acceptable indices of the elements shown."""

    check: str
    bounds: NotRequired[list[str]]
    accept: NotRequired[list[str]]


class DataSetPreview(TypedDict):
    """One data set of a case: what goes in and what must come out."""

    inputs: list[Preview]
    outputs: list[ExpectedOutput]
    hazard: NotRequired[str]


class RewriteDocument(TypedDict):
    """What the pass must do with a case's model: fire, stay away, or either.

    `once` and `fixed_point` name the values whose producers are gone after one run, and after runs to a fixed point; a
    value in a subgraph is named by the path to it. `check` is the check of graph optimizers that the case is about.
    """

    answer: str
    once: list[str]
    fixed_point: list[str]
    check: NotRequired[str]


def case_json(corpus: Corpus, case: CorpusCase) -> dict[str, Any]:
    """A case's case.json.

    Raises:
        CorpusError: it is not what its schema says.
    """
    try:
        document = json.loads(corpus.read(case, "case.json"))
    except (ValueError, RecursionError) as error:
        raise unfit(corpus.path, f"{case.path}/case.json is not JSON ({error})") from None
    if problem := complaint("case", document):
        raise unfit(corpus.path, f"{case.path}/case.json is malformed: {problem}")
    return dict(document)
