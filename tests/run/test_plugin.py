"""The pytest plugin inside another test suite: its items are pytest's own, and without an option it is not there."""

from __future__ import annotations

import os
import re
from types import SimpleNamespace

import pytest
from corpora import ADAM, EXACT, INDEX, SEVERAL, SMALL
from forked import forked
from outputs import results_of
from repository import SUPPORT

from conformance.results.file import read
from conformance.run.session import ConformanceSession

RIGHT, WRONG, WRONG_ON_ARGMAX = (f"fake_backends:{name}" for name in ("AlwaysRight", "AlwaysWrong", "WrongOnArgMax"))
OWN = "def test_of_its_own():\n    pass\n"


@pytest.fixture
def suite(here):
    """Another test suite, of one test."""
    (here / "test_own.py").write_text(OWN)
    return here


@pytest.fixture
def pytest_there(suite):
    """Runs pytest there, with the fakes importable and the suite's plugin as if it were installed alone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(SUPPORT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugins = [part for name in ("conformance.run.plugin", "xdist") for part in ("-p", name)]

    def run(*arguments):
        return forked(pytest.main, ["pytest", *plugins, *map(str, arguments)], suite, [str(SUPPORT)], environment)

    return run


@pytest.fixture
def run(pytest_there, small_corpus):
    """Runs pytest there with the suite's plugin on a backend, in its own process, and the small corpus."""

    def run(backend, *arguments):
        told = (f"--onnx-backend={backend}", f"--onnx-data={small_corpus}", "--onnx-in-process")
        chosen = () if backend is None else told
        return pytest_there("-rA", *chosen, *arguments)

    return run


def counts(ended) -> dict[str, int]:
    """pytest's last line as numbers."""
    line = next(line for line in reversed(ended.out.splitlines()) if " in " in line and line.strip("= ")[:1].isdigit())
    found = re.findall(r"(\d+) (passed|failed|skipped|deselected|errors?)\b", line)
    return {what: int(number) for number, what in found}


class TestWithoutABackend:
    def test_nothing_of_ours_is_collected(self, run):
        ended = run(None)
        assert (ended.status, counts(ended)) == (0, {"passed": 1})

    def test_heavy_modules_are_not_imported(self, process, suite):
        (suite / "test_own.py").write_text(
            "import sys\n\n\ndef test_of_its_own():\n"
            "    heavy = {'numpy', 'onnx', 'rich', 'typer', 'jinja2'}\n"
            "    heavy |= {'conformance.run.session', 'conformance.corpus.corpus'}\n"
            "    assert not heavy & set(sys.modules)\n"
        )
        ended = process("pytest")
        assert counts(ended) == {"passed": 1}, ended.out

    def test_the_options_are_in_a_group_of_their_own(self, process):
        help = process("pytest", "--help").out
        assert "\nonnx-conformance:\n" in help
        for option in ("backend", "data", "case", "level", "expect", "results"):
            assert f"--onnx-{option}" in help


