"""Operators of strings, and TfIdfVectorizer. Their inputs are known, so that their results are exact."""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import object_array
from conformance.exact.reference.nodes import check_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node

STEPS_OF_ELEMENT = 32
"""Steps of arithmetic that take about as long as an element of an n-gram."""

MAX_MATCHED_LENGTH = 1000
"""Maximum length of a string that a pattern is matched with, so that no pattern takes long."""


def _string_concat(_: Node, arrays: Sequence[Any]) -> list[Array]:
    A, B = np.broadcast_arrays(*arrays)
    return [object_array((a + b for a, b in zip(A.flat, B.flat, strict=True)), A.shape)]


def _string_split(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return the parts of each string, filled up with empty strings, and the number of parts.

    Raises:
        Unsupported: a string has other spaces than those of ASCII, ends with spaces behind the last split, or is empty
            where delimiters separate parts.
    """
    (X,) = arrays
    delimiter = node.attributes.get("delimiter") or None
    most = node.attributes.get("maxsplit", -1)
    if delimiter is None and any(each.isspace() and each not in " \t\n\v\f\r" for text in X.flat for each in text):
        raise Unsupported("StringSplit at spaces that not every runtime has")
    if delimiter is not None and not all(X.flat):
        raise Unsupported("StringSplit of an empty string, which has no part or one")
    parts = [text.split(delimiter, most) for text in X.flat]
    if delimiter is None and any(each and each[-1] != each[-1].rstrip() for each in parts):
        raise Unsupported("StringSplit with spaces at the end of the suffix, which the page adds, and removes")
    width = max(map(len, parts), default=0)
    filled = (part for each in parts for part in (*each, *[""] * (width - len(each))))
    counts = np.array([len(each) for each in parts], np.int64).reshape(X.shape)
    return [object_array(filled, (*X.shape, width)), counts]


def _string_normalizer(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return the strings that are no stop words, in another case.

    Raises:
        Unsupported: a string has characters whose case the locale decides.
    """
    (X,) = arrays
    given = node.attributes
    if X.ndim > 2 or X.shape[:-1] not in ((), (1,)):
        raise Unsupported("StringNormalizer of several rows")
    action = given.get("case_change_action", "NONE")
    stop_words = given.get("stopwords", [])
    is_sensitive = bool(given.get("is_case_sensitive", 0))
    if not all(text.isascii() for text in (*X.flat, *stop_words)) and (action != "NONE" or not is_sensitive):
        raise Unsupported("StringNormalizer of characters whose case depends on the locale")
    stops = set(stop_words) if is_sensitive else {word.lower() for word in stop_words}
    kept = [text for text in X.flat if (text if is_sensitive else text.lower()) not in stops]
    texts = [{"LOWER": text.lower(), "UPPER": text.upper()}.get(action, text) for text in kept] or [""]
    return [object_array(texts, (len(texts),) if X.ndim == 1 else (1, len(texts)))]


def _plain(pattern: str) -> str:
    """Return a pattern with one character for each escape and for each class of characters."""
    return re.sub(r"\\.", "x", re.sub(r"\[(?:\\.|[^\]\\])*\]", "x", pattern))


def _compiled(operator: str, pattern: str, texts: Array) -> re.Pattern[str]:
    """Return a pattern of an operator, which matches texts.

    The syntax is that of RE2. Patterns are evaluated that Python's `re` reads in the same way and matches in a bounded
    time: no flags, lookaround, references or classes by name, and at most three unbounded repetitions. A character
    outside of ASCII is one character of both, but may be in another class that an escaped letter names.

    Raises:
        Unsupported: the pattern is another one, or a string is long.
    """
    plain = _plain(pattern)
    repeats = len(re.findall(r"[*+]|\{\d*,\d*\}", plain))
    if re.search(r"\(\?|\)[*+{?]|[*+?}][*+{]", plain) or re.search(r"\\[1-9pPQEACzZxk]|\[:", pattern) or repeats > 3:
        raise Unsupported(f"{operator} with a pattern that the reference does not evaluate")
    if any(len(text) > MAX_MATCHED_LENGTH for text in texts.flat):
        raise Unsupported(f"{operator} of a long string")
    if re.search(r"\\[A-Za-z]", pattern) and not all(text.isascii() for text in (*texts.flat, pattern)):
        raise Unsupported(f"{operator} with a class of characters, and of characters outside of ASCII")
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, OverflowError) as reason:
        raise Unsupported(f"{operator} with an invalid pattern") from reason


