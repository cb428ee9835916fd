"""Of a graph optimizer that claims the pass: it fires where it must, and leaves all other nodes as they are.

Without the claim it is not asked: no passage says what another graph optimizer leaves of a graph, and one that leaves
everything is right. Inner values may bear other names and nodes stand in another order, as long as what is computed is
the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.corpus.case import Firing
from conformance.judging.rewriting import NotJudged
from conformance.models.canonical import form
from conformance.passes.expected import produced, without
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx

    from conformance.judging.rewriting import Rewriting

LEVEL = Level.MUST
CLAUSES = (
    "monotone.fires",
    "monotone.other_producer",
    "monotone.only_argmax",
    "monotone.axis",
    "monotone.other_use",
    "monotone.graph_output",
    "monotone.capture",
    "monotone.one_per_run",
    "monotone.fixed_point",
)


def complaint(rewriting: Rewriting) -> str | None:
    """`Exp, which makes Y, is gone, though the pass stays`."""
    if not rewriting.claims:
        raise NotJudged
    after = form(rewriting.after)
    admissible = [without(rewriting.before, gone) for gone in rewriting.gone]
    if any(form(model) == after for model in admissible):
        return None
    return next(_complaints(rewriting, admissible[0]))


def _complaints(rewriting: Rewriting, expected: onnx.ModelProto) -> Iterator[str]:
    """What is wrong first, by the names of values; `expected` is the model as it should be."""
    before, right, after = (dict(produced(model)) for model in (rewriting.before, expected, rewriting.after))
    stays = "the pass stays" if rewriting.expected.answer is Firing.STAYS else "the pass leaves it"
    for path, node in before.items():
        if path in right and path not in after:
            yield f"{node.op_type}, which makes {path}, is gone, though {stays}"
        if path not in right and path in after:
            yield f"{node.op_type}, which makes {path}, is still there, though the pass removes it"
    for path, node in right.items():
        if path in after and list(after[path].input) != list(node.input):
            yield f"{node.op_type}, which makes {path}, takes {_named(after[path])} instead of {_named(node)}"
        if path in after and (after[path].domain, after[path].op_type) != (node.domain, node.op_type):
            yield f"{path} is made by {after[path].op_type} instead of {node.op_type}"
    if new := [path for path in after if path not in before]:
        yield f"there is a new {after[new[0]].op_type}, which makes {new[0]}"
    yield "the graph computes something else: attributes, or the values that are given out"


def _named(node: onnx.NodeProto) -> str:
    return ", ".join(node.input) or "nothing"
