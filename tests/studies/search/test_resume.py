"""A search continues from its state file after a worker, the scheduler or the command has ended."""

from __future__ import annotations

import json

import pytest
from command_outputs import read_tree
from dask_clusters import make_cluster
from fake_subject import kills_its_process_once
from msgspec import convert, to_builtins
from msgspec.structs import replace
from refusals import assert_raises

import conformance.run.corpus_run.runner  # noqa: F401 - first imported under a patch, it would keep the patched name
from conformance.base.errors import JobError
from conformance.base.jobs import process_pool
from conformance.base.jobs.dask import DaskWorkers
from conformance.base.jobs.job import ChunkResult, JobState, run_job
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.serialization.decoding import MalformedError
from conformance.studies.search.distributions import Combination
from conformance.studies.search.failing_examples import FailingExamples
from conformance.studies.search.search_job import FailingExample, SearchJob
from conformance.subjects.calling.subject_names import SubjectKind

COMMAND = ("search", "--no-isolation", "--operator", "ArgMax", "-b", "fake_subject:always_wrong")
LOST = JobError("scheduler-lost", "The connection was lost.", "Repeat the command.")


def job(backend="always_wrong", examples=120, **options):
    subjects = ((f"fake_subject:{backend}", SubjectKind.BACKEND),)
    return SearchJob(subjects, ("ArgMax",), 4, examples, isolated=False, **options)


def here():
    return ProcessWorkers(1, pytest.fail)


def collected(job, chunks):
    found = FailingExamples(job)
    for chunk in chunks:
        found.add(chunk)
    failures = [replace(failure, seconds=0) for failure in found]
    return found.examples, found.combinations, failures


class LosesScheduler:
    """Workers whose scheduler disappears after one chunk."""

    def run(self, job, numbers):
        with job.open() as run_chunk:
            number = next(iter(numbers))
            yield ChunkResult(number, run_chunk(number))
        raise LOST


@pytest.fixture(scope="module")
def uninterrupted():
    return collected(job(), run_job(job(), here()))


@pytest.mark.programs
@pytest.mark.long
def test_search_continues_after_killed_scheduler(tmp_path, uninterrupted):
    cluster = make_cluster(1)
    with JobState(tmp_path / "state", job()) as state:
        chunks = run_job(job(), DaskWorkers(cluster.scheduler_address, lambda _: None, connecting=2), state)
        next(chunks)
        cluster.close()
        with assert_raises("job.scheduler-lost", cluster.scheduler_address):
            list(chunks)
    with JobState(tmp_path / "state", job()) as state:
        assert len(list(state.chunks())) >= 1
        assert collected(job(), run_job(job(), here(), state)) == uninterrupted


@pytest.mark.long
@pytest.mark.programs
def test_search_repeats_chunk_of_killed_worker(tmp_path, monkeypatch):
    monkeypatch.setenv(kills_its_process_once.MARKER_VARIABLE, str(tmp_path / "died"))
    notices, dying = [], job("kills_its_process_once", 40)
    with JobState(tmp_path / "state", dying) as state:
        examples, _, failures = collected(dying, run_job(dying, ProcessWorkers(2, notices.append), state))
    assert (examples, len(notices)) == (40, 1)
    again = collected(dying, run_job(dying, here()))
    assert failures == again[2]


@pytest.mark.long
def test_command_keeps_failing_examples_when_scheduler_dies(command, tmp_path, monkeypatch):
    monkeypatch.setattr(process_pool, "create_workers", lambda *_: LosesScheduler())
    keep, state = tmp_path / "finds", tmp_path / "state"
    ended = command(*COMMAND, "--examples", 80, "--output", keep, "--resume", state)
    assert (ended.status, ended.code) == (2, "job.scheduler-lost")
    assert (keep / "manifest.json").is_file()
    assert ended.out.startswith("INCOMPLETE: ")
    monkeypatch.undo()
    assert command(*COMMAND, "--examples", 80, "--output", keep, "--resume", state).status == 1
    assert len(state.read_text().splitlines()) == 3
    assert command(*COMMAND, "--examples", 80, "--output", tmp_path / "whole").status == 1
    assert read_tree(keep) == read_tree(tmp_path / "whole")


def test_continued_search_refuses_folder_of_other_files(command, tmp_path):
    given = (*COMMAND, "--seed", 4, "--examples", 40, "--resume", tmp_path / "state", "--output", tmp_path / "found")
    assert command(*given).status == 1
    for name in ("manifest.json", "notes.txt"):
        (tmp_path / "found" / name).write_text("own")
        ended = command(*given)
        assert (ended.status, ended.code) == (2, "usage.output-not-empty")
        assert (tmp_path / "found" / name).read_text() == "own"
        (tmp_path / "found" / name).unlink()


def test_command_without_any_chunk_reports_only_the_error(command, monkeypatch):
    class NoWorkers:
        def run(self, _, __):
            raise LOST
            yield

    monkeypatch.setattr(process_pool, "create_workers", lambda *_: NoWorkers())
    ended = command(*COMMAND, "--examples", 40)
    assert (ended.status, ended.out) == (2, "")


