"""Both oracles compute random models, and differences are reported. `nox -s oracle -- --examples N` compares more."""

from __future__ import annotations

from collections import Counter

import compare_oracles
from compare_oracles import report

from conformance.reference.oracle import Answer


def test_oracles_agree_on_random_models():
    counts = Counter()
    assert list(report(24, 0, counts)) == []
    assert counts["models"] == 24
    assert counts["elements"] > 100


def test_oracle_difference_is_reported_with_model_and_data(monkeypatch):
    right = compare_oracles.answers

    def one_more(*given):
        return [Answer(answer.expected + answer.expected.dtype.type(1), answer.bound) for answer in right(*given)]

    monkeypatch.setattr(compare_oracles, "answers", one_more)
    told = next(report(2, 0, Counter()))
    assert "ai.onnx.preview.training" in told
    assert "array(" in told
    assert "value: the corpus has" in told
