"""Families of generated cases, and the report of their coverage.

A family is a declaration of factors together with a builder of models and data. This module lists all families. It also
has the declaration of the family `pairwise` of the training optimizers, which varies types, T, tensors and attributes
of a single node. `generators/training_optimizers/pairwise.py` builds its cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.corpus.factors.covering_array import LevelCombination
from conformance.corpus.factors.training_factors import TYPES
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.argmax_dimensions import ARGMAX_TYPES, argmax_close_declaration, argmax_placed_declaration
from generators.declarations.attribute_dimensions import (
    build_calls,
    build_close_attributes,
    build_counts,
    build_own_attributes,
    build_zero_weights,
    calls_declaration,
    counts_declaration,
)
from generators.declarations.family import FamilyDeclaration, Omission, coverage
from generators.declarations.numbers import (
    aliases_declaration,
    build_aliases,
    build_constants,
    build_extreme,
    build_fed_defaults,
    build_lengths,
    build_many_tensors,
    build_numbers,
    constants_declaration,
    extremes_declaration,
    fed_defaults_declaration,
    lengths_declaration,
    many_tensors_declaration,
    numbers_declaration,
)
from generators.declarations.operand_dimensions import (
    alike_declaration,
    broadcast_declaration,
    build_after_empty,
    build_alike,
    build_broadcast,
    build_control_flow,
    build_hundreds_of_tensors,
    build_iterations,
    build_later_uses,
    build_names,
    build_readers,
    build_repeated,
    build_shared,
    build_stored_state,
    build_uses,
    build_views,
    names_declaration,
    uses_declaration,
)
from generators.declarations.program_dimensions import build_programs, programs_declaration
from generators.declarations.ranking import (
    argmax_names_declaration,
    attributes_declaration,
    build_argmax_names,
    build_attributes,
    build_infinite_blocks,
    build_inner_sizes,
    build_integers,
    build_long_close,
    build_many_axes,
    build_many_columns,
    build_narrow_ties,
    build_scanned,
    build_special_values,
    build_transposed,
    build_zeros,
    integers_declaration,
    long_close_declaration,
    narrow_ties_declaration,
    special_values_declaration,
    zeros_declaration,
)
from generators.declarations.size_dimensions import long_types_declaration
from generators.declarations.training_dimensions import build_placed, placed_declaration
from generators.declarations.typed_ranking import (
    build_converted,
    build_iterated,
    build_normalized,
    build_typed,
    converted_declaration,
    iterated_declaration,
    normalized_declaration,
    typed_declaration,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.factors.covering_array import Row
    from conformance.corpus.factors.wrapping import BuiltModel


UPDATE_COUNTS = {"negative": -3, "0": 0, "1": 1, "2": 2, "1000": 1000, "2p32_plus_1": 2**32 + 1}
"""Values of the update count T by level."""

POSITIVE_COUNTS = ("1", "2", "1000", "2p32_plus_1")
"""Levels of T above 0."""

TENSOR_SHAPES: Mapping[str, Sequence[Sequence[int]]] = {
    "0d": ((),),
    "vector": ((7,),),
    "matrix": ((2, 3),),
    "two": ((3,), (2, 2)),
    "three": ((2,), (0, 2), (1, 3)),
    "eight": ((1,), (2,), (3,), (2, 2), (5,), (1, 2, 3), (), (7,)),
}
"""Shapes of the optimized tensors by level."""

ORDINARY_SCALE: Sequence[float] = (1.0,)
"""Scale that leaves values unchanged."""

VALUE_SCALES: Mapping[str, Sequence[float]] = {
    "ordinary": ORDINARY_SCALE,
    "zeros": ORDINARY_SCALE,
    "large": (2.0**20,),
    "small": (2.0**-20,),
    "mixed": (2.0**-8, 1.0, 2.0**8, 2.0**-4, 2.0**4),
}
"""Factors that scale the usual values by level, applied to the elements cyclically. H is scaled by their square."""

RATE_FACTORS = {"one": (1.0,), "three": (1.0, 2.0, 0.5)}
"""Factors of R, one for each data set. The second data set uses a smaller T, which reveals a stored T."""

ATTRIBUTE_LEVELS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "Adam": {
        "alpha": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.75, "extreme": 0.984375},
        "beta": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.5, "extreme": 0.9998779296875},
        "epsilon": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.0625, "extreme": 1e-30},
        "norm_coefficient": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.25, "extreme": -0.5},
        "norm_coefficient_post": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.125, "extreme": -0.5},
    },
    "Momentum": {
        "alpha": {"zero": 0.0, "one": 1.0, "usual": 0.75, "extreme": 1.5},
        "beta": {"zero": 0.0, "one": 1.0, "usual": 0.5, "extreme": -2.0},
        "norm_coefficient": {"zero": 0.0, "one": 1.0, "usual": 0.25, "extreme": -0.5},
        "mode": {"standard": "standard", "nesterov": "nesterov"},
    },
    "Adagrad": {
        "decay_factor": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.5, "extreme": 2.0**-20},
        "epsilon": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.0625, "extreme": 1e-30},
        "norm_coefficient": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.25, "extreme": -0.5},
    },
}
"""Values of each attribute by level. None: the model omits the attribute."""

ZERO_DENOMINATOR = LevelCombination(
    {"epsilon": ("zero",), "values": ("zeros",)}, "H_new may be 0, and the step is divided by it."
)

FORBIDDEN: Mapping[str, Sequence[LevelCombination]] = {
    "Adam": (
        LevelCombination({"alpha": ("one",), "T": POSITIVE_COUNTS}, "1 - alpha**T is 0, and V_new is divided by it."),
        ZERO_DENOMINATOR,
    ),
    "Adagrad": (ZERO_DENOMINATOR,),
}
"""Combinations for which no `must` result exists. Cases with special values test them at level `should`."""

MASKING: Mapping[str, Sequence[LevelCombination]] = {
    "Adam": (
        LevelCombination({"norm_coefficient_post": ("one",)}, "X_new is 0."),
        LevelCombination({"beta": ("one",), "T": POSITIVE_COUNTS}, "Sqrt(1 - beta**T) is 0, so the update of X is 0."),
    ),
    "Momentum": (
        LevelCombination(
            {"alpha": ("zero",), "beta": ("zero",), "mode": ("standard",), "T": POSITIVE_COUNTS}, "V_new is 0."
        ),
    ),
}

OMISSIONS: Mapping[str, Sequence[Omission]] = {
    "Momentum": (Omission("an attribute that the model omits", "All four attributes are required."),),
    "Adagrad": (
        Omission(
            "T below 0",
            "1 + T * decay_factor may be 0: `test_adagrad_t_negative_double` and `test_adagrad_t_least_*` test this.",
        ),
    ),
}


def pairwise_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `pairwise`: types, T, tensors, attributes and data of one optimizer node."""
    return FamilyDeclaration(
        factors={
            "types": tuple(TYPES),
            "T": tuple(count for count in UPDATE_COUNTS if op_type != "Adagrad" or UPDATE_COUNTS[count] >= 0),
            "tensors": tuple(TENSOR_SHAPES),
            **{name: tuple(values) for name, values in ATTRIBUTE_LEVELS[op_type].items()},
            "values": tuple(VALUE_SCALES),
            "data_sets": tuple(RATE_FACTORS),
        },
        forbidden=FORBIDDEN.get(op_type, ()),
        masking=MASKING.get(op_type, ()),
        omissions=OMISSIONS.get(op_type, ()),
    )


