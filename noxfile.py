"""The suite's own jobs; `nox -l` lists them. Each session installs all it needs."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import nox

if TYPE_CHECKING:
    from collections.abc import Mapping

nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "venv"
nox.options.error_on_external_run = True

SUBJECTS = ("onnx==1.23.2", "onnxruntime==1.31.1")
"""The runtimes of the suite's own tests."""


@dataclass(frozen=True)
class Runtime:
    """A released runtime that the corpus is run on, in a session of its own.

    Attributes:
        requirements: what is installed, pinned; the first is the runtime itself.
        subject: what names it; by default the session's name.
        bare: what is installed without its dependencies.
        programs: Debian packages it needs, by a program of each.
        env: settings.
        options: more options of the run.
    """

    requirements: tuple[str, ...]
    subject: str = ""
    bare: tuple[str, ...] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()


RUNTIMES = {
    "onnx-reference": Runtime(("onnx==1.23.2",)),
    "onnxruntime": Runtime(("onnxruntime==1.31.1",)),
    "onnxruntime-unoptimized": Runtime(("onnxruntime==1.31.1",), "onnxruntime[optimization=disabled]"),
    "tinygrad": Runtime(
        ("tinygrad==0.14.0",), programs={"clang": "clang"}, env={"DEV": "CPU"}, options=("--timeout", "300")
    ),
    "tract": Runtime(("tract==0.23.9",)),
    "openvino": Runtime(("openvino==2026.4.1",)),
    "onnx2torch": Runtime(("torch==2.13.0",), bare=("onnx2torch==1.5.15",)),
    "tvm": Runtime(("apache-tvm==0.27.0",)),
    "jaxonnxruntime": Runtime(("jaxonnxruntime==0.3.0", "jax==0.10.2", "absl-py==2.5.1")),
    "iree": Runtime(("iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0")),
}
"""By the session's name, which is also that of its expectations file. A newer version is a change of its own.

onnx2torch wants torchvision for operators that no case has, and is installed without it; any build of torch serves.
"""

BOARD = Path("reports/scoreboard")

OPTIMIZERS = ("onnxoptimizer==0.4.2", "onnxscript==0.7.2", "onnxsim==0.8.1")
"""The graph optimizers that the expectations files speak of, besides ONNX Runtime's."""

OPTIMIZER_EXTRAS = "onnxoptimizer,onnxruntime,onnxscript,onnxsim"

GRAPH_OPTIMIZERS = {
    "onnxoptimizer": ("onnxoptimizer", "onnxoptimizer-defaults"),
    "onnxsim": ("onnxsim",),
    "onnxscript": ("onnxscript",),
    "onnxruntime": tuple(f"onnxruntime[level={level}]" for level in ("basic", "extended", "layout", "all")),
}
"""The subjects of each package, which share a file of the board."""

MACHINE = re.compile(
    b"|".join(re.escape(str(path).encode()) + rb"(?=/)" for path in (Path.cwd(), Path.home()))
    + rb"|/[\w./-]*(?=/site-packages/)|/[\w./-]*(?=/bin/(?:python|onnx-conformance))|/tmp/[\w.-]+(?=/)"
)
"""What of a path in a message tells where things lie on the machine that ran them."""

HARNESSES = ("onnxruntime-web", "onnxruntime-node", "cpp")
"""The sessions of the harnesses that are on the board."""

VERSION_PAIRS = (("1.18.0", "2.0.2"), ("1.20.1", "2.2.6"), ("1.23.2", "2.4.6"))
"""onnx and numpy, from the oldest to the newest supported, over which the corpus is the same to the byte."""

PROJECT = nox.project.load_toml()


def group(name: str) -> list[str]:
    """The requirements of one of pyproject.toml's dependency groups."""
    return nox.project.dependency_groups(PROJECT, name)


@nox.session
def conformance(session: nox.Session) -> None:
    """Verify the corpus, run it on three subjects, and write reports/latest/."""
    session.install(".[onnxruntime]", *SUBJECTS)
    session.run("onnx-conformance", "verify", "--data", "data")
    session.run(
        *("onnx-conformance", "run", "-b", "reference", "-b", "onnx-reference", "-b", "onnxruntime"),
        *("--data", "data", "--level", "should"),
        *("--expect", "expectations/onnx-reference.toml", "--expect", "expectations/onnxruntime.toml"),
        *("--results", "reports/latest/results.jsonl", "--html", "reports/latest/index.html"),
        *session.posargs,
    )


