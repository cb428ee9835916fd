"""A few cases by name, and small corpora of them."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repository import DATA

from conformance.corpus.cases.corpus import MANIFEST, manifest_bytes
from conformance.corpus.generation.write_corpus import generate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from conformance.corpus.cases.case import Case
    from conformance.corpus.generation.write_corpus import CorpusSize


ADAM = "test_adam"


EXACT = "test_argmax_ties_default"


INDEX = "test_softmax_argmax_tie_last"


REPEATED = "test_adagrad_data_sets_repeated_float"


SHOULD = "test_adam_zeros_of_both_signs_float"


SILENT = "test_momentum_r_and_t_of_shape_1"


SEVERAL = "test_momentum_multiple"


SMALL = (ADAM, EXACT, INDEX, REPEATED, SHOULD, SILENT, SEVERAL)
"""One case of every level, kind of check and number of outputs and data sets."""


def no_progress(_: str) -> None:
    """Ignore progress."""


def write_corpus(directory: Path, cases: Iterable[Case], version: str | None = None) -> CorpusSize:
    """Write a corpus of some cases with the generator name `small`."""
    return generate(directory, [("small", case) for case in cases], version, no_progress)


def write_part(directory: Path, chosen: Callable[[int, str], bool]) -> Path:
    """Write a part of the committed corpus: the cases chosen by index and id, with their companions, unchanged."""
    whole = _committed_manifest()
    paths = [path for place, path in enumerate(whole["cases"]) if chosen(place, path.partition("/")[2])]
    companions = [DATA / path / "companion.json" for path in paths if (DATA / path / "companion.json").exists()]
    needed = {json.loads(path.read_bytes())["case"] for path in companions}
    kept = [path for path in whole["cases"] if path in paths or path.partition("/")[2] in needed]
    for path in kept:
        shutil.copytree(DATA / path, directory / path)
    cases, levels = ({path: whole[key][path] for path in kept} for key in ("cases", "levels"))
    (directory / MANIFEST).write_bytes(manifest_bytes(whole["version"], cases, levels))
    return directory


@cache
def _committed_manifest() -> Any:
    return json.loads((DATA / MANIFEST).read_bytes())


def case_title(corpus: Path, id: str) -> str:
    """Return the title in the `case.json` of a case."""
    (path,) = corpus.glob(f"*/{id}/case.json")
    return json.loads(path.read_bytes())["title"]


def name_corpus(directory: Path, name: str) -> None:
    """Give a corpus a name, as that of onnx's cases."""
    manifest = json.loads((directory / MANIFEST).read_bytes())
    renamed = manifest_bytes(manifest["version"], manifest["cases"], manifest["levels"], name)
    (directory / MANIFEST).write_bytes(renamed)


def rehash(directory: Path, cases: Mapping[str, Mapping[str, str]], levels: Mapping[str, str] | None = None) -> None:
    """Write a manifest with these hashes and further levels into a corpus."""
    known = json.loads((directory / MANIFEST).read_bytes())["levels"]
    (directory / MANIFEST).write_bytes(manifest_bytes("1.0.0", cases, {**known, **(levels or {})}))
