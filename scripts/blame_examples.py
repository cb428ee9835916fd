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
from functools import partial
from itertools import count as numbers
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from conformance import __version__
from conformance.base.errors import ConformanceError
from conformance.base.files.atomic_write import write_text_atomically
from conformance.base.serialization.decoding import decode_json, encode_json
from conformance.exact.models.input_files import required_input_names
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.own.blame.blame_session import Request, Session
from conformance.own.blame.difference import observe
from conformance.own.blame.model_comparison import Failure, OpenSubjects
from conformance.own.blame.model_reduction import node_count
from conformance.own.graphs.fed_model import FedModel
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.studies.search.example import ARGMAX
from conformance.studies.search.search_sampling import sample_examples
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.studies.search.example import Example

OPTIMIZERS = ("onnxoptimizer-defaults", "onnxsim", "onnxscript")
REFERENCE = "reference"
BACKENDS = {ARGMAX: ("onnxruntime", REFERENCE)} | dict.fromkeys(TRAINING_OPTIMIZERS, (REFERENCE,))
"""The backends for the models of each operator; the second runs the models that the first does not support."""

CHUNK = 50
SEED = 32
SECONDS = 20.0
"""Maximum time of the reduction of one drawn model."""

PUBLIC_SECONDS = 120.0
"""Maximum time of the reduction of one public model."""

TIMEOUT = 300.0
STARTED = "started"
"""Result of a model whose explanation has not ended. If its subjects ended the process, they are isolated next time."""

_IN_PROCESS = OpenSubjects(Limits(TIMEOUT), in_process=True)

COLUMNS = (
    *("graph optimizer", "models", "same outputs", "not supported by the backend", "not run or read", "differences"),
    *("optimizer fails", "invalid rewrite", "wrong outputs", "admissible", "not judged"),
)
FINDINGS = (
    ("onnxoptimizer-defaults", "Sparse tensors", "onnxoptimizer", "Valid models with a sparse constant"),
    ("onnxoptimizer-defaults", "fuse_consecutive_log_softmax", "onnxoptimizer", "A Softmax without an axis"),
    ("onnxsim", "no support hash type", "onnxsim", "A sparse constant raises"),
    ("onnxsim", "No Op registered.*eliminate_loop_with_const_trip_count", "onnxsim", "A node that was in a Loop"),
    ("onnxsim", "fuse_consecutive_log_softmax", "by-search", "Softmax without an axis before Log"),
    ("onnxsim", "topologically sorted.*eliminate_if_with_const_cond", "onnxsim", "An If in the taken branch of an If"),
    ("onnxscript", "SerdeError", "onnxscript", "A sparse constant raises"),
    ("onnxscript", "'type' of 'value_info'.*eliminate_common", "onnxscript", "A graph output loses its type"),
    (
        "onnxscript",
        "no admissible value.*fold_constants.*Softmax",
        "onnxscript",
        "Softmax of opset 12",
    ),
)
"""The confirmed faults: graph optimizer, pattern of a difference, page of the findings, beginning of the title."""

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
    records = read_records(log)
    done = {record["number"] for record in records if record["result"] not in ("unsupported", STARTED)}
    ended = {record["number"] for record in records if record["result"] == STARTED}
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
                model = LoadedModel.read(path)
            except (ConformanceError, ValueError) as error:
                record["result"] = f"not read: {getattr(error, 'code', error)}"
            else:
                data_sets = [InputSet("drawn", tuple(arrays)) for arrays in example.built.data_sets]
                for name in BACKENDS[example.operator]:
                    backend = SubjectName.parse(name, SubjectKind.BACKEND)
                    request = Request(model, data_sets, backend, backend, rewriter, seconds=SECONDS)
                    kept = {"number": number, "result": STARTED}
                    chosen = isolated if number in ended else _IN_PROCESS
                    record |= _explain(request, subjects[name], opened, (chosen, isolated), partial(_append, log, kept))
                    if record["result"] != "unsupported":
                        break
            _append(log, record)


