"""The command line: help, and exit status in a separate process."""

from __future__ import annotations

import errno
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from importlib import import_module
from pathlib import Path

import pytest
from corpora import ADAM
from refusals import assert_bad_input, assert_raises, assert_usage_error

from conformance import __version__
from conformance.base.errors import MAX_TEXT_LENGTH, UsageError
from conformance.base.files.atomic_write import check_writable
from conformance.base.serialization.decoding import read_own_toml
from conformance.base.serialization.printable_text import print_line
from conformance.commands.cli import _VERBS
from conformance.commands.command_options import add_options
from conformance.run.corpus_run.run_options import RUN_OPTIONS, option_entries
from conformance.run.results.results_file import read_results

RIGHT, WRONG = "fake_subject:always_right", "fake_subject:always_wrong"

VERBS = (
    "run",
    "audit",
    "blame",
    "report",
    "list",
    "explain",
    "verify",
    "generate",
    "expand",
    "search",
    "census",
    "repro",
    "diff",
    "merge",
    "update-expectations",
    "hazards",
    "check-harness",
    "env",
)


class TestHelp:
    @pytest.mark.parametrize("verb", VERBS)
    def test_help_of_verb_shows_usage(self, command, verb):
        ended = command(verb, "--help")
        assert ended.status == 0
        assert "Usage: " in ended.out

    def test_help_of_command_names_all_verbs(self, command):
        ended = command("--help")
        assert ended.status == 0
        assert all(verb in ended.out for verb in VERBS)

    @pytest.mark.parametrize("verb", [(), *((verb,) for verb in VERBS), ("env", "create")])
    def test_help_of_flag_shows_no_type(self, command, verb):
        help = command(*verb, "--help").out
        assert "--help" in help
        assert "bool" not in help.lower()

    def test_help_of_run_groups_options_in_panels(self, command):
        help = command("run", "--help").out
        assert [
            name
            for name in ("Subjects", "Selection", "Pass criterion", "Running", "Output")
            if f"─ {name} ─" not in help
        ] == []

    def test_version_option_prints_package_version(self, command):
        assert command("--version").out == f"onnx-conformance {__version__}\n"

    def test_unknown_verb_is_refused_with_nearest_verb(self, command):
        assert_usage_error(command("rum"), "rum", "'run'")

    def test_unknown_option_is_refused_with_nearest_option(self, command):
        assert_usage_error(command("run", "--tagg", "x"), "--tagg", "--tag")

    @pytest.mark.parametrize(
        ("arguments", "heavy"),
        [
            (["--help"], {"pydantic", "numpy", "onnx", "pytest", "jinja2"}),
            (["run", "--help"], {"pydantic"}),
            (["search", "--help"], {"pydantic"}),
        ],
    )
    def test_heavy_modules_are_not_imported_for_it(self, process, arguments, heavy):
        program = (
            f"import sys; sys.argv = ['x', *{arguments}]\n"
            "from conformance.commands.cli import main\n"
            "try: main()\n"
            f"except SystemExit: print(sorted({heavy} & set(sys.modules)))"
        )
        assert process("python", "-c", program).out.splitlines()[-1] == "[]"


def test_verbose_prints_the_code_of_an_error(command):
    assert command("explain", "test_adan").err.startswith("error: ")
    assert command("explain", "test_adan", "--verbose").err.startswith("error[name.case-not-found]: ")


def test_json_on_standard_output_has_the_error(command):
    ended = command("report", "missing.jsonl", "--json", "-")
    error = json.loads(ended.out)["error"]
    assert (ended.status, error["code"], set(error)) == (2, ended.code, {"code", "problem", "hint"})


@pytest.mark.parametrize(
    ("number", "name", "code", "named"),
    [
        (errno.ENOSPC, None, "storage.disk-full", ""),
        (errno.EACCES, "folder/.temporary-1", "storage.permission-denied", "folder cannot"),
        (errno.ENOTDIR, "folder/file", "storage.system-error", "folder/file: "),
        (errno.EMFILE, None, "storage.too-many-open-files", ""),
        (errno.EBADF, None, "storage.system-error", "Standard input or output"),
    ],
)
def test_error_of_the_file_system_has_a_code_and_names_the_path(command, monkeypatch, number, name, code, named):
    def fail(*_arguments, **_options):
        raise OSError(number, os.strerror(number), name)

    monkeypatch.setattr("conformance.corpus.cases.corpus.open_corpus", fail)
    ended = command("list", "--data", "anywhere")
    assert (ended.status, ended.code) == (2, code)
    assert named in ended.err