@dataclass(frozen=True)
class Family:
    """A family of cases of the training optimizers: one case for each row of a declaration.

    Attributes:
        declaration: function that returns the declaration for an op_type.
        build: function that builds the model and data for an op_type, a name and a row. The name is the graph's name
            and the seed of the data.
    """

    declaration: Callable[[str], FamilyDeclaration]
    build: Callable[[str, str, Row], BuiltModel]


def _declaration(factors: Mapping[str, Sequence[str]]) -> Callable[[str], FamilyDeclaration]:
    """Return a function that declares a family whose factors are the same for every operator."""
    return lambda _: FamilyDeclaration(factors)


TRAINING_FAMILIES: Mapping[str, Family] = {
    "placed": Family(placed_declaration, build_placed),
    "numbers": Family(numbers_declaration, build_numbers),
    "extreme": Family(extremes_declaration, build_extreme),
    "many_tensors": Family(many_tensors_declaration, build_many_tensors),
    "lengths": Family(lengths_declaration, build_lengths),
    "constants": Family(constants_declaration, build_constants),
    "readers": Family(_declaration({"order": ("listed",), "types": ("float", "double")}), build_readers),
    "aliases": Family(aliases_declaration, build_aliases),
    "shared": Family(_declaration({"order": ("listed",), "types": ("float", "double")}), build_shared),
    "fed_defaults": Family(fed_defaults_declaration, build_fed_defaults),
    "after_empty": Family(_declaration({"order": ("listed",), "types": ("float",)}), build_after_empty),
    "repeated": Family(_declaration({"order": ("listed",), "types": ("float", "double")}), build_repeated),
    "names": Family(names_declaration, build_names),
    "own_attributes": Family(
        _declaration({"order": ("listed_main", "reversed_if_then"), "types": ("float",)}), build_own_attributes
    ),
    "counts": Family(counts_declaration, build_counts),
    "zero_weights": Family(_declaration({"order": ("listed",), "types": ("float", "double")}), build_zero_weights),
    "calls": Family(calls_declaration, build_calls),
    "uses": Family(uses_declaration, build_uses),
    "broadcast": Family(broadcast_declaration, build_broadcast),
    "iterations": Family(
        _declaration({"scope": ("loop_float", "scan_double"), "order": ("listed",)}), build_iterations
    ),
    "hundreds_of_tensors": Family(_declaration({"order": ("listed",), "types": ("float",)}), build_hundreds_of_tensors),
    "alike": Family(alike_declaration, build_alike),
    "views": Family(_declaration({"order": ("listed",), "types": ("float",)}), build_views),
    "later_uses": Family(_declaration({"order": ("listed",), "types": ("float",)}), build_later_uses),
    "control_flow": Family(_declaration({"order": ("listed",), "types": ("float",)}), build_control_flow),
    "programs": Family(programs_declaration, build_programs),
    "close_attributes": Family(_declaration({"order": ("listed",), "types": ("float",)}), build_close_attributes),
    "stored_state": Family(_declaration({"values": ("first", "second"), "types": ("float",)}), build_stored_state),
}
"""Families of each training optimizer, by tag. Their cases also have a tag `factor=level` for each factor."""

