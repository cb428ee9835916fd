"""Results files of complete runs, written by the recorder."""

from __future__ import annotations

from corpora import ADAM

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import load_case
from conformance.run.corpus_run.recorder import Recorder
from conformance.run.expectations.criterion import Completeness, PassCriterion
from conformance.run.expectations.criterion_settings import CriterionSettings
from conformance.run.expectations.expectations_file import Expectation, Expectations
from conformance.run.judging.execute import judge_case
from conformance.run.results.records import Judged, Selection
from conformance.subjects.calling.subject_names import Subject

EXPECTED = Expectations("acme", (Expectation((ADAM,), Verdict.FAIL, "known <script>", "acme.toml, entry 1"),))


def make_result(subject: str, backend, corpus, case: str) -> Judged:
    """Return the result of a case as a run passes it to the recorder."""
    return judge_case(Subject(subject, "1.0", backend), load_case(corpus, corpus.cases[case]))


def record_run(corpus, path, backends: dict, expectations=None) -> None:
    """Run every case of a corpus on some backends, and write the results file."""
    gate = PassCriterion(CriterionSettings(Level.MUST, expectations or {}), dict.fromkeys(backends, "backend"))
    subjects = [Subject(name, "1.0", backend) for name, backend in backends.items()]
    recorder = Recorder(corpus, subjects, gate, path)
    recorder.begin(len(corpus.cases), Selection("test"), "onnx-conformance run")
    for name, backend in backends.items():
        for case in corpus.cases:
            recorder.add(make_result(name, backend, corpus, case))
    recorder.end(Completeness())
