"""Explain every difference that graph optimizers make on models drawn from the search; write reports/blame/README.md.

python scripts/blame_examples.py --work dist/blame [--count 1000] [--optimizer NAME] [--report]

Each model and its rewrite run on one backend: onnxruntime for ArgMax, and the suite's reference for training
optimizers, which onnxruntime lacks. `--work` keeps the documents of all differences, so that an interrupted survey
continues. `--report` only writes the report from these documents.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter, defaultdict
from itertools import count as numbers
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance import __version__
from conformance.audit.inputs import InputSet
from conformance.audit.session import AuditedModel
from conformance.blame.comparison import Failure, FedModel, OpenSubjects
from conformance.blame.session import Request, Session, observe
from conformance.errors import ConformanceError
from conformance.files.atomic_write import write_text_atomically
from conformance.isolation.limits import Limits
from conformance.models.inputs import required_input_names
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.search.example import ARGMAX
from conformance.search.sampling import sample_examples
from conformance.subjects.naming import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.search.example import Example

OPTIMIZERS = ("onnxoptimizer-defaults", "onnxsim", "onnxscript")
BACKENDS = {ARGMAX: "onnxruntime"} | dict.fromkeys(TRAINING_OPTIMIZERS, "reference")
CHUNK = 50
SEED = 32
SECONDS = 20.0
"""Maximum time of the reduction of one model."""

TIMEOUT = 30.0
COLUMNS = (
    *("graph optimizer", "models", "same outputs", "not supported by the backend", "not run or read", "differences"),
    *("optimizer fails", "invalid rewrite", "wrong outputs", "admissible", "not judged"),
)
_NAMES = re.compile(r"(?<=Name: ).*|(?<=calling )_deserialize_graph with: .*")
"""Parts of messages that differ from model to model."""

_RAISED = re.compile(r"[A-Za-z_.]+(Error|Exception): ")
REPORT = Path(__file__).resolve().parent.parent / "reports" / "blame" / "README.md"


def drawn_examples(count: int) -> Iterator[tuple[int, Example]]:
    """Yield examples with their numbers; the same seed gives the same examples on every machine."""
    number = 0
    for chunk in numbers():
        for example in sample_examples([ARGMAX, *TRAINING_OPTIMIZERS], SEED, chunk, CHUNK):
            if number >= count:
                return
            yield number, example
            number += 1


def survey(optimizer: str, count: int, work: Path) -> None:
    """Compare each model with its rewrite, and explain each difference; append one line for each model."""
    log = work / f"{optimizer}.jsonl"
    done = {json.loads(line)["number"] for line in log.read_text().splitlines()} if log.exists() else set()
    rewriter = SubjectName.parse(optimizer, SubjectKind.OPTIMIZER)
    backends = [SubjectName.parse(name, SubjectKind.BACKEND) for name in dict.fromkeys(BACKENDS.values())]
    isolated = OpenSubjects(Limits(TIMEOUT))
    with isolated.open(rewriter, *backends) as (opened, *running), tempfile.TemporaryDirectory() as scratch:
        subjects = {subject.id: subject for subject in running}
        for number, example in drawn_examples(count):
            if number in done:
                continue
            backend = SubjectName.parse(BACKENDS[example.operator], SubjectKind.BACKEND)
            path = Path(scratch) / "model.onnx"
            record: dict[str, Any] = {"number": number, "operator": example.operator, "result": "same"}
            try:
                path.write_bytes(example.built.model)
                model = AuditedModel.read(path)
            except (ConformanceError, ValueError) as error:
                record["result"] = f"not read: {getattr(error, 'code', error)}"
            else:
                data_sets = [InputSet("drawn", tuple(arrays)) for arrays in example.built.data_sets]
                request = Request(model, data_sets, backend, backend, rewriter, seconds=SECONDS)
                record |= _explain(request, subjects[backend.text], opened, isolated)
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


def _explain(request: Request, backend: Any, optimizer: Any, isolated: OpenSubjects) -> dict[str, Any]:
    """Return the result of one model: `same`, `unsupported`, or the document of the difference."""
    from conformance.blame.comparison import Comparison

    comparison = Comparison(backend, backend, optimizer)
    names = required_input_names(request.model.original.graph)
    for data_set in request.data_sets:
        case = FedModel(request.model.original, dict(zip(names, data_set.arrays, strict=True)))
        difference, answers = observe(comparison, case)
        if answers[0].failure:
            return {"result": "unsupported" if answers[0].failure is Failure.UNSUPPORTED else "not run"}
        if difference:
            # what raises an exception can run in this process; what crashes or hangs cannot
            is_safe = difference.failures[1] is not Failure.REWRITE or bool(_RAISED.match(difference.messages[1]))
            subjects = OpenSubjects(Limits(TIMEOUT), in_process=True) if is_safe else isolated
            session = Session(request, subjects)
            session.run()
            return {"result": "differs", "document": session.document}
    return {"result": "same"}


def _class_of(record: dict[str, Any]) -> str:
    """Return the column of the table in which a difference counts."""
    steps = record["document"]["steps"]
    if steps["verdict"]["outcome"] == "both are admissible":
        return "admissible"
    if "wrong" not in steps["verdict"]["outcome"]:
        return "not judged"
    failure = steps["difference"]["failures"][1]
    return {Failure.REWRITE: "optimizer fails", Failure.INVALID: "invalid rewrite"}.get(failure, "wrong outputs")


def _row(record: dict[str, Any]) -> tuple[str, str, str]:
    """Return the key by which differences are grouped: verdict, hazard or reason, passes."""
    steps = record["document"]["steps"]
    verdict = steps["verdict"]
    passes = steps.get("passes", {}).get("names")
    if verdict["outcome"] == "both are admissible":
        why = (verdict["hazard"] or "").replace("_", " ")
    else:
        text = verdict["reason"].replace("|", "/").replace("\n", " ")
        why = _NAMES.sub("… ", text)[:100].rstrip()
    listed = " and ".join(passes) if passes else "round trip" if passes == [] else "not known"
    return verdict["outcome"], why, listed


def _nodes(record: dict[str, Any]) -> list[str]:
    """Return the operators of the reduced model."""
    return [node["operator"] for node in record["document"]["steps"].get("reduction", {}).get("nodes", [])]


def write_report(work: Path) -> None:
    """Write the report from the records of all graph optimizers."""
    lines = [
        "# Differences that graph optimizers make",
        "",
        "This page lists every difference between a model and its rewrite that `onnx-conformance blame` explained, on",
        "models drawn from the search. Look here for the faults of graph optimizers, and for differences that are",
        "nobody's fault.",
        "This page is for maintainers of graph optimizers. A graph optimizer *fails* if it raises, crashes or hangs.",
        "",
        f"`python scripts/blame_examples.py --work dist/blame` writes this page (suite {__version__}, seed {SEED}).",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"| --- {'| --: ' * (len(COLUMNS) - 1)}|",
    ]
    sections = []
    for optimizer in OPTIMIZERS:
        log = work / f"{optimizer}.jsonl"
        if not log.exists():
            continue
        records = [json.loads(line) for line in log.read_text().splitlines()]
        differing = [record for record in records if record["result"] == "differs"]
        versions = differing[0]["document"]["versions"] if differing else ["", "", ""]
        verdicts = Counter(_class_of(record) for record in differing)
        results = [record["result"] for record in records]
        cells = [
            *(f"{optimizer} {versions[-1]}", len(records), results.count("same"), results.count("unsupported")),
            sum(result.startswith("not ") for result in results),
            *(len(differing), *(verdicts[name] for name in COLUMNS[-5:])),
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
        groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
        for record in differing:
            groups[_row(record)].append(record)
        if groups:
            sections += [
                "",
                f"## {optimizer}",
                "",
                "| models | verdict | hazard or reason | pass | reduced model | first example |",
            ]
            sections.append("| --: | --- | --- | --- | --- | --: |")
        for key, found in sorted(groups.items(), key=lambda item: (-("wrong" in item[0][0]), -len(item[1]))):
            least = min(found, key=lambda record: len(_nodes(record)))
            sections.append(f"| {len(found)} | {' | '.join(key)} | {' → '.join(_nodes(least))} | {least['number']} |")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(REPORT, "\n".join([*lines, *sections]) + "\n")


def main() -> None:
    """Run the survey, and write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the documents")
    parser.add_argument("--count", type=int, default=1000, help="number of models")
    parser.add_argument("--optimizer", action="append", choices=OPTIMIZERS, help="may be repeated")
    parser.add_argument("--report", action="store_true", help="only write the report")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for optimizer in [] if given.report else given.optimizer or OPTIMIZERS:
        survey(optimizer, given.count, given.work)
    write_report(given.work)


if __name__ == "__main__":
    main()
