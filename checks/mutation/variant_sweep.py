"""The sweep: a test of the bounds with correct variants on many random elements.

The oracle is too slow for all elements. Therefore all elements are first compared with a running bound: a bound that is
computed fast, together with the result, and is slightly wider than the bound of the oracle. Only the elements with the
largest error relative to the running bound, and some random elements, are then compared with the bound of the oracle.
The running bound is computed in extended precision, and treats every operation as inexact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from checks.mutation.variants import VARIANTS
from conformance.base.verdicts import Level
from conformance.exact.models.arrays import type_name
from conformance.exact.reference.numbers.number_system import Value
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import answers
from conformance.exact.reference.tolerances import MUST_ACCURACY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from checks.mutation.variants import Variant
    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.tolerances import Accuracy


@dataclass(frozen=True)
class RunningError:
    """An array of numbers, and for each number the largest error that an evaluation may have made so far.

    Attributes:
        value: the numbers, in extended precision.
        error: the bound of the absolute error of each number.
        role: 0 for attributes, 1 for scalars, 2 for tensors; it determines the precision of operations.
        u: the unit roundoff of the numbers' precision.
        accuracy: the permitted errors of quotients, roots and powers in the tensor's type.
    """

    value: Any
    error: Any
    role: int
    u: float
    accuracy: Accuracy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *_: Any, **__: Any) -> Any:
        return self.sqrt() if ufunc is np.sqrt and method == "__call__" else NotImplemented

    def __add__(self, other: Any) -> RunningError:
        other = self._number(other)
        return self._rounded(other, self.value + other.value, self.error + other.error)

    def __sub__(self, other: Any) -> RunningError:
        other = self._number(other)
        return self._rounded(other, self.value - other.value, self.error + other.error)

    def __mul__(self, other: Any) -> RunningError:
        other = self._number(other)
        error = abs(self.value) * other.error + abs(other.value) * self.error + self.error * other.error
        return self._rounded(other, self.value * other.value, error)

    def __truediv__(self, other: Any) -> RunningError:
        other = self._number(other)
        quotient = self.value / other.value
        least = abs(other.value) - other.error
        error = np.where(least > 0, (self.error + abs(quotient) * other.error) / least, np.inf)[()]
        return self._rounded(other, quotient, error, 2 * float(self.accuracy.quotient))

    def __pow__(self, T: RunningError) -> RunningError:
        value = self.value**T.value
        logarithm = np.log(np.maximum(abs(self.value), np.finfo(np.longdouble).tiny))
        steps = np.maximum(np.maximum(2 * float(self.accuracy.power), T.value), 3 * T.value * abs(logarithm))
        return RunningError(value, abs(value) * np.expm1(steps * self.u), self.role, self.u, self.accuracy)

    def __radd__(self, other: Any) -> RunningError:
        return self._number(other) + self

    def __rsub__(self, other: Any) -> RunningError:
        return self._number(other) - self

    def __rmul__(self, other: Any) -> RunningError:
        return self._number(other) * self

    def __rtruediv__(self, other: Any) -> RunningError:
        return self._number(other) / self

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > other)

    def sqrt(self) -> RunningError:
        """Return the square root."""
        root = np.sqrt(self.value)
        error = self.error / (root + np.sqrt(np.maximum(self.value - self.error, 0)))
        return self._rounded(self, root, error, 2 * float(self.accuracy.root))

    def _number(self, other: Any) -> RunningError:
        return (
            other
            if isinstance(other, RunningError)
            else RunningError(np.longdouble(other), 0, 0, self.u, self.accuracy)
        )

    def _rounded(self, other: RunningError, value: Any, error: Any, roundings: float = 1) -> RunningError:
        """Return the result of an operation, with the error of its rounding added.

        The rounding is that of the operand with the higher role.
        """
        chief = max(self, other, key=lambda number: number.role)
        u = max(self.u, other.u) if chief.role < 2 else chief.u
        return RunningError(value, error + roundings * u * abs(value), chief.role, u, self.accuracy)


def running_bounds(
    formula: Callable[..., Any], R: Array, T: Array, tensors: list[Array], attributes: Mapping[str, Any]
) -> list[tuple[Array, Array]]:
    """Return the values and the running bounds of each output of a formula.

    The bounds include the final rounding to the element type and the limits of its range.
    """
    own = np.finfo(tensors[0].dtype)
    roundoff = float(own.eps) / 2
    coarsest = max(roundoff, float(np.finfo(R.dtype).eps) / 2)
    attribute = float(np.finfo(np.float32).eps) / 2
    admitted = MUST_ACCURACY[type_name(tensors[0].dtype)]
    numbers = {
        name: RunningError(np.longdouble(value), 0, 0, attribute, admitted) if isinstance(value, float) else value
        for name, value in attributes.items()
    }
    with np.errstate(all="ignore"):
        results = formula(
            RunningError(np.longdouble(R), coarsest * abs(np.longdouble(R)), 1, coarsest, admitted),
            RunningError(np.longdouble(T), 0, 0, attribute, admitted),
            *(RunningError(tensor.astype(np.longdouble), 0, 2, roundoff, admitted) for tensor in tensors),
            **numbers,
        )
    half_ulp = [roundoff * abs(result.value) + float(own.tiny) for result in results]
    return [(result.value, result.error + half) for result, half in zip(results, half_ulp, strict=True)]


@dataclass(frozen=True)
class RunningForms:
    """Encloses the forms of a statement by the largest of their running errors (see `Forms`).

    Attributes:
        u: the unit roundoff of the tensors.
    """

    u: float

    def any_of(self, written: RunningError, *, complement: str | None = None, **rewrites: Any) -> RunningError:
        """Return the written form with an error that covers all forms."""
        del complement
        forms = [written, *(form for group in rewrites.values() for form in group)]
        errors = [form.error + abs(form.value - written.value) for form in forms]
        return replace(written, error=reduce(np.fmax, errors))

    def with_common_error(self, scalar: RunningError) -> RunningError:
        """Return the scalar: running errors have no common part."""
        return scalar

    def in_tensor_precision(self, scalar: RunningError | int) -> RunningError | int:
        """Return a scalar whose operations round as those of tensors do."""
        if isinstance(scalar, int):
            return scalar
        return replace(scalar, role=2, u=self.u)


BLOCK = 1000
"""Number of elements that share R, T and attributes."""

SEED = 20240229

FLOATS = (np.float32, np.float64)
NUMBER_OF_SWEEPS = len(TRAINING_OPTIMIZERS) * len(FLOATS)


@dataclass(frozen=True)
class SweepResult:
    """The result of a sweep over one operator and type.

    Attributes:
        elements: the number of elements that each variant computed.
        checked: the number of output elements compared with the bound of the oracle.
        unsettled: the number of output elements that are not determinate.
        screened: the largest error as a fraction of the running bound, over all elements.
        largest: the largest error as a fraction of the bound of the oracle, over the checked elements.
        variant: the name of the variant with the error `largest`.
        width: the median ratio of the bound of the oracle and the expected value, over the random elements.
    """

    operator: str
    type: str
    elements: int
    checked: int
    unsettled: int
    screened: float
    largest: float
    variant: str
    width: float

    @property
    def passes(self) -> bool:
        """Whether every variant is within the oracle's bound."""
        return self.largest <= 1


