"""Every verb with -b or -o starts a subject in the same way, whatever its name requests.

The table of verbs comes from the definition of the command line, so that a new verb cannot be forgotten.
"""

from __future__ import annotations

import json
import sysconfig
import venv
from pathlib import Path

import onnx
import pytest
import typer
from corpora import ADAM, INDEX

from conformance.base.errors import UsageError
from conformance.commands import cli
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.environments.registry import DOCUMENT_NAME, environments_folder, find_interpreter
from conformance.subjects.environments.requirements import find_requirements

pytestmark = pytest.mark.programs

VERSION = "7.7.7.post1"
"""Version of the runtime in the environment of the release; the installed runtime has another."""

RUNTIME = f"""\
import enum
import onnx
import onnx.reference

__version__ = {VERSION!r}
GraphOptimizationLevel = enum.Enum("Level", "ORT_DISABLE_ALL ORT_ENABLE_BASIC ORT_ENABLE_EXTENDED ORT_ENABLE_ALL")


class SessionOptions:
    pass


class InferenceSession:
    def __init__(self, model, options, providers):
        self.evaluator = onnx.reference.ReferenceEvaluator(onnx.ModelProto.FromString(model))

    def get_outputs(self):
        return []

    def run(self, names, feeds):
        return self.evaluator.run(None, feeds)
"""

OPTIMIZER = f"__version__ = {VERSION!r}\n\n\ndef simplify(model):\n    raise RuntimeError('no model')\n"
"""The package of a graph optimizer in the same environment, which fails so that `repro` has a failure."""

ARGUMENTS = {
    "run": ("{flag}", "{name}", "--case", INDEX, "--data", "{data}"),
    "audit": ("model.onnx", "{flag}", "{name}"),
    "blame": ("model.onnx", "{flag}", "{name}", "-b", "reference", "--json", "blamed.json"),
    "explain": (ADAM, "{flag}", "{name}", "--data", "{data}"),
    "repro": ("test_adam_huge_float", "{flag}", "{name}", "--output", "out"),
    "search": ("{flag}", "{name}", "--operator", "Softmax", "--examples", "1", "--resume", "searched.jsonl"),
    "census": ("{flag}", "{name}", "--operator", "Sqrt", "--type", "float16"),
    "hazards": ("model.onnx", "{flag}", "{name}"),
    "check-harness": ("{flag}", "{name}"),
    "history update": ("reference@1.0", "{flag}", "{name}", "--offline", "--store", "store"),
}
"""Arguments of each verb with a subject; `{flag}` is `-b` or `-o`."""

FAILING_REWRITE = ("test_argmax_pass_annotated_001_exp_reads_operand", "--implements", "eliminate_nop_monotone_argmax")
"""Arguments of `repro` with a graph optimizer."""

NOT_STARTED = {"history update"}
"""Verbs that start no subject in this process: they run the verb `run` in the environment of each release."""

SHOWS_NO_VERSION = {"check-harness"}


def verbs_with(flag):
    """Return the verbs that have an option."""

    def walk(command, name):
        for each, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{name} {each}".strip())
        if any(flag in parameter.opts for parameter in command.params):
            yield name

    return sorted(walk(typer.main.get_command(cli.create_app(())), ""))


BACKEND_VERBS, OPTIMIZER_VERBS = verbs_with("-b"), verbs_with("-o")
STARTING = [verb for verb in BACKEND_VERBS if verb not in NOT_STARTED]


def verbs_in_turn(values):
    """Return pairs of each verb that starts a subject with one of the values in turn, and of `run` with each value."""
    pairs = [(verb, values[place % len(values)]) for place, verb in enumerate(STARTING)]
    return list(dict.fromkeys([*pairs, *(("run", value) for value in values)]))


