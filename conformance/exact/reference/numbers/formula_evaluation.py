"""Evaluation of a training optimizer's formula on arrays of bounded numbers.

A statement of a formula has several *forms*, which are equal in algebra but round differently. Its result is the hull
of the results of its forms: an interval that contains them all (`StatementForms`).
Two measures avoid repeated work:

- Elements with equal operands are computed once (`UniqueElements`). Elements of a graph's inputs with the same bits are
  one object. Elements that a node computes from equal operands are numbers with the same parts, except that each has
  noise symbols of its own. A second node therefore computes equal elements once as well, and renames the symbols.
- Operations that several forms have in common are computed once (`CachedExpression`).
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.exact.models.arrays import Array, object_array
from conformance.exact.reference.numbers import ArithmeticOperators
from conformance.exact.reference.numbers.affine import error_hull
from conformance.exact.reference.numbers.bounded import INFINITY, ZERO, BoundedNumber, first_order_form
from conformance.exact.reference.tolerances import IEEE_754

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from conformance.exact.reference.numbers.affine import AffineForm
    from conformance.exact.reference.numbers.precision import Precision


WRITTEN = "written"
EXPAND = "expand"
FACTOR = "factor"
INTERPOLATIONS = frozenset({"interpolate", "lerp"})
"""The form of the page, and the rules of rewrites that do not count for each element or at each level."""

MAX_ELEMENTS_WITH_OWN_SYMBOLS = 4096
"""The most elements of a tensor with equal elements for which each element gets noise symbols of its own. The elements
of a larger tensor are passed on as intervals only, which hold any error of each element."""


def evaluate_formula(
    formula: Callable[..., Any],
    scalars: Sequence[Any],
    tensors: Sequence[Array],
    attributes: Mapping[str, Any],
    precision: Precision,
    *,
    has_independent_results: bool,
) -> list[Array]:
    """Return the results of a formula for each element.

    Args:
        formula: the formula.
        scalars: the bounded numbers that the formula takes before its tensors.
        tensors: arrays of exact numbers, or of bounded numbers that other nodes computed.
        attributes: the attributes of the formula, by name.
        precision: the precision of the tensors.
        has_independent_results: whether each result becomes one number with one error, see `as_independent_number`.
    """
    unique = UniqueElements.find(tensors, scalars, ignore_symbols=precision.adversary is None)
    taken = (unique.take(tensor) if unique else tensor for tensor in tensors)
    operands = [*scalars, *(to_precision(tensor, precision) for tensor in taken)]
    results = _evaluate_cached(formula, operands, attributes, precision)
    has_too_many = unique is not None and unique.has_too_many_copies
    if has_independent_results and has_too_many and precision.adversary is None:  # an adversary needs the errors
        results = [object_array(map(BoundedNumber.reduced, result.flat), result.shape) for result in results]
    elif has_independent_results and not has_too_many:
        results = [object_array(map(as_independent_number, result.flat), result.shape) for result in results]
    if unique is None:
        return results
    own_symbols = has_independent_results and not has_too_many
    return [unique.spread(result, own_symbols=own_symbols) for result in results]


def _evaluate_cached(
    formula: Callable[..., Any], operands: Sequence[Any], attributes: Mapping[str, Any], precision: Precision
) -> list[Array]:
    cache: dict[tuple[Any, ...], CachedExpression] = {}
    expressions = [CachedExpression(operand, cache) for operand in operands]
    numbers = {
        name: CachedExpression(number, cache) if isinstance(number, BoundedNumber) else number
        for name, number in attributes.items()
    }
    return [_unwrap(result, precision) for result in formula(*expressions, **numbers)]


def _unwrap(result: CachedExpression | int, precision: Precision) -> Array:
    return as_number_array(result.numbers if isinstance(result, CachedExpression) else result, precision)


# Forms of a statement


@dataclass(frozen=True)
class StatementForms:
    """The forms of a statement that are admissible, and the number that encloses them.

    Level `should` admits the form of the page and interpolation. Level `must` admits all forms.

    Attributes:
        precision: the precision of the tensors.
        form_index: the index of the only form of each statement to compute; None encloses all forms.
        weights: the attributes a of which 1 - a is rounded to float and then used as a weight.
        shares: the attributes a of which 1 - a is rounded to float and then used as a share of a difference.
    """

    precision: Precision
    form_index: int | None = None
    weights: AbstractSet[str] = frozenset()
    shares: AbstractSet[str] = frozenset()

    def any_of(
        self, written: CachedExpression, *, complement: str | None = None, **rewrites: Sequence[CachedExpression]
    ) -> CachedExpression:
        """Return a number that encloses the forms of a statement, with the value of the first form.

        Args:
            written: the form of the operator's page.
            complement: the attribute a of which the statement uses 1 - a; None if there is none.
            rewrites: the other forms, by rule.
        """
        forms = [(WRITTEN, written), *((rule, form) for rule, group in rewrites.items() for form in group)]
        if complement in self.shares:  # an interpolation with a float share has another value than the written form
            forms = [(rule, form) for rule, form in forms if rule in INTERPOLATIONS] or forms[:1]
        elif complement in self.weights:
            forms = [(rule, form) for rule, form in forms if rule not in {*INTERPOLATIONS, EXPAND}]
        if self.precision.strict:
            forms = [(rule, form) for rule, form in forms if rule in {WRITTEN, *INTERPOLATIONS}]
        if self.form_index is not None:
            return forms[min(self.form_index, len(forms) - 1)][1]
        page = numbers = as_number_array(forms[0][1].numbers, self.precision)
        for rule, form in forms[1:]:
            others = np.broadcast_to(as_number_array(form.numbers, self.precision), page.shape)
            elements = zip(page.flat, numbers.flat, others.flat, strict=True)
            numbers = object_array(
                (_hull(hull, other) if self._counts(rule, first, other) else hull for first, hull, other in elements),
                page.shape,
            )
        return CachedExpression(numbers if isinstance(written.numbers, np.ndarray) else numbers[()], written.cache)

    def _counts(self, rule: str, page: BoundedNumber, form: BoundedNumber) -> bool:
        """Return whether a form counts for an element.

        If the page gives an infinity or NaN, only interpolations and forms that give a number count: other rewrites
        may subtract an infinity from itself. At level `should`, and for the root of 1 - beta, which may be negative,
        only forms that give a number count.

        Args:
            rule: the rule of the rewrite.
            page: the element in the form of the page.
            form: the element in the other form.
        """
        gives_number = form.is_finite and not form.is_indeterminate
        if gives_number or self.precision.strict or rule == FACTOR:
            return gives_number
        return page.value.is_finite() or rule in INTERPOLATIONS

    def with_common_error(self, scalar: CachedExpression) -> CachedExpression:
        """Return a scalar whose error is one noise symbol, so that it is the same in all terms that it multiplies."""
        number = scalar.numbers
        if not isinstance(number, BoundedNumber):  # a learning rate with several elements, or of rank 1
            return scalar
        if self.precision.adversary is not None or number.affine_form is not None or number.is_exact:
            return scalar
        if not number.is_finite or number.is_indeterminate:
            return scalar
        form = number.error.as_independent_symbol()
        common = number.reduced(span=(number.peak, number.trough), affine_form=form)
        return CachedExpression(common, scalar.cache)

    def in_tensor_precision(self, scalar: CachedExpression | int) -> CachedExpression | int:
        """Return a scalar in the precision of the tensors. The roots of the scalar are rounded correctly."""
        if isinstance(scalar, int):
            return scalar
        key = (self.in_tensor_precision, scalar)
        if key not in scalar.cache:
            precision = replace(self.precision, accuracy_override=IEEE_754)
            scalar.cache[key] = CachedExpression(_rounded_to(scalar.numbers, precision), scalar.cache)
        return scalar.cache[key]


def _rounded_to(number: BoundedNumber, precision: Precision) -> BoundedNumber:
    if number.is_exact and number.value.is_finite():
        return BoundedNumber.from_input(number.value, precision)
    return number.reduced(precision)


# Hulls


def elementwise_hull(a: Array, b: Array) -> Array:
    """Return an array of numbers; each encloses the corresponding elements of a and b."""
    return object_array((_hull(*pair) for pair in zip(a.flat, b.flat, strict=True)), a.shape)


def _hull(a: BoundedNumber, b: BoundedNumber) -> BoundedNumber:
    """Return a with an interval that contains the intervals of a and b; indeterminate if a and b contradict."""
    if a is b or (a.low <= b.low and b.high <= a.high and _has_enclosed_error(a, b)):
        return a
    is_indeterminate = a.is_indeterminate or b.is_indeterminate
    if a.value.is_nan() or b.value.is_nan():
        contradicts = a.value.is_nan() != b.value.is_nan()
        interval = (-INFINITY, INFINITY) if contradicts else None
        return BoundedNumber(a.value, a.precision, interval, is_indeterminate=is_indeterminate or contradicts)
    contradicts = not (a.low <= b.value <= a.high or b.low <= a.value <= b.high)
    interval = min(a.low, b.low), max(a.high, b.high)
    has_form = (a.affine_form or b.affine_form) and a.is_finite and b.is_finite
    form = error_hull(a.error, _error_from(a.value, b)) if has_form else None
    return BoundedNumber(
        a.value, a.precision, interval, is_indeterminate=is_indeterminate or contradicts, affine_form=form
    )


def _has_enclosed_error(a: BoundedNumber, b: BoundedNumber) -> bool:
    """Return whether a encloses b, given that the interval of a contains the interval of b."""
    return not b.is_indeterminate and a.affine_form is None and b.affine_form is None


def _error_from(value: Decimal, number: BoundedNumber) -> AffineForm:
    """Return the difference between an evaluation of a number and `value`, as an affine form."""
    shift = number.value - value
    return number.error.add_interval((min(shift, ZERO), max(shift, ZERO))) if shift else number.error


# Elements with equal operands

SymbolPositions: TypeAlias = "dict[int, int]"
"""The id of each noise symbol of one element's operands → its position in the order in which they contain them."""


