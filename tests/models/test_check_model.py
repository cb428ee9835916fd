"""`check_model` does not depend on how a version of onnx treats the name of the main domain."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper, parser

from conformance.models.validity import check_model, has_schemas

TEXT = """<ir_version: 8, opset_import: [{imports}]> agraph (float[2] X) => (float[2] Y) {{ Y = own.twice (X) }}
<domain: "own", opset_import: [{inner}]> twice (X) => (Y) {{ Y = Add (X, X) }}"""


def model_of(imports: str, inner: str) -> onnx.ModelProto:
    return parser.parse_model(TEXT.format(imports=f'{imports}, "own": 1', inner=inner))


@pytest.fixture
def checked_models(monkeypatch):
    """Models that are passed to onnx's checker."""
    models = []
    monkeypatch.setattr(onnx.checker, "check_model", lambda model, **_: models.append(model))
    return models


def imported_domains(model: onnx.ModelProto) -> list[list[str]]:
    return [[entry.domain for entry in holder.opset_import] for holder in (model, *model.functions)]


def test_named_main_domain_is_checked_as_empty_name(checked_models):
    model = model_of('"ai.onnx": 13', '"ai.onnx": 13')
    check_model(model)
    assert imported_domains(checked_models[0]) == [["", "own"], [""]]
    assert imported_domains(model) == [["ai.onnx", "own"], ["ai.onnx"]]


@pytest.mark.parametrize("imports", ['"": 13', '"": 13, "ai.onnx": 13'])
def test_model_with_empty_name_is_checked_unchanged(checked_models, imports):
    model = model_of(imports, '"": 13')
    check_model(model)
    assert checked_models[0] is model


def test_invalid_model_is_rejected():
    model = model_of('"ai.onnx": 13', '"": 13')
    model.functions[0].node[0].op_type = "Thrice"
    with pytest.raises(onnx.checker.ValidationError, match="Thrice"):
        check_model(model)


@pytest.mark.parametrize(("domain", "operator", "expected"), [("", "Relu", True), ("acme.training", "Descent", False)])
def test_model_of_an_operator_without_schema_has_no_schemas(domain, operator, expected):
    graph = helper.make_graph([helper.make_node(operator, ["X"], ["Y"], domain=domain)], "g", [], [])
    assert has_schemas(helper.make_model(graph)) == expected
