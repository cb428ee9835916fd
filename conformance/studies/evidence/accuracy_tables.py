"""Accuracy of each operator and element type: the largest error with its input, and the permitted error.

The inputs of a measurement are exact numbers, so that its errors are introduced by the operator alone. The propagated
error is a property of the function; `bounds.toml` has a bound of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.base.serialization.decoding import read_own_toml
from conformance.base.verdicts import Level
from conformance.exact.models.arrays import array_of
from conformance.exact.models.summaries import hex_bits, shortest_decimal
from conformance.exact.reference.tolerances import accuracy_at
from conformance.studies.evidence.evidence_tables import table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.results.records import CaseRecord, OutputEvidence
    from conformance.run.results.results_file import Results
    from conformance.studies.census.census_results import CellResult
    from conformance.studies.evidence.evidence_tables import Cell, Table

DERIVATION = (
    "docs/explanation/bounds.md",
    "conformance/exact/reference/numbers/bounded.py",
    "conformance/exact/reference/numbers/precision.py",
)
"""The place where the introduced error is derived; docs/explanation/bounds.md names the sources of the limits."""

TRAINING_OPTIMIZERS = ("Adam", "Adagrad", "Momentum")
_WHOLE_ROW_OPERATORS = frozenset({"Softmax", "LogSoftmax"})


class _Measured(NamedTuple):
    """The errors of one output of a case."""

    case: str
    evidence: OutputEvidence
    verdict: str

    def ulp(self) -> float:
        return self.evidence.max_ulp or 0.0

    def ratio(self) -> float:
        """Return the error divided by the bound."""
        return self.evidence.error_over_bound or 0.0


def bounds_table(with_training_optimizers: bool, types: Sequence[str]) -> Table:
    """Return the bounds of the propagated and of the introduced error, by operator and element type."""
    rows: list[tuple[Cell, ...]] = []
    for operator, entry in _bounds().items():
        is_training = operator in TRAINING_OPTIMIZERS
        if is_training and not with_training_optimizers:
            continue
        for type in types:
            if is_training and type not in {"float", "double"}:
                continue
            limits = (_limit(operator, type, Level.MUST), _limit(operator, type, Level.SHOULD))
            rows.append(
                (operator, type, entry["propagated"], entry["condition"], entry["introduced"], *limits, DERIVATION)
            )
    return table_of("bounds", rows)


def _bounds() -> Mapping[str, Mapping[str, str]]:
    return read_own_toml("conformance.studies.evidence", "bounds.toml")


def _limit(operator: str, type: str, level: Level) -> float | None:
    name = _bounds()[operator]["limit"]
    return float(getattr(accuracy_at(level, type), name)) if name else None


def census_table(cells: Mapping[str, Iterable[CellResult]]) -> Table:
    """Return the figures of all census cells."""
    rows = sorted(_census_row(name, each) for name, found in cells.items() for each in found)
    return table_of("census", rows)


def _census_row(file: str, each: CellResult) -> tuple[Any, ...]:
    cell = each.cell
    has_order = each.has_order
    return (
        cell.subject,
        each.version,
        cell.operator,
        cell.type,
        each.sampled,
        each.number("values") if each.has_values else None,
        domain_size(each) if each.has_values else None,
        each.number("wrong") if each.has_errors else None,
        each.number("pairs"),
        each.number("out_of_order") if has_order else None,
        None if has_order else each.number("wrong"),
        each.failure or None,
        file,
    )


def domain_size(each: CellResult) -> int:
    """Return the number of inputs in the domain of a cell's operator; both zeros count once, and NaN does not count."""
    infinity = each.cell.float_type.infinity
    return 2 * infinity + 1 if each.cell.operator == "Exp" else infinity + 1


def accuracy_table(
    corpus: Corpus, cases: Mapping[str, CaseRecord], runs: Sequence[Results], cells: Mapping[str, Sequence[CellResult]]
) -> Table:
    """Return the largest error of each subject, operator and element type: of a census, and of the cases."""
    rows = [row for name, found in cells.items() for each in found for row in _cell_rows(name, each)]
    for run in runs:
        rows += _case_rows(corpus, cases, run)
    rows.sort(key=lambda row: (row[2], row[3], row[4], row[0]))
    return table_of("accuracy", rows)


