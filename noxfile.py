"""The suite's own jobs; `nox -l` lists them. Each session installs all it needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "venv"
nox.options.error_on_external_run = True

SUBJECTS = ("onnx==1.23.2", "onnxruntime==1.31.1")
"""The runtimes that the expectations files speak of; a newer one is a change of its own."""

OPTIMIZERS = ("onnxoptimizer==0.4.2", "onnxscript==0.7.2", "onnxsim==0.8.1")
"""The graph optimizers that the expectations files speak of, besides ONNX Runtime's."""

OPTIMIZER_EXTRAS = "onnxoptimizer,onnxruntime,onnxscript,onnxsim"

TINYGRAD = "tinygrad==0.14.0"
"""The same, for the one that has a session of its own."""

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


@nox.session
def tinygrad(session: nox.Session) -> None:
    """Run the corpus on tinygrad, and write reports/latest/tinygrad.*; needs clang."""
    if not shutil.which("clang"):
        session.error("clang is not installed, with which tinygrad compiles for the CPU: apt-get install clang")
    session.install(".[tinygrad]", SUBJECTS[0], TINYGRAD)
    session.run(
        *("onnx-conformance", "run", "-b", "tinygrad", "-n", "2", "--data", "data", "--level", "should"),
        *("--expect", "expectations/tinygrad.toml"),
        *("--results", "reports/latest/tinygrad.jsonl", "--html", "reports/latest/tinygrad.html"),
        *session.posargs,
        env={"DEV": "CPU"},
    )


@nox.session
def optimizers(session: nox.Session) -> None:
    """Run the cases of the pass on the graph optimizers, and write reports/latest/optimizers.*."""
    session.install(f".[{OPTIMIZER_EXTRAS}]", *SUBJECTS, *OPTIMIZERS)
    names = ("reference-pass", "identity", "onnxoptimizer", "onnxoptimizer-defaults", "onnxsim", "onnxscript")
    levels = tuple(f"onnxruntime[level={level}]" for level in ("basic", "extended", "layout", "all"))
    session.run(
        *("onnx-conformance", "run", *(part for name in (*names, *levels) for part in ("-o", name))),
        *("--data", "data", "--level", "should"),
        *(part for file in sorted(Path("expectations/optimizers").glob("*.toml")) for part in ("--expect", str(file))),
        *("--results", "reports/latest/optimizers.jsonl", "--html", "reports/latest/optimizers.html"),
        *session.posargs,
    )


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
