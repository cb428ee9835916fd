"""Runs both oracles on random models and random data, and prints where they differ: `--draws N --seed M`.

The models are single optimizer nodes (see `random_settings`) and graphs around ArgMax (see `random_graphs`). Indices
are compared as level `should` has them and accept sets as `must` has them; what `must` calls unsettled is left out.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from onnx import numpy_helper, printer
from random_graphs import models
from random_optimizer_inputs import RandomInputs
from reference_models import OPERANDS, optimizer_model

from checks.oracle.comparison import OTHER_ACCEPTABLE_INDEX, Difference, compare_output
from checks.oracle.corpus import ExpectedOutput
from checks.oracle.evaluation import ModelOutputs
from checks.oracle.reals import PrecisionTooLow
from checks.oracle.tensors import Tensor, tensor_of
from conformance.base.verdicts import Level, Unsupported
from conformance.exact.reference.oracle import answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exact.reference.oracle import Answer

KINDS = ("ordinary", "large", "dyadic")
FOLDER = Path()


def as_tensor(array: Any) -> Tensor:
    """An array as the second oracle reads it."""
    return tensor_of(numpy_helper.from_array(np.asarray(array)), FOLDER)


def as_expected(answer: Answer, level: Level) -> ExpectedOutput | None:
    """The expectation of the first oracle, as far as this level says it."""
    if level is Level.MUST and answer.indeterminacy:
        return None
    bound = None if answer.bound is None else as_tensor(answer.bound)
    accept = as_tensor(answer.choices) if level is Level.MUST and answer.choices is not None else None
    return ExpectedOutput(as_tensor(answer.expected), bound, accept)


def disagreements(model: bytes, inputs: list[np.ndarray], counts: Counter[str]) -> Iterator[Difference]:
    """The differences of the two oracles on a model."""
    parsed = onnx.load_model_from_string(model)
    fed = dict(zip((value.name for value in parsed.graph.input), map(as_tensor, inputs), strict=True))
    second = ModelOutputs(parsed, FOLDER, fed)
    for level in (Level.SHOULD, Level.MUST):
        try:
            first = answers(model, inputs, level)
        except Unsupported as refusal:
            counts[f"models refused: {refusal}"] += 1
            return
        for number, answer in enumerate(first):
            expected = as_expected(answer, level)
            if expected is None:
                counts["outputs that must leaves open"] += 1
                continue
            try:
                found = list(compare_output(f"{level} output {number}", str(level), second, number, expected, counts))
            except (NotImplementedError, PrecisionTooLow) as error:
                counts[f"outputs not followed: {error}"] += 1
                continue
            yield from (difference for difference in found if difference.what != OTHER_ACCEPTABLE_INDEX)


def settings_of(count: int, start: int) -> Iterator[tuple[bytes, list[np.ndarray]]]:
    """Single nodes of the optimizers."""
    for at in range(start, start + count):
        chosen = random.Random(at)
        types = [chosen.choice([np.float32, np.float64]) for _ in range(2)]
        setting = RandomInputs(at, chosen.choice(KINDS), *types).setting(chosen.choice(list(OPERANDS)))
        yield optimizer_model(setting.op_type, setting.inputs, **setting.attributes), setting.inputs


def elements(type_: np.dtype) -> st.SearchStrategy[np.ndarray]:
    """Small fractions, among which ties are frequent, and other ordinary numbers."""
    fractions = st.integers(-16, 16).map(lambda number: number / 4)
    return st.one_of(fractions, fractions, st.floats(-30, 30)).map(lambda number: np.array(number, type_))


def graphs_of(count: int, start: int) -> list[tuple[bytes, list[np.ndarray]]]:
    """Graphs around ArgMax, with data."""
    drawn = []

    @seed(start)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(models(), st.data())
    def draw(model: onnx.ModelProto, data: st.DataObject) -> None:
        tensor = model.graph.input[0].type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        type_ = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        listed = data.draw(st.lists(elements(type_), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        inputs = [np.array(listed, type_).reshape(shape), np.array(data.draw(st.booleans()))]
        drawn.append((model.SerializeToString(), inputs))

    draw()
    return drawn


def report(count: int, start: int, counts: Counter[str]) -> Iterator[str]:
    """Each model on which the oracles differ, with its data and what differs."""
    half = count // 2
    for model, inputs in (*settings_of(count - half, start), *graphs_of(half, start)):
        counts["models"] += 1
        found = list(map(str, disagreements(model, inputs, counts)))
        if found:
            counts["differences"] += len(found)
            text = printer.to_text(onnx.load_model_from_string(model))
            yield "\n".join([text, *map(repr, inputs), *found])


def main() -> int:
    """Draw, compare and print; gives the exit status."""
    parser = argparse.ArgumentParser(description="Compare both oracles on random models.")
    parser.add_argument("--draws", type=int, default=200, help="how many models (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="the first of their seeds (default: 0)")
    options = parser.parse_args()
    counts: Counter[str] = Counter(differences=0)
    sys.stdout.writelines(f"{told}\n" for told in report(options.draws, options.seed, counts))
    listed = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
    sys.stdout.write(f"{listed} in {time.process_time():.0f} processor seconds\n")
    return 1 if counts["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
