"""Which inputs are fed: one rule, and all who need it agree on every model of the corpus."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from repository import DATA

from conformance.corpus.corpus import open_corpus
from conformance.corpus.document import case_json
from conformance.corpus.loading import load_case
from conformance.models.feeds import Feeds, fed_names
from conformance.reference.graph import Graph
from conformance.verdicts import Unsupported

CORPUS = open_corpus(DATA)


def graph_with(*, dense: str = "", sparse: str = "") -> onnx.GraphProto:
    """A graph with the inputs X and Y, of which one may have an initializer."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "XYZ"]
    graph = helper.make_graph([helper.make_node("Add", ["X", "Y"], ["Z"])], "sum", values[:2], values[2:])
    if dense:
        graph.initializer.append(helper.make_tensor(dense, TensorProto.FLOAT, [2], [1.0, 2.0]))
    if sparse:
        elements = helper.make_tensor(sparse, TensorProto.FLOAT, [1], [1.0])
        places = helper.make_tensor("", TensorProto.INT64, [1], [0])
        graph.sparse_initializer.append(helper.make_sparse_tensor(elements, places, [2]))
    return graph


@pytest.mark.parametrize(("held", "fed"), [({}, ["X", "Y"]), ({"dense": "Y"}, ["X"]), ({"sparse": "X"}, ["Y"])])
def test_an_input_with_an_initializer_of_either_kind_is_not_fed(held, fed):
    assert fed_names(graph_with(**held)) == fed


def test_what_is_fed_comes_by_name_in_the_order_of_the_graph():
    X, Y = np.zeros(2, np.float32), np.ones(2, np.float32)
    feeds = Feeds.of(helper.make_model(graph_with())).by_name([X, Y])
    assert list(feeds.items()) == [("X", X), ("Y", Y)]


@pytest.mark.whole
def test_corpus_reports_and_data_agree_on_every_model():
    for case in CORPUS.cases.values():
        loaded, document = load_case(CORPUS, case), case_json(CORPUS, case)
        names = fed_names(loaded.model.graph)
        assert [value["name"] for value in document["model"]["inputs"]] == names, case.id
        for told, data_set in zip(document["data_sets"], loaded.data_sets(), strict=True):
            assert [tensor["name"] for tensor in told["inputs"]] == names[: len(told["inputs"])], case.id
            assert len(data_set.inputs) == len(told["inputs"]), case.id


def test_the_oracle_agrees_on_every_model_that_it_reads():
    unread = 0
    for case in (case for case in CORPUS.cases.values() if not case.is_invalid):
        model = load_case(CORPUS, case).model
        try:
            graph = Graph.of(model)
        except Unsupported:
            unread += 1
        else:
            assert list(graph.inputs) == fed_names(model.graph), case.id
    assert unread < 20


def test_adapters_are_fed_what_every_data_set_holds():
    for case in (case for case in CORPUS.cases.values() if not case.is_invalid and not case.is_structural):
        loaded = load_case(CORPUS, case)
        feeds = Feeds.of(loaded.model)
        for data_set in loaded.data_sets():
            assert list(feeds.by_name(data_set.inputs)) == fed_names(loaded.model.graph), case.id
