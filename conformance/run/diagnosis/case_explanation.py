"""The explanation of a case: purpose, clauses, model, inputs and expected outputs, and a subject's results on it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from conformance import __version__
from conformance.base.errors import ResultsError, SuiteFault, UnknownName, UsageError
from conformance.base.verdicts import Unsupported
from conformance.corpus.cases.case_loading import load_case, load_case_in_memory, read_case_json
from conformance.corpus.cases.corpus import bundled_corpus_path, find_case, open_corpus
from conformance.exact.clauses import clauses
from conformance.exact.models.arrays import array_of, copy_of_value
from conformance.exact.models.spec_text import locator_lines
from conformance.exact.models.summaries import tensor_preview
from conformance.exact.reference.node_enclosures import enclose_by_any_text, outputs_of_model
from conformance.exact.reference.oracle import quiet_evaluation
from conformance.exact.reference.tolerances import SILENCES
from conformance.run.judging.accuracy import accuracy_grades, strictest_attained_grade
from conformance.run.judging.profile_rules import applicable_rules, load_profile
from conformance.run.results.evidence import format_tensor, full_evidence
from conformance.run.results.failure_groups import group_failures
from conformance.run.results.known_faults import known_faults_in
from conformance.run.results.recorded_environment import rerun_command, rerun_options
from conformance.run.results.results_file import check_recorded_corpus, read_results
from conformance.subjects.calling.request import format_exception
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import onnx

    from conformance.corpus.cases.case_loading import CaseDocument, CaseInMemory, DataSet, ExpectedOutput, LoadedCase
    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.exact.models.summaries import TensorPreview
    from conformance.run.results.results_file import Results
    from conformance.subjects.calling.subject_names import Subject


def explain_case(
    case: str, *, from_results: Path | None, data: Path | None, profile: str | None, backend: str | None
) -> list[str]:
    """Return the lines that explain a case.

    Args:
        case: the id of the case.
        from_results: a results file whose results of the case are explained too, or None.
        data: the folder of the corpus; None for the bundled corpus.
        profile: the requirement profile whose rules for the case are stated too, or None.
        backend: the backend that runs the case, so that the accuracy of its outputs is known; None for none.

    Raises:
        UnknownName: there is no such case, or it tests an unknown clause.
        ResultsError: the results file belongs to another corpus, or has no result of the case.
        UsageError: the backend fails.
    """
    corpus = open_corpus(data or bundled_corpus_path())
    run = None
    if from_results:
        run = read_results(from_results)
        check_recorded_corpus(run, corpus)
    found = find_case(corpus, case)
    document = read_case_json(corpus, found)
    if unknown := [clause for clause in document.clauses if clause not in clauses()]:
        raise UnknownName("no-such-clause", case=case, unknown=unknown[0], version=__version__)
    rules = list(_profile_lines(corpus, found, profile)) if profile else []
    evidence = list(_result_lines(case, run)) if run else []
    loaded = load_case(corpus, found)
    lines = _lines(case, corpus.place_of(found), document, _initializer_lines(loaded.model), _open_elements(loaded))
    return [*lines, *_accuracy_lines(corpus, found, backend), *rules, *evidence]


def _accuracy_lines(corpus: Corpus, case: CorpusCase, backend: str | None) -> Iterator[str]:
    """Yield lines with the error that each accuracy grade permits for each output of a case.

    If `backend` is given, the lines also contain the grade that this backend attains. A case that the oracle cannot
    compute has no grades.
    """
    named = [SubjectName.parse(backend, SubjectKind.BACKEND)] if backend else []
    with started_subjects(named, Limits()) as subjects:
        name = " ".join(f"{subject.id} {subject.version}" for subject in subjects)
        no_grades = [f"{name}: this case has no accuracy grades"] if name else []
        if not any("/bound_" in file for file in case.files):
            yield from no_grades
            return
        loaded = load_case_in_memory(corpus, case)
        run = _runner(subjects[0], loaded) if subjects else None
        for number, data_set in enumerate(loaded.data_sets()):
            try:
                grades = accuracy_grades(loaded, data_set)
            except Unsupported:
                yield from no_grades
                return
            answers = run(data_set) if run else [None] * len(grades)
            for output, allowed_errors, answer in zip(data_set.outputs, grades, answers, strict=True):
                if allowed_errors:
                    allowed = "; ".join(f"{grade.name} {grade.ulp:.3g} ULP" for grade in allowed_errors)
                    yield f"accuracy grades of {output.name}, data set {number}, by their largest error: {allowed}"
                if allowed_errors and run:
                    yield f"    {name} attains {strictest_attained_grade(output, allowed_errors, answer)}"


def _runner(subject: Subject, case: CaseInMemory) -> Callable[[DataSet], Sequence[object]]:
    """Return a function that runs a case's model on a backend."""

    def answers(data_set: DataSet) -> Sequence[object]:
        try:
            outputs = list(prepared().run(list(map(copy_of_value, data_set.inputs))))
        except SuiteFault:
            raise
        except Exception as error:
            raise UsageError(
                "backend-failed", subject=subject.id, case=case.id, error=format_exception(error)
            ) from error
        return (outputs + [None] * len(data_set.outputs))[: len(data_set.outputs)]

    @cache
    def prepared() -> Any:
        return subject.target.prepare(case.fresh_model(), "CPU")

    return answers


