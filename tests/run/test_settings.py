"""The settings of a run: they travel to workers as JSON, and refuse by themselves what does not fit together."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.isolation.limits import Limits
from conformance.run import settings as module
from conformance.run.selection import Selection, Shard
from conformance.run.settings import Settings
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level

PASS = "eliminate_nop_monotone_argmax"
BACKEND = SubjectName.of("onnxruntime[optimization=disabled]", SubjectKind.BACKEND)
OPTIMIZER = SubjectName.of("onnxsim", SubjectKind.OPTIMIZER)


def test_all_of_them_come_back_from_json(tmp_path):
    given = Settings(
        (BACKEND, OPTIMIZER),
        data=tmp_path / "data",
        selection=Selection("adam or x", ("test_adam",), tags=("float",), levels=("must",)),
        level=Level.SHOULD,
        expect=(tmp_path / "a.toml", tmp_path / "b.toml"),
        results=tmp_path / "results.jsonl",
        claims=(PASS,),
        diagnosis=False,
        quality=True,
        shard=Shard(3, 8),
        repeat=4,
        require=("Adam",),
        baseline=tmp_path / "old.jsonl",
        in_process=True,
        limits=Limits(2.5, 2**30),
    )
    assert Settings.from_json(json.loads(json.dumps(given.as_json()))) == given


def test_the_defaults_come_back_from_json():
    assert Settings.from_json(json.loads(json.dumps(Settings((BACKEND,)).as_json()))) == Settings((BACKEND,))


def test_a_path_is_the_same_file_from_another_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Settings((BACKEND,), data=Path("data")).as_json()["data"] == str(tmp_path / "data")


def test_every_setting_can_be_read():
    assert set(vars(module)["_READ"]) == {field.name for field in fields(Settings)}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"subjects": (BACKEND, BACKEND)}, "is named twice"),
        ({"subjects": (BACKEND,), "claims": (PASS,)}, "no graph optimizer is named"),
        ({"subjects": (OPTIMIZER,), "claims": ("fold",)}, "There is no pass fold"),
        ({"subjects": (BACKEND,), "results": Path("/")}, "is a directory"),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong, told):
    with pytest.raises(UsageError, match=told):
        Settings(**wrong)
