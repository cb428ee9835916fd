"""A choice as a case of a corpus: its title, its clauses, and what the pass does with its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from conformance.clauses import clauses
from conformance.corpus.case import Case, CaseKind
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.search.choice import ARGMAX
from conformance.search.filled import id_of
from conformance.search.judged import rewrite_of
from conformance.verdicts import Level

if TYPE_CHECKING:
    from conformance.search.choice import Choice


def as_case(choice: Choice, kind: str, level: Level = Level.MUST) -> Case:
    """A choice as a case for a corpus, its data included.

    Args:
        kind: of a case for backends, or for graph optimizers.
    """
    made = choice.made
    model = onnx.load_model_from_string(made.model)
    return Case(
        id=id_of(choice),
        title=described(choice),
        level=level,
        clauses=clauses_of(choice, kind),
        tags=("search", choice.operator.lower()),
        model=made.model,
        data_sets=made.data_sets,
        kind=kind,
        rewrite=rewrite_of(model) if kind == CaseKind.PASS else None,
    )


def clauses_of(choice: Choice, kind: str) -> tuple[str, ...]:
    """The clauses that a case of a choice is about."""
    if kind == CaseKind.PASS:
        return ("monotone.fires",) if choice.chain else ("monotone.adjacent",)
    if choice.operator == ARGMAX:
        return ("argmax.index",)
    prefix = choice.operator.lower()
    mode = f"_{choice.attributes['mode']}" if choice.operator == "Momentum" else ""
    names = (f"{prefix}.{name.lower()}" for name in TRAINING_OPTIMIZERS[choice.operator].results)
    return tuple(name if name in clauses() else f"{name}{mode}" for name in names)


def described(choice: Choice) -> str:
    """A choice in words, for titles."""
    context: Any = choice.context
    parts = [f"in the place {context.place}"] if context.place != "main" else []
    parts += [f"{name} from {word}" for name, word in context.origins.items() if word != "input"]
    parts += [f"{name} {word}" for name, word in context.uses.items() if word != "output"]
    parts += [f"after {' and '.join(choice.chain)}"] if choice.chain else []
    parts += [f"beside {choice.beside}"] if choice.beside else []
    if choice.operator != ARGMAX:
        shapes = [list(array.shape) for name, array in choice.operands.items() if name[0] == "X"]
        parts.append(f"T = {int(choice.operands['T'])} and tensors of shape {', '.join(map(str, shapes))}")
    else:
        parts.append(f"a tensor of shape {list(choice.operands['X'].shape)}")
    return f"{choice.operator} computes with " + ", ".join([*parts[-1:], *parts[:-1]])
