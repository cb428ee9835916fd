"""The cases of training runs, of functions and of lowered graphs: that they are what their generators say they are."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from committed import ids_of
from onnx import helper

from conformance.corpus.case import Case
from conformance.corpus.loading import load_case
from conformance.lowering.optimizers import has_training_optimizers
from conformance.models.signatures import TRAINING
from conformance.reference.graph import Graph
from conformance.reference.numbers.native import Native
from conformance.reference.oracle import answers
from conformance.verdicts import Level
from generators import lowered, training, training_step

NETWORKS = ids_of("training", "network")
FED = ids_of("training", "fed")
UNROLLED = ids_of("training", "unrolled")
LONG = [id for id in FED + UNROLLED if "100_steps" in id]
FUNCTIONS = ids_of("functions")
OVERRIDING = [id for id in FUNCTIONS if "own_name" not in id]
"""Functions that stand for an operator, which is computed itself where they are gone."""
SIBLINGS = ids_of("lowered")


def proto(case: Case) -> onnx.ModelProto:
    return onnx.load_model_from_string(case.model)


def siblings(operator: str, case_named) -> list[tuple[Case, Case]]:
    """The lowered cases of an operator, each with the case that it comes from."""
    ids = ids_of("lowered", operator)
    return [(case_named(id), case_named(id.removesuffix("_expanded"))) for id in ids]


def outputs(case: Case, place: int):
    names = [value.name for value in proto(case).graph.output]
    return dict(zip(names, answers(case.model, case.data_sets[place], case.level), strict=True))


@pytest.fixture
def committed_steps(whole_corpus):
    """What is expected of a committed case's X_new, per data set: a hundred steps take the oracle seconds."""

    def of(id):
        data_sets = load_case(whole_corpus, whole_corpus.cases[id]).data_sets()
        return [output for one in data_sets for output in one.outputs if output.name == "X_new"]

    return of


@pytest.mark.parametrize("id", LONG)
def test_a_hundred_steps_come_near_the_optimum(id, committed_steps):
    way = np.abs(np.subtract(training.START, training.OPTIMUM))
    for X_new in committed_steps(id):
        assert (np.abs(X_new.expected - training.OPTIMUM) < 0.05 * way).all()


@pytest.mark.parametrize("id", LONG)
def test_the_bound_after_a_hundred_steps_is_small_beside_the_way(id, committed_steps):
    assert all(X_new.bound.max() < 1e-3 for X_new in committed_steps(id))


@pytest.mark.parametrize("id", FED + UNROLLED)
def test_the_last_step_moves_x_by_more_than_the_bound(id, case_named):
    case = case_named(id)
    model = proto(case)
    last = next(node for node in reversed(model.graph.node) if node.domain == TRAINING)
    model.graph.output.append(onnx.ValueInfoProto(name=last.input[2]))
    _, X_new, *_, X = answers(model.SerializeToString(), case.data_sets[0], case.level)
    assert (np.abs(X_new.expected - X.expected) > X_new.bound).any()


@pytest.mark.parametrize("id", UNROLLED)
def test_runs_start_with_and_without_bias_correction(id, case_named):
    assert [inputs[1].item() for inputs in case_named(id).data_sets] == [0, 1]


@pytest.mark.parametrize("id", FED)
def test_each_data_set_goes_on_where_the_one_before_it_ends(id, case_named):
    case = case_named(id)
    assert len(case.data_sets) == 10
    for place, inputs in enumerate(case.data_sets[1:]):
        expected = [answer.expected for answer in outputs(case, place).values()]
        assert [array.tobytes() for array in inputs[1:]] == [array.tobytes() for array in expected]


@pytest.mark.parametrize("id", [id for id in NETWORKS if id.endswith("double")])
@pytest.mark.parametrize("parameter", training_step.PARAMETERS)
def test_gradients_of_the_network_are_those_of_its_loss(id, parameter, case_named):
    case = case_named(id)
    model = proto(case)
    del model.graph.output[1:]
    model.graph.output.append(helper.make_tensor_value_info(f"d_{parameter}", onnx.TensorProto.DOUBLE, None))
    graph = Graph.of(model)
    inputs = [array.copy() for array in case.data_sets[0]]
    gradient = graph.run(inputs, Native())[1].elements
    W = inputs[[value.name for value in model.graph.input].index(parameter)]
    for index in np.ndindex(W.shape):
        kept, losses = W[index], []
        for step in (-1e-6, 1e-6):
            W[index] = kept + step
            losses.append(float(graph.run(inputs, Native())[0].elements))
        W[index] = kept
        assert gradient[index] == pytest.approx((losses[1] - losses[0]) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("id", NETWORKS)
def test_some_hidden_units_are_active_and_some_are_not(id, case_named):
    case = case_named(id)
    model = proto(case)
    model.graph.output.append(helper.make_tensor_value_info("active", onnx.TensorProto.BOOL, None))
    active = Graph.of(model).run(case.data_sets[0], Native())[-1].elements
    assert 0 < active.mean() < 1


@pytest.mark.parametrize("id", FUNCTIONS)
def test_a_runtime_that_runs_the_function_passes(id, case_named):
    case = case_named(id)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(case.model, options, ["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    for place, inputs in enumerate(case.data_sets):
        results = session.run(None, dict(zip(names, inputs, strict=True)))
        for answer, result in zip(outputs(case, place).values(), results, strict=True):
            assert answer.unsettled is None
            assert (np.abs(result.astype(float) - answer.expected) <= answer.bound).all()


@pytest.mark.parametrize("id", OVERRIDING)
def test_a_runtime_that_runs_the_operator_instead_passes(id, case_named):
    case = case_named(id)
    alone = proto(case)
    del alone.functions[:]
    for place, inputs in enumerate(case.data_sets):
        operator = answers(alone.SerializeToString(), inputs, Level.MUST)
        for answer, own in zip(outputs(case, place).values(), operator, strict=True):
            assert np.array_equal(answer.expected, own.expected)
            assert (answer.bound >= own.bound).all()


def test_siblings_are_not_too_many():
    assert len(SIBLINGS) <= 260


@pytest.mark.parametrize("family", lowered.FAMILIES)
def test_every_family_has_siblings(family):
    assert ids_of("lowered", family)


@pytest.mark.parametrize("operator", ["adam", "momentum", "adagrad"])
def test_a_sibling_has_the_level_clauses_and_data_of_its_case(operator, case_named):
    for case, source in siblings(operator, case_named):
        assert (case.level, case.clauses, case.tags) == (source.level, source.clauses, (*source.tags, "expanded"))
        pairs = zip(case.data_sets, source.data_sets, strict=True)
        assert all([a.tobytes() for a in ours] == [a.tobytes() for a in theirs] for ours, theirs in pairs)
        assert not has_training_optimizers(proto(case))


@pytest.mark.parametrize("operator", ["adam", "momentum", "adagrad"])
def test_siblings_expect_what_their_cases_expect(operator, case_named):
    for case, source in siblings(operator, case_named):
        for ours, theirs in zip(outputs(case, 0).values(), outputs(source, 0).values(), strict=True):
            assert np.array_equal(ours.expected, theirs.expected, equal_nan=ours.expected.dtype.kind == "f")
