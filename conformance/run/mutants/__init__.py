"""The catalogue of mutants: known wrong implementations of each operator, which the corpus must detect.

The mutants are in TOML files. `adam.toml`, `momentum.toml`, `adagrad.toml` and `argmax.toml` have the mutants of one
operator each. `monotone.toml` has the mutants of the operators before ArgMax. The other files have mutants that several
operators have in common. The module `tables` defines the format of the files and reads them. `mutant` defines a mutant
and runs it. `wrappers`, `optimizer_wrappers`, `argmax_wrappers` and `arithmetic` define the functions that the files
can name.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from conformance.exact.models.graphs import iter_nodes
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants.mutant import KernelPatch, Mutant, MutantBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx

__all__ = ["KernelPatch", "Mutant", "MutantBackend"]
"""Classes of `conformance.run.mutants.mutant` that this package exports too."""

FAMILY_OPERATORS: Mapping[str, tuple[str, ...]] = {
    **{operator: (operator,) for operator in TRAINING_OPTIMIZERS},
    "ArgMax": ("ArgMax", "Log", "Exp", "Sqrt", "Softmax", "LogSoftmax", "Relu"),
}
"""The operators with mutants, by family.

The operators listed after ArgMax belong to its family, because their mutants are detected by the result of a following
ArgMax.
"""

FAMILIES = tuple(FAMILY_OPERATORS)
"""The operator families. A model belongs to one of them."""


@cache
def family_mutants(family: str) -> tuple[Mutant, ...]:
    """Return the mutants of an operator family."""
    from conformance.run.mutants.mutant_tables import catalogue_mutants

    return tuple(chain.from_iterable(map(catalogue_mutants, FAMILY_OPERATORS[family])))


def catalogue() -> Mapping[str, tuple[Mutant, ...]]:
    """Return the mutants of each operator family, by the name of the family."""
    return {family: family_mutants(family) for family in FAMILIES}


@cache
def mutants_by_id() -> Mapping[str, Mutant]:
    """Return the mutants of all operator families by id."""
    return {mutant.id: mutant for mutants in catalogue().values() for mutant in mutants}


def model_family(model: onnx.ModelProto) -> str | None:
    """Return the operator family of a model, or None if no operator of the model has mutants."""
    return family_of_operators(op_types(model))


def family_of_operators(op_types: set[str]) -> str | None:
    """Return the operator family of a model with these operators, or None if none of them has mutants."""
    return next((name for name in FAMILIES if name in op_types), None)


def op_types(model: onnx.ModelProto) -> set[str]:
    """Return the operators in the main graph of a model, and those with mutants in its subgraphs and functions."""
    inner = {node.op_type for node in (*iter_nodes(model.graph), *chain(*map(iter_nodes, model.functions)))}
    outer = {node.op_type for node in model.graph.node}
    before_argmax = FAMILY_OPERATORS["ArgMax"] if "ArgMax" in inner else ()
    return outer | inner & {*TRAINING_OPTIMIZERS, *before_argmax}
