"""The fuzzed readers of files, each with a strategy for corrupted input."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import evidence_inputs
import onnx
from corpora import SMALL
from evidence_inputs import REQUIREMENTS
from fake_jobs import Squares
from hypothesis import strategies as st
from models import tensors
from msgspec import to_builtins
from mutations import (
    corrupted_bytes,
    corrupted_document,
    corrupted_lines,
    corrupted_model,
    corrupted_toml,
    corrupted_zip,
    npy_file,
)
from onnx import TensorProto
from targets import TOML, Example, FuzzFailure, Seeds, bounded, write

from conformance.base.errors import JobError
from conformance.base.jobs.job import ChunkResult, JobState
from conformance.base.verdicts import Level
from conformance.corpus.cases.archive import write_archive
from conformance.corpus.cases.case_loading import (
    COMPANION_FILE,
    companion_bytes,
    load_case,
    read_case_json,
    verify_companions,
)
from conformance.corpus.cases.corpus import MANIFEST, RELEASED, manifest_bytes, open_corpus, read_manifest
from conformance.corpus.cases.released import read_released, release_of
from conformance.exact.models.model_validity import read_model
from conformance.own.graphs.model_inputs import read_inputs
from conformance.run.corpus_run.run_session import read_last_failed, update_last_failed
from conformance.run.expectations.expectations_file import read_expectations
from conformance.run.judging.backend import placement_violation, reported_placement
from conformance.run.judging.profile_rules import load_profile
from conformance.run.results.results_file import read_results
from conformance.studies.census.census_file import read_census
from conformance.studies.evidence.evidence_inputs import read_inputs as read_evidence_inputs
from conformance.studies.evidence.requirement_maps import read_map
from conformance.subjects.environments.registry import DOCUMENT_NAME, list_environments
from conformance.subjects.isolation.protocol import parse_answer
from conformance.subjects.isolation.proxies import decode_value

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER = {
    "seq": 1,
    "outputs": [{"name": "Y", "dtype": "float", "shape": [1], "data": "AACAPw=="}],
    "changed": [0],
    "overwritten": [[0, 0]],
    "placement": {"CPU": {"ArgMax": 1}},
}
ANSWERS = (
    (
        "start",
        {
            "seq": 1,
            "version": 1,
            "name": "exact",
            "runtime_version": "1",
            "language": "C",
            "kind": "backend",
            "passes": ["a"],
            "types": ["float"],
            "packages": ["numpy==2"],
        },
    ),
    ("load", {"seq": 1, "loaded": 1}),
    ("load", {"seq": 1, "unsupported": "no kernel"}),
    ("optimize", {"seq": 1, "model": "AACAPw==", "changed": False}),
    ("optimize", {"seq": 1, "error": "no"}),
)
PLACEMENT = {"CPU": {"ArgMax": 1, "Cast": 2}, "GPU": {"Adam": 3}}
PROFILE = """name = "example"
title = "Example rules"
source = "page 1"