PAIRWISE = "pairwise"
"""Tag of the family that is declared here but built by a generator."""

RANKING_FAMILIES: Mapping[str, tuple[FamilyDeclaration, Callable[[str, Row], BuiltModel]]] = {
    "integers": (integers_declaration(), build_integers),
    "zeros": (zeros_declaration(), build_zeros),
    "narrow_ties": (narrow_ties_declaration(), build_narrow_ties),
    "names": (argmax_names_declaration(), build_argmax_names),
    "attributes": (attributes_declaration(), build_attributes),
    "inner_sizes": (
        FamilyDeclaration(
            {
                "type": ("float", "double", "float16", "bfloat16", "int8", "uint8", "int32", "int64"),
                "keepdims": ("0",),
            }
        ),
        build_inner_sizes,
    ),
    "special_values": (special_values_declaration(), build_special_values),
    "transposed": (
        FamilyDeclaration({"type": ARGMAX_TYPES, "order": ("listed",)}, added={"type": ARGMAX_TYPES[1:]}),
        build_transposed,
    ),
    "infinite_blocks": (FamilyDeclaration({"type": ("float",), "order": ("listed",)}), build_infinite_blocks),
    "many_axes": (FamilyDeclaration({"type": ("float",), "order": ("listed",)}), build_many_axes),
    "scanned": (FamilyDeclaration({"type": ("uint16",), "order": ("listed",)}), build_scanned),
    "many_columns": (FamilyDeclaration({"type": ("float",), "keepdims": ("0",)}), build_many_columns),
    "typed": (typed_declaration(), build_typed),
    "converted": (converted_declaration(), build_converted),
    "normalized": (normalized_declaration(), build_normalized),
    "iterated": (iterated_declaration(), build_iterated),
    "long_close": (long_close_declaration(), build_long_close),
}
"""Declarations of ArgMax's families with builders of models and data, by tag."""

