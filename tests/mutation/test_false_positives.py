"""The search runs correct implementations on random examples and lists the false positives."""

from __future__ import annotations

from fake_backends import AlwaysRight, AlwaysWrong

from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from mutation.false_positives import find_false_positives
from mutation.pass_mutants import pass_mutants
from mutation.pass_mutants.correct_variants import CORRECT_PASSES


def run_examples(variants=(), optimizers=(), examples=12):
    return find_false_positives(variants, [(one, (PASS_NAME,)) for one in optimizers], 0, examples, lambda _: None)


def test_wrong_variant_is_listed_with_its_examples():
    result = run_examples([("odd", {"ArgMax"}, AlwaysWrong), ("even", {"ArgMax"}, AlwaysRight)])
    assert list(result.found) == ["odd"]
    assert result.found["odd"][0].startswith("test_search_argmax_")
    assert not result.passes


def test_wrong_optimizer_is_listed():
    mutants = [mutant for mutant in pass_mutants()["predicate"] if mutant.id == "removes_relu"]
    assert set(run_examples(optimizers=mutants, examples=150).found) == {"removes_relu"}


def test_correct_implementations_have_no_false_positives():
    result = run_examples([("even", {"ArgMax", "Adam"}, AlwaysRight)], CORRECT_PASSES[:2])
    assert result.passes
    assert result.examples == 12
    assert next(result.lines()).endswith(" 0 false positives")