def run_on(session: nox.Session, name: str, runtime: Runtime) -> None:
    """Install a runtime, run the corpus on it, and write reports/latest/NAME.*; with `-- --board`, the board's file."""
    for program, package in runtime.programs.items():
        if not shutil.which(program):
            session.error(f"{program} is not installed: apt-get install {package}")
    session.install(".", SUBJECTS[0], *runtime.requirements)
    if runtime.bare:
        session.install("--no-deps", *runtime.bare)
    session.run(
        *("onnx-conformance", "run", "-b", runtime.subject or name, "-n", "2", *written(name)),
        *("--expect", f"expectations/{name}.toml", *runtime.options),
        *arguments(session),
        env=dict(runtime.env),
        success_codes=success_codes(session),
    )
    if "--board" in session.posargs:
        put_on_board(name, (runtime.bare or runtime.requirements)[0].partition("==")[2])


def written(name: str) -> tuple[str, ...]:
    """The options of a run over the whole corpus whose reports are named so."""
    report = f"reports/latest/{name}"
    return ("--data", "data", "--level", "should", "--results", f"{report}.jsonl", "--html", f"{report}.html")


def arguments(session: nox.Session) -> list[str]:
    """What a session was given for the run."""
    return [argument for argument in session.posargs if argument != "--board"]


def success_codes(session: nox.Session) -> list[int]:
    """The board shows a gate that does not hold."""
    return [0, 1] if "--board" in session.posargs else [0]


def put_on_board(name: str, version: str) -> None:
    """Pack a run's results into the board, without the cases' files, which the corpus has, and this machine's paths."""
    BOARD.mkdir(parents=True, exist_ok=True)
    lines = Path(f"reports/latest/{name}.jsonl").read_bytes().splitlines(keepends=True)
    kept = b"".join(line for line in lines if not line.startswith(b'{"record":"archive"'))
    (BOARD / f"{name}-{version}.jsonl.gz").write_bytes(gzip.compress(MACHINE.sub(b"", kept), mtime=0))


def add_session(name: str, runtime: Runtime) -> None:
    """Make the session of one runtime."""

    def run(session: nox.Session) -> None:
        run_on(session, name, runtime)

    run.__doc__ = f"Run the corpus on {name} {runtime.requirements[0]}."
    nox.session(run, name=name)


for NAME, RUNTIME in RUNTIMES.items():
    add_session(NAME, RUNTIME)


@nox.session(venv_backend="none")
def scoreboard(session: nox.Session) -> None:
    """Run all runtimes and graph optimizers, each in its own environment, and write reports/scoreboard/ anew."""
    shutil.rmtree(BOARD, ignore_errors=True)
    for name in (*RUNTIMES, *HARNESSES, "optimizers"):
        session.notify(name, ["--board"])
    session.notify("board")


@nox.session
def board(session: nox.Session) -> None:
    """Write the page over all results in reports/scoreboard/, and the table of docs/hazards.md."""
    session.install(".")
    results = sorted(str(path) for path in BOARD.glob("*.jsonl.gz"))
    session.run("onnx-conformance", "report", *results, "--html", str(BOARD / "index.html"))
    session.run("python", "scripts/make_hazards.py", *results)


@nox.session(name="onnxruntime-web")
def onnxruntime_web(session: nox.Session) -> None:
    """Run the corpus on ONNX Runtime Web, and write reports/latest/onnxruntime-web.*; needs Node 20 and npm."""
    javascript(session, "onnxruntime-web")


@nox.session(name="onnxruntime-node")
def onnxruntime_node(session: nox.Session) -> None:
    """Run the corpus on ONNX Runtime for Node, and write reports/latest/onnxruntime-node.*; needs Node 20 and npm."""
    javascript(session, "onnxruntime-node")


def javascript(session: nox.Session, runtime: str) -> None:
    """Install what the runtime's lock file names, and run the corpus on it."""
    if not shutil.which("npm"):
        session.error("npm is not installed: apt-get install nodejs npm")
    with session.chdir(f"harnesses/javascript/{runtime}"):
        session.run("npm", "ci", "--ignore-scripts", external=True)
    run_harness(session, runtime, f"node harnesses/javascript/harness.mjs {runtime}")


@nox.session
def cpp(session: nox.Session) -> None:
    """Build the harness in C++ and run the corpus on it; needs Debian's g++, make and nlohmann-json3-dev."""
    session.run("make", "-C", "harnesses/cpp", external=True)
    run_harness(session, "cpp", "harnesses/cpp/harness")


