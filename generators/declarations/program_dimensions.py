"""The family `programs` of the training optimizers: models in which several results depend on the order of execution.

Each program is written in ONNX's textual syntax. It has scenarios of one kind, each with nodes and outputs of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.parser

from conformance.corpus.factors.connections import CONDITION_INPUT
from conformance.corpus.factors.scopes import CUSTOM_DOMAIN
from conformance.corpus.factors.training_factors import TYPES, USUAL_ATTRIBUTES
from conformance.corpus.factors.wrapping import IR_VERSION, BuiltModel
from conformance.exact.models.arrays import type_name
from conformance.exact.models.model_building import pseudo_random_array
from conformance.exact.models.renaming import Renamer
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.family import FamilyDeclaration
from generators.declarations.numbers import scalar_operands, tensor_operands
from generators.declarations.size_dimensions import PERIOD
from generators.declarations.training_dimensions import OPERAND_RANGES, OTHER_RATE, RATE, other_attributes, usual_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array

SHAPE = (2, 2)
"""Shape of the tensors of most scenarios."""

ITERATIONS = 43
"""Trip count of a Loop that is longer than the others, and no multiple of another number."""

NESTED_COUNTS = (18, 3)
"""Numbers of iterations of an outer and of an inner Loop or Scan."""

WHOLE = 9
PARTS = (1, 7, 1)
"""Length of a tensor that a Split divides, and the lengths of the parts. The middle one begins at an odd offset."""

CONSTANT_SIZE = 12
UNEQUAL_PLACES = (1, 3, 10, 11, 0)
"""Size of constants of which one element differs from the others, and its place in each of them."""

LONG_CONSTANT_SIZE = 70
"""Size of a constant whose last element differs."""

LENGTHS: Mapping[str, Sequence[int]] = {
    "long": (5, 400_001, 3),
    "many": [1 + 397 * place % 1100 for place in range(130)],
    "nodes": [1 + place % 3 for place in range(140)],
}
"""Sizes of the tensors of one node, or of one for each of many nodes.

