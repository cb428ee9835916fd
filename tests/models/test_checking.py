"""The checker's word does not depend on its version's way with the main domain's name."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from conformance.models.checking import check

TEXT = """<ir_version: 8, opset_import: [{imports}]> agraph (float[2] X) => (float[2] Y) {{ Y = own.twice (X) }}
<domain: "own", opset_import: [{inner}]> twice (X) => (Y) {{ Y = Add (X, X) }}"""


def model_of(imports: str, inner: str) -> onnx.ModelProto:
    return parser.parse_model(TEXT.format(imports=f'{imports}, "own": 1', inner=inner))


@pytest.fixture
def shown(monkeypatch):
    """The models that onnx's checker is shown."""
    models = []
    monkeypatch.setattr(onnx.checker, "check_model", lambda model, **_: models.append(model))
    return models


def spellings(model: onnx.ModelProto) -> list[list[str]]:
    return [[entry.domain for entry in holder.opset_import] for holder in (model, *model.functions)]


def test_a_main_domain_imported_by_its_name_is_shown_by_the_empty_name(shown):
    model = model_of('"ai.onnx": 13', '"ai.onnx": 13')
    check(model)
    assert spellings(shown[0]) == [["", "own"], [""]]
    assert spellings(model) == [["ai.onnx", "own"], ["ai.onnx"]]


@pytest.mark.parametrize("imports", ['"": 13', '"": 13, "ai.onnx": 13'])
def test_a_model_with_the_empty_name_is_shown_as_it_is(shown, imports):
    model = model_of(imports, '"": 13')
    check(model)
    assert shown[0] is model


def test_what_the_checker_refuses_is_refused():
    model = model_of('"ai.onnx": 13', '"": 13')
    model.functions[0].node[0].op_type = "Thrice"
    with pytest.raises(onnx.checker.ValidationError, match="Thrice"):
        check(model)