def _result_lines(case: str, run: Results) -> Iterator[str]:
    """Yield lines with the results of a case, from a results file, for each subject.

    Raises:
        ResultsError: the file has no result of the case.
    """
    subjects = [subject for subject in run.header.subjects if (subject.id, case) in run.rows]
    if not subjects:
        raise ResultsError("case-missing.result", path=run.path, case=case)
    causes = {(cause.subject, id): cause for cause in group_failures(run) for id in cause.cases}
    for subject in subjects:
        yield ""
        yield f"{subject.id} {subject.version}"
        if (cause := causes.get((subject.id, case))) is not None:
            others = f", one of {len(cause.cases)} cases" if len(cause.cases) > 1 else ""
            yield f"    failure group: {cause.sentence}{others}"
        result = run.results[subject.id, case]
        if result.verdict.is_defect:
            known = known_faults_in(subject.id, subject.kind, case)
            fitting = (fault for fault in known if fault.fits(subject.version, result))
            yield from (f"    known fault of {fault.runtime}: {fault.title} ({fault.page})" for fault in fitting)
        yield from (f"    {line}" for line in full_evidence(run.cases[case], result))
        yield f"    run it again: {rerun_command(subject, rerun_options(run.header, subject), case)}"


def _profile_lines(corpus: Corpus, case: CorpusCase, profile: str) -> Iterator[str]:
    """Yield lines with the rules of a requirement profile that apply to a case."""
    read = load_profile(profile)
    rules = applicable_rules(read, load_case(corpus, case))
    for rule in rules:
        yield f"rule {rule.id} of profile {read.name}: {rule.level} ({rule.source})"
        yield f"    {rule.text}"
    if not rules:
        yield f"no rule of profile {read.name} applies to the case"


def _initializer_lines(model: onnx.ModelProto) -> Iterator[str]:
    """Yield a line with the values of each initializer of the main graph."""
    for tensor in model.graph.initializer:
        yield f"initializer {_initializer(tensor.name, tensor)}"
    for sparse in model.graph.sparse_initializer:
        values = _initializer(sparse.values.name, sparse.values)
        yield f"sparse initializer of shape {list(sparse.dims)} {values}, at {_initializer('indices', sparse.indices)}"


def _initializer(name: str, tensor: onnx.TensorProto) -> str:
    """Return a tensor of a model as text, also if the tensor of an invalid model is not an array."""
    try:
        return _tensor(tensor_preview(name, array_of(tensor)))
    except (KeyError, TypeError, ValueError):
        return f"{name}: not readable"


def _open_elements(case: LoadedCase) -> dict[tuple[int, str], str]:
    """Return why elements of an output have no bound, by the number of the data set and the name of the output."""
    found: dict[tuple[int, str], str] = {}
    if case.is_invalid or case.is_structural:
        return found
    for number, data_set in enumerate(case.data_sets()):
        open_outputs = [each for each in data_set.outputs if each.open_elements]
        reasons = _reasons_of_open_elements(case, data_set) if open_outputs else {}
        for output in open_outputs:
            why = reasons.get(output.name) or "an intermediate result may overflow, or its rounding decides"
            found[number, output.name] = (
                f"{output.open_elements} of {output.expected.size} elements are not determined: {why}"
            )
    return found


def _reasons_of_open_elements(case: LoadedCase, data_set: DataSet) -> dict[str, str]:
    """Return what the pages of the operators leave open for each output of a data set."""
    try:
        with quiet_evaluation():
            outputs = outputs_of_model(enclose_by_any_text, case.model, data_set.inputs)
    except Unsupported:
        return {}
    names = (value.name for value in case.model.graph.output)
    return {
        name: "; ".join(SILENCES[silence] for silence in getattr(output, "silences", ()))
        for name, output in zip(names, outputs, strict=True)
    }


def _lines(
    id: str,
    path: str,
    document: CaseDocument,
    initializers: Iterable[str],
    open_elements: Mapping[tuple[int, str], str],
) -> Iterator[str]:
    yield f"{id}: {document.title}"
    yield f"level {document.level}: {document.level.meaning}"
    yield f"files {path}"
    for clause in document.clauses:
        yield f"clause {clause} ({clauses()[clause].source})"
        yield f"    {clauses()[clause].text}"
        for passage in clauses()[clause].passages:
            yield from (f"    {line}" for line in locator_lines(passage))
    yield from initializers
    for node in document.model.nodes:
        yield f"node {', '.join(node.outputs)} = {node.domain}.{node.op_type}({', '.join(node.inputs)})"
        yield from (f"    {name} = {value}" for name, value in node.attributes.items())
    if (rewrite := document.rewrite) is not None:
        yield f"pass {rewrite.effect.replace('_', ' ')}; tested condition: {rewrite.check or 'no single check'}"
    for number, data_set in enumerate(document.data_sets):
        yield f"data set {number}"
        yield from (f"    in  {_tensor(tensor)}" for tensor in data_set.inputs)
        for tensor in data_set.outputs:
            yield f"    out {_tensor(tensor)}"
            yield f"        {_check(tensor)}"
            if (number, tensor.name) in open_elements:
                yield f"        {open_elements[number, tensor.name]}"
        if not data_set.outputs:
            yield "    out none: the model is invalid and must be rejected, at load or at run"


def _tensor(tensor: TensorPreview) -> str:
    return f"{tensor.name}: {format_tensor(tensor)}"


def _check(tensor: ExpectedOutput) -> str:
    match tensor.check:
        case "bound":
            return f"each within {', '.join(tensor.bounds or ['a bound that is not printed'])}"
        case "index":
            return f"acceptable: {'; '.join(tensor.accept or ['not printed'])}"
        case _:
            return "bit for bit"
