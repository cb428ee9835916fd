"""Reading of a user's model: what is completed, and what is refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from large_models import doubling
from onnx import parser
from refusals import assert_bad_input

from conformance.base.errors import ModelError
from conformance.exact.models import graphs
from conformance.exact.models.arrays import hash_values
from conformance.exact.models.graphs import subgraphs_of
from conformance.exact.reference.node_enclosures import NodeScope
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.adapters.reference import ReferenceBackend

if TYPE_CHECKING:
    from pathlib import Path

HEADER = '<ir_version: 9, opset_import: ["" : 17]> g '
X = np.array([0.75, -1.25], np.float32)


def read(model: onnx.ModelProto, folder: Path) -> LoadedModel:
    onnx.save(model, folder / "model.onnx")
    return LoadedModel.read(folder / "model.onnx")


def refusal(model: onnx.ModelProto, folder: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(model, folder)
    return caught.value


def operators(nodes) -> list[str]:
    return [node.op_type for node in nodes]


@pytest.mark.parametrize("field", ["shape", "type"])
def test_read_of_a_model_with_an_output_without_shape_infers_it(tmp_path, field):
    model = parser.parse_model(HEADER + "(float[2] X) => (float[2] Y) { Y = Abs(X) }")
    declared = model.graph.output[0]
    (declared if field == "type" else declared.type.tensor_type).ClearField(field)
    [output] = read(model, tmp_path).original.graph.output
    assert [size.dim_value for size in output.type.tensor_type.shape.dim] == [2]
    assert output.type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_read_of_a_model_whose_output_has_no_shape_to_infer_is_refused_by_name(tmp_path):
    model = parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17, "acme" : 1]> g (float[2] X) => (float[2] Y) { Y = acme.Unknown(X) }'
    )
    model.graph.output[0].ClearField("type")
    error = refusal(model, tmp_path)
    assert error.code == "model.output-without-shape"
    assert "the output Y" in error.problem


def test_read_of_an_unsorted_model_sorts_it(tmp_path):
    model = parser.parse_model(HEADER + "(float[2] X) => (float[2] Y) { Y = Abs(u) u = Tanh(t) v = Exp(X) t = Neg(v) }")
    loaded = read(model, tmp_path)
    assert operators(loaded.original.graph.node) == ["Exp", "Neg", "Tanh", "Abs"]
    [result] = ReferenceBackend.prepare(loaded.original, "CPU").run([X])
    np.testing.assert_allclose(result, np.abs(np.tanh(-np.exp(X))), rtol=1e-6)


def test_read_of_an_unsorted_subgraph_sorts_it_and_its_captures(tmp_path):
    model = parser.parse_model(
        HEADER
        + """(float[2] X) => (float[2] Y) <bool yes = {1}> {
        Y = If(yes) <then_branch = t () => (float[2] T) { T = Abs(u) u = Tanh(v) },
                     else_branch = e () => (float[2] E) { E = Exp(v) }>
        v = Neg(X) }"""
    )
    nodes = read(model, tmp_path).original.graph.node
    assert operators(nodes) == ["Neg", "If"]
    assert operators(subgraphs_of(nodes[1])[0].node) == ["Tanh", "Abs"]


def test_read_of_a_sorted_model_changes_no_byte(tmp_path):
    model = parser.parse_model(HEADER + "(float[2] X) => (float[2] Y) { a = Neg(X) b = Abs(X) Y = Add(b, a) }")
    assert read(model, tmp_path).original.SerializeToString() == model.SerializeToString()


def test_read_of_a_cyclic_model_is_refused_by_name(tmp_path):
    model = parser.parse_model(HEADER + "(float[2] X) => (float[2] Y) { Y = Abs(u) u = Add(Y, X) }")
    error = refusal(model, tmp_path)
    assert error.code == "model.cyclic-graph"
    assert "the node Y" in error.problem


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("X", b"\xff"),  # a name of a value
        ("Clip", b"Cl\xffp"),  # an operator
        ("axis", b"ax\xffs"),  # an attribute
        ("acme", b"ac\xffe"),  # a domain
    ],
)
def test_read_of_a_text_that_is_not_utf8_is_refused(tmp_path, text, change):
    model = parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17, "acme" : 1]> g (float[2] X) => (float[2] Y)'
        " { u = Clip(X) v = Softmax<axis=0>(u) Y = acme.Op(v) }"
    )
    content = model.SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(content.replace(bytes([len(text)]) + text.encode(), bytes([len(change)]) + change))
    with pytest.raises(ModelError) as caught:
        LoadedModel.read(path)
    assert caught.value.code == "model.invalid"
    assert repr(change) in caught.value.problem


def test_read_of_calls_without_end_whose_output_has_no_shape_is_refused(tmp_path):
    model = doubling(40)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert refusal(model, tmp_path).code == "model.too-many-calls"


def test_read_of_functions_that_call_the_next_twice_is_refused_with_little_memory(tmp_path):
    """Thirty functions come to 2^30 nodes."""
    onnx.save(doubling(30), tmp_path / "model.onnx")
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31)); import sys;"
        " from pathlib import Path; from conformance.base.errors import ModelError;"
        " from conformance.own.graphs.reading import LoadedModel\n"
        "try: LoadedModel.read(Path(sys.argv[1]))\n"
        "except ModelError as error: print(error.code)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "model.onnx"], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout.strip() == "model.too-many-calls"


@pytest.mark.parametrize("imported", ["", "ai.onnx"])
def test_read_of_nodes_that_name_the_main_domain_is_accepted(tmp_path, imported):
    model = parser.parse_model(HEADER + "(float[2] X) => (float[2] Y) { Y = Abs(X) }")
    model.graph.node[0].domain, model.opset_import[0].domain = "ai.onnx", imported
    assert read(model, tmp_path).original == model


def test_read_of_a_model_that_lists_an_output_twice_is_refused(tmp_path):
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[1] X) => (float[1] Y) { Y = Relu(X) }'
    )
    model.graph.output.append(model.graph.output[0])
    assert refusal(model, tmp_path).code == "model.invalid"


def test_hash_of_strings_depends_on_their_characters_only():
    first, second = (np.array(["".join(["x", "y" * count]), "z"], dtype=object) for count in (50, 50))
    assert first[0] is not second[0]
    assert hash_values([first]) == hash_values([second])
    assert hash_values([first]) != hash_values([first[::-1]])


def test_hash_of_equal_bytes_of_another_type_or_shape_differs():
    array = np.zeros(4, np.float32)
    others = [array.view(np.int32), array.reshape(2, 2), array[:2]]
    assert len({hash_values([each]) for each in (array, *others)}) == 4


@pytest.mark.parametrize("name", ["", "ai.onnx"])
def test_node_scope_finds_the_version_by_either_name_of_the_main_domain(name):
    model = parser.parse_model(HEADER + "(float[2] X) => (float[2] Y) { Y = Abs(X) }")
    model.opset_import[0].domain = name
    for domain in ("", "ai.onnx"):
        model.graph.node[0].domain = domain
        assert NodeScope.of(model).node(model.graph.node[0]).opset == 17


OPEN_RANK = (
    HEADER + "(float[2] X, int64 n) => (float[N] Y) <bool yes = {1}> { Y = Loop(n, yes, X)"
    " <body = b (int64 i, bool c, float[K] s) => (bool d, float[M] t)"
    " { d = Identity(c) t = Concat <axis = 0> (s, s) }> }"
)
"""A loop that doubles its value in each round."""


def test_output_of_an_open_rank_has_the_shape_of_the_run(tmp_path, command):
    model = parser.parse_model(OPEN_RANK)
    [body] = subgraphs_of(model.graph.node[0])
    for value in (body.input[2], body.output[1], model.graph.output[0]):
        value.type.tensor_type.ClearField("shape")
    assert not read(model, tmp_path).original.graph.output[0].type.tensor_type.HasField("shape")
    given = (tmp_path / "model.onnx", "-b", "onnxruntime", "--no-isolation", "--input", "n=2")
    report = tmp_path / "audit.json"
    assert command("audit", *given, "--json", report).status == 0
    assert json.loads(report.read_text())["audits"][0]["nodes"][0]["elements"] == 8
    assert_bad_input(command("blame", *given, "-o", "onnxoptimizer", "--verbose"), "model.output-without-shape", "Y")


def test_types_are_not_inferred_if_many_subgraphs_see_many_values(monkeypatch):
    branch = "b () => (float[2] Z) { Z = Abs (X) }"
    nodes = "".join(f"Y{n} = If (c) <then_branch = {branch}, else_branch = {branch}>" for n in range(10))
    model = parser.parse_model(HEADER + f"(float[2] X, bool c) => (float[2] Y9) {{ {nodes} }}")
    seen = 20 * 12  # by each of the 20 branches: two inputs and ten results
    monkeypatch.setattr(graphs, "MAX_COPIED_TYPES", seen)
    assert graphs.inference_problem(model) is None
    monkeypatch.setattr(graphs, "MAX_COPIED_TYPES", seen - 1)
    assert graphs.inference_problem(model) is not None
