"""Judge the rewrites of passes, and write the table in `reports/passes/`.

python -m checks.measurements.pass_table FOLDER ANSWERS...

FOLDER has the cases of `generate --passes`. ANSWERS are files of `run_passes`, named `OPTIMIZER-VERSION-MODE.jsonl`.
The script writes `passes.json` with the counts of each pass, `faults.jsonl` with the smallest model of each fault and
hazard, and the page `README.md`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any

import onnx

from conformance.base.verdicts import Level, RewriteEffect, Verdict
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import find_case, open_corpus
from conformance.exact.models.arrays import tensor_of
from conformance.run.judging.optimizer import judge_rewrite
from conformance.run.judging.optimizer_run import OptimizerTask

REPORT = Path(__file__).parents[2] / "reports/passes"
CLASSES = ("bits", "interval", "hazard", "fault", "error", "crash", "not judged")
"""The classes of a rewrite, the strongest of which is the class of a pass."""

RANK = {"not judged": -1, "bits": 0, "interval": 1, "hazard": 2, "error": 3, "fault": 4, "crash": 5}


class Judge:
    """Judges rewrites of the cases of a folder; equal rewrites of a case are judged once.

    Args:
        folder: the cases.
        judged: a file that keeps the classes, so that a later call judges only new rewrites.
    """

    def __init__(self, folder: Path, judged: Path) -> None:
        self._corpus = open_corpus(folder)
        self.task = cache(self._task)
        self._file = judged
        lines = judged.read_text(encoding="utf-8").splitlines() if judged.exists() else []
        self._known: dict[str, list[str]] = dict(map(json.loads, lines))

    def classify(self, id: str, rewritten: str) -> list[str]:
        """Return the class of a rewrite, the violation and the witness."""
        key = hashlib.sha256(f"{id} {rewritten}".encode()).hexdigest()
        if key not in self._known:
            self._known[key] = [*self._classify(id, rewritten)]
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]

    def _task(self, id: str) -> Any:
        return OptimizerTask.of(load_case(self._corpus, find_case(self._corpus, id)))

    def _classify(self, id: str, rewritten: str) -> tuple[str, str, str]:
        after = onnx.load_model_from_string(base64.b64decode(rewritten))
        outcome = judge_rewrite(lambda _: after, (), self.task(id))
        answers = next((check for check in outcome.checks if check.name == "answers"), None)
        wrong = [check for check in outcome.checks if check.violation and check.level is Level.MUST]
        witness = answers.witness if answers else ""
        if outcome.verdict is not Verdict.PASS and not outcome.checks:
            return "fault", outcome.message, ""
        if wrong:
            is_hazard = all(check is answers for check in wrong) and answers.effect is RewriteEffect.HAZARD
            return "hazard" if is_hazard else "fault", f"{wrong[0].name}: {wrong[0].violation}", witness
        effect = answers.effect if answers else None
        if effect in (RewriteEffect.HAZARD, RewriteEffect.FAULT) and answers:
            return "hazard", f"answers (level should): {answers.violation}", witness
        return (str(effect), "", "") if effect else ("not judged", (answers and answers.not_judged) or "", "")


def judge_answers(judge: Judge, path: Path) -> tuple[dict[str, Counter[str]], list[dict[str, Any]]]:
    """Return the counts of each pass of a file of answers, and its faults and hazards."""
    optimizer, version, _ = path.stem.split("-")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    faults: list[dict[str, Any]] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            answer = json.loads(line)
            name = answer["pass"] or "all"
            status = answer["status"]
            if status == "start":
                continue
            counts[name]["runs"] += 1
            if status == "same":
                continue
            kind, message, witness = (status, answer.get("message", ""), "")
            if status == "changed":
                kind, message, witness = judge.classify(answer["case"], answer["model"])
            counts[name][kind] += 1
            if kind in ("hazard", "fault", "error", "crash"):
                fault = {"optimizer": optimizer, "version": version, "case": answer["case"], "class": kind}
                fault |= {"pass": name, "message": message, "witness": witness, "rewritten": answer.get("model", "")}
                faults.append(fault)
    return counts, _with_round_trip(counts, faults)


ROUND_TRIP = "no pass"
"""Name of the row for what every pass alone does: the optimizer does it without any pass."""


def _with_round_trip(counts: dict[str, Counter[str]], faults: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give a fault that each pass alone has on a case to the row `ROUND_TRIP`, and return the faults."""
    passes = len(counts) - 1
    same = Counter((fault["case"], fault["message"]) for fault in faults if fault["pass"] != "all")
    shared = {key for key, number in same.items() if 0.9 * passes <= number and passes > 1}
    kept: list[dict[str, Any]] = []
    for fault in faults:
        key = (fault["case"], fault["message"])
        if fault["pass"] == "all" or key not in shared:
            kept.append(fault)
            continue
        counts[fault["pass"]][fault["class"]] -= 1
        if same.pop(key, 0):
            counts[ROUND_TRIP].update([fault["class"], "runs"])
            kept.append({**fault, "pass": ROUND_TRIP})
    return kept


