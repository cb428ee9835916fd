"""Fixtures of the tests: the cases of the generators, a small corpus, and the command line."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from corpora import SMALL, write_corpus
from forked_program import Ended, run_in_fork
from hypothesis import settings
from repository import DATA, SUPPORT
from session_cache import DefinedCases, compute_once, shared_directory

from conformance.commands import cli
from conformance.corpus.cases.case_loading import LoadedCase, load_case
from conformance.corpus.cases.corpus import open_corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from checks.mutation.operators import MutationScore
    from conformance.corpus.cases.case import Case
    from conformance.corpus.cases.corpus import Corpus

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell ignores it for programs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("suite", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("many", deadline=None, max_examples=1000)
settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """Speed up the start of the hundreds of processes that tests start: use compiled modules and one BLAS thread.

    If the environment forbids compiled modules, they are written to a temporary directory of this run.
    """
    atexit.register(silence_onnxsim)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in os.environ:
        directory = tempfile.mkdtemp(prefix="onnx-conformance-tests-")
        os.environ["PYTHONPYCACHEPREFIX"] = directory
        config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add the marker `programs` to tests that start installed programs, and `long` to most variants of some tests.

    Of the variants of a test with the marker `variants(number)`, that many are without `long`: the first, and others at
    equal distances.
    """
    variants = defaultdict(list)
    for item in items:
        if process.__name__ in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.programs)
        if (marker := item.get_closest_marker("variants")) and not item.get_closest_marker("long"):
            variants[item.nodeid.partition("[")[0], marker.args[0]].append(item)
    for (_, number), found in variants.items():
        kept = {len(found) * position // number for position in range(number)}
        for position, item in enumerate(found):
            if position not in kept:
                item.add_marker(pytest.mark.long)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect no garbage while tests are collected; later collections of garbage leave out what exists then."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.set_threshold(10_000)  # collections of garbage take 2% of the time with the default, 700
    gc.enable()
    return result


ISOLATING = {"--no-isolation", "--python", "-n", "--timeout", "--dask", "--profile"}
"""Options of `run` that decide about isolation, or that a run without isolation refuses or records differently."""


def silence_onnxsim() -> None:
    """Close stderr at exit if onnxsim is loaded, which reports leaked objects there."""
    if "onnxsim" in sys.modules:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@pytest.fixture(scope="session")
def defined(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[str, Case]]:
    """Return every case of the generators with the name of its generator, by id."""
    return DefinedCases(tmp_path_factory)


@pytest.fixture(scope="session")
def case_named(defined: Mapping[str, tuple[str, Case]]) -> Callable[[str], Case]:
    """Return a function that returns a case of the generators by its id."""
    return lambda name: defined[name][1]


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory, defined: Mapping[str, tuple[str, Case]]) -> Path:
    """Write a corpus of a few cases, once per run of pytest; tests must not change it."""
    directory = shared_directory(tmp_path_factory) / "few"
    compute_once(tmp_path_factory, "few", lambda: write_corpus(directory, [defined[id][1] for id in SMALL]))
    return directory


@pytest.fixture(scope="session")
def opened(small_corpus: Path) -> Corpus:
    """Return the small corpus, opened."""
    return open_corpus(small_corpus)


@pytest.fixture(scope="session")
def whole_corpus() -> Corpus:
    """Return the committed corpus, opened."""
    return open_corpus(DATA)


@pytest.fixture(scope="session")
def judged_cases(whole_corpus: Corpus) -> Mapping[str, Sequence[LoadedCase]]:
    """Return the judged cases of the committed corpus by family; tests must not change them."""
    from checks.mutation.operators import loaded_by_family

    return loaded_by_family(whole_corpus)


@pytest.fixture(scope="session")
def onnx_node_cases(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Any]:
    """Return onnx's own node cases; building them takes five seconds, once per run of pytest."""
    from conformance.own.model_cases.onnx_cases import node_cases

    return compute_once(tmp_path_factory, "onnx-node-cases", node_cases)


@pytest.fixture(scope="session")
def mutation_score(tmp_path_factory: pytest.TempPathFactory) -> MutationScore:
    """Measure the mutation score of the committed corpus, once per run of pytest."""
    import corpus_measurements

    corpus = open_corpus(DATA)
    measured = {
        family: compute_once(
            tmp_path_factory, f"mutation-score-{family}", partial(corpus_measurements.measure_family, corpus, family)
        )
        for family in corpus_measurements.families()
    }
    return corpus_measurements.read_measurement(measured)