@dataclass(frozen=True)
class UniqueElements:
    """The element positions at which a formula has to be computed: one of all positions with equal operands.

    Attributes:
        indices: the flat indices of these positions, in row-major order.
        inverse: for every position, the entry of `indices` that has equal operands (the operands' shape).
        symbols: for every position, in row-major order, the noise symbols of its operands. None if equal elements have
            the same symbols.
    """

    indices: Array
    inverse: Array
    symbols: Sequence[SymbolPositions] | None = None

    @classmethod
    def find(
        cls, operands: Sequence[Array], scalars: Iterable[Any] = (), *, ignore_symbols: bool = True
    ) -> UniqueElements | None:
        """Return the positions with different operands; None if the shapes of the operands differ (broadcasting).

        Args:
            operands: arrays in which equal elements are the same object, or numbers that `_equality_key` finds equal.
            scalars: the other operands of the formula. Their noise symbols are the same for all elements.
            ignore_symbols: whether numbers that differ only in the ids of their noise symbols are equal.
        """
        if len({operand.shape for operand in operands}) > 1:
            return None
        return cls.of(*operands, scalars=scalars, ignore_symbols=ignore_symbols)

    @classmethod
    def of(cls, *operands: Array, scalars: Iterable[Any] = (), ignore_symbols: bool = True) -> UniqueElements:
        """Return the positions with different operands of one shape; the arguments are those of `find`."""
        scalar_symbols: SymbolPositions = {}
        for scalar in scalars:
            _equality_key(scalar, scalar_symbols)
        first_index: dict[Hashable, int] = {}
        found: dict[Hashable, tuple[int, SymbolPositions]] = {}  # by the ids of the operands
        ids = list(zip(*(map(id, operand.flat) for operand in operands), strict=True))
        for index, key in enumerate(ids):
            if key not in found:
                symbols = dict(scalar_symbols)
                keys = (_equality_key(operand.flat[index], symbols) for operand in operands)
                found[key] = first_index.setdefault(tuple(keys) if ignore_symbols else key, index), symbols
        indices = np.array(list(first_index.values()), dtype=np.intp)
        inverse = np.searchsorted(indices, [found[key][0] for key in ids]).reshape(operands[0].shape)
        return cls(indices, inverse, [found[key][1] for key in ids] if ignore_symbols else None)

    def take(self, operand: Array) -> Array:
        """Return the elements of an operand at the positions in `indices`, as a vector."""
        return np.asarray(operand.reshape(-1)[self.indices], dtype=object)

    def spread(self, results: Array, *, own_symbols: bool) -> Array:
        """Return the results for all positions, given the results for the unique positions.

        A result without dimensions does not depend on a tensor, and is returned unchanged.

        Args:
            results: the results for the unique positions.
            own_symbols: whether equal elements become separate numbers with noise symbols of their own.
        """
        if not results.ndim:
            return results
        if len(self.indices) == self.inverse.size:
            return results.reshape(self.inverse.shape)
        spread = np.asarray(results[self.inverse], dtype=object)
        if not own_symbols:
            return spread
        return object_array(map(_copy_with_symbols, spread.flat, self._symbol_maps()), spread.shape)

    def _symbol_maps(self) -> Iterator[Mapping[int, int] | None]:
        """Yield for every position a map from the noise symbols of the computed element to those of the position."""
        if self.symbols is None:
            return repeat(None)
        computed = [self.symbols[index] for index in self.indices]
        pairs = zip(self.inverse.flat, self.symbols, strict=True)
        return (dict(zip(computed[position], own, strict=True)) for position, own in pairs)

    @property
    def has_too_many_copies(self) -> bool:
        """Whether elements repeat and are too many for each to get noise symbols of its own."""
        return len(self.indices) < self.inverse.size > MAX_ELEMENTS_WITH_OWN_SYMBOLS


