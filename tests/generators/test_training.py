"""Properties of the cases of training runs, model-local functions and expanded graphs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
import onnxruntime
import pytest
from committed_cases import case_ids
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.cases.case_loading import load_case
from conformance.exact.models.graphs import TRAINING_DOMAIN
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.numbers.number_system import NumberSystem
from conformance.exact.reference.oracle import answers
from conformance.own.expansion import has_training_optimizers
from generators import expanded, training_cases, training_step

NETWORKS = case_ids("training", "network")
CONTINUED = case_ids("training", "fed")
UNROLLED = case_ids("training", "unrolled")
LONG = [id for id in CONTINUED + UNROLLED if "100_steps" in id]
FUNCTIONS = case_ids("functions")
OVERRIDING = [id for id in FUNCTIONS if "own_name" not in id]
"""Cases whose function has the name of an operator. Without the function, the operator is computed."""
EXPANDED = case_ids("expanded")


def proto(case: Case) -> onnx.ModelProto:
    return onnx.load_model_from_string(case.model)


def expanded_pairs(operator: str, case_named) -> list[tuple[Case, Case]]:
    """Return the expanded cases of an operator, each with its source case."""
    ids = case_ids("expanded", operator)
    return [(case_named(id), case_named(id.removesuffix("_expanded"))) for id in ids]


def outputs(case: Case, place: int):
    names = [value.name for value in proto(case).graph.output]
    return dict(zip(names, answers(case.model, case.data_sets[place], case.level), strict=True))


@pytest.fixture
def committed_steps(whole_corpus):
    """Function that returns the committed expected X_new of each data set. The oracle would take seconds."""

    def of(id):
        data_sets = load_case(whole_corpus, whole_corpus.cases[id]).data_sets()
        return [output for one in data_sets for output in one.outputs if output.name == "X_new"]

    return of


@pytest.mark.parametrize("id", LONG)
def test_hundred_steps_approach_the_optimum(id, committed_steps):
    way = np.abs(np.subtract(training_cases.START, training_cases.OPTIMUM))
    for X_new in committed_steps(id):
        assert (np.abs(X_new.expected - training_cases.OPTIMUM) < 0.05 * way).all()


@pytest.mark.parametrize("id", LONG)
def test_bound_after_a_hundred_steps_is_small(id, committed_steps):
    assert all(X_new.bound.max() < 1e-3 for X_new in committed_steps(id))


@pytest.mark.parametrize("id", CONTINUED + UNROLLED)
def test_last_step_exceeds_the_bound(id, whole_corpus):
    case = load_case(whole_corpus, whole_corpus.cases[id])
    data_set, model = next(case.data_sets()), case.model
    last = next(node for node in reversed(model.graph.node) if node.domain == TRAINING_DOMAIN)
    model.graph.output.append(onnx.ValueInfoProto(name=last.input[2]))
    X = Graph.from_model(model).run(data_set.inputs, NumberSystem())[-1].elements
    X_new = data_set.outputs[1]
    assert X_new.name == "X_new"
    assert (np.abs(X_new.expected - X) > X_new.bound).any()


@pytest.mark.parametrize("id", UNROLLED)
def test_unrolled_runs_start_at_t_0_and_1(id, case_named):
    assert [inputs[1].item() for inputs in case_named(id).data_sets] == [0, 1]


@pytest.mark.parametrize("id", CONTINUED)
def test_data_set_continues_from_the_previous_one(id, whole_corpus):
    data_sets = list(load_case(whole_corpus, whole_corpus.cases[id]).data_sets())
    assert len(data_sets) == 10
    for previous, following in pairwise(data_sets):
        expected = [output.expected.tobytes() for output in previous.outputs]
        assert [array.tobytes() for array in following.inputs[1:]] == expected


@pytest.mark.parametrize("id", [id for id in NETWORKS if id.endswith("double")])
@pytest.mark.parametrize("parameter", training_step.PARAMETERS)
def test_network_gradients_match_finite_differences(id, parameter, case_named):
    case = case_named(id)
    model = proto(case)
    del model.graph.output[1:]
    model.graph.output.append(helper.make_tensor_value_info(f"d_{parameter}", onnx.TensorProto.DOUBLE, None))
    graph = Graph.from_model(model)
    inputs = [array.copy() for array in case.data_sets[0]]
    gradient = graph.run(inputs, NumberSystem())[1].elements
    W = inputs[[value.name for value in model.graph.input].index(parameter)]
    for index in np.ndindex(W.shape):
        kept, losses = W[index], []
        for step in (-1e-6, 1e-6):
            W[index] = kept + step
            losses.append(float(graph.run(inputs, NumberSystem())[0].elements))
        W[index] = kept
        assert gradient[index] == pytest.approx((losses[1] - losses[0]) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("id", NETWORKS)
def test_network_has_active_and_inactive_units(id, case_named):
    case = case_named(id)
    model = proto(case)
    model.graph.output.append(helper.make_tensor_value_info("active", onnx.TensorProto.BOOL, None))
    active = Graph.from_model(model).run(case.data_sets[0], NumberSystem())[-1].elements
    assert 0 < active.mean() < 1


@pytest.mark.parametrize("id", FUNCTIONS)
def test_function_body_result_is_within_bounds(id, case_named):
    case = case_named(id)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(case.model, options, ["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    for place, inputs in enumerate(case.data_sets):
        results = session.run(None, dict(zip(names, inputs, strict=True)))
        for answer, result in zip(outputs(case, place).values(), results, strict=True):
            assert answer.indeterminacy is None
            assert (np.abs(result.astype(float) - answer.expected) <= answer.bound).all()


@pytest.mark.parametrize("id", OVERRIDING)
def test_operator_result_is_within_the_function_bounds(id, case_named):
    case = case_named(id)
    alone = proto(case)
    del alone.functions[:]
    for place, inputs in enumerate(case.data_sets):
        operator = answers(alone.SerializeToString(), inputs, Level.MUST)
        for answer, own in zip(outputs(case, place).values(), operator, strict=True):
            np.testing.assert_array_equal(answer.expected, own.expected)
            assert (answer.bound >= own.bound).all()


def test_number_of_expanded_cases_is_limited():
    assert len(EXPANDED) <= 260


@pytest.mark.parametrize("family", expanded.FAMILIES)
def test_family_has_expanded_cases(family):
    assert case_ids("expanded", family)


@pytest.mark.parametrize("operator", ["adam", "momentum", "adagrad"])
def test_expanded_case_keeps_level_clauses_and_data(operator, case_named):
    for case, source in expanded_pairs(operator, case_named):
        assert (case.clauses, case.tags) == (source.clauses, (*source.tags, "expanded"))
        assert case.level in {source.level, Level.MUST}  # primitive operators state the precision of each scalar
        pairs = zip(case.data_sets, source.data_sets, strict=True)
        assert all([a.tobytes() for a in ours] == [a.tobytes() for a in theirs] for ours, theirs in pairs)
        assert not has_training_optimizers(proto(case))


@pytest.mark.variants(2)
@pytest.mark.parametrize("operator", ["adam", "momentum", "adagrad"])
def test_expanded_case_has_the_same_expected_values(operator, case_named):
    for case, source in expanded_pairs(operator, case_named):
        for ours, theirs in zip(outputs(case, 0).values(), outputs(source, 0).values(), strict=True):
            np.testing.assert_array_equal(ours.expected, theirs.expected)


@pytest.mark.parametrize("name", ["adam", "adagrad"])
@pytest.mark.parametrize("suffix", ["float", "double", "double_expanded"])
def test_subnormal_case_keeps_subnormals_in_x_and_in_the_state(name, suffix, case_named):
    first, *_, last = outputs(case_named(f"test_{name}_subnormal_x_{suffix}"), 0).values()
    for answer in (first, last):
        is_subnormal = abs(answer.expected) < np.finfo(answer.expected.dtype).tiny
        assert (is_subnormal & (abs(answer.expected) > answer.bound)).any()