@pytest.mark.parametrize(
    "options",
    [("--seed", "5"), ("--operator", "Adam"), ("-b", "reference"), ("--timeout", "3"), ("--fail-level", "should")],
)
def test_command_with_state_of_other_search_starts_nothing(command, tmp_path, monkeypatch, options):
    state = tmp_path / "state"
    with JobState(state, job()):
        pass
    monkeypatch.setattr(SearchJob, "open", lambda _: pytest.fail("a subject was started"))
    ended = command(*COMMAND, "--seed", 4, "--examples", 40, *options, "--resume", state)
    assert (ended.status, ended.code) == (2, "job.other-job")


def tampered(chunk, **changes):
    failure = to_builtins(next(failure for failure in chunk.result.failures if failure.example))
    example = failure["example"]
    for key, value in changes.items():
        of = example if key in example else failure
        of[key] = {**of[key], **value} if isinstance(value, dict) else value
    return ChunkResult(chunk.number, replace(chunk.result, failures=[convert(failure, FailingExample)]))


@pytest.fixture(scope="module")
def chunk():
    """The result of the first chunk."""
    (found,) = run_job(job(examples=40), here())
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "another:Backend"},
        {"operator": "Conv"},
        {"axis_relation": "same", "distractor": "none such"},
        {"runs": []},
        {"runs": [{"X": {"dtype": "float", "shape": [2**40], "data": ""}}]},
        {"runs": [{"X": {"dtype": "os.system", "shape": [], "data": "00"}}]},
        {"context": {"scope": "__import__('os')"}},
    ],
    ids=", ".join,
)
def test_check_result_refuses_tampered_examples(chunk, changes):
    with pytest.raises(MalformedError):
        job().check_result(tampered(chunk, **changes))


def test_command_with_tampered_state_starts_nothing(command, tmp_path, monkeypatch, chunk):
    state = tmp_path / "state"
    with JobState(state, job(examples=40, timeout=10.0)) as file:
        file.add(tampered(chunk, operator="Conv"))
    monkeypatch.setattr(SearchJob, "open", lambda _: pytest.fail("a subject was started"))
    ended = command(*COMMAND, "--seed", 4, "--examples", 40, "--resume", state)
    assert (ended.status, ended.code) == (2, "job.malformed-state")


def test_search_of_other_version_of_a_subject_is_refused():
    with assert_raises("subject.other-version", "0.0.1"):
        list(run_job(job(versions={"fake_subject:always_wrong": "0.0.1"}), here()))


def test_coverage_lists_the_combinations(command, tmp_path):
    path = tmp_path / "coverage.json"
    command(*COMMAND[:-1], "reference", "--examples", 40, "--coverage", path)
    document = json.loads(path.read_text())
    assert document["examples"] == 40
    assert {*document["combinations"][0]} == {*Combination._fields}
    assert len(document["combinations"]) > 30


@pytest.mark.parametrize("changes", [{"examples": 10**6}, {"verdicts": {"another:Backend": {"pass": 40}}}])
def test_check_result_refuses_counts_of_another_search(chunk, changes):
    job(examples=40).check_result(chunk)
    with pytest.raises(MalformedError):
        job(examples=40).check_result(ChunkResult(chunk.number, replace(chunk.result, **changes)))


@pytest.mark.long
def test_shorter_search_accepts_state_of_longer_one(tmp_path):
    longer, shorter = (job("always_right", examples) for examples in (120, 40))
    with JobState(tmp_path / "state", longer) as state:
        chunks = list(run_job(longer, here(), state))
    with JobState(tmp_path / "state", shorter) as state:
        assert len(list(run_job(shorter, here(), state))) == len(chunks) == 3


def test_chunk_that_the_time_limit_ends_is_not_saved(tmp_path):
    limited = job(until=0.0)
    with JobState(tmp_path / "state", limited) as state:
        results = [chunk.result for chunk in run_job(limited, here(), state)]
    assert [(result.examples, result.is_partial) for result in results] == [(0, True)] * 3
    with JobState(tmp_path / "state", job()) as state:
        assert not list(state.chunks())


def test_search_shrinks_no_example_after_its_time_limit(monkeypatch):
    times = iter([0.0, 2.0])  # the second one is asked for when an example has failed
    monkeypatch.setattr("conformance.studies.search.search_job.time.time", lambda: next(times, 2.0))
    (chunk,) = run_job(job(until=1.0, examples=1), here())
    (failure,) = chunk.result.failures
    assert chunk.result.examples == 1
    assert chunk.result.is_partial
    assert failure.conditions == failure.mutants == []


def test_file_that_is_no_state_is_refused_before_a_subject_starts(command, here):
    for content in ('{"x": 1}\n', "text"):
        (here / "state").write_text(content)
        assert command("search", "-b", "no_such_module", "--resume", "state").code == "job.malformed-state"
    assert command("search", "-b", "no_such_module", "--resume", "new").code == "name.unknown-subject"
