"""Readers that check that a file is complete, and return its content without parts that vary between runs."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

from command_outputs import comparable_records, read_tree

from conformance.corpus.corpus import open_corpus
from conformance.results.file import read_results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def _results(path: Path) -> object:
    read_results(path)
    return [record.replace(str(path.parent), "") for record in comparable_records(path)]  # of `--data`


def _page(path: Path) -> object:
    assert path.read_text().rstrip().endswith("</html>")
    return path.stat().st_size > 1000


def _summary(path: Path) -> object:
    return sorted(json.loads(path.read_text()))


def _suites(path: Path) -> object:
    from xml.etree import ElementTree as ET

    return len(list(ET.parse(path).iter("testcase")))


def _corpus(path: Path) -> object:
    open_corpus(path).verify()
    return read_tree(path)


READERS: Mapping[str, Callable[[Path], object]] = {
    ".jsonl": _results,
    ".html": _page,
    ".json": _summary,
    ".xml": _suites,
    ".toml": lambda path: tomllib.loads(path.read_text()),
    "": _corpus,
}
"""The reader of each kind of file, by its suffix; a folder is a corpus. A reader raises for an incomplete file."""
