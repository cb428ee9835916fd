"""Judge the rewrites of passes, and write the table in `reports/passes/`.

python -m checks.measurements.pass_table FOLDER ANSWERS...

FOLDER has the cases of `generate --passes`. ANSWERS are files of `run_passes`, named `OPTIMIZER-VERSION-MODE.jsonl`.
The script writes `passes.json` with the counts of each pass, `faults.jsonl` with the smallest model of each fault and
hazard, and the page `README.md`, which has the text of `reports.md` at its end.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any

import onnx

from conformance.base.verdicts import Level, RewriteEffect, Verdict
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import find_case, open_corpus
from conformance.exact.models.arrays import tensor_of
from conformance.run.judging.optimizer import judge_rewrite
from conformance.run.judging.optimizer_run import OptimizerTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REPORT = Path(__file__).parents[2] / "reports/passes"
CLASSES = ("bits", "interval", "hazard", "fault", "error", "crash", "not judged")
"""The classes of a rewrite, the strongest of which is the class of a pass."""

RANK = {"not judged": -1, "bits": 0, "interval": 1, "hazard": 2, "error": 3, "fault": 4, "crash": 5}
WRONG = ("hazard", "fault", "error", "crash")

ALL = "all"
NO_PASS = "no pass"
NAMES = {"": ALL, "none": NO_PASS}
"""Rows for all passes together, and for what an optimizer does without any pass."""

BY_DESIGN = re.compile(
    "quant|prun|gguf|fp[468]|nf4|if4|iq4|adpq|any_precision|aqlm|drop_by_drop|hqq|ibert|intactkv|kbvq"
    "|lo_bcq|olive|qoq|quarot|quip|rename_input_output|rewrite_input_dtype|split_init|split_predict"
)
"""In names of passes that a user asks for because they quantize, prune, split or rename: wrong outputs are no fault."""


def without_names(model: onnx.ModelProto) -> bytes:
    """Return a model with numbers for the names of inner values, if it has neither subgraphs nor functions."""
    graph = model.graph
    if model.functions or any(each.type == onnx.AttributeProto.GRAPH for node in graph.node for each in node.attribute):
        return model.SerializeToString(deterministic=True)
    kept = {value.name for value in (*graph.input, *graph.output)}
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        return name if not name or name in kept else numbers.setdefault(name, f"value {len(numbers)}")

    for node in graph.node:
        node.name = ""
        node.input[:] = map(number, node.input)
        node.output[:] = map(number, node.output)
    for value in (*graph.initializer, *graph.value_info):
        value.name = number(value.name)
    for values in (graph.initializer, graph.value_info):
        values.sort(key=lambda value: str(value.name))
    model.ClearField("producer_name")
    model.ClearField("producer_version")
    return model.SerializeToString(deterministic=True)


class Judge:
    """Judges rewrites of the cases of a folder; rewrites of a case that are equal up to names are judged once.

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
        self._by_form: dict[tuple[str, bytes], list[str]] = {}

    def classify(self, id: str, rewritten: str) -> list[str]:
        """Return the class of a rewrite, the violation and the witness."""
        key = hashlib.sha256(f"{id} {rewritten}".encode()).hexdigest()
        if key not in self._known:
            form = (id, without_names(onnx.load_model_from_string(base64.b64decode(rewritten))))
            if form not in self._by_form:
                self._by_form[form] = [*self._classify(id, rewritten)]
            self._known[key] = self._by_form[form]
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]

    def _task(self, id: str) -> Any:
        return OptimizerTask.of(load_case(self._corpus, find_case(self._corpus, id)))

    def _classify(self, id: str, rewritten: str) -> tuple[str, str, str]:
        after = onnx.load_model_from_string(base64.b64decode(rewritten))
        outcome = judge_rewrite(lambda _: after, (), self.task(id))
        answers = next((check for check in outcome.checks if check.name == "answers"), None)
        # No value decides the checks of the form, so that the level of the case has no effect on them.
        of_form = {"checker", "interface"}
        decisive = [check for check in outcome.checks if check.level is Level.MUST or check.name in of_form]
        wrong = [check for check in decisive if check.violation]
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


