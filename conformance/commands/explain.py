"""`onnx-conformance explain CASE`: everything there is to know about a case, on the terminal."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conformance.commands.completion import backend_names
from conformance.commands.options import CaseId, Data, ProfileName
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.corpus.loading import CaseInMemory, DataSet


def explain(
    case: CaseId,
    results: Annotated[
        Path | None, typer.Option("-r", "--results", metavar="FILE", help="Show what these results have of it, too.")
    ] = None,
    data: Data = None,
    profile: ProfileName = None,
    backend: Annotated[
        str | None,
        typer.Option(
            *("-b", "--backend"),
            metavar="NAME",
            help="Also run it here, and say how accurate the answer is.",
            autocompletion=backend_names,
        ),
    ] = None,
) -> None:
    """Show a case: what it tests and why, its model, its inputs and what must come out."""
    from conformance import __version__
    from conformance.clauses import clauses
    from conformance.corpus.corpus import bundled, find_case, open_corpus
    from conformance.corpus.document import case_json
    from conformance.errors import UnknownName

    corpus = open_corpus(data or bundled())
    found = find_case(corpus, case)
    document = case_json(corpus, found)
    if unknown := [clause for clause in document["clauses"] if clause not in clauses()]:
        raise UnknownName(
            f"{case} is about the clause {unknown[0]}, which onnx-conformance {__version__} does not have.",
            "Take the version that the corpus was made with.",
        )
    asked = list(_asked(corpus, found, profile)) if profile else []
    evidence = list(_evidence(corpus, case, results)) if results else []
    lines = _lines(case, str(corpus.path / found.path), document)
    for line in (*lines, *_quality(corpus, found, backend), *asked, *evidence):
        say(line)


def _quality(corpus: Corpus, case: CorpusCase, backend: str | None) -> Iterator[str]:
    """How far the qualities allow each output of a case to be off, and which one a backend's answer attains."""
    from conformance.corpus.loading import case_in_memory
    from conformance.judging.quality import attained, qualities

    if not any("/bound_" in file for file in case.files):
        return
    loaded = case_in_memory(corpus, case)
    run = _prepared(backend, loaded) if backend else None
    for number, data_set in enumerate(loaded.data_sets()):
        told = qualities(loaded, data_set)
        answers = run(data_set) if run else [None] * len(told)
        for output, ways, answer in zip(data_set.outputs, told, answers, strict=True):
            if ways:
                allowed = "; ".join(f"{way.name} {way.ulp:.3g} ULP" for way in ways)
                yield f"quality of {output.name}, data set {number}: {allowed}"
                yield from [f"    {backend} attains {attained(output, ways, answer)}"] if run else []


def _prepared(backend: str, case: CaseInMemory) -> Callable[[DataSet], Sequence[object]]:
    """What runs a case's model on a backend, in this process."""
    from conformance.errors import UsageError
    from conformance.subjects.loading import load_backend

    subject = load_backend(backend)

    def answers(data_set: DataSet) -> Sequence[object]:
        try:
            outputs = list(prepared().run([array.copy() for array in data_set.inputs]))
        except Exception as error:
            raise UsageError(
                f"{backend} has no answer to {case.id}: {type(error).__name__}: {error}",
                f"See how it fails: onnx-conformance run -b {backend} -k {case.id}",
            ) from error
        return (outputs + [None] * len(data_set.outputs))[: len(data_set.outputs)]

    @cache
    def prepared() -> Any:
        return subject.target.prepare(case.fresh_model(), "CPU")

    return answers


