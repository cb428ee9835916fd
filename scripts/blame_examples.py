"""Explain every difference that graph optimizers make; write reports/blame/README.md.

python scripts/blame_examples.py --work dist/blame [--count 1000] [--optimizer NAME] [--models] [--report]

The models are drawn from the search. Each model and its rewrite run on one backend: onnxruntime for ArgMax, and the
suite's reference for everything that onnxruntime lacks. `--models` examines the public models of `audit_models.py`
instead, whose packages must be installed. `--work` keeps the documents of all differences, so that an interrupted
survey continues. `--report` only writes the report from these documents.
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
from conformance.blame.reduction import node_count
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
REFERENCE = "reference"
BACKENDS = {ARGMAX: ("onnxruntime", REFERENCE)} | dict.fromkeys(TRAINING_OPTIMIZERS, (REFERENCE,))
"""The backends for the models of each operator; the second runs the models that the first does not support."""

CHUNK = 50
SEED = 32
SECONDS = 20.0
"""Maximum time of the reduction of one drawn model."""

PUBLIC_SECONDS = 180.0
"""Maximum time of the reduction of one public model."""

TIMEOUT = 60.0
_IN_PROCESS = OpenSubjects(Limits(TIMEOUT), in_process=True)

COLUMNS = (
    *("graph optimizer", "models", "same outputs", "not supported by the backend", "not run or read", "differences"),
    *("optimizer fails", "invalid rewrite", "wrong outputs", "admissible", "not judged"),
)
FINDINGS = (
    (
        "onnxoptimizer-defaults",
        "Sparse tensors",
        "onnxoptimizer.md#valid-models-with-a-sparse-constant-or-a-float8e8m0-initializer-raise",
    ),
    ("onnxsim", "no support hash type", "onnxsim.md#a-sparse-constant-raises"),
    ("onnxscript", "SerdeError", "onnxscript.md#a-sparse-constant-raises"),
)
"""The confirmed faults: graph optimizer, a part of the reason or of the passes, and the place in `reports/findings`."""

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
    done = {record["number"] for record in read_records(log) if record["result"] != "unsupported"}
    rewriter = SubjectName.parse(optimizer, SubjectKind.OPTIMIZER)
    used = dict.fromkeys(name for names in BACKENDS.values() for name in names)
    backends = [SubjectName.parse(name, SubjectKind.BACKEND) for name in used]
    isolated = OpenSubjects(Limits(TIMEOUT))
    with isolated.open(rewriter, *backends) as (opened, *running), tempfile.TemporaryDirectory() as scratch:
        subjects = {subject.id: subject for subject in running}
        for number, example in drawn_examples(count):
            if number in done:
                continue
            path = Path(scratch) / "model.onnx"
            record: dict[str, Any] = {"number": number, "operator": example.operator}
            try:
                path.write_bytes(example.built.model)
                model = AuditedModel.read(path)
            except (ConformanceError, ValueError) as error:
                record["result"] = f"not read: {getattr(error, 'code', error)}"
            else:
                data_sets = [InputSet("drawn", tuple(arrays)) for arrays in example.built.data_sets]
                for name in BACKENDS[example.operator]:
                    backend = SubjectName.parse(name, SubjectKind.BACKEND)
                    request = Request(model, data_sets, backend, backend, rewriter, seconds=SECONDS)
                    record |= _explain(request, subjects[name], opened, isolated)
                    if record["result"] != "unsupported":
                        break
            _append(log, record)


def survey_public(optimizer: str, work: Path) -> None:
    """Compare each public model with its rewrite on onnxruntime, and explain each difference."""
    from audit_models import MODELS, inputs_of

    log = work / f"{optimizer}-models.jsonl"
    done = {record["model"] for record in read_records(log)}
    rewriter = SubjectName.parse(optimizer, SubjectKind.OPTIMIZER)
    backend = SubjectName.parse("onnxruntime", SubjectKind.BACKEND)
    isolated = OpenSubjects(Limits(TIMEOUT, file=2**33, base_output=2**33))
    with isolated.open(rewriter, backend) as (opened, running):
        for public in MODELS:
            if public.name in done:
                continue
            model = AuditedModel.read(public.find(work))
            arrays = inputs_of(public)
            data_set = InputSet("given", tuple(arrays[name] for name in required_input_names(model.original.graph)))
            request = Request(model, [data_set], backend, backend, rewriter, seconds=PUBLIC_SECONDS)
            _append(
                log,
                {"model": public.name, "nodes": node_count(model.original)}
                | _explain(request, running, opened, isolated, is_public=True),
            )


def read_records(log: Path) -> list[dict[str, Any]]:
    """Return the records of a survey; a later record of the same model replaces an earlier one."""
    if not log.exists():
        return []
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return list({record.get("model", record.get("number")): record for record in records}.values())


def _append(log: Path, record: dict[str, Any]) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def _explain(
    request: Request, backend: Any, optimizer: Any, isolated: OpenSubjects, *, is_public: bool = False
) -> dict[str, Any]:
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
            # what raises an exception on a drawn model can run in this process; what crashes or hangs cannot
            raises = bool(_RAISED.match(difference.messages[1]))
            is_safe = not is_public and (raises or difference.failures[1] is not Failure.REWRITE)
            session = Session(request, _IN_PROCESS if is_safe else isolated)
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


def _fault(optimizer: str, key: tuple[str, str, str]) -> str:
    """Return the link to the confirmed fault of a group of differences, or why there is none."""
    if "wrong" not in key[0]:
        return "none"
    for name, text, place in FINDINGS:
        if name == optimizer and text in f"{key[1]} {key[2]}":
            return f"[confirmed](../findings/{place})"
    return "not confirmed"


def _nodes(record: dict[str, Any]) -> list[str]:
    """Return the operators of the reduced model."""
    return [node["operator"] for node in record["document"]["steps"].get("reduction", {}).get("nodes", [])]


def write_report(work: Path) -> None:
    """Write the report from the records of all graph optimizers."""
    lines = [
        "# Differences that graph optimizers make",
        "",
        "This page lists every difference between a model and its rewrite that `onnx-conformance blame` explained.",
        "Look here for the faults of graph optimizers, and for differences that are nobody's fault.",
        "This page is for maintainers of graph optimizers.",
        "",
        f"`nox -s blame` writes this page (suite {__version__}, seed {SEED}).",
        "",
        "## Models drawn from the search",
        "",
        "A graph optimizer *fails* if it raises, crashes or hangs. *Not run or read* are models that the backend or",
        "onnx's checker refuses.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"| --- {'| --: ' * (len(COLUMNS) - 1)}|",
    ]
    sections = []
    for optimizer in OPTIMIZERS:
        records = read_records(work / f"{optimizer}.jsonl")
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
                f"### {optimizer}",
                "",
                "| models | verdict | hazard or reason | pass | reduced model | first example | fault |",
                "| --: | --- | --- | --- | --- | --: | --- |",
            ]
        for key, found in sorted(groups.items(), key=lambda item: (-("wrong" in item[0][0]), -len(item[1]))):
            least = min(found, key=lambda record: len(_nodes(record)))
            shown = (*key, " → ".join(_nodes(least)), str(least["number"]), _fault(optimizer, key))
            sections.append(f"| {len(found)} | {' | '.join(shown)} |")
    text = "\n".join([*lines, *sections, *_public_lines(work)]) + "\n"
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(REPORT, text)


def _public_lines(work: Path) -> Iterator[str]:
    """Yield the lines on the public models."""
    yield from (
        "",
        "## Public models",
        "",
        "The models of [the audits](../models/README.md) and their rewrites run on onnxruntime, with its graph",
        "optimizations.",
        "",
        "| model | nodes | graph optimizer | largest difference in ULP | verdict | hazard or reason | pass | reduced model | fault |",  # noqa: E501
        "| --- | --: | --- | --: | --- | --- | --- | --- | --- |",
    )
    for optimizer in OPTIMIZERS:
        for record in read_records(work / f"{optimizer}-models.jsonl"):
            start = f"| {record['model']} | {record['nodes']} | {optimizer}"
            if record["result"] != "differs":
                result = "no difference" if record["result"] == "same" else record["result"]
                yield f"{start} | | {result} | | | | none |"
                continue
            key = _row(record)
            sizes = [output["ulps"] for output in record["document"]["steps"]["difference"]["outputs"]]
            size = max((float(each) for each in sizes if each is not None), default=None)
            nodes = _nodes(record)
            shown = " → ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
            cells = ("" if size is None else format(size, ".3g"), *key, shown, _fault(optimizer, key))
            yield f"{start} | {' | '.join(cells)} |"


def main() -> None:
    """Run the survey, and write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the documents")
    parser.add_argument("--count", type=int, default=1000, help="number of drawn models")
    parser.add_argument("--optimizer", action="append", choices=OPTIMIZERS, help="may be repeated")
    parser.add_argument("--models", action="store_true", help="examine the public models, and not drawn models")
    parser.add_argument("--report", action="store_true", help="only write the report")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for optimizer in [] if given.report else given.optimizer or OPTIMIZERS:
        if given.models:
            survey_public(optimizer, given.work)
        else:
            survey(optimizer, given.count, given.work)
    write_report(given.work)


if __name__ == "__main__":
    main()
