"""Faults that a search detects, their conditions, and drawn examples of any operator."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import onnx
import pytest
from fake_subject import always_right
from msgspec import structs
from onnx.reference import ReferenceEvaluator

from conformance.base.jobs.job import ChunkResult, run_job
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.serialization.decoding import JsonReader, MalformedError, encode_json
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.corpus import read_manifest
from conformance.corpus.factors.wrapping import Context
from conformance.exact.declarations.hard_values import MODES
from conformance.exact.models.graphs import all_nodes, copy_of, subgraphs_of
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants.mutant import KernelPatch, MutantBackend
from conformance.run.mutants.wrappers import replace_inputs, replace_outputs
from conformance.studies.search.drawn_example import DrawnExample, draw_example
from conformance.studies.search.evaluation import EvaluatedExample, evaluate
from conformance.studies.search.example import Example
from conformance.studies.search.failing_examples import FailingExamples, describe
from conformance.studies.search.search_cases import NoExpectedOutputsError, build_oracle_case
from conformance.studies.search.search_conditions import describe_conditions, features, find_conditions, restore
from conformance.studies.search.search_job import FailingExample, SearchChunkResult, SearchJob
from conformance.studies.search.search_sampling import sample_examples
from conformance.studies.search.shrinking import shrink
from conformance.subjects.adapters.reference import ReferenceBackend
from conformance.subjects.calling.subject_loading import load_subject
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

# Failing examples are grouped by fault, and titles list the conditions of the fault and nothing else.


def adagrad(T=1, shape=(2,), dtype=np.float32, **attributes):
    """Return an example with plain operands."""
    operands = {
        "R": np.array(0.5, dtype),
        "T": np.array(T, np.int64),
        "X": np.ones(shape, dtype),
        "G": np.full(shape, 0.5, dtype),
        "H": np.ones(shape, dtype),
    }
    return Example("Adagrad", Context(), attributes, (operands,))


@pytest.mark.parametrize(
    ("example", "is_faulty", "conditions"),
    [
        (adagrad(decay_factor=-1.0), lambda one: one.attributes.get("decay_factor", 0) < 0, ["decay_factor = -1.0"]),
        (adagrad(T=7), lambda one: int(one.operands["T"]) == 7, ["T = 7"]),
        (adagrad(dtype=np.float64), lambda one: one.operands["X"].dtype == np.float64, ["element type double"]),
        (adagrad(shape=(48,)), lambda one: one.operands["X"].size == 48, ["48 elements"]),
        (adagrad(shape=(2, 3)), lambda one: one.operands["X"].ndim > 1, ["6 elements", "shape [2, 3]"]),
        (replace(adagrad(), context=Context("if_then")), lambda one: one.context.scope != "main", ["scope if_then"]),
        (adagrad(T=7, decay_factor=0.25), lambda _: True, []),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, list) else "",
)
def test_find_conditions_names_what_the_failure_needs(example, is_faulty, conditions):
    names = find_conditions(example, is_faulty)
    assert describe_conditions(example, names)[: len(conditions)] == conditions[: len(names)]
    assert {*describe_conditions(example, names)} <= {*conditions}
    assert bool(names) == bool(conditions)


def test_sizes_of_an_argmax_without_an_axis_are_those_along_the_first():
    example = Example("ArgMax", Context(), {}, ({"X": np.zeros((2, 3), np.float32)},))
    assert {"length 2", "3 slices"} <= {feature.text for feature in features(example)}


def test_find_conditions_of_unknown_outcomes_names_nothing():
    assert find_conditions(adagrad(T=7), lambda _: None) == []


def test_restore_makes_each_feature_plain():
    example = adagrad(T=7, shape=(2, 2), dtype=np.float64, decay_factor=-1.0)
    for feature in features(example):
        assert feature.name not in {each.name for each in features(restore(example, [feature.name]))} or (
            feature.name in {"T", "values of X", "values of G", "values of H"}
        )


def test_restore_without_plain_value_changes_nothing():
    example = adagrad(shape=(0,))
    assert [feature.restored for feature in features(example) if feature.name == "size 1"] == [()]
    assert restore(example, ["size 1"]) is example


def test_describe_ignores_conditions_that_the_example_lacks():
    assert describe(adagrad(), ["scope", "attribute of no name"]) == describe(adagrad(), [])


def failure(example, conditions, violation="wrong elements"):
    """Return a failing example as a chunk has it."""
    return FailingExample(
        *("s", "Adagrad", Verdict.FAIL, "compare", violation, "", example.to_document(), None, conditions),
        tries=1,
        seconds=0,
        mutants=[],
    )


def collected(*failures):
    found = FailingExamples(SearchJob((("s", SubjectKind.BACKEND),), ("Adagrad",), 0))
    for number, one in enumerate(failures):
        found.add(ChunkResult(number, SearchChunkResult({}, 1, {}, {}, {}, {}, [], [one])))
    return [one.conditions for one in found]


def test_examples_of_one_fault_are_one_failing_example():
    plain, special = failure(adagrad(), ["T"]), failure(adagrad(shape=(9,)), ["T", "size 1"])
    assert collected(special, plain) == [["T"]]


def test_examples_of_two_faults_are_two_failing_examples():
    assert len(collected(failure(adagrad(), ["T"]), failure(adagrad(), ["attribute epsilon"]))) == 2


class WrongFor3001Elements(ReferenceBackend):
    """Returns X unchanged if it has 3,001 elements and T is 7."""

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        right = ReferenceBackend.prepare(model)

        class Prepared:
            def run(self, inputs):
                outputs = list(right.run(inputs))
                T = next(int(array) for array in inputs if array.dtype == np.int64)
                tensors = [array for array in inputs if array.ndim]
                return [
                    tensors[place] if output.size == 3001 and T == 7 and place < len(outputs) // 2 else output
                    for place, output in enumerate(outputs)
                ]

        return Prepared()


@pytest.mark.long
def test_search_finds_a_fault_of_one_size_and_one_t():
    chunks = (sample_examples(("Adagrad",), 0, chunk, 40) for chunk in range(20))
    candidates = (one for chunk in chunks for one in chunk if any(each.size == 3001 for each in one.operands.values()))
    assert any(EvaluatedExample(one).is_wrong(WrongFor3001Elements) for one in candidates)


# A few random examples detect mistakes that show only with unusual values, sizes, names and connections.


MAX_EXAMPLES = 200
CHUNK = 40
OPTIMIZERS = ("Momentum", "Adagrad")
"""Examples of Adam have the same distributions, and their outputs take longer to compute."""


@cache
def evaluated_examples(operator, chunk):
    """Return the examples of a chunk, which keep the outputs that were computed for an earlier backend."""
    return [EvaluatedExample(example) for example in sample_examples((operator,), 0, chunk, CHUNK)]


def first_failing_example(backend, operator):
    """Return the first example that a backend fails; None if it passes the first `MAX_EXAMPLES` examples."""
    for chunk in range(MAX_EXAMPLES // CHUNK):
        for evaluated in evaluated_examples(operator, chunk):
            try:
                if evaluated.is_wrong(backend):
                    return evaluated.example
            except NoExpectedOutputsError:
                continue
    return None


def patched(operator, **patch):
    return MutantBackend({operator: KernelPatch(**patch)})


def groups(node, inputs):
    """Return the operands of all tensors, one list for each of X, G and the states."""
    operands = TRAINING_OPTIMIZERS[node.op_type].operands
    size = len(inputs[2:]) // len(operands)
    return [inputs[2 + size * kind : 2 + size * (kind + 1)] for kind in range(len(operands))]


def raise_small_states(node, inputs):
    place = TRAINING_OPTIMIZERS[node.op_type].operands.index("H")
    raised = groups(node, inputs)
    raised[place] = [np.maximum(H, H.dtype.type(2**-8)) for H in raised[place]]
    return [*inputs[:2], *(array for group in raised for array in group)]


def keep_first_scalar(place, model, op_type):
    """Take R (place 0) or T (place 1) from outside of each Loop that carries it."""
    for loop in all_nodes(model):
        for body in subgraphs_of(loop) if loop.op_type == "Loop" else ():
            outer = {value.name: name for value, name in zip(body.input, loop.input, strict=False)}
            for node in body.node:
                if node.op_type == op_type:
                    node.input[place] = outer.get(node.input[place], node.input[place])


def keep_first_sizes(kernel):
    """Compute as many elements of each result as in the first run."""
    sizes = []

    def run(node, inputs):
        outputs = kernel(node, inputs)
        sizes.extend([] if sizes else [output.size for output in outputs])
        for output, size in zip(outputs, sizes, strict=True):
            output.reshape(-1)[size:] = 0
        return outputs

    return run


def stop_early(node, inputs, outputs):
    """Ignore the tensors after the first whose size is at most its position, if the tensors begin with empty ones."""
    tensors = groups(node, inputs)[0]
    ends = [place for place, X in enumerate(tensors) if 0 < X.size <= place]
    if not tensors[0].size and ends:
        for place in range(ends[0] + 1, len(tensors)):
            for output in outputs[place :: len(tensors)]:
                output[...] = 0
    return outputs


def read_shared_value_once(kernel):
    """Read zeros for a value that is another operand of the first tensor too."""

    def run(node, inputs):
        changed, seen = list(inputs), []
        for kind, group in enumerate(groups(node, inputs)):
            if any(group[0] is array for array in seen):
                changed[2 + kind * len(group)] = np.zeros_like(group[0])
            seen.append(group[0])
        return kernel(node, changed)

    return run


def update_in_place(kernel):
    """Write the new value of an operand of the first tensor before the second tensor is updated."""

    def run(node, inputs):
        outputs, operands = kernel(node, inputs), groups(node, inputs)
        size = len(operands[0])
        own = TRAINING_OPTIMIZERS[node.op_type]
        for kind, group in enumerate(operands):
            name = f"{own.operands[kind]}_new"
            if size > 1 and group[0] is group[1] and name in own.results:
                changed = list(inputs)
                changed[2 + kind * size + 1] = outputs[own.results.index(name) * size]
                outputs[1::size] = kernel(node, changed)[1::size]
        return outputs

    return run


def confusing(same):
    """Return a backend that confuses the values of which `same` gives the same text."""

    class Confusing(always_right):
        @classmethod
        def prepare(cls, model, device="CPU"):
            changed = copy_of(model)
            known = {}
            for value in changed.graph.input:
                known.setdefault(same(value.name), value.name)
            for node in changed.graph.node:
                node.input[:] = [known.get(same(name), name) for name in node.input]
            return cls(changed)

    return Confusing


def before_colon(name):
    return name.partition(":")[0] if ":" in name else name


NAME_MISTAKES = {"colon": before_colon, "case": str.lower, "long": lambda name: name[:256]}


def test_search_detects_a_backend_that_raises_small_states():
    operator = "Adagrad"
    failing = first_failing_example(patched(operator, wrappers=(replace_inputs(raise_small_states),)), operator)
    assert any((array < 2**-8).any() for name, array in failing.operands.items() if name.startswith("H"))


@pytest.mark.parametrize(("operator", "scalar"), [("Momentum", "r"), ("Adagrad", "r"), ("Adagrad", "t")])
def test_search_detects_a_backend_that_keeps_the_first_scalar_of_a_loop(operator, scalar):
    keep_first = partial(keep_first_scalar, "rt".index(scalar))
    failing = first_failing_example(patched(operator, rewrites=(keep_first,)), operator)
    assert failing.context.scope == f"loop_doubling_{scalar}"


@pytest.mark.parametrize("operator", ["Momentum", "ArgMax"])
def test_search_detects_a_backend_that_keeps_the_sizes_of_the_first_run(operator):
    failing = first_failing_example(patched(operator, wrappers=(keep_first_sizes,)), operator)
    assert failing.is_resized


@pytest.mark.parametrize("operator", OPTIMIZERS)
def test_search_detects_a_backend_that_stops_at_a_small_tensor_after_an_empty_one(operator):
    failing = first_failing_example(patched(operator, wrappers=(replace_outputs(stop_early),)), operator)
    assert failing.tensor_count > 2


@pytest.mark.parametrize("operator", OPTIMIZERS)
@pytest.mark.parametrize("fault", [read_shared_value_once, update_in_place])
def test_search_detects_a_backend_with_a_fault_for_an_operand_given_twice(operator, fault):
    assert first_failing_example(patched(operator, wrappers=(fault,)), operator).repeated


@pytest.mark.parametrize("operator", ["Momentum", "ArgMax"])
@pytest.mark.parametrize("kind", NAME_MISTAKES)
def test_search_detects_a_backend_that_confuses_names(operator, kind):
    failing = first_failing_example(confusing(NAME_MISTAKES[kind]), operator)
    assert failing.names == kind


# Examples of any declared operator are drawn, judged by the enclosures, shrunk, and written as cases.


class LeakyBelowMinusTwo:
    """A backend whose Relu returns its operand where that is below -2."""

    def __init__(self, model):
        self.evaluator = ReferenceEvaluator(model)
        self.is_faulty = model.graph.node[0].op_type == "Relu"

    @classmethod
    def prepare(cls, model, device="CPU"):
        return cls(model)

    def run(self, inputs):
        feeds = dict(zip(self.evaluator.input_names, inputs, strict=True))
        with np.errstate(all="ignore"):
            (output,) = self.evaluator.run(None, feeds)
            return [np.where(inputs[0] < -2, inputs[0], output) if self.is_faulty else np.asarray(output)]


FAULTY = f"{__name__}:LeakyBelowMinusTwo"


def search(*operators, examples=40, workers=1, level=Level.MUST):
    job = SearchJob(((FAULTY, SubjectKind.BACKEND),), operators, 3, examples, isolated=False, level=level)
    found = FailingExamples(job)
    for chunk in run_job(job, ProcessWorkers(workers, lambda _: None)):
        found.add(chunk)
    return found


@pytest.fixture(scope="module")
def found():
    return search("Relu", "Exp")


def test_search_of_declared_operators_finds_and_shrinks_the_fault(found):
    (failure,) = found
    example = failure.read()
    assert (failure.about, example.operator) == ("Relu", "Relu")
    assert example.node.operands["X"].size == 1
    assert failure.conditions == []
    assert found.verdicts[FAULTY][Verdict.PASS] > 20


def test_search_with_several_workers_finds_the_same(found):
    (again,), (failure,) = search("Relu", "Exp", workers=2), found
    assert structs.replace(again, seconds=0) == structs.replace(failure, seconds=0)


def test_failing_drawn_example_is_written_as_a_case(found, tmp_path):
    found.write_corpus(tmp_path / "failing")
    ((id, case),) = read_manifest(tmp_path / "failing").cases.items()
    assert id.startswith("test_search_relu_")
    model = onnx.load(tmp_path / "failing" / case.path / "model.onnx")
    assert [node.op_type for node in model.graph.node] == ["Relu"]


def test_drawn_example_survives_json_and_a_wrong_document_is_refused():
    example = draw_example("Conv", "4").choosing("size c", 1).editing("X", 0, 2.0)
    again = JsonReader(DrawnExample)(encode_json(example))
    assert again.built.model == example.built.model
    for change in ({"operator": "Convv"}, {"edits": {"X": {"x": 1.0}}}, {"edits": {"X": {-1: 1.0}}}):
        with pytest.raises(MalformedError):
            JsonReader(DrawnExample)(encode_json(structs.replace(again, **change))).check()


def test_shrink_of_a_drawn_example_keeps_what_the_failure_needs():
    example = draw_example("TopK", "1").choosing("declaration", 0).choosing("size S1", 4).choosing("rank", 0)

    def is_same(other):
        return other.node.operands["X"].shape[-1] >= 3

    assert is_same(example)
    small, _ = shrink(example, is_same)
    assert small.node.operands["X"].shape[-1] == 3
    assert small.complexity < example.complexity
    names = find_conditions(small, is_same)
    assert names
    assert not is_same(restore(small, names))


def test_indices_with_nan_are_accepted_as_unspecified():
    subject = load_subject(SubjectName.parse("onnxruntime", SubjectKind.BACKEND))
    for seed in range(10):
        example = draw_example("ArgMin", str(seed)).choosing("declaration", 0).choosing("opset", 0)
        example = example.choosing("type T", 0).choosing("values of X", MODES.index("hard"))
        case = build_oracle_case(example)
        assert evaluate(subject, case).verdict is Verdict.PASS


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_evaluated_drawn_example_passes_on_a_right_backend(level):
    subject = load_subject(SubjectName.parse("onnxruntime", SubjectKind.BACKEND))
    for operator in ("Add", "MatMul", "Tanh", "Softplus"):
        evaluated = EvaluatedExample(draw_example(operator, "2"), level)
        assert evaluated.result(subject).verdict in {Verdict.PASS, Verdict.UNSUPPORTED}


def test_search_command_with_an_unknown_operator_names_a_near_one(command):
    ended = command("search", "-b", "reference", "--operator", "Convv")
    assert (ended.status, ended.code) == (2, "usage.operator-not-declared")
    assert "Conv" in ended.err
