"""The gate: what shuts it, with and without an expectations file."""

from __future__ import annotations

import pytest

from conformance.expectations import Expectation, Expectations
from conformance.gate import MOST_REASONS, Gate
from conformance.verdicts import Level, Verdict

MUST, SHOULD, SILENT = Level
DEFECTS = [verdict for verdict in Verdict if verdict.is_defect]


def gate(level: Level = MUST, *, subjects: tuple[str, ...] = ("acme",), entries: tuple[Expectation, ...] | None = None):
    """A gate on which every subject has passed one case already."""
    expectations = {} if entries is None else {"acme": Expectations("acme", entries)}
    made = Gate(level, subjects, expectations)
    for subject in subjects:
        made.judge(subject, "test_passed", MUST, Verdict.PASS)
    return made


def expecting(*cases: str, verdict: Verdict = Verdict.FAIL, place: str = "acme.toml, entry 1") -> Expectation:
    return Expectation(cases, verdict, "known", place)


def shut(made: Gate, *, partial: bool = False) -> list[str]:
    return made.reasons(partial=partial)


def test_passes_alone_keep_it_open():
    assert not shut(gate())


@pytest.mark.parametrize("verdict", DEFECTS)
def test_a_defect_shuts_it(verdict):
    made = gate()
    made.judge("acme", "test_x", MUST, verdict)
    assert shut(made) == [f"test_x on acme: {verdict}"]


def test_unsupported_without_expectations_is_tolerated():
    made = gate()
    assert made.judge("acme", "test_x", MUST, Verdict.UNSUPPORTED) == (None, True)
    assert not shut(made)


def test_unsupported_with_expectations_that_do_not_name_it_shuts_it():
    made = gate(entries=())
    made.judge("acme", "test_x", MUST, Verdict.UNSUPPORTED)
    assert shut(made) == ["test_x on acme: unsupported"]


def test_expectations_of_one_subject_bind_no_other():
    made = gate(subjects=("acme", "other"), entries=(expecting("test_x"),))
    made.judge("acme", "test_x", MUST, Verdict.FAIL)
    made.judge("other", "test_x", MUST, Verdict.FAIL)
    assert shut(made) == ["test_x on other: fail"]


def test_an_expected_verdict_is_as_expected():
    entry = expecting("test_x")
    made = gate(entries=(entry,))
    assert made.judge("acme", "test_x", MUST, Verdict.FAIL) == (entry, True)
    assert not shut(made)


def test_an_unexpected_pass_shuts_it_and_says_what_to_mend():
    made = gate(entries=(expecting("test_x"),))
    made.judge("acme", "test_x", MUST, Verdict.PASS)
    (reason,) = shut(made)
    assert "acme.toml, entry 1 expects fail" in reason
    assert reason.endswith("remove the case from it")


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.UNSUPPORTED])
def test_another_verdict_than_the_expected_one_shuts_it(verdict):
    made = gate(entries=(expecting("test_x"),))
    made.judge("acme", "test_x", MUST, verdict)
    assert len(shut(made)) == 1


def test_an_entry_that_matches_nothing_shuts_a_whole_run():
    assert shut(gate(entries=(expecting("test_gone"),))) == [
        "acme.toml, entry 1 (test_gone) matches no case: remove it"
    ]


def test_an_entry_that_matches_nothing_means_nothing_on_a_partial_run():
    assert not shut(gate(entries=(expecting("test_gone"),)), partial=True)


def test_an_entry_that_another_hides_matches_nothing():
    made = gate(entries=(expecting("test_*"), expecting("test_x", place="acme.toml, entry 2")))
    made.judge("acme", "test_x", MUST, Verdict.FAIL)
    assert any("acme.toml, entry 2 (test_x) matches no case" in reason for reason in shut(made))


@pytest.mark.parametrize(
    ("level", "at_must", "at_should"), [(MUST, True, True), (SHOULD, False, True), (SILENT, False, False)]
)
def test_a_gate_judges_its_own_level_and_those_above(level, at_must, at_should):
    found = []
    for of_gate in (MUST, SHOULD):
        made = gate(of_gate)
        made.judge("acme", "test_x", level, Verdict.FAIL)
        found.append(bool(shut(made)))
    assert found == [at_must, at_should]


def test_a_surprise_at_a_level_that_is_not_judged_is_tolerated():
    assert gate().judge("acme", "test_x", SHOULD, Verdict.ERROR) == (None, True)


def test_an_entry_about_a_level_that_is_not_judged_matches():
    made = gate(entries=(expecting("test_x"),))
    made.judge("acme", "test_x", SHOULD, Verdict.FAIL)
    assert not shut(made)


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.SKIPPED])
def test_a_subject_that_passed_nothing_shuts_it(verdict):
    made = Gate(MUST, ["acme"], {})
    made.judge("acme", "test_x", SILENT, verdict)
    assert shut(made) == ["acme passed nothing"]


def test_a_subject_that_passed_nothing_shuts_it_though_all_was_expected():
    made = Gate(MUST, ["acme"], {"acme": Expectations("acme", (expecting("*", verdict=Verdict.UNSUPPORTED),))})
    made.judge("acme", "test_x", MUST, Verdict.UNSUPPORTED)
    assert shut(made, partial=True) == ["acme passed nothing"]


def test_another_subject_s_pass_does_not_count():
    made = Gate(MUST, ["acme", "other"], {})
    made.judge("other", "test_x", MUST, Verdict.PASS)
    assert shut(made) == ["acme passed nothing"]


def test_many_surprises_are_counted_rather_than_listed():
    made = gate()
    for number in range(MOST_REASONS + 5):
        made.judge("acme", f"test_{number}", MUST, Verdict.FAIL)
    reasons = shut(made)
    assert len(reasons) == MOST_REASONS + 1
    assert reasons[-1] == "and 5 more"


def test_results_are_counted_by_subject_level_and_verdict():
    made = gate()
    made.judge("acme", "test_x", SHOULD, Verdict.FAIL)
    assert made.verdicts["acme"][MUST] == {Verdict.PASS: 1}
    assert made.verdicts["acme"][SHOULD] == {Verdict.FAIL: 1}


def test_a_subject_that_only_rejects_invalid_models_passed_nothing():
    gate = Gate(Level.SHOULD, ["always_raises"], {})
    gate.judge("always_raises", "test_invalid_adam_version_2", Level.SHOULD, Verdict.PASS, rejection=True)
    assert gate.reasons(partial=True) == ["always_raises passed nothing"]
