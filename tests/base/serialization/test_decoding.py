"""Decoding of JSON documents: types and generated schemas accept the same documents, and limits are exact."""

from __future__ import annotations

import copy
import json

import pytest
from golden_files import GOLDEN
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Struct
from report_sample import small_run
from report_sample_optimizers import optimizer_run
from runs_in_memory import with_fields
from script_modules import run_script

from conformance.base.serialization.decoding import (
    _BLOCK_BYTES,
    EQUAL_KEYS,
    MAX_DEPTH,
    DocumentLimitError,
    JsonReader,
    MalformedError,
    check_limits,
    decode_json,
    decode_toml,
    schema_violation,
)
from conformance.corpus.cases.case_loading import CaseDocument
from conformance.run.results.records import ArchiveRecord, Result
from conformance.run.results.results_file import decode_record, encode_record

CASE = JsonReader(CaseDocument)
CRITERION = {"level": "must", "require": ["Adam"], "expected_results": 3, "expectations": []}
DIAGNOSIS = {
    "subject": "a",
    "operator": "Adam",
    "mutant": "x",
    "text": "y",
    "explained": 1,
    "failing": 2,
    "indistinguishable": ["z"],
    "cases": ["test_adam"],
    "jointly_explained": ["test_adam"],
}
OBSERVED = {
    "outputs": [[{"dtype": "float", "shape": [1], "data": "AAAAAA=="}, None]],
    "changed": [[2]],
    "ended": "run: it broke",
}
SHARED = {"text": "set alpha", "cases": 1, "passing": 0}
UNEXPLAINED = {
    "subject": "a",
    "operator": "Adam",
    "failure_mode": "wrong values",
    "cases": ["b"],
    "failing": 2,
    "passing": 3,
    "shared": [SHARED],
}
OTHERS = (None, True, -1, 0, 1, 1.5, 2**63, "", "?", "must", [], {}, [{}], {"a": 1})


def sample_records() -> list[dict]:
    """Return records that together have every key of every type."""
    runs = [
        small_run(criterion=CRITERION),
        optimizer_run(diagnoses=[DIAGNOSIS], unexplained=[UNEXPLAINED], interrupted=True),
    ]
    records = [record for run in runs for record in (run.header, run.footer)]
    records += [record for run in runs for found in (run.cases, run.results) for record in found.values()]
    records += [json.loads(line) for line in (GOLDEN / "after.jsonl").read_bytes().splitlines()]
    records += [with_fields(next(one for one in records if isinstance(one, Result)), recorded_outputs=OBSERVED)]
    records += [ArchiveRecord("test_adam", "UEsFBg==")]
    return [json.loads(encode_record(record)) if isinstance(record, Struct) else record for record in records]


