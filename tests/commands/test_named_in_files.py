"""A file that a verb reads never chooses what is executed: no command, no module, no interpreter and no library."""

from __future__ import annotations

import json
import shlex

import onnx
import pytest
from corpora import ADAM
from refusals import assert_bad_input

WRONG = "fake_subject:always_wrong"
PLANTED = "from pathlib import Path\nPath({path!r}).touch()\nclass Backend:\n    pass\n"

READERS = {
    "repro": ("repro", ADAM, "-r", "r.jsonl", "--output", "out"),
    "explain": ("explain", ADAM, "-r", "r.jsonl"),
    "run --resume": ("run", "--resume", "interrupted.jsonl"),
    "run --resume -b": ("run", "--resume", "interrupted.jsonl", "-b", WRONG),
    "run --baseline": ("run", "-b", WRONG, "--case", ADAM, "--baseline", "r.jsonl"),
    "run --relative-to": ("run", "-b", WRONG, "--case", ADAM, "--relative-to", "{subject}", "--baseline", "r.jsonl"),
    "report": ("report", "r.jsonl", "--html", "page.html", "--markdown", "page.md"),
    "report --evidence": ("report", "r.jsonl", "--evidence", "evidence"),
    "diff": ("diff", "r.jsonl", "r.jsonl"),
    "merge": ("merge", "r.jsonl", "--results", "merged.jsonl"),
    "update-expectations": ("update-expectations", "expected.toml", "r.jsonl"),
    "blame --resume": ("blame", "model.onnx", "-b", WRONG, "-b", "reference", "--resume", "blamed.json"),
    "audit --resume": ("audit", "model.onnx", "-b", "reference", "--resume", "audited"),
    "search --resume": ("search", "-b", "reference", "--operator=Adam", "--examples=1", "--resume", "searched.jsonl"),
    "census --resume": ("census", "-b", "reference", "--operator", "Sqrt", "--type", "float16", "--resume", "counted"),
}
"""Verbs that read a file which names a subject."""


@pytest.fixture
def files(command, here, small_corpus):
    """Return a function that writes the files of `READERS`, each with a given name of the subject."""
    graph = "g (float[2] X) => (float[2] Y) { Y = Abs (X) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {graph}'), here / "model.onnx")
    command("run", "-b", WRONG, "--data", small_corpus, "--case", ADAM, "--results", "r.jsonl")
    (here / "expected.toml").write_text(f'format = 2\nsubject = "{WRONG}"\n')

    def write(subject):
        written = (here / "r.jsonl").read_text().replace(WRONG, subject)
        (here / "r.jsonl").write_text(written)
        (here / "interrupted.jsonl.partial").write_text("".join(written.splitlines(keepends=True)[:2]))
        (here / "blamed.json").write_text(json.dumps({"format": 1, "subjects": [subject], "steps": {}}))
        (here / "audited").mkdir()
        (here / "audited" / "record.json").write_text(json.dumps({"format": 1, "subject": subject}))
        for name in ("searched.jsonl", "counted"):
            (here / name).write_text(json.dumps({"search": [[subject, "backend"]], "subjects": [subject]}) + "\n")

    return write


@pytest.mark.variants(5)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["command", pytest.param("module", marks=pytest.mark.long)])
def test_subject_in_file_is_not_executed(command, here, small_corpus, files, reader, kind):
    executed = here / "executed"
    (here / "planted.py").write_text(PLANTED.format(path=str(executed)))
    subject = f"exec:touch {shlex.quote(str(executed))}" if kind == "command" else "planted:Backend"
    files(subject)
    words = [word.format(subject=subject) for word in READERS[reader]]
    data = ["--data", str(small_corpus)] if words[0] in {"run", "repro", "explain"} else []
    ended = command(*words, *data)
    assert not executed.exists(), ended
    assert "Traceback" not in ended.out + ended.err


@pytest.mark.parametrize(
    "subject",
    ["exec:touch executed", "planted:Backend", "reference[python=./evil]", "onnxruntime[library=/evil.so]", "acme"],
)
def test_repro_of_subject_in_file_without_registered_name_is_refused(command, here, small_corpus, files, subject):
    files(subject)
    ended = command("repro", ADAM, "-r", "r.jsonl", "--data", small_corpus, "--output", "out")
    assert_bad_input(ended, "usage.subject-from-file", subject)
    assert not (here / "out").exists()
