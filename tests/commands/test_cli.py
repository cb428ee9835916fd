"""The command line: what each verb says and how it ends, above all on bad input."""

from __future__ import annotations

import json
import re

import pytest
from support import ADAM, EXACT, INDEX, REPEATED, SEVERAL, SHOULD, SILENT, SMALL, records, results_of, tree

from conformance.corpus.corpus import MANIFEST, manifest_bytes
from conformance.results.file import read
from conformance.schemas import complaint

VERBS = (
    "run",
    "report",
    "list",
    "explain",
    "verify",
    "generate",
    "lower",
    "strength",
    "diff",
    "merge",
    "expect",
    "hazards",
    "harness",
)
RIGHT, WRONG = "fake_backends:AlwaysRight", "fake_backends:AlwaysWrong"


def assert_bad_input(ended, *named: str) -> None:
    """Assert that a command ended as it does on bad input: status 2, a sentence and a mend, no traceback."""
    assert ended.status == 2, (ended.out, ended.err)
    assert "Traceback" not in ended.out + ended.err
    assert "INTERNALERROR" not in ended.out + ended.err
    lines = ended.err.splitlines()
    assert [line[:7] for line in lines[-2:]] == ["error: ", "       "], ended.err
    assert len(lines) == 2, ended.err
    assert lines[1].endswith((".", "?")), ended.err
    for name in named:
        assert name in ended.err


def assert_bad_input_by_pytest(ended, named: str) -> None:
    """Assert that a command ended on bad input that pytest is the first to notice, with its sentence above ours."""
    assert ended.status == 2, (ended.out, ended.err)
    assert "Traceback" not in ended.out + ended.err
    assert named in ended.err


def assert_usage_error(ended, *named: str) -> None:
    """Assert that a command ended as it does where its options are wrong."""
    assert ended.status == 2
    assert "Traceback" not in ended.err
    for name in named:
        assert name in re.sub(r"[^\w'.,-]+", " ", ended.err)


@pytest.fixture
def run(command, small_corpus):
    """Runs `onnx-conformance run` on the small corpus."""
    return lambda *arguments: command("run", "--data", small_corpus, *arguments)


@pytest.fixture
def run_apart(process, small_corpus):
    """The same in a process of its own, as several processes need it."""
    return lambda *arguments: process("onnx-conformance", "run", "--data", small_corpus, *arguments)


class TestHelp:
    @pytest.mark.parametrize("verb", VERBS)
    def test_every_verb_has_it(self, command, verb):
        ended = command(verb, "--help")
        assert ended.status == 0
        assert "Usage: " in ended.out

    def test_the_command_itself_names_every_verb(self, command):
        ended = command("--help")
        assert ended.status == 0
        assert all(verb in ended.out for verb in VERBS)

    def test_an_unknown_verb_is_refused(self, command):
        assert_usage_error(command("rum"), "rum")

    def test_heavy_modules_are_not_imported_for_it(self, process):
        program = (
            "import sys; sys.argv = ['x', '--help']\n"
            "from conformance.cli import main\n"
            "try: main()\n"
            "except SystemExit: print(sorted({'numpy', 'onnx', 'pytest', 'jinja2'} & set(sys.modules)))"
        )
        assert process("python", "-c", program).out.splitlines()[-1] == "[]"


