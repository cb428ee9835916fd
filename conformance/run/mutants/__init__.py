"""The catalogue of mutants: known wrong implementations of each operator, which the corpus must detect.

The mutants are in TOML files, which this module reads. `adam.toml`, `momentum.toml`, `adagrad.toml` and `argmax.toml`
have the mutants of one operator each. `monotone.toml` has the mutants of the operators before ArgMax. The other files
have mutants that several operators have in common. `mutant` defines a mutant and runs it. `wrappers`,
`training_wrappers`, `argmax_wrappers` and `arithmetic` define the functions that the files can name. `node_mutants`
makes mutants of a node of any other operator.

A file of held-out mutants (`checks.mutation.held_out`) has the same format. Each `[[mutant]]` is a wrong
implementation:

    operators = ["Adam"]                    # optional: the op_types of the mutants that name none

    [lines]                                 # optional: names for texts of the operators' pseudo-code
    V_new = "alpha * V + (1 - alpha) * G_regularized"

    [clauses.Momentum]                      # optional: the ids of clauses that an operator names differently
    x_new = "x_new_standard"

    [[mutant]]
    id = "v_replaced"                       # an id without a dot gets the operator's name: `adam.v_replaced`
    text = "takes the gradient for V_new"   # the behaviour as a verb phrase
    clause = "v_new"                        # the violated clause; without a dot: of the operator
    edits.V_new = "G_regularized"           # pseudo-code text replacements, by the name of a line or by the text itself

These keys of a mutant are optional:

    operator = "Adam"                       # or operators = ["Adam", "Adagrad"]: a mutant of each operator
    level = "should"                        # the level of the cases that must detect the mutant; default "must"
    convention = "Keras"                    # the libraries whose convention the behaviour is
    mistake = "ignores axis"                # the mistake of `node_mutants` with the same behaviour
    within = "If"                           # only in subgraphs of this operator, or in a "function"
    by_position = true                      # takes the float attributes in the specification's order
    defaults.epsilon = 0.0                  # values of attributes that the model does not set
    arithmetic.rounding = "half"            # or arithmetic.computing = "float32", or arithmetic.promotes = true
    wrappers = [{ name = "each_output", function = "half" }]    # kernel wrappers, the outermost first
    each.size = [8, 16]                     # a mutant for each value; `{size}` is replaced in texts and wrappers

`conformance.run.mutants.wrappers.WRAPPERS` has the wrappers. The other keys of a wrapper's table are its arguments:
`scalar` is R or T, and `function` is a function. A function is the name of a function in
`conformance.run.mutants.arithmetic` or in NumPy, or a Python lambda, which can use the names of `arithmetic` and `np`.
`{operator}` in an id, a text, a clause or a wrapper is the operator's name in ids.

Replacements and lambdas are executed. Use only files that you trust.
"""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import asdict

import conformance.run.mutants.argmax_wrappers  # noqa: F401 - registers its wrappers
from conformance.base.serialization.decoding import read_own_toml
from conformance.base.verdicts import Level
from conformance.exact.models.graphs import iter_nodes
from conformance.exact.reference.numbers.number_system import NumberSystem
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants import arithmetic, training_wrappers
from conformance.run.mutants.mutant import (
    FormulaArithmetic,
    KernelPatch,
    KernelWrapper,
    Mutant,
    MutantBackend,
    PromotingArithmetic,
    find_last_readers,
)
from conformance.run.mutants.wrappers import MODEL_REWRITES, WRAPPERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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


FILES = (
    "adam",
    "momentum",
    "adagrad",
    "argmax",
    "numerics",
    "layout",
    "sizes",
    "buffers",
    "context",
    "names",
    "attributes",
    "monotone",
)
"""Names of the catalogue's files. The mutants of an operator are in this order in the catalogue."""


class ArithmeticTable(msgspec.Struct, forbid_unknown_fields=True):
    """The arithmetic of a mutant of a training optimizer; see `FormulaArithmetic` and `PromotingArithmetic`."""

    rounding: str | None = None
    computing: str | None = None
    promotes: bool = False


class MutantTable(msgspec.Struct, forbid_unknown_fields=True):
    """A table `[[mutant]]` of a file; the docstring of the module explains the keys."""

    id: str
    text: str
    clause: str = ""
    operator: str | None = None
    operators: list[str] = []
    edits: dict[str, str] = {}
    wrappers: list[dict[str, Any]] = []
    defaults: dict[str, int | float | str] = {}
    arithmetic: ArithmeticTable | None = None
    level: Level = Level.MUST
    convention: str | None = None
    mistake: str = ""
    within: str | None = None
    is_direct: bool = False
    by_position: bool = False
    last_reader_of: str | None = None
    rewrite: str | None = None
    each: dict[str, list[int | str]] = {}


