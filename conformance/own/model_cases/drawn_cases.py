"""Cases of single nodes that are drawn from the declarations, for mistakes and types that no node case of onnx has.

`onnx_cases` adds them to onnx's own. `drawn_cases.toml` lists the seeds of each operator.
`python -m checks.mutation.choose_seeds` chooses them: a seed is in the list because its node detects a mutant, or has
a value of a dimension, that neither the cases of onnx nor the seeds before it have.

`sized_cases` draws nodes of higher ranks and with longer axes than those of the seeds.

A seed that begins with `COVER` covers values of dimensions, such as a type. Its case has further data sets with hard
elements of the free operands.

`opset_cases` draws nodes of older versions of the operators. Each has the opset of a model that people have: `ALL`
stands for all versions from `LEAST_OPSET` on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import onnx

from conformance.base.errors import UnknownName, UsageError
from conformance.base.serialization.decoding import read_own_toml
from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case import Case
from conformance.exact.declarations.declaration_tables import (
    SIZE_SETS,
    Rule,
    declarations,
    declarations_of,
    has_schemas,
)
from conformance.exact.declarations.drawing import InvalidNodeError, draw_node, element_count
from conformance.exact.declarations.hard_values import MODES, TREND, TREND_ROWS
from conformance.exact.models.graphs import copy_of
from conformance.exact.models.input_files import initializer_arrays
from conformance.exact.models.model_validity import model_violation
from conformance.exact.reference.oracle import EVALUATION_ERRORS
from conformance.own.model_cases.case_operands import hard_data_sets
from conformance.own.model_cases.earlier_answers import CaseComputation, EarlierAnswers
from conformance.own.model_cases.model_cases import data_types
from conformance.own.model_cases.onnx_cases import (
    DRAWN_TAG,
    GENERATOR,
    OnnxCases,
    answers_of_model,
    check_outputs,
    define_onnx_cases,
    node_cases,
    operators_by_case,
)
from conformance.own.model_cases.parts import part_of_model

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from conformance.exact.declarations.declaration_tables import OperatorDeclaration
    from conformance.exact.declarations.drawing import DrawnNode, SizeOf
    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.oracle import Answer

ALL = "all"
"""The value of `--opset` for all versions."""

LEAST_OPSET = 7
"""The oldest opset whose nodes are drawn. Models of older opsets have another broadcasting, and are rare."""

CASES_OF_VERSION = 6
"""Number of nodes that are drawn of a version of an operator."""

ATTEMPTS = 10
"""Number of seeds that are tried for each case of a version."""

MAX_ELEMENTS = 1_000
"""Largest number of elements of the operands of a node of a version or a type."""

HIGH_RANKS = (4, 5, 6)
"""Ranks of which a node of each operator of tensors of any rank is drawn; the seeds have ranks up to 3."""

MAX_SIZE_OF_HIGH_RANK = 3
"""Largest size of an axis of these nodes."""

LONG_AXIS = 331
"""Length of an axis that a node has for each size of its operator; a prime, and more than 256."""

FAR_AXIS = 4099
"""Length of an axis that a kernel divides into blocks; a prime, so that the last block is short."""

FAR_RANKS = {"1": 3, "2": 2}
"""Rank of the nodes whose axis `S1`, or `S2`, has this length: the one before others, or the last one."""

MAX_RESULTS = 25_000
"""Largest number of elements of the outputs of such a node."""

EQUAL_SIZE = 3
"""Size of all axes that have more than one element, so that no shape tells the axes apart."""

EQUAL_CASES = 3
"""Number of nodes with axes of `EQUAL_SIZE`, or of one element, of an operator that has only one declaration."""

LARGE_SIZE = 16
"""An axis whose declared sizes are all smaller has no case with `FAR_AXIS` elements."""

MAX_LONG_AXES = 8
"""Number of sizes of an operator of which a node has a long axis; Concat has a size for each axis of each operand."""

MAX_SIZE_BESIDE = 3
"""Largest size of another axis of every second node that is drawn for a long axis."""

AXES_OF_DOTS = 2
"""Number of the axes `S...` of which each is long in a case; the others are like them."""

NAMED_ENOUGH = 6
"""Number of nodes from which one with different outputs is taken."""

LONG_ATTEMPTS = 40
"""Number of nodes that are drawn for a long axis: most have too many elements, or name another axis."""

MAX_LONG_ELEMENTS = {LONG_AXIS: 4_000, FAR_AXIS: 21_000}
"""Largest number of elements of the operands of a node with an axis of such a length."""

COVER = "cover/"
"""Begin of the seeds of nodes that cover values of dimensions."""

MAX_HARD_ELEMENTS = 256
"""Number of elements of operands up to which such a case has each kind of hard elements; a larger one has one kind."""

TYPE_CHOICE = "type "
"""Begin of the names of the choices of a drawn node that are types of variables."""


def onnx_cases(
    given_cases: Collection[Any],
    operators: Collection[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
    earlier: EarlierAnswers | None = None,
) -> OnnxCases:
    """Return the node cases of onnx with the answers of the reference, the drawn ones, and those of further types.

    Args:
        given_cases: the cases of onnx, as `node_cases` returns them.
        operators: the operators whose cases are returned, or None for all.
        progress: is called with the name of each case or operator.
        earlier: the answers of the corpus that is replaced; None if all are computed.
    """
    found = define_onnx_cases(given_cases, progress, operators, earlier)
    found.cases += drawn_cases(operators, progress, earlier)
    found.cases += list(typed_cases(found.cases, operators, progress, earlier))
    found.cases += list(sized_cases(operators, progress, earlier))
    return found


def count_drawn_cases(operators: Collection[str] | None = None) -> int:
    """Return the number of names for which `onnx_cases` calls `progress` beside those of onnx's cases."""
    return sum(map(len, drawn_case_seeds(operators).values())) + 2 * len(_typed_operators(operators))


