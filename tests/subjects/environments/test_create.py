"""Creation of environments from an index on disk, and runs that use them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import wheel_index
from command_outputs import read_records, results_by_key
from corpora import EXACT
from interruptible_programs import INTERRUPTIBLE
from isolation_support import wait_until
from refusals import assert_raises

from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.environments.create import PackageSources, borrow_environment, create_environment
from conformance.subjects.environments.registry import (
    DOCUMENT_NAME,
    Environment,
    environments_folder,
    list_environments,
    remove_environment,
)
from conformance.subjects.environments.requirements import find_requirements

pytestmark = pytest.mark.programs

SCRIPTS = sysconfig.get_path("scripts")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return wheel_index.write_index(tmp_path_factory.mktemp("index") / "wheels")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Empty cache folder of the user, and PATH with uv if it is installed with the suite."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", os.pathsep.join((SCRIPTS, os.environ["PATH"])))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return tmp_path / "cache"


@pytest.fixture
def make(command, cache, index):
    return lambda *subjects: command("env", "create", *subjects, "--no-index", "--find-links", index)


@pytest.fixture
def maker(index, here):
    """Return a function that starts `env create` in a process; a release that waits continues when a file exists."""
    started = []

    def start(*subjects):
        arguments = ("env", "create", *subjects, "--no-index", "--find-links", str(index))
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


def environment_folders():
    """Return the names in the folder of all environments."""
    return [path.name for path in environments_folder().iterdir()] if environments_folder().is_dir() else []


def test_run_release_uses_its_environment_only(make, command, small_corpus, here):
    made = make(subject(wheel_index.RIGHT))
    ended = command(
        "run", "-b", subject(wheel_index.RIGHT), "--data", small_corpus, "--case", EXACT, "--results", "r.jsonl"
    )
    assert (made.status, ended.status, ended.err) == (0, 0, "")
    assert results_by_key(here / "r.jsonl")[subject(wheel_index.RIGHT), EXACT]["verdict"] == "pass"
    header = read_records(here / "r.jsonl")[0]
    assert header["subjects"][0]["version"] == wheel_index.RIGHT
    assert "numpy==2.9.9, onnx==1.23.2, onnxruntime==1.30.0" in header["environment"][subject(wheel_index.RIGHT)]


def test_run_subject_with_python_of_environment(make, command, small_corpus, here):
    make(subject(wheel_index.RIGHT))
    (environment,) = list_environments()
    named = f"onnxruntime[python={environment.python}]"
    ended = command(
        "run", "-b", named, "--data", small_corpus, "--case", EXACT, "--results", "r.jsonl", "--no-isolation"
    )
    assert ended.status == 0
    assert read_records(here / "r.jsonl")[0]["subjects"][0]["version"] == wheel_index.RIGHT


def test_create_of_release_that_does_not_exist_names_it(make):
    made = make(subject("9.9.9"))
    assert (made.status, made.code) == (2, "subject.no-such-release")
    assert "9.9.9" in made.err


@pytest.mark.parametrize("release", [wheel_index.OPTIMIZER, wheel_index.INSTALLS])
def test_run_optimizer_release_uses_its_environment_only(make, command, small_corpus, here, release):
    named = f"onnxsim@{release}"
    made = make(named)
    ended = command("run", "-o", named, "--data", small_corpus, "--results", "r.jsonl")
    assert (made.status, ended.err) == (0, "")
    header = read_records(here / "r.jsonl")[0]
    assert [(each["version"], each["kind"]) for each in header["subjects"]] == [(release, "optimizer")]
    assert f"onnx==1.23.2, onnxruntime==1.32.0, onnxsim=={release}" in header["environment"][named]
    verdicts = {each["verdict"] for each in results_by_key(here / "r.jsonl").values()}
    assert verdicts <= {"pass", "fail"}
    assert "pass" in verdicts
    assert not list(environments_folder().rglob("late.py"))


def test_run_optimizer_release_with_options_checks_them(make, command, small_corpus):
    make(f"onnxsim@{wheel_index.OPTIMIZER}")
    ended = command("run", "-o", f"onnxsim@{wheel_index.OPTIMIZER}[level=most]", "--data", small_corpus)
    assert (ended.status, "level" in ended.err) == (2, True)


@pytest.mark.long
def test_run_release_with_chosen_packages_has_an_environment_of_its_own(make, command, small_corpus):
    plain, chosen = subject(wheel_index.OLD), f"{subject(wheel_index.OLD)}[with=numpy>=2]"
    assert make(plain, chosen).status == 0
    installed = {each.subject: each.document.installed for each in list_environments()}
    assert ["numpy==1.26.9" in installed[plain], "numpy==2.9.9" in installed[chosen]] == [True, True]
    ended = command("run", "-b", plain, "-b", chosen, "--data", small_corpus, "--case", EXACT)
    assert ended.status == 0
    assert command("run", "-b", "onnxruntime[with=numpy>=2]", "--data", small_corpus).status == 2


@pytest.mark.long
def test_blame_releases_finds_the_first_wrong_release(make, command, small_corpus, here):
    releases = (wheel_index.OLD, wheel_index.RIGHT, wheel_index.WRONG)
    assert make(*map(subject, releases)).status == 0
    options = ("-b", "onnxruntime", "--releases", "1.18..1.31", "--data", small_corpus)
    ended = command("blame", EXACT, *options, "--json", "found.json", "--output", "folder")
    assert (ended.status, (here / "folder" / "reproduce.py").is_file()) == (1, True)
    found = json.loads((here / "found.json").read_text())
    assert [each["answer"] for each in found["releases"]] == ["lacks", "lacks", "has"]
    assert found["changes"] == [
        {"kind": "introduced", "release": wheel_index.WRONG, "before": wheel_index.RIGHT, "unknown": []}
    ]
    ended = command("blame", EXACT, *options[:3], f"..{wheel_index.RIGHT}", *options[4:])
    assert ended.status == 0
    assert command("blame", EXACT, *options[:3], "2.0..", *options[4:]).status == 2


def test_run_two_releases_in_one_run(make, process, small_corpus, here):
    make(subject(wheel_index.RIGHT), subject(wheel_index.OLD))
    named = [part for release in (wheel_index.RIGHT, wheel_index.OLD) for part in ("-b", subject(release))]
    arguments = ("-n", "2", "--data", small_corpus, "--case", EXACT, "--results", "r.jsonl")
    ended = process("onnx-conformance", "run", *named, *arguments)
    assert ended.status == 0, ended.err
    assert len(results_by_key(here / "r.jsonl")) == 2


def test_create_old_release_has_compatible_numpy(make):
    make(subject(wheel_index.OLD))
    (environment,) = list_environments()
    installed = ["ml_dtypes==0.6", "numpy==1.26.9", "onnx==1.23.2", f"onnxruntime=={wheel_index.OLD}"]
    assert environment.document.installed == installed


@pytest.mark.variants(2)
@pytest.mark.parametrize(
    ("release", "code", "reason"),
    [
        (wheel_index.LACKS, "subject.not-installable", "nobody-has-this"),
        ("1.99.0", "subject.no-such-release", "1.99.0"),
        (wheel_index.CRASHES, "subject.does-not-start", "SIGSEGV"),
        (wheel_index.RAISES, "subject.does-not-start", "RuntimeError: no such processor"),
        (wheel_index.UNFIT, "subject.does-not-start", "AttributeError"),
    ],
    ids=["missing dependency", "missing release", "crashes at import", "raises at import", "changed API"],
)
def test_create_unusable_release_is_refused_and_leaves_nothing(cache, index, release, code, reason):
    sources = PackageSources(find_links=(str(index),), no_index=True)
    named = SubjectName.parse(subject(release), SubjectKind.BACKEND)
    with assert_raises(code, subject(release), reason):
        create_environment(find_requirements(named), sources)
    assert environment_folders() == []


@pytest.mark.long
def test_create_without_uv_uses_venv_and_pip(make, monkeypatch, tmp_path):
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "uv" else which(name))
    missing = make(subject("1.99.0"))
    made = make(subject(wheel_index.RIGHT))
    assert "onnxruntime==1.99.0" in missing.err
    assert (made.status, [one.subject for one in list_environments()]) == (0, [subject(wheel_index.RIGHT)])


def test_create_twice_at_once_creates_one_environment(cache, maker, here):
    first, second = maker(subject(wheel_index.WAITS)), maker(subject(wheel_index.WAITS))
    assert wait_until(lambda: any(name.startswith(".making-") for name in environment_folders()))
    (here / "go_on").touch()
    printed = sorted(process.communicate()[0].partition(", ")[0] for process in (first, second))
    assert printed == [f"{subject(wheel_index.WAITS)}: created", f"{subject(wheel_index.WAITS)}: exists"]
    assert len(environment_folders()) == 1


def test_borrowed_environment_is_removed_by_its_last_user(cache, index):
    sources = PackageSources(find_links=(str(index),), no_index=True)
    requirements = find_requirements(SubjectName.parse(subject(wheel_index.RIGHT), SubjectKind.BACKEND))
    first, second = borrow_environment(requirements, sources), borrow_environment(requirements, sources)
    assert first.environment == second.environment
    first.give_back()
    assert second.environment.is_usable
    second.give_back()
    assert environment_folders() == []


def test_borrowed_environment_that_env_create_made_remains(cache, make, index):
    sources = PackageSources(find_links=(str(index),), no_index=True)
    requirements = find_requirements(SubjectName.parse(subject(wheel_index.RIGHT), SubjectKind.BACKEND))
    borrowed = borrow_environment(requirements, sources)
    assert make(subject(wheel_index.RIGHT)).status == 0
    borrowed.give_back()
    borrow_environment(requirements, sources).give_back()
    assert len(environment_folders()) == 1


def test_environment_removed_twice_is_removed_once(cache, index):
    sources = PackageSources(find_links=(str(index),), no_index=True)
    requirements = find_requirements(SubjectName.parse(subject(wheel_index.RIGHT), SubjectKind.BACKEND))
    environment, _ = create_environment(requirements, sources)
    remove_environment(environment)
    remove_environment(environment)
    assert environment_folders() == []


@pytest.mark.variants(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_create_interrupted_leaves_nothing(cache, maker, make, here, monkeypatch, number):
    interrupted = maker(subject(wheel_index.WAITS))
    assert wait_until(lambda: any(environments_folder().glob(".making-*/argmax.onnx")))
    interrupted.send_signal(number)
    interrupted.communicate()
    assert interrupted.returncode == (130 if number == signal.SIGINT else -number)
    assert wait_until(lambda: environment_folders() == [])
    monkeypatch.setenv("GO_ON", str(here / "go_on"))
    (here / "go_on").touch()
    assert make(subject(wheel_index.WAITS)).status == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_installer_leaves_no_temporary_file(cache, maker, here, monkeypatch, tmp_path, number):
    programs, tmp = tmp_path / "programs", tmp_path / "tmp"
    programs.mkdir()
    tmp.mkdir()
    (programs / "uv").write_text('#!/bin/sh\ntouch "$TMPDIR/of_uv"\nexec sleep 600\n')
    (programs / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(programs), os.environ["PATH"])))
    monkeypatch.setenv("TMPDIR", str(tmp))
    started = maker(subject(wheel_index.RIGHT))
    assert wait_until(lambda: any(environments_folder().glob(".making-*/of_uv")))
    started.send_signal(number)
    started.communicate()
    assert wait_until(lambda: environment_folders() == [] and not list(tmp.iterdir()))


def test_run_missing_environment_names_command(cache, command):
    ended = command("run", "-b", "onnxruntime@1.20.1")
    assert ended.status == 2
    assert "onnx-conformance env create onnxruntime@1.20.1" in ended.err
    assert environment_folders() == []


def test_env_list_and_remove(make, command, tmp_path):
    make(subject(wheel_index.RIGHT))
    assert not [path for path in (tmp_path / "uv").rglob("*.py") if "interpreter" not in str(path)]
    listed = command("env", "list").out
    removed = command("env", "remove", "onnxruntime")
    assert listed.startswith(f"{subject(wheel_index.RIGHT)}  Python {sys.version.split()[0]}  {environments_folder()}")
    assert (removed.out, environment_folders()) == (f"{subject(wheel_index.RIGHT)}: removed\n", [])


def test_interrupted_removal_is_completed(cache, monkeypatch, default_handlers):
    home = environments_folder() / "onnxruntime-1"
    home.mkdir(parents=True)
    remove = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", lambda *a, **k: signal.raise_signal(signal.SIGINT) or remove(*a, **k))
    with pytest.raises(KeyboardInterrupt):
        remove_environment(Environment(home, None))
    assert environment_folders() == []


@pytest.mark.long
def test_create_replaces_environment_without_python(make, command):
    make(subject(wheel_index.RIGHT))
    (environment,) = list_environments()
    environment.python.unlink()
    assert "env create" in command("run", "-b", subject(wheel_index.RIGHT)).err
    assert make(subject(wheel_index.RIGHT)).out.startswith(f"{subject(wheel_index.RIGHT)}: created")


def test_environment_with_malformed_document_is_unusable(make, command):
    make(subject(wheel_index.RIGHT))
    (environment,) = list_environments()
    (environment.folder / DOCUMENT_NAME).write_text('{"subject": 3}')
    assert "no longer usable" in command("env", "list").out
    assert command("run", "-b", subject(wheel_index.RIGHT)).status == 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("env", "create", "onnxruntime@latest"), "latest"),
        (("env", "create", "nobody@1.0"), "nobody"),
        (("env", "create", "reference"), "reference"),
        (("env", "create", "onnxruntime@1.0", "--python", "no-such-python"), "onnxruntime@1.0"),
        (("env", "remove", "onnxruntime@1.0"), "onnxruntime@1.0"),
        (("run", "-o", "onnxsim@0.4.36"), "onnxsim@0.4.36"),
        (("run", "-b", "onnxruntime@1.0[python=/usr/bin/python3]"), "onnxruntime@1.0[python=/usr/bin/python3]"),
        (("run", "-b", "onnxruntime[python=no-such-python]"), "no-such-python"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_invalid_release_or_python_is_refused(cache, command, arguments, named):
    ended = command(*arguments)
    assert (ended.status, named in ended.err) == (2, True)


def test_run_release_with_options_checks_them(make, command, small_corpus):
    make(subject(wheel_index.RIGHT))
    ended = command("run", "-b", f"{subject(wheel_index.RIGHT)}[optimization=most]", "--data", small_corpus)
    assert (ended.status, "most" in ended.err) == (2, True)
    assert Path(environments_folder()).is_dir()
