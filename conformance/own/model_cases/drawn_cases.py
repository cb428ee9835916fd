"""Cases of single nodes that are drawn from the declarations, for mistakes that no node case of onnx detects.

`drawn_cases.toml` lists the seeds of each operator. `python -m checks.mutation.choose_seeds` chooses them: a seed is in
the list because its node detects a mutant that neither the cases of onnx nor the seeds before it detect.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from conformance.base.serialization.decoding import read_own_toml
from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case import Case
from conformance.exact.declarations.drawing import draw_node
from conformance.exact.models.arrays import type_name
from conformance.exact.models.model_validity import model_violation
from conformance.own.model_cases.onnx_cases import DRAWN_TAG, GENERATOR, answers_of_model, check_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from conformance.exact.declarations.drawing import DrawnNode


def drawn_cases(
    operators: Collection[str] | None = None, progress: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[str, Case]]:
    """Yield the cases with the names of their generator, apart from nodes that the reference leaves open by now.

    Args:
        operators: the operators, or None for all.
        progress: is called with the name of each case.
    """
    for operator, seeds in _seeds(operators).items():
        for number, seed in enumerate(seeds):
            name = f"test_{operator.lower().replace('.', '_')}_ours_{number:02}"
            progress(name)
            with suppress(Unsupported):  # the judgement of a node became wider since its seed was chosen
                yield GENERATOR, drawn_case(name, draw_node(operator, seed))


def count_drawn_cases(operators: Collection[str] | None = None) -> int:
    """Return the number of names for which `drawn_cases` calls `progress`."""
    return sum(map(len, _seeds(operators).values()))


def _seeds(operators: Collection[str] | None) -> dict[str, Sequence[str]]:
    declared = read_own_toml(__package__, "drawn_cases.toml").items()
    return {operator: seeds for operator, seeds in declared if operators is None or operator in operators}


def drawn_case(name: str, drawn: DrawnNode) -> Case:
    """Return the case of a drawn node.

    Raises:
        Unsupported: the reference has no answer, or an operand cannot be in a corpus.
    """
    inputs = tuple(drawn.inputs.values())
    answers = answers_of_model(drawn.model, inputs)
    if any(array.dtype == object for array in (*drawn.operands.values(), *(answer.expected for answer in answers))):
        raise Unsupported("an operand or a result is text")
    check_outputs(drawn.model, answers)
    types = sorted({type_name(answer.expected.dtype) for answer in answers})
    return Case(
        name,
        f"{drawn.operator} gives what its specification states for a drawn node of opset"
        f" {drawn.model.opset_import[0].version}",
        Level.MUST,
        (),
        (drawn.operator, "onnx", *types, DRAWN_TAG),
        drawn.model.SerializeToString(deterministic=True),
        (inputs,),
        answers=(tuple(answers),),
        full_check_exception=model_violation(drawn.model, shapes=True) or "",
    )
