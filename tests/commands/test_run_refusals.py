"""What is wrong with a run: status 2, one clear sentence, and nothing left behind."""

from __future__ import annotations

import pytest
from corpora import ADAM, SEVERAL
from outputs import tree
from refusals import assert_bad_input, assert_bad_input_by_pytest, assert_usage_error

RIGHT = "fake_backends:AlwaysRight"


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

    def test_an_unknown_backend_is_refused_with_the_nearest(self, run):
        assert_bad_input(run("-b", "onnxruntim"), "There is no backend onnxruntim", "Did you mean onnxruntime?")

    @pytest.mark.parametrize(("option", "name", "extra"), [("-b", "iree", "iree"), ("-o", "onnxscript", "onnxscript")])
    def test_a_missing_package_names_its_extra(self, run, monkeypatch, option, name, extra):
        def missing(*_):
            raise ModuleNotFoundError("No module named 'it'", name="it")

        monkeypatch.setattr("conformance.subjects.loading.importlib.import_module", missing)
        ended = run("--in-process", option, name)
        assert_bad_input(ended, f"{name} fails to import", f"pip install 'onnx-conformance[{extra}]'")

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
        assert_bad_input(run("-b", RIGHT, "-k", "adam and ("), "-k adam and ( is no expression")

    def test_a_selection_that_is_no_expression_in_two_processes(self, run_apart):
        assert_bad_input(run_apart("-b", RIGHT, "-k", "adam and (", "-n", "2"), "-k adam and ( is no expression")

    @pytest.mark.parametrize("keyword", [" or ".join(["adam"] * 3000), "(" * 3000], ids=["terms", "brackets"])
    def test_a_selection_that_is_too_long(self, run, keyword):
        assert_bad_input(run("-b", RIGHT, "-k", keyword), "words and brackets, and may have 250", "--case")

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
