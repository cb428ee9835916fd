"""The search runs correct implementations on random examples and lists the false positives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from fake_subject import always_right, always_wrong

from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from mutation import false_positives
from mutation.false_positives import find_false_positives
from mutation.pass_mutants import pass_mutants
from mutation.pass_mutants.correct_variants import CORRECT_PASSES
from mutation.variants import random_variant

# The time limit of the oracle can end inside hypothesis' callback of the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:.*gc_callback:pytest.PytestUnraisableExceptionWarning")


@dataclass
class FakeVariant:
    """A variant of ArgMax that is a backend of the tests."""

    id: str
    backend: Any

    def changes(self, op_types):
        """Return whether a model has an ArgMax."""
        return "ArgMax" in op_types


def run_examples(variants=(), optimizers=(), examples=12):
    return find_false_positives(variants, [(one, (PASS_NAME,)) for one in optimizers], 0, examples, lambda _: None)


def test_wrong_variant_is_listed_with_its_examples():
    result = run_examples([FakeVariant("odd", always_wrong), FakeVariant("even", always_right)])
    assert list(result.found) == ["odd"]
    assert result.found["odd"][0].startswith("test_search_argmax_")
    assert not result.passes


def test_wrong_optimizer_is_listed(monkeypatch):
    monkeypatch.setattr(false_positives, "OPERATORS", ())  # examples of the pass only, as many as among 150 of all
    mutants = [mutant for mutant in pass_mutants()["predicate"] if mutant.id == "removes_relu"]
    assert set(run_examples(optimizers=mutants, examples=64).found) == {"removes_relu"}


def test_correct_implementations_have_no_false_positives():
    result = run_examples([FakeVariant("even", always_right)], CORRECT_PASSES[:2])
    assert result.passes
    assert result.examples == 12
    assert next(result.lines()).endswith(" 0 false positives")


def test_each_example_of_a_training_optimizer_has_a_random_variant_of_its_own(monkeypatch):
    drawn = []
    monkeypatch.setattr(false_positives, "random_variant", lambda seed: drawn.append(seed) or random_variant(seed))
    result = run_examples(examples=20)
    assert len(set(drawn)) == 20
    assert result.variants == result.random_variants > 0
