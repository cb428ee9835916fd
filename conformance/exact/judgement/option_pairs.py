"""Inputs of an operator that have each option of each choice of its declarations, and each pair of options.

A mistake often shows for two options together only, such as an operand with fewer axes and equal sizes. Random shapes
have such a pair by chance. `option_pairs` draws nodes until each pair was drawn, in a bounded number of calls.

The choices are those of `conformance.exact.declarations.drawing`: the rank, an element type, an optional input, the
dimensions that are broadcast. In pairs, a size is 1 or larger. All sizes are equal, or one is 0, beside each option.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from conformance.exact.declarations.drawing import InvalidNodeError, draw_node
from conformance.exact.declarations.hard_values import text_bits
from conformance.exact.reference.enclosures.exact import MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exact.declarations.drawing import DrawnNode
    from conformance.exact.judgement.hard_inputs import DrawnShape
    from conformance.exact.models.arrays import Array

MAX_NODES = 500
MAX_FIRST_NODES = 200
"""Largest numbers of drawn nodes for a declaration, and of the first ones of which no inputs are accepted."""

TRIES = ("joined", "joined", "plain", "without options", "free", "free")
"""The ways to draw a node for a target, in order; other targets join the first ones."""

MAX_ELEMENTS = 2**12
"""Largest number of elements of all inputs."""

OTHER_CHOICES = ("declaration", "opset", "outputs", "constants", "attribute ")
"""Begins of the names of choices that the caller makes."""

CAN_BE_EMPTY = ("S", "B", "K", "M", "N")
"""First letters of the names of sizes that can be 0: those of any axis, of a batch, of matrices, and of indices."""

EQUAL_SIZE = 3
"""The size of all axes in nodes of equal sizes."""

PLAIN_VALUES = 2
"""The mode of elements of which few are equal, and all are finite."""

ONE = "=1"
LARGER = ">1"

Label: TypeAlias = "tuple[str, str]"
"""The name of a choice with the index of an option; in pairs, a size has `ONE` or `LARGER` instead.

