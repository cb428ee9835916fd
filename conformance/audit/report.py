"""Reports of an audit: text for the terminal, and JSON."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from conformance.audit.judgement import JudgedNode, NodeVerdict
from conformance.models.graphs import operator_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.audit.session import SubjectAudit
    from conformance.graphs.reading import LoadedModel

MAX_LISTED_NODES = 20
"""Wrong nodes that the terminal lists."""


def operator_rows(nodes: Sequence[JudgedNode]) -> list[dict[str, Any]]:
    """Return one row for each operator: the numbers of nodes by verdict, and the largest share of a bound."""
    rows: dict[str, dict[str, Any]] = {}
    for node in nodes:
        name = operator_name(node)
        row = rows.setdefault(
            name, {"operator": name, "nodes": 0, "judged": 0, "wrong": 0, "not judged": 0, "share": 0.0}
        )
        row["nodes"] += 1
        if node.verdict is NodeVerdict.NOT_JUDGED:
            row["not judged"] += 1
        else:
            row["judged"] += 1
            row["wrong"] += node.verdict is NodeVerdict.WRONG
            row["share"] = max(row["share"], node.share)
    return sorted(rows.values(), key=lambda row: (-row["wrong"], -row["nodes"], row["operator"]))


def operator_name(node: JudgedNode) -> str:
    """Return the operator of a node, with its domain unless it is the main domain."""
    return operator_text(node.op_type, node.domain)


def share_text(share: float) -> str:
    """Return the share of a bound as text: `0.65`, or `differs` where the output must be equal."""
    return "differs" if math.isinf(share) else f"{share:.2g}"


def reasons(nodes: Sequence[JudgedNode]) -> list[tuple[str, int]]:
    """Return why nodes were not judged, each with the number of nodes, the most frequent first."""
    counts = Counter(node.reason for node in nodes if node.verdict is NodeVerdict.NOT_JUDGED)
    return counts.most_common()


def text_lines(audit: SubjectAudit) -> Iterator[str]:
    """Yield the lines that the terminal shows for one subject and data set."""
    yield f"{audit.subject} {audit.version}, {audit.data_set}"
    if audit.failure:
        yield f"  The subject does not run the model: {audit.failure}"
        return
    if not audit.is_repeatable:
        yield "  The first and the second run of the prepared model return different outputs."
    if not audit.repeats_when_prepared_again:
        yield "  The model returns different outputs when it is prepared again."
    ways = ", ".join(f"{count} by {way}" for way, count in audit.ways.items())
    yield f"  values: {ways}{f' ({audit.remark})' if audit.remark else ''}"
    rows = operator_rows(audit.nodes)
    width = max([len("operator"), *(len(row["operator"]) for row in rows)])
    yield f"  {'operator':{width}}  nodes  judged  wrong  not judged  largest error / bound"
    for row in rows:
        share = share_text(row["share"]) if row["judged"] else "-"
        yield (
            f"  {row['operator']:{width}}  {row['nodes']:5}  {row['judged']:6}  {row['wrong']:5}"
            f"  {row['not judged']:10}  {share:>21}"
        )
    yield f"  {judged_text(audit)}"
    for reason, count in reasons(audit.nodes):
        yield f"  not judged, {count}: {reason}"
    for node in audit.wrong_nodes[:MAX_LISTED_NODES]:
        yield f"  WRONG {wrong_text(node)}"
    if len(audit.wrong_nodes) > MAX_LISTED_NODES:
        yield f"  {len(audit.wrong_nodes) - MAX_LISTED_NODES} more wrong nodes; --json has all"


def judged_text(audit: SubjectAudit) -> str:
    """Return how many nodes and elements were judged, and how many nodes are wrong."""
    if audit.failure:
        return "the subject does not run the model"
    judged = [node for node in audit.nodes if node.verdict is not NodeVerdict.NOT_JUDGED]
    elements, total = sum(node.elements for node in judged), sum(node.all_elements for node in judged)
    return (
        f"{len(judged)} of {len(audit.nodes)} nodes judged, {len(audit.wrong_nodes)} wrong; "
        f"{elements} of {total} elements judged"
    )


def wrong_text(node: JudgedNode) -> str:
    """Return the description of a wrong node in one line."""
    place = f"node {node.number} {operator_name(node)} {node.name}"
    if node.together:
        place += f" (judged together with {', '.join(node.together)})"
    if node.worst is None:
        return f"{place}: {node.reason}"
    worst = node.worst
    index = "[" + ", ".join(map(str, worst.index)) + "]"
    text = f"{place}: {worst.output}{index} is {worst.value:.9g}, expected {worst.expected:.9g}"
    return text if not worst.bound else f"{text} ± {worst.bound:.3g} ({share_text(node.share)} times the bound)"


def as_json(
    model: LoadedModel, audits: Sequence[SubjectAudit], inputs: Sequence[str], seed: int | None
) -> dict[str, Any]:
    """Return the whole audit as JSON data.

    Args:
        model: the model.
        audits: the audits, one for each subject and data set.
        inputs: the names, types and shapes of the inputs of each data set.
        seed: the seed of pseudo-random inputs; None for inputs from files.
    """
    return {
        "format": 1,
        "model": {"file": model.path.name, "sha256": model.digest, "nodes": len(model.prepared.graph.node)},
        "inputs": list(inputs),
        "seed": seed,
        "audits": [_audit_json(audit) for audit in audits],
    }


def _audit_json(audit: SubjectAudit) -> dict[str, Any]:
    return {
        "subject": audit.subject,
        "version": audit.version,
        "data_set": audit.data_set,
        "failure": audit.failure or None,
        "is_repeatable": audit.is_repeatable,
        "repeats_when_prepared_again": audit.repeats_when_prepared_again,
        "ways": audit.ways,
        "remark": audit.remark or None,
        "model_runs": audit.model_runs,
        "operators": [{**row, "share": _finite(row["share"])} for row in operator_rows(audit.nodes)],
        "nodes": [_node_json(node) for node in audit.nodes],
    }


def _node_json(node: JudgedNode) -> dict[str, Any]:
    worst = node.worst
    return {
        "number": node.number,
        "name": node.name,
        "operator": operator_name(node),
        "verdict": str(node.verdict),
        "reason": node.reason or None,
        "way": node.way,
        "type": node.type or None,
        "elements": node.elements,
        "all_elements": node.all_elements,
        "undetermined": node.undetermined,
        "share": _finite(node.share),
        "together": list(node.together),
        "inner_nodes": node.inner_nodes,
        "worst": None
        if worst is None
        else {
            "output": worst.output,
            "index": list(worst.index),
            "value": _finite(worst.value),
            "expected": _finite(worst.expected),
            "bound": _finite(worst.bound),
        },
    }


def _finite(number: float) -> float | str:
    """Return a number; infinities and NaN, which JSON lacks, become text."""
    return number if math.isfinite(number) else str(number)