@pytest.fixture
def environment(here, tmp_path_factory, monkeypatch):
    """Environment of a release in the registry, whose Python imports a fake runtime; all tests share it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-subject-names"))
    requirements = find_requirements(SubjectName.parse("onnxruntime@7.7.7", SubjectKind.BACKEND))
    folder = environments_folder() / requirements.key
    if folder.exists():
        return folder
    venv.create(folder, with_pip=False)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "onnxruntime.py").write_text(RUNTIME)
    (packages / "onnxsim.py").write_text(OPTIMIZER)
    (packages / "installed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    document = {"subject": "onnxruntime@7.7.7", "version": VERSION, "python": "3", "installed": ["onnxruntime==7.7.7"]}
    (folder / DOCUMENT_NAME).write_text(json.dumps(document))
    return folder


@pytest.fixture
def start(command, here, small_corpus):
    """Return a function that executes a verb with a subject, and returns its end and all that it printed and wrote."""
    graph = "g (float[2, 3] X) => (int64[2] Y) { A = Exp (X) Y = ArgMax <axis = 1, keepdims = 0> (A) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {graph}'), here / "model.onnx")

    def run(verb, flag, name):
        words = [word.format(flag=flag, name=name, data=small_corpus) for word in ARGUMENTS[verb]]
        if (verb, flag) == ("repro", "-o"):
            words = [*FAILING_REWRITE, *words[1:]]
        ended = command(*verb.split(), *words)
        written = [path.read_text(errors="replace") for path in Path(here).rglob("*") if path.is_file()]
        return ended, "\n".join([ended.out, ended.err, *written])

    return run


def test_table_has_every_verb_with_a_subject():
    assert set(ARGUMENTS) == {*BACKEND_VERBS, *OPTIMIZER_VERBS}
    assert set(STARTING) > SHOWS_NO_VERSION


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("verb", "name"),
    verbs_in_turn(["onnxruntime@7.7.7[optimization=disabled]", "onnxruntime[optimization=disabled,python={python}]"]),
)
def test_subject_with_option_has_the_version_of_its_process(start, environment, verb, name):
    ended, told = start(verb, "-b", name.format(python=environment / "bin" / "python"))
    assert ended.status in {0, 1}, ended.err
    assert (VERSION in told) is (verb not in SHOWS_NO_VERSION), told[-2000:]


@pytest.mark.variants(2)
@pytest.mark.parametrize("verb", [verb for verb in OPTIMIZER_VERBS if verb not in NOT_STARTED])
def test_optimizer_has_the_version_of_its_process(start, environment, verb):
    ended, told = start(verb, "-o", f"onnxsim[python={environment / 'bin' / 'python'}]")
    assert ended.status in {0, 1}, ended.err
    assert (VERSION in told) is (verb not in SHOWS_NO_VERSION), told[-2000:]


UNUSABLE = {
    "onnxruntime@9.9.9": "usage.environment-missing",
    "onnxruntime@nine": "name.malformed-release",
    "reference@1.0": "name.no-releases",
    "onnxruntime[python=nowhere/python]": "usage.python-not-executable",
    "onnxruntime@7.7.7[optimization=most]": "subject.unusable-option",
    "onnxruntime[with=numpy>=2]": "usage.packages-without-release",
    "exec:no_such_program_anywhere": "name.program-not-found",
}
"""Names of backends that cannot start, with the codes of their errors."""


@pytest.mark.parametrize(("verb", "name"), verbs_in_turn(list(UNUSABLE)))
def test_backend_that_cannot_start_is_refused(start, environment, verb, name):
    ended, _ = start(verb, "-b", name)
    if verb not in SHOWS_NO_VERSION or "most" not in name:  # a harness that refuses its subject has rules, too
        assert (ended.status, ended.code) == (2, UNUSABLE[name]), ended.err


def test_unknown_release_is_refused_with_the_known_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = [SubjectName.parse(f"onnxruntime@{release}", SubjectKind.BACKEND) for release in ("9.9.9", "1.17.3")]
    for name, has_releases in zip(names, (True, False), strict=True):
        with pytest.raises(UsageError) as caught:
            find_interpreter(name)
        assert caught.value.code == "usage.environment-missing"
        assert ("1.20.1" in str(caught.value)) is has_releases


@pytest.mark.parametrize("verb", OPTIMIZER_VERBS)
def test_release_of_optimizer_that_does_not_exist_is_refused(start, environment, verb):
    ended, _ = start(verb, "-o", "onnxsim@9.9.9")
    code = "history.no-result" if verb in NOT_STARTED else "usage.environment-missing"
    assert (ended.status, ended.code) == (2, code), ended.err
