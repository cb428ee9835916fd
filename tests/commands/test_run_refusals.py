"""Errors of `run`: status 2, the code and the data of the error, and no file left behind."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_outputs import read_tree
from corpora import ADAM, SEVERAL
from refusals import assert_bad_input, assert_usage_error

RIGHT = "fake_subject:always_right"


class TestErrors:
    @pytest.fixture(autouse=True)
    def check_no_file_is_left(self, here):
        before = read_tree(here)
        yield
        left = {
            name: content for name, content in read_tree(here).items() if not name.startswith(("given_", "__pycache__"))
        }
        assert left == before

    def test_unknown_case_is_rejected(self, run):
        assert_bad_input(run("-b", RIGHT, "--case", "test_adan"), "name.case-not-found", "test_adan", "test_adam")

    @pytest.mark.parametrize("name", ["acme", "acme.backend", "fake_subject.missing", "", ".", "..x", ":X", "a b"])
    def test_unknown_backend_is_rejected(self, run, name):
        assert_bad_input(run("-b", name), "name.unknown-subject", name, "onnx-reference")

    def test_backend_that_removes_modules_is_named_without_isolation(self, run_apart):
        ended = run_apart("-b", "fake_subject:removes_modules", "--no-isolation", "-v")
        assert_bad_input(ended, "subject.modules-removed", "numpy", "--no-isolation")

    def test_misspelt_backend_is_rejected_with_the_nearest(self, run):
        assert_bad_input(run("-b", "onnxruntim"), "name.unknown-subject", "onnxruntim", "onnxruntime")

    @pytest.mark.parametrize("options", [(), ("--no-isolation",)])
    def test_attribute_after_a_dot_is_rejected_with_the_name_with_a_colon(self, run, options):
        ended = run("-b", "fake_subject.has_no_prepare", *options)
        assert_bad_input(ended, "name.unknown-subject", "fake_subject:has_no_prepare")

    def test_unknown_backend_names_the_searched_folder(self, run):
        assert_bad_input(run("-b", "nonsuch"), "name.unknown-subject", str(Path.cwd()))

    @pytest.mark.parametrize(
        ("option", "name", "packages"),
        [("-b", "iree", "iree-base-compiler iree-base-runtime"), ("-o", "onnxscript", "onnxscript")],
    )
    def test_missing_package_names_the_packages_of_the_runtime(self, run, monkeypatch, option, name, packages):
        def raise_missing(*_):
            raise ModuleNotFoundError("No module named 'it'", name="it")

        fake = SimpleNamespace(**vars(importlib) | {"import_module": raise_missing})
        monkeypatch.setattr("conformance.subjects.calling.harness.importlib", fake)
        ended = run("--no-isolation", option, name)
        assert_bad_input(ended, "subject.import-failed", name, f"pip install {packages}.")

    def test_missing_attribute_is_rejected(self, run):
        assert_bad_input(run("-b", "fake_subject:missing"), "subject.attribute-missing", "fake_subject", "missing")

    def test_missing_attribute_of_a_module_with_a_backend_class_names_the_class(self, run):
        names = ("subject.attribute-missing", "always_wrog", "fake_subject:")
        assert_bad_input(run("-b", "fake_subject:always_wrog"), *names)

    def test_class_without_prepare_is_rejected(self, run):
        assert_bad_input(
            run("-b", "fake_subject:has_no_prepare"), "subject.not-a-backend", "fake_subject:has_no_prepare", "prepare"
        )

    def test_module_without_prepare_is_rejected(self, run):
        assert_bad_input(run("-b", "json"), "subject.not-a-backend", "json", "prepare")

    def test_module_with_a_backend_class_names_the_class(self, run):
        assert_bad_input(run("-b", "fake_subject"), "subject.not-a-backend", "fake_subject:")

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
    def test_import_error_is_rejected(self, run, here, name, source, reason):
        (here / f"given_{name}.py").write_text(source)
        assert_bad_input(run("-b", f"given_{name}"), "subject.import-failed", f"given_{name}", reason)

    def test_repeated_backend_is_rejected(self, run):
        assert_bad_input(run("-b", RIGHT, "-b", RIGHT), "usage.subject-twice", RIGHT)

    def test_model_instead_of_a_subject_points_to_audit(self, run, here):
        (here / "given_model.onnx").write_bytes(b"")
        assert_bad_input(run("given_model.onnx", "-b", RIGHT), "usage.model-for-run", "given_model.onnx", "audit")

    def test_subject_without_its_option_is_pointed_to_it(self, run):
        assert_bad_input(run(RIGHT), "usage.argument-left-over", RIGHT, f"-b {RIGHT}")

    def test_file_of_a_backend_has_a_python_name(self, run):
        assert_bad_input(run("-b", "./young/backend.py"), "name.unknown-subject", "young.backend.")
        assert_bad_input(run("-b", "young.py:Backend"), "name.unknown-subject", "young:Backend.")

    def test_missing_backend_is_rejected(self, run):
        assert_bad_input(run(), "usage.subject-missing", "-b", "-o")

    @pytest.mark.parametrize("level", ["bogus", "", "silent", "MUST"])
    def test_unknown_fail_level_is_rejected(self, run, level):
        assert_usage_error(run("-b", RIGHT, "--fail-level", level), "level")

    def test_empty_selection_is_rejected(self, run):
        assert_bad_input(run("-b", RIGHT, "-k", "nothing_like_it"), "usage.no-case-selected")

    @pytest.mark.parametrize("options", [(), ("--shard", "1/2"), ("-k", "argmax")], ids=str)
    def test_fewer_cases_than_announced_are_rejected(self, run, options):
        assert_bad_input(run("-b", RIGHT, "--min-cases", "8", *options), "usage.too-few-cases", "--min-cases 8")

    def test_empty_selection_in_two_processes_is_rejected(self, run_apart):
        assert_bad_input(run_apart("-b", RIGHT, "-k", "nothing_like_it", "-n", "2", "-v"), "usage.no-case-selected")

    def test_path_of_the_corpus_selects_nothing(self, run, small_corpus):
        assert_bad_input(run("-b", RIGHT, "-k", "json or few or corpora"), "usage.no-case-selected")

    def test_malformed_keyword_is_rejected(self, run):
        assert_bad_input(run("-b", RIGHT, "-k", "adam and ("), "usage.malformed-keyword", "adam and (")

    def test_malformed_keyword_in_two_processes_is_rejected(self, run_apart):
        assert_bad_input(
            run_apart("-b", RIGHT, "-k", "adam and (", "-n", "2", "-v"), "usage.malformed-keyword", "adam and ("
        )

    @pytest.mark.parametrize("keyword", [" or ".join(["adam"] * 3000), "(" * 3000], ids=["terms", "brackets"])
    def test_long_keyword_is_rejected(self, run, keyword):
        assert_bad_input(run("-b", RIGHT, "-k", keyword), "usage.keyword-too-long", "250", "--case")

    @pytest.mark.parametrize("number", ["many", "1.5", "0"])
    def test_malformed_worker_count_is_rejected(self, run, number):
        assert_usage_error(run("-b", RIGHT, "-n", number), "-n", number)

    @pytest.mark.parametrize(("name", "code"), [("none", "folder-missing"), ("given_empty", "manifest-missing")])
    def test_directory_without_manifest_is_rejected(self, command, here, name, code):
        (here / "given_empty").mkdir()
        assert_bad_input(command("run", "-b", RIGHT, "--data", name), f"corpus.{code}", name, "generate")

    def test_file_that_is_no_archive_is_rejected(self, command, here):
        (here / "given_file").write_text("")
        ended = command("run", "-b", RIGHT, "--data", "given_file")
        assert_bad_input(ended, "corpus.archive-unreadable", "given_file", "generate")

    @pytest.mark.parametrize("name", ["my [old] cases", "my::cases"])
    def test_directory_with_pytest_syntax_is_accepted(self, command, corpus_copy, tmp_path, name):
        corpus_copy.rename(tmp_path / name)
        assert command("run", "-b", RIGHT, "--data", tmp_path / name).status == 0

    def test_missing_corpus_file_is_rejected(self, command, corpus_copy):
        (corpus_copy / "node" / ADAM / "model.onnx").unlink()
        ended = command("run", "-b", RIGHT, "--data", corpus_copy, "--results", "out.jsonl")
        assert_bad_input(ended, "corpus.file-missing", f"node/{ADAM}/model.onnx")

    @pytest.mark.parametrize(
        "file",
        [f"{SEVERAL}/model.onnx", f"{SEVERAL}/test_data_set_0/input_2.pb", f"{SEVERAL}/case.json", f"{ADAM}/case.json"],
        ids=["model", "tensor", "description", "first description"],
    )
    def test_altered_file_ends_the_run(self, command, corpus_copy, file):
        path = corpus_copy / "node" / file
        path.write_bytes(path.read_bytes() + b"?")
        ended = command("run", "-b", RIGHT, "--data", corpus_copy, "--results", "out.jsonl", "--html", "out.html")
        assert_bad_input(ended, "corpus.file-altered", f"node/{file}")

    @pytest.mark.variants(1)
    @pytest.mark.parametrize("file", [f"{SEVERAL}/model.onnx", f"{SEVERAL}/case.json"], ids=["model", "description"])
    def test_altered_file_ends_a_parallel_run(self, process, corpus_copy, file):
        path = corpus_copy / "node" / file
        path.write_bytes(path.read_bytes() + b"?")
        arguments = ("-b", RIGHT, "--no-isolation", "--data", corpus_copy, "--results", "out.jsonl", "-n", "2", "-v")
        assert_bad_input(process("fork", "run", *arguments), "corpus.file-altered", f"node/{file}")

    def test_expectations_of_another_subject_are_rejected(self, run, here):
        (here / "given_expect.toml").write_text('subject = "other"\n')
        assert_bad_input(run("-b", RIGHT, "--expect", "given_expect.toml"), "expectations.subject-not-run", "other")

    @pytest.mark.parametrize(
        ("file", "hint"),
        [
            ("given_rt.py", ": given_rt:Mine.\n"),
            ("given_rt.py:Other", "given_rt:Other.\n"),
            ("{here}/given_rt.py", ": given_rt:Mine.\n"),
            ("given_pkg/rt.py", "given_pkg.rt:Mine.\n"),
            ("given_a folder/rt.py", "PYTHONPATH='{here}/given_a folder'"),
            ("../here/given_absent.py", "given_absent.\n"),
        ],
    )
    def test_file_of_a_subject_is_refused_with_its_python_name(self, run, here, file, hint):
        for name in ("given_rt.py", "given_pkg/rt.py", "given_a folder/rt.py"):
            (here / name).parent.mkdir(exist_ok=True)
            (here / name).write_text("class Mine:\n    def prepare(model, device): ...\n")
        ended = run("-b", file.format(here=here))
        assert_bad_input(ended, "name.unknown-subject", hint.format(here=here))

    def test_missing_expectations_are_rejected(self, run):
        assert_bad_input(run("-b", RIGHT, "--expect", "missing.toml"), "expectations.cannot-read", "missing.toml")

    def test_results_in_the_place_of_expectations_are_rejected(self, run, here):
        (here / "given_of run.jsonl").write_text("")
        assert_bad_input(
            run("-b", RIGHT, "--expect", "given_of run.jsonl"),
            "expectations.is-results",
            "update-expectations 'given_of run.jsonl' ",
        )

    def test_malformed_expectations_are_rejected(self, run, here):
        (here / "given_expect.toml").write_text("subject")
        assert_bad_input(
            run("-b", RIGHT, "--expect", "given_expect.toml"), "expectations.malformed", "given_expect.toml"
        )

    @pytest.mark.parametrize("option", ["--results", "--html"])
    @pytest.mark.parametrize(
        ("output", "code"),
        [("given_directory", "usage.target-is-directory"), ("given_file/out", "usage.target-not-writable")],
    )
    def test_directory_or_path_below_a_file_as_output_is_rejected(self, run, here, option, output, code):
        (here / "given_directory").mkdir()
        (here / "given_file").write_text("")
        assert_bad_input(run("-b", RIGHT, option, output), code, output.partition("/")[0])