@dataclass(frozen=True)
class RandomSetting:
    """The random inputs and attributes of one node."""

    operator: str
    R: Array
    T: Array
    tensors: list[Array]
    attributes: Mapping[str, Any]

    def at(self, places: Array) -> list[Array]:
        """Return the inputs restricted to the elements at `places`."""
        return [self.R, self.T, *(tensor[places] for tensor in self.tensors)]


def sweep(elements: int, progress: Callable[[str], None]) -> list[SweepResult]:
    """Run the sweep for every training optimizer in float and double.

    Args:
        elements: the number of elements for each operator and type; rounded up to whole blocks.
        progress: function that is called with the operator's name after each sweep.
    """
    found = []
    for place, operator in enumerate(TRAINING_OPTIMIZERS):
        for dtype in FLOATS:
            random = np.random.Generator(np.random.Philox(SEED + place))
            settings = -(-elements // BLOCK)
            found.append(
                _sweep_operator(operator, dtype, [_setting(operator, dtype, random) for _ in range(settings)], random)
            )
            progress(operator)
    return found


def _sweep_operator(
    operator: str, dtype: Any, settings: list[RandomSetting], random: np.random.Generator
) -> SweepResult:
    screened, largest, worst, unsettled, checked = 0.0, 0.0, "", 0, 0
    widths: list[Array] = []
    for setting in settings:
        outputs = {variant: outputs_of(variant, setting) for variant in VARIANTS if operator in variant.patches}
        ratios = _screen(setting, outputs)
        screened = max(screened, float(ratios.max()))
        places = np.array([ratios.argmax(), random.integers(BLOCK)])
        for number, answer in enumerate(answers(_model(setting), setting.at(places), Level.MUST)):
            if answer.indeterminacy or answer.bound is None or not np.isfinite(answer.bound).all():
                unsettled += places.size
                continue
            checked += places.size
            widths.append(_width(answer.expected[1:], answer.bound[1:]))
            for variant, results in outputs.items():
                ratio = _fraction(results[number][places], answer.expected, answer.bound)
                if ratio > largest:
                    largest, worst = ratio, variant.id
    median = float(np.median(np.concatenate(widths))) if widths else float("nan")
    name = type_name(np.dtype(dtype))
    return SweepResult(operator, name, len(settings) * BLOCK, checked, unsettled, screened, largest, worst, median)


def outputs_of(variant: Variant, setting: RandomSetting) -> list[Array]:
    """Return the outputs of a variant for a setting."""
    arithmetic = variant.patches[setting.operator].arithmetic
    R, T, *tensors = (Value(array, array.dtype) for array in (setting.R, setting.T, *setting.tensors))
    with np.errstate(all="ignore"):
        (results,) = arithmetic.apply_optimizer(
            TRAINING_OPTIMIZERS[setting.operator], R, T, [tensors], setting.attributes
        )
    return [value.elements for value in results]


def _screen(setting: RandomSetting, outputs: Mapping[Variant, list[Array]]) -> Array:
    """Return for each element the largest error of any variant and output, as a fraction of the running bound."""
    roundoff = float(np.finfo(setting.tensors[0].dtype).eps) / 2
    formula = partial(TRAINING_OPTIMIZERS[setting.operator].formula_in_all_forms, RunningForms(roundoff))
    bounds = running_bounds(formula, setting.R, setting.T, setting.tensors, setting.attributes)
    largest = np.zeros(BLOCK)
    with np.errstate(all="ignore"):
        for number, (value, bound) in enumerate(bounds):
            for results in outputs.values():
                ratio = np.abs(results[number].astype(np.longdouble) - value) / bound
                largest = np.fmax(largest, np.where(np.isfinite(ratio), ratio, 0).astype(np.float64))
    return largest


def _fraction(actual: Array, expected: Array, bound: Array) -> float:
    with np.errstate(all="ignore"):
        error = np.abs(actual.astype(np.longdouble) - expected.astype(np.longdouble))
        ratio = np.where(error == 0, 0, error / bound)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max())