class MutantFile(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a file of mutants."""

    operators: list[str] = []
    lines: dict[str, str] = {}
    clauses: dict[str, dict[str, str]] = {}
    mutant: list[MutantTable] = []


@cache
def _catalogue_files() -> Sequence[MutantFile]:
    return [msgspec.convert(read_own_toml("conformance.run.mutants", f"{name}.toml"), MutantFile) for name in FILES]


@cache
def pseudocode_lines() -> Mapping[str, Mapping[str, str]]:
    """Return, for each operator with pseudo-code, the texts of pseudo-code lines by their names."""
    return {operator: file.lines for file in _catalogue_files() if file.lines for operator in file.operators}


def catalogue_mutants(operator: str) -> tuple[Mutant, ...]:
    """Return the catalogue's mutants of an operator."""
    return tuple(
        mutant
        for file in _catalogue_files()
        for table in file.mutant
        if operator in table_operators(file, table)
        for mutant in mutants_of_table(file, table, operator)
    )


def table_operators(file: MutantFile, table: MutantTable) -> Sequence[str]:
    """Return the op_types to which a table `[[mutant]]` applies.

    Raises:
        ValueError: neither the mutant nor the file has an operator.
    """
    operators = [table.operator] if table.operator else table.operators or file.operators
    if not operators:
        raise ValueError("operator is missing")
    return operators


def mutants_of_table(file: MutantFile, table: MutantTable, operator: str) -> Iterator[Mutant]:
    """Yield the mutants that a table `[[mutant]]` defines for an operator: one, or one for each value in `each`.

    Raises:
        ValueError: a wrapper, a function or a scalar does not exist.
        KeyError: a rewrite of models does not exist.
    """
    aliases = file.clauses.get(operator, {})
    edits = pseudocode_edits(operator, table.edits)
    prefix = "log_softmax" if operator == "LogSoftmax" else operator.lower()
    rows = [dict(zip(table.each, values, strict=True)) for values in zip(*table.each.values(), strict=True)]
    for row in rows or [{}]:
        own = MutantTable(**_fill(asdict(table), {**row, "operator": prefix}))
        yield Mutant(
            id=own.id if "." in own.id else f"{prefix}.{own.id}",
            text=own.text,
            clause=own.clause
            and (own.clause if "." in own.clause else f"{prefix}.{aliases.get(own.clause, own.clause)}"),
            operator=operator,
            level=own.level,
            convention=own.convention,
            mistake=own.mistake,
            defaults=own.defaults,
            wrappers=tuple(map(_wrapper, own.wrappers)),
            arithmetic=_arithmetic(own.arithmetic, edits),
            within=own.within,
            is_direct=own.is_direct,
            by_position=own.by_position,
            find_sites=partial(find_last_readers, own.last_reader_of) if own.last_reader_of else None,
            rewrites=(MODEL_REWRITES[own.rewrite],) if own.rewrite else (),
        )


def pseudocode_edits(operator: str, edits: Mapping[str, str]) -> Mapping[str, str]:
    """Return the edits with names of pseudo-code lines replaced by the texts of the lines."""
    lines = pseudocode_lines().get(operator, {})
    return {lines.get(name, name): new for name, new in edits.items()}


def _fill(value: Any, names: Mapping[str, int | str]) -> Any:
    """Return a value with `{name}` replaced in all strings; a string that is only `{name}` becomes the named value."""
    if isinstance(value, dict):
        return {key: _fill(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_fill(inner, names) for inner in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    if (whole := re.fullmatch(r"\{(\w+)\}", value)) and whole[1] in names:
        return names[whole[1]]
    return re.sub(r"\{(\w+)\}", lambda found: str(names.get(found[1], found[0])), value)


def _arithmetic(table: ArithmeticTable | None, edits: Mapping[str, str]) -> NumberSystem:
    if table is None:
        return FormulaArithmetic(edits) if edits else NumberSystem()
    if table.promotes:
        return PromotingArithmetic(edits)
    return FormulaArithmetic(edits, table.computing, named_function(table.rounding) if table.rounding else None)


def _wrapper(table: Mapping[str, Any]) -> KernelWrapper:
    name = table.get("name")
    if name not in WRAPPERS:
        raise ValueError(f"wrapper name must be one of {', '.join(WRAPPERS)} (got {name!r})")
    return WRAPPERS[name](**{key: _argument(key, value) for key, value in table.items() if key != "name"})


def _argument(key: str, value: Any) -> Any:
    """Return an argument for a wrapper: a function, the index of a scalar input, or the value itself."""
    if key == "scalar":
        if value not in {"R", "T"}:
            raise ValueError(f"scalar must be R or T (got {value!r})")
        return {"R": training_wrappers.R, "T": training_wrappers.T}[value]
    is_function = key == "function" or (isinstance(value, str) and value.startswith("lambda "))
    return named_function(value) if is_function else value


@cache
def named_function(text: str) -> Callable[..., Any]:
    """Return the function that a text of a TOML file names or defines.


    Args:
        text: a name in `conformance.run.mutants.arithmetic`, a name in NumPy, or a lambda.

    Raises:
        ValueError: there is no function of this name.
    """
    if text.startswith("lambda "):
        return eval(text, {"np": np, **vars(arithmetic)})  # type: ignore[no-any-return] # noqa: S307 - trusted files
    for module in (arithmetic, np):
        if callable(function := getattr(module, text, None)):
            return function  # type: ignore[no-any-return]
    raise ValueError(f"function {text!r} is neither in conformance.run.mutants.arithmetic nor in NumPy")