class TestWithABackend:
    def test_its_own_tests_and_every_case_are_run(self, pytest_there, small_corpus):
        ended = pytest_there(f"--onnx-backend={RIGHT}", f"--onnx-data={small_corpus}")
        assert (ended.status, counts(ended)) == (0, {"passed": 1 + len(SMALL)})

    def test_failing_cases_fail(self, run):
        ended = run(WRONG)
        assert ended.status == 1
        assert counts(ended) == {"passed": 1, "failed": 5, "skipped": 2}

    def test_a_failure_says_what_is_wrong(self, run):
        assert "X_new has 2 wrong of 2 elements, first at [0]: " in run(WRONG, "-k", f"{ADAM} and not zeros").out

    def test_a_failure_is_short_and_names_no_file_of_ours(self, run):
        out = run(WRONG, "-k", ADAM).out
        assert "conformance/" not in out
        assert "Traceback" not in out

    def test_unsupported_cases_are_skipped_with_their_reason(self, run):
        ended = run("raising_backends:SupportsOnlyAdam")
        assert ended.status == 0
        assert counts(ended) == {"passed": 1 + 2, "skipped": len(SMALL) - 2}
        assert "unsupported: Unsupported: Adam only" in ended.out

    def test_a_subject_that_passed_nothing_fails_the_session(self, run):
        assert run("raising_backends:SaysUnsupported").status == 1

    def test_k_selects_among_them(self, run):
        ended = run(RIGHT, "-k", "argmax")
        assert counts(ended) == {"passed": 2, "deselected": len(SMALL) - 1}

    def test_a_node_id_selects_one_nowhere_else(self, run):
        assert f"onnx-conformance::{ADAM}[{RIGHT}]" in run(RIGHT).out

    def test_lf_runs_only_what_failed(self, run):
        run(WRONG_ON_ARGMAX)
        ended = run(WRONG_ON_ARGMAX, "--lf")
        assert counts(ended)["failed"] == 2
        assert "passed" not in counts(ended)

    def test_x_stops_at_the_first(self, run):
        assert counts(run(WRONG, "-x"))["failed"] == 1

    def test_a_path_keeps_other_tests_out(self, run, suite):
        (suite / "other").mkdir()
        ended = run(RIGHT, "other")
        assert counts(ended) == {"passed": len(SMALL)}

    def test_two_processes_run_the_same(self, run):
        ended = run(RIGHT, "-n", "2")
        assert (ended.status, counts(ended)) == (0, {"passed": 1 + len(SMALL)})

    def test_several_backends_have_items_of_their_own(self, run):
        ended = run(RIGHT, f"--onnx-backend={WRONG_ON_ARGMAX}")
        assert counts(ended) == {"passed": 2 * len(SMALL) - 1, "failed": 2}

    def test_cases_are_selected_by_id(self, run):
        assert counts(run(RIGHT, f"--onnx-case={ADAM}", f"--onnx-case={EXACT}")) == {"passed": 3}

    @pytest.mark.parametrize(("level", "failed"), [("must", 5), ("should", 6)])
    def test_the_level_decides_what_fails(self, run, level, failed):
        assert counts(run(WRONG, f"--onnx-level={level}"))["failed"] == failed

    def test_results_are_written(self, run, suite):
        run(WRONG_ON_ARGMAX, "--onnx-results=out.jsonl")
        verdicts = {case: result["verdict"] for (_, case), result in results_of(suite / "out.jsonl").items()}
        assert verdicts == {case: "fail" if case in {EXACT, INDEX} else "pass" for case in SMALL}
        assert read(suite / "out.jsonl").footer["gate"] == "fail"

    def test_a_shard_is_a_part_of_them(self, run):
        assert counts(run(RIGHT, "--onnx-shard=1/3")) == {"passed": 1 + len(SMALL[::3])}

    def test_a_baseline_and_required_operators_are_the_gate_s(self, run):
        run(WRONG_ON_ARGMAX, "--onnx-results=old.jsonl")
        again = ("--onnx-baseline=old.jsonl", "--onnx-require=ArgMax", "--onnx-repeat=2")
        assert counts(run(WRONG_ON_ARGMAX, *again)) == {"passed": len(SMALL) - 1, "skipped": 2}

    def test_what_pytest_was_told_to_leave_out_is_told_and_not_missed(self, run, suite):
        left_out = f"onnx-conformance::{ADAM}[{RIGHT}]"
        assert run(RIGHT, "--deselect", left_out, "--onnx-results=out.jsonl").status == 0
        assert read(suite / "out.jsonl").header["selection"]["--deselect"] == left_out

    def test_what_something_else_leaves_out_is_missed(self, run, suite):
        (suite / "conftest.py").write_text(
            "def pytest_collection_modifyitems(items):\n"
            f"    items[:] = [item for item in items if {SEVERAL!r} not in item.name]\n"
        )
        ended = run(RIGHT, "--onnx-results=out.jsonl")
        assert ended.status == 1
        (reason,) = read(suite / "out.jsonl").footer["reasons"]
        assert reason.startswith(f"1 of {len(SMALL)} results are missing")

    def test_expected_failures_do_not_fail(self, run, suite):
        (suite / "e.toml").write_text(
            f'subject = "{WRONG_ON_ARGMAX}"\n[[expect]]\ncases = "*argmax*"\nverdict = "fail"\nreason = "known"\n'
        )
        ended = run(WRONG_ON_ARGMAX, "--onnx-expect=e.toml")
        assert (ended.status, counts(ended)) == (0, {"passed": len(SMALL) - 1, "skipped": 2})

    def test_an_unexpected_pass_fails(self, run, suite):
        (suite / "e.toml").write_text(
            f'subject = "{RIGHT}"\n[[expect]]\ncases = "{ADAM}"\nverdict = "fail"\nreason = "known"\n'
        )
        ended = run(RIGHT, "--onnx-expect=e.toml")
        assert (ended.status, counts(ended)["failed"]) == (1, 1)

    def test_a_failing_test_of_its_own_fails_beside_them(self, run, suite):
        (suite / "test_own.py").write_text(OWN.replace("pass", "assert 0"))
        assert counts(run(RIGHT)) == {"passed": len(SMALL), "failed": 1}

    def test_a_junit_file_has_every_case(self, run, suite):
        run(WRONG_ON_ARGMAX, "--junitxml=out.xml")
        text = (suite / "out.xml").read_text()
        assert f'tests="{1 + len(SMALL)}"' in text
        assert 'failures="2"' in text

    def test_verbose_output_has_a_line_for_each(self, run):
        out = run(RIGHT, "-v").out
        assert all(f"{case}[{RIGHT}] PASSED" in out for case in SMALL)

    def test_collecting_alone_runs_nothing(self, run):
        ended = run(WRONG, "--collect-only", "-q")
        assert ended.status == 0
        assert f"onnx-conformance::{SEVERAL}[{WRONG}]" in ended.out


