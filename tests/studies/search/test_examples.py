"""Examples of a search: limits of CPU time, distractors, validity, and named mutants."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from threading import Event
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from batches import for_each
from fake_subject import checks_fully
from hypothesis import given
from hypothesis import strategies as st
from instruction_count import count_instructions

from checks.mutation.pass_mutants import pass_mutants
from checks.mutation.pass_mutants.correct_variants import CORRECT_PASSES
from checks.mutation.search_score import OptimizerExample, measure_pass_search_score
from conformance.base.jobs.job import CpuTimeoutError, limit_cpu_time
from conformance.base.verdicts import Level
from conformance.corpus.cases.case import CaseKind
from conformance.corpus.factors.wrapping import BuiltModel, Context
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from conformance.run.diagnosis.diagnosis_run import SEARCH_TAG
from conformance.run.mutants import catalogue
from conformance.studies.search.distractors import NAMES, NAMES_WITHOUT_FUNCTIONS, SHOULD_NAMES
from conformance.studies.search.evaluation import EvaluatedExample, optimizer_task
from conformance.studies.search.example import ARGMAX, Example
from conformance.studies.search.failing_examples import to_case
from conformance.studies.search.named_mutants import NamedMutant, mutants_sentence, name_mutants
from conformance.studies.search.program_example import ProgramExample
from conformance.studies.search.random_rows import starts_for
from conformance.studies.search.search_cases import NoExpectedOutputsError
from conformance.studies.search.search_sampling import sample_examples
from conformance.studies.search.shrinking import shrink
from conformance.subjects.adapters.reference import ReferenceBackend

# The limit of processor time stops a computation, in the main thread and in other threads.


def count_up(number):
    return sum(1 for _ in range(number))


def run_in_thread(work):
    """Return the result of `work` in another thread, as in a worker of Dask."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@pytest.mark.parametrize("run", [lambda work: work(), run_in_thread])
def test_limit_stops_only_a_long_computation(run):
    def work():
        with limit_cpu_time(0.02):
            count_up(10**9)

    with limit_cpu_time(10):
        assert count_up(10) == 10
    with pytest.raises(CpuTimeoutError):
        run(work)


@pytest.mark.parametrize(
    ("seconds", "inside", "after", "expected"),
    [
        (10, lambda: count_up(10), lambda result: result, 10),
        (0.01, lambda: None, lambda _: count_up(10**6), 10**6),
        (0.05, lambda: Event().wait(0.2), lambda result: result, False),
    ],
    ids=["short", "after its block", "waiting"],
)
def test_limit_counts_only_long_computations_in_its_block(seconds, inside, after, expected):
    def work():
        with limit_cpu_time(seconds):
            result = inside()
        return after(result)

    assert run_in_thread(work) == expected


def test_limit_keeps_tracing_in_every_thread():
    def work():
        with limit_cpu_time(10):
            return count_up(10)

    run_in_thread(work)
    assert count_instructions(lambda: count_up(1000)) > 1000


# Examples about the pass detect mutants of the pass, with the help of distractors.


MUTANTS = {mutant.id: mutant for group in pass_mutants().values() for mutant in group}
PASSES = (PASS_NAME,)


PLAIN = Example(
    "ArgMax", Context(), {"axis": 1}, ({"X": np.array([[0.5, 2.0, 1.0], [3.0, 0.25, 1.5]], np.float32)},), ("Exp",)
)


@pytest.mark.parametrize(("relation", "axes"), [("same", [1]), ("default", []), ("next", [0])])
def test_chain_operator_has_the_axis_of_its_relation(relation, axes):
    example = replace(PLAIN, chain=("Softmax",), axis_relation=relation)
    (softmax,) = [node for node in EvaluatedExample(example).case.model.graph.node if node.op_type == "Softmax"]
    assert [attribute.i for attribute in softmax.attribute] == axes


@for_each("name", NAMES)
def test_distractor_makes_a_valid_model_with_all_inputs(name):
    evaluated = EvaluatedExample(replace(PLAIN, distractor=name), Level.SHOULD if name in SHOULD_NAMES else Level.MUST)
    assert OptimizerExample(optimizer_task(evaluated.native)).reference_output.expected
    assert name == Example.from_document(evaluated.example.to_document()).distractor


