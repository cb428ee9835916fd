"""Training runs on a convex problem with a known optimum: many steps in one graph, and data sets that feed each other.

The loss is sum(A * (X - B)**2) / 2, so the gradient is A * (X - B), computed by primitives in the graph, and the
optimum is B. Runs start at T = 0, where no bias is corrected and beta of Momentum does not apply, and at T = 1.

Bounds grow from step to step, by about 1 + R * A at each: rates and curvatures are so small that a hundred steps come
near the optimum, and not near enough for the bound to matter beside the way that is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.corpus.case import Case
from conformance.generation.models import TYPES, declared, model
from conformance.reference.evaluation import evaluate
from conformance.verdicts import Level
from generators.training_optimizers.families import FLOATS
from generators.training_optimizers.table import OPERATORS
from generators.training_step import training_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.models.arrays import Array
    from generators.training_optimizers.operator import Operator, TrainingRun

OPSET = 13


@dataclass(frozen=True)
class Run:
    """An optimizer on its way from START to OPTIMUM."""

    operator: Operator
    setting: TrainingRun

    @property
    def title(self) -> str:
        """The first words of its cases' titles."""
        mode = self.setting.attributes.get("mode")
        return f"{self.operator.name} in mode {mode}" if mode else self.operator.name

    @property
    def state(self) -> list[str]:
        """The operands that a step hands on to the next, X first."""
        return [name for name in self.operator.signature.operands if name != "G"]


RUNS = tuple(Run(operator, setting) for operator in OPERATORS for setting in operator.runs)

START = (2.0, -1.0, 0.25)
OPTIMUM = (0.5, 0.75, -1.25)
CURVATURE = (1.0, 0.75, 1.25)

STEPS = (1, 10, 100)
FED_STEPS = (1, 10)
FED_DATA_SETS = 10
FIRST_COUNTS = (0, 1)
"""T of the first step."""


def cases() -> Iterator[Case]:
    """All of them."""
    for run in RUNS:
        for dtype in FLOATS:
            yield from (_unrolled(run, steps, dtype) for steps in STEPS)
            yield from (_fed(run, steps, dtype) for steps in FED_STEPS)
    yield from training_steps()


def _unrolled(run: Run, steps: int, dtype: Any) -> Case:
    """Steps in a row in one graph."""
    id = f"test_{run.setting.name}_training_{_counted(steps)}_{TYPES[dtype]}".replace(" ", "_")
    starts = tuple(_start(run, T, dtype) for T in FIRST_COUNTS)
    title = f"{run.title} goes {_counted(steps)} towards the optimum of a quadratic"
    return _case(run, id, title, _model(run, id, steps, starts[0]), starts, "unrolled")


def _fed(run: Run, steps: int, dtype: Any) -> Case:
    """Data sets each of which starts where the one before it has to end."""
    id = f"test_{run.setting.name}_training_fed_{FED_DATA_SETS}_times_{steps}_{TYPES[dtype]}"
    model = _model(run, id, steps, _start(run, 1, dtype))
    title = (
        f"{run.title} goes {FED_DATA_SETS} times {_counted(steps)} towards the optimum of a quadratic, run after run"
    )
    return _case(run, id, title, model, tuple(_following(model, _start(run, 1, dtype))), "fed")


def _counted(steps: int) -> str:
    return f"{steps} {'step' if steps == 1 else 'steps'}"


def _following(model: bytes, inputs: tuple[Array, ...]) -> Iterator[tuple[Array, ...]]:
    """Inputs, then those that the model's exact outputs, rounded once to their type, make of them, and so on.

    They are computed as the expected values are later: from the serialised model and nothing else.
    """
    graph = onnx.load_model_from_string(model)
    for _ in range(FED_DATA_SETS):
        yield inputs
        inputs = (inputs[0], *evaluate(graph, inputs))


def _start(run: Run, T: int, dtype: Any) -> tuple[Array, ...]:
    """R, T, the first X, and a state of zeros."""
    zeros = (np.zeros(len(START), dtype=dtype) for _ in run.state[1:])
    return np.array(run.setting.rate, dtype=dtype), np.array(T, dtype=np.int64), np.array(START, dtype=dtype), *zeros


def _model(run: Run, id: str, steps: int, inputs: Sequence[Array]) -> bytes:
    """The graph of some steps; it gives T for the next one, the new X and the new state."""
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
    return model(
        id,
        nodes,
        [declared(name, array) for name, array in zip(names, inputs, strict=True)],
        [declared(name, array) for name, array in zip(results, inputs[1:], strict=True)],
        {"": OPSET, **run.operator.imports},
        constants,
    )


def _step(run: Run, step: int, taken: Sequence[str], given: Sequence[str]) -> list[onnx.NodeProto]:
    """One step from T, X and state to the next ones."""
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


def _case(run: Run, id: str, title: str, model: bytes, data_sets: tuple[tuple[Array, ...], ...], family: str) -> Case:
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"{run.operator.prefix}.{clause}" for clause in run.setting.clauses),
        tags=(run.operator.prefix, TYPES[data_sets[0][2].dtype.type], "training", family),
        model=model,
        data_sets=data_sets,
    )
