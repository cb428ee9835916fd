"""Audits on several workers: the same result for any number, also after killed workers and interruptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from dask_clusters import make_cluster
from fake_jobs import DiesOnceInJob
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from refusals import assert_raises

from conformance.base.jobs.dask import DaskWorkers
from conformance.base.jobs.job import ChunkResult, result_decoder
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.serialization.decoding import MalformedError, encode_json
from conformance.exact.judgement.node_comparison import JudgedElement
from conformance.own.audit.audit_job import AuditKey, AuditWorkers, JudgedChunk, JudgementJob
from conformance.own.audit.audit_report import AuditDocument, audit_document
from conformance.own.audit.audit_session import AuditOptions, audit_subject
from conformance.own.audit.node_verdicts import JudgedNode, NodeVerdict
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator


class FusingBackend:
    """onnx's evaluator, whose outputs change when H5 to H20 are exposed, and with a wrong value W."""

    def __init__(self) -> None:
        self.prepared = 0

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        self.prepared += 1
        evaluator, names = ReferenceEvaluator(model), [value.name for value in model.graph.output]
        is_changed = any(f"H{number}" in names for number in range(5, 21))

        class Prepared:
            def run(self, inputs: list[Any]) -> list[Any]:
                values = dict(zip(names, evaluator.run(None, {"X": inputs[0]}), strict=True))
                if is_changed:
                    values["Y"] = values["Y"] + np.float32(1)
                if "W" in names:
                    values["W"] = np.full_like(values["W"], np.inf)
                return [values[name] for name in names]

        return Prepared()