@dataclass
class Release:
    """Rewrites by the passes of one release, by class.

    Attributes:
        optimizer: the optimizer.
        version: the release.
        names: the passes that ran alone.
        counts: the numbers of rewrites of each pass, by class.
        wrong: the hazards, faults, errors and crashes by pass and case.
        open: the rewrites that are not judged, by pass and case, with the reason.
        seen: the passes and cases that are counted.
        alone: the cases on which passes ran alone.
    """

    optimizer: str
    version: str
    names: Sequence[str] = ()
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    open: dict[tuple[str, str], str] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    alone: set[str] = field(default_factory=set)

    @property
    def order(self) -> tuple[int, ...]:
        """The parts of the version, to sort by."""
        return tuple(map(int, self.version.split(".")))

    def class_of(self, name: str) -> str:
        """Return the class of a pass: that of its strongest rewrite."""
        numbers = self.counts.get(name, {})
        kind = max((kind for kind in CLASSES if numbers.get(kind)), key=RANK.__getitem__, default="no rewrite")
        return "by design" if BY_DESIGN.search(name) and kind in ("hazard", "fault") else kind


def judge_answers(judge: Judge, release: Release, path: Path) -> None:
    """Add what the passes of a file of answers did to a release."""
    without_pass: dict[str, tuple[str, str]] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            answer = json.loads(line)
            name = NAMES.get(answer["pass"], answer["pass"])
            if name == NO_PASS:
                release.alone.add(answer["case"])
            if "+" in name:
                release.names = list(dict.fromkeys([*release.names, *name.split("+")]))
            elif answer["status"] not in ("start", "same") and (name, answer["case"]) not in release.seen:
                release.seen.add((name, answer["case"]))
                if name not in (ALL, NO_PASS, *release.names):
                    release.names = [*release.names, name]
                kind, message, witness = (answer["status"], answer.get("message", ""), "")
                if kind == "changed":
                    kind, message, witness = judge.classify(answer["case"], answer["model"])
                if name == NO_PASS:
                    without_pass[answer["case"]] = (kind, message)
                elif name != ALL and without_pass.get(answer["case"]) == (kind, message) and kind in WRONG:
                    continue  # the pass did not do it
                release.counts[name][kind] += 1
                rewritten = {"message": message, "witness": witness, "rewritten": answer.get("model", "")}
                if kind in WRONG:
                    release.wrong[name, answer["case"]] = {"class": kind, **rewritten}
                elif kind == "not judged":
                    release.open[name, answer["case"]] = message


def since(releases: Sequence[Release], is_same: Iterable[bool]) -> str:
    """Return the release from which on something is the same in all releases up to the newest.

    Args:
        releases: the releases, the oldest first.
        is_same: whether it is the same, for each release.
    """
    known = list(is_same)
    number = next((len(known) - place for place, same in enumerate(reversed(known)) if not same), 0)
    return f"{releases[0].version} or before" if number == 0 else releases[min(number, len(releases) - 1)].version


def family_of(case: str) -> str:
    """Return the family of a case."""
    return case.removeprefix("test_pattern_").rstrip("_").split("_0")[0]


