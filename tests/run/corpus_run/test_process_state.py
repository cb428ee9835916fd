"""Runs in unusual processes: with closed streams, a umask, deep folders, or subjects that hide from the suite."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import sys
import sysconfig
from hashlib import sha256
from pathlib import Path

import pytest
from corpora import ADAM, EXACT, SMALL, rehash
from isolation_support import wait_until
from refusals import assert_bad_input, assert_usage_error

from conformance.base.processes.helper import remove_tree
from conformance.run.results.results_file import read_results

RIGHT = "fake_subject:always_right"
PROGRAM = shlex.quote(str(Path(sysconfig.get_path("scripts")) / "onnx-conformance"))  # the folder can have spaces


@pytest.mark.variants(1)
@pytest.mark.programs
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", pytest.param("<&- >&- 2>&- -n 2", marks=pytest.mark.long)])
def test_closed_standard_stream_does_not_change_a_verdict(process, here, small_corpus, closed):
    command = f"{PROGRAM} run -b {RIGHT} --data {shlex.quote(str(small_corpus))} --results out.jsonl {closed}"
    ended = process("/bin/sh", "-c", command)
    assert ended.status == 0
    assert {row.verdict for row in read_results(here / "out.jsonl").rows.values()} == {"pass"}


@pytest.mark.variants(1)
@pytest.mark.programs
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_closed_standard_stream_does_not_end_other_verbs(process, small_corpus, closed):
    assert process("/bin/sh", "-c", f"{PROGRAM} list --data {shlex.quote(str(small_corpus))} {closed}").status == 0


@pytest.mark.variants(1)
@pytest.mark.programs
@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o002, 0o664)])
def test_reports_have_the_permissions_of_the_umask(process, here, small_corpus, mask, mode):
    reports = "--results out.jsonl --html out.html --json out.json"
    told = f"-b {RIGHT} --data {shlex.quote(str(small_corpus))} --no-isolation {reports}"
    assert process("/bin/sh", "-c", f"umask {mask:o}; {PROGRAM} run {told}").status == 0
    assert {stat.S_IMODE(path.stat().st_mode) for path in here.iterdir()} == {mode}


@pytest.mark.parametrize("number", ["99999999999", "1025", "9" * 5000, "-1", "²"])
def test_worker_count_beyond_the_limit_is_rejected(command, small_corpus, number):
    ended = command("run", "-b", RIGHT, "--data", small_corpus, "-n", number)
    assert_usage_error(ended, "-n")
    assert len(ended.err) < 2000


FORGER = """
import os
import shutil
from fake_subject import always_wrong

class Forger(always_wrong):
    @classmethod
    def prepare(cls, model, device="CPU"):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, {text})
            except OSError:
                pass
        os._exit(0)
"""


@pytest.mark.variants(1)
@pytest.mark.programs
@pytest.mark.parametrize(
    ("text", "workers"),
    [
        ('b"0\\n"', ()),
        ('b"0\\n" * 1000', ()),
        ('bytes(40) + b"0\\n"', ()),
        pytest.param('b"0\\n" * 1000', ("-n", "2"), marks=pytest.mark.long),
    ],
)
def test_subject_that_forges_the_exit_status_fails_the_run(process, here, small_corpus, text, workers):
    (here / "forger.py").write_text(FORGER.format(text=text))
    told = ("run", "-b", "forger:Forger", "--no-isolation", "--data", small_corpus, *workers)
    assert process("onnx-conformance", *told).status == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names folders by descriptors")
def test_deeply_nested_folders_are_removed(tmp_path):
    root = tmp_path / "root"
    make_deep_folders(root, 3000)
    (root / "file").write_text("")
    (root / "link").symlink_to(tmp_path)
    (root / "wide").mkdir()
    for number in range(20):
        (root / "wide" / str(number)).mkdir(mode=0o500)
    (root / "wide").chmod(0o500)
    remove_tree(str(root))
    assert list(tmp_path.iterdir()) == []


def make_deep_folders(root: Path, depth: int) -> None:
    """Make folders inside each other, deeper than a path can be."""
    root.mkdir()
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


HIDING = """
import os, signal, sys
from fake_subject import always_right