def _equality_key(number: Any, symbols: SymbolPositions) -> Hashable:
    """Return a key that is equal for two numbers that differ at most in the ids of their noise symbols.

    Args:
        number: the number.
        symbols: the noise symbols found so far in the operands at the same position. The number's symbols are added.
    """
    if not isinstance(number, BoundedNumber):
        return id(number)
    parts = id(number.value), id(number.low), id(number.high), number.is_indeterminate, *map(id, number.terms)
    form = number.affine_form
    if form is None:
        return parts
    positions = [symbols.setdefault(symbol, len(symbols)) for symbol in form.base]
    return parts, id(form.low), id(form.high), id(form.scale), *map(id, form.base.values()), *positions


def _copy_with_symbols(number: BoundedNumber, symbols: Mapping[int, int] | None) -> BoundedNumber:
    """Return a copy of a number with its noise symbols renamed by the mapping `symbols`; None renames nothing."""
    form = number.affine_form
    return number.reduced(
        span=(number.peak, number.trough),
        terms=number.terms,
        factors=number.factors,
        affine_form=form if form is None or symbols is None else form.with_symbols(symbols),
    )


# Common subexpressions


@dataclass(frozen=True, eq=False)
class CachedExpression(ArithmeticOperators):
    """A number or an array of a formula; operations that occur several times are computed once.

    Attributes:
        numbers: the number or array.
        cache: the results of all operations so far, by the operation and its operands. All expressions of one
            evaluation share the cache.
    """

    numbers: Any
    cache: dict[tuple[Any, ...], CachedExpression] = field(repr=False)

    def __pow__(self, other: CachedExpression) -> CachedExpression:
        return self._operate(operator.pow, self, other)

    def __gt__(self, other: int) -> bool:
        return bool(self.numbers > other)

    def sqrt(self) -> CachedExpression:
        """Return the square root. NumPy calls this method for `np.sqrt` of an object."""
        return self._operate(np.sqrt, self)

    def _operate(self, operation: Callable[..., Any], *operands: CachedExpression | int) -> CachedExpression:
        key = (operation, *operands)
        if (cached := self.cache.get(key)) is not None:
            return cached
        numbers = [operand.numbers if isinstance(operand, CachedExpression) else operand for operand in operands]
        result = self.cache[key] = CachedExpression(operation(*numbers), self.cache)
        return result