def _evidence(corpus: Corpus, case: str, path: Path) -> Iterator[str]:
    """What each subject of a results file made of a case.

    Raises:
        ResultsError: the file cannot be trusted, is of another corpus, or has no result of the case.
    """
    from conformance.errors import ResultsError
    from conformance.results.causes import causes_of
    from conformance.results.evidence import in_full
    from conformance.results.file import read
    from conformance.results.known_faults import known_faults_in
    from conformance.results.rerun import rerun_command
    from conformance.verdicts import Verdict

    run = read(path)
    of = run.header["corpus"]
    if of["digest"] != corpus.digest:
        raise ResultsError(
            f"{path} is of corpus {of['version']} ({of['digest'][:12]}), and {corpus.path} is {corpus.version}"
            f" ({corpus.digest[:12]}).",
            "Name the corpus of the results with --data; `report --html` shows results without one.",
        )
    subjects = [subject for subject in run.header["subjects"] if (subject["id"], case) in run.rows]
    if not subjects:
        raise ResultsError(f"{path} has no result of {case}.", "Run it, or name other results.")
    causes = {(cause.subject, id): cause for cause in causes_of(run) for id in cause.cases}
    for subject in subjects:
        yield ""
        yield f"{subject['id']} {subject['version']}"
        if (cause := causes.get((subject["id"], case))) is not None:
            others = f", one of {len(cause.cases)} cases" if len(cause.cases) > 1 else ""
            yield f"    cause: {cause.sentence}{others}"
        result = run.results[subject["id"], case]
        if Verdict(result["verdict"]).is_defect:
            known = known_faults_in(subject["id"], subject["kind"], case)
            yield from (f"    known of {fault.runtime}: {fault.title} ({fault.page})" for fault in known)
        yield from (f"    {line}" for line in in_full(run.cases[case], result))
        yield f"    run it again: {rerun_command(run.header, subject, case)}"


def _asked(corpus: Corpus, case: CorpusCase, profile: str) -> Iterator[str]:
    """What a profile asks of a case."""
    from conformance.corpus.loading import load_case
    from conformance.judging.profiled import profile_of, rules_about

    read = profile_of(profile)
    rules = rules_about(read, load_case(corpus, case))
    for rule in rules:
        yield f"rule {rule.id} of profile {read.name}: {rule.level} ({rule.source})"
        yield f"    {rule.text}"
    if not rules:
        yield f"no rule of profile {read.name} is about it"


def _lines(id: str, path: str, document: Mapping[str, Any]) -> Iterator[str]:
    from conformance.clauses import clauses
    from conformance.models.passages import locator
    from conformance.verdicts import Level

    level = Level(document["level"])
    yield f"{id}: {document['title']}"
    yield f"level {level}: {level.meaning}"
    yield f"files {path}"
    for clause in document["clauses"]:
        yield f"clause {clause} ({clauses()[clause].source})"
        yield f"    {clauses()[clause].text}"
        for passage in clauses()[clause].passages:
            yield from (f"    {line}" for line in locator(passage))
    for node in document["model"]["nodes"]:
        yield f"node {', '.join(node['outputs'])} = {node['domain']}.{node['op_type']}({', '.join(node['inputs'])})"
        yield from (f"    {name} = {value}" for name, value in node["attributes"].items())
    if "rewrite" in document:
        about = document["rewrite"].get("check", "no single one")
        yield f"the pass {document['rewrite']['answer']}; the check that this is about: {about}"
    for number, data_set in enumerate(document["data_sets"]):
        yield f"data set {number}"
        yield from (f"    in  {_tensor(tensor)}" for tensor in data_set["inputs"])
        for tensor in data_set["outputs"]:
            yield f"    out {_tensor(tensor)}"
            yield f"        {_check(tensor)}"
        if not data_set["outputs"]:
            yield "    out none: the model is invalid and must be rejected, at load or at run"


def _tensor(tensor: Mapping[str, Any]) -> str:
    more = f", … {tensor['elided']} more" if tensor["elided"] else ""
    return f"{tensor['name']}: {tensor['type']}{tensor['shape']} = {', '.join(tensor['values'])}{more}"


def _check(tensor: Mapping[str, Any]) -> str:
    match tensor["check"]:
        case "bound":
            return f"each within {', '.join(tensor.get('bounds', ['a bound that is not told']))}"
        case "index":
            return f"acceptable: {'; '.join(tensor.get('accept', ['not told']))}"
        case _:
            return "bit for bit"