def _regex_full_match(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return which strings the pattern matches."""
    (X,) = arrays
    compiled = _compiled("RegexFullMatch", node.attributes.get("pattern", ""), X)
    matches = [compiled.fullmatch(text) is not None for text in X.flat]
    return [np.array(matches, dtype=bool).reshape(X.shape)]


def tokenizer(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return the tokens of each string that match an expression, filled up with padding; of com.microsoft.

    Raises:
        Unsupported: the tokens are what separators leave, have marks, or are none; or the expression is more than one
            repeated character or class, because the first and the longest match could differ.
    """
    (X,) = arrays
    given = node.attributes
    if given.get("mark", 0) or "tokenexp" not in given or X.ndim not in (1, 2):
        raise Unsupported("Tokenizer with marks, or without an expression for tokens")
    if not re.fullmatch(r".[+*]?", _plain(given["tokenexp"])):
        raise Unsupported("Tokenizer with an expression that the reference does not evaluate")
    compiled = _compiled("Tokenizer", given["tokenexp"], X)
    found = [compiled.finditer(text) for text in X.flat]
    tokens = [[each[0] for each in row if len(each[0]) >= max(1, given.get("mincharnum", 1))] for row in found]
    width = max(map(len, tokens), default=0)
    if not width:
        raise Unsupported("Tokenizer without a token")
    padded = (token for each in tokens for token in (*each, *[given.get("pad_value", "")] * (width - len(each))))
    return [object_array(padded, (*X.shape, width))]


def _distances(size: int, node: Node) -> Iterator[tuple[int, int]]:
    """Yield the lengths of the n-grams that a sequence can have, and the distances of two of their elements."""
    low, high, skips = (node.attributes[name] for name in ("min_gram_length", "max_gram_length", "max_skip_count"))
    for length in range(low, min(high, size) + 1):
        most = min(skips + 1, (size - 1) // (length - 1)) if length > 1 else 1
        yield from ((length, distance) for distance in range(1, most + 1))


def _grams(row: Sequence[Any], node: Node) -> Iterator[tuple[Any, ...]]:
    """Yield the n-grams of a sequence: n elements with at most `max_skip_count` elements left out between two."""
    for length, distance in _distances(len(row), node):
        for start in range(len(row) - (length - 1) * distance):
            yield tuple(row[start : start + (length - 1) * distance + 1 : distance])


def _tf_idf_vectorizer(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return the counts of n-grams, or their weights; a weighted count rounds once."""
    (X,) = arrays
    given = node.attributes
    pool = given.get("pool_int64s") or given.get("pool_strings") or []
    starts = [*given["ngram_counts"], len(pool)]
    places = given["ngram_indexes"]
    keys: dict[tuple[Any, ...], int] = {}
    for length, (start, end) in enumerate(pairwise(starts), 1):
        for first in range(start, end, length):
            keys[tuple(pool[first : first + length])] = len(keys)
    if len(set(places)) < len(places) or len(keys) != len(places):
        raise Unsupported("TfIdfVectorizer with an n-gram twice")
    weights = np.array(given.get("weights") or [1.0] * len(keys), np.float32)
    rows = X.reshape(-1, X.shape[-1]) if X.ndim else X.reshape(1, 1)
    size = rows.shape[1]
    steps = accumulate(length * (size - (length - 1) * distance) for length, distance in _distances(size, node))
    for count in chain([(max(places) + 1) // STEPS_OF_ELEMENT], steps):
        check_steps(count * len(rows) * STEPS_OF_ELEMENT)
    Y = np.zeros((len(rows), max(places) + 1), np.float32)
    for y, row in zip(Y, rows, strict=True):
        for gram, count in Counter(_grams(row.tolist(), node)).items():
            if (number := keys.get(gram)) is not None:
                weight = np.float32(1) if given["mode"] == "TF" else weights[number]
                y[places[number]] = np.float32(1 if given["mode"] == "IDF" else count) * weight
    return [Y.reshape(*X.shape[:-1], -1)]


TEXT: Mapping[str, Callable[[Node, Sequence[Any]], list[Array]]] = {
    "StringConcat": _string_concat,
    "StringSplit": _string_split,
    "StringNormalizer": _string_normalizer,
    "RegexFullMatch": _regex_full_match,
    "TfIdfVectorizer": _tf_idf_vectorizer,
}
"""Operators of known elements, most of them strings."""