class TestWhatIsWrongWithARun:
    """Status 2, one clear sentence naming the thing and the mend, and nothing left behind."""

    @pytest.fixture(autouse=True)
    def nothing_is_left_behind(self, here):
        before = tree(here)
        yield
        left = {name: content for name, content in tree(here).items() if not name.startswith(("given_", "__pycache__"))}
        assert left == before

    def test_an_unknown_case(self, run):
        assert_bad_input(
            run("-b", RIGHT, "--case", "test_adan"), "There is no case test_adan", "Did you mean test_adam?"
        )

    @pytest.mark.parametrize("name", ["acme", "acme.backend", "fake_backends.missing", "", ".", "..x", ":X", "a b"])
    def test_an_unknown_backend(self, run, name):
        assert_bad_input(run("-b", name), f"There is no backend {name}", "onnx-reference")

    def test_a_backend_without_that_attribute(self, run):
        assert_bad_input(run("-b", "fake_backends:Missing"), "fake_backends has no Missing")

    def test_a_backend_without_prepare(self, run):
        assert_bad_input(run("-b", "fake_backends:HasNoPrepare"), "fake_backends:HasNoPrepare has no `prepare`")

    def test_a_module_without_prepare(self, run):
        assert_bad_input(run("-b", "json"), "json has no `prepare`")

    @pytest.mark.parametrize(
        ("name", "source", "reason"),
        [
            ("import", "import a_package_that_is_not_there", "No module named 'a_package_that_is_not_there'"),
            ("syntax", "def (", "SyntaxError"),
            ("error", "raise RuntimeError('no licence')", "RuntimeError: no licence"),
            ("value", "raise ValueError('bad setting')", "ValueError: bad setting"),
            ("type", "None + 1", "TypeError"),
            ("exit", "import sys; sys.exit(0)", "SystemExit"),
        ],
    )
    def test_a_backend_that_fails_to_import(self, run, here, name, source, reason):
        (here / f"given_{name}.py").write_text(source)
        assert_bad_input(run("-b", f"given_{name}"), f"Backend given_{name} fails to import", reason)

    def test_one_backend_twice(self, run):
        assert_bad_input(run("-b", RIGHT, "-b", RIGHT), f"{RIGHT} is named twice")

    def test_no_backend(self, run):
        assert_bad_input(run(), "Nothing to run is named", "-b")

    @pytest.mark.parametrize("level", ["bogus", "", "silent", "MUST"])
    def test_an_unknown_level(self, run, level):
        assert_usage_error(run("-b", RIGHT, "--level", level), "level")

    def test_a_selection_that_matches_nothing(self, run):
        assert_bad_input(run("-b", RIGHT, "-k", "nothing_like_it"), "The selection matches no case")

    def test_a_selection_that_matches_nothing_in_two_processes(self, run_apart):
        assert_bad_input(run_apart("-b", RIGHT, "-k", "nothing_like_it", "-n", "2"), "The selection matches no case")

    def test_a_word_of_the_corpus_s_path_selects_nothing(self, run, small_corpus):
        assert_bad_input(run("-b", RIGHT, "-k", "json or few or corpora"), "The selection matches no case")

    def test_a_selection_that_is_no_expression(self, run):
        assert_bad_input_by_pytest(run("-b", RIGHT, "-k", "adam and ("), "adam and (")

    @pytest.mark.parametrize("number", ["many", "1.5"])
    def test_a_number_of_processes_that_is_none(self, run, number):
        assert_bad_input_by_pytest(run("-b", RIGHT, "-n", number), number)

    @pytest.mark.parametrize("name", ["missing", "given_empty", "given_file"])
    def test_a_directory_that_is_no_corpus(self, command, here, name):
        (here / "given_empty").mkdir()
        (here / "given_file").write_text("")
        assert_bad_input(command("run", "-b", RIGHT, "--data", name), f"{name} is not a corpus", "generate")

    @pytest.mark.parametrize("name", ["my [old] cases", "my::cases"])
    def test_a_directory_whose_name_pytest_reads_otherwise(self, command, corpus_copy, tmp_path, name):
        corpus_copy.rename(tmp_path / name)
        assert_bad_input_by_pytest(command("run", "-b", RIGHT, "--data", tmp_path / name), name)

    def test_a_missing_file_of_the_corpus(self, command, corpus_copy):
        (corpus_copy / "node" / ADAM / "model.onnx").unlink()
        ended = command("run", "-b", RIGHT, "--data", corpus_copy, "--results", "out.jsonl")
        assert_bad_input(ended, f"node/{ADAM}/model.onnx is missing", "Restore it")

    @pytest.mark.parametrize(
        "file",
        [f"{SEVERAL}/model.onnx", f"{SEVERAL}/test_data_set_0/input_2.pb", f"{SEVERAL}/case.json", f"{ADAM}/case.json"],
        ids=["model", "tensor", "description", "first description"],
    )
    def test_an_altered_file_that_the_run_comes_upon(self, command, corpus_copy, file):
        path = corpus_copy / "node" / file
        path.write_bytes(path.read_bytes() + b"?")
        ended = command("run", "-b", RIGHT, "--data", corpus_copy, "--results", "out.jsonl", "--html", "out.html")
        assert_bad_input(ended, f"node/{file} is altered or truncated")

    @pytest.mark.parametrize("file", [f"{SEVERAL}/model.onnx", f"{SEVERAL}/case.json"], ids=["model", "description"])
    def test_an_altered_file_that_one_of_two_processes_comes_upon(self, process, corpus_copy, file):
        path = corpus_copy / "node" / file
        path.write_bytes(path.read_bytes() + b"?")
        arguments = ("-b", RIGHT, "--data", corpus_copy, "--results", "out.jsonl", "-n", "2")
        assert_bad_input(process("onnx-conformance", "run", *arguments), f"node/{file} is altered or truncated")

    def test_an_expectations_file_about_another_subject(self, run, here):
        (here / "given_expect.toml").write_text('subject = "other"\n')
        assert_bad_input(
            run("-b", RIGHT, "--expect", "given_expect.toml"), "is about other, which is not run", "-b other"
        )

    def test_an_expectations_file_that_is_not_there(self, run):
        assert_bad_input(run("-b", RIGHT, "--expect", "missing.toml"), "missing.toml cannot be read")

    def test_an_expectations_file_that_is_malformed(self, run, here):
        (here / "given_expect.toml").write_text("subject")
        assert_bad_input(run("-b", RIGHT, "--expect", "given_expect.toml"), "given_expect.toml is not TOML")

    @pytest.mark.parametrize("option", ["--results", "--html"])
    def test_an_output_that_is_a_directory(self, run, here, option):
        (here / "given_directory").mkdir()
        assert_bad_input(run("-b", RIGHT, option, "given_directory"), "given_directory")

    @pytest.mark.parametrize("option", ["--results", "--html"])
    def test_an_output_below_a_file(self, run, here, option):
        (here / "given_file").write_text("")
        assert_bad_input(run("-b", RIGHT, option, "given_file/out"), "given_file")


