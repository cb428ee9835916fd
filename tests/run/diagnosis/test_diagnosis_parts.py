"""Parts of a diagnosis: properties of cases, recorded outputs, and the text of an issue."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest
from onnx import helper
from runs_in_memory import make_case, make_result, with_fields

from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.run.diagnosis import failure_evidence
from conformance.run.diagnosis.failure_evidence import Observation, are_equivalent, is_failure, observe
from conformance.run.diagnosis.properties import Properties, case_properties, common_properties, separating_condition
from conformance.run.diagnosis.reproduction.reproduction_folder import issue_text
from conformance.run.mutants import MutantBackend
from conformance.run.results.records import DiagnosisRecord

# The properties that distinguish failing cases from passing ones are found, and only true ones.


def cases(count, *words, start=0, **numbers):
    values_by_name = {name: tuple(values) for name, values in numbers.items()}
    return {f"{start + number}": Properties(words, values_by_name) for number in range(count)}


def texts(some, others):
    return [(one.text, len(one.cases), len(one.others)) for one in common_properties(some, others)]


ALPHA, BETA = "set alpha", "set beta"


@pytest.mark.parametrize(
    ("some", "others", "expected"),
    [
        (cases(4, ALPHA, "have X"), cases(20, "have X", start=9), [(ALPHA, 4, 0)]),
        (cases(4, ALPHA, BETA), cases(20, start=9), [(ALPHA, 4, 0)]),
        (cases(4, ALPHA, BETA), cases(9, ALPHA, start=9) | cases(9, BETA, start=20), [(f"{ALPHA} and {BETA}", 4, 0)]),
        (cases(6, ALPHA) | cases(5, BETA, start=6), cases(20, start=20), [(ALPHA, 6, 0), (BETA, 5, 0)]),
        (cases(1, ALPHA), cases(20, start=9), []),
        (cases(4, "have X"), cases(20, "have X", start=9), []),
        (cases(4, T=[7]), cases(20, T=[7, 2], start=9), [("have T = 7", 4, 0)]),
        (cases(4, T=[0, 7]), cases(20, T=[0], start=9), [("have T ≠ 0", 4, 0)]),
        (cases(4, alpha=[0.8999999761581421]), cases(20, alpha=[0.5], start=9), [("have alpha = 0.9", 4, 0)]),
    ],
    ids=["only", "equivalent", "pair", "parts", "of one case", "of every case", "equal", "not 0", "shortest decimal"],
)
def test_common_properties_distinguish_failing_cases_from_passing_ones(some, others, expected):
    assert texts(some, others) == expected


@pytest.mark.parametrize(
    ("count", "with_beta", "with_alpha", "expected"),
    [
        (8, 2, 10, [ALPHA]),
        (8, 2, 11, [ALPHA, BETA]),
        (8, 2, 20, [ALPHA, BETA]),
        (8, 2, 21, [BETA]),
        (9, 2, 21, []),
        (2, 0, 20, [ALPHA]),
    ],
)
def test_common_property_belongs_to_few_passing_cases_and_enough_failing_ones(count, with_beta, with_alpha, expected):
    """A tenth of 100 passing cases or less; else a fifth or less, and also the properties of a quarter of the cases."""
    some = cases(with_beta, ALPHA, BETA) | cases(count - with_beta, ALPHA, start=with_beta)
    others = cases(with_alpha, ALPHA, start=100) | cases(100 - with_alpha, start=200)
    assert [one.text for one in common_properties(some, others)] == expected


@pytest.mark.parametrize(("sign", "relation"), [(1, "≥"), (-1, "≤")])
def test_limit_of_a_number_excludes_most_passing_cases(sign, relation):
    def having(count, start, *values):
        return cases(count, T=[sign * value for value in values], start=start)

    passing = having(19, 20, 0, 2)
    whole, parts = having(2, 0, 7) | having(2, 2, 1, 9), having(3, 0, 7) | having(3, 3, 9) | having(5, 6, 2)
    assert texts(whole, passing | having(1, 40, 2, 8)) == [(f"have T {relation} {7 * sign}", 4, 1)]
    assert texts(parts, passing | having(1, 40, 0)) == [(f"have T {relation} {7 * sign}", 6, 0)]


def condition(some, unaffected, doubtful=()):
    found = separating_condition(some, unaffected, dict(doubtful))
    return found and found.text


@pytest.mark.parametrize(
    ("count", "only_alpha", "only_beta", "both", "neither", "expected"),
    [
        (20, 0, 50, 2, 48, ALPHA),
        (20, 0, 50, 3, 47, None),
        (2, 0, 12, 0, 11, ALPHA),
        (2, 0, 12, 0, 10, None),
        (8, 49, 49, 2, 0, f"{ALPHA} and {BETA}"),
        (8, 48, 49, 3, 0, None),
        (7, 49, 49, 2, 0, None),
        (7, 50, 50, 0, 0, f"{ALPHA} and {BETA}"),
        (3, 54, 55, 0, 0, f"{ALPHA} and {BETA}"),
        (3, 54, 54, 0, 0, None),
    ],
)
def test_condition_has_few_exceptions_and_is_no_chance(count, only_alpha, only_beta, both, neither, expected):
    """Two of 100 unaffected cases may satisfy a condition; a pair, if it separates the cases by chance in 1e-12."""
    unaffected = cases(only_alpha, ALPHA, start=100) | cases(only_beta, BETA, start=200)
    unaffected |= cases(both, ALPHA, BETA, start=300) | cases(neither, start=400)
    assert condition(cases(count, ALPHA, BETA), unaffected) == expected


def test_condition_of_a_pair_is_found_behind_many_closer_properties():
    close = [f"set {number}" for number in range(39)]
    unaffected = cases(40, *close, start=100) | cases(50, ALPHA, start=200)
    assert condition(cases(8, *close, ALPHA), unaffected) == f"set 0 and {ALPHA}"


@pytest.mark.parametrize(
    ("name", "expected"), [("T", "have T = 2"), ("nodes of the graph", None), ("runs of a prepared model", None)]
)
def test_condition_is_a_number_that_a_kernel_has(name, expected):
    some, others = cases(8, **{name: [2]}), cases(20, **{name: [1]}, start=9)
    assert condition(some, others) == expected
    assert texts(some, others) == [(f"have {name} = 2", 8, 0)]


def test_condition_avoids_doubtful_cases():
    doubtful = cases(3, ALPHA, start=50)
    assert condition(cases(8, ALPHA, BETA), cases(20, start=9), doubtful) == BETA


# The text of an issue displays texts of cases and of subjects literally.


HOSTILE = "![x](https://example.org) <script>alert(1)</script> @all \x1b[31m\n## PASSED"
MODEL = helper.make_model(helper.make_graph([], "g", [], []))


def issue(**changed):
    case = make_case(**{"kind": "invalid", "title": HOSTILE} | changed)
    result = make_result(verdict="fail", phase="run", message=HOSTILE)
    result.stderr = HOSTILE
    return issue_text(case, result, f"acme {HOSTILE}", "backend", {HOSTILE: HOSTILE}, "onnx-conformance", MODEL)


def outside_of_code(text):
    return "".join(part for number, part in enumerate(text.split("~~~~")) if number % 2 == 0)


@pytest.mark.parametrize("kind", ["invalid", "node"])
def test_hostile_texts_in_an_issue_are_displayed_literally(kind):
    text = issue(kind=kind)
    assert "alert" in text.splitlines()[0]
    assert "\x1b" not in text
    assert "## PASSED" not in outside_of_code(text).splitlines()
    assert not [raw for raw in ("![", "](", "<script", "@all") if raw in outside_of_code(text)]


def test_hostile_diagnosis_in_an_issue_is_displayed_literally():
    diagnosis = DiagnosisRecord("acme", HOSTILE, "x", HOSTILE, 1, 2, [], [], [])
    case = make_case()
    result = make_result(verdict="fail", phase="run", message="")
    result.stderr = ""
    text = issue_text(case, result, "acme", "backend", {}, "onnx-conformance", MODEL, diagnoses=[diagnosis])
    assert "Probable cause" in text
    assert not [raw for raw in ("![", "](", "<script", "@all", "\x1b") if raw in outside_of_code(text)]


def mistake(mutant, text, cases, jointly, partners):
    operator = "Adam"
    return DiagnosisRecord("acme", operator, mutant, text, len(cases), 9, [], cases, jointly, partners)


@pytest.fixture
def pair():
    root, ignored = "adds epsilon inside the square root", "ignores norm_coefficient_post"
    return [
        mistake("adam.epsilon_inside_root", root, ["a", "b", "c", "d"], ["b", "c", "d"], [ignored]),
        mistake("adam.post_ignored", ignored, ["b", "c", "d", "e", "f"], ["b", "c", "d"], [root]),
    ]


def issue_of(diagnoses):
    result = make_result(verdict="fail", phase="run", message="")
    result.stderr = ""
    case = make_case(clauses=["adam.x_final"])
    text = issue_text(case, result, "a:B", "backend", {}, "onnx-conformance", MODEL, diagnoses=diagnoses)
    return " ".join(text.split())


def test_issue_of_one_mistake_counts_joint_cases_apart_and_quotes_its_clause(pair):
    text = issue_of(pair[:1])
    assert "1 have exactly the outputs" in text
    assert "3 have those that it gives together with another mistake (Adam ignores norm_coefficient_post)" in text
    assert "`adam.h_sqrt`" in text
    assert "`adam.x_final`" not in text


def test_issue_of_two_mistakes_names_both_and_counts_the_cases_of_both(pair):
    text = issue_of(pair)
    title = text.partition("##")[0]
    assert pair[0].text in title
    assert pair[1].text in title
    assert "3 have exactly the outputs that both mistakes give together" in text
    assert text.count("`adam.h_sqrt`") == text.count("`adam.x_final`") == 1


def test_names_of_inputs_cannot_end_a_block_of_code():
    value = helper.make_tensor_value_info("a\n~~~~\n# PASSED", onnx.TensorProto.FLOAT, [1])
    model = helper.make_model(helper.make_graph([], "g", [value], []))
    inputs = [{"name": value.name, "type": "float", "shape": [1], "values": ["1"], "elided": 0}]
    case = make_case(data_sets=[{"inputs": inputs, "outputs": []}])
    result = make_result(verdict="fail", phase="run", message="")
    text = issue_text(case, result, "acme", "backend", {}, "onnx-conformance", model)
    assert "# PASSED" not in text.splitlines()


# The properties of a case describe its model and data.


@pytest.fixture
def properties_of(whole_corpus):
    return lambda name, *tags: case_properties(load_case_in_memory(whole_corpus, whole_corpus.cases[name]), tags)


def test_case_properties_list_set_and_default_attributes(properties_of):
    found = properties_of("test_adam")
    assert {"set norm_coefficient", "set alpha", "leave norm_coefficient_post to its default"} <= set(found.words)
    assert found.numbers["norm_coefficient_post"] == (0.0,)


def test_case_properties_list_types_and_numbers_of_an_optimizer(properties_of):
    found = properties_of("test_adam_multiple")
    assert {"have float tensors", "have R of type float"} <= set(found.words)
    assert found.numbers["tensors of a node"] == (2,)
    assert found.numbers["T"] == (0,)
    assert max(found.numbers["elements of a tensor"]) == 2
    shapes = {each for each in found.words if each.startswith(("have a tensor", "have a d", "have a 0", "have an e"))}
    assert shapes == {"have a tensor of shape [1]", "have a tensor of shape [2]", "have a dimension of size 1"}
    zeros = {*properties_of("test_adam_zeros_of_both_signs_float").words}
    assert {"have only zeros in X", "have a negative zero in X"} <= zeros
    assert zeros.isdisjoint({"have a negative number in X", "have a positive number in X"})


def test_case_properties_list_operators_and_data_of_an_argmax(properties_of):
    found = properties_of("test_argmax_in_range_nan_negative_first", "argmax")
    assert {"have ArgMax", "have a NaN in the input of ArgMax", "have the tag argmax"} <= set(found.words)
    assert found.numbers["runs of a prepared model"] == (1,)


# Observations of a backend's behaviour are equivalent if they differ by rounding only, and survive recording.


@pytest.fixture
def case(opened):
    return load_case_in_memory(opened, opened.cases["test_adam"])


@pytest.fixture
def right(case):
    return observe(MutantBackend({}), case)


def test_correct_observation_is_equivalent_to_itself_and_passes(case, right):
    assert are_equivalent(right, right, case)
    assert not is_failure(right, case)


def test_changed_inputs_and_errors_are_failures_and_differ(case, right):
    spoiled = Observation(right.outputs, ((2,),))
    assert is_failure(spoiled, case)
    assert not are_equivalent(right, spoiled, case)
    raised = Observation((), (), "load")
    assert is_failure(raised, case)
    assert not are_equivalent(raised, Observation((), (), "run"), case)


@pytest.mark.parametrize(
    "change",
    [
        lambda outputs: [array.astype(np.float64) for array in outputs],
        lambda outputs: [array[..., np.newaxis] for array in outputs],
        lambda outputs: outputs[:2],
        lambda outputs: [*outputs[:2], outputs[2] * np.float32(1.00001)],
        lambda outputs: [*outputs[:2], None],
    ],
    ids=["type", "shape", "number", "value", "no tensor"],
)
def test_observations_with_other_outputs_are_not_equivalent(case, right, change):
    (outputs,) = right.outputs
    assert not are_equivalent(right, Observation((tuple(change(outputs)),), ((),)), case)


UNIT = 2.0**-24
"""The unit roundoff of float."""


@pytest.mark.parametrize(
    ("one", "other", "bound", "agreeing"),
    [
        (0.0, -0.0, None, False),
        (0.0, -0.0, 0.0, True),
        (np.nan, np.nan, None, True),
        (np.nan, np.nan, 0.0, True),
        (np.nan, 1.0, np.inf, False),
        (1.0, 1 - UNIT, None, False),
        (1.0, 1 - 16 * UNIT, 0.0, True),
        (1.0, 1 - 17 * UNIT, 0.0, False),
        (1.0, 1 - 20 * UNIT, 4 * UNIT, True),
        (1.0, 1 - 21 * UNIT, 4 * UNIT, False),
        (1.0, 1 - 17 * UNIT, np.inf, False),
    ],
)
def test_values_are_equivalent_within_the_bound_and_16_roundings(case, one, other, bound, agreeing):
    held = _with_one_output(case, np.zeros(1, np.float32), None if bound is None else np.array([bound]))
    seen = [Observation(((np.array([value], np.float32),),), ((),)) for value in (one, other)]
    assert are_equivalent(*seen, held) is are_equivalent(*seen[::-1], held) is agreeing


@pytest.mark.parametrize(("acceptable", "agreeing"), [([True, True], True), ([True, False], False)])
def test_other_indices_are_equivalent_only_where_every_index_is_acceptable(case, acceptable, agreeing):
    held = _with_one_output(case, np.zeros(2, np.int64), None, np.array([acceptable, [True, False]]))
    bounded = _with_one_output(case, np.zeros(2, np.int64), np.array([np.inf if all(acceptable) else 0.0, 0.0]))
    seen = [Observation(((np.array([index, 1]),),), ((),)) for index in (0, 1)]
    assert are_equivalent(*seen, held) is are_equivalent(*seen, bounded) is agreeing


def _with_one_output(case, expected, bound, choices=None):
    (data_set, *_) = case.held
    output = dataclasses.replace(data_set.outputs[0], expected=expected, bound=bound, choices=choices)
    return dataclasses.replace(case, held=(dataclasses.replace(data_set, outputs=(output,)),))


def test_observation_survives_recording(case, right):
    ended = Observation((*right.outputs, (None,)), ((), (1, 2)), "run: it broke")
    again = failure_evidence.observation_from_record(failure_evidence.observation_to_record(ended))
    assert are_equivalent(
        right, failure_evidence.observation_from_record(failure_evidence.observation_to_record(right)), case
    )
    assert (again.changed_inputs, again.error, again.outputs[-1]) == (ended.changed_inputs, ended.error, (None,))


def test_observation_too_large_is_not_recorded():
    assert (
        failure_evidence.observation_to_record(
            Observation(((np.zeros(failure_evidence.MAX_RECORDED_BYTES + 1, np.int8),),), ((),))
        )
        is None
    )


def test_observation_without_all_data_sets_is_a_failure(case):
    assert is_failure(Observation((), ()), case)


@pytest.mark.parametrize("spoilt", [{"dtype": "nonsense"}, {"dtype": "string"}, {"data": "%"}, {"shape": [9, 9]}])
def test_malformed_record_has_no_observation(right, spoilt):
    record = failure_evidence.observation_to_record(right)
    record.outputs[0][0] = with_fields(record.outputs[0][0], **spoilt)
    assert failure_evidence.observation_from_record(record) is None
