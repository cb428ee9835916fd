"""Readers that check that a file or folder is complete, and return its content without parts that vary between runs."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import onnx
from command_outputs import comparable_records, read_tree

from conformance.corpus.cases.corpus import open_corpus
from conformance.run.results.results_file import read_results
from conformance.studies.census.census_file import read_census
from conformance.studies.history.store import HistoryStore
from conformance.subjects.environments.registry import DOCUMENT_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TIMES = {"seconds", "started", "start", "stop", "duration", "command", "tested"}
"""Keys whose values vary between runs, in all JSON formats.

A command names `--resume` in a resumed run. A resumed reduction starts with a smaller model, and tests fewer models.
"""


TEMPORARY_FOLDER = re.compile(r"/onnx-conformance-[0-9a-f]{8}/")
"""Name of a temporary folder, in which a search without `--output` has its corpus."""


def without_times(document: Any) -> Any:
    """Return a JSON document without the keys in `TIMES`."""
    if isinstance(document, dict):
        return {key: without_times(value) for key, value in document.items() if key not in TIMES}
    return [without_times(value) for value in document] if isinstance(document, list) else document


def _document(path: Path) -> object:
    return without_times(json.loads(path.read_text()))


def _results(path: Path) -> object:
    read_results(path)
    return [TEMPORARY_FOLDER.sub("", record) for record in comparable_records(path)]


def _census(path: Path) -> object:
    read_census(path)
    return path.read_text().splitlines()


def _page(path: Path) -> object:
    assert path.read_text().rstrip().endswith("</html>")
    return path.stat().st_size > 1000


def _suites(path: Path) -> object:
    return len(list(ET.parse(path).iter("testcase")))


def _badge(path: Path) -> object:
    return ET.tostring(ET.parse(path).getroot())


def _model(path: Path) -> object:
    onnx.checker.check_model(onnx.load(path))
    return path.read_bytes()


def _corpus(path: Path) -> object:
    open_corpus(path).verify()
    return read_tree(path)


def _tensors(path: Path) -> object:
    tree = read_tree(path)
    return {name: onnx.TensorProto.FromString(content) for name, content in tree.items()}


def _exported(path: Path) -> object:
    tree = read_tree(path)
    for line in tree["SHA256SUMS"].decode().splitlines():
        digest, name = line.split(maxsplit=1)
        assert digest == hashlib.sha256(tree[name]).hexdigest()
    return tree


def _evidence(path: Path) -> object:
    checked = subprocess.run([sys.executable, "-I", "-S", path / "verify.py"], stdout=subprocess.DEVNULL, check=False)
    assert not checked.returncode
    return {name: content for name, content in read_tree(path).items() if name.endswith(".csv")}


def _reproduction(path: Path) -> object:
    tree = read_tree(path)
    compile(tree["reproduce.py"], "reproduce.py", "exec")
    onnx.ModelProto.FromString(tree["model.onnx"])
    return {name: _document(path / name) if name.endswith(".json") else content for name, content in tree.items()}


def _history(path: Path) -> object:
    store = HistoryStore(path)
    found = {stored.path.name: gzip.decompress(stored.path.read_bytes()).splitlines() for stored in store.releases()}
    for stored in store.releases():
        stored.read()
        assert store.values(stored.target)
    return {name: [without_times(json.loads(line)) for line in lines] for name, lines in found.items()}


def _environments(path: Path) -> object:
    homes = [home for home in sorted(path.iterdir()) if not home.name.startswith(".")]
    assert all(os.access(home / "bin" / "python", os.X_OK) for home in homes)
    return {home.name: json.loads((home / DOCUMENT_NAME).read_text()) for home in homes}


_READERS: Mapping[str, Callable[[Path], object]] = {
    ".jsonl": _results,
    ".census": _census,
    ".html": _page,
    ".json": _document,
    ".xml": _suites,
    ".svg": _badge,
    ".md": Path.read_text,
    ".txt": Path.read_text,
    ".toml": lambda path: tomllib.loads(path.read_text()),
    ".onnx": _model,
    "corpus": _corpus,
    "inputs": _tensors,
    "exported": _exported,
    "evidence": _evidence,
    "reproduction": _reproduction,
    "store": _history,
    "environments": _environments,
}


def read_complete(path: Path) -> object:
    """Return the content of a file, whose suffix states its format, or of a folder, whose name does.

    Raises:
        ConformanceError, OSError, ValueError, LookupError, AssertionError: it is incomplete.
    """
    return _READERS[path.suffix or path.name](path)