class TestBadInput:
    """pytest's own status for wrong usage, with our sentence."""

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (("--onnx-backend=acme",), "There is no backend acme"),
            (("--onnx-backend=json",), "json has no `prepare`"),
            ((f"--onnx-backend={RIGHT}", "--onnx-case=test_adan"), "There is no case test_adan"),
            ((f"--onnx-backend={RIGHT}", "--onnx-data=nowhere"), "nowhere is not a corpus"),
            ((f"--onnx-backend={RIGHT}", "--onnx-expect=nowhere.toml"), "nowhere.toml cannot be read"),
            ((f"--onnx-backend={RIGHT}", "--onnx-level=silent"), "silent"),
        ],
        ids=["backend", "prepare", "case", "data", "expect", "level"],
    )
    def test_it_ends_before_anything_runs(self, pytest_there, arguments, problem):
        ended = pytest_there(*arguments)
        assert ended.status == 4
        assert problem in ended.err + ended.out
        assert "Traceback" not in ended.err + ended.out

    def test_an_altered_corpus_ends_the_run_and_leaves_no_results(self, suite, pytest_there, corpus_copy):
        path = corpus_copy / "node" / SEVERAL / "model.onnx"
        path.write_bytes(path.read_bytes()[:-1])
        ended = pytest_there(f"--onnx-backend={RIGHT}", f"--onnx-data={corpus_copy}", "--onnx-results=out.jsonl")
        assert ended.status == 2
        assert "is altered or truncated" in ended.out + ended.err
        assert not (suite / "out.jsonl").exists()


def test_the_plugin_s_module_imports_nothing_heavy(process):
    program = "import sys, conformance.run.plugin; print(sorted({'onnx', 'numpy', 'rich'} & set(sys.modules)))"
    assert process("python", "-c", program).out == "[]\n"


def test_a_batch_is_logged_where_its_last_report_is_and_not_by_the_thread_that_reads_it():
    session = object.__new__(ConformanceSession)
    session.recorder = None
    logged = []
    hook = SimpleNamespace(pytest_runtest_logreport=lambda report: logged.append(report.nodeid))
    parts = [(name, ("", None, name), {}, 0.0) for name in ("first", "second", "last")]
    last = session.pytest_report_from_serializable(SimpleNamespace(hook=hook), {"batch": parts})
    assert (last.nodeid, logged) == ("last", [])
    session.pytest_runtest_logreport(last)
    assert logged == ["first", "second"]