@pytest.mark.parametrize("name", SHOULD_NAMES)
def test_distractor_of_level_should_has_no_outputs_at_level_must(name):
    evaluated = EvaluatedExample(replace(PLAIN, distractor=name))
    with pytest.raises(NoExpectedOutputsError):
        evaluated.native  # noqa: B018
    assert evaluated.has_no_outputs


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("captured_in_a_scan", "captures_not_in_scan"),
        ("exp_of_others", "ignores_producer_domain"),
        ("fields_node_main", "clears_node_doc_string_main"),
        ("fields_attribute_function", "clears_attribute_sparse_tensor_function"),
        ("ir_3", "since_ir_version_4"),
        ("opset_6", "since_opset_7"),
        ("after_hardmax", "removes_hardmax"),
        ("argmax_of_others", "ignores_argmax_domain"),
        ("a_name_in_a_graph_before", "same_name_inside"),
    ],
)
def test_distractor_detects_its_mutant(name, id):
    mutant, task = (
        MUTANTS[id],
        OptimizerExample(optimizer_task(EvaluatedExample(replace(PLAIN, distractor=name)).native)),
    )
    assert task.detects(mutant.optimize, PASSES, mutant.level)


def test_own_pass_is_not_detected():
    assert not OptimizerExample(optimizer_task(EvaluatedExample(PLAIN).native)).detects(eliminate, PASSES, Level.SHOULD)


def test_pass_starts_include_every_distractor():
    (start,) = starts_for(PASS_NAME)
    assert set(start.factors["distractor"]) == set(NAMES) >= set(NAMES_WITHOUT_FUNCTIONS)


@pytest.mark.long
def test_pass_search_score_counts_detected_and_missed():
    mutants = [MUTANTS["removes_relu"], replace(MUTANTS["removes_relu"], id="right", optimize=eliminate)]
    found = measure_pass_search_score(mutants, 0, 2.0, lambda _: None)
    assert list(found.detected) == ["removes_relu"]
    assert list(found.missed) == ["right"]
    assert not found.passes
    assert any(line.startswith("1 of 2 ") for line in found.lines())


def test_shrink_removes_the_distractor_first():
    annotated = replace(PLAIN, distractor="annotated")
    assert annotated.complexity > PLAIN.complexity
    assert shrink(annotated, lambda smaller: bool(smaller.chain))[0].distractor == ""


TWO_COERCED = """<ir_version: 9, opset_import: ["": 11]>
two (float[2,2] x) => (int64[1,2] first, int64[2,1] last) {
  whole = Softmax <axis = 0> (x) first = ArgMax <axis = 0> (whole)
  row = Softmax <axis = 1> (x) last = ArgMax <axis = 1> (row)
}"""


def test_removal_of_coerced_softmax_is_optional():
    example = replace(PLAIN, chain=("Softmax",), opset=11, attributes={"axis": -2})
    (stays,) = (one for one in CORRECT_PASSES if one.id == "not_coerced")
    task = OptimizerExample(optimizer_task(EvaluatedExample(example).native))
    assert not task.detects(stays.optimize, PASSES, Level.MUST)
    assert not task.detects(eliminate, PASSES, Level.MUST)


def test_chain_with_several_optional_removals_has_no_outputs():
    example = replace(PLAIN, chain=("LogSoftmax", "Sqrt", "Exp"), opset=11, attributes={"axis": -2})
    with pytest.raises(NoExpectedOutputsError, match="optional"):
        optimizer_task(EvaluatedExample(example).native)


def test_independent_optional_removals_have_no_outputs():
    model = onnx.parser.parse_model(TWO_COERCED)
    example = ProgramExample(ARGMAX, BuiltModel(model.SerializeToString(), ((np.ones((2, 2), np.float32),),)))
    with pytest.raises(NoExpectedOutputsError, match="optional"):
        optimizer_task(EvaluatedExample(example).native)


# A search names a mutant only if no other example contradicts it.


SEED = 2
"""A seed whose fresh examples the oracle answers in seconds."""


def mutant(name):
    return next(one for one in chain.from_iterable(catalogue().values()) if one.id == name)


def failing_example(backend, operator, seed=SEED):
    """The first random example that a backend fails."""
    return next(
        example for example in sample_examples((operator,), seed, 0, 20) if EvaluatedExample(example).is_wrong(backend)
    )


