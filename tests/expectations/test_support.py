"""Supported operators and element types: names, their text in a file, and the counts of a run."""

from __future__ import annotations

import pytest
from refusals import assert_raises
from runs_in_memory import make_case

from conformance.expectations.support import Support, SupportCounter, parse_supports, support_name
from conformance.results.records import CaseRecord
from conformance.verdicts import Verdict


def case(*operators: str, kind="node", level="must", tags=("adam", "float")) -> CaseRecord:
    nodes = [{"op_type": operator} for operator in operators]
    return make_case(kind=kind, level=level, tags=list(tags), clauses=["adam.x_new"], model={"nodes": nodes})


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (case("Adam"), "Adam[float]"),
        (case("Adam", "Adam"), "Adam[float]"),
        (case("Adam", "Neg"), ""),
        (case("If"), ""),
        (case("Adam", kind="pass"), "Adam[float]"),
        (case("Adam", kind="invalid"), ""),
        (case("Adam", level="silent"), ""),
        (case("Adam", tags=("float", "double")), ""),
    ],
)
def test_support_name_is_of_cases_of_a_single_operator_and_type(given, name):
    assert support_name(given) == name


@pytest.mark.parametrize("text", ["ArgMax[float16]", "ArgMax[float16] in 3 of 5 cases"])
def test_support_is_written_as_it_is_read(text):
    (support,) = parse_supports("acme.toml", [text])
    assert str(support) == text


@pytest.mark.parametrize(
    "given", [3, "ArgMax", ["ArgMax[float"], ["A[b] in 5 of 3 cases"], ["A[b]", "A[b] in 1 of 2 cases"]]
)
def test_malformed_supports_are_refused(given):
    with assert_raises("expectations.malformed-support", "acme.toml"):
        parse_supports("acme.toml", given)


def counted(**unsupported: tuple[int, int]) -> SupportCounter:
    """Return a counter with the number of supported and of unsupported cases of each name."""
    counter = SupportCounter()
    for name, numbers in unsupported.items():
        for verdict, count in zip((Verdict.PASS, Verdict.UNSUPPORTED), numbers, strict=True):
            for number in range(count):
                counter.add(name, f"test_{verdict}_{number}", verdict)
    return counter


class TestSupports:
    def test_complete_run_replaces_the_list(self):
        counter = counted(A=(2, 0), B=(1, 2), C=(0, 3))
        listed = [Support("B"), Support("C"), Support("D")]
        assert list(map(str, counter.supports(listed, is_complete=True))) == ["A", "B in 1 of 3 cases"]

    def test_partial_run_keeps_what_it_does_not_contradict(self):
        counter = counted(A=(2, 0), B=(1, 2))
        listed = [Support("A", 5, 8), Support("B", 9, 10), Support("D")]
        found = list(map(str, counter.supports(listed, is_complete=False)))
        assert found == ["A in 5 of 8 cases", "B in 1 of 3 cases", "D"]
