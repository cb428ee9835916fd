"""The pytest plugin in another test suite: collected items, options, and inactivity without an option."""

from __future__ import annotations

import re

import pytest
from command_outputs import results_by_key
from corpora import ADAM, EXACT, INDEX, SEVERAL, SMALL

from conformance.run.results.results_file import read_results

RIGHT, WRONG, WRONG_ON_ARGMAX = (f"fake_subject:{name}" for name in ("always_right", "always_wrong", "wrong_on_argmax"))


@pytest.fixture
def run(run_pytest, small_corpus):
    """Return a function that runs pytest in that directory on a backend and the small corpus, without isolation."""

    def run(backend, *arguments):
        told = (f"--onnx-backend={backend}", f"--onnx-data={small_corpus}", "--onnx-no-isolation")
        chosen = () if backend is None else told
        return run_pytest("-rA", *chosen, *arguments)

    return run


def counts(ended) -> dict[str, int]:
    """Return the counts in the last line of pytest's output."""
    line = next(line for line in reversed(ended.out.splitlines()) if " in " in line and line.strip("= ")[:1].isdigit())
    found = re.findall(r"(\d+) (passed|failed|skipped|xfailed|deselected|errors?)\b", line)
    return {what: int(number) for number, what in found}


class TestWithoutBackend:
    def test_pytest_without_option_collects_no_cases(self, run):
        ended = run(None)
        assert (ended.status, counts(ended)) == (0, {"passed": 1})

    def test_heavy_modules_are_not_imported(self, process, suite):
        (suite / "test_own.py").write_text(
            "import sys\n\n\ndef test_own_item():\n"
            "    heavy = {'numpy', 'onnx', 'rich', 'typer', 'jinja2'}\n"
            "    heavy |= {'conformance'}\n"
            "    assert not heavy & set(sys.modules)\n"
        )
        ended = process("pytest")
        assert counts(ended) == {"passed": 1}, ended.out

    def test_pytest_help_has_a_group_of_options(self, process):
        help = process("pytest", "--help").out
        assert "\nonnx-conformance:\n" in help
        for option in ("backend", "data", "case", "fail-level", "expect", "results"):
            assert f"--onnx-{option}" in help
        assert " --baseline" not in help