def test_deleted_working_directory_is_named(command, monkeypatch, tmp_path):
    monkeypatch.setattr("conformance.corpus.cases.corpus.open_corpus", lambda _: Path.cwd())
    (tmp_path / "deleted").mkdir()
    monkeypatch.chdir(tmp_path / "deleted")
    (tmp_path / "deleted").rmdir()
    assert command("list").code == "storage.no-working-directory"


def test_width_of_any_length_is_ignored(command, monkeypatch):
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        monkeypatch.setenv(name, "9" * 20)
    assert command("list", "--help").status == 0


def test_output_that_nobody_reads_is_discarded(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        print_line("first")
        assert Path(f"/proc/self/fd/{stream.fileno()}").readlink() == Path(os.devnull)
        print_line("second")


def test_text_of_an_error_is_limited():
    error = UsageError("x", "9" * 10**5, "9" * 10**5)
    assert max(len(error.problem), len(error.hint)) == MAX_TEXT_LENGTH


class TestProcess:
    """The command in a separate process, with its real exit status and streams."""

    def test_python_m_conformance_runs_the_command(self, process):
        assert process("python", "-m", "conformance", "--version").out == f"onnx-conformance {__version__}\n"
        by_name, by_module = ("onnx-conformance",), ("python", "-m", "conformance")
        assert process(*by_name, "run", "-h").out == process(*by_module, "run", "-h").out

    def test_inspection_of_python_prints_no_traceback(self, process):
        ended = process("onnx-conformance", "verify", "--data", "nowhere", PYTHONINSPECT="1")
        assert (ended.status, "Traceback" in ended.err) == (2, False)

    @pytest.mark.long
    def test_unknown_implementation_of_protobuf_is_ignored(self, process):
        ended = process("onnx-conformance", "list", "--operator", "Adam", PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="x")
        assert (ended.status, ended.err) == (0, "")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_error_that_cannot_be_printed_keeps_its_status(self, here, unbuffered):
        program = Path(sysconfig.get_path("scripts")) / "onnx-conformance"
        line = ["sh", "-c", 'exec "$0" verify --data nowhere 2>/dev/full', str(program)]
        env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        assert subprocess.run(line, check=False, cwd=here, env=env).returncode == 2

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
    def test_run_that_cannot_print_its_outcome_exits_with_2_and_writes_its_files(self, here, small_corpus):
        program = Path(sysconfig.get_path("scripts")) / "onnx-conformance"
        words = ["run", "-b", "reference", "--case", ADAM, "--data", small_corpus, "--results", "r", "--json", "j"]
        line = ["sh", "-c", 'exec "$0" "$@" -v --no-isolation >/dev/full', str(program), *map(str, words)]
        done = subprocess.run(line, check=False, cwd=here, capture_output=True, text=True)
        assert done.returncode == 2
        assert "error[storage.disk-full]" in done.stderr
        assert read_results(here / "r").footer.outcome == json.loads((here / "j").read_text())["outcome"] == "pass"

    def test_small_address_space_is_named_before_numpy_is_imported(self, here):
        program = Path(sysconfig.get_path("scripts")) / "onnx-conformance"
        limited = ["sh", "-c", 'ulimit -v 102400 && exec "$0" verify', str(program)]
        done = subprocess.run(limited, check=False, cwd=here, capture_output=True, text=True)
        assert (done.returncode, "100 MiB" in done.stderr) == (2, True)

    def test_bash_completion_completes_backend_name(self, process):
        help = {
            "_ONNX_CONFORMANCE_COMPLETE": "complete_bash",
            "COMP_WORDS": "onnx-conformance run -b onnxr",
            "COMP_CWORD": "3",
        }
        assert process("onnx-conformance", **help).out.split() == ["onnxruntime"]

    def test_passing_run_exits_with_status_0(self, process, small_corpus):
        ended = process("onnx-conformance", "run", "-b", RIGHT, "--data", small_corpus)
        assert (ended.status, ended.err) == (0, "")

    def test_failing_run_exits_with_status_1(self, process, small_corpus):
        assert process("onnx-conformance", "run", "-b", WRONG, "--data", small_corpus).status == 1

    def test_bad_input(self, process):
        assert_bad_input(process("onnx-conformance", "run", "-b", "acme"), "acme")

    def test_output_of_backend_leaves_results_readable(self, process, small_corpus, here):
        ended = process(
            "onnx-conformance",
            "run",
            "-b",
            "fake_subject:prints_much",
            "--data",
            small_corpus,
            "--results",
            "out.jsonl",
        )
        assert ended.status == 0
        assert read_results(here / "out.jsonl").footer.outcome == "pass"

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

    def test_interruption_while_the_command_is_imported_prints_nothing(self, process):
        program = (
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "import onnx_conformance_command, sys; print([name for name in sys.modules if name == 'conformance'])\n"
            "signal.raise_signal(signal.SIGINT)"
        )
        ended = process("python", "-u", "-c", program)
        assert (ended.status, ended.out, ended.err) == (130, "[]\n", "")


class TestOutputs:
    @pytest.mark.parametrize(
        "words",
        [
            "report in --json in",
            "report other in --junit link",
            "report other --evidence new --requirements in --html in",
            "diff other in --markdown in",
            "merge other in --output in",
            "expand in --output hard",
            "hazards in --json ./in",
            "hazards other --inputs folder --json folder",
            "audit in -b x --html in",
            "audit other --outputs in --junit in",
            "audit other --inputs folder -b x --save-inputs folder",
            "blame in -b x --json in",
            "blame other -b x --resume in --html in",
            "run -b x --expect in --results in",
            "run -b x --baseline in --html in",
            "run -b x --profile in --badge in",
            "run -b x --resume in --json in",
            "run -b exec:in --json in",
            "update-expectations in --expect in",
        ],
    )
    def test_output_that_is_an_input_is_refused(self, command, here, words):
        (here / "in").write_text("content")
        (here / "link").symlink_to("in")
        (here / "hard").hardlink_to("in")
        (here / "folder").mkdir()
        assert_bad_input(command(*words.split()), "usage.target-is-input")
        assert (here / "in").read_text() == "content"
        assert sorted(path.name for path in here.iterdir()) == ["folder", "hard", "in", "link"]

    def test_output_that_is_a_file_of_an_input_folder_is_refused(self, command, here, small_corpus):
        corpus = shutil.copytree(small_corpus, here / "corpus")
        model = next(corpus.glob("*/*/model.onnx"))
        before = {path: path.read_bytes() for path in (corpus / "manifest.json", model)}
        run = ("run", "-b", "reference", "--no-isolation", "--case", ADAM, "--data", "corpus")
        for path in before:
            assert_bad_input(command(*run, "--json", path), "usage.target-is-input")
        assert {path: path.read_bytes() for path in before} == before

    def test_earlier_output_in_an_input_folder_can_be_replaced(self, command, here):
        (here / "folder").mkdir()
        (here / "folder" / "report.json").touch()
        words = ("audit", "absent", "-b", "reference", "--inputs", "folder", "--json", "folder/report.json")
        assert command(*words).code != "usage.target-is-input"

    def test_results_that_a_run_continues_are_no_input(self, command, here):
        (here / "in").write_text("content")
        assert command("run", "-b", "x", "--resume", "in", "--results", "in").code == "results.malformed"
        assert command("blame", "x", "-b", "x", "--resume", "in", "--json", "in").code == "usage.subject-count"

    def test_every_option_that_names_what_is_written_is_an_output(self):
        tables = {"": RUN_OPTIONS}
        for verb, table in read_own_toml("conformance.commands", "options.toml").items():
            tables[verb] = option_entries(table)
        written = {
            (verb, name)
            for verb, table in tables.items()
            for name, entry in table.items()
            if re.match("(Write|Save|Folder to write|Folder of the corpus; by|Expectations file to)", entry.help)
            and any(word in entry.metavar for word in ("FILE", "DIR", "FOLDER", "PAGE"))
        }
        assert written - {("generate", "model")} == {
            (verb, name) for verb, table in tables.items() for name, entry in table.items() if entry.is_output
        }


FUNCTIONS = [
    getattr(import_module(f"conformance.commands.{module}"), name)
    for module, _, name in (place.partition(".") for place in ("history.show", *_VERBS.values()))
    if name != "app"
]
OPTIONS = read_own_toml("conformance.commands", "options.toml")
OUTPUTS = [
    (function, name)
    for function in FUNCTIONS
    for name, entry in (OPTIONS["shared"] | OPTIONS.get(function.__name__, {})).items()
    if entry.get("is_output") and name in inspect.signature(function).parameters
]


@pytest.mark.parametrize(("function", "name"), OUTPUTS)
def test_output_that_cannot_be_written_is_found_first(tmp_path, function, name):
    (tmp_path / "file").write_text("")
    parameters = inspect.signature(function).parameters.values()
    given = {each.name: None if each.default is each.empty else each.default for each in parameters}
    with assert_raises("usage.target-not-writable", "file/new"):
        function(**given | {name: tmp_path / "file" / "new"})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_output_in_a_folder_without_permission_is_found_first(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(OSError(errno.EROFS, "Read-only file system")))
    for is_folder in (False, True):
        with assert_raises("usage.target-not-writable", "Read-only file system"):
            check_writable(tmp_path / "new" / "output", is_folder=is_folder)


def test_check_of_an_output_leaves_no_trace(tmp_path):
    for is_folder in (False, True):
        check_writable(tmp_path / "new" / "output", is_folder=is_folder)
    assert not any(tmp_path.iterdir())


INTERRUPTED_CHECK = """
import os, pathlib, signal
from conformance.base.files.atomic_write import check_writable

real = os.open

def interrupting(*arguments, **options):
    descriptor = real(*arguments, **options)
    signal.raise_signal(signal.SIGINT)
    return descriptor

os.open = interrupting
check_writable(pathlib.Path("empty/output"))
"""


def test_interrupted_check_of_an_output_leaves_no_trace(process, here):
    (here / "empty").mkdir()
    assert process("python", "-c", INTERRUPTED_CHECK).status == -signal.SIGINT
    assert not any((here / "empty").iterdir())


class TestInterruption:
    """An interrupted verb prints one line: what is kept, and the option with which it continues."""

    @staticmethod
    def interrupted(capsys, folder: Path, writes: tuple[str, ...], note: str = "", **given: Path | None) -> list[str]:
        def audit(*, resume: Path | None, json: Path | None, html: Path | None) -> None:  # the name of the verb
            for name in writes:
                (folder / name).write_text("")
            interruption = KeyboardInterrupt()
            if note:
                interruption.add_note(note)
            raise interruption

        with pytest.raises(KeyboardInterrupt):
            add_options(audit)(verbose=False, **{"resume": None, "json": None, "html": None} | given)
        (line,) = capsys.readouterr().err.splitlines()
        return [word.strip(".,") for word in line.split() if "." in word.strip(".") or word.startswith("--")]

    def test_line_names_the_option_to_continue_later(self, capsys, tmp_path):
        assert self.interrupted(capsys, tmp_path, ()) == ["--resume"]

    def test_line_names_the_files_that_were_written(self, capsys, tmp_path):
        state, page, other = (tmp_path / name for name in ("state.json", "page.html", "other.json"))
        other.write_text("")
        os.utime(other, (1, 1))  # as an earlier command has left it
        found = self.interrupted(capsys, tmp_path, (state.name, page.name), resume=state, html=page, json=other)
        assert found == [str(state), str(page)]
        assert self.interrupted(capsys, tmp_path, (), resume=tmp_path / "new.json") == []

    def test_notes_of_the_verb_replace_the_line(self, capsys, tmp_path):
        assert self.interrupted(capsys, tmp_path, (), note="Interrupted: a.b is kept.") == ["a.b"]

    def test_verb_without_outputs_has_a_line(self, capsys):
        def explain() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            add_options(explain)(verbose=False)
        assert len(capsys.readouterr().err.splitlines()) == 1
