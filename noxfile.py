"""The suite's own jobs; `nox -l` lists them. Each session installs all it needs."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import nox

if TYPE_CHECKING:
    from collections.abc import Sequence

nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "venv"
nox.options.error_on_external_run = True

GROUPS = nox.project.load_toml()["dependency-groups"]
PINNED = nox.project.load_toml("conformance/backends/runtimes.toml")
UNSAID = {"requirements": (), "bare": (), "programs": {}, "build": (), "env": {}, "options": ()}
RUNTIMES = {name: SimpleNamespace(**UNSAID | told) for name, told in PINNED["runtimes"].items()}
OPTIMIZERS = PINNED["optimizers"]

ONNX = RUNTIMES["onnx-reference"].requirements[0]
TESTED = [pin for name in PINNED["tests"] for pin in RUNTIMES[name].requirements]
ALL_TESTED = [f".[{','.join(OPTIMIZERS)}]", *TESTED, *(pin for o in OPTIMIZERS.values() for pin in o["requirements"])]
"""The suite, the runtimes of its own tests and all graph optimizers."""

LATEST = Path("reports/latest")
ON_BOARD = {name: LATEST / f"{name}.jsonl" for name in (*RUNTIMES, "optimizers")}
FOR_BOARD = "--board"
"""A session that is given this may end with a shut gate, which the board shows, and tells how accurate answers are."""


def need(session: nox.Session, programs: dict[str, str]) -> None:
    """End a session that lacks a program, and say which Debian packages it wants."""
    for program, packages in programs.items():
        if not shutil.which(program):
            session.error(f"{program} is not installed: apt-get install {packages}")


def run_corpus(session: nox.Session, name: str, *options: str, env: dict[str, str] | None = None) -> None:
    """Run the whole corpus, and write reports/latest/NAME.*."""
    session.run(
        *("onnx-conformance", "run", *options, "--data", "data", "--level", "should"),
        *("--results", f"{LATEST}/{name}.jsonl", "--html", f"{LATEST}/{name}.html"),
        *(argument if argument != FOR_BOARD else "--quality" for argument in session.posargs),
        env=env,
        success_codes=[0, 1] if FOR_BOARD in session.posargs else [0],
    )


@nox.session
def conformance(session: nox.Session) -> None:
    """Verify the corpus, run it on three subjects, and write reports/latest/."""
    session.install(".[onnxruntime]", *TESTED)
    session.run("onnx-conformance", "verify", "--data", "data")
    session.run(
        *("onnx-conformance", "run", "-b", "reference", "-b", "onnx-reference", "-b", "onnxruntime"),
        *("--data", "data", "--level", "should", "-n", "2"),
        *("--expect", "expectations/onnx-reference.toml", "--expect", "expectations/onnxruntime.toml"),
        *("--results", f"{LATEST}/results.jsonl", "--html", f"{LATEST}/index.html", *session.posargs),
    )


def add_session(name: str, runtime: SimpleNamespace) -> None:
    """Make the session of one runtime."""

    def run(session: nox.Session) -> None:
        need(session, runtime.programs)
        if runtime.build:
            session.run(*runtime.build, external=True)
        session.install(".", ONNX, *runtime.requirements)
        if runtime.bare:
            session.install("--no-deps", *runtime.bare)
        if runtime.subject.startswith("exec:"):
            session.run("onnx-conformance", "harness", "check", runtime.subject)
        options = ("-b", runtime.subject, "-n", "2", "--expect", f"expectations/{name}.toml", *runtime.options)
        run_corpus(session, name, *options, env=runtime.env)

    pins = ", ".join((*runtime.bare, *runtime.requirements)) or "built here"
    run.__doc__ = f"Run the corpus on {name} ({pins}), and write reports/latest/{name}.*."
    nox.session(name=name)(run)


for NAME, RUNTIME in RUNTIMES.items():
    add_session(NAME, RUNTIME)


@nox.session
def optimizers(session: nox.Session) -> None:
    """Run the cases of the pass on the graph optimizers, and write reports/latest/optimizers.*."""
    session.install(*ALL_TESTED)
    ours = () if FOR_BOARD in session.posargs else ("reference-pass", "identity")
    subjects = [*ours, *(subject for package in OPTIMIZERS.values() for subject in package["subjects"])]
    files = [Path(f"expectations/optimizers/{one.replace('[level=', '-').rstrip(']')}.toml") for one in subjects]
    options = [("-o", one) for one in subjects] + [("--expect", str(file)) for file in files if file.exists()]
    run_corpus(session, "optimizers", *(part for option in options for part in option))


@nox.session(venv_backend="none")
def scoreboard(session: nox.Session) -> None:
    """Run all runtimes and graph optimizers, each in its own environment, and write reports/scoreboard/ anew."""
    for name, results in ON_BOARD.items():
        results.unlink(missing_ok=True)
        session.notify(name, [FOR_BOARD])
    session.notify("board", ["--merge"])


@nox.session
def board(session: nox.Session) -> None:
    """Write the board's pages and the table of docs/hazards.md; `-- --merge` first takes what is in reports/latest/."""
    session.install(".")
    packed, merged = "reports/scoreboard/results.jsonl.gz", f"{LATEST}/scoreboard.jsonl"
    if "--merge" in session.posargs:
        session.run("onnx-conformance", "merge", *map(str, ON_BOARD.values()), "-o", merged, success_codes=[0, 1])
        session.run("python", "scripts/board.py", merged, packed)
    session.run("onnx-conformance", "report", packed, "--html", "reports/scoreboard/index.html")
    session.run("python", "scripts/board_page.py", packed, "reports/scoreboard")
    session.run("python", "scripts/make_hazards.py", packed)