They begin and end between the borders of chunks, of which a launch has a maximum.
"""

RUN_SHAPES: Sequence[Sequence[Sequence[int]]] = (
    ((1, 1), (2,)),
    ((1, 1), (37,)),
    ((1, 1), (0,)),
    ((2, 3), (5,)),
    ((3, 2), (5,)),
    ((5, 1), (6,)),
    ((1, 1), (2,)),
    ((2, 7), (5,)),
    ((4, 3), (5,)),
    ((0, 3), (5,)),
    *(((2, 1 + number), (7 - number,)) for number in range(7)),
)
"""Shapes of the two tensors in each run of one model."""

RUN_TRIPS = (2, 1, 4, 3)
"""Trip counts of a Loop in the runs of one model, in turns."""

SWAPPED: Mapping[str, tuple[str, str]] = {
    "Adam": ("alpha", "beta"),
    "Momentum": ("alpha", "beta"),
    "Adagrad": ("decay_factor", "epsilon"),
}
"""Two attributes of each operator whose values a nested call exchanges."""

SWAPPED_VALUES = (0.5, 0.25)

SIMILAR_NAMES = (
    "R",
    "T",
    *(f"{number}{'_of_values' * 20}" for number in range(2)),
    "v_1",
    "v.1",
    "v/1",
    "v:1",
    "v-1",
    " v_1",
    "v_1 ",
    "\u00e9",
    "e\u0301",
    "fi",
    "\ufb01",
    "a/v_1",
    "b/v_1",
    "__proto__",
    "constructor",
    "toString",
    "int",
    "None",
    "1",
    "01",
    "1.0",
    "v__1",
    "_v_1",
    "v_1_",
    "V_1",
    "v\\1",
    "v,1",
    "v%1",
    "v$1",
    "v#1",
    "self",
    "return",
)
"""Names that are equal once other characters replace some, in one normal form of Unicode, at one end, or as numbers."""


class _Program:
    """The text of a model, and the values of its inputs.

    Attributes:
        op_type: type of the optimizer.
        letters: letters of the operands of a tensor, such as X, G, V and H.
        carried: letters of the operands that have a new value.
        values: values of the inputs by name, for the first run.
        types: texts of the types of the inputs, by name.
        constants: texts of the initializers.
        outputs: texts of the outputs with their types.
        lines: texts of the nodes.
        functions: overload and text of each function.
        training: texts of the initialization and the algorithm of training information, which update the constant `c`.
        opset: version of the main domain.
    """

    def __init__(self, op_type: str, name: str, own: Any) -> None:
        self.op_type = op_type
        self.name = name
        self.own = own
        self.letters = list(TRAINING_OPTIMIZERS[op_type].operands)
        self.carried = [letter for letter in self.letters if letter != "G"]
        self.values: dict[str, Array] = {}
        self.types: dict[str, str] = {}
        self.constants: list[str] = []
        self.outputs: list[str] = []
        self.lines: list[str] = []
        self.functions: list[tuple[str, str]] = []
        self.training: tuple[str, str] | None = None
        self.opset = 13
        for scalar, value in scalar_operands(RATE, usual_count(op_type, own), own).items():
            self.give(scalar, value)
        self.give(CONDITION_INPUT, np.array(True))

    def give(self, name: str, value: Array, type: str | None = None) -> None:
        """Add an input."""
        self.values[name] = value
        self.types[name] = type or typed(value.dtype, value.shape)

    def give_tensor(self, suffix: str, shape: Sequence[int] = SHAPE) -> dict[str, str]:
        """Add the operands of a tensor as inputs, and return their names by letter."""
        for letter, value in tensor_operands(self.op_type, f"{self.name}/{suffix}", self.own, [shape]).items():
            self.give(f"{letter}_{suffix}", value)
        return self.named(suffix)

    def give_negative(self) -> dict[str, str]:
        """Add the inputs from which `make_tensor` makes operands, and return their names by letter."""
        named = self.give_tensor("negative")
        if "H" in named:
            self.values[named["H"]] = -self.values[named["H"]]
        return named

    def make_tensor(self, suffix: str, given: Mapping[str, str]) -> dict[str, str]:
        """Add nodes whose results are the operands of a tensor, from inputs of other signs; return their names."""
        for letter, name in given.items():
            self.lines.append(f"{letter}_{suffix} = Neg ({name})")
        return self.named(suffix)

    def named(self, suffix: str, **others: str) -> dict[str, str]:
        """Return the names of the operands of a tensor by letter: all with one suffix, except for `others`."""
        return {letter: f"{letter}_{suffix}" for letter in self.letters} | others

    def step(
        self, label: str, *tensors: Mapping[str, str], R: str = "R", T: str = "T", attributes: str | None = None
    ) -> str:
        """Return the text of an optimizer node whose results have the suffix `label` and, if several, a number."""
        ends = [label] if len(tensors) == 1 else [f"{label}_{number}" for number in range(1, len(tensors) + 1)]
        results = [f"{letter}_new{end and '_'}{end}" for letter in self.carried for end in ends]
        taken = [tensor[letter] for letter in self.letters for tensor in tensors]
        domain = TRAINING_OPTIMIZERS[self.op_type].domain
        given = attributes_text(USUAL_ATTRIBUTES[self.op_type]) if attributes is None else attributes
        return f"{listed(results)} = {domain}.{self.op_type} <{given}> ({listed([R, T, *taken])})"

    def update(
        self,
        label: str,
        *tensors: Mapping[str, str],
        shape: Sequence[int] = SHAPE,
        R: str = "R",
        T: str = "T",
        attributes: str | None = None,
    ) -> None:
        """Add an optimizer node whose results are outputs."""
        self.lines.append(self.step(label, *tensors, R=R, T=T, attributes=attributes))
        for result in self.lines[-1].split(" = ")[0].split(", "):
            self.output(result, shape)

    def output(self, name: str, shape: Sequence[int] = SHAPE) -> None:
        """Add an output."""
        self.outputs.append(f"{typed(self.own, shape)} {name}")

    def read(self, names: Iterable[str], shape: Sequence[int] = SHAPE) -> None:
        """Add nodes that read values, with outputs."""
        for name in names:
            self.lines.append(f"{name}_read = Neg ({name})")
            self.output(f"{name}_read", shape)

    def graph(self, name: str, inputs: Sequence[str], given: Sequence[str], lines: Sequence[str]) -> str:
        """Return the text of a subgraph. Inputs and outputs without a type are tensors of `SHAPE`."""
        plain = typed(self.own, SHAPE)

        def with_types(names: Sequence[str]) -> str:
            return listed([one if " " in one else f"{plain} {one}" for one in names])

        return f"{name} ({with_types(inputs)}) => ({with_types(given)}) {{ {' '.join(lines)} }}"

    def choose(self, results: Sequence[str], condition: str, lines: Sequence[str], given: Sequence[str]) -> str:
        """Return the text of an If that gives values in the branch of a condition, and zeros in the other one."""
        zeros = [f"{name}_none = Constant <value = {self.zeros()}> ()" for name in given]
        taken = self.graph("taken", [], given, lines)
        other = self.graph("other", [], [f"{name}_none" for name in given], zeros)
        then, otherwise = (taken, other) if condition == CONDITION_INPUT else (other, taken)
        return f"{listed(results)} = If ({condition}) <then_branch = {then}, else_branch = {otherwise}>"

    def loop_body(self, inputs: Sequence[str], lines: Sequence[str], given: Sequence[str]) -> str:
        """Return the text of the body of a Loop that keeps its condition, as an attribute."""
        nodes = ["again = Identity (c)", *lines]
        return f"body = {self.graph('body', ['int64 i', 'bool c', *inputs], ['bool again', *given], nodes)}"

    def zeros(self) -> str:
        """Return the text of a tensor of zeros."""
        return f"{typed(self.own, SHAPE)} {{{listed(['0'] * 4)}}}"

    def tensor(self, letter: str) -> str:
        """Return the text of a constant in the range of an operand."""
        values = pseudo_random_array(f"{self.name}/constant/{letter}", SHAPE, self.own, *OPERAND_RANGES[letter])
        return f"{typed(self.own, SHAPE)} {{{listed([str(float(value)) for value in values.reshape(-1)])}}}"

    def stored(self, letter: str) -> str:
        """Return the text of an initializer in the range of an operand."""
        type, values = self.tensor(letter).split(" {")
        return f"{type} {letter}_stored = {{{values}"

    def build(self, runs: Sequence[Mapping[str, Array]] = ({},), ir_version: int = 9) -> BuiltModel:
        """Return the model, with a data set for each mapping of changed inputs."""
        optimizer = TRAINING_OPTIMIZERS[self.op_type]
        imports = f'"" : {self.opset}, "{optimizer.domain}" : {optimizer.version}'
        every = f'{imports}, "{CUSTOM_DOMAIN}" : 1'
        inputs = listed([f"{type} {name}" for name, type in self.types.items()])
        constants = f" <{listed(self.constants)}>" if self.constants else ""
        head = f"<ir_version: {ir_version}, opset_import: [{every if self.functions else imports}]>"
        text = f"{head} {self.name} ({inputs}) => ({listed(self.outputs)}){constants} {{ {' '.join(self.lines)} }}"
        for overload, function in self.functions:
            name = f', overload: "{overload}"' if overload else ""
            text += f' <domain: "{CUSTOM_DOMAIN}"{name}, opset_import: [{every}]> {function}'
        model = onnx.parser.parse_model(text)
        model.producer_name = "onnx-conformance"
        if self.training is not None:
            initialization, algorithm = map(onnx.parser.parse_graph, self.training)
            info = model.training_info.add(initialization=initialization, algorithm=algorithm)
            info.initialization_binding.add(key="c", value=initialization.output[0].name)
            info.update_binding.add(key="c", value=algorithm.output[0].name)
        data_sets = tuple(tuple({**self.values, **run}.values()) for run in runs)
        return BuiltModel(model.SerializeToString(deterministic=True), data_sets)


def listed(texts: Iterable[str]) -> str:
    """Join texts with commas."""
    return ", ".join(texts)


def typed(dtype: Any, shape: Sequence[int]) -> str:
    """Return the text of the type of a tensor."""
    word = type_name(np.dtype(dtype))
    return f"{word}[{listed(map(str, shape))}]" if shape else word


def attributes_text(attributes: Mapping[str, object]) -> str:
    """Return the text of attributes of a node."""
    return listed(
        f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}" for name, value in attributes.items()
    )


# Programs


def _memory(program: _Program) -> None:
    """Add scenarios in which an operand is used after the node, by another name or in a subgraph."""
    letters = program.letters
    carried = program.carried
    program.lines.append(f"no = Not ({CONDITION_INPUT})")
    program.give("trips", np.array(2))
    given = program.give_negative()
    labels = ("kept", "nested", "otherwise", "looped")
    for label in (*labels, "begun"):
        program.make_tensor(label, given)
    copies = {label: [f"{letter}_{label}_copy = Identity ({letter}_{label})" for letter in letters] for label in labels}
    names = {label: [f"{letter}_{label}_copy" for letter in letters] for label in labels}
    later = {label: [f"{letter}_{label}_later" for letter in letters] for label in labels}
    program.lines.append(program.choose(later["kept"], "no", copies["kept"], names["kept"]))
    body = program.loop_body(
        [f"{letter}_now" for letter in carried],
        [f"{letter}_next = Neg ({letter}_now)" for letter in carried],
        [f"{letter}_next" for letter in carried],
    )
    program.lines.append("none = Constant <value = int64 {0}> ()")
    taken, starts = ([f"{letter}_{word}" for letter in carried] for word in ("taken", "begun"))
    program.lines.append(f"{listed(taken)} = Loop (none, {CONDITION_INPUT}, {listed(starts)}) <{body}>")
    program.update("taken", program.named("taken", G="G_begun"))
    program.read(starts)
    for label in labels:
        program.update(label, program.named(label))
        program.update(f"{label}_twice", program.named(label))
    held = [f"{name}_held" for name in names["nested"]]
    inner = [program.choose(held, CONDITION_INPUT, copies["nested"], names["nested"])]
    program.lines.append(program.choose(later["nested"], CONDITION_INPUT, inner, held))
    program.lines.append(program.choose(later["otherwise"], "no", copies["otherwise"], names["otherwise"]))
    body = program.loop_body([], copies["looped"], names["looped"])
    program.lines.append(f"{listed(later['looped'])} = Loop (trips, {CONDITION_INPUT}) <{body}>")
    for label, results in later.items():
        for result in results:
            program.output(result, (2, *SHAPE) if label == "looped" else SHAPE)
    _add_captured_results(program)
    _add_branches(program)
    _add_views(program, given)
    held = ["G_held"]
    program.lines.append(program.choose(["G_late"], CONDITION_INPUT, ["G_held = Identity (X_new_nested)"], held))
    program.update("late", program.named("negative", G="G_late") | _positive(program))
    flat = [f"{letter}_again = Flatten ({letter}_new_late)" for letter in carried]
    program.lines += flat
    program.update("again", program.named("again", G="G_late"))
    program.read(f"{letter}_new_late" for letter in carried)
    for label, order in (("joined", (0, 1, 0)), ("joined_again", (1, 0))):
        parts = [f"{carried[place]}_new_late" for place in order]
        program.lines.append(f"{label} = Concat <axis = 0> ({listed(parts)})")
        program.output(label, (2 * len(parts), 2))


def _add_branches(program: _Program) -> None:
    """Add Ifs whose branches each have a node: with other attributes, or with one other operand."""
    own = program.give_tensor("own")
    begun = program.named("begun")
    others = {
        **other_attributes(program.op_type, program.own),
        **({"mode": "standard"} if program.op_type == "Momentum" else {}),
    }
    program.constants += [f"{typed(program.own, ())} R_other = {{{OTHER_RATE}}}", "int64 T_none = {0}"]
    first = program.step("inside", own)
    second = {
        "attributes": program.step("inside", own, attributes=attributes_text(others)),
        "R": program.step("inside", own, R="R_other"),
        "T": program.step("inside", own, T="T_none"),
        **{letter: program.step("inside", own | {letter: begun[letter]}) for letter in program.letters},
    }
    inside = [f"{letter}_new_inside" for letter in program.carried]
    one = program.graph("one", [], inside, [first])
    for label, line in second.items():
        other = program.graph("other", [], inside, [line])
        for word, condition in (("first", CONDITION_INPUT), ("second", "no")):
            results = [f"{letter}_{word}_{label}" for letter in program.carried]
            program.lines.append(f"{listed(results)} = If ({condition}) <then_branch = {one}, else_branch = {other}>")
            for result in results:
                program.output(result)


def _add_captured_results(program: _Program) -> None:
    """Add nodes whose results only Ifs read: one, or several in each other."""
    for depth in range(1, 4):
        program.lines.append(program.step(f"inner_{depth}", program.named("begun")))
        results = [f"{letter}_new_inner_{depth}" for letter in program.carried]
        lines = [f"{result}_0 = Neg ({result})" for result in results]
        for level in range(1, depth + 1):
            taken, chosen = ([f"{result}_{number}" for result in results] for number in (level - 1, level))
            lines = [program.choose(chosen, CONDITION_INPUT, lines, taken)]
        program.lines += lines
        for result in chosen:
            program.output(result)


def _positive(program: _Program) -> dict[str, str]:
    """Return the name of a value that H may have, if the operator has H."""
    return {"H": "H_kept_later"} if "H" in program.letters else {}


def _add_views(program: _Program, given: Mapping[str, str]) -> None:
    """Add nodes whose operands are second names of other values, which are read afterwards."""
    program.lines += ["zero = Constant <value = int64[1] {0}> ()", "thin = Constant <value = int64[3] {2, 1, 2}> ()"]
    program.lines.append("wide = Constant <value = int64[2] {2, 2}> ()")
    kinds = {
        "same": ("Identity ({})", "Identity ({})", SHAPE, SHAPE),
        "reshaped": ("Reshape ({}, thin)", "Reshape ({}, wide)", (2, 1, 2), SHAPE),
        "dropped": ("Identity ({})", "Dropout ({})", SHAPE, SHAPE),
        "squeezed": ("Unsqueeze ({}, zero)", "Squeeze ({}, zero)", (1, *SHAPE), SHAPE),
        "unsqueezed": ("Identity ({})", "Unsqueeze ({}, zero)", SHAPE, (1, *SHAPE)),
        "flat": ("Reshape ({}, thin)", "Flatten ({})", (2, 1, 2), SHAPE),
        "cast": ("Identity ({})", f"Cast <to = {onnx.TensorProto.FLOAT}> ({{}})", SHAPE, SHAPE),
    }
    for kind, (before, view, base, shape) in kinds.items():
        for letter, name in given.items():
            program.lines += [
                f"{letter}_{kind}_given = {before.format(name)}",
                f"{letter}_{kind}_base = Neg ({letter}_{kind}_given)",
                f"{letter}_{kind} = {view.format(f'{letter}_{kind}_base')}",
            ]
        program.update(kind, program.named(kind), shape=shape)
        program.read((f"{letter}_{kind}_base" for letter in program.letters), base)
        for letter in given:
            program.lines += [
                f"{letter}_{kind}_first = Neg ({letter}_{kind}_given)",
                f"{letter}_{kind}_second = {view.format(f'{letter}_{kind}_first')}",
            ]
        firsts = {letter: f"{letter}_{kind}_first" for letter in program.letters}
        program.update(f"{kind}_first", firsts, shape=base)
        program.read((f"{letter}_{kind}_second" for letter in program.letters), shape)


def _several(program: _Program) -> None:
    """Add scenarios in which tensors of one node share values, memory or a gradient made from another operand."""
    letters = program.letters
    carried = program.carried
    for letter in letters:
        low, high = OPERAND_RANGES["H"]
        value = pseudo_random_array(f"{program.name}/{letter}_any", SHAPE, program.own, low, high)
        program.give(f"{letter}_any_negative", -value)
    given = {letter: f"{letter}_any_negative" for letter in letters}
    for by in range(1, len(letters)):
        first = program.make_tensor(f"turned_{by}", given)
        names = list(first.values())
        program.update(f"turned_{by}", first, dict(zip(letters, [*names[by:], *names[:by]], strict=True)))
    program.give("R_negative", -program.values["R"])
    program.lines.append("R_made = Neg (R_negative)")
    scalars = [program.give_tensor(f"scalar_{number}", ()) for number in (1, 2)]
    program.update("scalars", *scalars, shape=(), R="R_made")
    first = program.make_tensor("made", given)
    program.lines += [f"G_of_{letter} = Neg ({letter}_made)" for letter in carried]
    tensors = [program.give_tensor(f"beside_{letter}") | {"G": f"G_of_{letter}"} for letter in carried]
    program.update("made", first, *tensors)
    for letter in carried:
        own = program.make_tensor(f"from_{letter}", {one: name for one, name in given.items() if one != "G"})
        program.lines.append(f"G_from_{letter} = Neg ({letter}_from_{letter})")
        program.update(f"from_{letter}", own)
    first = program.give_tensor("beside")
    infinite = program.give_tensor("infinite")
    program.values["G_infinite"][0, 0] = np.inf
    program.update("infinite", infinite, first)
    program.update("infinite_last", first, infinite)
    program.lines.append(program.step("unread", infinite, first))
    program.output("X_new_unread_2")
    program.output(f"{carried[1]}_new_unread_1")
    parts = program.give_tensor("part", (PARTS[1],))
    program.constants.append(f"int64[3] lengths = {{{listed(map(str, PARTS))}}}")
    for letter in letters:
        name = f"{letter}_whole"
        program.give(
            name, pseudo_random_array(f"{program.name}/{name}", (WHOLE,), program.own, *OPERAND_RANGES[letter])
        )
        program.lines.append(f"{letter}_1, {letter}_2, {letter}_3 = Split ({name}, lengths)")
        program.update(f"part_{letter}", parts | {letter: f"{letter}_2"}, shape=(PARTS[1],))
    program.update("vanishing", program.give_tensor("vanishing"), first)
    program.values["X_vanishing"][0] = [0, -1]
    program.values["G_vanishing"][0] = [0, USUAL_ATTRIBUTES[program.op_type]["norm_coefficient"]]
    rows = [program.named(f"row_{number}") for number in range(3)]
    for letter, value in tensor_operands(program.op_type, f"{program.name}/rows", program.own, [(3, 2)]).items():
        program.give(f"{letter}_rows", value)
        program.lines.append(f"{listed(row[letter] for row in rows)} = Split ({letter}_rows)")
    turned = [row | {"G": rows[place - 1]["G"]} for place, row in enumerate(rows)]
    program.update("rows", *turned, shape=(1, 2))
    program.constants += [f"{typed(program.own, ())} R_zero = {{0}}", f"{program.stored('X')}"]
    program.update("zero_rate", first, R="R_zero")
    program.update("stored", first | {"X": "X_stored"})
    program.output("X_stored")
    program.constants += [program.stored(letter) for letter in letters if letter != "X"]
    program.lines += ["R_fixed = Constant <value = float {0.7}> ()", "T_fixed = Constant <value = int64 {0}> ()"]
    program.update("fixed", program.named("stored"), R="R_fixed", T="T_fixed")


def _planned(program: _Program) -> None:
    """Add nodes that share values, follow or precede operators that a runtime may fuse, or have constants to fold.

    ReduceSum and Split have attributes that are operands from opset 13 on.
    """
    letters = program.letters
    program.opset = 12
    usual = USUAL_ATTRIBUTES[program.op_type]
    plain = attributes_text({**usual, "norm_coefficient": 0.0})
    one = program.give_tensor("one")
    other = program.give_tensor("other")
    given = program.give_negative()
    program.make_tensor("shared", given)
    program.update("shared", program.named("shared"))
    program.update("shared_plain", one | {"G": "G_shared"}, attributes=plain)
    program.update("shared_twice", one | {"G": "G_shared"}, other | {"G": "G_shared"})
    program.read(["G_shared", "X_shared"])
    program.constants += [f"{typed(program.own, ())} c = {{0.5}}", f"{typed(program.own, (2,))} row = {{0.5, 0.75}}"]
    program.constants += [f"{typed(program.own, ())} least = {{-0.25}}", "int64 none = {0}", "int64 next = {1}"]
    program.lines += ["X_half = Mul (X_one, c)", "X_other_half = Mul (X_other, c)", "X_rows = Mul (X_one, row)"]
    wide = pseudo_random_array(f"{program.name}/G_wide", (2, 5), program.own, *OPERAND_RANGES["G"])
    program.give("G_wide", np.rint(wide * 4) / 4)
    program.give("G_deep", np.rint(np.stack([wide[:, :2], wide[:, 1:3], wide[:, 3:]], axis=1) * 4) / 4)
    program.lines.append("G_rest, G_parted = Split <axis = 1, split = [3, 2]> (G_wide)")
    program.update("parted", one | {"G": "G_parted"})
    gradients = {
        "summed": "ReduceSum <axes = [1], keepdims = 0> (G_deep)",
        "decayed": "Add (X_half, G_one)",
        "decayed_other": "Add (X_other_half, G_one)",
        "decayed_rows": "Add (G_one, X_rows)",
        "grown": "Sub (G_one, X_half)",
        "scaled": "Mul (G_one, c)",
        "opposite": "Neg (G_one)",
        "limited": "Clip (G_one, least, c)",
        "whole": "Floor (G_one)",
        "turned": "Transpose (G_one)",
    }
    for label, made in gradients.items():
        program.lines.append(f"G_{label} = {made}")
        program.update(f"{label}_alone", one | {"G": f"G_{label}"})
        program.update(label, one | {"G": f"G_{label}"}, other, attributes=plain)
    program.lines += ["R_half = Mul (R, c)", "T_next = Add (none, next)"]
    program.update("scaled_rate", one, R="R_half")
    for T in ("none", "T_next", "T"):
        program.update(f"count_{T}", one, T=T)
    turned = [letter for letter in letters if letter != "G"]
    program.lines += [f"{letter}_turned = Transpose ({letter}_other)" for letter in turned]
    program.lines.append(program.step("turned_back", program.named("turned", G="G_other")))
    program.update("turned_first", one | {"X": "X_turned"}, other)
    for letter in turned:
        program.lines.append(f"{letter}_back = Transpose ({letter}_new_turned_back)")
        program.output(f"{letter}_back")
    program.lines.append(program.step("after", one, other, attributes=plain))
    for label, made in (("half", "Mul (X_new_after_1, c)"), ("rest", "Sub (X_new_after_2, X_half)")):
        program.lines.append(f"X_{label}_after = {made}")
        program.output(f"X_{label}_after")
    program.output("X_new_after_2")
    program.lines.append("G_between = Neg (X_new_scaled_rate)")
    program.update("between", other | {"G": "G_between"})
    _add_continued(program, one, other)
    _add_constants(program)
    program.training = (
        f"initialization () => ({typed(program.own, ())} c_first) {{ c_first = Constant <value = float {{4}}> () }}",
        f"algorithm () => ({typed(program.own, ())} c_updated) {{ c_updated = Add (c, c) }}",
    )


def _add_continued(program: _Program, first: Mapping[str, str], other: Mapping[str, str]) -> None:
    """Add nodes that continue another node, of which one attribute or scalar, or all attributes, are others."""
    usual = USUAL_ATTRIBUTES[program.op_type]
    others = {name: value / 2 if isinstance(value, float) else "standard" for name, value in usual.items()}
    changes = {name: ("R", "T", {**usual, name: value}) for name, value in others.items()}
    changes |= {"R": ("R_half", "T", {**usual}), "T": ("R", "none", {**usual}), "all": ("R", "T", others)}
    for label, (R, T, attributes) in changes.items():
        program.lines.append(program.step(f"begun_{label}", first))
        continued = program.named(f"new_begun_{label}", G=other["G"])
        program.update(f"continued_{label}", continued, R=R, T=T, attributes=attributes_text(attributes))
    program.read(f"{letter}_new_begun_all" for letter in program.carried)


def _add_constants(program: _Program) -> None:
    """Add nodes with constants in which one element differs from all others."""
    sizes = dict.fromkeys(UNEQUAL_PLACES, CONSTANT_SIZE) | {LONG_CONSTANT_SIZE - 1: LONG_CONSTANT_SIZE}
    fed = {size: program.give_tensor(f"fed_{size}", (size,)) for size in dict.fromkeys(sizes.values())}
    for letter in program.letters:
        tensors = []
        for place, size in sizes.items():
            name = f"{letter}_unequal_{place}"
            type = typed(program.own, (size,))
            values = listed("1.5" if each == place else "0.5" for each in range(size))
            program.constants.append(f"{type} {name}_stored = {{{values}}}")
            program.lines.append(f"{name}_made = Constant <value = {type} {{{values}}}> ()")
            tensors += [fed[size] | {letter: f"{name}_{word}"} for word in ("stored", "made")]
        program.lines.append(program.step(f"unequal_{letter}", *tensors))
        for result in program.carried:
            parts = [f"{result}_new_unequal_{letter}_{number}" for number in range(1, len(tensors) + 1)]
            program.lines.append(f"{result}_unequal_{letter} = Concat <axis = 0> ({listed(parts)})")
            program.output(f"{result}_unequal_{letter}", (2 * sum(sizes.values()),))


def _lengths(program: _Program) -> None:
    """Add a node with many tensors, a node with a long tensor after a short one, and many nodes.

    The tensors are parts of a repeated vector.
    """
    for letter in program.letters:
        low, high = OPERAND_RANGES[letter]
        program.give(
            f"{letter}_period", pseudo_random_array(f"{program.name}/{letter}", (PERIOD,), program.own, low, high)
        )
    for label, lengths in LENGTHS.items():
        whole = -(-sum(lengths) // PERIOD)
        sizes = [*lengths, whole * PERIOD - sum(lengths)]
        program.constants += [
            f"int64[{len(sizes)}] sizes_{label} = {{{listed(map(str, sizes))}}}",
            f"int64[1] repeats_{label} = {{{whole}}}",
            f"int64[2] shape_{label} = {{{whole}, {PERIOD}}}",
        ]
        tensors = [program.named(f"{label}_{place}") for place in range(len(sizes))]
        for letter in program.letters:
            parts = [tensor[letter] for tensor in tensors]
            program.lines += [
                f"{letter}_{label} = Tile ({letter}_period, repeats_{label})",
                f"{listed(parts)} = Split ({letter}_{label}, sizes_{label})",
            ]
        if label == "nodes":
            program.lines += [program.step(f"{label}_{number}", tensor) for number, tensor in enumerate(tensors, 1)]
        else:
            program.lines.append(program.step(label, *tensors))
        for letter in program.carried:
            parts = [f"{letter}_new_{label}_{number}" for number in range(1, len(sizes) + 1)]
            program.lines += [
                f"{letter}_joined_{label} = Concat <axis = 0> ({listed(parts)})",
                f"{letter}_periods_{label} = Reshape ({letter}_joined_{label}, shape_{label})",
            ]
            for word, operator in (("most", "ReduceMax"), ("least", "ReduceMin")):
                name = f"{letter}_{word}_{label}"
                program.lines.append(f"{name} = {operator} <axes = [0], keepdims = 0> ({letter}_periods_{label})")
                program.output(name, (PERIOD,))


def _loops(program: _Program) -> None:
    """Add Loops whose body uses the iteration number, exchanges or keeps carried values, or has another Loop."""
    letters = program.letters
    carried = program.carried
    state = carried[1:]
    start = program.give_tensor("start")
    program.give("trips", np.array(3))
    program.give("one", np.array(1))
    program.give("most", np.array(2**63 - 1))
    now = {letter: f"{letter}_now" for letter in letters} | {"G": "G_start"}
    inside = [f"{letter}_new_inside" for letter in carried]
    starts = [start[letter] for letter in carried]
    each = [f"{letter}_each = Identity ({letter}_new_inside)" for letter in carried]
    every = [f"{letter}_each" for letter in carried]
    made = program.make_tensor("made", program.give_negative())
    for label, count, lines, first in (
        ("number", "i", [], start),
        ("shifted", "i_shifted", ["i_shifted = Sub (i, one)"], made),
    ):
        given = inside if label == "number" else every
        nodes = [*lines, program.step("inside", now | {"G": first["X"]}, T=count), *each]
        untyped = [f"{typed(program.own, ())}[] {now[letter]}" for letter in carried]
        body = program.loop_body(untyped, nodes, [*inside, *given])
        results = [f"{letter}_{word}_{label}" for word in ("last", "each") for letter in carried]
        program.lines.append(
            f"{listed(results)} = Loop (trips, , {listed(first[letter] for letter in carried)}) <{body}>"
        )
        for result in results:
            program.output(result, (3, *SHAPE) if "each" in result else SHAPE)
    program.read(made[letter] for letter in carried)
    names = ["X_now", "Y_now", *(now[letter] for letter in state), "G_now", "G_same"]
    nodes = ["G_sum = Add (G_now, G_same)", program.step("inside", now | {"X": "Y_now", "G": "G_sum"})]
    nodes += ["Y_next = Identity (X_now)", "G_next = Identity (G_now)"]
    body = program.loop_body(names, nodes, ["X_new_inside", "Y_next", *inside[1:], "G_next", "G_same"])
    results = [f"{name.removesuffix('_now')}_exchanged" for name in names]
    taken = ["X_start", "G_start", *starts[1:], "G_start", "X_start"]
    program.lines.append(f"{listed(results)} = Loop (trips, {CONDITION_INPUT}, {listed(taken)}) <{body}>")
    for result in results:
        program.output(result)
    lines = ["goes_on = Identity (d)", "G_out = Add (G_in, G_start)"]
    inner = program.graph("inner", ["int64 j", "bool d", "G_in"], ["bool goes_on", "G_out"], lines)
    nodes = [f"G_grown = Loop (trips, {CONDITION_INPUT}, G_start) <body = {inner}>"]
    nodes += [program.step("inside", start | {"G": "G_grown"}, T="i")]
    body = program.loop_body([], nodes, inside)
    results = [f"{letter}_outer" for letter in carried]
    program.lines.append(f"{listed(results)} = Loop (trips, {CONDITION_INPUT}) <{body}>")
    for result in results:
        program.output(result, (3, *SHAPE))
    nodes = ["n_next = Add (n, one)", "goes = Less (n_next, trips)", program.step("inside", now, T="n")]
    types = ["int64 n", *(now[letter] for letter in carried)]
    body = program.graph("body", ["int64 i", "bool c", *types], ["bool goes", "int64 n_next", *inside], nodes)
    program.lines.append("fixed = Constant <value = int64 {4}> ()")
    for label, most in (("endless", ""), ("long", "most"), ("fixed", "fixed")):
        results = [f"{letter}_{label}" for letter in carried]
        taken = [most, CONDITION_INPUT, "one", *starts]
        program.lines.append(f"n_{label}, {listed(results)} = Loop ({listed(taken)}) <body = {body}>")
        for result in results:
            program.output(result)
    _add_varying(program, start)
    _add_kept(program, start)


def _add_varying(program: _Program, start: Mapping[str, str]) -> None:
    """Add Loops in whose body only one operand, or the condition of an If, changes from iteration to iteration."""
    inside = [f"{letter}_new_inside" for letter in program.carried]
    rows = {"R": np.array([RATE, OTHER_RATE, -RATE], program.own), "T": np.array([2, 0, 1])}
    for letter in program.letters:
        name = f"{program.name}/{letter}_rows"
        rows[letter] = pseudo_random_array(name, (3, *SHAPE), program.own, *OPERAND_RANGES[letter])
    outer = {"R": "R", "T": "T", **start}
    for operand, values in rows.items():
        program.give(f"{operand}_rows", values)
        taken = {**outer, operand: f"{operand}_row"}
        lines = [f"{operand}_row = Gather ({operand}_rows, i)"]
        tensor = {letter: taken[letter] for letter in program.letters}
        lines.append(program.step("inside", tensor, R=taken["R"], T=taken["T"]))
        results = [f"{letter}_varying_{operand}" for letter in program.carried]
        body = program.loop_body([], lines, inside)
        program.lines.append(f"{listed(results)} = Loop (trips, {CONDITION_INPUT}) <{body}>")
        for result in results:
            program.output(result, (3, *SHAPE))
    program.constants += [program.stored(letter) for letter in program.letters]
    program.constants.append(f"int64 iterations = {{{ITERATIONS}}}")
    numbered = [f"{letter}_varying_number" for letter in program.carried]
    body = program.loop_body([], [program.step("inside", program.named("stored"), T="i")], inside)
    program.lines.append(f"{listed(numbered)} = Loop (iterations, {CONDITION_INPUT}) <{body}>")
    for result in numbered:
        program.output(result, (ITERATIONS, *SHAPE))
    grown = program.graph(
        "inner",
        ["int64 j", "bool d", "G_in"],
        ["bool on", "G_out"],
        ["on = Identity (d)", "G_out = Add (G_in, G_start)"],
    )
    nodes = [f"G_grown = Loop (i, {CONDITION_INPUT}, G_start) <body = {grown}>"]
    body = program.loop_body([], [*nodes, program.step("inside", {**start, "G": "G_grown"})], inside)
    results = [f"{letter}_varying_trips" for letter in program.carried]
    program.lines.append(f"{listed(results)} = Loop (trips, {CONDITION_INPUT}) <{body}>")
    held = [f"{letter}_held" for letter in program.carried]
    nodes = [program.step("inside", start), *(f"{a} = Identity ({b})" for a, b in zip(held, inside, strict=True))]
    zeros = [f"{name}_none = Constant <value = {program.zeros()}> ()" for name in held]
    branches = [program.graph("taken", [], held, nodes)]
    branches.append(program.graph("other", [], [f"{name}_none" for name in held], zeros))
    given = [f"{letter}_given" for letter in program.carried]
    choice = f"{listed(given)} = If (is_one) <then_branch = {branches[0]}, else_branch = {branches[1]}>"
    body = program.loop_body([], ["is_one = Equal (i, one)", choice], given)
    chosen = [f"{letter}_varying_condition" for letter in program.carried]
    program.lines.append(f"{listed(chosen)} = Loop (trips, {CONDITION_INPUT}) <{body}>")
    for result in [*results, *chosen]:
        program.output(result, (3, *SHAPE))


def _add_kept(program: _Program, start: Mapping[str, str]) -> None:
    """Add Loops that hand on or read the operands of a node after it, exchange them, or end before the trip count."""
    letters = program.letters
    carried = program.carried
    starts = [start[letter] for letter in carried]
    now = {letter: f"{letter}_now" for letter in letters}
    inside = [f"{letter}_new_inside" for letter in carried]
    before = [f"{letter}_before" for letter in carried]
    given = [now["G"] if letter == "G" else f"{letter}_new_inside" for letter in letters]
    reads = [f"{letter}_read" for letter in letters]
    reading = [f"{read} = Neg ({name})" for read, name in zip(reads, now.values(), strict=True)]
    for label, names, lines, kept in (
        ("kept", before, [], [now[letter] for letter in carried]),
        ("read", [], reading, reads),
        ("kept_read", before, reading, [*(now[letter] for letter in carried), *reads]),
    ):
        body = program.loop_body([*now.values(), *names], [program.step("inside", now), *lines], [*given, *kept])
        results = [f"{name}_{label}" for name in [*now.values(), *names, *(reads if lines else [])]]
        taken = listed([*(start[letter] for letter in letters), *(starts if names else [])])
        program.lines.append(f"{listed(results)} = Loop (trips, {CONDITION_INPUT}, {taken}) <{body}>")
        for result in results:
            program.output(result, (3, *SHAPE) if result.split("_")[1] == "read" else SHAPE)
    nodes = [program.step("inside", now), "G_next = Neg (X_new_inside)"]
    given = ["G_next" if letter == "G" else f"{letter}_new_inside" for letter in letters]
    body = program.loop_body([*now.values()], nodes, given)
    results = [f"{letter}_spent" for letter in letters]
    taken = listed(f"{letter}_made" for letter in letters)
    program.lines.append(f"{listed(results)} = Loop (trips, {CONDITION_INPUT}, {taken}) <{body}>")
    program.lines.append("G_made_read = Neg (G_made)")
    for result in [*results, "G_made_read"]:
        program.output(result)
    turns = [*(now[letter] for letter in carried), "G_1", "G_2", "G_3"]
    nodes = [program.step("inside", now | {"G": "G_1"})]
    body = program.loop_body(turns, nodes, [*inside, "G_2", "G_3", "G_1"])
    results = [f"{name}_turned" for name in turns]
    taken = listed([*starts, "G_start", "X_start", "X_made"])
    program.lines.append(f"{listed(results)} = Loop (trips, {CONDITION_INPUT}, {taken}) <{body}>")
    swaps, own, given = _exchanged_states(program)
    body = program.loop_body(swaps, [program.step("inside", own)], given)
    swapped = [f"{name}_swapped" for name in swaps]
    starts_of = [start["X"], *(name for letter in [*carried[1:], "G"] for name in (start[letter], f"{letter}_made"))]
    program.lines.append(f"{listed(swapped)} = Loop (trips, {CONDITION_INPUT}, {listed(starts_of)}) <{body}>")
    for result in [*results, *swapped]:
        program.output(result)
    nodes = ["goes = Less (i, one)", program.step("inside", now | {"G": start["G"]})]
    every = [f"{letter}_each" for letter in carried]
    nodes += [f"{each} = Identity ({name})" for each, name in zip(every, inside, strict=True)]
    types = [now[letter] for letter in carried]
    body = program.graph("body", ["int64 i", "bool c", *types], ["bool goes", *inside, *every], nodes)
    results = [f"{letter}_{word}_early" for word in ("last", "each") for letter in carried]
    program.lines.append(f"{listed(results)} = Loop (fixed, {CONDITION_INPUT}, {listed(starts)}) <body = {body}>")
    for result in results:
        program.output(result, (2, *SHAPE) if "each" in result else SHAPE)


def _scans(program: _Program) -> None:
    """Add Scans with other axes and directions, exchanged states, or a captured state."""
    letters = program.letters
    carried = program.carried
    state = carried[1:]
    start = program.give_tensor("start")
    made = program.make_tensor("made", program.give_negative())
    for name, shape in (("G_middle", (2, 3, 2)), ("G_first", (3, 2, 2))):
        program.give(name, pseudo_random_array(f"{program.name}/{name}", shape, program.own, *OPERAND_RANGES["G"]))
    inside = [f"{letter}_new_inside" for letter in carried]
    each = [f"{letter}_each = Identity ({letter}_new_inside)" for letter in carried]
    every = [f"{letter}_each" for letter in carried]
    now = {letter: f"{letter}_now" for letter in letters} | {"G": "G_sum"}
    names = ["X_now", "Y_now", *(f"{letter}_now" for letter in state)]
    every[1:] = inside[1:]
    nodes = [
        "G_sum = Sub (G_1, G_2)",
        program.step("inside", now | {"X": "Y_now"}),
        "Y_next = Identity (X_now)",
        each[0],
    ]
    body = program.graph("body", [*names, "G_1", "G_2"], ["X_new_inside", "Y_next", *inside[1:], *every], nodes)
    results = [f"{name.removesuffix('_now')}_last" for name in names] + [f"{letter}_all" for letter in carried]
    axes = [1, 0, 2][: len(carried)]
    taken = ["X_made", "G_made", *(made[letter] for letter in state), "G_middle", "G_first"]
    ways = (
        f"num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [0, 1], scan_output_axes = {axes},"
        f" scan_output_directions = {[0, 1, 0][: len(carried)]}"
    )
    program.lines.append(f"{listed(results)} = Scan <{ways}, body = {body}> ({listed(taken)})")
    for place, result in enumerate(results):
        sizes = list(SHAPE)
        if result.endswith("_all"):
            sizes.insert(axes[place - len(names)], 3)
        program.output(result, sizes)
    for label, captured in (("captured", start), ("captured_made", made)):
        nodes = [program.step("inside", captured | {"G": "G_1"})]
        body = program.graph("body", ["G_1"], inside, nodes)
        results = [f"{letter}_{label}" for letter in carried]
        program.lines.append(f"{listed(results)} = Scan <num_scan_inputs = 1, body = {body}> (G_first)")
        for result in results:
            program.output(result, (3, *SHAPE))
    _add_scanned(program, made)
    swaps, own, given = _exchanged_states(program)
    body = program.graph("body", [*swaps, "G_1"], given, [program.step("inside", own)])
    results = [f"{name}_swapped" for name in swaps]
    taken = ["X_start", *(name for letter in [*state, "G"] for name in (start[letter], made[letter])), "G_first"]
    program.lines.append(f"{listed(results)} = Scan <num_scan_inputs = 1, body = {body}> ({listed(taken)})")
    for result in results:
        program.output(result)
    program.read(made.values())


def _exchanged_states(program: _Program) -> tuple[list[str], dict[str, str], list[str]]:
    """Return inputs, operands of the node and outputs of a body in which the two values of each state exchange places.

    X has one value, which the node updates.
    """
    pairs = [(f"{letter}_left", f"{letter}_right") for letter in [*program.carried[1:], "G"]]
    inputs = ["X_now", *(name for pair in pairs for name in pair)]
    operands = {letter: f"{letter}_left" for letter in program.letters} | {"X": "X_now"}
    return inputs, operands, ["X_new_inside", *(name for left, right in pairs for name in (right, left))]


def _add_scanned(program: _Program, made: Mapping[str, str]) -> None:
    """Add Scans over R or T alone, and a Scan that has its operands as states and whose last states are not read."""
    letters = program.letters
    carried = program.carried
    inside = [f"{letter}_new_inside" for letter in carried]
    each = [f"{letter}_each = Identity ({letter}_new_inside)" for letter in carried]
    program.give("R_rows", np.array([RATE, OTHER_RATE, -RATE], program.own))
    program.give("T_rows", np.array([2, 0, 1]))
    for scalar, type in (("R", typed(program.own, ())), ("T", "int64")):
        around = program.make_tensor(f"around_{scalar}", program.named("negative"))
        scalars = {"R": "R", "T": "T", scalar: f"{scalar}_row"}
        lines = [program.step("inside", around, R=scalars["R"], T=scalars["T"])]
        body = program.graph("body", [f"{type} {scalar}_row"], inside, lines)
        results = [f"{letter}_scalar_{scalar}" for letter in carried]
        program.lines.append(f"{listed(results)} = Scan <num_scan_inputs = 1, body = {body}> ({scalar}_rows)")
        for result in results:
            program.output(result, (3, *SHAPE))
    now = {letter: f"{letter}_now" for letter in letters}
    nodes = [program.step("inside", now | {"G": "G_sum"}), "G_sum_next = Neg (X_new_inside)"]
    given = [*inside, "G_sum_next", *(f"{letter}_each" for letter in carried)]
    body = program.graph("body", [*(now[letter] for letter in carried), "G_sum", "G_1"], given, [*nodes, *each])
    taken = listed([*(made[letter] for letter in carried), "G_made", "G_first"])
    results = [f"{letter}_{word}_spent" for word in ("last", "each") for letter in carried]
    results.insert(len(carried), "G_last_spent")
    program.lines.append(f"{listed(results)} = Scan <num_scan_inputs = 1, body = {body}> ({taken})")
    for result in results[len(carried) + 1 :]:
        program.output(result, (3, *SHAPE))


def _functions(program: _Program) -> None:  # noqa: PLR0915 - one statement for each function
    """Add functions that call each other, have constants, subgraphs and Loops, or are called in a branch."""
    letters = program.letters
    carried = program.carried
    formal = ["R", "T", *letters]
    results = [f"{letter}_new" for letter in carried]
    tensor = {letter: letter for letter in letters}
    (first, second) = SWAPPED[program.op_type]
    (one, other) = SWAPPED_VALUES
    usual = USUAL_ATTRIBUTES[program.op_type]
    rest = {name: value for name, value in usual.items() if name not in {first, second}}
    referring = f"{first}: float = @{first}, {second}: float = @{second}, {attributes_text(rest)}"

    def step(tensor: Mapping[str, str], attributes: str = referring) -> str:
        return program.step("", tensor, attributes=attributes)

    def define(name: str, attributes: str, inputs: Sequence[str], lines: Sequence[str]) -> None:
        head = f"{name} <{attributes}>" if attributes else name
        program.functions.append(("", f"{head} ({listed(inputs)}) => ({listed(results)}) {{ {' '.join(lines)} }}"))

    def call(name: str, attributes: str, end: str, inputs: Sequence[str]) -> str:
        given = f" <{attributes}>" if attributes else ""
        return f"{listed(f'{result}{end}' for result in results)} = {CUSTOM_DOMAIN}.{name}{given} ({listed(inputs)})"

    own = program.give_tensor("own")
    taken = ["R", "T", *own.values()]
    inner = f"{first}: float = @{second}, {second}: float = @{first}"
    define("Step", f"{first}, {second}", formal, [step(tensor)])
    define("Defaulted", f"{first}: float = {other}, {second}: float = {one}", formal, [step(tensor)])
    define("Exchange", f"{first}, {second}", formal, [call("Step", inner, "", formal)])
    define("Forget", first, formal, [call("Defaulted", "", "", formal)])
    plain = attributes_text(usual)
    constants = {letter: f"{letter}_own = Constant <value = {program.tensor(letter)}> ()" for letter in letters}
    define(
        "Fresh",
        "",
        ["R", "T", "G"],
        [*(constants[letter] for letter in carried), step(program.named("own", G="G"), plain)],
    )
    scalars = [f"R_own = Constant <value = float {{{OTHER_RATE}}}> ()", "T_own = Constant <value = int64 {1}> ()"]
    fixed = program.step("", program.named("own"), R="R_own", T="T_own", attributes=referring)
    define("Fixed", f"{first}, {second}", [], [*constants.values(), *scalars, fixed])
    branch = [program.step("held", program.named("local"), attributes=plain)]
    lines = [f"{letter}_local = Neg ({letter})" for letter in letters]
    lines.append(program.choose(results, CONDITION_INPUT, branch, [f"{result}_held" for result in results]))
    define("Branch", "", [CONDITION_INPUT, *formal], lines)
    now = program.named("now", G="G")
    nodes = [program.step("step", now, attributes=referring)]
    body = program.loop_body([now[letter] for letter in carried], nodes, [f"{result}_step" for result in results])
    lines = [
        "trips = Constant <value = int64 {2}> ()",
        f"{listed(results)} = Loop (trips, , {listed(carried)}) <{body}>",
    ]
    define("Looped", f"{first}, {second}", formal, lines)
    values = f"{first} = {one}, {second} = {other}"
    other_values = f"{first} = {other}, {second} = {one}"
    program.constants += [f"{typed(program.own, ())} R_other = {{{OTHER_RATE}}}", "int64 T_none = {0}"]
    calls = [
        ("Exchange", "Exchange", values, taken),
        ("Forget", "Forget", f"{first} = {one}", taken),
        ("Looped", "Looped", values, taken),
        ("Looped", "looped_otherwise", other_values, taken),
        ("Defaulted", "zero", f"{first} = 0.0", taken),
        *(("Fresh", f"fresh_{number}", "", ["R", "T", G]) for number, G in enumerate(("G_own", "X_own"))),
        ("Fixed", "fixed", values, []),
        ("Fixed", "fixed_otherwise", other_values, []),
        *(("Step", f"step_{R}_{T}", values, [R, T, *own.values()]) for R in ("R", "R_other") for T in ("T", "T_none")),
    ]
    for name, end, attributes, inputs in calls:
        program.lines.append(call(name, attributes, f"_{end}", inputs))
    negative = program.give_negative()
    branch_call = call("Branch", "", "_branch", [CONDITION_INPUT, "R", "T", *negative.values()])
    program.lines += [*(f"{letter}_local = Abs ({letter}_own)" for letter in letters), branch_call]
    program.read(f"{letter}_local" for letter in letters)
    given, chosen = ([f"{result}_{word}" for result in results] for word in ("in", "if"))
    program.lines.append(program.choose(chosen, CONDITION_INPUT, [call("Exchange", values, "_in", taken)], given))
    for end in (*(end for _, end, *_ in calls), "branch", "if"):
        for result in results:
            program.output(f"{result}_{end}")
    _add_nested(program, own)


def _add_nested(program: _Program, tensor: Mapping[str, str]) -> None:
    """Add nodes in each scope, with other scalars and attributes, and in scopes in each other."""
    carried = program.carried
    kinds = ("If", "Loop", "Scan", "function")
    program.give("R_negative", np.array(-RATE, program.own))
    program.give("T_wide", np.array(2**32 + (program.op_type != "Momentum")))
    program.give("T_negative", np.array(-1))
    program.give("trips", np.array(2))
    program.give("rows", np.zeros(2, program.own))
    program.constants.append(f"{typed(program.own, SHAPE)} begin = {{{listed(['0'] * 4)}}}")
    usual = USUAL_ATTRIBUTES[program.op_type]
    plain = attributes_text({**usual, "norm_coefficient": 0.0})
    negative = {"R": "R_negative", "T": "T_negative"}
    wide = {"T": "T_wide", "attributes": plain}
    nests: list[tuple[Sequence[str], Mapping[str, str]]] = [
        ((kind,), each) for kind in kinds for each in (negative, wide)
    ]
    nests += [((outer, inner), {}) for outer in kinds for inner in kinds]
    nests += [((kind,) * 3, {}) for kind in kinds] + [(kinds[:2] * 2, {}), (kinds[::-1], {}), (kinds[2:] * 2, {})]
    for number, (scopes, changed) in enumerate(nests):
        lines = [program.step(f"at_{number}", tensor, **changed)]
        given = [f"{letter}_new_at_{number}" for letter in carried]
        for depth, kind in enumerate(reversed(scopes)):
            results = [f"{letter}_nest_{number}_{depth}" for letter in carried]
            lines, given = [_enclose(program, kind, f"{number}_{depth}", lines, given, results)], results
        program.lines += lines
        for result in given:
            program.output(result)


def _enclose(
    program: _Program, kind: str, label: str, lines: Sequence[str], given: Sequence[str], results: Sequence[str]
) -> str:
    """Return a node of control flow, or a call of a function, with nodes inside."""
    starts = [f"{letter}_start_{label}" for letter in program.carried]
    begin = listed(["begin"] * len(starts))
    if kind == "If":
        return program.choose(results, CONDITION_INPUT, lines, given)
    if kind == "Loop":
        body = program.graph(
            "body",
            [f"int64 i_{label}", f"bool c_{label}", *starts],
            [f"bool again_{label}", *given],
            [f"again_{label} = Identity (c_{label})", *lines],
        )
        return f"{listed(results)} = Loop (trips, {CONDITION_INPUT}, {begin}) <body = {body}>"
    if kind == "Scan":
        body = program.graph("body", [*starts, f"{typed(program.own, ())} row_{label}"], given, lines)
        return f"{listed(results)} = Scan <num_scan_inputs = 1, body = {body}> ({begin}, rows)"
    inputs = listed([*program.types, "begin"])
    program.functions.append(("", f"Nest_{label} ({inputs}) => ({listed(given)}) {{ {' '.join(lines)} }}"))
    return f"{listed(results)} = {CUSTOM_DOMAIN}.Nest_{label} ({inputs})"


def _overloads(program: _Program) -> None:
    """Add functions of one name with different overloads, called in another order than they are listed."""
    letters = program.letters
    carried = program.carried
    own = program.give_tensor("own")
    first, second = SWAPPED[program.op_type]
    usual = USUAL_ATTRIBUTES[program.op_type]
    results = [f"{letter}_new_step" for letter in carried]
    inputs = listed(["R", "T", *letters])
    for overload, value in (("slow", 0.125), ("", 0.5), ("fast", 0.375)):
        node = program.step(
            "step",
            {letter: letter for letter in letters},
            attributes=attributes_text({**usual, first: value, second: value / 2}),
        )
        program.functions.append((overload, f"Step ({inputs}) => ({listed(results)}) {{ {node} }}"))
    for word in ("fast", "", "slow", "fast"):
        suffix = f"{word or 'plain'}_{len(program.lines)}"
        given = [f"{letter}_new_{suffix}" for letter in carried]
        name = f"{CUSTOM_DOMAIN}.Step{f':{word}' if word else ''}"
        program.lines.append(f"{listed(given)} = {name} ({listed(['R', 'T', *own.values()])})")
        for result in given:
            program.output(result)


def _mixed(program: _Program) -> None:
    """Add nodes with tensors of float and of double."""
    kinds: Mapping[str, Any] = {"float": np.float32, "double": np.float64}
    tensors: dict[str, dict[str, str]] = {}
    program.give("R_double", np.array(OTHER_RATE))
    for word, own in kinds.items():
        for number in (1, 2):
            program.own = own
            tensors[f"{word}_{number}"] = program.give_tensor(f"{word}_{number}")
    for rate in ("R", "R_double"):
        for order in ("float double", "double float", "float double float"):
            words = [f"{word}_{1 + place // 2}" for place, word in enumerate(order.split())]
            label = f"{order.replace(' ', '_')}_{rate}"
            program.lines.append(program.step(label, *(tensors[word] for word in words), R=rate, T="T_none"))
            for letter in program.carried:
                for place, word in enumerate(words, 1):
                    program.own = kinds[word[:-2]]
                    program.output(f"{letter}_new_{label}_{place}")
    program.own = np.float32
    program.give("T_none", np.array(0))


def _names(program: _Program) -> None:
    """Add two nodes with two tensors each. `build_programs` gives their values the `SIMILAR_NAMES`."""
    for number in (1, 3):
        program.update(str(number), *(program.give_tensor(str(place)) for place in (number, number + 1)))


def _nested(program: _Program) -> None:
    """Add Loops, Scans and Ifs inside of an outer Loop or Scan, with nodes that read R, T and G of the outer iteration.

    The outer number of iterations is above 16, which some runtimes take for the largest one.
    """
    outer_count, inner_count = NESTED_COUNTS
    carried = program.carried
    plain = typed(program.own, ())
    start = program.give_tensor("start")
    program.give("trips", np.array(outer_count))
    program.give("inner_trips", np.array(inner_count))
    rates = np.array([RATE / (1 + place) for place in range(outer_count)], dtype=program.own)
    program.give("R_rows", rates)
    program.give("T_rows", np.arange(outer_count) % 3)
    name = f"{program.name}/G_rows"
    program.give("G_rows", pseudo_random_array(name, (outer_count, *SHAPE), program.own, *OPERAND_RANGES["G"]))
    program.give("T_inner_rows", np.arange(inner_count) % 4)
    program.give("flags", np.arange(outer_count) % 3 == 1)
    program.lines.append("G_turned = Neg (G_start)")
    tensor = start | {"G": "G_row"}
    inside = [f"{letter}_new_inside" for letter in carried]
    each = [f"{letter}_each" for letter in carried]
    step = program.step("inside", tensor, R="R_row", T="T_row")
    by_number = program.step("inside", tensor, R="R_row", T="j")
    by_row = program.step("inside", tensor, R="R_row", T="T_inner")
    turned = program.step("inside", start | {"G": "G_turned"}, R="R_row", T="T_row")
    loop = program.graph("inner", ["int64 j", "bool d"], ["bool on", *inside], ["on = Identity (d)", by_number])
    scan = program.graph("inner", ["int64 T_inner"], inside, [by_row])
    branches = [program.graph(word, [], inside, [line]) for word, line in (("taken", step), ("other", turned))]
    inner_nodes = {
        "loop": f"{listed(each)} = Loop (inner_trips, {CONDITION_INPUT}) <body = {loop}>",
        "scan": f"{listed(each)} = Scan <num_scan_inputs = 1, body = {scan}> (T_inner_rows)",
        "if": f"{listed(each)} = If (flag) <then_branch = {branches[0]}, else_branch = {branches[1]}>",
    }
    rows = ("R", "T", "G")
    taken = [f"{word}_row = Gather ({word}_rows, i)" for word in rows]
    scanned = [f"{plain} R_row", "int64 T_row", "G_row", "bool flag"]
    for inner, node in inner_nodes.items():
        shape = SHAPE if inner == "if" else (inner_count, *SHAPE)
        given = [f"{typed(program.own, shape)} {result}" for result in each]
        body = program.loop_body([], [*taken, "flag = Gather (flags, i)", node], given)
        around = {
            "loop": f"Loop (trips, {CONDITION_INPUT}) <{body}>",
            "scan": (
                f"Scan <num_scan_inputs = 4, body = {program.graph('body', scanned, given, [node])}>"
                " (R_rows, T_rows, G_rows, flags)"
            ),
        }
        for outer, text in around.items():
            results = [f"{letter}_{inner}_in_{outer}" for letter in carried]
            program.lines.append(f"{listed(results)} = {text}")
            for result in results:
                program.output(result, (outer_count, *shape))


def _expanded(program: _Program) -> None:
    """Add nodes that read an expanded row, column or scalar, of which two nodes and a reader need the old elements."""
    own = program.give_tensor("own")
    program.constants.append("int64[2] shape = {2, 2}")
    for word, size in (("row", (2,)), ("column", (2, 1)), ("scalar", (1,))):
        for letter in program.letters:
            given = f"{letter}_{word}_given"
            values = pseudo_random_array(f"{program.name}/{given}", size, program.own, *OPERAND_RANGES[letter])
            program.give(given, -values)
            source = f"{letter}_{word}"
            wide = f"{source}_wide"
            program.lines += [f"{source} = Neg ({given})", f"{wide} = Expand ({source}, shape)"]
            tensor = own | {letter: wide}
            program.update(f"{source}_first", tensor)
            program.update(f"{source}_second", tensor, T="T_none")
            program.read([source], size)
            program.read([wide])
    program.constants.append("int64 T_none = {0}")


PROGRAMS: Mapping[str, Callable[[_Program], None]] = {
    "memory": _memory,
    "several": _several,
    "loops": _loops,
    "scans": _scans,
    "functions": _functions,
    "overloads": _overloads,
    "mixed": _mixed,
    "names": _names,
    "planned": _planned,
    "lengths": _lengths,
    "nested": _nested,
    "expanded": _expanded,
}
"""Functions that add the scenarios of a program, by level."""

ADDED_PROGRAMS = ("nested", "expanded")
"""Levels that came later."""

SHAPES_LEVEL = "shapes"
"""Level of the program whose tensors have other shapes in each run."""


def programs_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `programs`: the kind of scenarios. Most need an operator of `SWAPPED`."""
    programs = (*PROGRAMS, SHAPES_LEVEL) if op_type in SWAPPED else ("scans", *ADDED_PROGRAMS, SHAPES_LEVEL)
    return FamilyDeclaration({"program": programs, "types": ("float",)}, added={"program": ADDED_PROGRAMS})


