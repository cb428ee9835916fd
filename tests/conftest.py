"""Fixtures of the suite's own tests: the generators' cases, a small corpus, and the command line."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measured
import pytest
from corpora import SMALL, write_corpus
from hypothesis import settings
from once import once
from repository import DATA, SUPPORT

from conformance.cli import main
from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import LoadedCase, load_case
from conformance.generation.defined import defined_cases

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.corpus.case import Case
    from conformance.corpus.corpus import Corpus
    from conformance.strength.operators import Strength

settings.register_profile("suite", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """Let the hundreds of processes that tests start begin quickly: with compiled modules and one thread for BLAS.

    Where the environment keeps Python from writing compiled modules, they go to a directory of this run.
    """
    atexit.register(quiet_onnxsim)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in os.environ:
        directory = tempfile.mkdtemp(prefix="onnx-conformance-tests-")
        os.environ["PYTHONPYCACHEPREFIX"] = directory
        config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts the suite's programs as a shell does."""
    for item in items:
        if process.__name__ in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.programs)


def quiet_onnxsim() -> None:
    """Keep the last words of onnxsim, of what it leaves behind when the interpreter ends, from the terminal."""
    if "onnxsim" in sys.modules:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="session")
def defined(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Case]]:
    """Every case that the suite's generators define, with its generator's name, by id."""
    made = once(tmp_path_factory, "defined", lambda: list(defined_cases(())))
    return {case.id: (generator, case) for generator, case in made}


@pytest.fixture(scope="session")
def case_named(defined: dict[str, tuple[str, Case]]) -> Callable[[str], Case]:
    """A case that the suite's generators define, by its id."""
    return lambda name: defined[name][1]


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory, defined: dict[str, tuple[str, Case]]) -> Path:
    """A corpus of a few cases; not to be written to."""
    directory = tmp_path_factory.mktemp("corpora") / "few"
    write_corpus(directory, [defined[id][1] for id in SMALL])
    return directory


@pytest.fixture(scope="session")
def opened(small_corpus: Path) -> Corpus:
    """The small corpus, opened."""
    return open_corpus(small_corpus)


@pytest.fixture(scope="session")
def whole_corpus() -> Corpus:
    """The committed corpus, opened; that it is what the generators give is a test of its own."""
    return open_corpus(DATA)


@pytest.fixture(scope="session")
def strength(tmp_path_factory: pytest.TempPathFactory) -> Strength:
    """What the whole corpus notices of the catalogue of deviations, and whom it accuses."""
    corpus = open_corpus(DATA)
    told = {
        family: once(tmp_path_factory, f"strength-{family}", partial(measured.told, corpus, family))
        for family in measured.parts()
    }
    return measured.read(told)


@pytest.fixture
def corpus_copy(tmp_path: Path, small_corpus: Path) -> Path:
    """A copy of the small corpus, to be spoilt."""
    return Path(shutil.copytree(small_corpus, tmp_path / "copy"))


@pytest.fixture
def case_of(opened: Corpus) -> Callable[[str], LoadedCase]:
    """A case of the small corpus by its id, as a run loads it."""
    return lambda name: load_case(opened, opened.cases[name])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, and a cache of its own."""
    directory = tmp_path / "here"
    directory.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def command(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs `onnx-conformance` with some arguments, in this process and in an empty directory."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(*arguments: Any) -> Ended:
        monkeypatch.setattr(sys, "argv", ["onnx-conformance", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        captured = capfd.readouterr()
        return Ended(int(ending.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def process(here: Path) -> Callable[..., Ended]:
    """Runs a program of this environment in a process of its own, in an empty directory, with the fakes importable."""

    def run(program: str, *arguments: Any, **variables: str) -> Ended:
        path = os.pathsep.join(filter(None, (str(SUPPORT), variables.pop("PYTHONPATH", ""))))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(
            [str(Path(sysconfig.get_path("scripts")) / program), *map(str, arguments)],
            cwd=here,
            env={**environment, "PYTHONPATH": path, **variables},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=600,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def moody_run(
    command: Callable[..., Ended], small_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ended]:
    """Runs `onnx-conformance run` on the small corpus in this process, with a mood for the backend that has them."""

    def run(*arguments: Any, mood: str = "") -> Ended:
        monkeypatch.setenv("MOODS", mood)
        return command("run", "--data", small_corpus, "--in-process", *arguments)

    return run
