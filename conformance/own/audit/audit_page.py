"""The HTML page of an audit: a self-contained file with the graph, a table of operators, and a section per node.

The graph is an SVG image without scripts. The colour of a node shows its largest error as a share of the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.base.pages import templating
from conformance.own.audit import audit_report
from conformance.own.audit.audit_report import AuditOutcome
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.layout import curve, layered_layout, short_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.own.audit.audit_session import SubjectAudit
    from conformance.own.audit.node_verdicts import JudgedNode
    from conformance.own.graphs.reading import LoadedModel


def render_page(
    model: LoadedModel, audits: Sequence[SubjectAudit], inputs: Sequence[str], outcome: AuditOutcome | None = None
) -> str:
    """Return the page as text. Every text from the model or the subject is escaped.

    Args:
        model: the model.
        audits: the audits, one for each subject and data set.
        inputs: the names, types and shapes of the inputs of each data set.
        outcome: the outcome; None if the options of the command line are the defaults.
    """
    return templating.render_page(
        "audit.html.j2",
        styles=["audit.css"],
        model=model,
        audits=audits,
        outcome=AuditOutcome.of(audits) if outcome is None else outcome,
        inputs=inputs,
        report=audit_report,
        total=audit_report.summary_text(audits),
        draw=draw_graph,
        colour=colour_class,
        chart=draw_errors,
    )


@dataclass(frozen=True)
class PlacedNode:
    """A node in the graph.

    Attributes:
        node: the node.
        x: the position of its centre from the left.
        y: the position of its centre from the top.
        label: the name of its operator, shortened.
        before: the nodes whose results it takes.
        after: the nodes that take its results.
    """

    node: JudgedNode
    x: float
    y: float
    label: str
    before: list[JudgedNode]
    after: list[JudgedNode]


@dataclass(frozen=True)
class Drawing:
    """The graph of a model: its size, its nodes, and its edges as paths of SVG."""

    width: float
    height: float
    nodes: list[PlacedNode]
    edges: list[str]


def draw_graph(audit: SubjectAudit) -> Drawing:
    """Return the graph of an audited model; nodes of the operator Constant are left out."""
    nodes = {node.number: node for node in audit.nodes}
    edges = [(first, second) for first, second in audit.edges if first in nodes and second in nodes]
    layout = layered_layout(list(nodes), edges)
    before: dict[int, list[JudgedNode]] = {number: [] for number in nodes}
    after: dict[int, list[JudgedNode]] = {number: [] for number in nodes}
    for first, second in edges:
        before[second].append(nodes[first])
        after[first].append(nodes[second])
    drawn = []
    for number, node in nodes.items():
        label = short_label(audit_report.operator_name(node))
        drawn.append(PlacedNode(node, *layout.places[number], label, before[number], after[number]))
    return Drawing(layout.width, layout.height, drawn, list(map(curve, layout.courses.values())))


CHART_HEIGHT = 220.0
CHART_MARGIN = 44.0
CHART_STEP = 12.0
"""Height of the chart of errors, its margin, and the distance of two nodes in it."""

SMALLEST_ERROR = 1e-17
"""Errors below it are at the lower end of the chart."""


@dataclass(frozen=True)
class ErrorPoint:
    """The errors of a node in the chart.

    Attributes:
        node: the node.
        x: its position from the left.
        introduced: the position of the error of the node from the top.
        accumulated: the position of the error since the inputs; None if it is not known.
    """

    node: JudgedNode
    x: float
    introduced: float
    accumulated: float | None


@dataclass(frozen=True)
class ErrorChart:
    """The errors along a model: the size of the chart, its points, and its lines by the text of the error."""

    width: float
    height: float
    points: list[ErrorPoint]
    lines: list[tuple[str, float]]

    @property
    def course(self) -> str:
        """The accumulated errors as points of an SVG polyline."""
        return " ".join(f"{each.x:g},{each.accumulated:.4g}" for each in self.points if each.accumulated is not None)


def draw_errors(audit: SubjectAudit) -> ErrorChart:
    """Return the chart of errors along a model, on a logarithmic scale."""
    lowest = math.log10(SMALLEST_ERROR)
    errors = [error for node in audit.nodes for error in (node.introduced, node.accumulated or 0.0)]
    highest = max(
        lowest + 1, math.ceil(math.log10(max([error for error in errors if error < math.inf], default=0) or 1e-16))
    )

    def place(error: float) -> float:
        level = min(max(math.log10(error), lowest), highest) if error > 0 else lowest
        return CHART_MARGIN / 2 + (highest - level) / (highest - lowest) * (CHART_HEIGHT - CHART_MARGIN)

    points = [
        ErrorPoint(
            node,
            CHART_MARGIN + CHART_STEP * (1 + position),
            place(node.introduced),
            None if node.accumulated is None else place(node.accumulated),
        )
        for position, node in enumerate(audit.nodes)
    ]
    lines = [(f"1e{level}", place(10.0**level)) for level in range(int(lowest) + 1, int(highest) + 1, 4)]
    return ErrorChart(CHART_MARGIN + CHART_STEP * (len(points) + 2), CHART_HEIGHT, points, lines)


def colour_class(audit: SubjectAudit, node: JudgedNode) -> str:
    """Return the class of a node's colour: its verdict, also on hard data, and the share of the bound in five steps."""
    if node.verdict is NodeVerdict.WRONG or node.number in audit.wrong_on_hard_data:
        return "wrong"
    if node.verdict in (NodeVerdict.NOT_JUDGED, NodeVerdict.UNSPECIFIED):
        return "not-judged"
    return "s0" if node.is_correctly_rounded else f"s{min(4, int(node.level_share * 5))}"
