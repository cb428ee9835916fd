"""Environments are made whole or not at all, from a small index on disk; a run has them, and never makes one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import wheels
from corpora import EXACT
from interruptible import INTERRUPTIBLE
from isolation_support import until
from outputs import records, results_of

from conformance.environments.store import DOCUMENT, environments, home

pytestmark = pytest.mark.programs

SCRIPTS = sysconfig.get_path("scripts")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return wheels.write_index(tmp_path_factory.mktemp("index") / "wheels")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The user's cache, empty; and uv, if it is installed with the suite, on the path."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", os.pathsep.join((SCRIPTS, os.environ["PATH"])))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return tmp_path / "cache"


@pytest.fixture
def make(command, cache, index):
    return lambda *subjects: command("env", "make", *subjects, "--no-index", "--find-links", index)


@pytest.fixture
def maker(index, here):
    """Starts a maker in a process of its own, which goes on with the release that waits once a file is there."""
    started = []

    def start(*subjects):
        arguments = ("env", "make", *subjects, "--no-index", "--find-links", str(index))
        environment = {**os.environ, "GO_ON": str(here / "go_on")}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(
            subprocess.Popen([*INTERRUPTIBLE, f"{SCRIPTS}/onnx-conformance", *arguments], env=environment, **pipes)
        )
        return started[-1]

    yield start
    (here / "go_on").touch()
    for process in started:
        process.kill()
        process.communicate()


def subject(release):
    return f"onnxruntime@{release}"


def left():
    """What is in the folder of all environments."""
    return [path.name for path in home().iterdir()] if home().is_dir() else []


def test_a_release_is_run_with_nothing_else_of_this_suite(make, command, small_corpus, here):
    made = make(subject(wheels.RIGHT))
    ended = command("run", "-b", subject(wheels.RIGHT), "--data", small_corpus, "--case", EXACT, "--results", "r.jsonl")
    assert (made.status, ended.status, ended.err) == (0, 0, "")
    assert results_of(here / "r.jsonl")[subject(wheels.RIGHT), EXACT]["verdict"] == "pass"
    header = records(here / "r.jsonl")[0]
    assert header["subjects"][0]["version"] == wheels.RIGHT
    assert "numpy==2.9.9, onnxruntime==1.30.0" in header["environment"][subject(wheels.RIGHT)]


def test_an_environment_that_exists_is_named_by_its_python(make, command, small_corpus, here):
    make(subject(wheels.RIGHT))
    (environment,) = environments()
    named = f"onnxruntime[python={environment.python}]"
    ended = command("run", "-b", named, "--data", small_corpus, "--case", EXACT, "--results", "r.jsonl", "--in-process")
    assert ended.status == 0
    assert records(here / "r.jsonl")[0]["subjects"][0]["version"] == wheels.RIGHT


def test_two_releases_are_beside_each_other_in_one_run(make, process, small_corpus, here):
    make(subject(wheels.RIGHT), subject(wheels.OLD))
    named = [part for release in (wheels.RIGHT, wheels.OLD) for part in ("-b", subject(release))]
    arguments = ("-n", "2", "--data", small_corpus, "--case", EXACT, "--results", "r.jsonl")
    ended = process("onnx-conformance", "run", *named, *arguments)
    assert ended.status == 0, ended.err
    assert len(results_of(here / "r.jsonl")) == 2


def test_a_release_before_numpy_2_has_a_numpy_that_it_takes(make):
    make(subject(wheels.OLD))
    (environment,) = environments()
    assert environment.document["installed"] == ["ml_dtypes==0.6", "numpy==1.26.9", f"onnxruntime=={wheels.OLD}"]


@pytest.mark.parametrize(
    ("release", "told"),
    [
        (wheels.LACKS, "does not install: Because nobody-has-this was not found"),
        ("1.99.0", "does not install: Because there is no version of "),
        (wheels.CRASHES, "installs, and does not start: SIGSEGV"),
        (wheels.RAISES, "installs, and does not start: RuntimeError: no such processor"),
        (wheels.UNFIT, "installs, and does not start: AttributeError"),
    ],
    ids=["needs what there is not", "is not there", "crashes at import", "raises at import", "is otherwise"],
)
def test_what_cannot_be_a_subject_is_one_sentence_and_leaves_nothing(make, release, told):
    ended = make(subject(release))
    problem, mend = ended.err.splitlines()
    assert ended.status == 2
    assert f"error: {subject(release)} {told}" in problem
    assert mend.strip().startswith("Name ")
    assert left() == []


def test_without_uv_it_is_made_by_venv_and_pip(make, monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    missing = make(subject("1.99.0"))
    made = make(subject(wheels.RIGHT))
    assert "does not install: No matching distribution found for onnxruntime==1.99.0" in missing.err
    assert (made.status, [one.subject for one in environments()]) == (0, [subject(wheels.RIGHT)])


def test_of_two_makers_at_once_one_makes_it_and_the_other_finds_it(cache, maker, here):
    first, second = maker(subject(wheels.WAITS)), maker(subject(wheels.WAITS))
    assert until(lambda: any(name.startswith(".making-") for name in left()))
    (here / "go_on").touch()
    told = sorted(process.communicate()[0].partition(", ")[0] for process in (first, second))
    assert told == [f"{subject(wheels.WAITS)}: is there", f"{subject(wheels.WAITS)}: made"]
    assert len(left()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_of_a_maker_that_is_interrupted_nothing_is_left(cache, maker, make, here, monkeypatch, number):
    interrupted = maker(subject(wheels.WAITS))
    assert until(lambda: any(home().glob(".making-*/argmax.onnx")))
    interrupted.send_signal(number)
    interrupted.communicate()
    assert interrupted.returncode == (130 if number == signal.SIGINT else -number)
    assert until(lambda: left() == [])
    monkeypatch.setenv("GO_ON", str(here / "go_on"))
    (here / "go_on").touch()
    assert make(subject(wheels.WAITS)).status == 0


def test_a_run_installs_nothing_and_says_what_to_type(cache, command):
    ended = command("run", "-b", "onnxruntime@1.20.1")
    assert ended.status == 2
    assert "Make it: onnx-conformance env make onnxruntime@1.20.1" in ended.err
    assert left() == []


def test_they_are_listed_and_removed(make, command):
    make(subject(wheels.RIGHT))
    listed = command("env", "list").out
    removed = command("env", "remove", "onnxruntime")
    assert listed.startswith(f"{subject(wheels.RIGHT)}  Python {sys.version.split()[0]}  {home()}")
    assert (removed.out, left()) == (f"{subject(wheels.RIGHT)}: removed\n", [])


def test_one_whose_python_is_gone_is_made_anew(make, command):
    make(subject(wheels.RIGHT))
    (environment,) = environments()
    environment.python.unlink()
    assert "is no longer usable" in command("run", "-b", subject(wheels.RIGHT)).err
    assert make(subject(wheels.RIGHT)).out.startswith(f"{subject(wheels.RIGHT)}: made")


def test_one_that_does_not_say_what_it_is_is_not_used(make, command):
    make(subject(wheels.RIGHT))
    (environment,) = environments()
    (environment.folder / DOCUMENT).write_text('{"subject": 3}')
    assert "no longer usable" in command("env", "list").out
    assert command("run", "-b", subject(wheels.RIGHT)).status == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("env", "make", "onnxruntime@latest"), "latest is no release of onnxruntime"),
        (("env", "make", "nobody@1.0"), "no releases of nobody"),
        (("env", "make", "reference"), "no releases of reference"),
        (("env", "make", "onnxruntime@1.0", "--python", "no-such-python"), "onnxruntime@1.0 does not install"),
        (("env", "remove", "onnxruntime@1.0"), "no environment of onnxruntime@1.0"),
        (("run", "-o", "onnxsim@0.4.36"), "is a graph optimizer"),
        (("run", "-b", "onnxruntime@1.0[python=/usr/bin/python3]"), "names a release and a Python"),
        (("run", "-b", "onnxruntime[python=no-such-python]"), "names no Python that can be executed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_had_is_refused(cache, command, arguments, problem):
    ended = command(*arguments)
    assert (ended.status, problem in ended.err) == (2, True)


def test_options_stand_after_the_release(make, command, small_corpus):
    make(subject(wheels.RIGHT))
    ended = command("run", "-b", f"{subject(wheels.RIGHT)}[optimization=most]", "--data", small_corpus)
    assert (ended.status, "no optimization level most" in ended.err) == (2, True)
    assert Path(home()).is_dir()
