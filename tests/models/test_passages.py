"""The texts that clauses point into, in the packages that are installed."""

from __future__ import annotations

import pytest

from conformance.clauses import Passage, clauses, digest
from conformance.models.passages import carrier, quoted, text_of, version_of

ADAM = "onnx.defs ai.onnx.preview.training Adam-1"
CARRIED = [
    pytest.param(passage, id=f"{id}-{number}")
    for id, clause in clauses().items()
    for number, passage in enumerate(clause.passages)
    if version_of(carrier(passage.document) or "")
]


@pytest.mark.parametrize("passage", CARRIED)
def test_the_installed_package_says_it_in_the_words_that_the_clause_points_at(passage):
    words = quoted(passage)
    assert words is not None
    assert digest(words) == passage.sha256


class TestTexts:
    @pytest.mark.parametrize(
        ("part", "words"),
        [
            ("summary", "X_new = X - R_adjusted * V_new / H_sqrt"),
            ("attribute alpha", "Default to 0.9."),
            ("input T", "scalar"),
            ("output outputs", "New values"),
            ("type constraint T2", "64-bit"),
            ("signature", "attribute alpha: FLOAT, default 0.8999999761581421"),
            ("signature", "input inputs: T3, Variadic"),
            ("signature", "1 to any number outputs"),
        ],
    )
    def test_a_schema_has_its_parts(self, part, words):
        assert words in text_of(ADAM, part)

    def test_a_file_of_a_package_is_read_whole(self):
        assert "message ModelProto {" in text_of("onnx onnx.proto", "ModelProto")

    @pytest.mark.parametrize(
        "document",
        [
            "onnx.defs ai.onnx Log-14",
            "onnx.defs ai.onnx Nothing-1",
            "onnx nothing.proto",
            "onnx/onnx v1.22.0 docs/IR.md",
        ],
    )
    def test_what_is_not_installed_has_no_text(self, document):
        assert text_of(document, "summary") is None
        assert quoted(Passage(document, "summary", 0, 1, digest("x"))) is None

    def test_a_package_that_is_not_installed_has_no_version(self):
        assert version_of("no-such-package-of-onnx") is None
