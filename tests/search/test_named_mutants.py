"""A search names a mutant only if no other example contradicts it."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest

from conformance.adapters.reference import ReferenceBackend
from conformance.corpus.case import CaseKind
from conformance.diagnosis.diagnosis import SEARCH_TAG
from conformance.mutants import catalogue
from conformance.search.evaluation import EvaluatedExample
from conformance.search.failing_examples import to_case
from conformance.search.named_mutants import NamedMutant, mutants_sentence, name_mutants
from conformance.search.sampling import sample_examples
from conformance.search.shrinking import shrink
from conformance.verdicts import Level

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
