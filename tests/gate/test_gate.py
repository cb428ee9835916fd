"""The gate: what shuts it, with and without an expectations file, a baseline and required operators."""

from __future__ import annotations

import itertools

import pytest

from conformance.expectations.file import Expectation, Expectations
from conformance.gate.baseline import Baseline
from conformance.gate.case_facts import Facts
from conformance.gate.gate import Gate
from conformance.gate.reasons import MOST_REASONS
from conformance.gate.rules import Rules
from conformance.verdicts import Level, Verdict

MUST, SHOULD, SILENT = Level
PASS, FAIL, ERROR, UNSUPPORTED = Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.UNSUPPORTED
DEFECTS = [verdict for verdict in Verdict if verdict.is_defect]
ADAM = Facts("Adam", frozenset({"Adam"}))
BASELINE = Baseline({"file": "old.jsonl", "version": "1.0.0", "digest": "0"}, {})


def gate(level: Level = MUST, *, subjects: tuple[str, ...] = ("acme",), entries=None, **rules) -> Gate:
    """A gate on which every subject has passed one case already."""
    expectations = {} if entries is None else {"acme": Expectations("acme", tuple(entries))}
    made = Gate(Rules(level, expectations, **rules), subjects)
    for subject in subjects:
        judge(made, PASS, "test_passed", subject)
    return made


def judge(made: Gate, verdict: Verdict, case: str = "test_x", subject: str = "acme", level=MUST, facts=ADAM, **more):
    """Whether a gate takes a result as expected."""
    entry = made.expectation(subject, case)
    expected = entry and {"verdict": str(entry.verdict), "reason": entry.reason, "place": entry.place_of(case)}
    result = {"subject": subject, "case": case, "level": level, "verdict": verdict, "expected": expected, **more}
    return made.judge(result, lambda: facts)


def expecting(*cases: str, verdict: Verdict = FAIL, line: int = 2) -> Expectation:
    lines = tuple(f"acme.toml:{line + 1 + number}" for number in range(len(cases)))
    return Expectation(cases, verdict, "known", f"acme.toml:{line}", lines=lines)


def shut(made: Gate, *, partial: bool = False) -> list[str]:
    return made.reasons(partial=partial)


class TestWithoutExpectations:
    def test_passes_alone_keep_it_open(self):
        assert not shut(gate())

    @pytest.mark.parametrize("verdict", DEFECTS)
    def test_a_defect_shuts_it(self, verdict):
        made = gate()
        assert not judge(made, verdict)
        (reason,) = shut(made)
        assert reason.startswith("test_x ")
        assert reason.endswith(" on acme")

    def test_unsupported_is_tolerated(self):
        made = gate()
        assert judge(made, UNSUPPORTED)
        assert not shut(made)

    @pytest.mark.parametrize(
        ("level", "at_must", "at_should"), [(MUST, True, True), (SHOULD, False, True), (SILENT, False, False)]
    )
    def test_its_own_level_and_those_above_are_judged(self, level, at_must, at_should):
        found = []
        for of_gate in (MUST, SHOULD):
            made = gate(of_gate)
            judge(made, FAIL, level=level)
            found.append(bool(shut(made)))
        assert found == [at_must, at_should]

    def test_a_surprise_at_a_level_that_is_not_judged_is_tolerated(self):
        assert judge(gate(), ERROR, level=SHOULD)

    def test_results_are_counted_by_subject_level_and_verdict(self):
        made = gate()
        judge(made, FAIL, level=SHOULD)
        assert made.verdicts["acme"] == {MUST: {PASS: 1}, SHOULD: {FAIL: 1}}


