"""The records of why a subject fails, as types: what it made of failing cases, what explains them, and what is left."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta

from conformance.boundary.decoding import Count, NonEmpty, Positive


class ObservedTensor(TypedDict):
    """A tensor that came: its elements as base64, in row-major order and little-endian."""

    dtype: NonEmpty
    shape: list[Count]
    data: str


class ObservedRecord(TypedDict):
    """What a subject made of a case that it fails, when it was run on it once more for the diagnosis.

    `outputs` has what each data set's run returned, null where that is no tensor, `changed` the places of the inputs
    that each run changed, and `ended` the phase and the error that came instead of a further answer.
    """

    outputs: list[list[ObservedTensor | None]]
    changed: list[list[Count]]
    ended: NotRequired[str]


class DiagnosisRecord(TypedDict):
    """A deviation that explains why a subject fails an operator's cases.

    It agrees on `agrees` `of` the failing cases; no case tells it apart from those `alike`. `cases` are those that it
    explains, `together` those of them that it explains only with others that are named; format 1 has neither.
    """

    subject: str
    operator: NonEmpty
    deviation: NonEmpty
    text: NonEmpty
    agrees: Positive
    of: Positive
    alike: list[str]
    cases: NotRequired[list[str]]
    together: NotRequired[list[str]]


class SharedRecord(TypedDict):
    """A property that `cases` of some cases have, as do `passing` of those that pass: "set norm_coefficient_post"."""

    text: NonEmpty
    cases: Positive
    passing: Count


class UnexplainedRecord(TypedDict):
    """The failing cases of an operator that no deviation explains and that fail in one manner.

    They are some `of` the failing cases; `passing` cases pass, and `shared` is what tells the two apart.
    """

    subject: str
    operator: NonEmpty
    manner: str
    cases: Annotated[list[str], Meta(min_length=1)]
    of: Positive
    passing: Count
    shared: list[SharedRecord]


class Diagnosed(TypedDict):
    """What a footer says of why subjects fail."""

    diagnoses: list[DiagnosisRecord]
    unexplained: list[UnexplainedRecord]
