"""What can be done about any kernel: to what it is fed, to what it answers, and to what it remembers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.deviations.deviation import Kernel, Twist
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node

    Change: TypeAlias = Callable[[Any], Any]

R, T = 0, 1
"""The places of an optimizer's scalars among its inputs."""


def feeding(change: Callable[[Node, list[Array]], Sequence[Array]]) -> Twist:
    """The kernel gets other inputs."""

    def twist(kernel: Kernel) -> Kernel:
        return lambda node, inputs: kernel(node, list(change(node, inputs)))

    return twist


def answering(change: Callable[[Node, list[Array], list[Array]], Sequence[Array]]) -> Twist:
    """The kernel's outputs become others: `change` gets the node, the inputs and the outputs."""

    def twist(kernel: Kernel) -> Kernel:
        return lambda node, inputs: list(change(node, inputs, kernel(node, inputs)))

    return twist


def reading(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Twist:
    """The kernel gets other attributes."""

    def twist(kernel: Kernel) -> Kernel:
        return lambda node, inputs: kernel(dataclasses.replace(node, attributes=change(dict(node.attributes))), inputs)

    return twist


def each_input(change: Change) -> Twist:
    """Every input is changed."""
    return feeding(lambda _, inputs: [change(array) for array in inputs])


def each_output(change: Change) -> Twist:
    """Every output is changed."""
    return answering(lambda _, __, outputs: [change(array) for array in outputs])


def scalar(place: int, change: Change) -> Twist:
    """R or T is changed."""
    return feeding(
        lambda _, inputs: [np.asarray(change(array)) if i == place else array for i, array in enumerate(inputs)]
    )


def each_float_attribute(change: Change) -> Twist:
    """Every attribute that is a float is changed."""
    return reading(lambda given: {k: change(v) if isinstance(v, float) else v for k, v in given.items()})


def each_operand(change: Change, only: str = "") -> Twist:
    """Every tensor is changed, or those of some operands, as in "VH"."""

    def changed(node: Node, inputs: list[Array]) -> list[Array]:
        return [*inputs[:2], *(change(a) if not only or name in only else a for name, a in named(node, inputs))]

    return feeding(changed)


def each_tensor(change: Callable[[list[list[Array]]], Sequence[Sequence[Array]]]) -> Twist:
    """The tensors' operands become others: `change` gets each tensor's in a list."""
    return feeding(lambda node, inputs: [*inputs[:2], *grouped(change(by_tensor(node, inputs)))])


def only_tensors(which: Callable[[int], set[int]]) -> Twist:
    """Only some tensors are updated: `which` gives their numbers for how many there are."""

    def cut(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        count, old = len(by_tensor(node, inputs)), unchanged(node, inputs)
        return [new if place % count in which(count) else old[place] for place, new in enumerate(outputs)]

    return answering(cut)


def named(node: Node, inputs: Sequence[Array]) -> list[tuple[str, Array]]:
    """An optimizer's operands with the name of each one's group."""
    groups = TRAINING_OPTIMIZERS[node.op_type].operands
    count = (len(inputs) - 2) // len(groups)
    return [(groups[place // count], array) for place, array in enumerate(inputs[2:])]


def by_tensor(node: Node, inputs: Sequence[Array]) -> list[list[Array]]:
    """An optimizer's operands, tensor by tensor."""
    count = (len(inputs) - 2) // len(TRAINING_OPTIMIZERS[node.op_type].operands)
    return [list(inputs[2 + number :: count]) for number in range(count)]


def grouped(tensors: Sequence[Sequence[Array]]) -> list[Array]:
    """The operands or results of every tensor, grouped as ONNX has them: all of the first, all of the second, …."""
    return [array for group in zip(*tensors, strict=True) for array in group]


def interleaved(arrays: Sequence[Array], groups: int) -> list[Array]:
    """Grouped arrays taken as if each tensor's stood together."""
    count = len(arrays) // groups
    return [arrays[tensor * groups + group] for group in range(groups) for tensor in range(count)]


def unchanged(node: Node, inputs: Sequence[Array]) -> list[Array]:
    """What an optimizer would answer that does nothing: its X and its state."""
    return [array for name, array in named(node, inputs) if name != "G"]


def remembering(place: int) -> Twist:
    """The kernel gets the input that stood there at its first run."""

    def twist(kernel: Kernel) -> Kernel:
        memory: list[Array] = []

        def run(node: Node, inputs: list[Array]) -> list[Array]:
            if not memory:
                memory.append(inputs[place].copy())
            return kernel(node, [*inputs[:place], memory[0], *inputs[place + 1 :]])

        return run

    return twist


def counting_runs(kernel: Kernel) -> Kernel:
    """T is how often the node has run before, whatever comes in."""
    runs = 0

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        nonlocal runs
        count = np.array(runs, dtype=np.int64)
        runs += 1
        return kernel(node, [inputs[R], count, *inputs[2:]])

    return run


def keeping_state(kernel: Kernel) -> Kernel:
    """V and H are what the run before left, if they fit; only the first run takes them from the inputs."""
    memory: list[Array] = []

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        held = iter(memory or [array for name, array in named(node, inputs) if name in "VH"])
        fed = [next(held) if name in "VH" else array for name, array in named(node, inputs)]
        outputs = kernel(node, [*inputs[:2], *fed])
        memory[:] = outputs[len(by_tensor(node, inputs)) :]
        return outputs

    return run


def overwriting(name: str) -> Twist:
    """The new X, V or H is written into the old one's buffer, which is returned."""

    def overwrite(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        old = [(group, array) for group, array in named(node, inputs) if group != "G"]
        for (group, array), output in zip(old, outputs, strict=True):
            if group == name:
                array[...] = output
        return outputs

    return answering(overwrite)


def one_buffer(node: Node, _: list[Array], outputs: list[Array]) -> list[Array]:
    """Every result of a tensor is the one that was written last, as where all share a buffer."""
    count = len(outputs) // len(TRAINING_OPTIMIZERS[node.op_type].results)
    return [outputs[-count + place % count] for place in range(len(outputs))]


def first_elements(most: Callable[[int], int]) -> Twist:
    """Only the first elements of each tensor are worked on; of the others, the outputs are what came in.

    Args:
        most: how many of a tensor's size.
    """

    def cut(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        pairs = zip(unchanged(node, inputs), outputs, strict=True)
        return [spliced(old, new, most(new.size)) for old, new in pairs]

    return answering(cut)


def spliced(old: Array, new: Array, size: int) -> Array:
    """The first elements of what is new, and the others of what was."""
    place = np.arange(new.size).reshape(new.shape)
    return np.where(place < size, new, np.broadcast_to(old, new.shape)).astype(new.dtype)


def refusing(condition: Callable[[Array], bool], message: str) -> Twist:
    """The kernel raises an error where an input is so."""

    def refuse(_: Node, inputs: list[Array]) -> list[Array]:
        if any(condition(array) for array in inputs):
            raise ValueError(message)
        return inputs

    return feeding(refuse)