class TestExpectations:
    def test_unsupported_that_they_do_not_name_shuts_it(self):
        made = gate(entries=())
        judge(made, UNSUPPORTED)
        assert shut(made) == ["test_x is unsupported on acme"]

    def test_those_of_one_subject_bind_no_other(self):
        made = gate(subjects=("acme", "other"), entries=[expecting("test_x")])
        judge(made, FAIL)
        judge(made, FAIL, subject="other")
        assert shut(made) == ["test_x fails on other"]

    def test_an_expected_verdict_is_as_expected(self):
        made = gate(entries=[expecting("test_x")])
        assert judge(made, FAIL)
        assert not shut(made)

    def test_an_unexpected_pass_shuts_it_and_says_which_line_to_change(self):
        made = gate(entries=[expecting("test_y", "test_x")])
        judge(made, FAIL, "test_y")
        judge(made, PASS, "test_x")
        assert shut(made) == ["acme.toml:4: test_x passes on acme, fail expected: take it out"]

    @pytest.mark.parametrize(("verdict", "verb"), [(ERROR, "ends in an error"), (UNSUPPORTED, "is unsupported")])
    def test_another_verdict_than_the_expected_one_shuts_it(self, verdict, verb):
        made = gate(entries=[expecting("test_x")])
        judge(made, verdict)
        assert shut(made) == [f"acme.toml:3: test_x {verb} on acme, fail expected: change the verdict"]

    def test_an_entry_that_matches_nothing_shuts_a_whole_run(self):
        assert shut(gate(entries=[expecting("test_gone", "test_lost")])) == [
            "acme.toml:2: the entry (test_gone, test_lost) matches no case: remove it"
        ]

    def test_a_pattern_of_several_that_matches_nothing_shuts_it_too(self):
        made = gate(entries=[expecting("test_x", "test_gone")])
        judge(made, FAIL)
        assert shut(made) == ["acme.toml:4: test_gone matches no case: remove it"]

    def test_a_pattern_that_is_nearly_a_case_is_taken_for_a_slip(self):
        made = gate(entries=[expecting("test_adagrad_mulitple_float", "test_gone")])
        judge(made, PASS, "test_adagrad_multiple_float")
        (sentence,) = shut(made)
        assert sentence.endswith("matches no case: remove it, or did you mean test_adagrad_multiple_float?")

    def test_an_entry_that_matches_nothing_means_nothing_on_a_partial_run(self):
        assert not shut(gate(entries=[expecting("test_gone")]), partial=True)

    def test_an_entry_that_another_hides_matches_nothing(self):
        made = gate(entries=[expecting("test_*"), expecting("test_x", line=7)])
        judge(made, FAIL)
        assert "acme.toml:7: the entry (test_x) matches no case: remove it" in shut(made)

    def test_an_entry_about_a_level_that_is_not_judged_matches(self):
        made = gate(entries=[expecting("test_x")])
        judge(made, FAIL, level=SHOULD)
        assert not shut(made)


class TestExpectedChecks:
    @staticmethod
    def judged(*complaining: str, named=("answers",), level=MUST) -> tuple[bool, Gate]:
        """Whether a failure by some checks is as expected where an entry names others, and the gate."""
        made = gate(entries=[expecting("test_x")])
        checks = [{"name": name, "run": "once", "level": str(level), "complaint": "no"} for name in complaining]
        expected = {"verdict": "fail", "reason": "known", "place": "acme.toml:3"}
        told = expected | ({"checks": list(named)} if named else {})
        result = {"subject": "acme", "case": "test_x", "level": MUST, "verdict": FAIL, "expected": told}
        return made.judge({**result, "checks": checks}, lambda: ADAM), made

    def test_a_failure_by_those_that_are_named_is_as_expected(self):
        assert self.judged("answers")[0]

    def test_a_failure_by_another_shuts_it_and_names_the_check(self):
        expected, made = self.judged("answers", "checker")
        assert not expected
        assert shut(made) == ["acme.toml:3: test_x fails on acme by checker too: say why in an entry of its own"]

    def test_an_entry_that_names_none_is_about_any(self):
        assert self.judged("answers", "checker", named=())[0]

    def test_a_complaint_at_a_level_that_is_not_judged_is_tolerated(self):
        assert self.judged("mutation", level=SHOULD)[0]


class TestASubjectThatPassedNothing:
    @pytest.mark.parametrize("verdict", [UNSUPPORTED, Verdict.SKIPPED])
    def test_it_shuts_the_gate(self, verdict):
        made = Gate(Rules(), ["acme"])
        judge(made, verdict, level=SILENT)
        assert shut(made) == ["acme passed nothing"]

    def test_it_does_so_though_all_was_expected_and_on_a_part(self):
        made = Gate(Rules(MUST, {"acme": Expectations("acme", (expecting("*", verdict=UNSUPPORTED),))}), ["acme"])
        judge(made, UNSUPPORTED)
        assert shut(made, partial=True) == ["acme passed nothing"]

    def test_another_subject_s_pass_does_not_count(self):
        made = Gate(Rules(), ["acme", "other"])
        judge(made, PASS, subject="other")
        assert shut(made) == ["acme passed nothing"]

    def test_a_rejection_of_an_invalid_model_does_not_count(self):
        made = Gate(Rules(SHOULD), ["acme"])
        judge(made, PASS, level=SHOULD, facts=Facts("Adam", frozenset(), rejection=True))
        assert shut(made, partial=True) == ["acme passed nothing"]


