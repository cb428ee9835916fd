"""Freedoms of a rewrite: for each, a rewrite that uses it passes, and a similar rewrite that goes too far fails."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from rewrite_checks import FIRES, judged, spoiling, violations

from conformance.base.verdicts import Verdict
from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.exact.models.comparison import canonical_form, has_same_content, normal_form

FLOAT = TensorProto.FLOAT


def rich_model():
    """Return a valid model that uses every freedom; the pass removes the producer of Y."""
    info = helper.make_tensor_value_info
    doubled = [
        helper.make_node("LeakyRelu", ["A"], ["P"], alpha=0.5),
        helper.make_node("Neg", ["A"], ["Q"]),
        helper.make_node("Concat", ["P", "Q"], ["B"], axis=0),
    ]
    negated = [helper.make_node("Neg", ["A"], ["B"])]
    main, acme = helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)
    functions = [
        helper.make_function("acme", name, ["A"], ["B"], body, [main])
        for name, body in (("Doubled", doubled), ("Negated", negated))
    ]
    nodes = [
        helper.make_node("Dropout", ["X"], ["same", ""]),
        helper.make_node("Clip", ["same", "", "most"], ["X0"]),
        helper.make_node("Clip", ["X0", "least", ""], ["X1"]),
        helper.make_node("Exp", ["X1"], ["Y"]),
        helper.make_node("ArgMax", ["Y"], ["index"], axis=1, keepdims=0),
        helper.make_node("LeakyRelu", ["X"], ["leaky"], alpha=0.01),
        helper.make_node("Doubled", ["X"], ["doubled"], domain="acme"),
        helper.make_node("Negated", ["X"], ["negated"], domain="acme"),
    ]
    outputs = [info("index", TensorProto.INT64, [2])]
    outputs += [info(name, FLOAT, [rows, 3]) for name, rows in (("leaky", 2), ("doubled", 4), ("negated", 2))]
    numbers = {"most": 4.5, "least": -1.0, "scale": 0.5, "weight": 1.0, "bias": 2.0}
    initializers = [numpy_helper.from_array(np.array(number, np.float32), name) for name, number in numbers.items()]
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([1.0], np.float32), "sparse"),
        numpy_helper.from_array(np.array([[0, 1]], np.int64), "places"),
        [2, 3],
    )
    graph = helper.make_graph(
        nodes,
        "rich",
        [info("X", FLOAT, [2, 3])],
        outputs,
        initializers,
        value_info=[info("same", FLOAT, [2, 3]), info("X1", FLOAT, [2, 3])],
        sparse_initializer=[sparse],
    )
    for name in ("X", "index"):
        note = graph.quantization_annotation.add(tensor_name=name)
        note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
        note.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="least")
    model = helper.make_model(graph, functions=functions, ir_version=11, opset_imports=[main, acme, acme])
    helper.set_model_props(model, {"author": "somebody", "license": "none"})
    for name in ("first", "second"):
        model.configuration.add(name=name, num_devices=2)
        model.graph.node[4].device_configurations.add(configuration_id=name, pipeline_stage=0)
    step = [helper.make_node("Add", [name, "scale"], [f"{name}_next"]) for name in ("weight", "bias")]
    shown = [info(f"{name}_next", FLOAT, []) for name in ("weight", "bias")]
    training = model.training_info.add()
    training.algorithm.CopyFrom(helper.make_graph(step, "step", [], shown))
    for name in ("weight", "bias"):
        training.update_binding.add(key=name, value=f"{name}_next")
    onnx.checker.check_model(model, full_check=True)
    return model


def node_of(model, output):
    return next(node for node in model.graph.node if output in node.output)


def reverse(entries):
    copies = [type(entry).FromString(entry.SerializeToString()) for entry in entries]
    del entries[:]
    entries.extend(reversed(copies))


def swap_nodes(graph, one, other):
    order = [type(node).FromString(node.SerializeToString()) for node in graph.node]
    order[one], order[other] = order[other], order[one]
    del graph.node[:]
    graph.node.extend(order)


def rename(model, old, new):
    for node in model.graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        node.output[:] = [new if name == old else name for name in node.output]


def tensor(model, name):
    return next(each for each in model.graph.initializer if each.name == name)


def drop_trailing_input(after):
    del node_of(after, "X1").input[-1]


def drop_middle_input(after):
    del node_of(after, "X0").input[1]


def drop_trailing_output(after):
    del node_of(after, "same").output[-1]


def name_omitted_output(after):
    node_of(after, "same").output[1] = "mask"


def reverse_attributes(after):
    reverse(node_of(after, "index").attribute)


def change_attribute(after):
    node_of(after, "index").attribute.append(helper.make_attribute("select_last_index", 1))


def omit_default(after):
    node_of(after, "leaky").ClearField("attribute")


def omit_other_value(after):
    node_of(after, "index").attribute.pop()


def reverse_imports(after):
    reverse(after.opset_import)


def change_import(after):
    after.opset_import[0].version = 20


def merge_imports(after):
    del after.opset_import[-1]


def raise_repeated_import(after):
    after.opset_import[-1].version = 2


def name_main_domain(after):
    after.opset_import[0].domain = "ai.onnx"


def drop_imports(after):
    del after.opset_import[1:]


def reverse_functions(after):
    reverse(after.functions)


def swap_function_names(after):
    after.functions[0].name, after.functions[1].name = "Negated", "Doubled"


def reorder_function(after):
    swap_nodes(after.functions[0], 0, 1)


def change_function(after):
    after.functions[0].node[0].attribute[0].f = 0.25


def reverse_metadata(after):
    reverse(after.metadata_props)


def swap_metadata(after):
    after.metadata_props[0].key, after.metadata_props[1].key = "license", "author"


def reverse_initializers(after):
    reverse(after.graph.initializer)


def swap_initializers(after):
    after.graph.initializer[0].name, after.graph.initializer[1].name = "least", "most"


def reverse_declarations(after):
    reverse(after.graph.value_info)


def change_declaration(after):
    after.graph.value_info[0].type.tensor_type.shape.dim[0].dim_param = "N"


def reverse_annotations(after):
    reverse(after.graph.quantization_annotation)
    for note in after.graph.quantization_annotation:
        reverse(note.quant_parameter_tensor_names)


def change_annotation(after):
    after.graph.quantization_annotation[0].quant_parameter_tensor_names[0].value = "most"


def reorder_nodes(after):
    swap_nodes(after.graph, 5, 6)


def reorder_dependent_nodes(after):
    swap_nodes(after.graph, 0, 1)


def rename_value(after):
    rename(after, "X0", "renamed")


def rename_output(after):
    rename(after, "index", "renamed")
    after.graph.output[0].name = "renamed"


def store_typed(after):
    most = tensor(after, "most")
    most.ClearField("raw_data")
    most.float_data.append(4.5)


def store_another_number(after):
    store_typed(after)
    tensor(after, "most").float_data[0] = 4.25


def linearize_indices(after):
    sparse = after.graph.sparse_initializer[0]
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([1], np.int64), "places"))


def move_sparse_value(after):
    sparse = after.graph.sparse_initializer[0]
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([2], np.int64), "places"))


def reverse_bindings(after):
    reverse(after.training_info[0].update_binding)


def swap_bindings(after):
    first, second = after.training_info[0].update_binding
    first.value, second.value = second.value, first.value


def reverse_devices(after):
    reverse(after.configuration)
    reverse(node_of(after, "index").device_configurations)


def clear_stage_zero(after):
    node_of(after, "index").device_configurations[0].ClearField("pipeline_stage")


def set_empty_field(after):
    after.training_info[0].algorithm.node[0].doc_string = ""


def set_field(after):
    after.training_info[0].algorithm.node[0].doc_string = "text"


FREEDOMS = [
    (drop_trailing_input, drop_middle_input, "structure"),
    (drop_trailing_output, name_omitted_output, "structure"),
    (reverse_attributes, change_attribute, "structure"),
    (omit_default, omit_other_value, "structure"),
    (reverse_imports, change_import, "interface"),
    (merge_imports, raise_repeated_import, "interface"),
    (name_main_domain, drop_imports, "interface"),
    (reverse_functions, swap_function_names, "answers"),
    (reorder_function, change_function, "preservation"),
    (reverse_metadata, swap_metadata, "preservation"),
    (reverse_initializers, swap_initializers, "preservation"),
    (reverse_declarations, change_declaration, "preservation"),
    (reverse_annotations, change_annotation, "preservation"),
    (reorder_nodes, reorder_dependent_nodes, "checker"),
    (rename_value, rename_output, "interface"),
    (store_typed, store_another_number, "preservation"),
    (linearize_indices, move_sparse_value, "preservation"),
    (reverse_bindings, swap_bindings, "preservation"),
    (reverse_devices, clear_stage_zero, "preservation"),
    (set_empty_field, set_field, "preservation"),
]
"""A rewrite that uses a freedom, one that breaks it, and the check that fails then."""


@pytest.mark.parametrize("use", [use for use, _, _ in FREEDOMS], ids=lambda use: use.__name__)
def test_rewrite_that_uses_a_freedom_passes(use):
    model = rich_model()
    after = eliminate(model)
    use(after)
    assert after.SerializeToString(deterministic=True) != eliminate(model).SerializeToString(deterministic=True)
    outcome = judged(spoiling(use), model, FIRES)
    assert (outcome.verdict, violations(outcome)) == (Verdict.PASS, {})


@pytest.mark.parametrize(
    ("spoil", "check"), [row[1:] for row in FREEDOMS], ids=lambda each: getattr(each, "__name__", each)
)
def test_rewrite_that_exceeds_a_freedom_fails(spoil, check):
    assert check in violations(judged(spoiling(spoil), rich_model(), FIRES))


def test_main_domain_of_a_node_has_two_names():
    model, named = rich_model(), rich_model()
    node_of(named, "leaky").domain = "ai.onnx"
    assert canonical_form(model) == canonical_form(named)
    node_of(named, "leaky").domain = "ai.onnx.ml"
    assert canonical_form(model) != canonical_form(named)


def test_default_of_a_function_is_no_default_of_an_operator():
    models = [rich_model(), rich_model()]
    for model in models:
        model.functions.append(
            helper.make_function("", "LeakyRelu", ["A"], ["B"], [helper.make_node("Neg", ["A"], ["B"])], [])
        )
    omit_default(models[1])
    assert canonical_form(models[0]) != canonical_form(models[1])


class TestExternalData:
    """Models with external data, whose file is in the current folder."""

    @pytest.fixture
    def model(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "weights").write_bytes(bytes(4) + np.float32(4.5).tobytes())
        model = rich_model()
        most = tensor(model, "most")
        most.ClearField("raw_data")
        most.data_location = TensorProto.EXTERNAL
        for key, value in {"location": "weights", "offset": "4", "length": "4"}.items():
            most.external_data.add(key=key, value=value)
        return model

    @staticmethod
    def inline(after):
        most = tensor(after, "most")
        most.ClearField("external_data")
        most.ClearField("data_location")
        most.raw_data = np.float32(4.5).tobytes()

    def test_order_of_entries_is_free(self, model):
        def reorder(after):
            reverse(tensor(after, "most").external_data)

        assert violations(judged(spoiling(reorder), model, FIRES)) == {}

    def test_elements_may_move_into_the_model(self, model):
        assert violations(judged(spoiling(self.inline), model, FIRES)) == {}

    def test_another_shape_in_the_model_is_another_tensor(self, model):
        after = eliminate(model)
        self.inline(after)
        tensor(after, "most").dims.append(1)
        assert not has_same_content(tensor(model, "most"), tensor(after, "most"))

    def test_lost_offset_violates_preservation(self, model):
        def lose_offset(after):
            del tensor(after, "most").external_data[1]

        assert "preservation" in violations(judged(spoiling(lose_offset), model, FIRES))

    def test_absolute_location_violates_checker(self, model, tmp_path):
        def make_absolute(after):
            tensor(after, "most").external_data[0].value = str(tmp_path / "weights")

        assert "checker" in violations(judged(spoiling(make_absolute), model, FIRES))

    def test_reference_without_data_violates_checker(self, model):
        def clear_location(after):
            tensor(after, "most").ClearField("external_data")
            tensor(after, "most").ClearField("data_location")

        assert "checker" in violations(judged(spoiling(clear_location), model, FIRES))


def test_normal_form_keeps_the_message():
    model = rich_model()
    before = model.SerializeToString(deterministic=True)
    form = normal_form(model)
    assert model.SerializeToString(deterministic=True) == before
    assert normal_form(form) == form


def test_normal_form_sorts_independent_nodes():
    one, other = rich_model(), rich_model()
    reorder_nodes(other)
    assert one.graph != other.graph
    assert normal_form(one) == normal_form(other)
