"""The pass criterion, with and without expectations, a baseline and required operators."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
from runs_in_memory import make_header, make_result, with_fields

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import FUNCTION_TAG
from conformance.run.expectations.criterion import MAX_REASONS, CaseFacts, Completeness, PassCriterion
from conformance.run.expectations.criterion_settings import Baseline, CriterionSettings, Standing, recorded_criterion
from conformance.run.expectations.expectations_file import Expectation, Expectations
from conformance.run.expectations.support import parse_supports
from conformance.subjects.calling.subject_names import SubjectKind

MUST, SHOULD, SILENT = Level
PASS, FAIL, ERROR, UNSUPPORTED = Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.UNSUPPORTED
CRASH = Verdict.CRASH
DEFECTS = [verdict for verdict in Verdict if verdict.is_defect]
ADAM = CaseFacts("Adam", frozenset({"Adam"}))
BASELINE = Baseline({"file": "old.jsonl", "version": "1.0.0", "digest": "0"}, {})


def new_criterion(
    level: Level = MUST, *, subjects: tuple[str, ...] = ("acme",), entries=None, **settings
) -> PassCriterion:
    """Return a criterion for which every subject has passed one case."""
    expectations = {} if entries is None else {"acme": Expectations("acme", tuple(entries))}
    criterion = PassCriterion(CriterionSettings(level, expectations, **settings), dict.fromkeys(subjects, "backend"))
    for subject in subjects:
        judge(criterion, PASS, "test_passed", subject)
    return criterion


def judge(
    criterion: PassCriterion,
    verdict: Verdict,
    case: str = "test_x",
    subject: str = "acme",
    level=MUST,
    facts=ADAM,
    **more,
):
    """Judge a result, and return whether it is as expected."""
    result = make_result(subject=subject, case=case, level=level, verdict=verdict, **more)
    expected = criterion.find_expectation(result, lambda: pytest.fail("the entry has no mutants"))
    return criterion.assess(with_fields(result, expected=expected), lambda: facts)


def expecting(*cases: str, verdict: Verdict = FAIL, line: int = 2) -> Expectation:
    lines = tuple(f"acme.toml:{line + 1 + number}" for number in range(len(cases)))
    return Expectation(cases, verdict, "known", f"acme.toml:{line}", lines=lines)


def reasons(criterion: PassCriterion, *, partial: bool = False) -> list[str]:
    return criterion.reasons(Completeness(is_selection=partial, is_shard=True))


class TestWithoutExpectations:
    def test_passes_are_no_reason(self):
        assert not reasons(new_criterion())

    @pytest.mark.parametrize("verdict", DEFECTS)
    def test_defect_is_a_reason(self, verdict):
        criterion = new_criterion()
        assert not judge(criterion, verdict)
        (reason,) = reasons(criterion)
        assert reason.startswith("test_x ")
        assert reason.endswith(" on acme")

    @pytest.mark.parametrize(
        ("level", "at_must", "at_should"), [(MUST, True, True), (SHOULD, False, True), (SILENT, False, False)]
    )
    def test_levels_up_to_the_fail_level_are_judged(self, level, at_must, at_should):
        found = []
        for fail_level in (MUST, SHOULD):
            criterion = new_criterion(fail_level)
            judge(criterion, FAIL, level=level)
            found.append(bool(reasons(criterion)))
        assert found == [at_must, at_should]

    def test_failure_at_an_unjudged_level_is_tolerated(self):
        assert judge(new_criterion(), ERROR, level=SHOULD)

    def test_results_are_counted_by_subject_level_and_verdict(self):
        criterion = new_criterion()
        judge(criterion, FAIL, level=SHOULD)
        assert criterion.verdicts["acme"] == {MUST: {PASS: 1}, SHOULD: {FAIL: 1}}


class TestExpectations:
    def test_entry_does_not_apply_to_another_subject(self):
        criterion = new_criterion(subjects=("acme", "other"), entries=[expecting("test_x")])
        judge(criterion, FAIL)
        judge(criterion, FAIL, subject="other")
        assert reasons(criterion) == ["test_x fails on other"]

    def test_expected_verdict_is_no_reason(self):
        criterion = new_criterion(entries=[expecting("test_x")])
        assert judge(criterion, FAIL)
        assert not reasons(criterion)

    @pytest.mark.parametrize(
        ("listed", "kinds", "accepted"),
        [
            (["nan"], ["nan", "near"], True),
            (["nan"], ["nan", "rough"], False),
            (["far"], ["rough"], True),
            (["nan", "every"], ["nan"], True),
            (["far"], ["near"], True),
            (["nan"], ["every", "nan"], False),
            (["nan"], ["near"], False),
            (["near"], ["far", "near"], False),
            (["other"], ["nan"], False),
            (["nan"], [], True),
            ([], ["far"], True),
        ],
    )
    def test_failure_with_other_wrong_elements_is_unexpected(self, listed, kinds, accepted):
        criterion = new_criterion(entries=[replace(expecting("test_x"), wrong=tuple(listed))])
        violation = {"kind": "elements", "count": 1, "of": 2}
        output = {"data_set": 0, "name": "y", "check": "bound", "violation": violation, "wrong_kinds": kinds}
        assert judge(criterion, FAIL, outputs=[output]) is accepted
        assert criterion.loose_failures["acme"] == (not listed)
        assert bool(reasons(criterion)) is not accepted

    @pytest.mark.parametrize(
        ("count", "of", "accepted", "shrunk"), [(1, 8, True, 1), (2, 8, True, 0), (3, 8, False, 0), (8, 8, False, 0)]
    )
    def test_failure_with_more_wrong_elements_is_unexpected(self, count, of, accepted, shrunk):
        criterion = new_criterion(entries=[replace(expecting("test_x"), wrong=("few of output 0", "zero"))])
        violation = {"kind": "elements", "count": count, "of": of}
        output = {"data_set": 0, "name": "y", "check": "bound", "violation": violation, "wrong_kinds": ["zero"]}
        assert judge(criterion, FAIL, outputs=[output]) is accepted
        assert criterion.shrunk_failures["acme"] == shrunk
        assert bool(reasons(criterion)) is not accepted

    def test_unexpected_passes_of_a_file_are_one_reason(self):
        criterion = new_criterion(entries=[expecting("test_y", "test_x", "test_z")])
        judge(criterion, FAIL, "test_y")
        judge(criterion, PASS, "test_x")
        judge(criterion, PASS, "test_z")
        (reason,) = reasons(criterion)
        assert reason.startswith("acme.toml: 2 cases ")
        assert criterion.known_failures == {"acme": 1}

    @pytest.mark.parametrize(
        ("verdict", "advice"), [(ERROR, "change the verdict"), (UNSUPPORTED, "support it again, or change the verdict")]
    )
    def test_verdict_other_than_expected_is_a_reason(self, verdict, advice):
        criterion = new_criterion(entries=[expecting("test_x")])
        judge(criterion, verdict)
        (reason,) = reasons(criterion)
        assert reason.startswith("acme.toml:3: test_x ")
        assert reason.endswith(f": {advice}")

    def test_entry_without_match_is_a_reason(self):
        assert reasons(new_criterion(entries=[expecting("test_gone", "test_lost")])) == [
            "acme.toml:2: the entry (test_gone, test_lost) matches no case: remove it"
        ]

    def test_pattern_without_match_is_a_reason(self):
        criterion = new_criterion(entries=[expecting("test_x", "test_gone")])
        judge(criterion, FAIL)
        assert reasons(criterion) == ["acme.toml:4: test_gone matches no case: remove it"]

    def test_misspelt_pattern_names_the_nearest_case(self):
        criterion = new_criterion(entries=[expecting("test_adagrad_mulitple_float", "test_gone")])
        judge(criterion, PASS, "test_adagrad_multiple_float")
        (sentence,) = reasons(criterion)
        assert sentence.endswith("matches no case: remove it, or did you mean test_adagrad_multiple_float?")

    def test_partial_run_tolerates_entry_without_match(self):
        assert not reasons(new_criterion(entries=[expecting("test_gone")]), partial=True)

    def test_entry_behind_an_earlier_entry_has_no_match(self):
        criterion = new_criterion(entries=[expecting("test_*"), expecting("test_x", line=7)])
        judge(criterion, FAIL)
        assert any(re.match(r"acme\.toml:7: .*\(test_x\)", reason) for reason in reasons(criterion))

    def test_unjudged_result_matches_an_entry(self):
        criterion = new_criterion(entries=[expecting("test_x")])
        judge(criterion, FAIL, level=SHOULD)
        assert not reasons(criterion)


class TestExpectedChecks:
    @staticmethod
    def judged(*violated: str, named=("answers",), level=MUST) -> tuple[bool, PassCriterion]:
        """Return whether a failure of these checks is expected by an entry that names checks, and the criterion."""
        criterion = new_criterion(entries=[expecting("test_x")])
        checks = [
            {"name": name, "run": "once", "level": str(level), "violation": {"kind": "computation"}}
            for name in violated
        ]
        expected = {"verdict": "fail", "reason": "known", "location": "acme.toml:3"}
        texts = expected | ({"checks": list(named)} if named else {})
        result = make_result(level=MUST, verdict=FAIL, expected=texts, checks=checks)
        return criterion.assess(result, lambda: ADAM), criterion

    def test_failures_with_other_wrong_elements_are_one_reason(self):
        criterion = new_criterion(entries=[expecting("test_x"), expecting("test_y")])
        for case, wrong in (("test_x", "far"), ("test_y", "zero")):
            expected = {
                "verdict": "fail",
                "reason": "known",
                "location": f"acme.toml:{len(wrong)}",
                "wrong": [wrong],
                "has_other_cause": True,
            }
            result = make_result(case=case, level=MUST, verdict=FAIL, expected=expected)
            assert not criterion.assess(result, lambda: ADAM)
        assert sum(reason.startswith("acme.toml: ") for reason in reasons(criterion, partial=True)) == 1

    @pytest.mark.parametrize(("verdict", "is_expected"), [(PASS, True), (CRASH, True), (FAIL, False)])
    def test_intermittent_failure_may_pass_but_not_fail_in_another_way(self, verdict, is_expected):
        expected = {"verdict": "crash", "reason": "known", "location": "acme.toml:3", "intermittent": True}
        result = make_result(level=MUST, verdict=verdict, expected=expected)
        assert new_criterion().assess(result, lambda: ADAM) is is_expected

    @pytest.mark.parametrize(
        ("violated", "named", "level"),
        [(["answers"], ("answers",), MUST), (["answers", "checker"], (), MUST), (["mutation"], ("answers",), SHOULD)],
    )
    def test_violation_of_a_named_check_of_any_or_at_an_unjudged_level_is_expected(self, violated, named, level):
        assert self.judged(*violated, named=named, level=level)[0]

    def test_violation_of_another_check_is_a_reason(self):
        expected, criterion = self.judged("answers", "checker")
        assert not expected
        assert reasons(criterion) == [
            "acme.toml:3: test_x fails on acme by checker too: write an entry with the reason"
        ]


class TestSubjectWithoutPass:
    @pytest.mark.parametrize("verdict", [UNSUPPORTED, Verdict.SKIPPED])
    def test_subject_without_pass_is_a_reason(self, verdict):
        criterion = PassCriterion(CriterionSettings(), {"acme": "backend"})
        judge(criterion, verdict, level=SILENT)
        assert reasons(criterion) == ["acme passed nothing"]

    def test_subject_without_pass_fails_a_partial_run(self):
        criterion = PassCriterion(
            CriterionSettings(MUST, {"acme": Expectations("acme", (expecting("*", verdict=UNSUPPORTED),))}),
            {"acme": "backend"},
        )
        judge(criterion, UNSUPPORTED)
        assert reasons(criterion, partial=True) == ["acme passed nothing"]

    @pytest.mark.parametrize(("verdict", "passes"), [(FAIL, True), (ERROR, False)])
    def test_known_failure_alone_passes_a_partial_run(self, verdict, passes):
        file = Expectations("acme", (expecting("*", verdict=verdict),))
        criterion = PassCriterion(CriterionSettings(MUST, {"acme": file}), {"acme": "backend"})
        judge(criterion, verdict)
        assert bool(reasons(criterion, partial=True)) is not passes
        assert reasons(criterion)

    def test_pass_of_another_subject_does_not_count(self):
        criterion = PassCriterion(CriterionSettings(), {"acme": "backend", "other": "backend"})
        judge(criterion, PASS, subject="other")
        assert reasons(criterion) == ["acme passed nothing"]

    def test_rejection_does_not_count_as_a_pass(self):
        criterion = PassCriterion(CriterionSettings(SHOULD), {"acme": "backend"})
        judge(criterion, PASS, level=SHOULD, facts=CaseFacts("Adam", frozenset(), rejection=True))
        assert reasons(criterion, partial=True) == ["acme passed nothing"]

    @pytest.mark.parametrize(
        ("selected", "facts", "passes"),
        [
            (["Adam"], CaseFacts("Adam", frozenset({"Adam"}), tags=frozenset({FUNCTION_TAG})), False),
            (["Mul"], CaseFacts("Adam", frozenset({"Adam"}), tags=frozenset({FUNCTION_TAG})), True),
            ([], CaseFacts("Adam", frozenset({"Adam"}), tags=frozenset({FUNCTION_TAG})), True),
            (["Adam"], ADAM, True),
        ],
    )
    def test_function_alone_is_no_pass_of_the_operator_that_selected_it(self, selected, facts, passes):
        criterion = PassCriterion(CriterionSettings(), {"acme": "backend"})
        judge(criterion, PASS, facts=facts)
        judge(criterion, UNSUPPORTED, "test_y")
        completeness = Completeness(is_selection=True, operators=selected)
        assert (not criterion.reasons(completeness)) is passes


class TestRequiredOperators:
    def test_unsupported_required_operator_is_a_reason(self):
        criterion = new_criterion(require=("Adam",))
        judge(criterion, UNSUPPORTED)
        assert reasons(criterion) == ["test_x is unsupported on acme although Adam is required"]

    def test_listed_unsupported_case_of_a_required_operator_is_expected(self):
        criterion = new_criterion(entries=[expecting("test_x", verdict=UNSUPPORTED)], require=("Adam",))
        assert judge(criterion, UNSUPPORTED)

    def test_listed_failure_of_a_required_operator_is_expected(self):
        criterion = new_criterion(entries=[expecting("test_x")], require=("Adam",))
        assert judge(criterion, FAIL)
        assert not reasons(criterion)

    def test_unsupported_other_operator_is_tolerated(self):
        criterion = new_criterion(require=("Momentum",))
        assert judge(criterion, UNSUPPORTED)

    @pytest.mark.parametrize(("softmax", "expected"), [(PASS, True), (FAIL, True), (UNSUPPORTED, False)])
    def test_unsupported_chain_is_a_reason_only_if_its_other_operators_are_supported(self, softmax, expected):
        criterion = new_criterion(require=("Adam",))
        chain = CaseFacts("Adam", frozenset({"Adam", "Softmax"}))
        judge(criterion, UNSUPPORTED, "test_chain", facts=chain)
        judge(criterion, softmax, "test_softmax", facts=CaseFacts("Softmax", frozenset({"Softmax"})), level=MUST)
        assert any("test_chain" in reason and "required" in reason for reason in reasons(criterion)) is expected

    def test_chain_with_an_operator_supported_in_another_type_only_is_tolerated(self):
        criterion = new_criterion(require=("Adam",))
        double, single = frozenset({"double"}), frozenset({"float"})
        judge(criterion, UNSUPPORTED, "test_chain", facts=CaseFacts("Adam", frozenset({"Adam", "Exp"}), tags=double))
        judge(criterion, PASS, "test_exp", facts=CaseFacts("Exp", frozenset({"Exp"}), tags=single))
        assert not reasons(criterion)

    def test_listed_supports_decide_which_cases_are_required(self):
        criterion = supporting("Adam[float] in 1 of 2 cases", require=("Adam",))
        judge(criterion, UNSUPPORTED, facts=ADAM_FLOAT)
        assert not reasons(criterion)

    @pytest.mark.parametrize(("verdict", "count"), [(PASS, 0), (UNSUPPORTED, 1)])
    def test_required_operator_without_supported_case_is_missing(self, verdict, count):
        criterion = supporting(require=("ArgMax",))
        judge(criterion, verdict, facts=CaseFacts("ArgMax", frozenset({"ArgMax"})))
        assert len([reason for reason in criterion.reasons() if "required" in reason]) == count

    def test_required_operator_is_missing_on_backends_only(self):
        kinds = {"acme": SubjectKind.BACKEND, "other": SubjectKind.OPTIMIZER}
        criterion = PassCriterion(CriterionSettings(require=("ArgMax",)), kinds)
        required = [reason for reason in criterion.reasons() if "required" in reason]
        assert [reason.rpartition(" ")[2] for reason in required] == ["acme"]


def test_reason_of_a_backend_does_not_name_the_pass():
    pass_facts = CaseFacts("eliminate_nop_monotone_argmax", frozenset({"Exp", "ArgMax"}))
    criterion = new_criterion()
    for number in range(2):
        judge(criterion, FAIL, f"test_{number}", facts=pass_facts)
    (reason,) = reasons(criterion)
    assert pass_facts.family not in reason


ADAM_FLOAT = CaseFacts("Adam", frozenset({"Adam"}), supports={"backend": frozenset({"Adam[float]"})})


def supporting(*supports: str, **settings) -> PassCriterion:
    """Return a criterion for which acme has passed one case, with a file that lists these supports."""
    file = Expectations("acme", (), parse_supports("acme.toml", list(supports)), "acme.toml")
    criterion = PassCriterion(CriterionSettings(MUST, {"acme": file}, **settings), {"acme": "backend"})
    judge(criterion, PASS, "test_passed")
    return criterion


class TestSupports:
    @pytest.mark.parametrize(
        ("supports", "verdict", "expected"),
        [(["Adam[float]"], PASS, []), (["Adam[float]"], FAIL, ["test_x fails on acme"]), ([], UNSUPPORTED, [])],
    )
    def test_support_is_lost_by_unsupported_listed_case_only(self, supports, verdict, expected):
        criterion = supporting(*supports)
        judge(criterion, verdict, facts=ADAM_FLOAT)
        assert reasons(criterion) == expected

    def test_lost_support_is_one_reason_with_a_count(self):
        criterion = supporting("Adam[float]")
        for case in ("test_y", "test_x"):
            assert judge(criterion, UNSUPPORTED, case, facts=ADAM_FLOAT)
        assert reasons(criterion) == [
            "acme.toml: support of Adam[float] is lost on acme: 2 cases are unsupported (first test_x)"
        ]

    def test_lost_supports_of_an_operator_are_one_reason_before_all_others(self):
        types = ("double", "float", "float16")
        criterion = supporting(*(f"Adam[{each}]" for each in types))
        judge(criterion, FAIL, "test_a")
        for each in types:
            supports = {"backend": frozenset({f"Adam[{each}]"})}
            judge(criterion, UNSUPPORTED, f"test_{each}", facts=replace(ADAM_FLOAT, supports=supports))
        first, second = reasons(criterion)
        assert [f"Adam[{each}]" in first for each in types] == [True] * 3
        assert "test_a" in second

    @pytest.mark.parametrize(
        ("listed", "unsupported", "is_lost"), [("2 of 3", 1, False), ("2 of 3", 2, True), ("1 of 2", 2, False)]
    )
    def test_partial_support_is_lost_by_more_unsupported_cases_but_not_new_ones(self, listed, unsupported, is_lost):
        criterion = supporting(f"Adam[float] in {listed} cases")
        for number in range(unsupported):
            judge(criterion, UNSUPPORTED, f"test_{number}", facts=ADAM_FLOAT)
        judge(criterion, PASS, "test_z", facts=ADAM_FLOAT)
        assert bool(reasons(criterion)) is is_lost

    @pytest.mark.parametrize(("partial", "count"), [(True, 0), (False, 1)])
    def test_support_without_case_is_a_reason_in_a_complete_run(self, partial, count):
        assert len(reasons(supporting("Adam[flaot]"), partial=partial)) == count

    def test_recorded_criterion_has_the_supports(self):
        settings = supporting("Adam[float] in 1 of 2 cases").settings
        assert recorded_criterion(make_header(criterion=settings.record(1))).expectations == settings.expectations


class TestBaseline:
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
    def test_baseline_makes_only_worse_verdict_unexpected(self, was, now, holds):
        criterion = new_criterion(baseline=BASELINE)
        assert judge(criterion, now, baseline=str(was)) is holds

    @pytest.mark.parametrize(
        ("before", "text"),
        [({"baseline": "pass"}, "pass"), ({"baseline": "fail", "baseline_level": "should"}, "fail at level should")],
    )
    def test_regression_names_the_verdict_or_the_level_before(self, before, text):
        criterion = new_criterion(baseline=BASELINE)
        judge(criterion, FAIL, **before)
        assert reasons(criterion) == [f"test_x fails on acme, but in the baseline: {text}"]

    @pytest.mark.parametrize(("now", "holds"), [(MUST, False), (SHOULD, True)])
    def test_failure_at_a_stronger_level_is_a_regression(self, now, holds):
        criterion = new_criterion(SHOULD, baseline=BASELINE)
        assert judge(criterion, FAIL, level=now, baseline="fail", baseline_level="should") is holds

    @pytest.mark.parametrize(
        ("checks", "worse"), [(["outputs"], False), (["outputs", "names"], True), (["outputs", "opset"], False)]
    )
    def test_further_violated_check_of_an_optimizer_is_a_regression(self, checks, worse):
        standings = {("acme", "test_x"): Standing(FAIL, None, ("outputs",))}
        criterion = new_criterion(baseline=replace(BASELINE, standings=standings))
        levels = {"opset": "should"}
        violated = [
            {"name": name, "level": levels.get(name, "must"), "violation": {"kind": "no_array"}} for name in checks
        ]
        result = make_result(subject="acme", case="test_x", verdict=FAIL, checks=violated)
        assert bool(criterion.find_standing(result).wrong) is worse

    def test_new_case_is_judged_without_baseline(self):
        criterion = new_criterion(baseline=BASELINE)
        assert not judge(criterion, FAIL)

    def test_entry_without_match_is_no_regression(self):
        assert not reasons(new_criterion(baseline=BASELINE, entries=[expecting("test_gone")]))


class TestVaryingVerdict:
    def test_varying_verdict_is_a_reason(self):
        criterion = new_criterion(entries=[expecting("test_x")])
        judge(criterion, FAIL, repeats={"pass": 2, "fail": 1})
        assert reasons(criterion) == ["test_x varies from run to run on acme"]

    def test_constant_verdict_is_expected(self):
        assert judge(new_criterion(), PASS, repeats={"pass": 3})


class TestReasons:
    def test_similar_cases_give_one_sentence(self):
        criterion = new_criterion()
        for number in range(12):
            judge(criterion, FAIL, f"test_{number:02}")
        assert reasons(criterion) == ["12 cases of Adam fail on acme (first test_00)"]

    def test_sentences_follow_the_causes_and_name_their_cases(self):
        criterion = new_criterion()
        judge(criterion, FAIL, "test_a")
        judge(criterion, FAIL, "test_b")
        judge(criterion, ERROR, "test_c")
        judge(criterion, ERROR, "test_d")
        found = criterion.reasons(examples=[("other", "test_a"), ("acme", "test_d"), ("acme", "test_b")])
        assert [re.findall(r"test_\w", each) for each in found if "of Adam" in each] == [["test_d"], ["test_b"]]

    def test_order_of_results_does_not_matter(self):
        results = [(FAIL, "test_a", ADAM), (FAIL, "test_b", ADAM), (ERROR, "test_c", CaseFacts("ArgMax", frozenset()))]
        texts = set()
        for order in itertools.permutations(results):
            criterion = new_criterion()
            for verdict, case, facts in order:
                judge(criterion, verdict, case, facts=facts)
            texts.add(tuple(reasons(criterion)))
        assert texts == {("2 cases of Adam fail on acme (first test_a)", "test_c ends in an error on acme")}

    def test_many_reasons_are_counted(self):
        criterion = new_criterion()
        for number in range(MAX_REASONS + 5):
            judge(criterion, FAIL, f"test_{number}", facts=CaseFacts(f"Operator{number}", frozenset()))
        sentences = reasons(criterion)
        assert len(sentences) == MAX_REASONS + 1
        assert sentences[-1] == "and 5 more reasons"


@pytest.mark.parametrize("verdict", [UNSUPPORTED, Verdict.SKIPPED])
@pytest.mark.parametrize("entries", [None, ()])
def test_unsupported_or_skipped_case_is_no_reason(entries, verdict):
    criterion = new_criterion(entries=entries)
    assert judge(criterion, verdict)
    assert not reasons(criterion)