class TestRun:
    def test_a_backend_that_is_right_holds_the_gate(self, run):
        ended = run("-b", RIGHT)
        assert ended.status == 0
        assert "The gate holds." in ended.out
        assert f"{len(SMALL)} of {len(SMALL)} cases" in ended.out

    def test_a_backend_that_is_wrong_shuts_it(self, run):
        ended = run("-b", WRONG)
        assert ended.status == 1
        assert f"{ADAM} fails on {WRONG}" in ended.out

    def test_a_backend_that_supports_nothing_shuts_it(self, run):
        ended = run("-b", "fake_backends:SaysUnsupported")
        assert ended.status == 1
        assert "passed nothing" in ended.out

    def test_unsupported_cases_are_tolerated_and_never_counted_as_passes(self, run):
        ended = run("-b", "fake_backends:SupportsOnlyAdam")
        assert ended.status == 0
        assert re.search(r"must +1 +4 +5", ended.out), ended.out

    @pytest.mark.parametrize(("level", "status"), [("must", 0), ("should", 1)])
    def test_the_gate_judges_up_to_its_level(self, run, here, level, status):
        (here / "given_wrong_on_should.py").write_text(
            "from fake_backends import AlwaysRight, AlwaysWrong\n"
            "def prepare(model, device):\n"
            f"    return (AlwaysWrong if model.graph.name == {SHOULD!r} else AlwaysRight)(model)\n"
        )
        assert run("-b", "given_wrong_on_should", "--level", level).status == status

    def test_a_silent_case_fails_no_run(self, run):
        ended = run("-b", WRONG, "-b", RIGHT, "--case", SILENT, "--level", "should")
        assert f"{SILENT} on" not in ended.out

    def test_several_backends_are_judged_one_by_one(self, run):
        ended = run("-b", RIGHT, "-b", WRONG, "--results", "out.jsonl")
        assert ended.status == 1
        assert f"on {RIGHT}" not in ended.out

    def test_several_backends_are_in_one_results_file(self, run, here):
        run("-b", RIGHT, "-b", WRONG, "--results", "out.jsonl")
        verdicts = {key: result["verdict"] for key, result in results_of(here / "out.jsonl").items()}
        assert verdicts == {(s, c): v for s, v in ((RIGHT, "pass"), (WRONG, "fail")) for c in SMALL}

    @pytest.mark.parametrize("name", ["reference", "onnx-reference", "onnxruntime"])
    def test_a_registered_backend_is_run_by_its_short_name(self, run, here, name):
        run("-b", name, "--case", EXACT, "--results", "out.jsonl")
        ((subject, _),) = results_of(here / "out.jsonl")
        assert subject == name

    def test_a_module_is_a_backend(self, run, here):
        (here / "given_module.py").write_text("from fake_backends import AlwaysRight\nprepare = AlwaysRight.prepare\n")
        assert run("-b", "given_module").status == 0

    def test_the_version_of_a_subject_is_told(self, run, here):
        run("-b", RIGHT, "-b", "fake_backends:HasAVersion", "--results", "out.jsonl")
        subjects = {subject["id"]: subject["version"] for subject in read(here / "out.jsonl").header["subjects"]}
        assert subjects == {RIGHT: "0.0.7", "fake_backends:HasAVersion": "<script>1.2</script>"}

    def test_a_selection_by_expression(self, run, here):
        assert run("-b", RIGHT, "-k", "argmax and not tie_last", "--results", "out.jsonl").status == 0
        assert {case for _, case in results_of(here / "out.jsonl")} == {EXACT}

    def test_a_selection_by_id(self, run, here):
        assert run("-b", RIGHT, "--case", ADAM, "--case", EXACT, "--results", "out.jsonl").status == 0
        assert {case for _, case in results_of(here / "out.jsonl")} == {ADAM, EXACT}

    def test_a_selection_is_told_in_the_results(self, run, here):
        run("-b", RIGHT, "-k", "argmax", "--level", "should", "--results", "out.jsonl")
        header = read(here / "out.jsonl").header
        assert (header["selection"]["-k"], header["selection"]["--level"]) == ("argmax", "should")
        assert (header["corpus"]["selected"], header["corpus"]["cases"]) == (2, len(SMALL))

    def test_a_selection_whose_cases_all_are_unsupported_shuts_the_gate(self, run):
        assert run("-b", "fake_backends:SupportsOnlyAdam", "--case", EXACT).status == 1

    def test_x_stops_at_the_first_surprise(self, run, here):
        assert run("-b", WRONG, "-x", "--results", "out.jsonl").status == 1
        assert len(results_of(here / "out.jsonl")) == 1
        assert any("results are missing" in reason for reason in read(here / "out.jsonl").footer["reasons"])

    def test_without_diagnosis_no_result_is_explained(self, run, here):
        assert run("-b", WRONG, "--no-diagnosis", "--results", "out.jsonl").status == 1
        assert not any("agrees_with" in result for result in results_of(here / "out.jsonl").values())
        assert read(here / "out.jsonl").footer["diagnoses"] == []

    def test_lf_runs_what_failed_the_last_time(self, run, here):
        run("-b", "fake_backends:WrongOnArgMax")
        run("-b", "fake_backends:WrongOnArgMax", "--lf", "--results", "out.jsonl")
        assert {case for _, case in results_of(here / "out.jsonl")} == {EXACT, INDEX}

    def test_an_interrupted_run_never_holds(self, run, here):
        ended = run("-b", "fake_backends:Interrupted", "--in-process", "--results", "out.jsonl")
        assert ended.status == 1
        assert "Traceback" not in ended.err
        footer = read(here / "out.jsonl").footer
        assert (footer["gate"], footer["interrupted"]) == ("fail", True)

    def test_an_expected_failure_holds_the_gate(self, run, here):
        subject = "fake_backends:WrongOnArgMax"
        (here / "e.toml").write_text(
            f'subject = "{subject}"\n[[expect]]\ncases = ["*argmax*"]\nverdict = "fail"\nreason = "known <b>"\n'
        )
        assert run("-b", subject, "--expect", "e.toml", "--results", "out.jsonl").status == 0
        assert results_of(here / "out.jsonl")[subject, EXACT]["expected"] == {
            "verdict": "fail",
            "reason": "known <b>",
            "place": "e.toml:3",
        }

    def test_an_unexpected_pass_shuts_it(self, run, here):
        (here / "e.toml").write_text(
            f'subject = "{RIGHT}"\n[[expect]]\ncases = ["{ADAM}"]\nverdict = "fail"\nreason = "known"\n'
        )
        ended = run("-b", RIGHT, "--expect", "e.toml")
        assert ended.status == 1
        assert f"e.toml:3: {ADAM} passes on {RIGHT}, fail expected: take it out" in ended.out

    def test_an_expectation_that_matches_nothing_shuts_a_whole_run_only(self, run, here):
        (here / "e.toml").write_text(
            f'subject = "{RIGHT}"\n[[expect]]\ncases = ["test_gone"]\nverdict = "fail"\nreason = "known"\n'
        )
        assert run("-b", RIGHT, "--expect", "e.toml").status == 1
        assert run("-b", RIGHT, "--expect", "e.toml", "--case", ADAM).status == 0

    def test_every_line_of_its_results_satisfies_the_schema(self, run, here):
        run("-b", WRONG, "-b", "fake_backends:RaisesStrangeText", "--results", "out.jsonl")
        lines = records(here / "out.jsonl")
        assert not [complaint("results", line) for line in lines if complaint("results", line)]
        assert read(here / "out.jsonl").footer["results"] == 2 * len(SMALL)

    def test_the_noise_of_a_backend_spoils_nothing(self, run, here):
        ended = run("-b", "fake_backends:PrintsMuch", "--results", "out.jsonl")
        assert ended.status == 0
        assert "The gate holds." in ended.out
        assert len(results_of(here / "out.jsonl")) == len(SMALL)

    def test_a_report_needs_no_results_file(self, run, here):
        assert run("-b", RIGHT, "--html", "out.html").status == 0
        assert [path for path in tree(here) if "__pycache__" not in path] == ["out.html"]

    def test_a_report_is_written_where_the_gate_is_shut_too(self, run, here):
        assert run("-b", WRONG, "--html", "deep/out.html").status == 1
        assert ADAM in (here / "deep" / "out.html").read_text()

    def test_names_and_messages_arrive_in_the_report_as_text(self, run, here):
        (here / "given_markup.py").write_text(
            "__version__ = '</script><script>alert(1)</script>'\n"
            "def prepare(model, device):\n    raise ValueError('</script><script>alert(2)</script>')\n"
        )
        run("-b", "given_markup", "--html", "out.html")
        assert "<script>alert" not in (here / "out.html").read_text()

    def test_output_files_may_have_parents_that_are_not_there(self, run, here):
        assert run("-b", RIGHT, "--results", "a/b/out.jsonl").status == 0
        assert read(here / "a" / "b" / "out.jsonl").footer["gate"] == "pass"

    def test_a_corpus_s_directory_may_have_spaces_and_other_letters(self, command, corpus_copy, tmp_path):
        corpus_copy.rename(tmp_path / "-k ünsere Fälle")
        assert command("run", "-b", RIGHT, "--data", tmp_path / "-k ünsere Fälle").status == 0

    def test_an_old_results_file_is_replaced(self, run, here):
        (here / "out.jsonl").write_text("old\n" * 10_000)
        run("-b", RIGHT, "--results", "out.jsonl")
        assert read(here / "out.jsonl").footer["gate"] == "pass"

    def test_the_user_s_pytest_settings_do_not_touch_it(self, run, here, monkeypatch):
        monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
        (here / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
        (here / "conftest.py").write_text("raise RuntimeError")
        assert run("-b", RIGHT).status == 0


def comparable(path):
    """A results file but for the order of its lines, its times and its command."""
    lines = records(path)
    for line in lines:
        for name in ("seconds", "command"):
            line.pop(name, None)
    return sorted(lines, key=lambda line: json.dumps(line, sort_keys=True))


class TestSeveralProcesses:
    def test_two_processes_give_what_one_gives(self, run, run_apart, here):
        backends = ("-b", RIGHT, "-b", "fake_backends:WrongOnArgMax")
        assert run(*backends, "--results", "one.jsonl").status == 1
        assert run_apart(*backends, "--results", "two.jsonl", "-n", "2").status == 1
        assert comparable(here / "one.jsonl") == comparable(here / "two.jsonl")

    def test_a_backend_s_text_of_any_kind_comes_through(self, run_apart, here):
        assert run_apart("-b", "fake_backends:RaisesStrangeText", "-n", "2", "--results", "out.jsonl").status == 1
        assert len(results_of(here / "out.jsonl")) == len(SMALL)

    def test_a_backend_in_the_current_directory_is_found_by_every_process(self, run_apart, here):
        (here / "given_local.py").write_text("from fake_backends import AlwaysRight\nprepare = AlwaysRight.prepare\n")
        assert run_apart("-b", "given_local", "-n", "2").status == 0

    def test_a_backend_that_kills_its_process_never_holds_the_gate(self, run_apart):
        ended = run_apart("-b", "fake_backends:KillsItsProcess", "-n", "2")
        assert ended.status in {1, 2}, ended.out
        assert "Traceback" not in ended.err


class TestAsAProgram:
    """In a process of its own, with its real exit status and streams."""

    def test_a_run_that_holds(self, process, small_corpus):
        ended = process("onnx-conformance", "run", "-b", RIGHT, "--data", small_corpus)
        assert (ended.status, ended.err) == (0, "")

    def test_a_run_that_does_not(self, process, small_corpus):
        assert process("onnx-conformance", "run", "-b", WRONG, "--data", small_corpus).status == 1

    def test_bad_input(self, process):
        assert_bad_input(process("onnx-conformance", "run", "-b", "acme"), "There is no backend acme")

    def test_the_noise_of_a_backend(self, process, small_corpus, here):
        ended = process(
            "onnx-conformance",
            "run",
            "-b",
            "fake_backends:PrintsMuch",
            "--data",
            small_corpus,
            "--results",
            "out.jsonl",
        )
        assert ended.status == 0
        assert read(here / "out.jsonl").footer["gate"] == "pass"

    def test_output_cut_short_by_its_reader(self, process, here):
        program = (
            "import subprocess as s, sys, sysconfig\n"
            "command = [sysconfig.get_path('scripts') + '/onnx-conformance', 'list']\n"
            "listing = s.Popen(command, stdout=s.PIPE, stderr=s.PIPE)\n"
            "listing.stdout.readline()\n"
            "listing.stdout.close()\n"
            "print(repr(listing.stderr.read()))"
        )
        assert process("python", "-c", program).out == "b''\n"


class TestReport:
    @pytest.fixture
    def results(self, run, here):
        run("-b", WRONG, "--results", "out.jsonl")
        return here / "out.jsonl"

    def test_it_is_written_from_results_alone(self, command, results, here):
        assert command("report", "out.jsonl", "--html", "out.html").status == 0
        assert WRONG in (here / "out.html").read_text()

    def test_it_is_the_one_that_the_run_writes(self, run, command, here):
        run("-b", WRONG, "--results", "out.jsonl", "--html", "run.html")
        command("report", "out.jsonl", "--html", "report.html")
        assert (here / "run.html").read_bytes() == (here / "report.html").read_bytes()

    def test_a_truncated_file_is_refused_and_nothing_written(self, command, results, here):
        results.write_text(results.read_text()[:-30])
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"), "out.jsonl is truncated")
        assert not (here / "out.html").exists()

    @pytest.mark.parametrize("content", ["", "hello\n", "{}\n", '{"record": "header"}\n'])
    def test_a_foreign_file_is_refused_and_nothing_written(self, command, here, content):
        (here / "out.jsonl").write_text(content)
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"), "out.jsonl is ")
        assert not (here / "out.html").exists()

    def test_a_refusal_leaves_the_old_report(self, command, here):
        (here / "out.jsonl").write_text("")
        (here / "out.html").write_text("old")
        assert_bad_input(command("report", "out.jsonl", "--html", "out.html"))
        assert (here / "out.html").read_text() == "old"

    def test_a_missing_file_is_refused(self, command):
        assert_bad_input(command("report", "missing.jsonl", "--html", "out.html"), "missing.jsonl is not a file")

    def test_two_runs_of_one_subject_stand_side_by_side(self, command, results, here):
        (here / "new.jsonl").write_bytes(results.read_bytes())
        assert command("report", "out.jsonl", "new.jsonl", "--html", "out.html").status == 0
        page = (here / "out.html").read_text()
        assert all(f"{WRONG} ({run})" in page for run in ("run 1: out.jsonl", "run 2: new.jsonl"))

    def test_an_output_that_is_a_directory_is_refused(self, command, results, here):
        assert_bad_input(command("report", "out.jsonl", "--html", here), str(here))

    def test_no_file_is_a_usage_error(self, command):
        assert_usage_error(command("report", "--html", "out.html"), "Missing argument")


class TestList:
    def test_every_case_has_a_line_with_level_and_title(self, command, small_corpus):
        ended = command("list", "--data", small_corpus)
        assert ended.status == 0
        assert f"{ADAM}  must  Adam computes the example of its page" in ended.out
        assert len(ended.out.splitlines()) == len(SMALL)

    def test_a_tag_selects(self, command, small_corpus):
        ended = command("list", "--data", small_corpus, "--tag", "argmax")
        assert {line.split()[0] for line in ended.out.splitlines()} == {EXACT, INDEX}

    def test_every_clause_of_the_bundled_corpus_has_a_case(self, command):
        ended = command("list", "--clauses")
        assert ended.status == 0
        assert ended.out.splitlines()[-1].endswith(" clauses, 0 without a case")

    def test_clauses_without_a_case_are_named(self, command, small_corpus):
        last = command("list", "--clauses", "--data", small_corpus).out.splitlines()[-1]
        assert "adam.beta_default" in last

    def test_backends_have_a_line_each(self, command):
        assert {"reference", "onnx-reference", "onnxruntime"} <= {
            line.split()[0] for line in command("list", "--backends").out.splitlines()
        }

    def test_generators_have_a_line_each(self, command):
        assert {"adam", "momentum", "adagrad", "argmax"} <= {
            line.split()[0] for line in command("list", "--generators").out.splitlines()
        }

    def test_what_is_no_corpus_is_refused(self, command):
        assert_bad_input(command("list", "--data", "missing"), "missing is not a corpus")

    def test_an_altered_description_is_refused(self, command, corpus_copy):
        path = corpus_copy / "node" / ADAM / "case.json"
        path.write_text(path.read_text().replace("Adam", "Eve"))
        assert_bad_input(command("list", "--data", corpus_copy), f"node/{ADAM}/case.json is altered")


class TestExplain:
    def test_it_tells_the_clauses_the_model_and_the_data(self, command, small_corpus):
        ended = command("explain", REPEATED, "--data", small_corpus)
        assert ended.status == 0
        for part in ("level must", "clause adagrad.pure", "Adagrad(R, T, X, G, H)", "decay_factor = 0.5", "data set 2"):
            assert part in ended.out

    @pytest.mark.parametrize(
        ("case", "check"), [(ADAM, "each within"), (EXACT, "bit for bit"), (INDEX, "acceptable: 1 or 3")]
    )
    def test_it_tells_how_an_output_is_checked(self, command, small_corpus, case, check):
        assert check in command("explain", case, "--data", small_corpus).out

    def test_an_unknown_case_is_refused(self, command, small_corpus):
        assert_bad_input(command("explain", "test_adan", "--data", small_corpus), "There is no case test_adan")


class TestVerify:
    def test_a_whole_corpus_is_counted(self, command, small_corpus, opened):
        ended = command("verify", "--data", small_corpus)
        assert ended.status == 0
        assert f"{len(SMALL)} cases, {len(tree(small_corpus)) - 1} files, digest {opened.digest}" in ended.out

    def test_an_altered_one_is_refused(self, command, corpus_copy):
        path = corpus_copy / "node" / ADAM / "test_data_set_0" / "output_0.pb"
        path.write_bytes(path.read_bytes()[:-1])
        assert_bad_input(command("verify", "--data", corpus_copy), "output_0.pb is altered or truncated")

    def test_an_extra_file_is_refused(self, command, corpus_copy):
        (corpus_copy / "notes.txt").write_text("")
        assert_bad_input(command("verify", "--data", corpus_copy), "notes.txt is not in manifest.json")

    def test_an_altered_manifest_is_refused(self, command, corpus_copy):
        path = corpus_copy / MANIFEST
        path.write_text(path.read_text().replace("1.0.0", "1.0.1", 1))
        assert_bad_input(command("verify", "--data", corpus_copy), "manifest.json is altered")

    def test_an_empty_manifest_is_refused(self, command, here):
        (here / MANIFEST).write_bytes(manifest_bytes("1.0.0", {}, {}))
        assert_bad_input(command("verify", "--data", here), "manifest.json is malformed")


class TestGenerate:
    def test_a_corpus_is_written_and_counted(self, command, here):
        ended = command("generate", "-g", "argmax", "-o", "out")
        assert ended.status == 0
        assert re.fullmatch(r"Wrote corpus 1\.0\.0 to out: \d+ cases, \d+ files, \d+ bytes\.\n", ended.out)

    def test_what_was_written_is_found_unchanged(self, command):
        command("generate", "-g", "argmax", "-o", "out")
        ended = command("generate", "-g", "argmax", "-o", "out", "--check")
        assert ended.status == 0
        assert "out is what the generators give" in ended.out

    def test_a_difference_is_told_file_by_file(self, command, here):
        command("generate", "-g", "argmax", "-o", "out")
        changed = here / "out" / "node" / EXACT / "model.onnx"
        changed.write_bytes(b"")
        ended = command("generate", "-g", "argmax", "-o", "out", "--check")
        assert ended.status == 1
        assert ended.out == f"node/{EXACT}/model.onnx differs\n1 files differ.\n"

    def test_a_check_of_no_corpus_is_refused(self, command, here):
        assert_bad_input(command("generate", "-g", "argmax", "-o", "out", "--check"), "out is not a corpus")
        assert not tree(here)

    def test_an_unknown_generator_is_refused(self, command, here):
        assert_bad_input(command("generate", "-g", "adan", "-o", "out"), "There is no generator adan", "adagrad, adam")
        assert not list(here.iterdir())

    def test_something_else_is_not_written_over(self, command, here):
        (here / "mine.txt").write_text("mine")
        assert_bad_input(command("generate", "-g", "argmax", "-o", "."), "holds something that is not a corpus")
        assert tree(here) == {"mine.txt": b"mine"}

    def test_too_low_a_version_is_refused_with_the_least(self, command, here, corpus_copy):
        before = tree(corpus_copy)
        ended = command("generate", "-g", "argmax", "-o", corpus_copy, "--corpus-version", "1.0.9")
        assert_bad_input(ended, "cannot be version 1.0.9", "Add --corpus-version 1.1.0")
        assert tree(corpus_copy) == before

    def test_what_is_no_version_is_refused(self, command, here):
        assert_bad_input(
            command("generate", "-g", "argmax", "-o", "out", "--corpus-version", "one"), "'one' is not a version"
        )
        assert not list(here.iterdir())

    def test_a_directory_that_cannot_be_made_is_refused(self, command, here):
        (here / "file").write_text("")
        assert_bad_input(command("generate", "-g", "argmax", "-o", "file/out"), "file")