The choice `sizes` has the options `equal`, and `0` with the name of a size.
"""

Target: TypeAlias = "tuple[Label, ...]"


def option_pairs(drawn: DrawnShape, salt: str, most: int) -> Iterator[list[Array | None]]:
    """Yield inputs with each option and each pair of options of the declarations that fit the attributes.

    Args:
        drawn: a drawn shape of the operator, with the caller's attributes and conditions.
        salt: a text that chooses what is left open.
        most: the largest number of inputs for each declaration.
    """
    for number, choices in enumerate(drawn.fitting):
        yield from islice(_OpenTargets(drawn, choices, f"{salt}/{number}").inputs(), most)


class _OpenTargets:
    """The options and pairs of options of a declaration that no inputs had; drawn nodes show which there are."""

    def __init__(self, drawn: DrawnShape, choices: Mapping[str, int], salt: str) -> None:
        self.drawn = drawn
        self.choices = choices
        self.salt = salt
        self.nodes = 0
        self.singles: dict[Target, None] = {}
        self.pairs: dict[Target, None] = {}
        self.added: set[Target] = set()
        self.known: dict[str, dict[Label, None]] = {}  # by the index of the rank
        self.indices: dict[tuple[str, Label], set[int]] = {}  # the options of a size that are 1, or larger, by rank
        self.free: set[str] = set()
        self.types: dict[str, set[int]] = {}  # the options of element types that the caller accepts

    def inputs(self) -> Iterator[list[Array | None]]:
        """Yield inputs that have targets which no earlier ones have."""
        for _ in range(MAX_FIRST_NODES):  # the first ones show which element types the caller accepts
            node = self.draw({})
            if node is not None and (inputs := self.judged(node, {})) is not None:
                self.finish(self.labels(node, {}))
                yield inputs
                break
        else:
            return
        while (left := self.singles or self.pairs) and self.nodes < MAX_NODES:
            target = next(iter(left))
            for way in TRIES:
                wanted = self.joined(target) if way == "joined" else dict(target)
                node = self.draw(wanted, is_plain=way != "free", has_options=way != "without options")
                if node is None or not (labels := self.labels(node, wanted)).issuperset(target):
                    continue
                if (inputs := self.judged(node, wanted)) is not None:
                    self.finish(labels)
                    yield inputs
                    break
            else:
                if target in self.singles:  # no pair can have the option, and no rank an element type
                    failed = {each for each in target if _is_type(each)} or {*target}
                    self.singles = {each: None for each in self.singles if not failed.issubset(each)}
                    self.pairs = {each: None for each in self.pairs if not failed.issubset(each)}
            self.singles.pop(target, None)
            self.pairs.pop(target, None)

    def finish(self, labels: set[Label]) -> None:
        """Leave out the targets that accepted inputs with some options have."""
        for name, index in [each for each in labels if _is_type(each)]:
            self.types.setdefault(name, set()).add(int(index))
        self.singles = {each: None for each in self.singles if not labels.issuperset(each)}
        self.pairs = {each: None for each in self.pairs if not labels.issuperset(each)}

    def joined(self, target: Target) -> dict[str, str]:
        """Return the options of a target, with those of others that do not contradict them.

        Options that hide a mistake join no others: an operand with fewer axes or left out, and a size of 1.
        """
        wanted = dict(target)
        for each in (*self.pairs, *self.singles):
            if all(
                wanted.get(name, label) == label and (name in wanted or not _hides((name, label)))
                for name, label in each
            ):
                wanted |= dict(each)
        return wanted

    def draw(self, wanted: Mapping[str, str], *, is_plain: bool = False, has_options: bool = True) -> DrawnNode | None:
        """Return a node with options; None if it is invalid.

        A plain node has sizes larger than 1, and all dimensions of each operand, where the options do not differ.
        Without `has_options`, it has no other optional inputs.
        """
        self.nodes += 1
        rank = wanted.get("rank", "")
        chosen = {name: self.index(rank, (name, label)) for name, label in wanted.items() if name != "sizes"}
        plain = {f"values of {name}": PLAIN_VALUES for name in self.free}
        plain |= {name: self.one_of(each, name) for name, each in self.types.items()}
        if is_plain:
            known = self.known.get(rank, {})
            plain |= {name: 0 for name, _ in known if name.startswith("dimensions ")}
            plain |= {name: int(has_options) for name, _ in known if name.startswith("input ")}
            plain |= {name: self.index(rank, (name, label)) for name, label in known if label == LARGER}
        sizes = wanted.get("sizes", "")

        def size_of(name: str, size: int) -> int:
            if sizes == "equal":
                return size if name == "r" else EQUAL_SIZE
            return 0 if sizes == f"0 {name}" else size

        try:
            node = draw_node(
                self.drawn.operator,
                f"{self.salt}/{self.nodes}",
                chosen={**plain, **chosen, **self.choices},
                given=self.drawn.given,
                size_of=size_of if sizes else None,
            )
        except InvalidNodeError:
            return None
        self.learn(node)
        return node

    def index(self, rank: str, label: Label) -> int:
        """Return the index of an option; one of several for a size that is larger than 1."""
        return int(label[1]) if label[1] not in (ONE, LARGER) else self.one_of(self.indices[rank, label], label[0])

    def one_of(self, indices: set[int], name: str) -> int:
        """Return one of some indices, which depends on the number of the node."""
        return sorted(indices)[text_bits(f"{self.salt}/{self.nodes}/{name}") % len(indices)]

    def learn(self, node: DrawnNode) -> None:
        """Add the options of a node's choices, and their pairs."""
        self.free.update(node.free)
        rank = node.choices.get("rank")
        for index in range(rank.count) if rank is not None else ():
            self.add(self.singles, (("rank", str(index)),))
        place = "" if rank is None else str(rank.index)
        for name, choice in node.choices.items():
            if name == "rank" or name.startswith(OTHER_CHOICES) or name.removeprefix("values of ") in self.free:
                continue
            if _LATE_OPERAND.fullmatch(name):
                continue
            for index in range(choice.count):
                self.add_label(place, (name, str(index)))
            if name.startswith("size "):
                size = (name, ONE if choice.text == "1" else LARGER)
                self.indices.setdefault((place, size), set()).add(choice.index)
                self.add_label(place, size)
                self.add_label(place, ("sizes", "equal"))
                if name.removeprefix("size ").startswith(CAN_BE_EMPTY):
                    self.add_label(place, ("sizes", f"0 {name.removeprefix('size ')}"))

    def add_label(self, rank: str, label: Label) -> None:
        """Add an option of nodes of a rank, and its pairs with those that are known."""
        known = self.known.setdefault(rank, {})
        if label in known:
            return
        first = (("rank", rank),) if rank else ()
        if label[1] not in (ONE, LARGER):
            self.add(self.singles, (*first, label))
        for other in known:
            if _are_combined(label, other):
                is_type = _is_type(label) or _is_type(other)
                targets = self.singles if "sizes" in (label[0], other[0]) else self.pairs  # those of sizes come first
                self.add(targets, (*(() if is_type else first), label, other))
        known[label] = None

    def add(self, targets: dict[Target, None], target: Target) -> None:
        """Add a target that is new."""
        if target not in self.added:
            self.added.add(target)
            targets[target] = None

    def labels(self, node: DrawnNode, wanted: Mapping[str, str]) -> set[Label]:
        """Return the options that a node has."""
        sizes = wanted.get("sizes", "")
        found = {("sizes", sizes)}
        for name, choice in node.choices.items():
            if not name.startswith("size "):
                found.add((name, str(choice.index)))
            elif not sizes:
                found |= {(name, str(choice.index)), (name, ONE if choice.text == "1" else LARGER)}
        return found

    def judged(self, node: DrawnNode, wanted: Mapping[str, str]) -> list[Array | None] | None:
        """Return the inputs of a node; None if the caller does not accept them, or they have no reference.

        An axis that the attribute `axis` names is not empty, nor are those behind it: pages leave their results open.
        """
        inputs = [node.operands[name] if name else None for name in node.proto.input]
        given = [each for each in inputs if each is not None]
        if sum(each.size for each in given) > MAX_ELEMENTS:
            return None
        if wanted.get("sizes", "").startswith("0"):
            axis = self.drawn.given.get("axis")
            is_kept = self.drawn.operator in MOVEMENT  # such as Concat, of which an operand can be empty
            is_open = isinstance(axis, int) and not is_kept and inputs[0] is not None and 0 in inputs[0].shape[axis:]
            if is_open or all(each.size for each in given):
                return None
        return self.drawn.judged_inputs(node)


_LATE_OPERAND = re.compile(r"dimensions .*[a-zA-Z](?:[4-9]|\d\d+)")
"""Choices of repeated operands behind the third one: the pairs of all options of 33 operands are too many."""


def _hides(label: Label) -> bool:
    name, option = label
    is_narrow = name.startswith("dimensions ") and option != "0"
    return is_narrow or option == ONE or name == "sizes" or (name.startswith("input ") and option == "0")


def _is_type(label: Label) -> bool:
    return label[0].startswith("type ")


def _are_combined(label: Label, other: Label) -> bool:
    """Return whether two options of different choices make a pair.

    A type is beside each optional input only, since the elements of a type are drawn for each shape too.
    """
    names = {label[0], other[0]}
    sizes = [each for each in (label, other) if each[0].startswith("size ")]
    if len(names) < 2 or any(name.startswith("values of ") for name in names):
        return False
    if any(each[1] not in (ONE, LARGER) for each in sizes) or (sizes and "sizes" in names):
        return False
    return not (_is_type(label) or _is_type(other)) or any(name.startswith(("input ", "kind ")) for name in names)