@pytest.fixture
def corpus_copy(tmp_path: Path, small_corpus: Path) -> Path:
    """Return a copy of the small corpus that a test may change."""
    return Path(shutil.copytree(small_corpus, tmp_path / "copy"))


@pytest.fixture
def case_of(opened: Corpus) -> Callable[[str], LoadedCase]:
    """Return a function that loads a case of the small corpus by its id."""
    return lambda name: load_case(opened, opened.cases[name])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty directory, and use an empty cache."""
    directory = tmp_path / "here"
    directory.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def command(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return a function that runs `onnx-conformance` in this process and in an empty directory.

    With `diagnose=False`, the default, `run` does not search for mutants, which takes three quarters of its time.
    With `isolate=False`, the default, `run` does not isolate its subjects, which saves two processes for each, but the
    options in `ISOLATING` have precedence.
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(sys, "path", [*sys.path])
    codes = here.parent / "error-codes"  # a file, because a run without isolation prints its error in a child
    print_error = cli._print_error

    def record_code(problem: str, hint: str, code: str = "", *, with_code: bool = False) -> None:
        codes.write_text(code)
        print_error(problem, hint, code, with_code=with_code)

    monkeypatch.setattr(cli, "_print_error", record_code)

    def run(*arguments: Any, diagnose: bool = False, isolate: bool = False) -> Ended:
        is_run = arguments[:1] == ("run",)
        options = ["--no-diagnosis"] if is_run and not diagnose else []
        if is_run and not isolate and not ISOLATING.intersection(map(str, arguments)):
            options.append("--no-isolation")
        monkeypatch.setattr(sys, "argv", ["onnx-conformance", *map(str, arguments), *options])
        capfd.readouterr()
        codes.unlink(missing_ok=True)
        with pytest.raises(SystemExit) as ending:
            cli.main()
        captured = capfd.readouterr()
        return Ended(
            int(ending.value.code or 0), captured.out, captured.err, codes.read_text() if codes.exists() else ""
        )

    return run


@pytest.fixture
def process(here: Path) -> Callable[..., Ended]:
    """Return a function that runs an installed program in an empty directory, with the fakes on its module path.

    The program `fork` is `onnx-conformance` in a fork of this process, which has imported the package already.
    """

    def run(program: str, *arguments: Any, **variables: str) -> Ended:
        path = os.pathsep.join(filter(None, (str(SUPPORT), variables.pop("PYTHONPATH", ""))))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment |= {"PYTHONPATH": path, **variables}
        if program == "fork":
            words = ["onnx-conformance", *map(str, arguments)]
            return run_in_fork(cli.main, words, here, path.split(os.pathsep), environment)
        done = subprocess.run(
            [str(Path(sysconfig.get_path("scripts")) / program), *map(str, arguments)],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=600,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def run_with_faults(
    command: Callable[..., Ended], small_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ended]:
    """Return a function that runs the small corpus in this process, with faults for `follows_environment`."""

    def run(*arguments: Any, faults: str = "", diagnose: bool = False) -> Ended:
        monkeypatch.setenv("FAULTS", faults)
        return command("run", "--data", small_corpus, "--no-isolation", *arguments, diagnose=diagnose)

    return run


@pytest.fixture
def full_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], AbstractContextManager[None]]:
    """Return a context in which the disk is full after a number of files that the suite writes for subjects."""

    @contextmanager
    def fill(files: int) -> Iterator[None]:
        open_file, written = os.open, []

        def open_or_fail(path: Any, *arguments: Any, **options: Any) -> int:
            is_ours = "/onnx-conformance-" in str(path) and "/models/" in str(path)
            if is_ours and len(written) >= files:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written.extend([path] * is_ours)
            return open_file(path, *arguments, **options)

        with monkeypatch.context() as full:
            full.setattr(os, "open", open_or_fail)
            yield

    return fill


@pytest.fixture
def default_handlers() -> Iterator[Mapping[signal.Signals, Any]]:
    """Set the default signal handlers, as in a terminal."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield handlers
    for number, handler in before.items():
        signal.signal(number, handler)