def survey_public(optimizer: str, work: Path) -> None:
    """Compare each public model with its rewrite on onnxruntime, and explain each difference."""
    from audit_models import MODELS, inputs_of

    log = work / f"{optimizer}-models.jsonl"
    records = read_records(log)
    done = {record["model"] for record in records if record["result"] != STARTED}
    ended = {record["model"] for record in records if record["result"] == STARTED}
    rewriter = SubjectName.parse(optimizer, SubjectKind.OPTIMIZER)
    backend = SubjectName.parse("onnxruntime", SubjectKind.BACKEND)
    isolated = OpenSubjects(Limits(TIMEOUT, file=2**33, base_output=2**33))
    with isolated.open(rewriter, backend) as (opened, running):
        for public in MODELS:
            if public.name in done:
                continue
            model = LoadedModel.read(public.find(work))
            arrays = inputs_of(public)
            data_set = InputSet("given", tuple(arrays[name] for name in required_input_names(model.original.graph)))
            request = Request(model, [data_set], backend, backend, rewriter, seconds=PUBLIC_SECONDS)
            kept = {"model": public.name, "nodes": node_count(model.original)}
            chosen = isolated if public.name in ended else _IN_PROCESS
            start = partial(_append, log, kept | {"result": STARTED})
            _append(log, kept | _explain(request, running, opened, (chosen, isolated), start))


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
    request: Request,
    backend: Any,
    optimizer: Any,
    chosen: tuple[OpenSubjects, OpenSubjects],
    on_start: Callable[[], None],
) -> dict[str, Any]:
    """Return the result of one model: `same`, `unsupported`, or the document of the difference.

    Args:
        request: the model, its inputs and the subjects.
        backend: the started backend.
        optimizer: the started graph optimizer.
        chosen: subjects for a difference of outputs or an exception, and subjects for a crash or a hang.
        on_start: is called before the difference is explained.
    """
    from conformance.own.blame.model_comparison import Comparison

    comparison = Comparison(backend, backend, optimizer)
    names = required_input_names(request.model.original.graph)
    for data_set in request.data_sets:
        case = FedModel(request.model.original, dict(zip(names, data_set.arrays, strict=True)))
        difference, answers = observe(comparison, case)
        if answers[0].failure:
            return {"result": "unsupported" if answers[0].failure is Failure.UNSUPPORTED else "not run"}
        if difference:
            raises = difference.failures[1] is not Failure.REWRITE or _RAISED.match(difference.messages[1])
            session = Session(request, chosen[0] if raises else chosen[1])
            on_start()
            session.run()
            return {"result": "differs", "document": decode_json(encode_json(session.document))}
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
        why = shorten(_NAMES.sub("… ", text), 100, placeholder=" …")
    listed = " and ".join(passes) if passes else "round trip" if passes == [] else "not known"
    return verdict["outcome"], why, listed


def _fault(optimizer: str, record: dict[str, Any]) -> str:
    """Return the link to the confirmed fault that a difference shows, or why there is none."""
    verdict, *why = _row(record)
    if "wrong" not in verdict:
        return "none"
    for name, pattern, page, beginning in FINDINGS:
        if name == optimizer and re.search(pattern, " ".join([*why, *_nodes(record)])):
            text = (REPORT.parent.parent / "findings" / f"{page}.md").read_text(encoding="utf-8")
            titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
            (title,) = (each for each in titles if each.startswith(beginning))
            anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            return f"[{title}](../findings/{page}.md#{anchor})"
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
        records = [each for each in read_records(work / f"{optimizer}.jsonl") if each["result"] != STARTED]
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
            shown = (*key, " → ".join(_nodes(least)), str(least["number"]), _fault(optimizer, least))
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
                names = {"same": "no difference", STARTED: "differs, not explained yet"}
                result = names.get(record["result"], record["result"])
                yield f"{start} | | {result} | | | | none |"
                continue
            key = _row(record)
            sizes = [output["ulps"] for output in record["document"]["steps"]["difference"]["outputs"]]
            size = max((float(each) for each in sizes if each is not None), default=None)
            nodes = _nodes(record)
            shown = " → ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
            cells = ("" if size is None else format(size, ".3g"), *key, shown, _fault(optimizer, record))
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
