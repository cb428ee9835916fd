"""Failing examples are grouped by fault, and titles list the conditions of the fault and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters.reference import ReferenceBackend
from conformance.factors.wrapping import Context
from conformance.jobs.job import ChunkResult
from conformance.search.conditions import describe_conditions, features, find_conditions, restore
from conformance.search.evaluation import EvaluatedExample
from conformance.search.example import Example
from conformance.search.failing_examples import FailingExamples, describe
from conformance.search.job import FailingExample, SearchChunkResult, SearchJob
from conformance.search.sampling import sample_examples
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Verdict


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


def test_find_conditions_of_unknown_outcomes_names_nothing():
    assert find_conditions(adagrad(T=7), lambda _: None) == []


def test_restore_makes_each_feature_plain():
    example = adagrad(T=7, shape=(2, 2), dtype=np.float64, decay_factor=-1.0)
    for feature in features(example):
        assert feature.name not in {each.name for each in features(restore(example, [feature.name]))} or (
            feature.name in {"T", "values of X", "values of G", "values of H"}
        )


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


def test_search_finds_a_fault_of_one_size_and_one_t():
    chunks = (sample_examples(("Adagrad",), 0, chunk, 40) for chunk in range(20))
    candidates = (one for chunk in chunks for one in chunk if any(each.size == 3001 for each in one.operands.values()))
    assert any(EvaluatedExample(one).is_wrong(WrongFor3001Elements) for one in candidates)
