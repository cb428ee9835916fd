"""A few random examples detect mistakes that show only with unusual values, sizes, names and connections."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from fake_subject import always_right

from conformance.models.graphs import all_nodes, copy_of, subgraphs_of
from conformance.mutants.mutant import KernelPatch, MutantBackend
from conformance.mutants.wrappers import replace_inputs, replace_outputs
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.search.cases import NoExpectedOutputsError
from conformance.search.evaluation import EvaluatedExample
from conformance.search.sampling import sample_examples

MAX_EXAMPLES = 200
CHUNK = 40
OPTIMIZERS = ("Adam", "Momentum", "Adagrad")


@cache
def evaluated_examples(operator, chunk):
    """Return the examples of a chunk, which keep the outputs that were computed for an earlier backend."""
    return [EvaluatedExample(example) for example in sample_examples((operator,), 0, chunk, CHUNK)]


def first_failing_example(backend, operator):
    """Return the first example that a backend fails; None if it passes the first `MAX_EXAMPLES` examples."""
    for chunk in range(MAX_EXAMPLES // CHUNK):
        for evaluated in evaluated_examples(operator, chunk):
            try:
                if evaluated.is_wrong(backend):
                    return evaluated.example
            except NoExpectedOutputsError:
                continue
    return None


def patched(operator, **patch):
    return MutantBackend({operator: KernelPatch(**patch)})


def groups(node, inputs):
    """Return the operands of all tensors, one list for each of X, G and the states."""
    operands = TRAINING_OPTIMIZERS[node.op_type].operands
    size = len(inputs[2:]) // len(operands)
    return [inputs[2 + size * kind : 2 + size * (kind + 1)] for kind in range(len(operands))]


def raise_small_states(node, inputs):
    place = TRAINING_OPTIMIZERS[node.op_type].operands.index("H")
    raised = groups(node, inputs)
    raised[place] = [np.maximum(H, H.dtype.type(2**-8)) for H in raised[place]]
    return [*inputs[:2], *(array for group in raised for array in group)]


def keep_first_rate(model, op_type):
    """Take R from outside of each Loop that carries it."""
    for loop in all_nodes(model):
        for body in subgraphs_of(loop) if loop.op_type == "Loop" else ():
            outer = {value.name: name for value, name in zip(body.input, loop.input, strict=False)}
            for node in body.node:
                if node.op_type == op_type:
                    node.input[0] = outer.get(node.input[0], node.input[0])


def keep_first_sizes(kernel):
    """Compute as many elements of each result as in the first run."""
    sizes = []

    def run(node, inputs):
        outputs = kernel(node, inputs)
        sizes.extend([] if sizes else [output.size for output in outputs])
        for output, size in zip(outputs, sizes, strict=True):
            output.reshape(-1)[size:] = 0
        return outputs

    return run


def stop_early(node, inputs, outputs):
    """Ignore the tensors after the first whose size is at most its position, if the tensors begin with empty ones."""
    tensors = groups(node, inputs)[0]
    ends = [place for place, X in enumerate(tensors) if 0 < X.size <= place]
    if not tensors[0].size and ends:
        for place in range(ends[0] + 1, len(tensors)):
            for output in outputs[place :: len(tensors)]:
                output[...] = 0
    return outputs


def update_in_place(kernel):
    """Write the new value of an operand of the first tensor before the second tensor is updated."""

    def run(node, inputs):
        outputs, operands = kernel(node, inputs), groups(node, inputs)
        size = len(operands[0])
        own = TRAINING_OPTIMIZERS[node.op_type]
        for kind, group in enumerate(operands):
            name = f"{own.operands[kind]}_new"
            if size > 1 and group[0] is group[1] and name in own.results:
                changed = list(inputs)
                changed[2 + kind * size + 1] = outputs[own.results.index(name) * size]
                outputs[1::size] = kernel(node, changed)[1::size]
        return outputs

    return run


def confusing(same):
    """Return a backend that confuses the values of which `same` gives the same text."""

    class Confusing(always_right):
        @classmethod
        def prepare(cls, model, device="CPU"):
            changed = copy_of(model)
            known = {}
            for value in changed.graph.input:
                known.setdefault(same(value.name), value.name)
            for node in changed.graph.node:
                node.input[:] = [known.get(same(name), name) for name in node.input]
            return cls(changed)

    return Confusing


def before_colon(name):
    return name.partition(":")[0] if ":" in name else name


NAME_MISTAKES = {"colon": before_colon, "case": str.lower, "long": lambda name: name[:256]}


@pytest.mark.parametrize("operator", ["Adam", "Adagrad"])
def test_search_detects_a_backend_that_raises_small_states(operator):
    failing = first_failing_example(patched(operator, wrappers=(replace_inputs(raise_small_states),)), operator)
    assert any((array < 2**-8).any() for name, array in failing.operands.items() if name.startswith("H"))


@pytest.mark.parametrize("operator", ["Momentum", "Adagrad"])
def test_search_detects_a_backend_that_keeps_the_first_rate_of_a_loop(operator):
    failing = first_failing_example(patched(operator, rewrites=(keep_first_rate,)), operator)
    assert failing.context.scope == "loop_doubling_r"


@pytest.mark.parametrize("operator", [*OPTIMIZERS, "ArgMax"])
def test_search_detects_a_backend_that_keeps_the_sizes_of_the_first_run(operator):
    failing = first_failing_example(patched(operator, wrappers=(keep_first_sizes,)), operator)
    assert failing.is_resized


@pytest.mark.parametrize("operator", OPTIMIZERS)
def test_search_detects_a_backend_that_stops_at_a_small_tensor_after_an_empty_one(operator):
    failing = first_failing_example(patched(operator, wrappers=(replace_outputs(stop_early),)), operator)
    assert failing.tensor_count > 2


@pytest.mark.parametrize("operator", OPTIMIZERS)
def test_search_detects_a_backend_that_updates_an_operand_of_two_tensors_in_place(operator):
    failing = first_failing_example(patched(operator, wrappers=(update_in_place,)), operator)
    assert failing.repeated


@pytest.mark.parametrize("operator", ["Momentum", "ArgMax"])
@pytest.mark.parametrize("kind", NAME_MISTAKES)
def test_search_detects_a_backend_that_confuses_names(operator, kind):
    failing = first_failing_example(confusing(NAME_MISTAKES[kind]), operator)
    assert failing.names == kind