def _cell_rows(file: str, each: CellResult) -> Iterator[tuple[Any, ...]]:
    """Yield the row of a census cell; nothing if its results were not compared with exact results."""
    if not each.has_errors:
        return
    cell = each.cell
    extreme = each.whole.extremes.get("error")
    at = None if extreme is None else cell.float_type.consecutive_values(extreme.at, 1)[0]
    error = each.largest_error if extreme is not None or not each.number("wrong") else None
    yield (
        cell.subject,
        each.version,
        cell.operator,
        cell.type,
        "census",
        0.0,
        error,
        *((None, None) if at is None else (shortest_decimal(at), hex_bits(at))),
        each.number("values"),
        domain_size(each),
        each.sampled,
        _limit(cell.operator, cell.type, Level.MUST),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        file,
    )


def _case_rows(corpus: Corpus, cases: Mapping[str, CaseRecord], run: Results) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the cases of a run, one for each subject, operator and element type."""
    versions = {subject.id: subject.version for subject in run.header.subjects}
    produced = {id: outputs for id, case in cases.items() if (outputs := direct_outputs(case))}
    measured: dict[tuple[str, str, str], tuple[int, _Measured, _Measured]] = {}
    for subject, id in sorted(run.rows):
        if id not in produced or cases[id].level == Level.SILENT:
            continue
        result = run.results[subject, id]
        for evidence in result.outputs:
            if evidence.max_ulp is not None and evidence.name in produced[id]:
                key = (subject, *produced[id][evidence.name])
                one = _Measured(id, evidence, result.verdict)
                count, largest, closest = measured.get(key, (0, one, one))
                largest, closest = max(largest, one, key=_Measured.ulp), max(closest, one, key=_Measured.ratio)
                measured[key] = count + 1, largest, closest
    file = run.path.rpartition("/")[2]
    for (subject, operator, type), (count, largest, closest) in sorted(measured.items()):
        index = largest.evidence.worst_index
        case = cases[largest.case]
        number = largest.evidence.data_set
        name = largest.evidence.name + (str(index) if index is not None else "")
        yield (
            subject,
            versions[subject],
            operator,
            type,
            "cases",
            0.0,
            largest.ulp(),
            *(_inputs_at(corpus, case, number, operator, index) if index is not None else (None, None)),
            count,
            None,
            None,
            _limit(operator, type, Level.MUST),
            largest.evidence.error_over_bound,
            largest.case,
            number,
            name,
            largest.verdict,
            closest.ratio(),
            closest.case,
            file,
        )


def direct_outputs(case: CaseRecord) -> dict[str, tuple[str, str]]:
    """Return operator and element type of each graph output that a node computes from values of no other node.

    Outputs of other operators than those in `bounds.toml` are left out, and outputs that are not floating-point.
    """
    nodes = case.model.nodes
    computed = {name for node in nodes for name in node.outputs}
    types = {value.name: value.type for value in case.model.outputs}
    return {
        name: (node.op_type, types[name])
        for node in nodes
        if node.op_type in _bounds() and node.op_type != "ArgMax" and computed.isdisjoint(node.inputs)
        for name in node.outputs
        if name in types
    }


def _inputs_at(
    corpus: Corpus, case: CaseRecord, number: int, operator: str, index: Sequence[int]
) -> tuple[str | None, str | None]:
    """Return the inputs of an element of an output, as decimal numbers and as bits."""
    entry = corpus.cases[case.case]
    decimals = []
    bits = []
    for place, preview in enumerate(case.data_sets[number].inputs):
        file = f"test_data_set_{number}/input_{place}.pb"
        if file not in entry.files:
            continue
        if operator in _WHOLE_ROW_OPERATORS:
            decimals.append(f"{preview.name}={' '.join(preview.values)}" + (" …" if preview.elided else ""))
            bits.append(f"{preview.name}={' '.join(preview.hex or ())}")
            continue
        try:
            array = array_of(onnx.TensorProto.FromString(corpus.read(entry, file)))
        except (DecodeError, ValueError):
            continue
        if array.size != 1 and (
            array.ndim != len(index) or any(i >= n for i, n in zip(index, array.shape, strict=True))
        ):
            continue
        element = array.reshape(-1)[0] if array.size == 1 else array[tuple(index)]
        decimals.append(f"{preview.name}={shortest_decimal(element)}")
        bits.append(f"{preview.name}={hex_bits(element)}")
    return "; ".join(decimals) or None, "; ".join(bits) or None
