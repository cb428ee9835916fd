"""Cases of Momentum, in both its modes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.verdicts import Level
from generators.families import FLOATS, shared
from generators.models import TYPES
from generators.optimizers import Operator, Setting, optimizer_case
from generators.structures import structures
from generators.upstream import upstream_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.case import Case

MOMENTUM = Operator("Momentum", usual={"alpha": 0.75, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.25})

MODES = {"standard": "x_new_standard", "nesterov": "x_new_nesterov"}

NEUTRAL = {"alpha": 0.0, "beta": 1.0, "norm_coefficient": 0.0}

ALONE = {"alpha": (0.625, "v_new"), "beta": (0.375, "beta_adjusted"), "norm_coefficient": (0.5, "g_regularized")}
"""Each attribute away from its neutral value alone: its value and the clause it bears on."""

EXTREMES = {"alpha": (0.0, 1.0, 1.5), "beta": (0.0, 1.0, -2.0), "norm_coefficient": (0.0, 1.0, -0.5)}


def cases() -> Iterator[Case]:
    """All cases of Momentum."""
    yield from _upstream()
    yield from shared(MOMENTUM, {True: ("beta_adjusted", "v_new"), False: ("t_switch", "v_new")})
    yield from structures(MOMENTUM)
    yield from _modes()
    yield from _attributes()
    yield from _special_values()


def _upstream() -> Iterator[Case]:
    one = {"X": [[1.2, 2.8]], "G": [[-0.94, -2.5]], "V": [[1.7, 3.6]]}
    two = {"X": [[1.0], [1.0, 2.0]], "G": [[-1.0], [-1.0, -3.0]], "V": [[2.0], [4.0, 1.0]]}
    yield upstream_case(
        MOMENTUM,
        "test_momentum",
        "Momentum computes the standard example of its page",
        ("x_new_standard", "v_new", "mode"),
        {"alpha": 0.95, "beta": 0.1, "mode": "standard", "norm_coefficient": 0.001},
        one,
    )
    yield upstream_case(
        MOMENTUM,
        "test_nesterov_momentum",
        "Momentum computes the Nesterov example of its page",
        ("x_new_nesterov", "v_new", "mode"),
        {"alpha": 0.95, "beta": 1.0, "mode": "nesterov", "norm_coefficient": 0.01},
        one,
    )
    yield upstream_case(
        MOMENTUM,
        "test_momentum_multiple",
        "Momentum computes the two-tensor example of its page",
        ("several_tensors", "operands", "results"),
        {"alpha": 0.95, "beta": 0.85, "mode": "standard", "norm_coefficient": 0.001},
        two,
    )


def _modes() -> Iterator[Case]:
    """Nesterov's step in both branches of T, with one and with several tensors."""
    nesterov = {**MOMENTUM.usual, "mode": "nesterov"}
    for dtype in FLOATS:
        for T in (-1, 0, 1, 3, 2**32 + 1):
            word = "minus_1" if T < 0 else "2p32_plus_1" if T > 3 else str(T)
            yield optimizer_case(
                MOMENTUM,
                f"nesterov_t_{word}_{TYPES[dtype]}",
                f"Momentum steps by Nesterov's direction in {TYPES[dtype]} for T = {T}",
                ("x_new_nesterov", "beta_adjusted" if T > 0 else "t_switch", "mode"),
                nesterov,
                Setting(dtype, counts=(T,)),
                tags=("mode",),
            )
        yield optimizer_case(
            MOMENTUM,
            f"nesterov_three_tensors_{TYPES[dtype]}",
            f"Momentum steps three {TYPES[dtype]} tensors by Nesterov's direction independently",
            ("x_new_nesterov", "several_tensors"),
            nesterov,
            Setting(dtype, shapes=((2,), (1, 3), ())),
            tags=("mode", "several_tensors"),
        )


def _attributes() -> Iterator[Case]:
    """Each attribute alone, each at its extremes, and as people set them, in both modes."""
    for dtype in FLOATS:
        for mode, step in MODES.items():
            tail = f"{mode}_{TYPES[dtype]}"
            for name, (value, clause) in ALONE.items():
                yield optimizer_case(
                    MOMENTUM,
                    f"only_{name}_{tail}",
                    f"Momentum in mode {mode} computes with {name} = {value} and the other attributes neutral",
                    (clause, step),
                    {**NEUTRAL, "mode": mode, name: value},
                    Setting(dtype),
                    tags=("attributes", "mode"),
                )
                for place, extreme in zip(("zero", "one", "extreme"), EXTREMES[name], strict=True):
                    yield optimizer_case(
                        MOMENTUM,
                        f"{name}_{place}_{tail}",
                        f"Momentum in mode {mode} computes with {name} = {extreme} in {TYPES[dtype]}",
                        (clause, step),
                        {**MOMENTUM.usual, "mode": mode, name: extreme},
                        Setting(dtype),
                        tags=("attributes", "mode"),
                    )
            yield optimizer_case(
                MOMENTUM,
                f"float32_attributes_{tail}",
                f"Momentum in mode {mode} computes with the float32 values of its attributes in {TYPES[dtype]}",
                ("attribute_type", "v_new", step),
                {"alpha": 0.9, "beta": 0.7, "mode": mode, "norm_coefficient": 0.01},
                Setting(dtype, counts=(0, 7)),
                tags=("attributes", "mode"),
            )


def _special_values() -> Iterator[Case]:
    """What IEEE 754 decides: a zero coefficient of a NaN, and subnormal state."""
    unregularized = {**MOMENTUM.usual, "norm_coefficient": 0.0}
    for dtype in FLOATS:
        least = float(np.finfo(dtype).smallest_subnormal)
        yield optimizer_case(
            MOMENTUM,
            f"nan_in_x_unregularized_{TYPES[dtype]}",
            "Momentum multiplies a NaN in X by norm_coefficient = 0 and gets NaN",
            ("ieee", "g_regularized"),
            unregularized,
            Setting(dtype, operands={"X": [0.5, np.nan, 1.0, np.inf]}),
            Level.SHOULD,
            ("special_values", "nan"),
        )
        yield optimizer_case(
            replace(MOMENTUM, rate=1.0),
            f"subnormal_v_{TYPES[dtype]}",
            f"Momentum keeps subnormals of V in {TYPES[dtype]}",
            ("ieee", "v_new"),
            {**unregularized, "alpha": 0.5},
            Setting(dtype, counts=(0,), operands={"X": 0.0, "G": 0.0, "V": [2 * least, -4 * least, 512 * least, 0.0]}),
            Level.SHOULD,
            ("special_values", "subnormal"),
        )