def drawn_cases(
    operators: Collection[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
    earlier: EarlierAnswers | None = None,
) -> Iterator[tuple[str, Case]]:
    """Yield the cases with the names of their generator, apart from nodes that are invalid or left open by now.

    Args:
        operators: the operators, or None for all.
        progress: is called with the name of each case.
        earlier: the answers of the corpus that is replaced; None if all are computed.
    """
    for operator, seeds in drawn_case_seeds(operators).items():
        for number, seed in enumerate(seeds):
            name = f"test_{_id_of(operator)}_ours_{number:02}"
            progress(name)
            # The judgement of a node became wider since its seed was chosen, or a newer onnx refuses the node.
            with suppress(InvalidNodeError, Unsupported):
                yield GENERATOR, drawn_case(name, draw_node(operator, seed), earlier, has_hard=seed.startswith(COVER))


def chosen_onnx_cases(
    chosen: Collection[str] | None,
    opset: str | None,
    counter: Callable[[int], AbstractContextManager[Callable[[str], None]]],
    earlier: EarlierAnswers | None = None,
) -> OnnxCases:
    """Return the cases of all operators, or of the chosen operators; with an opset, those of its versions.

    Args:
        chosen: the operators; None for all.
        opset: the text of an opset; None for the cases of onnx and drawn ones.
        counter: opens the display of the progress of a number of cases.
        earlier: the answers of the corpus that is replaced; None if all are computed.

    Raises:
        UnknownName: there is no case of a chosen operator, of onnx or drawn.
        UsageError: the opset does not exist, or a chosen operator has no declaration.
    """
    if opset is not None:
        versions = opset_versions(opset, chosen)
        with counter(sum(map(len, versions.values()))) as progress:
            return OnnxCases(list(opset_cases(versions, progress, earlier)))
    given = node_cases(chosen)
    operators = operators_by_case(given)
    drawn = {*drawn_case_seeds(None), *_typed_operators(None)}
    for name in chosen or ():
        if name not in operators.values() and name not in drawn:
            known = {*operators_by_case(node_cases()).values(), *drawn}
            raise UnknownName("not-in-onnx", name=name, known=sorted(known))
    count = sum(not chosen or operator in chosen for operator in operators.values())
    with counter(count + count_drawn_cases(chosen)) as progress:
        return onnx_cases(given, chosen, progress, earlier)


def drawn_case_seeds(operators: Collection[str] | None) -> dict[str, Sequence[str]]:
    """Return the seeds of the drawn cases of each operator, or of the chosen operators."""
    declared = read_own_toml(__package__, "drawn_cases.toml").items()
    return {operator: seeds for operator, seeds in declared if operators is None or operator in operators}


def typed_cases(
    cases: Iterable[tuple[str, Case]],
    operators: Collection[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
    earlier: EarlierAnswers | None = None,
) -> Iterator[tuple[str, Case]]:
    """Yield a case for each element type of the newest version of an operator that no given case has.

    Its name has the type variable and the type: `test_add_ours_t_double`. A type has no case if the reference does not
    answer drawn nodes of it, or if a corpus cannot have the answers.

    Args:
        cases: the cases that exist, with the names of their generators.
        operators: the operators, or None for all.
        progress: is called with the name of each operator.
        earlier: the answers of the corpus that is replaced; None if all are computed.
    """
    known: set[tuple[str, str, str]] = set()
    for _, case in cases:
        known |= _newest_types(onnx.load_model_from_string(case.model))
    for operator in _typed_operators(operators):
        progress(operator)
        yield from ((GENERATOR, case) for case in _cases_of_types(operator, known, earlier))


def sized_cases(
    operators: Collection[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
    earlier: EarlierAnswers | None = None,
) -> Iterator[tuple[str, Case]]:
    """Yield cases of the newest version of each operator with tensors of rank 4 and 5, and with long axes.

    A kernel can have other code for them. The names are `test_softmax_ours_rank_4` and `test_softmax_ours_long_a`,
    where `a` is a size of the declaration; if both `n` and `N` are sizes, `test_matmulinteger_ours_long_n_2`. An
    operator whose operands have certain ranks has no case of a rank. `test_softmax_ours_far_s2` has an axis that
    kernels divide into blocks, and elements with a trend along the axis. All axes of `test_prelu_ours_equal_0_1` have
    the same size, so that a wrong axis gives no error. `test_sub_ours_same_input` has one tensor as two operands.

    Args:
        operators: the operators, or None for all.
        progress: is called with the name of each operator.
        earlier: the answers of the corpus that is replaced; None if all are computed.
    """
    for operator in _typed_operators(operators):
        progress(operator)
        known: dict[str, str] = {}  # the rank or size of each name, which has no capital letters
        newest = list(_newest_declarations(operator))
        is_only = len(newest) == 1
        for place, opset in newest:
            chosen = {"declaration": place, "opset": opset}
            declared = declarations_of(operator)[place]
            ranks = HIGH_RANKS if _has_any_rank(declared) else ()
            sizes: dict[str, SizeOf] = {f"rank_{rank}": partial(_size_at_rank, rank) for rank in ranks}
            types = chosen | {f"{TYPE_CHOICE}{name}": 0 for name in declared.types}
            # Hard elements of a long axis often leave the results open, or hide what a kernel does with the others.
            plain = types | _mode_choices(declared, MODES.index("halves"))
            hard = chosen | _mode_choices(declared, MODES.index("hard"))
            trend = _mode_choices(declared, MODES.index(TREND))
            names = _size_names(operator, chosen)
            sizes |= {f"long_{name}": partial(_long_size, name) for name in names}
            far_names = [name for name in names if _can_be_far(declared, name)]
            sizes |= {f"far_{name}": partial(_far_size, name, max(declared.ranks)) for name in far_names}
            sizes["same_input"] = _equal_size
            sizes |= {f"equal_{place}_{number}": _equal_size for number in range(EQUAL_CASES if is_only else 1)}
            for what, size_of in sizes.items():
                if what in known.values():
                    continue
                name = what.lower() if what.lower() not in known else f"{what.lower()}_2"
                far = (chosen if what.endswith("1") else types) | trend
                options = {
                    "long": (plain, chosen),
                    "far_": (far, types | trend, plain),
                    "same": (hard, chosen),
                }.get(what[:4], (chosen,))
                if case := _case_of_size(operator, options, what, name, size_of, earlier):
                    known[name] = what
                    yield GENERATOR, case
        yield from ((GENERATOR, case) for case in _cases_of_tables(operator, earlier))


def _cases_of_tables(operator: str, earlier: EarlierAnswers | None) -> Iterator[Case]:
    """Yield the cases of the declarations that have some of their own: `test_conv_ours_table_00`.

    Of the nodes that are drawn, each case has the one with the largest share of choices, and pairs of them, that no
    case before it has. A count would prefer nodes of many axes.
    """
    count = 0
    for place, declaration in enumerate(declarations_of(operator)):
        last = count + declaration.cases
        left: dict[str, tuple[DrawnNode, set[Hashable]]] = {}
        for attempt in range(declaration.cases * ATTEMPTS):
            seed = f"table/{place}/{attempt}"
            with suppress(InvalidNodeError):
                drawn = draw_node(operator, seed, {"declaration": place, "opset": 0})
                left[seed] = drawn, _combined_choices(drawn)
        covered: set[Hashable] = set()
        while left and count < last:
            shares = {seed: len(choices - covered) / (len(choices) or 1) for seed, (_, choices) in left.items()}
            drawn, choices = left.pop(max(shares, key=shares.__getitem__))
            with suppress(Unsupported):
                case = drawn_case(f"test_{_id_of(operator)}_ours_table_{count:02}", drawn, earlier)
                if _varies(case):
                    yield case
                    count += 1
                    covered |= choices


def _combined_choices(drawn: DrawnNode) -> set[Hashable]:
    """Return the options that were chosen for a node, and their pairs."""
    chosen = [(name, choice.index) for name, choice in drawn.choices.items() if choice.count > 1]
    return {*chosen, *combinations(chosen, 2)}


def _id_of(operator: str) -> str:
    return operator.lower().replace(".", "_")


def _varies(case: Case) -> bool:
    """Return whether an output has different elements: IsNaN of halves, for example, does not."""
    return any(
        answer.expected.size and (answer.expected != answer.expected.flat[0]).any() for answer in case.answers[0]
    )


def _has_any_rank(declaration: OperatorDeclaration) -> bool:
    """Return whether operands have `r` axes `S`, and not `r` axes `D` of an image after those of batch and channel."""
    operands = [operand.shape for operand in declaration.operands()]
    return len(declaration.ranks) > 1 and any(axes in shape for shape in operands for axes in ("S...", "S~"))


def _mode_choices(declaration: OperatorDeclaration, mode: int) -> dict[str, int]:
    """Return the choices that give the elements of all operands a mode, the number of one of `MODES`."""
    return {f"values of {operand.name}": mode for operand in declaration.operands() if operand.mark != "-"}


def _size_at_rank(rank: int, name: str, size: int) -> int:
    return rank if name == "r" else max(2, min(size, MAX_SIZE_OF_HIGH_RANK))


def _long_size(long: str, name: str, size: int) -> int:
    return LONG_AXIS if name == long else size


def _far_size(far: str, most: int, name: str, size: int) -> int:
    """Return the size of a name if the axis `far` is one of `FAR_AXIS` elements: there is a row for each trend."""
    if name == far:
        return FAR_AXIS
    if name == "r":
        return min(FAR_RANKS.get(far[1:], size), most)
    return {"S1": len(TREND_ROWS), "S2": 1, "S3": len(TREND_ROWS)}.get(name, size)


def _equal_size(name: str, size: int) -> int:
    return size if name == "r" or size <= 1 else EQUAL_SIZE


def _can_be_far(declaration: OperatorDeclaration, name: str) -> bool:
    """Return whether callers may choose any size of an axis, and a loop of a kernel can go along the axis.

    The axis is one of a first operand of any rank, or the declaration has large sizes of it.
    """
    base = name.rstrip("0123456789")
    if base != name:
        return any(f"{base}{dots}" in declaration.operands()[0].shape for dots in ("...", "~"))
    options = declaration.sizes.get(name, "any")
    every = SIZE_SETS[options] if isinstance(options, str) else () if isinstance(options, Rule) else options
    return name not in declaration.most and max(every, default=0) >= LARGE_SIZE


def _small_size(size_of: SizeOf, name: str, size: int) -> int:
    return size_of(name, size if name == "r" else min(size, MAX_SIZE_BESIDE))


def _size_names(operator: str, chosen: Mapping[str, int]) -> list[str]:
    """Return the names of the first sizes of drawn nodes; of the axes of a shape with three dots, two names."""
    names: dict[str, None] = {}
    for attempt in range(ATTEMPTS):
        with suppress(InvalidNodeError):
            choices = draw_node(operator, f"sizes/{attempt}", chosen).choices
            names |= {name.removeprefix("size "): None for name in choices if name.startswith("size ")}
    kept = [name for name in names if not name[-1].isdecimal() or int(name[-1]) <= AXES_OF_DOTS]
    return kept[:MAX_LONG_AXES]


def _case_of_size(
    operator: str,
    options: Sequence[Mapping[str, int]],
    what: str,
    name: str,
    size_of: SizeOf,
    earlier: EarlierAnswers | None,
) -> Case | None:
    """Return the case `name` of a rank or of a long axis; None if no drawn node has it and an answer.

    A node whose attribute or operand names the long axis goes first, and one whose outputs vary before all others.
    """
    alike: Case | None = None
    for chosen in options:
        for drawn in _nodes_of_size(operator, chosen, what, size_of):
            with suppress(Unsupported):
                case = drawn_case(f"test_{_id_of(operator)}_ours_{name}", drawn, earlier)
                if sum(answer.expected.size for answer in case.answers[0]) > MAX_RESULTS:
                    continue
                if _varies(case):
                    return case
                if alike is None and all(answer.expected.size for answer in case.answers[0]):
                    alike = case
    return alike


def _nodes_of_size(operator: str, chosen: Mapping[str, int], what: str, size_of: SizeOf) -> Iterator[DrawnNode]:
    """Yield some drawn nodes of a rank or with a long axis, those whose attribute or operand names the axis first."""
    length = FAR_AXIS if what.startswith("far") else LONG_AXIS if what.startswith("long") else 0
    most = MAX_LONG_ELEMENTS.get(length, MAX_ELEMENTS)
    named = 0
    others: list[DrawnNode] = []
    for attempt in range(LONG_ATTEMPTS if length == LONG_AXIS else ATTEMPTS):
        with suppress(InvalidNodeError):
            own = partial(_small_size, size_of) if length and attempt % 2 == 0 else size_of
            seed = f"sizes/{what}/{attempt}"
            drawn = draw_node(operator, seed, chosen, size_of=own, most_elements=most)
            if what == "same_input":
                drawn = _with_same_input(drawn)
            shapes = [array.shape for array in drawn.operands.values()]
            if length:
                has_size = any(size and size % length == 0 for shape in shapes for size in shape)
            elif what == "same_input":
                has_size = True
            elif what.startswith("equal"):
                has_size = any(shape.count(EQUAL_SIZE) > 1 for shape in shapes)
            else:
                has_size = max(map(len, shapes), default=0) >= HIGH_RANKS[0]
            if has_size and element_count(drawn) <= most:
                if not length or _is_along_axis(drawn, length):
                    named += 1
                    yield drawn
                else:
                    others.append(drawn)
        if named == NAMED_ENOUGH:
            break
    yield from others[: NAMED_ENOUGH - named]


def _with_same_input(drawn: DrawnNode) -> DrawnNode:
    """Return a node with one tensor for the first two operands that have the same type and shape.

    Raises:
        InvalidNodeError: no two operands have.
    """
    free = [(name, array) for name, array in drawn.inputs.items() if name in drawn.free]
    for (first, array), (second, other) in combinations(free, 2):
        if array.dtype == other.dtype and array.shape == other.shape:
            model = copy_of(drawn.model)
            graph = model.graph
            graph.node[0].input[:] = [first if name == second else name for name in graph.node[0].input]
            kept = [value for value in graph.input if value.name != second]
            del graph.input[:]
            graph.input.extend(kept)
            operands = {name: each for name, each in drawn.operands.items() if name != second}
            return replace(
                drawn, model=model, operands=operands, free=tuple(each for each in drawn.free if each != second)
            )
    raise InvalidNodeError(f"{drawn.operator}: no two operands have the same type and shape")


def _is_along_axis(drawn: DrawnNode, length: int) -> bool:
    """Return whether the axis that a node names is a long one; true if its operator names no axis."""
    node = drawn.proto
    given = {each.name: [each.i, *each.ints] for each in node.attribute if each.name in ("axis", "axes")}
    axes = [int(axis) for each in given.values() for axis in each]
    axes += [int(axis) for name in ("axis", "axes") if name in drawn.operands for axis in drawn.operands[name].flat]
    attributes = onnx.defs.get_schema(node.op_type, drawn.opset, node.domain).attributes
    if not axes and "axis" in attributes:
        axes.append(attributes["axis"].default_value.i)
    shape = next(iter(drawn.operands.values())).shape
    return not axes or any(-len(shape) <= axis < len(shape) and shape[axis] == length for axis in axes)


def _newest_declarations(operator: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the declarations of the newest version of an operator, and of this version among theirs."""
    for place, declared in enumerate(declarations_of(operator)):
        newest = onnx.defs.get_schema(operator, declared.domain).since_version
        opsets = declared.opsets_of(operator)[::-1]
        if newest in opsets:
            yield place, opsets.index(newest)


def _typed_operators(operators: Collection[str] | None) -> list[str]:
    chosen = [name for name, declared in declarations().items() if has_schemas(declared[0].domain)]
    return [name for name in chosen if operators is None or name in operators]


def _newest_types(model: onnx.ModelProto) -> set[tuple[str, str, str]]:
    """Return operator, type variable and type of the tensors of nodes whose operators have their newest version.

    Tensors between two nodes are left out.
    """
    versions = {each.domain: each.version for each in model.opset_import}
    graph = model.graph
    numbers = {value.name: value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
    numbers |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    types = {name: onnx.TensorProto.DataType.Name(number).lower() for name, number in numbers.items()}
    found = set()
    for node in graph.node:
        with suppress(onnx.defs.SchemaError):
            schema = onnx.defs.get_schema(node.op_type, node.domain)
            if schema.since_version <= versions.get(node.domain, 0):
                names = [*zip(node.input, schema.inputs, strict=False), *zip(node.output, schema.outputs, strict=False)]
                found |= {(node.op_type, formal.type_str, types[name]) for name, formal in names if name in types}
    return found


def _cases_of_types(operator: str, known: set[tuple[str, str, str]], earlier: EarlierAnswers | None) -> Iterator[Case]:
    """Yield a case for each type of a variable that is not known, and add all its types to the known ones."""
    for place, opset in _newest_declarations(operator):
        chosen = {"declaration": place, "opset": opset}
        for name, count in _type_choices(operator, chosen).items():
            for index in range(count):
                yield from _case_of_type(operator, chosen, name, index, known, earlier)


def _type_choices(operator: str, chosen: Mapping[str, int]) -> dict[str, int]:
    """Return the choices of type variables of drawn nodes, with the number of their options.

    The choice of a variable for an operand that can have one of two is none of them.
    """
    for attempt in range(ATTEMPTS):
        with suppress(InvalidNodeError):
            choices = draw_node(operator, f"types/{attempt}", chosen).choices
            return {
                name: choice.count
                for name, choice in choices.items()
                if name.startswith(TYPE_CHOICE) and name.removeprefix(TYPE_CHOICE).isidentifier()
            }
    return {}


def _case_of_type(
    operator: str,
    chosen: Mapping[str, int],
    name: str,
    index: int,
    known: set[tuple[str, str, str]],
    earlier: EarlierAnswers | None,
) -> Iterator[Case]:
    """Yield the case of an option of a type; nothing if its type is known, or has no answer."""
    variable = name.removeprefix(TYPE_CHOICE)
    for attempt in range(ATTEMPTS):
        with suppress(InvalidNodeError, Unsupported):
            drawn = draw_node(operator, f"types/{name}/{index}/{attempt}", {**chosen, name: index})
            if name not in drawn.choices:  # an operand of this type is left out
                continue
            text = drawn.choices[name].text
            if (operator, variable, text) in known:
                return
            if element_count(drawn) <= MAX_ELEMENTS:
                id = f"test_{operator}_ours_{variable}_{text}".lower().replace(".", "_")
                case = drawn_case(id, drawn, earlier)
                known |= _newest_types(drawn.model) | {(operator, variable, text)}
                yield case
                return


def opset_versions(text: str, operators: Collection[str] | None = None) -> dict[str, list[tuple[int, int]]]:
    """Return the versions of each operator that cases have, each with the opset of their models.

    Args:
        text: an opset of the main domain, for its versions, or `ALL`.
        operators: the operators, or None for all.

    Raises:
        UsageError: the opset does not exist or is too old, or an operator has no declaration.
    """
    newest = onnx.defs.onnx_opset_version()
    if text != ALL and not (text.isascii() and text.isdecimal() and LEAST_OPSET <= int(text) <= newest):
        raise UsageError("invalid-opset", text=text, least=LEAST_OPSET, newest=newest)
    for operator in operators or ():
        declarations_of(operator)
    found: dict[str, list[tuple[int, int]]] = {}
    for operator, declared in declarations().items():
        domain = declared[0].domain
        if (operators is None or operator in operators) and has_schemas(domain):
            versions = sorted({version for each in declared for version in each.opsets_of(operator)})
            opsets = {max(version, LEAST_OPSET) for version in versions} if text == ALL else {int(text)}
            if domain:
                opsets = {*versions} if text == ALL else set()
            found[operator] = [each for opset in sorted(opsets) for each in _version_in(operator, domain, opset)]
    return {operator: versions for operator, versions in found.items() if versions}


def _version_in(operator: str, domain: str, opset: int) -> Iterator[tuple[int, int]]:
    """Yield the version of an operator in an opset, and the opset; nothing if the opset does not have the operator."""
    with suppress(onnx.defs.SchemaError):
        schema = onnx.defs.get_schema(operator, opset, domain)
        if not schema.deprecated:
            yield schema.since_version, opset


def opset_cases(
    versions: Mapping[str, Sequence[tuple[int, int]]],
    progress: Callable[[str], None] = lambda _: None,
    earlier: EarlierAnswers | None = None,
) -> Iterator[tuple[str, Case]]:
    """Yield cases of drawn nodes of versions of operators, with the name of their generator.

    Args:
        versions: the versions and opsets by operator, as `opset_versions` returns them.
        progress: is called with the name of each version.
        earlier: the answers of the corpus that is replaced; None if all are computed.
    """
    for operator, every in versions.items():
        for version, opset in every:
            name = f"test_{operator.lower()}_opset_{opset}"
            progress(name)
            yield from ((GENERATOR, case) for case in _cases_of_version(operator, version, opset, name, earlier))


def _cases_of_version(
    operator: str, version: int, opset: int, name: str, earlier: EarlierAnswers | None
) -> Iterator[Case]:
    """Yield cases with nodes of each declaration of a version in turn; their names begin with `name`."""
    declared = declarations_of(operator)
    places = [place for place, each in enumerate(declared) if version in each.opsets_of(operator)]
    count = 0
    for attempt in range(CASES_OF_VERSION * ATTEMPTS if places else 0):
        place = places[attempt % len(places)]
        chosen = {"declaration": place, "opset": declared[place].opsets_of(operator)[::-1].index(version)}
        with suppress(InvalidNodeError, Unsupported):
            drawn = draw_node(operator, f"opset/{version}/{attempt}", chosen)
            drawn.model.opset_import[0].version = opset
            if element_count(drawn) <= MAX_ELEMENTS:
                yield drawn_case(f"{name}_{count:02}", drawn, earlier)
                count += 1
        if count == CASES_OF_VERSION:
            break


def drawn_case(name: str, drawn: DrawnNode, earlier: EarlierAnswers | None = None, *, has_hard: bool = False) -> Case:
    """Return the case of a drawn node.

    Args:
        name: the id of the case.
        drawn: the node.
        earlier: the answers of the corpus that is replaced; None if all are computed.
        has_hard: whether further data sets have hard elements of the free operands.

    Raises:
        Unsupported: the reference has no answer, or an operand cannot be in a corpus.
    """
    inputs = tuple(drawn.inputs.values())
    answers = _answers(name, drawn, inputs, earlier)
    data_sets = [(inputs, answers)]
    for hard in hard_inputs(drawn) if has_hard else ():
        with suppress(Unsupported, *EVALUATION_ERRORS):
            data_sets.append((hard, _answers(name, drawn, hard, earlier)))
            if element_count(drawn) > MAX_HARD_ELEMENTS:
                break
    return Case(
        name,
        f"{drawn.operator} gives what its specification states for a drawn node of opset {drawn.opset}",
        Level.MUST,
        (),
        (drawn.operator, "onnx", *data_types(drawn.model, drawn.operator, answers), DRAWN_TAG),
        drawn.model.SerializeToString(deterministic=True),
        tuple(values for values, _ in data_sets),
        answers=tuple(tuple(each) for _, each in data_sets),
        full_check_exception=model_violation(drawn.model, shapes=True) or "",
    )


def hard_inputs(drawn: DrawnNode) -> list[tuple[Array, ...]]:
    """Return hard elements of the inputs of a drawn node, in several kinds; none if no operand is free."""
    part = part_of_model(drawn.model, initializer_arrays(drawn.model.graph), drawn.inputs)
    return [tuple(each.values()) for each in hard_data_sets(part)]


def _answers(
    name: str, drawn: DrawnNode, inputs: tuple[Array, ...], earlier: EarlierAnswers | None
) -> Sequence[Answer]:
    """Return the answers of a data set of a case.

    Raises:
        Unsupported: the reference has no answer, or an operand cannot be in a corpus.
    """
    make = partial(CaseComputation.of, drawn.model, inputs)
    answers = (earlier or EarlierAnswers()).find_or(name, make, partial(answers_of_model, drawn.model, inputs))
    check_outputs(drawn.model, answers)
    return answers
