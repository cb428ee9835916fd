"""The GitHub action, and the snippets and examples of docs/how-to/run-in-ci.md."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from corpora import ADAM
from repository import ROOT

from conformance.run.expectations.expectations_file import read_expectations

pytestmark = pytest.mark.programs

RIGHT, WRONG, ARGMAX = (f"fake_subject:{name}" for name in ("always_right", "always_wrong", "wrong_on_argmax"))
SUPPORT = ROOT / "tests" / "support"
SCRIPT = ROOT / ".ci" / "action.sh"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
BLOCKS = re.findall(
    r"^```(\w*)\n(.*?)^```$",
    (ROOT / "docs" / "how-to" / "run-in-ci.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)
SCRIPTS = Path(sysconfig.get_path("scripts"))


class Step(NamedTuple):
    """Exit status of a step of a job, and the files that the step wrote for the job."""

    status: int
    log: str
    summary: str
    output: str


@pytest.fixture
def shell(here):
    """Return a function that runs a bash script in an empty directory, like a CI. The fakes are importable."""

    def run(*arguments, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        variables = {"PYTHONPATH": str(SUPPORT), "PATH": f"{SCRIPTS}{os.pathsep}{kept['PATH']}", **variables}
        return subprocess.run(
            ["bash", *map(str, arguments)],
            cwd=here,
            env={**kept, **variables},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run


@pytest.fixture
def action(shell, here, corpus_copy):
    """Return a function that runs the action's script on a small corpus whose path has spaces.

    Only a run with an environment isolates its subjects.
    """
    corpus = corpus_copy.rename(corpus_copy.parent / "a corpus, $HOME `x`")
    summary, output = here / "the summary.md", here / "the output"

    def run(**inputs):
        options = "" if "ENVIRONMENT" in inputs else "--no-isolation --no-diagnosis "
        inputs["ARGS"] = f"{options}--data {shlex.quote(str(corpus))} {inputs.get('ARGS', '')}"
        ended = shell(SCRIPT, GITHUB_STEP_SUMMARY=str(summary), GITHUB_OUTPUT=str(output), **inputs)
        told = [path.read_text(encoding="utf-8") if path.exists() else "" for path in (summary, output)]
        return Step(ended.returncode, ended.stdout + ended.stderr, *told)

    return run


REPORTS = {
    *("results.jsonl", "index.html", "junit.xml", "ctrf.json"),
    *("summary.json", "summary.md", "badge.svg", "annotations.txt"),
}


class TestActionScript:
    def test_shellcheck_finds_nothing(self):
        ended = subprocess.run([SCRIPTS / "shellcheck", SCRIPT], capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stdout) == (0, "")

    def test_passing_run_writes_reports_and_outputs(self, action, here):
        step = action(BACKEND=RIGHT)
        assert step.status == 0, step.log
        assert step.summary.startswith("## PASSED: ")
        assert step.output == ("status=0\nresults=onnx-conformance/results.jsonl\npassed=5\nwrong=0\nunsupported=0\n")
        assert {path.name for path in (here / "onnx-conformance").iterdir()} == REPORTS

    def test_failing_run_writes_reports_and_outputs(self, action, here):
        step = action(BACKEND=WRONG, OUTPUT="my reports/here")
        assert step.status == 1
        assert step.summary.startswith("## FAILED: ")
        assert "\n::error title=FAILED%3A " in step.log
        assert step.output == ("status=1\nresults=my reports/here/results.jsonl\npassed=0\nwrong=5\nunsupported=0\n")
        reports = here / "my reports" / "here"
        assert {path.name for path in reports.iterdir()} == REPORTS
        failures = json.loads((reports / "summary.json").read_text(encoding="utf-8"))["failures"]
        assert ADAM in {case for failure in failures for case in failure["cases"]}

    def test_subjects_and_files_are_one_per_line(self, action, here):
        for name, subject in (("first file.toml", ARGMAX), ("second.toml", WRONG)):
            (here / name).write_text(f'subject = "{subject}"\n[[expect]]\nfail = "test_*"\nreason = "known"\n')
        step = action(BACKEND=f"  {ARGMAX}\n\n{RIGHT}  \n", EXPECT="first file.toml\n", FAIL_LEVEL="should")
        assert step.status == 1
        assert "first file.toml:3" in step.summary
        assert f"{RIGHT}</code> 0.0.7 | must | 5 of 5" in step.summary

    def test_args_are_split_and_never_expanded(self, action, here):
        step = action(BACKEND=RIGHT, ARGS='-k "test_adam and not zeros" --require Adam')
        assert step.status == 0, step.log
        assert "1 of 7 cases" in step.log
        marker = here / "marker"
        action(BACKEND=RIGHT, ARGS=f'-k "$(touch {marker})`touch {marker}`"')
        assert not marker.exists()

    @pytest.mark.variants(2)
    @pytest.mark.parametrize(
        "inputs",
        [{"BACKEND": "acme"}, {"BACKEND": RIGHT, "ARGS": "--nonsense"}, {"BACKEND": RIGHT, "ARGS": "--help"}, {}],
        ids=str,
    )
    def test_wrong_input_fails_on_the_page(self, action, inputs):
        step = action(**inputs)
        assert step.status == 2
        assert step.summary.startswith("## FAILED: ")
        assert "exit status 2" in step.summary

    @pytest.mark.parametrize(
        ("inputs", "name"),
        [({"ARGS": '"x'}, "args"), ({"OUTPUT": "a\nb=c"}, "output"), ({"OUTPUT": "-rf"}, "output")],
        ids=["quote", "line", "dash"],
    )
    def test_malformed_input_exits_with_2_and_writes_nothing(self, action, here, inputs, name):
        step = action(BACKEND=RIGHT, **inputs)
        assert (step.status, step.output) == (2, "status=2\n")
        assert f"error: Input {name} " in step.log
        assert [path for path in here.iterdir() if path.is_dir()] == []

    def test_subjects_run_in_the_python_of_the_job(self, action, here):
        venv.create(here / "job", with_pip=False)
        (here / "suite").mkdir()
        (here / "suite" / "bin").symlink_to(SCRIPTS)
        (here / "tells_its_python.py").write_text(
            "import sys\nfrom fake_subject import always_right\n"
            "prepare, __version__ = always_right.prepare, sys.prefix\n"
        )
        path = f"{here / 'job' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        step = action(BACKEND="tells_its_python", ENVIRONMENT=str(here / "suite"), PATH=path)
        assert step.status == 0, step.log
        (subject,) = json.loads((here / "onnx-conformance" / "summary.json").read_text(encoding="utf-8"))["subjects"]
        assert subject["version"] == str(here / "job")

    def test_summary_of_an_earlier_run_is_not_shown(self, action, here):
        (here / "onnx-conformance").mkdir()
        (here / "onnx-conformance" / "summary.md").write_text("## PASSED: earlier")
        assert "exit status 2" in action(BACKEND="acme").summary


class TestAction:
    def test_script_gets_every_input_and_nothing_else(self):
        step = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "run")
        read = set(re.findall(r"\$\{([A-Z_]+):-", SCRIPT.read_text(encoding="utf-8")))
        assert set(step["env"]) == read - {"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} | {"SUITE"}

    def test_inputs_used_equal_inputs_declared(self):
        text = (ROOT / "action.yml").read_text(encoding="utf-8")
        assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])

    def test_actions_used_are_pinned_to_commits(self):
        used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
        assert len(used) == 2
        assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action) for action in used)

    def test_pip_installs_only_into_separate_environment(self):
        lines = "\n".join(step.get("run", "") for step in ACTION["runs"]["steps"]).splitlines()
        installing = [line for line in lines if "pip" in line]
        assert [line.split()[0] for line in installing] == ['"$ENVIRONMENT/bin/python"']

    def test_scripts_contain_no_interpolated_input(self):
        assert not [step["run"] for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]


def snippet(language: str, beginning: str) -> str:
    """Return the code block of the page that begins with this text."""
    (found,) = [text for kind, text in BLOCKS if kind == language and text.startswith(beginning)]
    return str(found)


class TestHowToPage:
    @pytest.fixture
    def project(self, here, small_corpus):
        """Project of a backend. It uses a small corpus and a pip that installs nothing."""
        (here / "mypkg").mkdir()
        (here / "mypkg" / "__init__.py").write_text("")
        (here / "mypkg" / "backend.py").write_text(
            "from fake_subject import wrong_on_argmax\nprepare = wrong_on_argmax.prepare\n"
        )
        (here / "conformance.toml").write_text(
            'subject = "mypkg.backend"\n\n[[expect]]\nfail = ["*argmax*"]\nreason = "known"\n'
        )
        bin = here / "bin"
        bin.mkdir()
        (bin / "pip").write_text('#!/bin/sh\necho "$@" >>pip.log\n')
        suite = shlex.quote(str(SCRIPTS / "onnx-conformance"))
        run = f"{suite} run --no-isolation --data {shlex.quote(str(small_corpus))}"
        (bin / "onnx-conformance").write_text(
            f'#!/bin/sh\nif [ "$1" = run ]; then shift; exec {run} "$@"; fi\nexec {suite} "$@"\n'
        )
        for tool in bin.iterdir():
            tool.chmod(0o755)
        return {"PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": f"{here}{os.pathsep}{SUPPORT}"}

    def test_gitlab_s_script_runs_as_it_stands(self, shell, project, here):
        job = yaml.safe_load(snippet("yaml", "onnx-conformance:"))["onnx-conformance"]
        ended = shell("-ec", "\n".join(job["script"]), **project, **job["variables"])
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert (here / "pip.log").read_text() == "install . onnx-conformance\n"
        assert (here / job["artifacts"]["reports"]["junit"]).exists()
        written = {path.name for path in (here / "out").iterdir()}
        assert written == {"results.jsonl", "index.html", "junit.xml", "badge.svg"}

    def test_github_s_step_runs_with_its_inputs(self, shell, project, here):
        given = yaml.safe_load(snippet("yaml", "- uses: actions/checkout@v4\n- run"))[-1]["with"]
        assert set(given) <= set(ACTION["inputs"])
        inputs = {name.upper().replace("-", "_"): value for name, value in given.items()}
        ended = shell(SCRIPT, **project, **inputs)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert {path.name for path in (here / ACTION["inputs"]["output"]["default"]).iterdir()} == REPORTS

    def test_github_s_step_in_a_checkout_names_its_folder(self):
        checkout, action = yaml.safe_load(snippet("yaml", "- uses: actions/checkout@v4\n  with"))
        assert action["uses"] == f"./{checkout['with']['path']}"

    @pytest.mark.long
    def test_how_to_commands_run_in_order(self, shell, project, here):
        first = "onnx-conformance run -b mypkg.backend --results old.jsonl; mkdir out; cp old.jsonl out/results.jsonl"
        shell("-c", first, **project)
        commands = [line for kind, text in BLOCKS if not kind for line in text.splitlines()]
        ended = {command: shell("-c", command, **project) for command in commands}
        assert len(commands) == 6
        assert not {command: done.stderr for command, done in ended.items() if done.returncode not in {0, 1}}
        assert {"all.html", "all.xml"} <= {path.name for path in here.iterdir()}

    def test_how_to_expectations_are_valid(self, here):
        (here / "conformance.toml").write_text(snippet("toml", "subject"))
        first, *others = read_expectations(here / "conformance.toml").entries
        assert first.issue
        assert first.condition
        assert first.matches("test_adam_training_10_steps_float")
        assert all(entry.reason == first.reason for entry in others)

    def test_how_to_options_exist(self, command):
        named = set(re.findall(r"`(--[a-z]+)", (ROOT / "docs" / "how-to" / "run-in-ci.md").read_text(encoding="utf-8")))
        helps = command("run", "--help").out + command("update-expectations", "--help").out
        assert not {option for option in named if option not in helps}
