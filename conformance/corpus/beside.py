"""The file `beside.json` of a case: which other case's model is prepared too, and run in turns with its own.

It stands apart from `case.json` because it belongs to what judges: a run reads it, and only where there is one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

from conformance.boundary.decoding import JsonDecoder, MalformedError
from conformance.corpus.corpus import find_case, unfit
from conformance.corpus.loading import load_case
from conformance.errors import UnknownName

if TYPE_CHECKING:
    from conformance.corpus.corpus import Corpus
    from conformance.corpus.loading import LoadedCase

BESIDE = "beside.json"


class BesideDocument(TypedDict):
    """What the file says: the other case's id."""

    case: str


_DECODER = JsonDecoder(BesideDocument)


def verify_neighbours(corpus: Corpus) -> None:
    """Make sure that each case that asks for one beside it names one that is there and can be run.

    Raises:
        CorpusError: one does not.
    """
    for entry in corpus.cases.values():
        if BESIDE in entry.files:
            case_beside(load_case(corpus, entry))


def beside_bytes(id: str) -> bytes:
    """The content of the file."""
    return (json.dumps(BesideDocument(case=id)) + "\n").encode()


def case_beside(case: LoadedCase) -> LoadedCase | None:
    """The case beside a case; None where it is alone. It is the same case where its model is prepared twice.

    Raises:
        CorpusError: the file is malformed, or there is no such case that has data sets.
    """
    if BESIDE not in case.entry.files:
        return None
    place = f"{case.entry.path}/{BESIDE}"
    try:
        other = find_case(case.corpus, _DECODER(case.corpus.read(case.entry, BESIDE))["case"])
    except MalformedError as error:
        raise unfit(case.corpus.path, f"{place} is malformed: {error}") from None
    except UnknownName:
        raise unfit(case.corpus.path, f"{place} names a case that is not there") from None
    if other.is_invalid or other.is_structural:
        raise unfit(case.corpus.path, f"{place} names {other.id}, which cannot be run")
    return load_case(case.corpus, other)