def named(backend, original, shrunk=None):
    names = name_mutants(SimpleNamespace(target=backend), original, shrunk or original, Level.MUST, SEED, 0)
    return {one.id for one in names}, names


@pytest.mark.parametrize("name", ["momentum.alpha_beta_swapped", "argmax.smallest"])
def test_mutant_is_named_after_fresh_examples(name):
    wrong = mutant(name)
    backend = wrong.backend
    original = failing_example(backend, wrong.operator)
    shrunk, _ = shrink(original, lambda smaller: EvaluatedExample(smaller).is_wrong(backend))
    ids, names = named(backend, original, shrunk)
    assert name in ids
    assert min(one.same for one in names) >= 1
    assert names[0].fresh > 0
    assert name in mutants_sentence(names)


class WrongInOneExample(ReferenceBackend):
    """A backend that behaves like a mutant on models of one digest, and is right otherwise."""

    model = b""
    other = None

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        """Prepare the model on the mutant if it is the one."""
        if model.SerializeToString() == cls.model:
            return cls.other.prepare(model, device)
        return super().prepare(model, device, **options)


@pytest.mark.long
def test_mutant_that_fresh_examples_contradict_is_not_named():
    other = mutant("adam.epsilon_inside_root").backend
    original = failing_example(other, "Adam")
    backend = type(
        "Wrong",
        (WrongInOneExample,),
        {"model": EvaluatedExample(original).native.model.SerializeToString(), "other": other},
    )
    assert named(backend, original) == (set(), [])


def test_fault_outside_the_catalogue_is_not_named():
    class AddsTwoThirds(ReferenceBackend):
        """A backend whose outputs are all increased."""

        @classmethod
        def prepare(cls, model, device="CPU", **options):
            """Return a representation with increased outputs."""
            held = super().prepare(model, device, **options)
            return SimpleNamespace(
                run=lambda inputs: [np.add(one, 2, dtype=one.dtype) / one.dtype.type(3) for one in held.run(inputs)]
            )

    original = failing_example(AddsTwoThirds, "Adagrad")
    assert named(AddsTwoThirds, original) == (set(), [])
    assert mutants_sentence([]) == ""


def test_case_of_a_failing_example_has_its_mutants_as_tags():
    example = failing_example(mutant("adam.epsilon_inside_root").backend, "Adam")
    names = [NamedMutant("adam.epsilon_inside_root", "adds epsilon inside the root", 7, 12)]
    assert {SEARCH_TAG, "adam.epsilon_inside_root"} <= {*to_case(example, CaseKind.NODE, mutants=names).tags}


# Every random example has a model that onnx's full check accepts, so a backend that checks its models never fails.


FAMILIES = ("Adam", "Momentum", "Adagrad", "ArgMax", PASS_NAME)


@given(st.sampled_from(FAMILIES), st.integers(0, 2**32), st.integers(0, 1000))
def test_sample_examples_are_accepted_by_the_full_check(family, seed, chunk):
    for example in sample_examples((family,), seed, chunk, 8):
        onnx.checker.check_model(onnx.load_model_from_string(example.built.model), full_check=True)


def test_examples_of_argmax_have_only_zeros_of_both_signs_or_only_the_least_integers():
    operands = [
        run["X"].reshape(-1)
        for chunk in range(40)
        for example in sample_examples((ARGMAX,), 1, chunk, 8)
        if isinstance(example, Example) and not example.chain
        for run in example.runs
    ]
    floats = [X for X in operands if X.dtype == np.float32 and not X.any()]
    assert any(np.unique(np.signbit(X)).size == 2 for X in floats)
    integers = [(np.unique(X).tolist(), np.iinfo(X.dtype).min) for X in operands if X.dtype.kind == "i"]
    assert any(found == [least, least + 1] for found, least in integers)


@pytest.mark.variants(2)
@pytest.mark.parametrize("family", FAMILIES)
def test_backend_that_checks_fully_fails_no_example(family):
    wrong, reasons = [], set()
    for example in sample_examples((family,), 5, 0, 20):
        try:
            wrong.append(EvaluatedExample(example).is_wrong(checks_fully))
        except NoExpectedOutputsError as reason:
            reasons.add(str(reason))
    assert len(wrong) > 15
    assert not any(wrong)
    assert "refused by the checker" not in reasons