def run_harness(session: nox.Session, name: str, command: str) -> None:
    """Check a harness, run the corpus on it, and write reports/latest/NAME.*."""
    session.install(".", SUBJECTS[0])
    session.run("onnx-conformance", "harness", "check", f"exec:{command}")
    session.run(
        *("onnx-conformance", "run", "-b", f"exec:{command}", *written(name), "--expect", f"expectations/{name}.toml"),
        *arguments(session),
        success_codes=success_codes(session),
    )
    if "--board" in session.posargs:
        put_on_board(name, version_of(name))


def version_of(harness: str) -> str:
    """The version that a harness told of its runtime in the last run."""
    with Path(f"reports/latest/{harness}.jsonl").open(encoding="utf-8") as results:
        return str(json.loads(next(results))["subjects"][0]["version"])


@nox.session
def optimizers(session: nox.Session) -> None:
    """Run the cases of the pass on the graph optimizers, and write reports/latest/optimizers.*."""
    session.install(f".[{OPTIMIZER_EXTRAS}]", *SUBJECTS, *OPTIMIZERS)
    if "--board" in session.posargs:
        for package, names in GRAPH_OPTIMIZERS.items():
            run_optimizers(session, f"{package}-rewrites", names)
            put_on_board(f"{package}-rewrites", pinned(package))
    else:
        names = tuple(name for names in GRAPH_OPTIMIZERS.values() for name in names)
        run_optimizers(session, "optimizers", ("reference-pass", "identity", *names))


def run_optimizers(session: nox.Session, report: str, names: tuple[str, ...]) -> None:
    """Run graph optimizers, each held to its expectations file where it has one."""
    files = (Path("expectations/optimizers") / f"{name.replace('[level=', '-').rstrip(']')}.toml" for name in names)
    known = (file for file in files if file.exists())
    session.run(
        *("onnx-conformance", "run", *(part for name in names for part in ("-o", name)), *written(report)),
        *(part for file in known for part in ("--expect", str(file))),
        *arguments(session),
        success_codes=success_codes(session),
    )


def pinned(package: str) -> str:
    """The version of a package that the sessions install."""
    (found,) = (text.partition("==")[2] for text in (*SUBJECTS, *OPTIMIZERS) if text.partition("==")[0] == package)
    return found


@nox.session
def rewrites(session: nox.Session) -> None:
    """Compare onnxoptimizer's pass with the suite's own on random models; `-- --seed N --examples M` for others."""
    session.install("-e", ".[onnxoptimizer]", SUBJECTS[0], OPTIMIZERS[0], *group("tests"))
    session.run("python", "tests/rewriting/differential.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the suite's own tests; they need no browser and no root."""
    session.install("-e", f".[{OPTIMIZER_EXTRAS}]", *SUBJECTS, *OPTIMIZERS, *group("tests"))
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Open the HTML report in headless Chromium; needs Debian's chromium and chromium-driver."""
    if not shutil.which("chromedriver"):
        session.error("chromedriver is not installed: apt-get install chromium chromium-driver")
    session.install("-e", ".", *group("tests"), *group("browser"))
    session.run("pytest", "-o", "addopts=--strict-markers", "tests/browser", *session.posargs)


@nox.session
def generate(session: nox.Session) -> None:
    """Write the corpus anew, or with `-- --check` say how it differs."""
    session.install("-e", ".")
    session.run("onnx-conformance", "generate", *session.posargs)


@nox.session
@nox.parametrize("pair", VERSION_PAIRS, ids=[f"onnx-{onnx}-numpy-{numpy}" for onnx, numpy in VERSION_PAIRS])
def versions(session: nox.Session, pair: tuple[str, str]) -> None:
    """Show that the corpus is the same to the byte, and our backend right, with these versions of onnx and numpy."""
    onnx, numpy = pair
    session.install("-e", ".", f"onnx=={onnx}", f"numpy=={numpy}", *group("tests"))
    for seed in ("0", "42"):
        session.run("onnx-conformance", "generate", "--check", env={"PYTHONHASHSEED": seed})
    session.run("onnx-conformance", "run", "-b", "reference", "--level", "should")
    session.run("pytest", "tests/test_upstream.py")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    session.install(*group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    session.install("-e", f".[{OPTIMIZER_EXTRAS}]", *SUBJECTS, *OPTIMIZERS, *group("types"))
    session.run("mypy")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed and memory, everything in one run so that ratios hold."""
    session.install(".[onnxruntime]", *SUBJECTS)
    session.run("python", "benchmarks/bench.py", *session.posargs)