class TestWithBackend:
    def test_pytest_runs_own_tests_and_all_cases(self, run_pytest, small_corpus):
        ended = run_pytest(f"--onnx-backend={RIGHT}", f"--onnx-data={small_corpus}")
        assert (ended.status, counts(ended)) == (0, {"passed": 1 + len(SMALL)})

    def test_failing_cases_fail(self, run):
        ended = run(WRONG)
        assert ended.status == 1
        assert counts(ended) == {"passed": 1, "failed": 5, "xfailed": 2}

    def test_failure_shows_wrong_elements(self, run):
        out = run(WRONG, "-k", f"{ADAM} and not zeros").out
        assert re.search(r"\bX_new .*\b2 wrong of 2 .*\[0\]: ", out)

    def test_failure_has_no_traceback_or_suite_path(self, run):
        out = run(WRONG, "-k", ADAM).out
        assert "conformance/" not in out
        assert "Traceback" not in out

    def test_unsupported_cases_are_skipped_with_their_reason(self, run):
        ended = run("fake_subject:supports_only_adam")
        assert ended.status == 0
        assert counts(ended) == {"passed": 1 + 2, "skipped": len(SMALL) - 2}
        assert re.search(rf"^SKIPPED .* {INDEX}: unsupported: (?!Unsupported)", ended.out, re.MULTILINE)

    def test_session_without_passed_case_fails(self, run):
        ended = run("fake_subject:says_unsupported")
        assert ended.status == 1
        assert counts(ended)["error"] == 1

    def test_k_selects_among_them(self, run):
        ended = run(RIGHT, "-k", "argmax")
        assert counts(ended) == {"passed": 2, "deselected": len(SMALL) - 1}

    def test_node_id_has_case_and_subject(self, run):
        assert f"onnx-conformance::{ADAM}[{RIGHT}]" in run(RIGHT).out

    def test_lf_runs_only_what_failed(self, run):
        run(WRONG_ON_ARGMAX)
        ended = run(WRONG_ON_ARGMAX, "--lf")
        assert counts(ended)["failed"] == 2
        assert "passed" not in counts(ended)

    def test_x_stops_at_the_first(self, run):
        assert counts(run(WRONG, "-x"))["failed"] == 1

    def test_path_argument_excludes_own_tests(self, run, suite):
        (suite / "other").mkdir()
        ended = run(RIGHT, "other")
        assert counts(ended) == {"passed": len(SMALL)}

    def test_backend_option_twice_runs_cases_per_backend(self, run):
        ended = run(RIGHT, f"--onnx-backend={WRONG_ON_ARGMAX}")
        assert counts(ended) == {"passed": 2 * len(SMALL) - 1, "failed": 2}

    def test_cases_are_selected_by_id(self, run):
        assert counts(run(RIGHT, f"--onnx-case={ADAM}", f"--onnx-case={EXACT}")) == {"passed": 3}

    @pytest.mark.variants(1)
    @pytest.mark.parametrize(("level", "failed"), [("must", 5), ("should", 6)])
    def test_fail_level_decides_which_items_fail(self, run, level, failed):
        assert counts(run(WRONG, f"--onnx-fail-level={level}"))["failed"] == failed

    def test_results_are_written(self, run, suite):
        run(WRONG_ON_ARGMAX, "--onnx-results=out.jsonl")
        verdicts = {case: result["verdict"] for (_, case), result in results_by_key(suite / "out.jsonl").items()}
        assert verdicts == {case: "fail" if case in {EXACT, INDEX} else "pass" for case in SMALL}
        assert read_results(suite / "out.jsonl").footer.outcome == "fail"

    def test_shard_option_selects_part_of_cases(self, run):
        assert counts(run(RIGHT, "--onnx-shard=1/3")) == {"passed": 1 + len(SMALL[::3])}

    def test_baseline_and_required_operators_change_outcomes(self, run):
        run(WRONG_ON_ARGMAX, "--onnx-results=old.jsonl")
        again = ("--onnx-baseline=old.jsonl", "--onnx-require=ArgMax", "--onnx-repeat=2")
        assert counts(run(WRONG_ON_ARGMAX, *again)) == {"passed": len(SMALL) - 1, "xfailed": 2}

    def test_deselected_items_are_recorded_and_not_missing(self, run, suite):
        left_out = f"onnx-conformance::{ADAM}[{RIGHT}]"
        assert run(RIGHT, "--deselect", left_out, "--onnx-results=out.jsonl").status == 0
        assert read_results(suite / "out.jsonl").header.selection_options["--deselect"] == left_out

    def test_items_removed_by_another_plugin_are_missing(self, run, suite):
        (suite / "conftest.py").write_text(
            "def pytest_collection_modifyitems(items):\n"
            f"    items[:] = [item for item in items if {SEVERAL!r} not in item.name]\n"
        )
        ended = run(RIGHT, "--onnx-results=out.jsonl")
        assert ended.status == 1
        (reason,) = read_results(suite / "out.jsonl").footer.reasons
        assert reason.startswith(f"1 of {len(SMALL)} results are missing")

    def test_expected_failures_do_not_fail(self, run, suite):
        (suite / "e.toml").write_text(
            f'subject = "{WRONG_ON_ARGMAX}"\n[[expect]]\nfail = "*argmax*"\nreason = "known"\n'
        )
        ended = run(WRONG_ON_ARGMAX, "--onnx-expect=e.toml", "-n", "1")
        assert re.search(rf"^XFAIL .*{INDEX}.* - level must, e.toml:3: known: fail: ", ended.out, re.MULTILINE)
        assert (ended.status, counts(ended)) == (0, {"passed": len(SMALL) - 1, "xfailed": 2})

    def test_control_characters_of_an_expectations_file_are_escaped(self, run, suite):
        (suite / "e.toml").write_text('subject = "\\u001b[2Jx"\n')
        ended = run(RIGHT, "--onnx-expect=e.toml")
        assert "\\x1b[2Jx" in ended.out + ended.err
        assert "\x1b" not in ended.out + ended.err

    def test_unexpected_pass_fails(self, run, suite):
        (suite / "e.toml").write_text(f'subject = "{RIGHT}"\n[[expect]]\nfail = "{ADAM}"\nreason = "known"\n')
        ended = run(RIGHT, "--onnx-expect=e.toml")
        assert (ended.status, counts(ended)["failed"]) == (1, 1)
        assert re.search(r"^\[XPASS.*e.toml:3: known", ended.out, re.MULTILINE)

    def test_failing_own_test_is_counted_with_cases(self, run, suite):
        (suite / "test_own.py").write_text("def test_own_item():\n    assert 0\n")
        assert counts(run(RIGHT)) == {"passed": len(SMALL), "failed": 1}

    def test_junitxml_file_has_all_cases(self, run, suite):
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
    """Bad input ends pytest with its usage status and the suite's message."""

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (("--onnx-backend=acme",), "There is no backend acme"),
            (("--onnx-backend=json",), "`prepare`"),
            ((f"--onnx-backend={RIGHT}", "--onnx-case=test_adan"), "There is no case test_adan"),
            ((f"--onnx-backend={RIGHT}", "--onnx-data=nowhere"), "nowhere does not exist"),
            ((f"--onnx-backend={RIGHT}", "--onnx-expect=nowhere.toml"), "nowhere.toml cannot be read"),
            ((f"--onnx-backend={RIGHT}", "--onnx-fail-level=silent"), "silent"),
        ],
        ids=["backend", "prepare", "case", "data", "expect", "level"],
    )
    def test_bad_option_ends_session_before_first_test(self, run_pytest, small_corpus, arguments, problem):
        ended = run_pytest("--onnx-no-isolation", f"--onnx-data={small_corpus}", *arguments)
        assert ended.status == 4
        assert problem in ended.err + ended.out
        assert "Traceback" not in ended.err + ended.out

    def test_altered_corpus_ends_session_without_results(self, suite, run_pytest, corpus_copy):
        path = corpus_copy / "node" / SEVERAL / "model.onnx"
        path.write_bytes(path.read_bytes()[:-1])
        told = ("--onnx-no-isolation", f"--onnx-data={corpus_copy}", "--onnx-results=out.jsonl")
        ended = run_pytest(f"--onnx-backend={RIGHT}", *told)
        assert ended.status == 2
        assert f"{SEVERAL}/model.onnx" in ended.out + ended.err
        assert not (suite / "out.jsonl").exists()


