"""`run_corpus`, the run as a function of the Python interface."""

from __future__ import annotations

import json

import pytest
from command_outputs import expectations_text
from corpora import ADAM, EXACT, SMALL
from refusals import assert_raises

from conformance import run_corpus

RIGHT = "fake_subject:always_right"
WRONG = "fake_subject:always_wrong"


def test_right_backend_passes_every_case_and_nothing_is_printed_or_written(small_corpus, capfd, here):
    outcome = run_corpus(RIGHT, data=small_corpus)
    assert outcome
    assert not outcome.reasons
    assert sum(counts.total() for counts in outcome.verdicts[RIGHT].values()) == len(SMALL)
    assert capfd.readouterr() == ("", "")
    assert not list(here.iterdir())


def test_outcome_of_a_wrong_backend_is_that_of_the_command(small_corpus, command, here):
    outcome = run_corpus(WRONG, operators=["Adam"], data=str(small_corpus), fail_level="should")
    assert not outcome
    assert ADAM in outcome.failing_cases[WRONG]
    told = ("--data", small_corpus, "--operator", "Adam", "--fail-level", "should", "--results", "r.jsonl")
    ended = command("run", "-b", WRONG, "--no-isolation", *told)
    footer = json.loads((here / "r.jsonl").read_text().splitlines()[-1])
    assert ended.status == 1
    assert (footer["outcome"], footer["reasons"]) == ("fail", outcome.reasons)


def test_listed_failure_passes_beside_a_case_that_is_judged(small_corpus, here):
    backend = "fake_subject:wrong_on_argmax"
    (here / "e.toml").write_text(expectations_text(backend, EXACT))
    assert not run_corpus(backend, cases=[ADAM, EXACT], data=small_corpus)
    outcome = run_corpus(backend, cases=[ADAM, EXACT], data=small_corpus, expect="e.toml")
    assert outcome
    assert list(outcome.failing_cases[backend]) == [EXACT]


@pytest.mark.parametrize(
    ("backend", "options", "code"),
    [
        (RIGHT, {"operators": "Adams"}, "name.not-in-corpus"),
        (RIGHT, {"cases": ["test_adams"]}, "name.case-not-found"),
        (RIGHT, {"fail_level": "silent"}, "name.value"),
        (RIGHT, {"data": "missing"}, "corpus.folder-missing"),
        (RIGHT, {"expect": "missing.toml"}, "expectations.cannot-read"),
        ("no-such-backend", {}, "name.unknown-subject"),
    ],
)
def test_what_cannot_be_run_is_refused(small_corpus, here, backend, options, code):
    with assert_raises(code):
        run_corpus(backend, **{"data": small_corpus, **options})
