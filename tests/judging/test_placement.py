"""A backend that was given a provider passes a case only where every node ran on it."""

from __future__ import annotations

import fake_subject as fakes
import pytest
from command_outputs import read_records, results_by_key
from corpora import ADAM, EXACT, SMALL
from isolation_support import isolated_subject

from conformance.corpus.loading import load_case
from conformance.isolation.start_subjects import client_of
from conformance.judging.backend import judge_backend, placement_violation, reported_placement
from conformance.subjects.loading import load_backend

INVALID = "test_invalid_adam_r_vector"

OUTCOMES = {
    fakes.runs_all: ("pass", None, ""),
    fakes.runs_nothing: ("unsupported", "load", "3 of 3 nodes ran on CPU: ArgMax, Exp"),
    fakes.runs_some: ("unsupported", "load", "1 of 3 nodes ran on CPU: ArgMax"),
    fakes.leaves_casts: ("pass", None, ""),
    fakes.has_nothing_to_run: ("unsupported", "load", "no node ran on Acme"),
    fakes.tells_nothing: ("unsupported", "run", "the backend does not report whether its nodes ran on Acme"),
    fakes.tells_late: ("unsupported", "run", "3 of 3 nodes ran on CPU: ArgMax, Exp"),
    fakes.may_fall_back: ("pass", None, ""),
    fakes.refuses_all: ("error", "load", "ValueError: this is no model"),
    fakes.refuses_when_run: ("error", "run", "ValueError: this is no input"),
}


def named(fake):
    return f"{fake.__module__}:{fake.__name__}"


def judged(subject, case):
    outcome = judge_backend(subject.target, case, None, subject.provider)
    return outcome.verdict, outcome.phase, outcome.message, outcome.placement


@pytest.mark.parametrize("fake", OUTCOMES, ids=lambda fake: fake.__name__)
def test_placement_determines_the_verdict(case_of, fake):
    verdict, phase, message, _ = judged(load_backend(named(fake)), case_of(EXACT))
    assert (verdict, phase, message) == OUTCOMES[fake]


@pytest.mark.parametrize(
    "fake", [fakes.runs_some, fakes.tells_late, fakes.may_fall_back], ids=lambda fake: fake.__name__
)
def test_isolated_backend_has_the_same_verdict(case_of, fake):
    subject = isolated_subject(named(fake))
    there = judged(subject, case_of(EXACT))
    client_of(subject).stop()
    assert there == judged(load_backend(named(fake)), case_of(EXACT))
    assert there[3] is not None


@pytest.mark.parametrize(
    ("fake", "verdict", "part"),
    [
        (fakes.refuses_all, "unsupported", "assigned to Acme"),
        (fakes.refuses_when_run, "pass", "this is no input"),
    ],
    ids=["at load", "on the provider"],
)
def test_rejection_before_placement_is_unsupported(whole_corpus, fake, verdict, part):
    case = load_case(whole_corpus, whole_corpus.cases[INVALID])
    came, _, message, _ = judged(load_backend(named(fake)), case)
    assert (came, part in message) == (verdict, True)


def test_malformed_placement_is_an_error(case_of):
    verdict, _, message, _ = judged(load_backend(named(fakes.tells_nonsense)), case_of(EXACT))
    assert (verdict, "placement" in message) == ("error", True)


def test_placement_attribute_of_another_type_is_ignored():
    assert reported_placement(type("Rep", (), {"placement": "row-major"})()) is None


def test_provider_without_nodes_fails_the_run(command, small_corpus, here):
    ended = command(
        "run", "-b", named(fakes.runs_nothing), "--no-isolation", "--data", small_corpus, "--results", "r.jsonl"
    )
    verdicts = {result["verdict"] for result in results_by_key(here / "r.jsonl").values()}
    assert (ended.status, verdicts) == (1, {"unsupported"})
    assert "passed nothing" in ended.out


@pytest.mark.parametrize("workers", [("--no-isolation",), ("-n", "2")], ids=["here", "in workers"])
def test_results_have_provider_and_placement(process, here, small_corpus, workers):
    arguments = ("--data", small_corpus, "--results", "r.jsonl", "--html", "r.html")
    ended = process("onnx-conformance", "run", "-b", named(fakes.runs_all), *arguments, *workers)
    assert ended.status == 0, ended.err
    header = read_records(here / "r.jsonl")[0]
    placements = [result["placement"] for result in results_by_key(here / "r.jsonl").values()]
    assert placements == [fakes.runs_all.placement] * len(SMALL)
    assert (header["subjects"][0]["provider"], header["subjects"][0]["placement"]) == ("Acme", "reported")
    assert "Acme" in (here / "r.html").read_text()


def test_subject_without_placement_report_is_marked(command, small_corpus, here):
    subject = f"{named(fakes.always_right)}[device=TPU]"
    ended = command("run", "-b", subject, "--case", ADAM, "--data", small_corpus, "--results", "r.jsonl")
    assert read_records(here / "r.jsonl")[0]["subjects"][0]["placement"] == "not reported"
    assert subject in ended.out


def test_placement_of_one_node_is_singular():
    assert placement_violation("Acme", {"CPU": {"ArgMax": 1}}) == "1 of 1 node ran on CPU: ArgMax"
