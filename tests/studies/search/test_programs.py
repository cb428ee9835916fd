"""Random programs: they are valid and reproducible, their documents lose nothing, and shrinking keeps them valid."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.base.serialization.decoding import MalformedError
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import CaseKind
from conformance.corpus.factors.wrapping import BuiltModel
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.exact.clauses import clauses
from conformance.exact.models.graphs import all_nodes, copy_of
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.studies.search.drawn_example import AnyExample
from conformance.studies.search.evaluation import EvaluatedExample, confirming_case, evaluate
from conformance.studies.search.example import CHAIN_OPERATORS
from conformance.studies.search.failing_examples import describe, relevant_clauses
from conformance.studies.search.program_example import PROGRAM_STAGES, ProgramExample, draw_program_example
from conformance.studies.search.random_programs import CHAINS
from conformance.studies.search.search_cases import NoExpectedOutputsError, build_native_case
from conformance.studies.search.shrinking import shrink
from conformance.subjects.adapters.reference import ReferenceBackend
from conformance.subjects.calling.subject_names import Subject, SubjectKind

OPERATORS = (*TRAINING_OPTIMIZERS, "ArgMax", PASS_NAME)


@given(operator=st.sampled_from(OPERATORS), seed=st.integers(0, 2**32))
def test_drawn_program_is_valid_reproducible_and_read_again(operator: str, seed: int) -> None:
    example = draw_program_example(operator, str(seed))
    onnx.checker.check_model(example.model, full_check=True)
    assert draw_program_example(operator, str(seed)).to_document() == example.to_document()
    assert ProgramExample.from_document(example.to_document()).to_document() == example.to_document()


@pytest.mark.variants(2)
@pytest.mark.parametrize(
    "operator",
    [pytest.param(each, marks=[pytest.mark.long] * each.startswith("eliminate")) for each in OPERATORS],
)
def test_programs_have_control_flow_calls_and_several_tested_nodes(operator: str) -> None:
    tested = "ArgMax" if operator == PASS_NAME else operator
    models = [draw_program_example(operator, str(seed)).model for seed in range(60)]
    present = [[node.op_type for node in all_nodes(model) if node.domain != "acme"] for model in models]
    for op_type in ("If", "Loop", "Scan"):
        assert sum(op_type in each for each in present) >= 5
    assert sum(bool(model.functions) for model in models) >= 20
    assert sum(each.count(tested) > 1 for each in present) >= (20 if operator == PASS_NAME else 30)
    if operator == PASS_NAME:
        assert_patterns_have_surroundings(models)


def assert_patterns_have_surroundings(models: list[onnx.ModelProto]) -> None:
    """Patterns convert types, are in subgraphs, share constants, and have constants that a caller can replace.

    Several patterns of the declarations are in one model, in functions too, and values within are outputs or captured.
    """
    made = [{name.partition("_")[0] for node in all_nodes(model) for name in node.output} for model in models]
    assert sum(len({name for name in names if re.fullmatch(r"p\d+", name)}) > 2 for names in made) >= 10
    present = {node.op_type for model in models for node in all_nodes(model)}
    assert len(present - {*CHAIN_OPERATORS, *(op_type for chain in CHAINS for op_type in chain)}) >= 40
    assert any("p1_" in name for model in models for function in model.functions for name in function.node[-1].output)
    shared = 0
    for model in models:
        read = Counter(name for node in all_nodes(model) for name in node.input)
        shared += any(read[tensor.name] > 1 for tensor in model.graph.initializer)
    assert shared >= 10
    inner = [node.op_type for model in models for node in all_nodes(model) if node not in model.graph.node]
    assert {"Cast", "ReduceSum", "Unsqueeze", "Mul"} <= {*inner}
    fed = [{value.name for value in model.graph.input} for model in models]
    assert any(
        tensor.name in names for model, names in zip(models, fed, strict=True) for tensor in model.graph.initializer
    )


@pytest.mark.variants(2)
@pytest.mark.parametrize("operator", OPERATORS)
def test_reference_passes_programs(operator: str) -> None:
    subject = Subject("reference", "", ReferenceBackend, SubjectKind.BACKEND)
    passed = 0
    for seed in range(12):
        with suppress(NoExpectedOutputsError):
            example = draw_program_example(operator, str(seed))
            case = build_native_case(example)
            verdict = evaluate(subject, case).verdict
            if operator == PASS_NAME and verdict is Verdict.UNSUPPORTED:
                continue  # enclosures judge a pattern that the reference backend lacks
            assert verdict is Verdict.PASS
            assert {*relevant_clauses(example, CaseKind.NODE)} <= {*clauses()}
            passed += 1
    assert passed >= (3 if operator == PASS_NAME else 5)


@pytest.mark.variants(2)
@pytest.mark.parametrize("operator", OPERATORS)
def test_simplified_programs_run(operator: str) -> None:
    simplified = 0
    for seed in range(5):
        example = draw_program_example(operator, str(seed))
        for stage in PROGRAM_STAGES:
            for other in list(stage(example))[:4]:
                try:
                    onnx.checker.check_model(other.model, full_check=True)
                except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
                    continue  # the search leaves it out
                simplified += other.complexity < example.complexity
                assert ProgramExample.from_document(other.to_document()).to_document() == other.to_document()
    assert simplified >= 20


def without_two_transposes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Rewrite a model as a graph optimizer that takes any two Transpose for inverse ones."""
    after = copy_of(model)
    nodes = {name: node for node in after.graph.node if node.op_type == "Transpose" for name in node.output}
    for node in nodes.values():
        if node.input[0] in nodes:
            node.CopyFrom(onnx.helper.make_node("Identity", nodes[node.input[0]].input, node.output))
            return after
    return after