def paths(value, at=()):
    """Yield the path of each value in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        yield from paths(item, (*at, key))


def kind_of(record: dict, path: tuple) -> tuple:
    """Return the path with `*` for each list index: paths of one kind have one type."""
    return record["record"], *("*" if isinstance(key, int) else key for key in path)


def mutations(record: dict, path: tuple):
    """Yield copies of a document in which one value is another value, has an additional key, or is missing."""
    *above, last = path
    changed = copy.deepcopy(record)
    parent = changed
    for key in above:
        parent = parent[key]
    before = parent[last]
    for other in OTHERS:
        parent[last] = other
        yield changed
    if isinstance(before, dict):
        parent[last] = {**before, "more": 1}
        yield changed
    del parent[last]
    yield changed


def accepts(decoder: JsonReader, document: object) -> bool:
    try:
        decoder(json.dumps(document).encode())
    except MalformedError:
        return False
    return True


def test_types_and_schema_accept_records():
    for record in sample_records():
        assert accepts(decode_record, record)
        assert schema_violation("results", record) is None


@pytest.mark.long
def test_types_and_schema_agree_on_mutated_records():
    by_kind = {kind_of(record, path): (record, path) for record in sample_records() for path in paths(record)}
    assert len(by_kind) > 150, "the sample does not have every key"
    for record, path in by_kind.values():
        for changed in mutations(record, path):
            problem = schema_violation("results", changed)
            assert accepts(decode_record, changed) == (problem is None), (path, problem)


def test_case_types_accept_each_case_json(small_corpus):
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
def test_hostile_record_is_rejected_with_a_short_reason(content):
    with pytest.raises(MalformedError) as refused:
        decode_record(content)
    assert 0 < len(str(refused.value)) <= 300


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b'"\\ud800"',
        b"NaN",
        b"1" * 5000,
        b"[" * 10**5,
        b"\xff",
        b"[" * 101 + b"]" * 101,
        b"[" + b"[]," * 2**21 + b"[]]",
    ],
)
def test_decode_json_rejects_malformed_content(content):
    with pytest.raises(MalformedError):
        decode_json(content)


def test_reason_begins_with_the_path():
    with pytest.raises(MalformedError, match=r"^results: expected `int`, got `str`$"):
        decode_record(b'{"record": "footer", "results": "1"}')


def test_reason_on_a_whole_document_has_no_path():
    with pytest.raises(MalformedError, match=r"^expected `object`, got `array`$"):
        decode_record(b"[]")


def test_generated_schemas_are_current():
    assert run_script("make_schemas", "--check")[0] == 0


TEXTS = st.text('[]{},:"\\a', max_size=12)
DOCUMENTS = st.recursive(
    TEXTS | st.none(), lambda each: st.lists(each, max_size=4) | st.dictionaries(TEXTS, each, max_size=4), max_leaves=20
)


def depth_and_count(document: object) -> tuple[int, int]:
    """Return the depth of a document, and the number of its lists, objects and commas."""
    if not isinstance(document, dict | list):
        return 0, 0
    inner = [depth_and_count(each) for each in (document.values() if isinstance(document, dict) else document)]
    return 1 + max((depth for depth, _ in inner), default=0), 1 + max(len(inner) - 1, 0) + sum(c for _, c in inner)


def is_within_limits(content: bytes, max_values: int) -> bool:
    try:
        check_limits(content, max_values)
    except DocumentLimitError:
        return False
    return True


@given(DOCUMENTS)
@example({"\\": ['"', "[[[[", {}]})
def test_limit_of_values_is_exact(document):
    content = json.dumps(document, ensure_ascii=False).encode()
    _, count = depth_and_count(document)
    if count:  # a document of no more bytes than values is not counted
        assert is_within_limits(content, count)
        assert not is_within_limits(content, count - 1)


@given(DOCUMENTS, st.booleans())
def test_limit_of_depth_is_exact(document, is_object):
    depth, _ = depth_and_count(document)
    for around, is_accepted in ((MAX_DEPTH - depth, True), (MAX_DEPTH - depth + 1, False)):
        opening, closing = ('{"]":', "}") if is_object else ("[", "]")
        content = (opening * around + json.dumps(document) + closing * around).encode()
        assert is_within_limits(content, 2**21) is is_accepted


@pytest.mark.parametrize("shift", range(4))
def test_string_at_the_end_of_a_block_stays_a_string(shift):
    text = "x" * (_BLOCK_BYTES - 3 + shift) + '"\\[' + "[{," * 200
    assert is_within_limits(json.dumps([text, *[[]] * 200]).encode(), 401)


def test_depth_counts_across_blocks():
    wide = b"[]," * (_BLOCK_BYTES // 3)
    assert is_within_limits(b"[" * 99 + wide + b"[]" + b"]" * 99, 2**21)
    assert not is_within_limits(b"[" * 100 + wide + b"[]" + b"]" * 100, 2**21)


def test_reader_of_a_type_checks_the_limits_first():
    with pytest.raises(MalformedError, match="values"):
        JsonReader(list[list[int]], max_values=3)(memoryview(b"[[1, 2], [3, 4]]"))


def test_toml_of_integer_above_64_bits_is_refused():
    with pytest.raises(MalformedError):
        decode_toml(f"[[a]]\nb = [{{c = 0x{'f' * 5000}}}]")


def test_toml_of_many_values_is_refused():
    with pytest.raises(MalformedError, match="values"):
        decode_toml("a = [" + "[]," * 2**19 + "]")


@pytest.mark.parametrize(
    "read", [decode_json, JsonReader(dict[str, object]), JsonReader(dict[str, object], is_record=True)]
)
@pytest.mark.parametrize(
    "content", [b'{"a": 1, "a": 2}', b'{"b": [{"a": {}, "a": {}}]}', b'{"a": 1, "\\u0061": 2}', b'{"": 0, "": ":"}']
)
def test_equal_keys_are_refused(read, content):
    with pytest.raises(MalformedError) as refusal:
        read(content)
    assert str(refusal.value) == EQUAL_KEYS


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
        ),
        max_size=4,
    )
)
@example({'":': '\\":', "\\": ['"', ":"]})
def test_distinct_keys_are_read(document):
    for text in (json.dumps(document), json.dumps(document, ensure_ascii=False, indent=1)):
        assert decode_json(text.encode(errors="replace")) == json.loads(text.encode(errors="replace"))