class TestRequiredOperators:
    def test_unsupported_shuts_it_where_the_operator_is_in_the_model(self):
        made = gate(require=("Adam",))
        judge(made, UNSUPPORTED)
        assert shut(made) == ["test_x is unsupported on acme though the operator is required"]

    def test_it_does_so_though_it_was_expected(self):
        made = gate(entries=[expecting("test_x", verdict=UNSUPPORTED)], require=("Adam",))
        assert not judge(made, UNSUPPORTED)

    def test_unsupported_is_tolerated_where_it_is_not(self):
        made = gate(require=("Momentum",))
        assert judge(made, UNSUPPORTED)


class TestABaseline:
    @pytest.mark.parametrize(
        ("was", "now", "holds"),
        [
            (PASS, PASS, True),
            (PASS, FAIL, False),
            (UNSUPPORTED, FAIL, False),
            (FAIL, FAIL, True),
            (FAIL, ERROR, True),
            (ERROR, FAIL, True),
            (ERROR, Verdict.CRASH, False),
            (Verdict.CRASH, FAIL, True),
            (FAIL, PASS, True),
        ],
    )
    def test_only_a_worse_verdict_shuts_it(self, was, now, holds):
        made = gate(baseline=BASELINE)
        assert judge(made, now, baseline=str(was)) is holds

    def test_the_reason_says_what_was_before(self):
        made = gate(baseline=BASELINE)
        judge(made, FAIL, baseline="pass")
        assert shut(made) == ["test_x fails on acme, in the baseline pass"]

    @pytest.mark.parametrize(("now", "holds"), [(MUST, False), (SHOULD, True)])
    def test_a_failure_at_a_stronger_level_than_before_shuts_it(self, now, holds):
        made = gate(SHOULD, baseline=BASELINE)
        assert judge(made, FAIL, level=now, baseline="fail", baseline_level="should") is holds

    def test_the_reason_says_at_which_level_it_was(self):
        made = gate(baseline=BASELINE)
        judge(made, FAIL, baseline="fail", baseline_level="should")
        assert shut(made) == ["test_x fails on acme, in the baseline fail at level should"]

    def test_a_case_that_it_has_not_is_judged_as_usual(self):
        made = gate(baseline=BASELINE)
        assert not judge(made, FAIL)

    def test_a_stale_entry_is_no_regression(self):
        assert not shut(gate(baseline=BASELINE, entries=[expecting("test_gone")]))


class TestAVaryingVerdict:
    def test_it_shuts_the_gate_though_the_worst_was_expected(self):
        made = gate(entries=[expecting("test_x")])
        judge(made, FAIL, repeats={"pass": 2, "fail": 1})
        assert shut(made) == ["test_x varies from run to run on acme"]

    def test_the_same_verdict_every_time_does_not(self):
        assert judge(gate(), PASS, repeats={"pass": 3})


class TestReasons:
    def test_cases_of_one_kind_are_one_sentence(self):
        made = gate()
        for number in range(12):
            judge(made, FAIL, f"test_{number:02}")
        assert shut(made) == ["12 cases of Adam fail on acme (first test_00)"]

    def test_they_do_not_depend_on_the_order_of_the_results(self):
        results = [(FAIL, "test_a", ADAM), (FAIL, "test_b", ADAM), (ERROR, "test_c", Facts("ArgMax", frozenset()))]
        told = set()
        for order in itertools.permutations(results):
            made = gate()
            for verdict, case, facts in order:
                judge(made, verdict, case, facts=facts)
            told.add(tuple(shut(made)))
        assert told == {("2 cases of Adam fail on acme (first test_a)", "test_c ends in an error on acme")}

    def test_many_kinds_are_counted_rather_than_listed(self):
        made = gate()
        for number in range(MOST_REASONS + 5):
            judge(made, FAIL, f"test_{number}", facts=Facts(f"Operator{number}", frozenset()))
        reasons = shut(made)
        assert len(reasons) == MOST_REASONS + 1
        assert reasons[-1] == "and 5 more reasons"


@pytest.mark.parametrize("entries", [None, ()])
def test_what_was_not_asked_shuts_no_gate(entries):
    made = gate(entries=entries)
    assert judge(made, Verdict.SKIPPED)
    assert not shut(made)