ARGMAX_FAMILIES: Mapping[str, FamilyDeclaration] = {
    "placed": argmax_placed_declaration(),
    "long_types": long_types_declaration(),
    "close": argmax_close_declaration(),
    **{name: declaration for name, (declaration, _) in RANKING_FAMILIES.items()},
}
"""Declarations of ArgMax's families, by tag. Their cases also have a tag `factor=level` for each factor."""


def row_from_tags(tags: Iterable[str]) -> dict[str, str]:
    """Return the row of a case, read from its tags `factor=level`."""
    return dict(tag.split("=", 1) for tag in tags if "=" in tag)


def iter_declarations() -> Iterator[tuple[str, str, FamilyDeclaration]]:
    """Yield each family as a triple: tag of the operator, tag of the family, and declaration of the factors."""
    for op_type in TRAINING_OPTIMIZERS:
        for name, family in TRAINING_FAMILIES.items():
            yield op_type.lower(), name, family.declaration(op_type)
        yield op_type.lower(), PAIRWISE, pairwise_declaration(op_type)
    for name, declaration in ARGMAX_FAMILIES.items():
        yield "argmax", name, declaration


PAIR_SIZE = 2
TRIPLE_SIZE = 3
"""Number of levels in an interaction."""

EXPANDED_TAG = "expanded"
"""Tag of the cases that are expansions of other cases into primitive operators. They do not count as coverage."""


def coverage_lines(tagged: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of the coverage report: for each family its factors, covered interactions and omissions.

    Args:
        tagged: the tags of each case.
    """
    tags = [set(each) for each in tagged]
    for operator, family, declaration in iter_declarations():
        rows = [row_from_tags(each) for each in tags if {operator, family} <= each and EXPANDED_TAG not in each]
        yield f"{operator} {family}: {len(rows)} cases"
        yield from (f"  {line}" for line in _declaration_lines(declaration, rows))


def _declaration_lines(declaration: FamilyDeclaration, rows: Sequence[Row]) -> Iterator[str]:
    for factor, levels in declaration.factors.items():
        yield f"{factor}: {', '.join(levels)}"
    covered = coverage(declaration, rows)
    sizes = {"pairs": PAIR_SIZE, "triples": TRIPLE_SIZE} if declaration.three_way else {"pairs": PAIR_SIZE}
    for name, size in sizes.items():
        sized = covered.restrict_to_size(size)
        of = f" of {' x '.join(declaration.three_way or ())}" if size == TRIPLE_SIZE else ""
        yield f"{len(sized.coverable) - len(sized.missing)} of {len(sized.coverable)} {name}{of} are covered"
    yield from (f"not covered: {_interaction_text(dict(missing))}" for missing in covered.missing)
    yield f"{len(covered.impossible)} combinations are omitted:"
    yield from (f"  {_levels_text(combination.levels)}: {combination.reason}" for combination in declaration.forbidden)
    yield from (
        f"  all others with {_levels_text(combination.levels)}: {combination.reason}"
        for combination in declaration.masking
    )
    yield from (f"  {omission.what}: {omission.reason}" for omission in declaration.omissions)


def _interaction_text(combination: Mapping[str, str]) -> str:
    return " with ".join(f"{factor}={value}" for factor, value in combination.items())


def _levels_text(values: Mapping[str, Sequence[str]]) -> str:
    return _interaction_text({factor: "|".join(allowed) for factor, allowed in values.items()})