def add_commands(name: str, meaning: str, requirements: Sequence[str], *commands: str) -> None:
    """Make the session of some commands, the last of which is given what stands after `--`."""

    def run(session: nox.Session) -> None:
        session.install(*requirements)
        for command in commands:
            given = session.posargs if command is commands[-1] else ()
            session.run(*command.split(), *given, env={"PYTHONPATH": f"{Path.cwd()}/tests/support"})

    run.__doc__ = meaning
    nox.session(name=name)(run)


TESTS = ("-e", *ALL_TESTED, *GROUPS["tests"])
TYPES = ("-e", *ALL_TESTED, *GROUPS["oracle"], *GROUPS["types"])
SCRIPT = ("-e", ".", ONNX, *GROUPS["tests"])
PYTEST = "pytest -n 3 --dist worksteal"  # on two cores: some tests wait
CHECKS = ("ruff check .", "ruff format --check .", "lint-imports --no-cache", "python scripts/house.py")
SITE = "sphinx-build -W -nq -c scripts/site . dist/site"
RELEASE = (*SCRIPT, *GROUPS["build"])
JOBS = {
    "tests": ("Run the suite's own tests; they need no browser and no root.", TESTS, PYTEST),
    "programs": ("Run the tests that start, build or install whole programs.", TESTS, f"{PYTEST} -m programs"),
    "corpus": ("Measure the whole corpus: its bytes, what it notices, whom it accuses.", TESTS, f"{PYTEST} -m whole"),
    "lint": ("Check style, formatting, which room may import which, how large the house is.", GROUPS["lint"], *CHECKS),
    "types": ("Check types.", TYPES, "mypy"),
    "generate": ("Write the corpus anew; `-- --check` says how it differs.", SCRIPT, "onnx-conformance generate"),
    "rewrites": ("Compare two passes on random models; `-- --seed N`.", TESTS, "python tests/support/differential.py"),
    "fuzz": ("Spoil what is read, for every reader and verb; `-- --seconds 600`.", SCRIPT, "python tests/fuzz/fuzz.py"),
    "interruptions": ("Interrupt what writes; `-- --times 200`.", SCRIPT, "python tests/fuzz/interruptions.py"),
    "docs": ("Make the documentation's site in dist/site/.", GROUPS["docs"], SITE),
    "release": ("Make wheel, sdist, corpus archive and checksums in dist/.", RELEASE, "python scripts/release.py"),
}
for NAME, JOB in JOBS.items():
    add_commands(NAME, *JOB)


@nox.session
def oracle(session: nox.Session) -> None:
    """Compute all expected values again with the second oracle; `-- --draws N` compares both on random models."""
    draws = "--draws" in session.posargs
    session.install(ONNX, *(("-e", ".", *GROUPS["tests"]) if draws else GROUPS["oracle"]))
    session.run("python", *(["tests/support/drawn_models.py"] if draws else ["-m", "oracle"]), *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Open the HTML report in headless Chromium; needs Debian's chromium and chromium-driver."""
    need(session, {"chromedriver": "chromium chromium-driver"})
    session.install("-e", ".", *GROUPS["tests"], *GROUPS["browser"])
    options = "--strict-markers --import-mode=importlib -n 2 --dist worksteal"
    session.run("pytest", "-o", f"addopts={options}", "tests/browser", *session.posargs)


@nox.session
@nox.parametrize("pair", PINNED["versions"], ids=["-".join(map("-".join, p.items())) for p in PINNED["versions"]])
def versions(session: nox.Session, pair: dict[str, str]) -> None:
    """Show with these versions of onnx and numpy the same corpus to the byte, our backend right, every clause found."""
    session.install("-e", ".", *map("==".join, pair.items()), *GROUPS["tests"])
    for seed in ("0", "42"):
        session.run("onnx-conformance", "generate", "--check", env={"PYTHONHASHSEED": seed})
    session.run("onnx-conformance", "run", "-b", "reference", "--level", "should")
    session.run("python", "scripts/locate.py", "installed")
    session.run("pytest", "-m", "", "tests/corpus/test_upstream.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed and memory in one run so that ratios hold; `-- run` measures the time of runs alone."""
    session.install(".[onnxruntime,dask]", *TESTED, *GROUPS["browser"])
    session.run("python", "benchmarks/bench.py", *session.posargs)
    if not session.posargs and shutil.which("chromedriver"):
        session.run("python", "benchmarks/page.py")