@pytest.fixture
def model(tmp_path: Path) -> LoadedModel:
    """A model of 60 nodes and a constant, of which 16 have hidden values, in chunks of 16 nodes."""
    names = ["X", *(f"H{number}" for number in range(59))]
    kinds = ["Tanh", "Neg", "Abs", "Sigmoid"]
    nodes = [helper.make_node(kinds[n % 4], [a], [b]) for n, (a, b) in enumerate(pairwise(names))]
    nodes.append(helper.make_node("Constant", [], ["K"], value_float=0.5))
    nodes += [helper.make_node("Add", ["H58", "K"], ["Y"]), helper.make_node("Exp", ["X"], ["W"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("X", TensorProto.FLOAT, [3])], [value("Y", TensorProto.FLOAT, [3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    return LoadedModel.read(tmp_path / "m.onnx")


DATA = InputSet("given", (np.array([0.5, -1.5, 2.0], np.float32),))


def test_probes_run_nodes_whose_values_are_hidden(model: LoadedModel) -> None:
    found = audit_subject(model, Subject("test", "1", FusingBackend()), DATA, options=AuditOptions(probes=1))
    (tanh,) = [each for each in found.probes if each.node.op_type == "Tanh"]
    assert found.ways["hidden"] == 16
    assert (tanh.nodes, tanh.probes > 0) == (15, True)


def audit_json(model: LoadedModel, workers: AuditWorkers | None, backend: Any = None) -> AuditDocument:
    result = audit_subject(
        model, Subject("fake", "1", backend or FusingBackend()), DATA, options=AuditOptions(workers=workers)
    )
    return audit_document(model, [result], [], None)


def test_recorded_folder_gives_the_same_result_as_memory(model: LoadedModel, tmp_path: Path) -> None:
    expected = audit_json(model, None)
    verdicts = [node.verdict for node in expected.audits[0].nodes]
    assert expected.audits[0].ways["hidden"] == 16
    assert set(verdicts) == {"correct", "wrong"}
    for _ in range(2):  # the second audit reads the judgements too
        assert audit_json(model, AuditWorkers(ProcessWorkers(1, pytest.fail), tmp_path / "kept")) == expected


@pytest.mark.long
@pytest.mark.programs
def test_killed_worker_changes_no_result(model: LoadedModel, tmp_path: Path) -> None:
    notices: list[str] = []

    class KilledWorkers:
        """Two workers, one of which is killed on the last chunk."""

        def run(self, job: Any, numbers: Any) -> Iterator[ChunkResult]:
            yield from ProcessWorkers(2, notices.append).run(DiesOnceInJob(job, str(tmp_path / "died")), numbers)

    assert audit_json(model, AuditWorkers(KilledWorkers(), tmp_path / "kept")) == audit_json(model, None)
    (notice,) = notices
    assert "SIGKILL" in notice


@pytest.mark.programs
def test_dask_workers_give_the_same_result(model: LoadedModel, tmp_path: Path) -> None:
    with make_cluster(2) as cluster:
        workers = AuditWorkers(DaskWorkers(cluster.scheduler_address, pytest.fail), tmp_path / "kept")
        assert audit_json(model, workers) == audit_json(model, None)


@dataclass
class Interrupted:
    """Yields some chunks of this process and stops then."""

    chunks: int
    done: list[int] = field(default_factory=list)

    def run(self, job: Any, numbers: Any) -> Iterator[ChunkResult]:
        for chunk in ProcessWorkers(1, pytest.fail).run(job, numbers):
            if len(self.done) == self.chunks:
                raise KeyboardInterrupt
            self.done.append(chunk.number)
            yield chunk


def test_interrupted_audit_continues_without_another_recording(model: LoadedModel, tmp_path: Path) -> None:
    expected = audit_json(model, None)
    first, second, third = Interrupted(1), Interrupted(99), Interrupted(99)
    with pytest.raises(KeyboardInterrupt):
        audit_json(model, AuditWorkers(first, tmp_path / "kept"))
    backend = FusingBackend()
    assert audit_json(model, AuditWorkers(second, tmp_path / "kept"), backend) == expected
    assert (first.done, second.done) == ([0], [1, 2, 3])
    assert backend.prepared < 3  # only wrong nodes are confirmed on the subject
    assert audit_json(model, AuditWorkers(third, tmp_path / "kept")) == expected
    assert third.done == []


def test_folder_of_another_model_is_refused(model: LoadedModel, tmp_path: Path) -> None:
    workers = AuditWorkers(ProcessWorkers(1, pytest.fail), tmp_path / "kept")
    audit_json(model, workers)
    workers.check(model.digest)
    with assert_raises("job.other-job"):
        workers.check("0" * 64)


@pytest.mark.parametrize("damage", ["record", "blob", "missing"])
def test_damaged_recording_is_refused(model: LoadedModel, tmp_path: Path, damage: str) -> None:
    workers = AuditWorkers(ProcessWorkers(1, pytest.fail), tmp_path / "kept")
    audit_json(model, workers)
    (folder,) = (tmp_path / "kept").iterdir()
    for file in (folder / "blobs").iterdir() if damage != "record" else [folder / "record.json"]:
        content = file.read_bytes()
        file.unlink()
        if damage != "missing":
            file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with assert_raises("job.recording-unreadable" if damage == "missing" else "job.malformed-recording"):
        audit_json(model, workers)


def test_file_in_the_place_of_the_folder_is_refused(model: LoadedModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with assert_raises("job.state-not-a-folder"):
        AuditWorkers(ProcessWorkers(1, pytest.fail), tmp_path / "file").check(model.digest)


@pytest.mark.parametrize("share", [0.0, 0.1, 1e-300, 5e-324, float("inf")])
def test_judgement_survives_json(share: float) -> None:
    worst = JudgedElement("Y", (1, 2), float("-inf"), 1e22, -0.0)
    given = 3, "n", NodeVerdict.WRONG, "r", 5, 6, 1, 2, 3, share, worst, worst, share, worst, 4, "cut", "float", 7
    node = JudgedNode(*given, op_type="Add", domain="")
    job = JudgementJob(Path(), AuditKey("", "", "", ""), "", ((0, 4),), frozenset())
    assert result_decoder(job)(encode_json(JudgedChunk([node]))).nodes == [node]


@pytest.mark.parametrize(("number", "judged"), [(0, [0]), (0, [0, 1, 1]), (0, [2, 3]), (1, [0, 1]), (2, [])])
def test_judgements_of_other_nodes_are_refused(number: int, judged: list[int]) -> None:
    job = JudgementJob(Path(), AuditKey("", "", "", ""), "", ((0, 2), (2, 3)), frozenset())

    def chunk(number: int, nodes: list[int], segment: int = 0) -> ChunkResult:
        found = [JudgedNode(n, "", NodeVerdict.CORRECT, op_type="", domain="", segment=(segment,)) for n in nodes]
        return ChunkResult(number, JudgedChunk(found))

    job.check_result(chunk(0, [0, 1]))
    with pytest.raises(MalformedError):
        job.check_result(chunk(number, judged))
    with pytest.raises(MalformedError):
        job.check_result(chunk(0, [0, 1], segment=3))
