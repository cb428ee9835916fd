"""`run --dask` on local clusters: equal results, killed workers, a lost scheduler, and workers that differ."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest
from command_outputs import comparable_records
from corpora import SMALL
from dask_clusters import make_cluster
from isolation_support import LONGEST_WAIT, wait_until
from refusals import assert_bad_input, assert_raises
from repository import SUPPORT

from conformance.base.jobs.dask import DaskWorkers
from conformance.base.jobs.job import ChunkResult, result_decoder, run_job
from conformance.base.serialization.decoding import MalformedError, encode_json
from conformance.base.verdicts import Verdict
from conformance.run.corpus_run.environment_versions import run_environment
from conformance.run.corpus_run.resume import partial_path
from conformance.run.corpus_run.runner import CaseResults, Chunk, RunJob
from conformance.run.corpus_run.settings import Settings
from conformance.run.results.records import Judged
from conformance.run.results.results_file import encode_record, read_results
from conformance.subjects.calling import harness
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

pytestmark = pytest.mark.programs

WRONG = "fake_subject:wrong_on_argmax"

WAITS = """
import time
from pathlib import Path
from fake_subject import wrong_on_argmax

class Waits(wrong_on_argmax):
    @classmethod
    def prepare(cls, model, device="CPU"):
        Path({folder!r}, "begun").touch()
        if Path({folder!r}, "slow").exists():
            time.sleep(0.5)
        while not Path({folder!r}, "go").exists():
            time.sleep(0.01)
        return super().prepare(model, device)
"""


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, with the fakes on their module path and in the directory of the tests."""
    with make_cluster(2, processes=True) as made:
        yield made


