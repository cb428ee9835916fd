"""The boundary between what was read and typed values: nothing comes through that a type or a schema would not have."""

from __future__ import annotations

import copy
import json

import pytest
from golden_files import GOLDEN
from report_sample import small
from report_sample_optimizers import rewriting

from conformance.boundary.decoding import JsonDecoder, MalformedError, parsed
from conformance.corpus.document import CaseDocument
from conformance.results.file import RECORD
from conformance.schemas import complaint

CASE = JsonDecoder(CaseDocument)
RULES = {"level": "must", "require": ["Adam"], "due": 3, "expectations": []}
DIAGNOSIS = {"subject": "a", "operator": "Adam", "deviation": "x", "text": "y", "agrees": 1, "of": 2, "alike": ["z"]}
EXPLAINED = DIAGNOSIS | {"cases": ["test_adam"], "together": ["test_adam"]}
OBSERVED = {
    "outputs": [[{"dtype": "float", "shape": [1], "data": "AAAAAA=="}, None]],
    "changed": [[2]],
    "ended": "run: it broke",
}
SHARED = {"text": "set alpha", "cases": 1, "passing": 0}
UNEXPLAINED = {
    "subject": "a",
    "operator": "Adam",
    "manner": "wrong values",
    "cases": ["b"],
    "of": 2,
    "passing": 3,
    "shared": [SHARED],
}
OTHERS = (None, True, -1, 0, 1, 1.5, 2**63, "", "?", "must", [], {}, [{}], {"a": 1})


def sample_records() -> list[dict]:
    """Records that between them have all that a record can have."""
    runs = [
        small(rules=RULES),
        rewriting(diagnoses=[DIAGNOSIS, EXPLAINED], unexplained=[UNEXPLAINED], interrupted=True),
    ]
    records = [record for run in runs for record in (run.header, run.footer)]
    records += [record for run in runs for found in (run.cases, run.results) for record in found.values()]
    records += [json.loads(line) for line in (GOLDEN / "after.jsonl").read_bytes().splitlines()]
    records += [{**next(one for one in records if one["record"] == "result"), "observed": OBSERVED}]
    records += [{"record": "archive", "case": "test_adam", "zip": "UEsFBg=="}]
    return [json.loads(json.dumps(record)) for record in records]


def places(value, at=()):
    """The path of everything within a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        yield from places(item, (*at, key))


def kind_of(record: dict, path: tuple) -> tuple:
    """What places have in common that one type is of."""
    return record["record"], *("*" if isinstance(key, int) else key for key in path)


def changed(record: dict, path: tuple):
    """A document with what is in one place other than it was, or lacking, or more."""
    *above, last = path
    news = copy.deepcopy(record)
    parent = news
    for key in above:
        parent = parent[key]
    before = parent[last]
    for other in OTHERS:
        parent[last] = other
        yield news
    if isinstance(before, dict):
        parent[last] = {**before, "more": 1}
        yield news
    del parent[last]
    yield news


def accepts(decoder: JsonDecoder, document: object) -> bool:
    try:
        decoder(json.dumps(document).encode())
    except MalformedError:
        return False
    return True


def test_types_and_schema_agree_on_records():
    for record in sample_records():
        assert accepts(RECORD, record)
        assert complaint("results", record) is None


def test_types_and_schema_agree_on_what_is_nearly_a_record():
    by_kind = {kind_of(record, path): (record, path) for record in sample_records() for path in places(record)}
    assert len(by_kind) > 150, "the sample has no longer all that a record can have"
    for record, path in by_kind.values():
        for news in changed(record, path):
            problem = complaint("results", news)
            assert accepts(RECORD, news) == (problem is None), (path, problem)


def test_the_types_of_a_case_have_all_that_its_schema_has(small_corpus):
    documents = [json.loads(path.read_bytes()) for path in small_corpus.glob("*/*/case.json")]
    assert documents
    assert all(accepts(CASE, document) for document in documents)


HOSTILE = {
    "a lone surrogate": b'{"record": "archive", "case": "\\ud800", "zip": "AAAA"}',
    "bytes that are no UTF-8": b'{"record": "archive", "case": "\xff", "zip": "AAAA"}',
    "a key that no type names": b'{"record": "archive", "case": "a", "zip": "AAAA", "more": 1}',
    "nesting": b'{"record": "archive", "case": ' + b"[" * 900 + b"]" * 900 + b', "zip": "AAAA"}',
    "nesting in what is not looked at": b'{"more": ' + b"[" * 10**5,
    "a number that is none": b'{"record": "footer", "seconds": NaN}',
    "a number without end": b'{"record": "footer", "seconds": 1e999}',
    "many digits": b'{"record": "footer", "results": ' + b"1" * 401 + b"}",
    "more digits": b'{"record": "footer", "results": ' + b"1" * 5000 + b"}",
    "a float that counts": b'{"record": "footer", "results": 1.0}',
    "nothing": b"",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_no_type_has_is_refused_with_a_reason(content):
    with pytest.raises(MalformedError) as refused:
        RECORD(content)
    assert 0 < len(str(refused.value)) <= 300


@pytest.mark.parametrize("content", [b"{", b'"\\ud800"', b"NaN", b"1" * 5000, b"[" * 10**5, b"\xff"])
def test_what_is_no_json_is_refused_without_types_too(content):
    with pytest.raises(MalformedError):
        parsed(content)


def test_the_place_of_what_is_wrong_comes_first():
    with pytest.raises(MalformedError, match=r"^results: expected `int`, got `str`$"):
        RECORD(b'{"record": "footer", "results": "1"}')


def test_what_is_wrong_with_a_whole_document_has_no_place():
    with pytest.raises(MalformedError, match=r"^expected `object`, got `array`$"):
        RECORD(b"[]")
