"""Runs without a results file, and reports as one text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert, to_builtins

from conformance.run.results.records import CaseRecord, DiagnosisRecord, Footer, Header, Result
from conformance.run.results.results_file import LazyRecords, Results, result_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


DIAGNOSIS = DiagnosisRecord(
    subject="acme",
    operator="Adam",
    mutant="adam.x",
    text="forgets x",
    explained=2,
    failing=3,
    indistinguishable=["adam.y"],
    cases=["test_x", "test_y"],
    jointly_explained=[],
)


def make_run(path: str, header: Any, cases: Iterable[Any], results: Iterable[Any], footer: Any) -> Results:
    """Return a run with these records; header and footer may lack keys, and cases too."""
    return with_records(Results(path, make_header(**header), {}, {}, {}, {}, make_footer(**footer)), cases, results)


def make_header(**fields: Any) -> Header:
    """Return a header with these fields; the other fields are those of a run without cases at level must."""
    given = to_builtins(fields)
    criterion = {"level": "must", "require": [], "expected_results": 0, "expectations": []}
    header = {"record": "header", "format": 2, "suite": "0", "subjects": [], "command": "", "started": 0}
    header |= {name: {} for name in ("environment", "clauses", "options")}
    header["corpus"] = {"version": "1.0.0", "digest": "0", "cases": 0, "selected": 0}
    criterion |= given.pop("criterion", {})
    return convert({**header, "criterion": criterion, **given}, Header)


def make_footer(**fields: Any) -> Footer:
    """Return a footer with these fields; the other fields are those of a passed run without results.

    A diagnosis may lack the mutants that no case distinguishes, and the cases that it explains with others.
    """
    footer = {"results": 0, "verdicts": {}, "outcome": "pass", "reasons": [], "seconds": 0, "unexplained": []}
    given = to_builtins(fields)
    alone: dict[str, Any] = {"indistinguishable": [], "jointly_explained": []}
    diagnoses = [alone | diagnosis for diagnosis in given.pop("diagnoses", ())]
    return convert({"record": "footer", **footer, **given, "diagnoses": diagnoses}, Footer)


def make_case(**fields: Any) -> CaseRecord:
    """Return the record of a case with these fields; the other fields are those of a case without nodes and data."""
    model = {"ir_version": 8, "opset_imports": {}, "inputs": [], "outputs": [], "nodes": []}
    case = {"record": "case", "case": "test_x", "kind": "node", "title": "A title", "level": "must", "clauses": []}
    given = to_builtins(fields)
    model |= given.pop("model", {})
    node = {"op_type": "Adam", "domain": "ai.onnx", "inputs": [], "outputs": [], "attributes": {}}
    model["nodes"] = [{**node, **given_node} for given_node in model["nodes"]]
    return convert({**case, "tags": [], "data_sets": [], "model": model, **given}, CaseRecord)


def plain_case(name: str, clause: str = "adam.x_new") -> CaseRecord:
    """Return the record of a case without nodes and data, as far as failure groups need it."""
    return make_case(case=name, clauses=[clause])


def make_result(**fields: Any) -> Result:
    """Return a result with these fields; the other fields are those of a passed case without evidence."""
    result = {"subject": "acme", "case": "test_x", "level": "must", "verdict": "pass", "phase": None, "message": ""}
    return convert(
        {**result, "seconds": 0.0, "outputs": [], "expected": None, "unexpected": False, **to_builtins(fields)}, Result
    )


def with_fields(record: Struct, **fields: Any) -> Any:
    """Return a record with other values of some fields, which may be dicts in place of records."""
    return convert({**to_builtins(record), **to_builtins(fields)}, type(record))


def plain_result(subject: str, case: str, verdict: str, **more: Any) -> Result:
    """Return a result at level must without evidence."""
    result = {"subject": subject, "case": case, "level": "must", "verdict": verdict, "phase": None, "message": verdict}
    return make_result(**{**result, "unexpected": verdict != "pass", **more})


def with_records(run: Results, cases: Iterable[Any], results: Iterable[Any], **news: Any) -> Results:
    """Return a run with other records."""
    records = [make_case(**case) if isinstance(case, dict) else case for case in cases]
    by_case = {case.case: case for case in records}
    by_key = {(result.subject, result.case): result for result in results}
    return replace(run, rows=LazyRecords(result_row, by_key), results=by_key, case_rows=by_case, cases=by_case, **news)


def with_results(run: Results, results: Iterable[Any], **news: Any) -> Results:
    """Return a run with other results of its cases."""
    return with_records(run, run.cases.values(), results, **news)


def list_results(run: Results) -> list[Any]:
    """Return the results of a run in their order."""
    return list(run.results.values())


def text_renderer(render: Callable[[Sequence[Results]], Iterator[str]]) -> Callable[[Sequence[Results]], str]:
    """Return a function that renders a report as one text."""
    return lambda runs: "".join(render(runs))