HIDDEN = '''
import os, sys, time
os.setsid()
if os.fork():
    os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()))
os.chdir("/")
os.closerange(0, 64)
time.sleep(600)
'''

class Hiding(always_right):
    @classmethod
    def prepare(cls, model, device="CPU"):
        if not os.path.exists({mark!r}):
            if os.fork() == 0:
                os.execve(sys.executable, [sys.executable, "-c", HIDDEN, {mark!r}], dict())
            while not os.path.exists({mark!r}) or not open({mark!r}).read():
                pass
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
        return super().prepare(model, device)
"""


@pytest.mark.programs
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans another parent")
@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.long)], ids=["one process", "two"])
def test_child_without_environment_does_not_survive_its_killed_supervisor(process, here, small_corpus, workers):
    mark = here / "pid"
    (here / "hiding.py").write_text(HIDING.format(mark=str(mark)))
    told = ("run", "-b", "hiding:Hiding", "--select-level", "must", "--data", small_corpus, *workers)
    ended = process("fork", *told, "--results", "out.jsonl")
    verdicts = [row.verdict for row in read_results(here / "out.jsonl").rows.values()]
    assert (ended.status, sorted(set(verdicts))) == (1, ["crash", "pass"])
    assert wait_until(lambda: not Path(f"/proc/{mark.read_text()}").exists())


@pytest.mark.long
@pytest.mark.programs
def test_children_of_a_run_are_not_taken_for_leftovers(process, here, small_corpus):
    told = ("--data", small_corpus, "--html", "out.html", "-b", "fake_subject:kills_its_guard")
    assert process("fork", "run", *told).status == 1
    assert (here / "out.html").exists()


def hashes(corpus: Path) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of each file of a corpus by case and name, for its manifest."""
    cases = [case for kind in ("node", "pass", "invalid") for case in sorted((corpus / kind).glob("*"))]
    return {
        str(case.relative_to(corpus)): {
            str(file.relative_to(case)): sha256(file.read_bytes()).hexdigest()
            for file in sorted(case.rglob("*"))
            if file.is_file()
        }
        for case in cases
    }


def test_data_sets_of_one_number_are_refused(command, corpus_copy):
    case = corpus_copy / "node" / ADAM
    (case / "test_data_set_00").mkdir()
    for file in (case / "test_data_set_0").iterdir():
        (case / "test_data_set_00" / file.name).write_bytes(file.read_bytes())
    rehash(corpus_copy, hashes(corpus_copy))
    assert_bad_input(command("run", "-b", RIGHT, "--data", corpus_copy), "corpus.malformed", "test_data_set_00")


def test_title_of_sixty_megabytes_is_refused(command, corpus_copy):
    path = corpus_copy / "node" / SMALL[0] / "case.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"title": "x" * 60_000_000}))
    rehash(corpus_copy, hashes(corpus_copy))
    ended = command("run", "-b", RIGHT, "--no-isolation", "--data", corpus_copy, "--results", "out.jsonl")
    assert_bad_input(ended, "corpus.malformed", SMALL[0], "case.json")


def test_each_of_two_subjects_starts_once(command, small_corpus, here):
    (here / "given.py").write_text(
        f"from fake_subject import always_right as One\nTwo = One\nwith open('{here}/starts', 'a') as file:\n"
        "    file.write('started\\n')\n"
    )
    ended = command("run", "-b", "given:One", "-b", "given:Two", "--data", small_corpus, isolate=True)
    assert (ended.status, (here / "starts").read_text().count("started")) == (0, 2)


def test_missing_file_of_unselected_case_does_not_stop_a_run(command, corpus_copy):
    (corpus_copy / "node" / EXACT / "model.onnx").unlink()
    assert command("run", "-b", RIGHT, "--no-isolation", "--data", corpus_copy, "--case", ADAM).status == 0
    shutil.rmtree(corpus_copy / "node" / EXACT)
    ended = command("run", "-b", RIGHT, "--no-isolation", "--data", corpus_copy, "--case", ADAM)
    assert_bad_input(ended, "corpus.file-missing", EXACT)
