"""The HTML page of an audit: a self-contained file with the graph as a row of coloured nodes, and a table of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.audit.judgement import NodeVerdict
from conformance.audit.report import operator_name, operator_rows, reasons, share_text, wrong_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.audit.judgement import JudgedNode
    from conformance.audit.session import AuditedModel, SubjectAudit


def render_page(model: AuditedModel, audits: Sequence[SubjectAudit], inputs: Sequence[str]) -> str:
    """Return the page as text. Every text from the model or the subject is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("conformance.audit", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters.update(share=share_text, operator=operator_name, wrong=wrong_text, colour=colour_class)
    template = environment.get_template("page.html.j2")
    return template.render(
        model=model, audits=audits, inputs=inputs, rows=operator_rows, reasons=reasons, wrong=NodeVerdict.WRONG
    )


def colour_class(node: JudgedNode) -> str:
    """Return the class of a node's colour: its verdict, and the share of the bound in five steps."""
    if node.verdict is NodeVerdict.WRONG:
        return "wrong"
    if node.verdict is NodeVerdict.NOT_JUDGED:
        return "open"
    return f"s{min(4, int(node.share * 5))}"
