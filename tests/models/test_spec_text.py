"""Texts of the specification in installed packages, and the passages that clauses cite."""

from __future__ import annotations

import pytest
from batches import for_each

from conformance.clauses import Passage, clauses, text_digest
from conformance.models.spec_text import installed_version, quote_passage, specification_text, text_package

ADAM = "onnx.defs ai.onnx.preview.training Adam-1"
INSTALLED_PASSAGES = {
    f"{id}-{number}": passage
    for id, clause in clauses().items()
    for number, passage in enumerate(clause.passages)
    if installed_version(text_package(passage.document) or "")
}


@for_each("name", INSTALLED_PASSAGES)
def test_passage_exists_in_the_installed_package(name):
    passage = INSTALLED_PASSAGES[name]
    words = quote_passage(passage)
    assert words is not None
    assert text_digest(words) == passage.sha256


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
    def test_schema_part_contains_words(self, part, words):
        assert words in specification_text(ADAM, part)

    def test_package_file_is_read(self):
        assert "message ModelProto {" in specification_text("onnx onnx.proto", "ModelProto")

    @pytest.mark.parametrize(
        "document",
        [
            "onnx.defs ai.onnx Log-14",
            "onnx.defs ai.onnx Nothing-1",
            "onnx nothing.proto",
            "onnx/onnx v1.22.0 docs/IR.md",
        ],
    )
    def test_missing_document_has_no_text(self, document):
        assert specification_text(document, "summary") is None
        assert quote_passage(Passage(document, "summary", 0, 1, text_digest("x"))) is None

    def test_missing_package_has_no_version(self):
        assert installed_version("no-such-package-of-onnx") is None