def test_plugin_import_loads_no_heavy_module(process):
    heavy = "{'onnx', 'numpy', 'rich', 'conformance'}"
    program = f"import sys, onnx_conformance_pytest; print(sorted({heavy} & set(sys.modules)))"
    assert process("python", "-c", program).out == "[]\n"


class TestSharedState:
    """The last failures, options and import names that the plugin shares with `run`, other plugins and projects."""

    def test_item_id_of_output_is_accepted_as_argument(self, run):
        ended = run(RIGHT, "-v", f"onnx-conformance::{ADAM}[{RIGHT}]")
        assert counts(ended) == {"passed": 1}
        assert f"onnx-conformance::{ADAM}[{RIGHT}] PASSED" in ended.out

    @pytest.mark.long
    def test_item_id_is_accepted_with_workers(self, run):
        assert counts(run(RIGHT, "-n", "1", f"onnx-conformance::{ADAM}[{RIGHT}]")) == {"passed": 1}

    def test_unknown_item_id_is_usage_error(self, run):
        ended = run(RIGHT, f"onnx-conformance::test_adan[{RIGHT}]")
        assert (ended.status, "test_adan" in ended.err + ended.out) == (4, True)

    @pytest.mark.parametrize(
        "workers", [(), pytest.param(("-n", "1"), marks=pytest.mark.long)], ids=["no worker", "a worker"]
    )
    def test_last_failed_of_plugin_and_command_is_shared(self, run, process, suite, small_corpus, workers):
        run(WRONG_ON_ARGMAX)
        told = ("run", "-b", WRONG_ON_ARGMAX, "--data", small_corpus, "--no-diagnosis", "--no-isolation")
        process("fork", *told, "--lf", "--results", "out.jsonl")
        assert {case for _, case in results_by_key(suite / "out.jsonl")} == {EXACT, INDEX}
        process("fork", "run", "-b", WRONG, *told[3:], "--case", ADAM, "--fail-level", "should")
        ended = run(WRONG, "--lf", *workers)
        assert counts(ended)["failed"] == 1
        assert "passed" not in counts(ended)

    def test_workers_run_the_same_items_and_end_at_hundred_percent(self, run):
        ended = run(RIGHT, "-n", "2", "-v", "-p", "no:cacheprovider")
        assert (ended.status, counts(ended)) == (0, {"passed": 1 + len(SMALL)})
        found = [int(number) for number in re.findall(r"\[ *(\d+)%\]", ended.out)]
        assert found == sorted(found)
        assert (len(found), found[-1]) == (1 + len(SMALL), 100)

    def test_reasons_of_failed_run_are_printed(self, run):
        assert "onnx-conformance: " in run("fake_subject:says_unsupported").out

    def test_option_of_other_plugin_is_left_to_it(self, run_pytest, suite):
        (suite / "other.py").write_text(
            "def pytest_addoption(parser):\n    parser.addoption('--onnx-backend', default='own')\n"
            "def pytest_configure(config):\n    assert config.getoption('onnx_backend') == 'own'\n"
        )
        ended = run_pytest("-p", "other", "-p", "onnx_conformance_pytest", "test_own.py", plugins=())
        assert (ended.status, counts(ended)["passed"]) == (0, 1)
        assert "--onnx-backend" in ended.out


@pytest.fixture
def project(here):
    """Directory of a project whose own package is called `conformance`."""
    (here / "conformance").mkdir()
    (here / "conformance" / "__init__.py").write_text("OWN = True\n")
    (here / "test_own.py").write_text("def test_own_package():\n    import conformance\n\n    assert conformance.OWN\n")
    return here


def test_project_with_package_conformance_runs_its_tests(project, process):
    ended = process("python", "-m", "pytest", "test_own.py")
    assert (ended.status, counts(ended)) == (0, {"passed": 1}), ended.out + ended.err


def test_project_that_hides_the_suite_is_usage_error(project, process):
    ended = process("python", "-m", "pytest", "--onnx-backend", RIGHT, "test_own.py")
    assert (ended.status, "hides onnx-conformance" in ended.err + ended.out) == (4, True)