@pytest.fixture
def run_waiting(here, small_corpus):
    """Return a function that starts a run on a cluster, and waits until a case has begun that waits for a file."""
    (here / "waits.py").write_text(WAITS.format(folder=str(here)))
    begun = []

    def run(cluster):
        program = str(Path(sysconfig.get_path("scripts")) / "onnx-conformance")
        told = ("run", "-b", "waits:Waits", "--data", str(small_corpus), "--results", "out.jsonl", "--no-diagnosis")
        begun.append(
            subprocess.Popen(
                [program, *told, "--dask", cluster.scheduler_address],
                env={**os.environ, "PYTHONPATH": str(SUPPORT)},
                stderr=subprocess.PIPE,
            )
        )
        assert wait_until((here / "begun").exists)
        return begun[-1]

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def without_hosts(path):
    """Return the records of a results file that are equal in all runs, without the hosts of the footer."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(b"".join(encode_record({k: v for k, v in one.items() if k != "hosts"}) for one in records))
    return comparable_records(path)


@pytest.mark.long
def test_dask_run_has_the_results_of_one_process_and_names_hosts(command, here, small_corpus, cluster, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    told = ("run", "-b", WRONG, "-b", "fake_subject:raises_strange_text", "--data", small_corpus)
    alone = command(*told, "--results", "one.jsonl", "-n", "1", diagnose=True)
    ended = command(*told, "--results", "dask.jsonl", "--dask", cluster.scheduler_address, diagnose=True)
    assert (ended.status, ended.err) == (alone.status, "")
    assert len(read_results(here / "dask.jsonl").footer.hosts) == 1
    assert read_results(here / "one.jsonl").footer.hosts == []
    assert without_hosts(here / "dask.jsonl") == comparable_records(here / "one.jsonl")


@pytest.mark.long
def test_dask_run_with_killed_worker_has_all_results(run_waiting, command, here, small_corpus):
    with make_cluster(2, processes=True) as cluster, cluster.get_client() as client:
        run = run_waiting(cluster)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        (here / "go").touch()
        _, err = run.communicate(timeout=LONGEST_WAIT)
    assert run.returncode == 1, err
    command("run", "-b", "waits:Waits", "--data", small_corpus, "--results", "one.jsonl", isolate=True)
    assert without_hosts(here / "out.jsonl") == comparable_records(here / "one.jsonl")


@pytest.mark.long
def test_dask_run_whose_scheduler_disappears_can_be_resumed(run_waiting, command, here, small_corpus):
    with make_cluster(1, processes=True) as cluster:
        (here / "slow").touch()  # so that results are missing when the scheduler disappears
        run = run_waiting(cluster)
        (here / "go").touch()
        assert wait_until(lambda: partial_path(here / "out.jsonl").stat().st_size > 0)
        (here / "go").unlink()
    _, err = run.communicate(timeout=LONGEST_WAIT)
    assert (run.returncode, b"--resume" in err, b"Traceback" in err) == (2, True, False)
    (here / "slow").unlink()
    (here / "go").touch()
    ended = command("run", "-b", "waits:Waits", "--data", small_corpus, "--resume", "out.jsonl", isolate=True)
    assert ended.status == 1, ended.err
    assert read_results(here / "out.jsonl").footer.results == len(SMALL)


@pytest.mark.parametrize("subject", ["only_here:Backend", "exec:./only_here.sh"])
def test_dask_workers_without_subject_end_the_run(command, here, small_corpus, cluster, subject, monkeypatch):
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    (here / "only_here.py").write_text("from fake_subject import always_right as Backend\n")
    program = shlex.join([sys.executable, str(harness.__file__), "fake_subject:always_right"])
    (here / "only_here.sh").write_text(f"#!/bin/sh\nexec {program}\n")
    (here / "only_here.sh").chmod(0o755)
    told = ("run", "-b", subject, "--data", small_corpus, "--results", "out.jsonl")
    ended = command(*told, "--dask", cluster.scheduler_address)
    assert (ended.status, ended.code, "only_here" in ended.err) == (2, "job.no-usable-worker", True), ended.err


@pytest.fixture
def job(opened):
    """A job for Dask workers, with an environment that no worker has."""
    settings = Settings((SubjectName.parse(WRONG, SubjectKind.BACKEND),), opened.path)
    environment = {**run_environment([]), "python": "2.7.18"}
    return RunJob(settings, opened.digest, {}, environment, (Chunk(WRONG, (SMALL[0],)),))


@pytest.mark.parametrize(("change", "what"), [({}, "2.7.18"), ({"digest": "0" * 64}, "corpus")])
def test_dask_workers_that_differ_receive_no_chunk(cluster, job, change, what):
    with assert_raises("job.no-usable-worker", what):
        list(run_job(replace(job, **change), DaskWorkers(cluster.scheduler_address, lambda _: None)))


def result_of_wrong_subject(case=SMALL[0]):
    return Judged(subject=WRONG, case=case, verdict=Verdict.PASS, phase=None, message="", seconds=0.0)


@pytest.mark.parametrize("cases", [(), (SMALL[0], SMALL[0]), (SMALL[1],)])
def test_run_job_refuses_results_that_are_not_of_the_chunk(job, cases):
    job.check_result(ChunkResult(0, CaseResults("one", [result_of_wrong_subject()])))
    with pytest.raises(MalformedError):
        job.check_result(ChunkResult(0, CaseResults("one", [result_of_wrong_subject(case) for case in cases])))


@pytest.mark.parametrize("edit", [b'"verdict":"fine"', b'"verdict":7', b'"verdict":"pass","more":1'])
def test_run_job_refuses_results_that_are_malformed(job, edit):
    decode, content = result_decoder(job), encode_json(CaseResults("one", [result_of_wrong_subject()]))
    assert decode(content).results == [result_of_wrong_subject()]
    with pytest.raises(MalformedError):
        decode(content.replace(b'"verdict":"pass"', edit))


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "code"),
    [
        (("-n", "2"), "usage.workers-and-dask"),
        pytest.param(("--no-isolation",), "usage.options-conflict", marks=pytest.mark.long),
    ],
)
def test_dask_excludes_other_places_of_execution(command, small_corpus, option, code):
    ended = command("run", "-b", WRONG, "--data", small_corpus, "--dask", "tcp://127.0.0.1:1", *option)
    assert_bad_input(ended, code, option[0])
