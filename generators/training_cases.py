"""Cases of training runs on a convex problem with a known optimum.

Some cases have many steps in one graph. In others, each data set continues from the results of the previous one.

The loss is sum(A * (X - B)**2) / 2, so the gradient is A * (X - B), which primitive operators compute in the graph. The
optimum is B. Runs start at T = 0, without bias correction and without beta of Momentum, and at T = 1.

Bounds grow by a factor of about 1 + R * A per step. Rates and curvatures are small, so that the bounds stay much
smaller than the distance to the optimum after a hundred steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.models.model_building import array_value_info, build_model
from conformance.exact.reference.oracle import evaluate
from generators.generated_values import FLOAT_TYPE_NAMES
from generators.training_optimizers.optimizer_families import FLOATS
from generators.training_optimizers.table import OPERATORS
from generators.training_step import training_step_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.exact.models.arrays import Array
    from generators.training_optimizers.operator import Operator, TrainingRun

OPSET = 13


@dataclass(frozen=True)
class ConfiguredRun:
    """An optimizer with the parameters of a training run from START to OPTIMUM."""

    operator: Operator
    setting: TrainingRun

    @property
    def title(self) -> str:
        """Beginning of the titles of the run's cases."""
        mode = self.setting.attributes.get("mode")
        return f"{self.operator.name} in mode {mode}" if mode else self.operator.name

    @property
    def state(self) -> list[str]:
        """Names of the operands that a step passes to the next step: X, then the state."""
        return [name for name in self.operator.signature.operands if name != "G"]


RUNS = tuple(ConfiguredRun(operator, setting) for operator in OPERATORS for setting in operator.runs)

START = (2.0, -1.0, 0.25)
OPTIMUM = (0.5, 0.75, -1.25)
CURVATURE = (1.0, 0.75, 1.25)

STEPS = (1, 10, 100)
CONTINUED_STEPS = (1, 10)
STEPS_THAT_HIDE_FLOAT = 10
"""Number of unrolled steps for which the bound in double accepts an X_new in float, if a scalar may be in float."""

CONTINUED_DATA_SETS = 10
FIRST_COUNTS = (0, 1)
"""T of the first step, for each data set."""


def cases() -> Iterator[Case]:
    """Yield all training cases."""
    for run in RUNS:
        for dtype in FLOATS:
            yield from (_unrolled_case(run, steps, dtype) for steps in STEPS)
            yield from (_continued_case(run, steps, dtype) for steps in CONTINUED_STEPS)
    yield from training_step_cases()


def _unrolled_case(run: ConfiguredRun, steps: int, dtype: Any) -> Case:
    """Define a case with several steps in one graph."""
    id = f"test_{run.setting.name}_training_{_step_count(steps)}_{FLOAT_TYPE_NAMES[dtype]}".replace(" ", "_")
    starts = tuple(_start_inputs(run, T, dtype) for T in FIRST_COUNTS)
    title = f"{run.title} takes {_step_count(steps)} towards the optimum of a quadratic function"
    hides_float = steps == STEPS_THAT_HIDE_FLOAT and dtype is np.float64 and run.operator.name != "Momentum"
    case = _case(run, id, title, _model(run, id, steps, starts[0]), starts, "unrolled")
    return replace(case, level=Level.SHOULD) if hides_float else case


def _continued_case(run: ConfiguredRun, steps: int, dtype: Any) -> Case:
    """Define a case in which each data set starts from the expected results of the previous one."""
    id = f"test_{run.setting.name}_training_fed_{CONTINUED_DATA_SETS}_times_{steps}_{FLOAT_TYPE_NAMES[dtype]}"
    model = _model(run, id, steps, _start_inputs(run, 1, dtype))
    each = f"{_step_count(steps)} in each of {CONTINUED_DATA_SETS} runs"
    title = f"{run.title} takes {each} towards the optimum of a quadratic function"
    return _case(run, id, title, model, tuple(_successive_inputs(model, _start_inputs(run, 1, dtype))), "fed")


def _step_count(steps: int) -> str:
    return f"{steps} {'step' if steps == 1 else 'steps'}"


def _successive_inputs(model: bytes, inputs: tuple[Array, ...]) -> Iterator[tuple[Array, ...]]:
    """Yield the inputs of successive data sets: the exact outputs of the previous data set, rounded once.

    Like the expected values, the outputs are computed only from the serialised model.
    """
    graph = onnx.load_model_from_string(model)
    for _ in range(CONTINUED_DATA_SETS):
        yield inputs
        inputs = (inputs[0], *evaluate(graph, inputs))


def _start_inputs(run: ConfiguredRun, T: int, dtype: Any) -> tuple[Array, ...]:
    """Return the inputs of the first data set: R, T, X, and a state of zeros."""
    zeros = (np.zeros(len(START), dtype=dtype) for _ in run.state[1:])
    return np.array(run.setting.rate, dtype=dtype), np.array(T, dtype=np.int64), np.array(START, dtype=dtype), *zeros


def _model(run: ConfiguredRun, id: str, steps: int, inputs: Sequence[Array]) -> bytes:
    """Build a model with `steps` training steps; its outputs are the next T, the new X and the new state."""
    names = ["R", "T", *run.state]
    results = ["T_new", *(f"{name}_new" for name in run.state)]
    nodes: list[onnx.NodeProto] = []
    taken = names[1:]
    for step in range(1, steps + 1):
        given = results if step == steps else [f"{name}_{step}" for name in names[1:]]
        nodes += _step(run, step, taken, given)
        taken = given
    dtype = inputs[2].dtype
    constants = {
        "A": np.array(CURVATURE, dtype=dtype),
        "B": np.array(OPTIMUM, dtype=dtype),
        "one": np.array(1, dtype=np.int64),
    }
    return build_model(
        id,
        nodes,
        [array_value_info(name, array) for name, array in zip(names, inputs, strict=True)],
        [array_value_info(name, array) for name, array in zip(results, inputs[1:], strict=True)],
        {"": OPSET, **run.operator.imports},
        constants,
    )


def _step(run: ConfiguredRun, step: int, taken: Sequence[str], given: Sequence[str]) -> list[onnx.NodeProto]:
    """Return the nodes of one training step, which compute the next T, X and state.

    Args:
        run: optimizer and parameters.
        step: number of the step, for the names of intermediate values.
        taken: names of the values that the step starts from.
        given: names of the values that the step computes.
    """
    T, X, *state = taken
    G = f"G_{step}"
    return [
        helper.make_node("Sub", [X, "B"], [f"distance_{step}"]),
        helper.make_node("Mul", ["A", f"distance_{step}"], [G]),
        helper.make_node(
            run.operator.name,
            ["R", T, X, G, *state],
            given[1:],
            domain=run.operator.signature.domain,
            **run.setting.attributes,
        ),
        helper.make_node("Add", [T, "one"], [given[0]]),
    ]


def _case(
    run: ConfiguredRun, id: str, title: str, model: bytes, data_sets: tuple[tuple[Array, ...], ...], family: str
) -> Case:
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"{run.operator.prefix}.{clause}" for clause in run.setting.clauses),
        tags=(run.operator.prefix, FLOAT_TYPE_NAMES[data_sets[0][2].dtype.type], "training", family),
        model=model,
        data_sets=data_sets,
    )