# Conversion of numbers


def monotone_image(
    precision: Precision, roundings: int, number: BoundedNumber, value: Any, a: Any, b: Any
) -> BoundedNumber:
    """Return the bounded result of a monotone formula, from its results for a number and for the ends of its interval.

    Args:
        precision: the precision of the result.
        roundings: the number of roundings of the formula.
        number: the argument of the formula.
        value: the formula's result for the number's exact value.
        a: the formula's result for the lower end of the number's interval.
        b: the formula's result for the upper end.
    """
    value, a, b = Decimal(value), Decimal(a), Decimal(b)
    run = number.high - number.value if precision.adversary is not None and number.is_finite else 0
    form = first_order_form(number, (b - value) / run) if run else None
    interval = (a, b) if a <= b else (b, a)
    image = BoundedNumber(value, precision, interval, is_indeterminate=number.is_indeterminate, affine_form=form)
    return image.with_roundings(roundings) if roundings else image


def to_precision(elements: Array, precision: Precision) -> Array:
    """Return a tensor's numbers in the precision of the operator that reads the tensor."""
    return object_array((_to_precision(element, precision) for element in elements.flat), elements.shape)


def _to_precision(element: BoundedNumber | Decimal, precision: Precision) -> BoundedNumber:
    if isinstance(element, Decimal):
        return BoundedNumber.from_input(element, precision)
    return element.reduced(precision, terms=element.terms, affine_form=element.affine_form)


def as_number_array(result: Any, precision: Precision) -> Array:
    """Return a formula's result as an array of numbers. NumPy returns a bare number for operations on 0-d arrays."""
    array = np.asarray(result, dtype=object)
    numbers = (
        number if isinstance(number, BoundedNumber) else BoundedNumber(Decimal(number), precision)
        for number in array.flat
    )
    return object_array(numbers, array.shape)


def as_independent_number(number: BoundedNumber) -> BoundedNumber:
    """Return a number without the terms and factors that computed it, and with one noise symbol for its error.

    Nodes that read a tensor receive such numbers: a node's result is rounded, and later operations cannot reorder it.
    """
    form = number.affine_form
    if number.precision.adversary is None:
        form = number.error.as_independent_symbol() if number.is_finite and not number.is_exact else None
    return number.reduced(affine_form=form)
