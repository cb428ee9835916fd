"""Model summaries do not depend on the version of onnx."""

from __future__ import annotations

from onnx import helper, parser

from conformance.exact.models.summaries import model_summary

TEXT = '<ir_version: 8, opset_import: ["own": 1]> agraph (float[2] X) => (float[2] Y) { Y = own.Tagged (X) }'
LISTED = "listed (float[2] A) => (float[2] B) { B = Abs (A) }"


def test_graph_list_is_summarised_like_a_graph():
    model, graph = parser.parse_model(TEXT), parser.parse_graph(LISTED)
    for name, value in (("one", graph), ("several", [graph, graph])):
        model.graph.node[0].attribute.append(helper.make_attribute(name, value))
    shown = model_summary(model).nodes[0].attributes
    assert shown == {"one": "(A) → B = Abs(A) → (B)", "several": f"[{shown['one']}, {shown['one']}]"}