def smallest_faults(judge: Judge, faults: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the fault with the smallest model for each pass, class and family, with its model and inputs."""
    kept: dict[tuple[str, ...], dict[str, Any]] = {}
    for fault in faults:
        family = fault["case"].removeprefix("test_pattern_").rstrip("_").split("_0")[0]
        key = (fault["optimizer"], fault["version"], fault["pass"], fault["class"], family)
        size = judge.task(fault["case"]).model.ByteSize()
        if key not in kept or size < kept[key]["size"]:
            kept[key] = {**fault, "size": size}
    for fault in kept.values():
        task = judge.task(fault["case"])
        (data_set,) = task.data_sets.every
        after = onnx.load_model_from_string(base64.b64decode(fault.pop("rewritten")))
        inputs = task.data_sets.effect(task.model, after, data_set).inputs or data_set.inputs
        fault["model"] = base64.b64encode(task.model.SerializeToString()).decode()
        fault["inputs"] = [
            base64.b64encode(tensor_of(array, name).SerializeToString()).decode() for name, array in inputs.items()
        ]
        del fault["size"]
    return list(kept.values())


def class_of(counts: Counter[str]) -> str:
    """Return the class of a pass: that of its strongest rewrite."""
    return max((kind for kind in CLASSES if counts[kind]), key=RANK.__getitem__, default="no rewrite")


def page(table: list[dict[str, Any]], faults: list[dict[str, Any]], cases: int) -> str:
    """Return the page."""
    lines = [
        "# Passes of graph optimizers",
        "",
        "This page for authors and users of graph optimizers lists what each pass did to the patterns of",
        f"`generate --passes` ({cases} cases). `passes.json` has the numbers. `faults.jsonl` has a smallest model of",
        "each fault and hazard, and `python rerun.py` runs them again with the optimizer and ONNX Runtime alone.",
        "",
        "| class | meaning |",
        "| --- | --- |",
        "| bits | all rewrites keep the bits of the outputs, if each node rounds its exact result once |",
        "| interval | the outputs stay admissible for the original model |",
        "| hazard | the outputs are admissible for ordinary numbers only |",
        "| fault | wrong outputs for ordinary numbers, an invalid model, or another interface |",
        "| error, crash | the pass raises an error for a valid model, or ends the process |",
        "",
        "`all` is all passes together. A pass runs alone on the models that all passes change. `no pass` is what each",
        "pass alone does.",
        "Releases and passes that are slow have a sample of the cases. A pass that rewrites no model is not listed.",
    ]
    for optimizer in sorted({row["optimizer"] for row in table}):
        lines += ["", f"## {optimizer}", "", "| pass | version | class | runs | " + " | ".join(CLASSES) + " |"]
        lines.append("| --- " * (4 + len(CLASSES)) + "|")
        for row in table:
            if row["optimizer"] == optimizer and row["class"] != "no rewrite":
                numbers = " | ".join(str(row["counts"].get(kind, 0) or "") for kind in CLASSES)
                cells = [f"`{row['pass']}`", row["version"], row["class"], row["counts"]["runs"], numbers]
                lines.append(f"| {' | '.join(map(str, cells))} |")
        lines += [
            "",
            "| class | version | pass | case | violation | smallest input |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for fault in faults:
            if fault["optimizer"] == optimizer:
                message = shorten(fault["message"], 140, placeholder=" …").replace("|", "\\|")
                case = fault["case"].removeprefix("test_pattern_")
                cells = [fault["class"], fault["version"], f"`{fault['pass']}`", f"`{case}`", message]
                lines.append(f"| {' | '.join(cells)} | {fault['witness'][:80]} |")
    return "\n".join(lines) + "\n"


def _fault_order(fault: dict[str, Any]) -> list[Any]:
    return [fault["optimizer"], fault["pass"] != "all", *map(fault.get, ("pass", "version", "case"))]


def main(folder: Path, files: list[Path]) -> None:
    """Judge the answers, and write the report."""
    judge = Judge(folder, files[0].with_name("judged.txt"))
    table: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    for path in files:
        counts, found = judge_answers(judge, path)
        optimizer, version, _ = path.stem.split("-")
        for name, numbers in sorted(counts.items()):
            row: dict[str, Any] = {"optimizer": optimizer, "version": version, "class": class_of(numbers)}
            table.append({**row, "pass": name, "counts": dict(sorted(numbers.items()))})
        faults += smallest_faults(judge, found)
        print(path.stem, sum(numbers["runs"] for numbers in counts.values()), "runs", len(found), "wrong")
    table.sort(key=lambda row: (row["optimizer"], row["pass"] != "all", row["pass"], row["version"]))
    faults.sort(
        key=lambda fault: (fault["optimizer"], fault["pass"] != "all", fault["pass"], fault["version"], fault["case"])
    )
    REPORT.mkdir(exist_ok=True)
    (REPORT / "passes.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    with (REPORT / "faults.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(fault) + "\n" for fault in faults)
    cases = sum(1 for each in (folder / "pass").iterdir() if each.is_dir())
    (REPORT / "README.md").write_text(page(table, faults, cases), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