def smallest_faults(judge: Judge, releases: Sequence[Release]) -> list[dict[str, Any]]:
    """Return the fault with the smallest model for each class, family and pass, with its model and inputs.

    A pass alone is listed if all passes together do not show its fault; of its errors and crashes, one is listed. A
    fault of all passes has the passes that have it alone. Faults that the newest release does not have are listed with
    the last release that has them.

    Args:
        judge: has the cases.
        releases: the releases of an optimizer, the oldest first.
    """
    kept: dict[tuple[str, ...], dict[str, Any]] = {}
    newest = releases[-1]
    for release in reversed(releases):
        seen = {key[:2] for key, fault in kept.items() if fault["version"] != release.version}
        for (name, case), wrong in sorted(release.wrong.items(), key=lambda entry: entry[0][0] != ALL):
            kind, family = wrong["class"], family_of(case)
            if BY_DESIGN.search(name) and kind in ("hazard", "fault"):
                continue
            others = {key[:2] for key, fault in kept.items() if fault["pass"] == ALL}
            if (kind, family) in seen or (name != ALL and (release is not newest or (kind, family) in others)):
                continue
            key = (kind, "" if name != ALL and kind in ("error", "crash") else family, name)
            size = judge.task(case).model.ByteSize()
            if key in kept and size >= kept[key]["size"]:
                continue
            same = (
                each.wrong.get((name, case), {}).get("class") == kind
                for each in releases[: releases.index(release) + 1]
            )
            alone = [one for one, where in release.wrong if where == case and one not in (ALL, NO_PASS)]
            alone = [one for one in alone if not BY_DESIGN.search(one)]
            kept[key] = {
                "optimizer": release.optimizer,
                "version": release.version,
                "since": since(releases[: releases.index(release) + 1], same),
                "pass": name,
                "alone": alone if name == ALL else [],
                "case": case,
                "size": size,
                **wrong,
            }
    return [_with_model(judge, fault) for fault in kept.values()]


def _with_model(judge: Judge, fault: dict[str, Any]) -> dict[str, Any]:
    task = judge.task(fault["case"])
    (data_set,) = task.data_sets.every
    after = onnx.load_model_from_string(base64.b64decode(fault.pop("rewritten")))
    inputs = task.data_sets.effect(task.model, after, data_set).inputs or data_set.inputs
    fault["model"] = base64.b64encode(task.model.SerializeToString()).decode()
    fault["inputs"] = [
        base64.b64encode(tensor_of(array, name).SerializeToString()).decode() for name, array in inputs.items()
    ]
    del fault["size"]
    return fault


def table_of(releases: Sequence[Release]) -> list[dict[str, Any]]:
    """Return a row for each pass of the newest release, and for all passes of each release."""
    newest = releases[-1]
    rows = []
    for release in releases:
        for name in (ALL, NO_PASS, *release.names):
            if name in (ALL, NO_PASS) or release is newest:
                kind = release.class_of(name)
                ran = releases if name == ALL else [each for each in releases if each.names]
                same = (each.class_of(name) == kind and name in (ALL, NO_PASS, *each.names) for each in ran)
                known = since(ran, same) if release is newest and len(ran) > 1 else ""
                row = {"optimizer": release.optimizer, "version": release.version, "pass": name, "class": kind}
                row |= {"since": known, "counts": dict(sorted(release.counts.get(name, {}).items()))}
                rows.append(row | ({} if name == ALL else {"cases": len(release.alone)}))
    return rows


INTRODUCTION = """# Passes of graph optimizers

This page for authors and users of graph optimizers lists what each pass did to the patterns of
`generate --passes` ({cases} cases). `passes.json` has the numbers. `faults.jsonl` has a smallest model of
each fault and hazard, and `python rerun.py` runs them again with the optimizer and ONNX Runtime alone.

| class | meaning |
| --- | --- |
| bits | all rewrites keep the bits of the outputs, if each node rounds its exact result once |
| interval | the outputs stay admissible for the original model |
| hazard | the outputs are admissible for ordinary numbers only |
| fault | wrong outputs for ordinary numbers, an invalid model, or another interface |
| error, crash | the pass raises an error for a valid model, or ends the process |
| by design | a pass that a user asks for, because it quantizes, prunes, splits or renames |

`all` is all default passes together, on all cases. `no pass` is what the optimizer does without any. A pass alone
is compared with that. The column `since` has the oldest tested release from which on the class, or the fault, is the
same. The columns of classes have numbers of rewritten models.
"""