def _width(expected: Array, bound: Array) -> Array:
    expected = np.abs(expected.astype(np.float64))
    return np.asarray(bound[expected > 0] / expected[expected > 0])


def _model(setting: RandomSetting) -> bytes:
    signature = TRAINING_OPTIMIZERS[setting.operator]
    node = helper.make_node(
        setting.operator,
        ["R", "T", *signature.operands],
        signature.results,
        domain=signature.domain,
        **setting.attributes,
    )
    names = ("R", "T", *signature.operands)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in signature.results]
    model = helper.make_model(helper.make_graph([node], "sweep", inputs, outputs))
    model.opset_import.append(helper.make_opsetid(signature.domain, signature.version))
    return bytes(model.SerializeToString())


def _setting(operator: str, dtype: Any, random: np.random.Generator) -> RandomSetting:
    """Return random inputs (R, T, tensors) and attributes of very different magnitudes, with realistic state."""
    scale = 10.0 ** random.uniform(-4, 4)
    rate_dtype = FLOATS[random.integers(2)]
    drawn = {
        "X": random.normal(size=BLOCK) * scale,
        "G": random.normal(size=BLOCK) * scale * 10.0 ** random.uniform(-3, 3),
        "V": random.normal(size=BLOCK) * scale,
        "H": (random.normal(size=BLOCK) * scale) ** 2,
    }
    return RandomSetting(
        operator,
        np.array(10.0 ** random.uniform(-6, 1), dtype=rate_dtype),
        np.array(_count(random), dtype=np.int64),
        [drawn[name].astype(dtype) for name in TRAINING_OPTIMIZERS[operator].operands],
        _attributes(operator, random),
    )


def _count(random: np.random.Generator) -> int:
    """Return a random update count T: zero, small, large or very large."""
    exponents = ((-1.0, 0.0), (0.0, 4.0), (4.0, 20.0), (20.0, 40.0))[random.integers(4)]
    return int(2 ** random.uniform(*exponents))


def _attributes(operator: str, random: np.random.Generator) -> dict[str, Any]:
    share = random.choice([0.0, random.uniform(), 1 - 10.0 ** random.uniform(-5, 0)], size=2)
    drawn = {
        "alpha": share[0],
        "beta": share[1],
        "epsilon": random.choice([1e-6, 10.0 ** random.uniform(-8, 0)]),
        "norm_coefficient": random.choice([0.0, random.uniform(-1, 1), 10.0 ** random.uniform(-6, 0)]),
        "norm_coefficient_post": random.choice([0.0, random.uniform(), 10.0 ** random.uniform(-6, 0)]),
        "decay_factor": random.choice([0.0, random.uniform(), 10.0 ** random.uniform(-8, 0)]),
    }
    signature = TRAINING_OPTIMIZERS[operator]
    names = {*signature.required, *signature.defaults} - {*signature.allowed_values}
    attributes: dict[str, Any] = {name: float(np.float32(drawn[name])) for name in sorted(names)}
    return attributes | {name: str(random.choice(texts)) for name, texts in signature.allowed_values.items()}
