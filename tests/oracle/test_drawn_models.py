"""Random models go through both oracles, and a fault of either is told; `nox -s oracle -- --draws N` draws more."""

from __future__ import annotations

from collections import Counter

import drawn_models
from drawn_models import report

from conformance.reference.oracle import Answer


def test_both_oracles_agree_on_random_models():
    counts = Counter()
    assert list(report(24, 0, counts)) == []
    assert counts["models"] == 24
    assert counts["elements"] > 100


def test_a_wrong_answer_is_told_with_the_model_and_its_data(monkeypatch):
    right = drawn_models.answers

    def one_more(*given):
        return [Answer(answer.expected + answer.expected.dtype.type(1), answer.bound) for answer in right(*given)]

    monkeypatch.setattr(drawn_models, "answers", one_more)
    told = next(report(2, 0, Counter()))
    assert "ai.onnx.preview.training" in told
    assert "array(" in told
    assert "value: the corpus has" in told
