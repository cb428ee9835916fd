"""Required inputs of a graph: all parts of the suite agree on every model of the corpus."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from repository import DATA

from conformance.corpus.case_json import read_case_json
from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.models.inputs import GraphInputs, fed_input_names, required_input_names
from conformance.reference.graph import Graph
from conformance.verdicts import Unsupported

CORPUS = open_corpus(DATA)


def graph_with(*, dense: str = "", sparse: str = "") -> onnx.GraphProto:
    """Return a graph with the inputs X and Y, one of which can have an initializer."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "XYZ"]
    graph = helper.make_graph([helper.make_node("Add", ["X", "Y"], ["Z"])], "sum", values[:2], values[2:])
    if dense:
        graph.initializer.append(helper.make_tensor(dense, TensorProto.FLOAT, [2], [1.0, 2.0]))
    if sparse:
        elements = helper.make_tensor(sparse, TensorProto.FLOAT, [1], [1.0])
        places = helper.make_tensor("", TensorProto.INT64, [1], [0])
        graph.sparse_initializer.append(helper.make_sparse_tensor(elements, places, [2]))
    return graph


@pytest.mark.parametrize(
    ("initializer", "required"), [({}, ["X", "Y"]), ({"dense": "Y"}, ["X"]), ({"sparse": "X"}, ["Y"])]
)
def test_input_with_initializer_is_not_required(initializer, required):
    assert required_input_names(graph_with(**initializer)) == required


def test_inputs_by_name_keep_the_graph_order():
    X, Y = np.zeros(2, np.float32), np.ones(2, np.float32)
    feeds = GraphInputs.of(helper.make_model(graph_with())).by_name([X, Y])
    assert list(feeds.items()) == [("X", X), ("Y", Y)]


@pytest.mark.whole
def test_case_json_and_data_sets_agree_on_required_inputs():
    for case in CORPUS.cases.values():
        loaded, document = load_case(CORPUS, case), read_case_json(CORPUS, case)
        required = required_input_names(loaded.model.graph)
        assert [value.name for value in document.model.inputs] == required, case.id
        for preview, data_set in zip(document.data_sets, loaded.data_sets(), strict=True):
            fed = fed_input_names(loaded.model.graph, len(preview.inputs))
            assert [tensor.name for tensor in preview.inputs] == fed, case.id
            assert len(data_set.inputs) == len(preview.inputs), case.id


@pytest.mark.whole
def test_reference_graph_has_the_required_inputs():
    unsupported = 0
    for case in (case for case in CORPUS.cases.values() if not case.is_invalid):
        model = load_case(CORPUS, case).model
        try:
            graph = Graph.from_model(model)
        except Unsupported:
            unsupported += 1
        else:
            assert list(graph.required_inputs) == required_input_names(model.graph), case.id
    assert unsupported < 20


@pytest.mark.whole
def test_data_sets_match_the_required_inputs():
    for case in (case for case in CORPUS.cases.values() if not case.is_invalid and not case.is_structural):
        loaded = load_case(CORPUS, case)
        feeds = GraphInputs.of(loaded.model)
        for data_set in loaded.data_sets():
            names = [value.name for value in loaded.model.graph.input]
            if len(data_set.inputs) != len(names):  # a data set may feed inputs with an initializer too
                names = required_input_names(loaded.model.graph)
            assert list(feeds.by_name(data_set.inputs)) == names, case.id
