"""A backend that was given a provider passes a case only where every node ran on it."""

from __future__ import annotations

import placed_backends as placed
import pytest
from corpora import ADAM, EXACT, SMALL
from isolation_support import apart
from outputs import records, results_of

from conformance.corpus.loading import load_case
from conformance.isolation.starting import host_of
from conformance.judging.backend import judge_backend
from conformance.judging.placement import placement_complaint, placement_of
from conformance.subjects.loading import load_backend

INVALID = "test_invalid_adam_r_vector"

OUTCOMES = {
    placed.RunsAll: ("pass", None, ""),
    placed.RunsNothing: ("unsupported", "load", "3 of 3 nodes ran on CPU: ArgMax, Exp"),
    placed.RunsSome: ("unsupported", "load", "1 of 3 nodes ran on CPU: ArgMax"),
    placed.LeavesCasts: ("pass", None, ""),
    placed.HasNothingToRun: ("unsupported", "load", "no node ran on Acme"),
    placed.TellsNothing: ("unsupported", "run", "nothing is told of whether its nodes ran on Acme"),
    placed.TellsLate: ("unsupported", "run", "3 of 3 nodes ran on CPU: ArgMax, Exp"),
    placed.MayFallBack: ("pass", None, ""),
    placed.RefusesAll: ("error", "load", "ValueError: this is no model"),
    placed.RefusesWhenRun: ("error", "run", "ValueError: this is no input"),
}


def named(fake):
    return f"{fake.__module__}:{fake.__name__}"


def judged(subject, case):
    outcome = judge_backend(subject.target, case, None, subject.provider)
    return outcome.verdict, outcome.phase, outcome.message, outcome.placement


@pytest.mark.parametrize("fake", OUTCOMES, ids=lambda fake: fake.__name__)
def test_what_ran_where_decides(case_of, fake):
    verdict, phase, message, _ = judged(load_backend(named(fake)), case_of(EXACT))
    assert (verdict, phase, message) == OUTCOMES[fake]


@pytest.mark.parametrize(
    "fake", [placed.RunsSome, placed.TellsLate, placed.MayFallBack], ids=lambda fake: fake.__name__
)
def test_a_process_of_its_own_tells_the_same(case_of, fake):
    subject = apart(named(fake))
    there = judged(subject, case_of(EXACT))
    host_of(subject).stop()
    assert there == judged(load_backend(named(fake)), case_of(EXACT))
    assert there[3] is not None


@pytest.mark.parametrize(
    ("fake", "verdict", "told"),
    [
        (placed.RefusesAll, "unsupported", "refused, and no node is known to have been given to Acme"),
        (placed.RefusesWhenRun, "pass", "this is no input"),
    ],
    ids=["at load", "on the provider"],
)
def test_an_invalid_model_that_no_provider_has_seen_says_nothing_of_it(whole_corpus, fake, verdict, told):
    case = load_case(whole_corpus, whole_corpus.cases[INVALID])
    came, _, message, _ = judged(load_backend(named(fake)), case)
    assert (came, told in message) == (verdict, True)


def test_what_is_no_placement_is_an_error(case_of):
    verdict, _, message, _ = judged(load_backend(named(placed.TellsNonsense)), case_of(EXACT))
    assert (verdict, "no number of nodes by provider" in message) == ("error", True)


def test_an_attribute_of_that_name_that_is_no_dict_says_nothing():
    assert placement_of(type("Rep", (), {"placement": "row-major"})()) is None


def test_a_provider_that_runs_nothing_has_no_pass_and_its_gate_does_not_hold(command, small_corpus, here):
    ended = command(
        "run", "-b", named(placed.RunsNothing), "--in-process", "--data", small_corpus, "--results", "r.jsonl"
    )
    verdicts = {result["verdict"] for result in results_of(here / "r.jsonl").values()}
    assert (ended.status, verdicts) == (1, {"unsupported"})
    assert "passed nothing" in ended.out


@pytest.mark.parametrize("workers", [("--in-process",), ("-n", "2")], ids=["here", "in workers"])
def test_a_result_says_what_ran_where_and_its_subject_what_was_asked(process, here, small_corpus, workers):
    arguments = ("--data", small_corpus, "--results", "r.jsonl", "--html", "r.html")
    ended = process("onnx-conformance", "run", "-b", named(placed.RunsAll), *arguments, *workers)
    assert ended.status == 0, ended.err
    header = records(here / "r.jsonl")[0]
    placements = [result["placement"] for result in results_of(here / "r.jsonl").values()]
    assert placements == [placed.RunsAll.placement] * len(SMALL)
    assert (header["subjects"][0]["provider"], header["subjects"][0]["placement"]) == ("Acme", "told")
    assert "Every node is to run on" in (here / "r.html").read_text()


def test_a_subject_that_was_given_a_device_and_cannot_tell_is_marked_so(command, small_corpus, here):
    subject = f"{named(placed.CannotTell)}[device=TPU]"
    ended = command("run", "-b", subject, "--case", ADAM, "--data", small_corpus, "--results", "r.jsonl")
    assert records(here / "r.jsonl")[0]["subjects"][0]["placement"] == "cannot tell"
    assert f"{subject} cannot tell what ran where" in ended.out


def test_one_node_is_told_in_the_singular():
    assert placement_complaint("Acme", {"CPU": {"ArgMax": 1}}) == "1 of 1 node ran on CPU: ArgMax"