[[rule]]
id = "example.one"
level = "must"
text = "nothing is changed"
source = "page 1"
checks = ["mutation"]
answer = "nan_wins_argmax"
"""
ENVIRONMENT = {"subject": "exact@1", "version": "1", "python": "3.11.7", "installed": ["numpy==2"]}


def reader_targets(seeds: Seeds) -> dict[str, tuple[st.SearchStrategy[bytes], Callable[[bytes, Path], Any]]]:
    """Return the strategy for the content and the reader, by the name of the target."""
    corpus = open_corpus(seeds.folder / "corpus")
    case = corpus.cases[SMALL[0]]
    document = to_builtins(read_case_json(corpus, case))
    manifest = (corpus.path / MANIFEST).read_bytes()
    model = st.sampled_from(seeds.models).flatmap(corrupted_model)
    return {
        "results": (corrupted_lines(seeds.results), _read("r.jsonl", read_results)),
        "packed results": (corrupted_bytes(_packed(seeds.results)), _read("r.jsonl.gz", read_results)),
        "manifest": (st.one_of(corrupted_document(json.loads(manifest)), corrupted_bytes(manifest)), _read_manifest),
        "case.json": (corrupted_document(document), _in_corpus(seeds, "case.json")),
        "model of a case": (model, _in_corpus(seeds, "model.onnx")),
        "tensor": (corrupted_bytes(_tensor(seeds)), _in_corpus(seeds, "test_data_set_0/output_0.pb")),
        "expectations": (corrupted_toml(TOML.encode()), _read("e.toml", read_expectations)),
        "model": (model, _read("m.onnx", read_model)),
        "answer": (corrupted_document(ANSWER), _answer),
        "companion.json": (_spoilt(companion_bytes(SMALL[1])), _in_corpus(seeds, COMPANION_FILE)),
        "released.json": (_spoilt(json.dumps(to_builtins(release_of(corpus))).encode()), _read_released),
        "profile": (corrupted_toml(PROFILE.encode()), _read("p.toml", lambda path: load_profile(str(path)))),
        "environment.json": (_spoilt(json.dumps(ENVIRONMENT).encode()), _read_environment),
        "placement": (corrupted_document(PLACEMENT), _placement),
        "state of a job": (corrupted_lines(_state(seeds.folder)), _read_state),
        "archive": (corrupted_zip(_archive_members(seeds)), _read_archive),
        "npz": (_npz_file(), _read_inputs_of("x.npz")),
        "npy": (npy_file(), _read_inputs_of("input_0.npy")),
        "pb": (_tensor_file(), _read_inputs_of("input_0.pb")),
        "last failed": (_spoilt(json.dumps({"onnx-conformance::a[b]": True}).encode()), _read_last_failed),
        "census": (_spoilt_lines_of(seeds, "census.jsonl"), _read("c.jsonl", read_census)),
        "map of requirements": (corrupted_toml(REQUIREMENTS.encode()), _read("m.toml", read_map)),
        "measurements": (_spoilt_measurements(seeds), _read_evidence_of(seeds)),
        **{f"answer to {command}": (corrupted_document(answer), _answer_to(command)) for command, answer in ANSWERS},
    }


def _spoilt(content: bytes) -> st.SearchStrategy[bytes]:
    """Return a strategy for a JSON document that is corrupted in its values or its bytes."""
    return st.one_of(corrupted_document(json.loads(content)), corrupted_bytes(content))


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
    """Return a function that reads a case with a corrupted file; the manifest has the hash of that file."""

    def run(content: bytes, folder: Path) -> None:
        write_corrupted_corpus(seeds, folder, name, content)
        with bounded():
            opened = open_corpus(folder)
            read_case_json(opened, opened.cases[SMALL[0]])
            verify_companions(opened)
            for data_set in load_case(opened, opened.cases[SMALL[0]]).data_sets():
                assert data_set is not None

    return run


def write_corrupted_corpus(seeds: Seeds, folder: Path, name: str, content: bytes) -> None:
    """Write a corpus of one case with a corrupted file."""
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
        for output in parse_answer(content, "run", 1).get("outputs", []):
            if "data" in output:
                with suppress(ValueError):  # the caller reports it as a protocol violation
                    decode_value(output)


def _read_released(content: bytes, folder: Path) -> None:
    (folder / RELEASED).write_bytes(content)
    with bounded():
        read_released(folder)


def _read_environment(content: bytes, folder: Path) -> None:
    """Read environments as `env list` does, which also lists unreadable ones."""
    made = folder / "onnx-conformance" / "environments" / "exact-1"
    write(Example(files={DOCUMENT_NAME: content}), made)
    with patch.dict(os.environ, {"XDG_CACHE_HOME": str(folder)}), bounded():
        for environment in list_environments():
            assert environment.subject


def _answer_to(command: str) -> Callable[[bytes, Path], Any]:
    def run(content: bytes, _: Path) -> None:
        with bounded():
            parse_answer(content, command, 1)

    return run


def _archive_members(seeds: Seeds) -> dict[str, bytes]:
    """Return the members of an archive of the corpus."""
    path = seeds.folder / "corpus.zip"
    write_archive(seeds.folder / "corpus", path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _read_archive(content: bytes, folder: Path) -> None:
    path = folder / f"{zlib.crc32(content)}.zip"  # an archive stays open by its path
    path.write_bytes(content)
    with bounded():
        opened = open_corpus(path)
        opened.verify()
        for case in opened.cases.values():
            read_case_json(opened, case)


def _npz_file() -> st.SearchStrategy[bytes]:
    return npy_file().flatmap(lambda content: corrupted_zip({"X.npy": content}))


def _tensor_file() -> st.SearchStrategy[bytes]:
    whole = TensorProto(name="X", data_type=1, dims=[2, 3], raw_data=bytes(24)).SerializeToString()
    return st.one_of(tensors().map(TensorProto.SerializeToString), corrupted_bytes(whole))


def _read_inputs_of(name: str) -> Callable[[bytes, Path], Any]:
    """Return a function that reads the inputs of models of floats, of texts and of a sequence from a file."""
    graphs = [
        onnx.parser.parse_graph(f"g ({declared} X) => (float Y) {{ Y = Abs (X) }}")
        for declared in ("float[2, 3]", "string[N]", "seq(float[N])", "float", "bfloat16[2, 3]")
    ]

    def run(content: bytes, folder: Path) -> None:
        (folder / name).write_bytes(content)
        for graph in graphs:
            with bounded():
                read_inputs(folder / name if name.endswith("z") else folder, graph)

    return run


def _read_last_failed(content: bytes, folder: Path) -> None:
    with patch.dict(os.environ, {"XDG_CACHE_HOME": str(folder)}), bounded():
        update_last_failed({"b": True})
        (file,) = folder.rglob("lastfailed")
        file.write_bytes(content)
        assert all(isinstance(name, str) for name in read_last_failed(Level.SHOULD))
        update_last_failed({"c": True})


def measured_files(seeds: Seeds) -> Path:
    """Return the folder of the inputs of evidence, which is written once."""
    folder = seeds.folder / "measured"
    if not folder.exists():
        evidence_inputs.write_inputs(folder)
    return folder


def _spoilt_lines_of(seeds: Seeds, name: str) -> st.SearchStrategy[bytes]:
    return corrupted_lines((measured_files(seeds) / name).read_bytes())


def _spoilt_measurements(seeds: Seeds) -> st.SearchStrategy[bytes]:
    """Return a strategy for corrupted measurements, whose first line is a brace."""
    names = ("mutation.json", "oracle.json")
    whole = st.sampled_from([(measured_files(seeds) / name).read_bytes() for name in names])
    return whole.flatmap(_spoilt).map(lambda content: content.replace(b"{", b"{\n", 1))


def _read_evidence_of(seeds: Seeds) -> Callable[[bytes, Path], Any]:
    measured = measured_files(seeds)

    def run(content: bytes, folder: Path) -> None:
        (folder / "m.json").write_bytes(content)
        with bounded():
            read_evidence_inputs([measured / "results.jsonl", folder / "m.json"], measured / "corpus")

    return run


def _placement(content: bytes, _: Path) -> None:
    try:
        placement = json.loads(content)
    except (ValueError, RecursionError):
        return
    with suppress(ValueError):  # the caller reports it as an error of the backend
        placement_violation("CPU", reported_placement(SimpleNamespace(placement=placement)))


def _state(folder: Path) -> bytes:
    path = folder / "state.jsonl"
    with JobState(path, Squares()) as state:
        for number in range(3):
            state.add(ChunkResult(number, {"square": number**2}))
    return path.read_bytes()


def _read_state(content: bytes, folder: Path) -> None:
    """Check that a refused state file is not changed."""
    path = folder / "state.jsonl"
    path.write_bytes(content)
    try:
        with JobState(path, Squares()):
            return
    except JobError:
        if path.read_bytes() != content:
            raise FuzzFailure("the reader changed a state file that it refused") from None
