"""The readers that are fuzzed, each with the strategy of what it reads."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from campaign_jobs import Squares
from corpora import SMALL
from hypothesis import strategies as st
from mutations import spoilt_bytes, spoilt_document, spoilt_lines, spoilt_model, spoilt_toml
from targets import TOML, Example, Find, Seeds, bounded, write

from conformance.campaigns.job import Piece
from conformance.campaigns.state import State
from conformance.corpus.beside import BESIDE, beside_bytes, verify_neighbours
from conformance.corpus.corpus import MANIFEST, RELEASED, manifest_bytes, open_corpus, read_manifest
from conformance.corpus.document import case_json
from conformance.corpus.loading import load_case
from conformance.corpus.released import as_released, read_released, released_bytes
from conformance.environments.store import DOCUMENT, environments
from conformance.errors import CampaignError
from conformance.expectations.file import read_expectations
from conformance.isolation.protocol import answer_in, decoded
from conformance.judging.placement import placement_complaint, placement_of
from conformance.judging.profiled import profile_of
from conformance.models.reading import read_model
from conformance.results.file import read

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER = {
    "seq": 1,
    "outputs": [{"name": "Y", "dtype": "float", "shape": [1], "data": "AACAPw=="}],
    "changed": [0],
    "overwritten": [[0, 0]],
    "placement": {"CPU": {"ArgMax": 1}},
}
PLACEMENT = {"CPU": {"ArgMax": 1, "Cast": 2}, "GPU": {"Adam": 3}}
PROFILE = """name = "house"
title = "House rules"
source = "page 1"

[[rule]]
id = "house.one"
level = "must"
text = "nothing is changed"
source = "page 1"
checks = ["mutation"]
answer = "nan_wins_argmax"
"""
ENVIRONMENT = {"subject": "exact@1", "version": "1", "python": "3.11.7", "installed": ["numpy==2"]}


def reader_targets(seeds: Seeds) -> dict[str, tuple[st.SearchStrategy[bytes], Callable[[bytes, Path], Any]]]:
    """By name: what spoils a file, and what reads it."""
    corpus = open_corpus(seeds.folder / "corpus")
    case = corpus.cases[SMALL[0]]
    document = case_json(corpus, case)
    manifest = (corpus.path / MANIFEST).read_bytes()
    model = st.sampled_from(seeds.models).flatmap(spoilt_model)
    return {
        "results": (spoilt_lines(seeds.results), _read("r.jsonl", read)),
        "packed results": (spoilt_bytes(_packed(seeds.results)), _read("r.jsonl.gz", read)),
        "manifest": (st.one_of(spoilt_document(json.loads(manifest)), spoilt_bytes(manifest)), _read_manifest),
        "case.json": (spoilt_document(document), _in_corpus(seeds, "case.json")),
        "model of a case": (model, _in_corpus(seeds, "model.onnx")),
        "tensor": (spoilt_bytes(_tensor(seeds)), _in_corpus(seeds, "test_data_set_0/output_0.pb")),
        "expectations": (spoilt_toml(TOML.encode()), _read("e.toml", read_expectations)),
        "model": (model, _read("m.onnx", read_model)),
        "answer": (spoilt_document(ANSWER), _answer),
        "beside.json": (_spoilt(beside_bytes(SMALL[1])), _in_corpus(seeds, BESIDE)),
        "released.json": (_spoilt(released_bytes(as_released(corpus))), _read_released),
        "profile": (spoilt_toml(PROFILE.encode()), _read("p.toml", lambda path: profile_of(str(path)))),
        "environment.json": (_spoilt(json.dumps(ENVIRONMENT).encode()), _read_environment),
        "placement": (spoilt_document(PLACEMENT), _placement),
        "state of a campaign": (spoilt_lines(_state(seeds.folder)), _read_state),
    }


def _spoilt(content: bytes) -> st.SearchStrategy[bytes]:
    """A document in JSON that is spoilt as one, or in its bytes."""
    return st.one_of(spoilt_document(json.loads(content)), spoilt_bytes(content))


def _packed(content: bytes) -> bytes:
    import gzip

    return gzip.compress(content, mtime=0)


def _tensor(seeds: Seeds) -> bytes:
    return (seeds.folder / "corpus" / "node" / SMALL[0] / "test_data_set_0" / "output_0.pb").read_bytes()


def _read(name: str, reader: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    def run(content: bytes, folder: Path) -> None:
        (folder / name).write_bytes(content)
        with bounded():
            reader(folder / name)

    return run


def _read_manifest(content: bytes, folder: Path) -> None:
    (folder / MANIFEST).write_bytes(content)
    with bounded():
        read_manifest(folder)


def _in_corpus(seeds: Seeds, name: str) -> Callable[[bytes, Path], Any]:
    """Reads a case of a corpus of one case, whose manifest knows the spoilt file's hash."""

    def run(content: bytes, folder: Path) -> None:
        rehashed(seeds, folder, name, content)
        with bounded():
            opened = open_corpus(folder)
            case_json(opened, opened.cases[SMALL[0]])
            verify_neighbours(opened)
            for data_set in load_case(opened, opened.cases[SMALL[0]]).data_sets():
                assert data_set is not None

    return run


def rehashed(seeds: Seeds, folder: Path, name: str, content: bytes) -> None:
    """Write a corpus of one case, with this file spoilt."""
    from hashlib import sha256

    home = seeds.folder / "corpus" / "node" / SMALL[0]
    files = {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    files[name] = content
    case = f"node/{SMALL[0]}"
    write(Example(files={f"{case}/{name}": content for name, content in files.items()}), folder)
    hashes = {case: {name: sha256(content).hexdigest() for name, content in files.items()}}
    (folder / MANIFEST).write_bytes(manifest_bytes("1.0.0", hashes, {case: "must"}))


def _answer(content: bytes, _: Path) -> None:
    with bounded():
        for output in answer_in(content, "run", 1).get("outputs", []):
            if "data" in output:
                with suppress(ValueError):  # told as nonsense by who asks
                    decoded(output)


def _read_released(content: bytes, folder: Path) -> None:
    (folder / RELEASED).write_bytes(content)
    with bounded():
        read_released(folder)


def _read_environment(content: bytes, folder: Path) -> None:
    """As `env list` does, which shows one that cannot be read."""
    made = folder / "onnx-conformance" / "environments" / "exact-1"
    write(Example(files={DOCUMENT: content}), made)
    with patch.dict(os.environ, {"XDG_CACHE_HOME": str(folder)}), bounded():
        for environment in environments():
            assert environment.subject


def _placement(content: bytes, _: Path) -> None:
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        return
    with suppress(ValueError):  # told as an error of the backend by who asks
        placement_complaint("CPU", placement_of(SimpleNamespace(placement=said)))


def _state(folder: Path) -> bytes:
    path = folder / "state.jsonl"
    with State(path, Squares()) as state:
        for number in range(3):
            state.keep(Piece(number, {"square": number**2}))
    return path.read_bytes()


def _read_state(content: bytes, folder: Path) -> None:
    """A file that is refused is left as it is, to the byte."""
    path = folder / "state.jsonl"
    path.write_bytes(content)
    try:
        with State(path, Squares()):
            return
    except CampaignError:
        if path.read_bytes() != content:
            raise Find("a state that was refused is altered") from None
