"""Small inputs of evidence: a corpus of six cases, results, a census, measurements, and a map of requirements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from corpora import write_part
from recorded_runs import record_run
from repository import SUPPORT

from conformance.corpus.cases.corpus import open_corpus
from conformance.studies.census.census_report import json_lines
from conformance.studies.census.census_results import CellResult
from conformance.studies.census.chunks import Cell
from conformance.studies.census.counters import BinadeCounters, Extreme
from conformance.subjects.adapters.reference import ReferenceBackend

if TYPE_CHECKING:
    from pathlib import Path

EXP = "test_argmax_pass_uses_exp_graph_output"
BFLOAT16 = "test_argmax_all_minus_infinity_bfloat16_first"
DOUBLE = "test_argmax_all_minus_infinity_double_first"
DEFAULT = "test_argmax_axis_default_keepdims_0"
REPEATED = "test_adam_data_sets_repeated_float"
NAN = "test_argmax_nan_middle_first"
CASES = {EXP, BFLOAT16, DOUBLE, DEFAULT, REPEATED, NAN}

REQUIREMENTS = (SUPPORT / "evidence_requirements.toml").read_text("utf-8")


class WrongInThirdRun:
    """The reference backend, with a wrong first output of the third execution of a prepared model."""

    @classmethod
    def prepare(cls, model, device="CPU", **given):
        """Return the prepared model."""
        prepared = cls()
        prepared.inner, prepared.runs = ReferenceBackend.prepare(model, device, **given), 0
        return prepared

    def run(self, inputs):
        """Return the outputs."""
        self.runs += 1
        outputs = list(self.inner.run(inputs))
        return [outputs[0] + 1, *outputs[1:]] if self.runs == 3 else outputs


def write_inputs(folder: Path) -> list[Path]:
    """Write all inputs into a folder, with the corpus in `corpus`, and return the paths of the files."""
    corpus = open_corpus(write_part(folder / "corpus", lambda _, name: name in CASES))
    record_run(corpus, folder / "results.jsonl", {"=right": ReferenceBackend, "wrong": WrongInThirdRun})
    row = BinadeCounters(5, {"values": 8, "pairs": 8, "wrong": 1}, {"error": Extreme(0.75, 15360)}, {})
    cells = [CellResult(Cell("=right", "Exp", type), "1.0", {5: row}) for type in ("float16", "bfloat16")]
    (folder / "census.jsonl").write_bytes(b"".join(json_lines(cells, {"cpu": "A"})))
    measured = {"version": corpus.version, "digest": corpus.digest, "cases": len(corpus.cases)}
    head = {"format": 1, "corpus": measured}
    mutant = {"text": "", "clause": "", "level": "must", "convention": None, "false_positive": None}
    mutants = [
        {"id": "one", **mutant, "detection": {"case": EXP, "how": "", "margin": 2.0}, "detected_by_onnx": None},
        {"id": "two", **mutant, "detection": None, "detected_by_onnx": None},
    ]
    family = {"must": 2, "detected": 1, "detected_by_onnx": None, "should": 0, "should_detected": 0}
    score = {"suite": "1", "command": "python -m checks.mutation", "passes": False, "variants": [], "sweep": []}
    documents = {
        "mutation": {
            **(head | score),
            "operators": {"argmax": {**family, "mutants": mutants}},
            "pass": {"mutants": [], "correct": []},
        },
        "oracle": {
            **head,
            "command": "python -m checks.oracle",
            "cases": 6,
            "counts": {"elements": 9},
            "differences": [],
        },
    }
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document, indent=1))
    (folder / "map.toml").write_text(REQUIREMENTS)
    return [folder / name for name in ("results.jsonl", "census.jsonl", "mutation.json", "oracle.json")]
