"""Operators of sequences, optionals and strings, and random operators, on small known values."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
from one_node_models import enclose_operator
from onnx import parser

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask


def strings(*texts: Any) -> Any:
    return np.array(texts, dtype=object)


of_known = partial(enclose_operator, opset=22)


def run(body: str, opset: int = 22, **values: Any) -> Any:
    """Return the last output of the nodes of a graph, with the given values."""
    graph = parser.parse_graph(f"g () => () {{ {body} }}")
    model = onnx.ModelProto(graph=graph, opset_import=[onnx.OperatorSetIdProto(version=opset)])
    results: list[Any] = []
    for node in graph.node:
        results = enclose(NodeScope.of(model), node, values)
        values.update(zip(node.output, results, strict=True))
    return results[-1]


A, B = np.float32([1, 2]), np.float32([3])


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("s = SequenceConstruct(a, b) y = SequenceAt(s, one)", B),
        ("s = SequenceConstruct(a, b) y = SequenceLength(s)", np.int64(2)),
        ("s = SequenceEmpty() t = SequenceInsert(s, a) u = SequenceInsert(t, b, zero) y = SequenceAt(u, zero)", B),
        ("s = SequenceConstruct(a, b) t = SequenceErase(s, zero) y = SequenceAt(t, zero)", B),
        ("s = SequenceConstruct(a, b) y = ConcatFromSequence<axis=0>(s)", np.float32([1, 2, 3])),
        ("s = SequenceConstruct(a, a) y = ConcatFromSequence<axis=1, new_axis=1>(s)", np.float32([[1, 1], [2, 2]])),
        ("s = SplitToSequence(a) y = SequenceAt(s, one)", np.float32([2])),
        ("s = SplitToSequence(c, two) y = SequenceAt(s, one)", np.float32([5])),
        ("s = SplitToSequence<keepdims=0>(a) y = SequenceAt(s, one)", np.float32(2)),
        ("o = Optional(a) y = OptionalHasElement(o)", np.bool_(True)),
        ("o = Optional() y = OptionalHasElement(o)", np.bool_(False)),
        ("o = Optional(a) y = OptionalGetElement(o)", A),
        ("s = SequenceConstruct(a, b) t = Identity(s) y = SequenceAt(t, one)", B),
    ],
)
def test_sequence_operators_move_tensors(body: str, wanted: Any) -> None:
    result = run(body, a=A, b=B, c=np.float32([3, 4, 5]), zero=np.array(0), one=np.array(1), two=np.array(2))
    np.testing.assert_array_equal(result, wanted)
    assert result.shape == np.shape(wanted)


def test_sequence_at_beyond_the_end_is_not_judged() -> None:
    with pytest.raises(Unsupported):
        run("s = SequenceConstruct(a) y = SequenceAt(s, one)", a=A, one=np.array(1))


def test_sequence_map_applies_its_body_to_each_element() -> None:
    body = "g (float[N] x, float[N] z) => (float[N] w) { w = Add(x, z) }"
    y = run(f"y = SequenceMap<body = {body}>(s, z)", s=[A, B], z=np.float32([1]))
    assert [part.value.tolist() for part in y] == [[2, 3], [4]]


@pytest.mark.parametrize(("condition", "wanted"), [("", 4), ("c", 1)])
def test_loop_without_a_condition_ignores_that_of_its_body(condition: str, wanted: float) -> None:
    body = "b (int64 i, bool g, float s) => (bool h, float t) { t = Add(s, one) h = Less(one, x) }"
    values = {"m": np.array(4), "c": np.array(True), "x": np.float32([0]), "one": np.float32([1])}
    assert run(f"y = Loop<body = {body}>(m, {condition}, x)", **values).value.tolist() == [wanted]


def test_scan_runs_backwards_along_its_axes() -> None:
    body = "g (float[2] s, float[2] x) => (float[2] t, float[2] y) { t = Add(s, x) y = Identity(t) }"
    given = "num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1]"
    X = np.float32([[1, 2, 3], [4, 5, 6]])
    result = run(f"s, y = Scan<{given}, body = {body}>(zero, x)", zero=np.zeros(2, np.float32), x=X)
    assert result.value.tolist() == [[3, 5, 6], [6, 11, 15]]


def test_string_operators_return_texts() -> None:
    X = strings("a b", " c  d  e ")
    assert of_known("StringConcat", X, strings("!"))[0].tolist() == ["a b!", " c  d  e !"]
    parts, counts = of_known("StringSplit", X, outputs=2)
    assert parts.tolist() == [["a", "b", ""], ["c", "d", "e"]]
    assert counts.tolist() == [2, 3]
    parts, counts = of_known("StringSplit", X, outputs=2, delimiter=" ", maxsplit=1)
    assert parts.tolist() == [["a", "b"], ["", "c  d  e "]]
    assert of_known("StringSplit", strings("a b", " c  d  e"), outputs=2, maxsplit=1)[0].tolist() == [
        ["a", "b"],
        ["c", "d  e"],
    ]
    words = strings("Monday", "tuesday", "x")
    normalized = of_known("StringNormalizer", words, stopwords=["monday"], case_change_action="UPPER")
    assert normalized[0].tolist() == ["TUESDAY", "X"]
    assert of_known("StringNormalizer", words[:1], stopwords=["monday"])[0].tolist() == [""]
    assert of_known("Equal", words, strings("x"))[0].tolist() == [False, False, True]
    assert of_known("Where", np.array([True, False, True]), words, strings("-"))[0].tolist() == ["Monday", "-", "x"]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [("a+b", [True, False, False]), (r"[\w.]{2,}", [True, True, False]), ("", [False] * 2 + [True])],
)
def test_regex_full_match_matches_whole_strings(pattern: str, wanted: list[bool]) -> None:
    assert of_known("RegexFullMatch", strings("aab", "ab.c", ""), pattern=pattern)[0].tolist() == wanted


@pytest.mark.parametrize("pattern", ["(a*)*", "(?i)a", r"(a)\1", "[[:alpha:]]", "a*b*c*d*e*", "(", "a*+"])
def test_regex_full_match_of_an_unbounded_or_other_pattern_is_not_judged(pattern: str) -> None:
    with pytest.raises(Unsupported):
        of_known("RegexFullMatch", strings("aab"), pattern=pattern)


@pytest.mark.parametrize(("text", "pattern"), [("é", r"\w"), ("a" * 10_000, "a+b")])
def test_regex_full_match_of_a_long_text_or_a_class_outside_of_ascii_is_not_judged(text: str, pattern: str) -> None:
    with pytest.raises(Unsupported):
        of_known("RegexFullMatch", strings("aab", text), pattern=pattern)


def test_regex_full_match_of_a_text_outside_of_ascii_has_one_character_for_each_code_point() -> None:
    assert of_known("RegexFullMatch", strings("é", "𝄞", "aé", "b"), pattern="[^a-z]|é|b")[0].tolist() == [
        True,
        True,
        False,
        True,
    ]


def tokens_of(X: Any, **attributes: Any) -> Any:
    node = onnx.helper.make_node("Tokenizer", ["X"], ["Y"], domain="com.microsoft", **attributes)
    model = onnx.ModelProto(opset_import=[onnx.OperatorSetIdProto(domain="com.microsoft", version=1)])
    return enclose(NodeScope.of(model), node, {"X": X})[0].tolist()


def test_tokenizer_returns_the_matches_of_a_repeated_class_with_padding() -> None:
    X = strings("the cat", "", "a,bc")
    found = tokens_of(X, tokenexp="[a-z]+", pad_value="#", mincharnum=2)
    assert found == [["the", "cat"], ["#", "#"], ["bc", "#"]]


@pytest.mark.parametrize(
    "given", [{"tokenexp": "a|b"}, {"tokenexp": "[a-z]+", "mark": 1}, {"separators": [" "]}, {"tokenexp": "x"}]
)
def test_other_tokenizer_is_not_judged(given: dict[str, Any]) -> None:
    with pytest.raises(Unsupported):
        tokens_of(strings("a b"), **given)


def test_tf_idf_vectorizer_counts_grams_with_skips() -> None:
    given = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1, "ngram_counts": [0, 2]}
    given |= {"ngram_indexes": [0, 1, 2], "pool_int64s": [5, 7, 5, 7], "weights": [2.0, 3.0, 0.5]}
    X = np.array([5, 5, 7, 5])
    assert of_known("TfIdfVectorizer", X, mode="TF", **given)[0].tolist() == [3, 1, 2]
    assert of_known("TfIdfVectorizer", X, mode="IDF", **given)[0].tolist() == [2, 3, 0.5]
    assert of_known("TfIdfVectorizer", X, mode="TFIDF", **given)[0].tolist() == [6, 3, 1]


def test_random_operators_have_a_range() -> None:
    p = np.float32([0, 1, 0.5])
    bernoulli = of_known("Bernoulli", p)[0]
    assert admissible_mask(np.float32([0, 1, 1]), bernoulli).all()
    assert admissible_mask(np.float32([1, 0, 2]), bernoulli).tolist() == [False, False, False]
    uniform = of_known("RandomUniform", shape=[2], low=2.0, high=3.0)[0]
    assert admissible_mask(np.float32([2, 3]), uniform).all()
    assert not admissible_mask(np.float32([1.9, 3.1]), uniform).any()
    normal = of_known("RandomNormalLike", p, mean=100.0, scale=0.5)[0]
    assert not admissible_mask(np.float32([0, 150, -1]), normal).any()
    classes = of_known("Multinomial", np.zeros((2, 3), np.float32), sample_size=4)[0]
    assert (classes.shape, classes.dtype) == ((2, 4), np.int32)
    assert not admissible_mask(np.full((2, 4), 3, np.int32), classes).any()


def test_dropout_in_training_keeps_scaled_elements_or_none() -> None:
    X = np.float32([1, -2])
    Y, mask = of_known("Dropout", X, np.float32(0.75), np.array(True), outputs=2)
    assert isinstance(Y, Enclosure)
    assert admissible_mask(np.float32([4, -8]), Y).all()
    assert not admissible_mask(np.float32([4.1, 1]), Y).any()
    assert mask.dtype == bool
    Y, mask = of_known("Dropout", X, np.float32(0), np.array(True), outputs=2)
    assert admissible_mask(X, Y).all()
    assert mask.all()


def test_node_with_an_unknown_input_is_not_judged() -> None:
    model = parser.parse_model('<ir_version: 8, opset_import: ["": 20]> g (float[1] X) => (float[1] Y) { Y = Abs(X) }')
    with pytest.raises(Unsupported, match="X"):
        enclose(NodeScope.of(model), model.graph.node[0], {})
