"""The search runs correct implementations on random examples and lists the false positives."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import onnx
import pytest
from fake_subject import always_right, always_wrong

from checks.mutation import false_positives
from checks.mutation.false_positives import MIXED, FullyCheckingBackend, find_false_positives
from checks.mutation.pass_mutants import pass_mutants
from checks.mutation.pass_mutants.correct_variants import CORRECT_PASSES
from checks.mutation.variants import VARIANTS, random_variant
from conformance.base.errors import ExitStatus
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.studies.search.example import ARGMAX

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


def run_examples(variants=(), optimizers=(), examples=12, families=MIXED):
    named = [(one, (PASS_NAME,)) for one in optimizers]
    return find_false_positives(variants, named, 0, examples, lambda _: None, families)


@pytest.mark.long
def test_wrong_variant_is_listed_with_its_examples():
    result = run_examples([FakeVariant("odd", always_wrong), FakeVariant("even", always_right)])
    assert list(result.found) == ["odd"]
    assert result.found["odd"][0].startswith("test_search_")
    assert not result.passes


@pytest.mark.long
def test_wrong_optimizer_is_listed():
    mutants = [mutant for mutant in pass_mutants()["predicate"] if mutant.id == "removes_relu"]
    assert set(run_examples(optimizers=mutants, examples=64, families=(PASS_NAME,)).found) == {"removes_relu"}


@pytest.mark.parametrize("family", [ARGMAX, PASS_NAME])
def test_each_example_of_a_family_runs_on_a_correct_variant(family):
    result = run_examples(VARIANTS, CORRECT_PASSES[:2], families=(family,))
    assert result.passes
    assert next(result.lines()).endswith(" 0 false positives")
    assert result.variants >= result.optimizers == result.examples - sum(result.unjudged.values()) > 0


def test_command_writes_the_counts_of_a_family(mutation_command):
    ended = mutation_command("--false-positives", 3, "--family", ARGMAX, "--json", "-")
    counts = json.loads(ended.out)["false_positives"]
    assert (ended.status, counts["families"], counts["examples"]) == (ExitStatus.PASSES, [ARGMAX], 3)


def test_unknown_family_is_an_error(mutation_command):
    assert "usage.unknown-family" in mutation_command("--false-positives", 1, "--family", "Abs").err


def test_fully_checking_backend_refuses_a_model_with_wrong_shapes():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> a (float[2] X) => (float[3] Y) {Y = Abs(X)}'
    )
    with pytest.raises(onnx.shape_inference.InferenceError):
        FullyCheckingBackend(always_right).prepare(model)


def test_each_example_of_a_training_optimizer_has_a_random_variant_of_its_own(monkeypatch):
    drawn = []
    monkeypatch.setattr(false_positives, "random_variant", lambda seed: drawn.append(seed) or random_variant(seed))
    result = run_examples(examples=8)
    assert len(set(drawn)) == 8
    assert result.variants == result.random_variants > 0
