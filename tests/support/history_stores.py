"""Histories of fake releases on a few cases of the committed corpus."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
from corpora import ADAM, EXACT, INDEX, rehash, write_part
from fake_subject import always_right
from msgspec import structs
from onnx import TensorProto, numpy_helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import MANIFEST, open_corpus
from conformance.run.corpus_run.recorder import Recorder
from conformance.run.expectations.criterion import Completeness, PassCriterion
from conformance.run.expectations.criterion_settings import CriterionSettings
from conformance.run.judging.execute import judge_case
from conformance.run.judging.judging_options import ExecutionOptions
from conformance.run.results.records import HistoryRecord, Selection
from conformance.studies.history.store import HistoryStore, StoredRelease
from conformance.subjects.calling.subject_names import Subject, SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conformance.corpus.cases.corpus import Corpus

TARGET = SubjectName.parse("onnxruntime", SubjectKind.BACKEND)


class OneStepOff(always_right):
    """Returns floating-point outputs that differ from the reference by one ULP."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        off = [np.nextafter(output, np.inf) if output.dtype.kind == "f" else output for output in outputs]
        return [np.asarray(new, output.dtype) for new, output in zip(off, outputs, strict=True)]


def write_three_cases(folder: Path) -> Corpus:
    """Write a corpus of three cases: with bounds, with exact outputs, and with acceptable indices."""
    return open_corpus(write_part(folder, lambda _, name: name in {ADAM, EXACT, INDEX}))


def change_tensor(corpus: Corpus, case: str, file: str, factor: float, folder: Path) -> Corpus:
    """Write a copy of a corpus in which the elements of one tensor are multiplied by a factor."""
    shutil.copytree(corpus.path, folder)
    entry = corpus.cases[case]
    path = folder / entry.path / file
    tensor = numpy_helper.to_array(TensorProto.FromString(path.read_bytes()))
    path.write_bytes(numpy_helper.from_array((tensor * factor).astype(tensor.dtype)).SerializeToString())
    cases = {other.path: dict(other.files) for other in corpus.cases.values()}
    cases[entry.path][file] = hashlib.sha256(path.read_bytes()).hexdigest()
    rehash(folder, cases)
    assert json.loads((folder / MANIFEST).read_bytes())
    return open_corpus(folder)


def run_release(
    backend: Any,
    corpus: Corpus,
    subject: str,
    path: Path,
    cases: Sequence[str] | None = None,
    options: Sequence[str] = (),
) -> None:
    """Write the results file of a run of some cases, or of all, with recorded outputs and with options."""
    criterion = PassCriterion(CriterionSettings(Level.SHOULD, {}), {subject: "backend"})
    recorder = Recorder(
        corpus, [Subject(subject, "1.0", backend)], criterion, path, diagnosis=False, options={subject: options}
    )
    selected = [case for id, case in corpus.cases.items() if cases is None or id in cases]
    recorder.begin(len(selected), Selection(), "onnx-conformance run", len(selected))
    for case in selected:
        options = ExecutionOptions(is_recording=True)
        result = judge_case(Subject(subject, "1.0", backend), load_case(corpus, case), options)
        recorder.add(structs.replace(result, seconds=0.0))
    recorder.end(Completeness())


def add_release(
    store: HistoryStore, corpus: Corpus, release: str, backend: Any, target: SubjectName = TARGET
) -> StoredRelease:
    """Run a fake release on a corpus and add its results to a store."""
    from conformance.run.results.results_file import read_results

    path = store.folder.parent / f"{release}.jsonl"
    run_release(backend, corpus, target.at_release(release).text, path)
    run = read_results(path)
    history = HistoryRecord(target.text, release, "3.11.7", [], "a1")
    with store.lock():
        return store.add(structs.replace(run.header, history=history), run.results.values(), corpus)