def test_wrong_pass_fails_a_drawn_pattern_that_shrinks_to_its_nodes() -> None:
    wrong = Subject("wrong", "", without_two_transposes, SubjectKind.OPTIMIZER)

    def is_failed(example: AnyExample) -> bool:
        assert isinstance(example, ProgramExample)
        if without_two_transposes(example.model) == example.model:
            return False
        with suppress(NoExpectedOutputsError, ValueError):
            return evaluate(wrong, confirming_case(wrong.kind, example, Level.MUST)).verdict is Verdict.FAIL
        return False

    examples = (draw_program_example(PASS_NAME, str(seed)) for seed in range(400))
    small, _ = shrink(next(filter(is_failed, examples)), is_failed)
    assert isinstance(small, ProgramExample)
    names = [node.op_type for node in small.model.graph.node]
    assert names.count("Transpose") == 2
    assert len(names) <= 4
    assert "Transpose" in describe(small, [])
    unchanged = Subject("unchanged", "", copy_of, SubjectKind.OPTIMIZER)
    assert EvaluatedExample(small).result(unchanged).verdict is Verdict.PASS


def test_shrink_leaves_the_node_that_fails() -> None:
    def has_loop(example: object) -> bool:
        assert isinstance(example, ProgramExample)
        return any(node.op_type == "Loop" for node in example.model.graph.node)

    example = next(each for seed in range(99) if has_loop(each := draw_program_example("Adam", str(seed))))
    small, _ = shrink(example, has_loop)
    assert isinstance(small, ProgramExample)
    assert has_loop(small)
    assert 2 * small.complexity[0] <= example.complexity[0]


def test_loop_that_stacks_given_and_computed_rows_has_expected_outputs() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 17]>
        program (float[2] X) => (float[2] Y, float[N,2] rows) <int64 n = {2}, bool c = {1}> {
            Y, rows = Loop(n, c, X) <body = b (int64 i, bool k, float[2] x) => (bool l, float[2] y, float[2] row)
                { l = Identity(k) row = Identity(x) y = Mul(x, x) }>
        }"""
    )
    X = np.array([1.5, -2.0], np.float32)
    example = ProgramExample("Adam", BuiltModel(model.SerializeToString(), ((X,),)))
    _, rows = EvaluatedExample(example).case.held[0].outputs
    np.testing.assert_array_equal(rows.expected, [X, X * X])


@pytest.mark.parametrize(
    "change", [{"model": "not base64"}, {"model": "AAAA"}, {"runs": []}, {"runs": [[]]}, {"operator": "Conv"}]
)
def test_wrong_document_of_a_program_is_refused(change: dict[str, object]) -> None:
    from msgspec.structs import replace

    document = draw_program_example("Adam", "1").to_document()
    with pytest.raises(MalformedError):
        ProgramExample.from_document(replace(document, **change))