def page(table: list[dict[str, Any]], faults: list[dict[str, Any]], notes: Mapping[str, Any]) -> str:
    """Return the page.

    Args:
        table: the rows of `passes.json`.
        faults: the faults.
        notes: the number of cases, and the rewrites that are not judged.
    """
    lines = INTRODUCTION.format(cases=notes["cases"]).splitlines()
    for optimizer in sorted({row["optimizer"] for row in table}):
        own = [row for row in table if row["optimizer"] == optimizer]
        alone = max((row.get("cases", 0) for row in own), default=0)
        lines += [
            "",
            f"## {optimizer}",
            "",
            f"Passes ran alone on {alone} cases.",
            "",
            "| pass | version | class | since | " + " | ".join(CLASSES) + " |",
        ]
        lines.append("| --- " * (4 + len(CLASSES)) + "|")
        for row in own:
            if row["class"] != "no rewrite":
                numbers = " | ".join(str(row["counts"].get(kind, "")) for kind in CLASSES)
                lines.append(f"| `{row['pass']}` | {row['version']} | {row['class']} | {row['since']} | {numbers} |")
        idle = [f"`{row['pass']}`" for row in own if row["class"] == "no rewrite" and row["pass"] not in (ALL, NO_PASS)]
        if idle:
            text = f"These passes, alone, change none of the models: {', '.join(idle)}."
            lines += ["", *fill(text, 118, break_long_words=False, break_on_hyphens=False).splitlines()]
        lines += [
            "",
            "| class | version | since | pass | case | violation | smallest input |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for fault in (each for each in faults if each["optimizer"] == optimizer):
            message = shorten(fault["message"], 140, placeholder=" …").replace("|", "\\|")
            names = ", ".join(f"`{each}`" for each in fault["alone"] or [fault["pass"]])
            case = fault["case"].removeprefix("test_pattern_")
            cells = [fault["class"], fault["version"], fault["since"], names, f"`{case}`", message]
            lines.append(f"| {' | '.join(cells)} | {fault['witness'][:80]} |")
    lines += ["", "## Rewrites that are not judged", ""]
    lines += ["| optimizer | version | pass | case | reason |", "| --- | --- | --- | --- | --- |"]
    for optimizer, version, name, case, reason in notes["open"]:
        text = shorten(reason, 140, placeholder=" …").replace("|", "\\|")
        lines.append(f"| {optimizer} | {version} | `{name}` | `{case.removeprefix('test_pattern_')}` | {text} |")
    return "\n".join(lines) + "\n\n" + (REPORT / "reports.md").read_text(encoding="utf-8")


def main(folder: Path, files: list[Path]) -> None:
    """Judge the answers, and write the report."""
    judge = Judge(folder, files[0].with_name("judged.txt"))
    by_name: dict[tuple[str, ...], Release] = {}
    for path in files:
        optimizer, version, _ = path.stem.split("-")
        release = by_name.setdefault((optimizer, version), Release(optimizer, version))
        judge_answers(judge, release, path)
        print(path.stem, sum(release.counts[ALL].values()), "rewrites", len(release.wrong), "wrong", len(release.open))
    by_optimizer: dict[str, list[Release]] = defaultdict(list)
    for release in by_name.values():
        by_optimizer[release.optimizer].append(release)
    table: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    unjudged: list[list[str]] = []
    for optimizer in sorted(by_optimizer):
        releases = sorted(by_optimizer[optimizer], key=lambda each: each.order)
        table += table_of(releases)
        found = smallest_faults(judge, releases)
        faults += sorted(
            found, key=lambda fault: (fault["version"] != releases[-1].version, fault["pass"] != ALL, fault["case"])
        )
        for each in releases:
            unjudged += [[optimizer, each.version, name, case, reason] for (name, case), reason in each.open.items()]
    notes = {"cases": sum(1 for each in (folder / "pass").iterdir() if each.is_dir()), "open": sorted(unjudged)}
    REPORT.mkdir(exist_ok=True)
    (REPORT / "passes.json").write_text(json.dumps({"notes": notes, "rows": table}, indent=1) + "\n", encoding="utf-8")
    with (REPORT / "faults.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(fault) + "\n" for fault in faults)
    (REPORT / "README.md").write_text(page(table, faults, notes), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
