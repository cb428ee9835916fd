"""Settings of a run: option values, and consistency."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refusals import assert_raises

from conformance.isolation.limits import Limits
from conformance.run.options import RUN_OPTIONS
from conformance.run.selection import Selection, Shard
from conformance.run.settings import Settings, settings_from_options
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level

PASS = "eliminate_nop_monotone_argmax"
BACKEND = SubjectName.parse("onnxruntime[optimization=disabled]", SubjectKind.BACKEND)
OPTIMIZER = SubjectName.parse("onnxsim", SubjectKind.OPTIMIZER)


def test_option_values_give_the_same_settings(tmp_path):
    given = Settings(
        (BACKEND, OPTIMIZER),
        data=tmp_path / "data",
        selection=Selection("adam or x", ("test_adam",), tag=("float",), select_level=("must",)),
        fail_level=Level.SHOULD,
        expect=(tmp_path / "a.toml", tmp_path / "b.toml"),
        results=tmp_path / "results.jsonl",
        implements=(PASS,),
        diagnosis=False,
        accuracy=True,
        shard=Shard(3, 8),
        repeat=4,
        require=("Adam",),
        baseline=tmp_path / "old.jsonl",
        profile="sonnx",
        no_isolation=True,
        limits=Limits(2.5, 2**30),
    )
    assert settings_from_options(json.loads(json.dumps(given.as_options()))) == given


def test_option_values_of_defaults_give_the_defaults():
    defaults = Settings((BACKEND,))
    assert settings_from_options(json.loads(json.dumps(defaults.as_options()))) == defaults


def test_settings_have_a_value_for_all_options():
    assert set(Settings((BACKEND,)).as_options()) == set(RUN_OPTIONS)


def test_paths_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Settings((BACKEND,), data=Path("data")).as_options()["data"] == str(tmp_path / "data")


def test_words_have_the_options_that_verdicts_depend_on():
    settings = Settings((OPTIMIZER,), implements=(PASS,), fail_level=Level.SHOULD, limits=Limits(2.5))
    words = ["--fail-level", "should", "--timeout", "2.5"]
    assert settings.options_of(SubjectKind.BACKEND) == words
    assert settings.options_of(SubjectKind.OPTIMIZER) == ["--implements", PASS, *words]


@pytest.mark.parametrize(
    ("wrong", "code", "data"),
    [
        ({"subjects": (BACKEND, BACKEND)}, "usage.subject-twice", BACKEND.text),
        ({"subjects": (BACKEND,), "implements": (PASS,)}, "usage.optimizer-missing", "-o"),
        ({"subjects": (OPTIMIZER,), "implements": ("fold",)}, "name.no-such-pass", "fold"),
        ({"subjects": (BACKEND,), "results": Path("/")}, "usage.target-is-directory", "/"),
        ({"subjects": (BACKEND,), "python": Path("no-such-python")}, "usage.python-not-executable", "no-such-python"),
        ({"subjects": (BACKEND,), "python": Path("x"), "no_isolation": True}, "usage.options-conflict", "--python"),
    ],
)
def test_inconsistent_settings_are_rejected(wrong, code, data):
    with assert_raises(code, data):
        Settings(**wrong)
