"""Wrong nodes of an audit as cases of a corpus: models of the nodes alone, with recorded operands and expected outputs.

`run --data` runs the cases on any subject, and `repro` writes a folder for one of them. A node that was judged together
with nodes before it becomes a case with all of these nodes.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case import IDENTIFIER, MAX_CASE_TENSORS, Case
from conformance.corpus.generation.write_corpus import generate
from conformance.exact.models.graphs import names_taken_by, operator_text
from conformance.exact.reference.node_enclosures import NodeScope, answer_of, enclose, evaluate_nodes
from conformance.own.graphs.cutting import complete_part, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.own.audit.node_verdicts import JudgedNode

CORPUS_VERSION = "1.0.0"
"""The version of the corpora that an audit writes."""

MAX_CASE_BYTES = 2**28
"""Maximum size of the values of a case. Larger wrong nodes become no case."""


def case_of_wrong_node(
    name: str,
    node: JudgedNode,
    model: onnx.ModelProto,
    values: Mapping[str, Array],
    constants: Mapping[str, Array],
    numbers_in_whole: Sequence[int],
    *,
    is_probe: bool = False,
) -> Case | None:
    """Return a wrong node as a case; None if its outputs are not determinate, or its values are too large or too many.

    Args:
        name: the name of the file of the audited model, for the id of the case.
        node: the judgement of the node.
        model: the model that was judged.
        values: the values of the subject by name.
        constants: the values that do not depend on the model's inputs.
        numbers_in_whole: the number of each node in the whole model, of which the judged one may be a part.
        is_probe: whether the values are hard data.
    """
    numbers = sorted({node.number, *node.segment})
    protos = [model.graph.node[number] for number in numbers]
    own = [output for output in protos[-1].output if output]
    operands = _operands(protos)
    if any(name not in values for name in (*operands, *own)):
        return None
    if sum(values[each].nbytes for each in operands) > MAX_CASE_BYTES or len(operands) + len(own) > MAX_CASE_TENSORS:
        return None
    try:
        with np.errstate(all="ignore"):
            given = {operand: values[operand] for operand in operands}
            expected = evaluate_nodes(protos, given, partial(enclose, NodeScope.of(model)))
        answers = tuple(answer_of(expected[output]) for output in own)
    except (Unsupported, ValueError, KeyError):
        return None
    if all(answer.accepts_every_value for answer in answers):
        return None
    fed = {name: values[name] for name in operands if name not in constants}
    held = {name: constants[name] for name in operands if name in constants}
    single = part_of(model, node.name or node.op_type, numbers)
    complete_part(single, fed, held, {name: each.expected for name, each in zip(own, answers, strict=True)})
    number = numbers_in_whole[node.number]
    operators = "-".join(proto.op_type for proto in protos)
    where = ", on hard data" if is_probe else ""
    return Case(
        id=case_of_node(name, number, node, is_probe=is_probe),
        title=f"{operators} gives what its specification states: node {number} of {name}{where}",
        level=Level.MUST,
        clauses=(),
        tags=tuple(dict.fromkeys((node.op_type, "audit", *(proto.op_type for proto in protos)))),
        model=single.SerializeToString(deterministic=True),
        data_sets=(tuple(fed.values()),),
        answers=(answers,),
        full_check_exception="the node is from a model of a user",
    )


HARD_DATA = "hard data"
"""Stands for the values of a probe in the id and the title of a case."""


def case_of_node(file: str, number: int, node: JudgedNode, *, is_probe: bool) -> str:
    """Return the id of the case of a node, or of a node on hard data, which reports and expectations have, too.

    Args:
        file: the name of the file of the model.
        number: the number of the node in the whole model.
        node: the node, or the last of several nodes that were judged together.
        is_probe: whether the values are hard data.
    """
    return case_id(file, number, operator_text(node.op_type, node.domain), *([HARD_DATA] if is_probe else []))


def case_id(file: str, number: int, *words: str) -> str:
    """Return the id of a case: the name of the model's file, the number of the last node, and further words."""
    name = file.removesuffix(".onnx")
    text = re.sub(r"[^a-z0-9]+", "_", "_".join((name, str(number), *words)).lower()).strip("_")
    id = f"test_audit_{text}"[-120:] if len(text) > 100 else f"test_audit_{text}"
    return id if IDENTIFIER.fullmatch(id) else f"test_audit_{number}"


def write_cases(directory: Path, cases: Iterable[Case]) -> int:
    """Write cases as a corpus, and return their number. Of cases with one id, the first is written.

    Raises:
        CorpusError: the directory is not empty or cannot be written.
    """
    unique: dict[str, tuple[str, Case]] = {}
    for case in cases:
        unique.setdefault(case.id, ("audit", case))
    if unique:
        generate(directory, list(unique.values()), CORPUS_VERSION, lambda _: None)
    return len(unique)


def _operands(protos: list[onnx.NodeProto]) -> list[str]:
    """Return the names of the values that some nodes take and none of them makes."""
    made = {name for node in protos for name in node.output}
    names = dict.fromkeys(name for node in protos for name in names_taken_by(node))
    return [name for name in names if name not in made]
