"""Updates of a history with fake environments and fake runs: order, continuation, unavailable releases, errors."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from corpora import ADAM, EXACT
from fake_subject import always_right, always_wrong, wrong_on_argmax
from history_stores import TARGET, OneStepOff, add_release, change_tensor, run_release
from refusals import assert_raises

from conformance.base.errors import SubjectError
from conformance.base.jobs.job import ChunkResult, result_decoder
from conformance.base.serialization.decoding import MalformedError, encode_json
from conformance.studies.history import release_run
from conformance.studies.history.history_update import (
    ReleaseChunkResult,
    ReleaseJob,
    missing_releases,
    order_by_gaps,
    update_store,
)
from conformance.studies.history.release_run import ReleaseTask, RunSettings
from conformance.studies.history.store import HistoryStore
from conformance.subjects.environments.registry import Environment, EnvironmentDocument


class FakeReleases:
    """Environments and runs of fake releases.

    Attributes:
        backends: backend of each release.
        errors: error of the creation of an environment, by release.
        ends: exit status and output of the next runs, before a run that succeeds.
        runs: release and selection of each run.
        shards: release and shard of each run with a shard.
        removed: releases whose environments were removed.
    """

    DESCRIPTOR = 1234

    def __init__(self, corpus, folder):
        self.corpus, self.folder = corpus, folder
        self.backends, self.errors, self.ends, self.runs, self.removed, self.shards = {}, {}, [], [], [], []

    def borrow(self, requirements, _):
        if requirements.release in self.errors:
            raise self.errors[requirements.release]
        document = EnvironmentDocument(requirements.subject, requirements.release, "3.11.7", ["numpy==2.0"])
        environment = Environment(self.folder / requirements.release, document)
        return SimpleNamespace(
            environment=environment,
            descriptor=self.DESCRIPTOR,
            give_back=lambda: self.removed.append(requirements.release),
        )

    def run(self, command, _variables, _descriptors):
        subject = command[command.index("-b") + 1]
        release = subject.partition("@")[2]
        cases = [value for word, value in pairwise(command) if word == "--case"]
        self.runs.append((release, tuple(cases)))
        if "--shard" in command:
            self.shards.append((release, command[command.index("--shard") + 1]))
        if self.ends:
            return self.ends.pop(0)
        target = Path(command[command.index("--results" if "--results" in command else "--resume") + 1])
        options = command[command.index("--repeat") :][:2] if "--repeat" in command else []
        run_release(self.backends[release], self.corpus, subject, target, cases or None, options)
        return 1, ""


@pytest.fixture
def fakes(corpus, tmp_path, monkeypatch):
    fakes = FakeReleases(corpus, tmp_path / "environments")
    monkeypatch.setattr(release_run, "borrow_environment", fakes.borrow)
    monkeypatch.setattr(release_run, "_run_child", fakes.run)
    return fakes


def run_update(store, corpus, *releases, lines=None, **settings):
    tasks = [ReleaseTask(TARGET, release) for release in releases]
    with store.lock():
        return update_store(store, corpus, tasks, RunSettings(**settings), (lines if lines is not None else []).append)


def test_order_starts_with_ends_and_halves_gaps():
    assert order_by_gaps(["1", "2", "3", "4", "5"]) == ["5", "1", "3", "2", "4"]
    assert order_by_gaps(["1"]) == ["1"]
    assert order_by_gaps([]) == []


def test_update_adds_results_and_removes_environments(store, corpus, fakes):
    fakes.backends = {"1.0": always_right, "1.1": OneStepOff}
    lines = []
    counts = run_update(store, corpus, "1.0", "1.1", lines=lines)
    assert (counts.done, counts.failed) == (2, 0)
    assert [each.release for each in store.releases()] == ["1.0", "1.1"]
    assert fakes.removed == ["1.0", "1.1"]
    assert [line.split()[0] for line in lines] == ["[1/2]", "[2/2]"]
    assert list((store.folder / ".work").iterdir()) == []


def test_only_missing_releases_run(store, corpus, fakes):
    fakes.backends = {"1.0": always_right}
    run_update(store, corpus, "1.0")
    assert missing_releases(store, TARGET, ["1.0", "1.0.0", "1.1"], corpus) == ["1.1"]


def test_changed_verdicts_run_three_times(store, corpus, fakes):
    fakes.backends = {"1.0": always_right, "1.1": wrong_on_argmax}
    run_update(store, corpus, "1.0", "1.1")
    changed = {case for case in corpus.cases if case != ADAM}
    assert [(release, set(cases)) for release, cases in fakes.runs] == [
        ("1.0", set()),
        ("1.1", set()),
        ("1.1", changed),
    ]
    results = {result.case: result for result in store.releases()[1].read().results.values()}
    assert {case for case, result in results.items() if result.verdict == "fail"} == changed


def test_only_neighbours_are_compared(store, corpus, fakes):
    fakes.backends = {"1.0": always_right, "1.1": wrong_on_argmax, "1.2": wrong_on_argmax}
    known = ("1.0", "1.1", "1.2")
    with store.lock():
        tasks = [ReleaseTask(TARGET, release, known=known) for release in ("1.0", "1.2", "1.1")]
        update_store(store, corpus, tasks, RunSettings(), lambda _: None)
    repeated = [release for release, cases in fakes.runs if cases]
    assert repeated == ["1.1"]


def test_release_that_does_not_install_is_recorded_and_not_tried_again(store, corpus, fakes):
    fakes.backends = {"1.1": always_right}
    fakes.errors = {"1.0": SubjectError("not-installable", "onnxruntime@1.0 does not install: no wheel.", "-")}
    counts = run_update(store, corpus, "1.0", "1.1")
    assert (counts.done, counts.unavailable) == (1, 1)
    assert store.unavailable(TARGET)["1.0"].code == "subject.not-installable"
    assert missing_releases(store, TARGET, ["1.0", "1.1"], corpus) == []
    assert missing_releases(store, TARGET, ["1.0", "1.1"], corpus, retry=True) == ["1.0"]


@pytest.mark.parametrize(
    ("problem", "code"),
    [("dns error: no answer", "history.no-network"), ("No space left on device (os error 28)", "history.disk-full")],
)
def test_missing_network_and_full_disk_are_not_recorded_as_unavailable(store, corpus, fakes, problem, code):
    fakes.backends = {"1.0": always_right}
    fakes.errors = {"1.1": SubjectError("not-installable", f"onnxruntime@1.1 does not install: {problem}", "-")}
    with assert_raises(code):
        run_update(store, corpus, "1.0", "1.1")
    assert [each.release for each in store.releases()] == ["1.0"]
    assert store.unavailable(TARGET) == {}


def test_release_that_starts_too_slowly_is_tried_again_later(store, corpus, fakes):
    fakes.errors = {"1.0": SubjectError("does-not-start", "it does not start: no answer within 300 s", "-")}
    assert run_update(store, corpus, "1.0").failed == 1
    assert missing_releases(store, TARGET, ["1.0"], corpus) == ["1.0"]


def test_full_disk_in_run_stops_update_and_keeps_earlier_results(store, corpus, fakes):
    fakes.backends = {"1.0": always_right, "1.1": always_right}
    run_update(store, corpus, "1.0")
    fakes.ends = [(2, "error: results cannot be written: No space left on device.")]
    with assert_raises("history.disk-full"):
        run_update(store, corpus, "1.1")
    assert [each.release for each in store.releases()] == ["1.0"]


def test_interrupted_run_is_no_release_and_is_continued(store, corpus, fakes):
    fakes.backends = {"1.0": always_right}
    fakes.ends = [(130, "")]
    with pytest.raises(KeyboardInterrupt):
        run_update(store, corpus, "1.0")
    assert store.releases() == []
    (work,) = (store.folder / ".work").iterdir()
    (work / "shard-1.jsonl.partial").write_text(json.dumps({"record": "header"}))
    run_update(store, corpus, "1.0")
    assert [each.release for each in store.releases()] == ["1.0"]
    assert len(fakes.runs) == 2


def test_run_that_ends_with_error_is_counted_and_next_release_runs(store, corpus, fakes):
    fakes.backends = {"1.0": always_right, "1.1": always_right}
    fakes.ends = [(2, "error: something")]
    counts = run_update(store, corpus, "1.0", "1.1")
    assert (counts.done, counts.failed) == (1, 1)
    assert [each.release for each in store.releases()] == ["1.1"]


def test_new_bound_is_judged_without_run_and_replaces_old_results(store, corpus, fakes, tmp_path):
    add_release(store, corpus, "1.0", OneStepOff)
    narrow = change_tensor(corpus, ADAM, "test_data_set_0/bound_0.pb", 0.0, tmp_path / "narrow")
    run_update(store, narrow, "1.0", offline=True)
    (stored,) = store.releases()
    assert fakes.runs == []
    assert stored.digest == narrow.digest
    assert stored.history.judged == 1
    assert {row.case for row in stored.read().rows.values() if row.verdict == "fail"} == {ADAM}


def test_only_case_with_new_inputs_runs(store, corpus, fakes, tmp_path):
    add_release(store, corpus, "1.0", always_right)
    other = change_tensor(corpus, ADAM, "test_data_set_0/input_2.pb", 2.0, tmp_path / "other")
    fakes.corpus, fakes.backends = other, {"1.0": always_wrong}
    run_update(store, other, "1.0")
    assert fakes.runs == [("1.0", (ADAM,))]
    (stored,) = store.releases()
    assert {row.case: row.verdict for row in stored.read().rows.values()} | {ADAM: "fail", EXACT: "pass"} == {
        row.case: row.verdict for row in stored.read().rows.values()
    }


def test_offline_update_leaves_release_that_must_run(store, corpus, fakes, tmp_path):
    add_release(store, corpus, "1.0", always_right)
    other = change_tensor(corpus, ADAM, "test_data_set_0/input_2.pb", 2.0, tmp_path / "other")
    assert run_update(store, other, "1.0", offline=True).failed == 1
    assert [each.digest for each in store.releases()] == [corpus.digest]


def test_run_of_killed_update_keeps_lock_until_it_ends(store):
    with store.lock():
        run = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[store.lock_descriptor])
    with assert_raises("history.locked"), store.lock():
        pass
    run.communicate()
    with store.lock():
        assert store.lock_descriptor is not None


def test_runs_inherit_locks_of_store_and_environment(store, corpus, fakes, monkeypatch):
    fakes.backends = {"1.0": always_right}
    inherited = []

    def run(command, variables, descriptors):
        inherited.extend(descriptors)
        return fakes.run(command, variables, descriptors)

    monkeypatch.setattr(release_run, "_run_child", run)
    with store.lock():
        update_store(store, corpus, [ReleaseTask(TARGET, "1.0")], RunSettings(), lambda _: None)
        assert inherited == [store.lock_descriptor, FakeReleases.DESCRIPTOR]


def test_offline_update_judges_only_releases_of_range(store, corpus, command, tmp_path):
    for release in ("1.0", "1.1", "1.2"):
        add_release(store, corpus, release, OneStepOff)
    narrow = change_tensor(corpus, ADAM, "test_data_set_0/bound_0.pb", 0.0, tmp_path / "narrow")
    name = "onnxruntime@1.1.."
    ended = command("history", "update", name, "--offline", "--data", narrow.path, "--store", store.folder)
    assert ended.status == 0
    assert {each.release: each.digest for each in store.releases()} == {
        "1.0": corpus.digest,
        "1.1": narrow.digest,
        "1.2": narrow.digest,
    }


def test_damaged_results_stop_update(store, corpus):
    path = add_release(store, corpus, "1.0", always_right).path
    path.write_bytes(path.read_bytes()[:20])
    with assert_raises("results.malformed", path.name):
        missing_releases(store, TARGET, ["1.0"], corpus)


class DirectWorkers:
    """Runs all chunks of a job in this process."""

    def run(self, job, numbers):
        with job.open() as run_chunk:
            for number in numbers:
                chunk = ChunkResult(number, result_decoder(job)(encode_json(run_chunk(number))))
                job.check_result(chunk)
                yield chunk


def run_update_on_workers(store, corpus, *releases):
    tasks = [ReleaseTask(TARGET, release) for release in releases]
    with store.lock():
        return update_store(store, corpus, tasks, RunSettings(corpus.path), lambda _: None, DirectWorkers())


def test_update_on_workers_gives_results_of_local_update(store, corpus, fakes, tmp_path):
    fakes.backends = {"1.0": always_right, "1.1": wrong_on_argmax}
    assert run_update_on_workers(store, corpus, "1.0", "1.1").done == 2
    local = HistoryStore(tmp_path / "local")
    run_update(local, corpus, "1.0", "1.1", data=corpus.path)
    for one, other in zip(store.releases(), local.releases(), strict=True):
        assert one.path.name == other.path.name
        ours, theirs = one.read(), other.read()
        assert {key: row.verdict for key, row in ours.rows.items()} == {
            key: row.verdict for key, row in theirs.rows.items()
        }
    assert store.values(TARGET) == local.values(TARGET)
    assert sum(bool(row.repeats) for each in store.releases() for row in each.read().rows.values()) == 0
    assert fakes.removed


def test_update_on_workers_joins_shards_and_records_unavailable_releases(store, corpus, fakes, monkeypatch):
    monkeypatch.setitem(release_run.SHARDS, "onnxruntime", 2)
    fakes.backends = {"1.0": always_right}
    fakes.errors = {"1.1": SubjectError("not-installable", "onnxruntime@1.1 does not install: no wheel.", "-")}
    counts = run_update_on_workers(store, corpus, "1.0", "1.1")
    assert (counts.done, [each.release for each in store.releases()]) == (1, ["1.0"])
    assert [shard for _, shard in fakes.shards] == ["1/2", "2/2"]
    assert set(store.unavailable(TARGET)) == {"1.1"}


def test_repetition_that_fails_on_worker_keeps_results(store, corpus, fakes):
    fakes.backends = {"1.0": always_right, "1.1": wrong_on_argmax}
    create = fakes.borrow

    def borrow(requirements, sources):
        if len(store.releases()) == 2:
            raise SubjectError("not-installable", "it does not install: no wheel.", "-")
        return create(requirements, sources)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release_run, "borrow_environment", borrow)
        counts = run_update_on_workers(store, corpus, "1.0", "1.1")
    assert (counts.done, counts.failed) == (2, 2)
    assert [each.release for each in store.releases()] == ["1.0", "1.1"]
    assert store.unavailable(TARGET) == {}


def test_update_on_workers_with_other_corpus_is_refused(store, corpus, tmp_path):
    other = change_tensor(corpus, ADAM, "test_data_set_0/bound_0.pb", 0.0, tmp_path / "other")
    job = ReleaseJob((ReleaseTask(TARGET, "1.0"),), RunSettings(other.path), corpus.digest)
    with assert_raises("subject.other-corpus"), job.open():
        pass


def test_results_of_another_release_or_damaged_ones_are_refused(store, corpus, fakes):
    tasks = tuple(ReleaseTask(TARGET, release) for release in ("1.0", "2.0"))
    fakes.backends = {"1.0": always_right}
    job = ReleaseJob(tasks, RunSettings(corpus.path), corpus.digest)
    with job.open() as run_chunk:
        result = run_chunk(0)
    job.check_result(ChunkResult(0, result))
    for number, refused in [(1, result), (2, result), (0, ReleaseChunkResult())]:
        with pytest.raises(MalformedError):
            job.check_result(ChunkResult(number, refused))
