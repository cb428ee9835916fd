"""What several test modules need: a few cases by name, small corpora, and directories as values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.corpus.corpus import MANIFEST, manifest_bytes
from conformance.generation.generation import generate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.corpus.case import Case
    from conformance.generation.generation import Written

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"

ADAM = "test_adam"
EXACT = "test_argmax_ties_default"
INDEX = "test_softmax_argmax_tie_last"
REPEATED = "test_adagrad_data_sets_repeated_float"
SHOULD = "test_adam_zeros_of_both_signs_float"
SILENT = "test_momentum_broadcast_g"
SEVERAL = "test_momentum_multiple"

SMALL = (ADAM, EXACT, INDEX, REPEATED, SHOULD, SILENT, SEVERAL)
"""One case of every level, kind of check and number of outputs and data sets."""


def quiet(_: str) -> None:
    """Progress that nobody watches."""


def write_corpus(directory: Path, cases: Iterable[Case], version: str | None = None) -> Written:
    """A corpus of some cases, all said to come from the generator `small`."""
    return generate(directory, [("small", case) for case in cases], version, quiet)


def tree(directory: Path) -> dict[str, bytes]:
    """Every file below a directory, hidden ones too, by its relative path; pytest's cache is none of ours."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and ".pytest_cache" not in path.parts
    }


def rehash(directory: Path, cases: Mapping[str, Mapping[str, str]], levels: Mapping[str, str] | None = None) -> None:
    """Give a corpus a manifest of these hashes, whatever they are, with further levels."""
    known = json.loads((directory / MANIFEST).read_bytes())["levels"]
    (directory / MANIFEST).write_bytes(manifest_bytes("1.0.0", cases, {**known, **(levels or {})}))


def records(path: Path) -> list[dict[str, Any]]:
    """The lines of a results file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def results_of(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """A results file's results by subject and case."""
    return {(line["subject"], line["case"]): line for line in records(path) if line["record"] == "result"}


def expecting(subject: str, *cases: str, verdict="fail", more="") -> str:
    """An expectations file of one entry with a line for each case."""
    patterns = "".join(f'  "{case}",\n' for case in cases)
    entry = f'[[expect]]\ncases = [\n{patterns}]\nverdict = "{verdict}"\nreason = "known"\n{more}'
    return f'subject = "{subject}"\n\n{entry}'
