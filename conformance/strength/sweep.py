"""Correct variants on random inputs, attributes and T far outside of the corpus, held against the bound.

Every element of every variant is screened with the running bound of `running_bound`; of each setting, the element that
comes nearest to that bound and one taken at random are held against the oracle's own. A tool of the tests: its
numbers are NumPy's and need not be the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from conformance.models.arrays import type_name
from conformance.reference.numbers.values import Value
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.reference.oracle import answers
from conformance.strength.running_bound import running, running_hull
from conformance.strength.variants import VARIANTS
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.models.arrays import Array
    from conformance.strength.variants import Variant

BLOCK = 1000
"""Elements that share R, T and attributes."""

SEED = 20240229

FLOATS = (np.float32, np.float64)
SWEEPS = len(TRAINING_OPTIMIZERS) * len(FLOATS)


@dataclass(frozen=True)
class Swept:
    """What the sweep of an operator in a type found.

    Attributes:
        elements: how many were screened, by each variant.
        checked: how many of their outputs were held against the oracle's bound.
        unsettled: how many more were left out, since the oracle does not settle them.
        screened: the largest error as a fraction of the running bound, over all elements.
        largest: the largest error as a fraction of the oracle's bound, over those checked.
        variant: whose it is.
        width: the median of the oracle's bound relative to the expected value, over those taken at random.
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
    def holds(self) -> bool:
        """Whether no variant was found beyond the oracle's bound."""
        return self.largest <= 1


@dataclass(frozen=True)
class RandomSetting:
    """One node's worth of random inputs."""

    operator: str
    R: Array
    T: Array
    tensors: list[Array]
    attributes: Mapping[str, Any]

    def at(self, places: Array) -> list[Array]:
        """The inputs for some elements only."""
        return [self.R, self.T, *(tensor[places] for tensor in self.tensors)]


def sweep(elements: int, progress: Callable[[str], None]) -> list[Swept]:
    """Sweep every optimizer in both types.

    Args:
        elements: how many for each; rounded up to whole blocks.
        progress: called with each operator's name when a type of it is done.
    """
    found = []
    for place, operator in enumerate(TRAINING_OPTIMIZERS):
        for dtype in FLOATS:
            random = np.random.Generator(np.random.Philox(SEED + place))
            settings = -(-elements // BLOCK)
            found.append(_swept(operator, dtype, [_setting(operator, dtype, random) for _ in range(settings)], random))
            progress(operator)
    return found


def _swept(operator: str, dtype: Any, settings: list[RandomSetting], random: np.random.Generator) -> Swept:
    screened, largest, worst, unsettled, checked = 0.0, 0.0, "", 0, 0
    widths: list[Array] = []
    for setting in settings:
        outputs = {variant: outputs_of(variant, setting) for variant in VARIANTS if operator in variant.alterations}
        ratios = _screen(setting, outputs)
        screened = max(screened, float(ratios.max()))
        places = np.array([ratios.argmax(), random.integers(BLOCK)])
        for number, answer in enumerate(answers(_model(setting), setting.at(places), Level.MUST)):
            if answer.unsettled or answer.bound is None or not np.isfinite(answer.bound).all():
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
    return Swept(operator, name, len(settings) * BLOCK, checked, unsettled, screened, largest, worst, median)


def outputs_of(variant: Variant, setting: RandomSetting) -> list[Array]:
    """What a variant makes of a setting."""
    arithmetic = variant.alterations[setting.operator].arithmetic
    R, T, *tensors = (Value(array, array.dtype) for array in (setting.R, setting.T, *setting.tensors))
    with np.errstate(all="ignore"):
        results = arithmetic.optimizer(TRAINING_OPTIMIZERS[setting.operator].forms, R, T, tensors, setting.attributes)
    return [value.elements for value in results]


def _screen(setting: RandomSetting, outputs: Mapping[Variant, list[Array]]) -> Array:
    """Per element the largest error of any variant and output, as a fraction of the running bound."""
    forms = TRAINING_OPTIMIZERS[setting.operator].forms
    given = setting.R, setting.T, setting.tensors, setting.attributes
    bounds = running_hull([running(form, *given) for form in forms])
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
    """R, T, attributes and tensors of very different magnitudes, state as an iteration could have left it."""
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
    """0, some, many or very many updates."""
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
    names = {*signature.required, *signature.defaults} - {*signature.choices}
    attributes: dict[str, Any] = {name: float(np.float32(drawn[name])) for name in sorted(names)}
    return attributes | {name: str(random.choice(texts)) for name, texts in signature.choices.items()}
