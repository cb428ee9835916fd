"""Random inputs and attributes of the three optimizers, and the errors of evaluations relative to their bounds."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from reference_models import OPERANDS, error_in_bounds, float32, optimizer_inputs, optimizer_model

from conformance.exact.reference.oracle import answers

SETTINGS = 8


ELEMENTS = 6


COUNTS = [-3, 0, 1, 2, 3, 10, 17, 100, 1000]


LARGE_COUNTS = [2**24 + 1, 2**32 + 1, 2**40]


TYPES = [np.float32, np.float64]


every_optimizer = pytest.mark.parametrize("op_type", OPERANDS)


both_types = pytest.mark.parametrize("dtype", TYPES)


@dataclass(frozen=True)
class Setting:
    """The inputs and attributes of one optimizer node."""

    op_type: str
    inputs: list[Any]
    attributes: dict[str, Any]

    def answers(self, level):
        return answers(optimizer_model(self.op_type, self.inputs, **self.attributes), self.inputs, level)


class RandomInputs:
    """Random inputs and attributes, equal in every run.

    Attributes:
        kind: of ordinary magnitudes, of all magnitudes, or small dyadic fractions, on which much is exact.
    """

    def __init__(self, seed, kind, dtype, R_dtype):
        self.random = random.Random(f"{seed} {kind}")
        self.kind, self.dtype, self.R_dtype = kind, dtype, R_dtype

    def number(self, *, positive=False):
        sign = 1 if positive else self.random.choice([1, -1])
        if self.random.random() < 0.05:
            return 0.0
        if self.kind == "dyadic":
            return sign * self.random.randint(1, 64) / 8
        reach = 3 if self.kind == "ordinary" else 21 if self.dtype == np.float32 else 160
        return sign * self.random.uniform(0.5, 2) * 10 ** self.random.uniform(-reach, reach)

    def share(self):
        if self.kind == "dyadic":
            return self.random.choice([0.0, 0.5, 0.75, 0.875, 0.25])
        near_one = 1 - 10 ** self.random.uniform(-6, -1)
        return float32(self.random.choice([0.0, 0.9, 0.999, 0.5, near_one, near_one, self.random.random()]))

    def coefficient(self):
        return float32(self.random.choice([0.0, 0.125 if self.kind == "dyadic" else self.random.uniform(0, 0.3)]))

    def epsilon(self):
        return float32(self.random.choice([0.125, 1.0] if self.kind == "dyadic" else [1e-8, 1e-6, 1e-2, 0.5]))

    def attributes(self, op_type):
        return {
            "Adam": lambda: {
                "alpha": self.share(),
                "beta": self.share(),
                "epsilon": self.epsilon(),
                "norm_coefficient": self.coefficient(),
                "norm_coefficient_post": self.coefficient(),
            },
            "Momentum": lambda: {
                "alpha": self.share(),
                "beta": self.share(),
                "norm_coefficient": self.coefficient(),
                "mode": self.random.choice(["standard", "nesterov"]),
            },
            "Adagrad": lambda: {
                "decay_factor": self.coefficient(),
                "epsilon": self.epsilon(),
                "norm_coefficient": self.coefficient(),
            },
        }[op_type]()

    def setting(self, op_type):
        T = self.random.choice([0, 1, 2, 3, 10] if self.kind == "dyadic" else COUNTS)
        if op_type == "Adagrad":
            T = self.random.choice([max(T, 0), *LARGE_COUNTS])
        operands = [[self.number(positive=name == "H") for _ in range(ELEMENTS)] for name in OPERANDS[op_type]]
        R = abs(self.number(positive=True))
        inputs = optimizer_inputs(R, T, *operands, dtype=self.dtype, R_dtype=self.R_dtype)
        return Setting(op_type, inputs, self.attributes(op_type))


def random_settings(op_type, kind, dtype, R_dtype=None, count=SETTINGS):
    return [RandomInputs(seed, kind, dtype, R_dtype or dtype).setting(op_type) for seed in range(count)]


def largest_excess(settings, level, evaluations):
    """The largest error, in bounds, of these evaluations on these settings, and with which evaluation it is.

    Outputs that are in doubt count as within their bounds: no case of level `must` may rest on them.
    """
    worst, name_of_worst, judged_outputs, all_outputs = 0.0, "", 0, 0
    for setting in settings:
        told = setting.answers(level)
        all_outputs += len(told)
        judged_outputs += sum(answer.indeterminacy is None for answer in told)
        for name, evaluation in evaluations.items():
            outputs = evaluation.run(setting.op_type, setting.inputs, setting.attributes)
            for answer, output in zip(told, outputs, strict=True):
                ratio = error_in_bounds(answer, output) if answer.indeterminacy is None else 0.0
                if ratio > worst:
                    worst, name_of_worst = ratio, f"{name}: {setting}"
    assert judged_outputs > 0.6 * all_outputs, "the settings are in doubt too often to show anything"
    return worst, name_of_worst