def build_programs(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `programs_declaration`."""
    own, _ = TYPES[row["types"]]
    program = _Program(op_type, name, own)
    if row["program"] == SHAPES_LEVEL:
        return _build_shapes(program)
    if row["program"] not in {"memory", "several", "loops", "functions", "nested"}:
        del program.values[CONDITION_INPUT], program.types[CONDITION_INPUT]
    PROGRAMS[row["program"]](program)
    built = program.build(ir_version=10 if row["program"] == "overloads" else IR_VERSION)
    return _rename(built) if row["program"] == "names" else built


def _rename(built: BuiltModel) -> BuiltModel:
    """Give the values of a model the `SIMILAR_NAMES`, one after the other."""
    model = onnx.load_model_from_string(built.model)
    names = iter(SIMILAR_NAMES)

    def rename(_: str) -> str:
        return next(names)

    Renamer(rename).rename_graph(model.graph, {}, rename)
    return BuiltModel(model.SerializeToString(deterministic=True), built.data_sets)


def _build_shapes(program: _Program) -> BuiltModel:
    """Build a model with two tensors whose sizes are open, an If and a Loop, and a run for each pair of shapes."""
    carried = program.carried
    runs = []
    for number, shapes in enumerate(RUN_SHAPES):
        tensors = tensor_operands(program.op_type, f"{program.name}/{number}", program.own, shapes)
        scalars = {
            "R": np.array(OTHER_RATE if number % 2 else RATE, dtype=program.own),
            "T": np.array(number % 3),
            CONDITION_INPUT: np.array(number % 2 == 1),
            "trips": np.array(RUN_TRIPS[number % len(RUN_TRIPS)]),
        }
        runs.append(scalars | tensors)
    program.give("trips", runs[0]["trips"])
    word = typed(program.own, ())
    sizes = {"1": f"{word}[rows, columns]", "2": f"{word}[?]"}
    for name, value in runs[0].items():
        if name not in {"R", "T", CONDITION_INPUT, "trips"}:
            program.give(name, value, sizes[name[-1]])
    both = [{letter: f"{letter}{number}" for letter in program.letters} for number in sizes]
    program.lines.append(program.step("shapes", *both))
    inside = [f"{letter}_new_inside" for letter in carried]
    types = [f"{sizes['1']} {name}" for name in inside]
    others = attributes_text(other_attributes(program.op_type, program.own))
    steps = [program.step("inside", both[0], attributes=each) for each in (None, others)]
    branches = [program.graph(name, [], types, [step]) for name, step in zip(("one", "other"), steps, strict=True)]
    results = [f"{letter}_chosen" for letter in carried]
    program.lines.append(
        f"{listed(results)} = If ({CONDITION_INPUT}) <then_branch = {branches[0]}, else_branch = {branches[1]}>"
    )
    each = [f"{letter}_each = Identity ({letter}_new_inside)" for letter in carried]
    now = {letter: f"{letter}_now" for letter in carried} | {"G": "G1"}
    body = program.loop_body(
        [f"{sizes['1']} {now[letter]}" for letter in carried],
        [program.step("inside", now, T="i"), *each],
        [*types, *(f"{sizes['1']} {letter}_each" for letter in carried)],
    )
    last, every = ([f"{letter}_{word}" for letter in carried] for word in ("last", "every"))
    taken = listed(both[0][letter] for letter in carried)
    program.lines.append(f"{listed([*last, *every])} = Loop (trips, , {taken}) <{body}>")
    program.outputs = [
        *(f"{sizes[number]} {letter}_new_shapes_{number}" for letter in carried for number in sizes),
        *(f"{sizes['1']} {name}" for name in [*results, *last]),
        *(f"{word}[?, rows, columns] {name}" for name in every),
    ]
    return program.build(runs)
