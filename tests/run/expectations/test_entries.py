"""Entries of expectations: conditions, supports, and checks that an update writes."""

from __future__ import annotations

import pytest
from refusals import assert_raises
from runs_in_memory import make_case, make_run, plain_case, plain_result, with_fields

from conformance.base.verdicts import Level, Verdict
from conformance.run.expectations.conditions import ConditionContext, parse_condition
from conformance.run.expectations.criterion import support_names
from conformance.run.expectations.criterion_settings import criterion_for_run
from conformance.run.expectations.expectations_file import parse_expectations
from conformance.run.expectations.expectations_update import NewEntries, update_expectations
from conformance.run.expectations.support import Support, SupportCounter, parse_supports
from conformance.run.results.records import CaseRecord
from conformance.run.results.results_file import Results

# Conditions of expectations.


HERE = ConditionContext.from_environment(
    "1.31.1", {"platform": "Linux x86_64", "python": "3.12.1", "cpu features": "avx2 avx512f"}
)


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({"version": ">=1.31,<1.33"}, True),
        ({"version": "==1.31.*"}, True),
        ({"version": "<1.31"}, False),
        ({"python": ">=3.12"}, True),
        ({"python": "<3.12"}, False),
        ({"platform": "linux"}, True),
        ({"platform": "linux x86_64"}, True),
        ({"platform": "linux aarch64"}, False),
        ({"platform": ["darwin", "linux"]}, True),
        ({"platform": "windows"}, False),
        ({"version": ">=1.31", "platform": "linux", "python": ">=3.12"}, True),
        ({"version": ">=1.31", "platform": "darwin"}, False),
        ({"processor": "avx512f"}, True),
        ({"processor": "avx512_fp16"}, False),
        ({"processor": ["avx512f", "-avx512_fp16"]}, True),
        ({"processor": ["avx2", "-avx512f"]}, False),
    ],
)
def test_condition_holds_if_all_keys_are_satisfied(when, holds):
    assert parse_condition("acme.toml:2", when).holds(HERE) is holds


@pytest.mark.parametrize(("version", "holds"), [("1.32.0rc1", True), ("1.31.0+cpu", True), ("1.33.0.dev0", False)])
def test_versions_are_compared_like_python_packages(version, holds):
    condition = parse_condition("acme.toml:2", {"version": ">=1.31,<1.33.0.dev0"})
    assert condition.holds(ConditionContext(version, "linux x86_64", "3.12")) is holds


@pytest.mark.parametrize(
    "when",
    [
        {},
        "linux",
        {"os": "linux"},
        {"version": "1.31"},
        {"version": ""},
        {"version": 1},
        {"python": ">=three"},
        {"platform": "ubuntu"},
        {"platform": "Linux"},
        {"platform": []},
        {"platform": [1]},
        {"processor": "avx1024"},
        {"processor": []},
        {"processor": ["avx2", 1]},
    ],
    ids=str,
)
def test_malformed_condition_is_rejected(when):
    with assert_raises("expectations.malformed-condition", "acme.toml:2"):
        parse_condition("acme.toml:2", when)


def test_incomparable_version_is_rejected():
    condition = parse_condition("acme.toml:2", {"version": ">=1"})
    with assert_raises("expectations.incomparable-version", "acme.toml:2", ">=1", "unknown"):
        condition.holds(ConditionContext("unknown", "linux x86_64", "3.12"))


# Supported operators and element types: names, their text in a file, and the counts of a run.


def case(*operators: str, kind="node", level="must", tags=("adam", "float"), domain="") -> CaseRecord:
    nodes = [{"op_type": operator, "domain": domain} for operator in operators]
    return make_case(kind=kind, level=level, tags=list(tags), clauses=["adam.x_new"], model={"nodes": nodes})


@pytest.mark.parametrize(
    ("given", "of_backend", "of_optimizer"),
    [
        (case("Adam"), {"Adam[float]", "Adam"}, set()),
        (case("Adam", "Adam"), {"Adam[float]", "Adam"}, set()),
        (case("Adam", "Neg"), {"Adam", "Neg"}, set()),
        (case("If", domain="ai.onnx"), {"If"}, set()),
        (case("Step", domain="acme"), set(), set()),
        (case("Neg", kind="pass"), {"Neg"}, {"Adam[float]"}),
        (case("Adam", kind="invalid"), set(), set()),
        (case("Adam", level="silent"), set(), set()),
        (case("Adam", tags=("float", "double")), {"Adam"}, set()),
    ],
)
def test_names_of_supports_have_the_type_of_a_single_operator(given, of_backend, of_optimizer):
    assert support_names(given, "backend") == of_backend
    assert support_names(given, "optimizer") == of_optimizer


@pytest.mark.parametrize("text", ["ArgMax[float16]", "ArgMax[float16] in 3 of 5 cases", "Exp in 3 of 5 cases"])
def test_support_is_written_as_it_is_read(text):
    (support,) = parse_supports("acme.toml", [text])
    assert str(support) == text


@pytest.mark.parametrize(
    "given", [3, "ArgMax[]", ["ArgMax[float"], ["A[b] in 5 of 3 cases"], ["A[b]", "A[b] in 1 of 2 cases"]]
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
                counter.add([name], f"test_{name}_{verdict}_{number}", verdict)
    return counter


class TestSupports:
    def test_complete_run_replaces_the_list(self):
        counter = counted(A=(2, 0), B=(1, 2), C=(0, 3))
        listed = [Support("B"), Support("C"), Support("D")]
        assert list(map(str, counter.supports(listed, is_complete=True))) == ["A", "B in 1 of 3 cases"]

    def test_operator_whose_cases_all_end_in_errors_is_not_supported(self):
        counter = counted(A=(1, 0))
        counter.add(["E"], "test_e", Verdict.ERROR)
        assert list(map(str, counter.supports([], is_complete=True))) == ["A"]

    def test_partial_run_keeps_what_it_does_not_contradict(self):
        counter = counted(A=(2, 0), B=(1, 2))
        listed = [Support("A", 5, 8), Support("B", 9, 10), Support("D")]
        found = list(map(str, counter.supports(listed, is_complete=False)))
        assert found == ["A in 5 of 8 cases", "B in 1 of 3 cases", "D"]

    def test_operator_with_cases_of_its_own_has_supports_with_types_alone(self):
        counter = counted(A=(2, 0), B=(1, 0))
        counter.add(["A[float]", "A"], "test_a", Verdict.PASS)
        assert list(map(str, counter.supports([], is_complete=True))) == ["A[float]", "B"]

    def test_operators_that_stand_beside_a_lost_one_are_not_lost(self):
        counter = counted(Add=(3, 0), Cast=(0, 4), Neg=(0, 1))
        for number in range(3):
            counter.add(["Add", "Cast"], f"test_expanded_{number}", Verdict.UNSUPPORTED)
        listed = [Support("Add", 4, 6), Support("Cast", 4, 7), Support("Neg", 1, 1)]
        assert [(support.name, len(cases)) for support, cases in counter.lost(listed)] == [("Cast", 7), ("Neg", 1)]


# `update-expectations` and the checks that an entry names.


NAME = "acme.toml"
HEAD = 'subject = "acme"\nsupports = []\n'


def run(*verdicts: tuple[str, str], **more) -> Results:
    """Return a run of acme with these verdicts."""
    header = {
        "corpus": {"version": "1.0.0", "digest": "0", "cases": len(verdicts), "selected": len(verdicts)},
        "subjects": [{"id": "acme", "kind": "optimizer", "version": "1.0"}],
        "criterion": {"level": "must", "require": [], "expected_results": len(verdicts), "expectations": []},
        "environment": {"python": "3.12.1", "platform": "Linux x86_64"},
    }
    first, *rest = (plain_result("acme", case, verdict, message="it is wrong") for case, verdict in verdicts)
    results = with_fields(first, **more), *rest
    cases = [plain_case(case) for case, _ in verdicts]
    return make_run("results.jsonl", header, cases, results, {"results": len(results), "diagnoses": ()})


def run_with_violations(*checks: str, level: str = "must") -> Results:
    """Return a run in which a graph optimizer violates checks in one case and passes another case."""
    violations = [
        {"name": name, "run": "once", "level": level, "violation": {"kind": "computation"}} for name in checks
    ]
    return run(("test_a1", "fail"), ("test_z9", "pass"), checks=violations)


class TestChecks:
    TEXT = HEAD + '\n[[expect]]\nreason = "known"\nchecks = ["answers"]\nfail = ["test_a1"]\n'

    def test_entry_with_checks_that_still_fail_is_kept(self):
        assert update_expectations(self.TEXT, NAME, run_with_violations("answers")).text == self.TEXT

    def test_entry_failing_another_check_is_removed_and_needs_reason(self):
        done = update_expectations(self.TEXT, NAME, run_with_violations("answers", "checker"))
        assert (parse_expectations(done.text, NAME).entries, done.missing[0].checks) == ((), ("answers", "checker"))

    def test_new_entry_names_the_violated_checks(self):
        text = update_expectations(HEAD, NAME, run_with_violations("answers"), NewEntries("known")).text
        assert text == self.TEXT
        assert update_expectations(text, NAME, run_with_violations("answers")).missing == ()

    def test_violation_below_fail_level_changes_no_entry(self):
        assert update_expectations(self.TEXT, NAME, run_with_violations("mutation", level="should")).text == self.TEXT

    def test_entry_with_changed_verdict_loses_its_checks(self):
        done = update_expectations(self.TEXT, NAME, run(("test_a1", "error"), ("test_z9", "pass")))
        (entry,) = parse_expectations(done.text, NAME).entries
        assert (entry.verdict, entry.checks) == (Verdict.ERROR, ())

    def test_entry_without_checks_matches_all_violations(self):
        text = self.TEXT.replace('checks = ["answers"]\n', "")
        assert update_expectations(text, NAME, run_with_violations("mutation", "checker")).text == text


def test_unknown_mutant_is_refused(small_corpus):
    text = 'subject = "acme"\n[[expect]]\nreason = "r"\nmutants = ["adam.v_sums"]\nfail = ["test_a"]\n'
    with assert_raises("expectations.no-such-mutant", "acme.toml:2", "adam.v_sum?"):
        criterion_for_run(Level.MUST, small_corpus, {"acme": "1"}, {"acme": parse_expectations(text, "acme.toml")})
