"""Inputs for a user's model: from files, or pseudo-random values within what the model accepts.

Open dimensions have sizes that are chosen so that no tensor of the model is empty. Size 2 is enough for most models,
but a network for images may reduce an image of 2x2 to nothing. Candidates are therefore tried in a fixed order: size 2,
then common sizes of images and sequences, then ever larger sizes. The first candidate is chosen for which onnx's shape
inference finds neither a contradiction nor an empty tensor. Dimensions of one name have one size. A name such as
`past + 1` or `past + length` is a sum, and any other name is tried as the sum of two. An input of one element that the
model compares with a constant, such as a sample rate, has the value of the constant. `other_inputs` has the other
candidates for a subject that does not run the first one: shape inference does not see the size of every tensor.
"""

from __future__ import annotations

import base64
import io
import math
import re
import shlex
import tokenize
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, combinations, groupby, islice, zip_longest
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import helper

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import open_zip, read_input, write_bytes_atomically
from conformance.base.files.journal import require_no_link, require_state_folder, state_errors
from conformance.base.serialization.decoding import MalformedError, decode_json
from conformance.exact.declarations.hard_values import (
    choose_by_bits,
    declared_range,
    element_bits,
    fitting_declarations,
    range_options,
)
from conformance.exact.judgement.operator_call import fed_values
from conformance.exact.models.arrays import (
    MAX_RANK,
    Array,
    array_of,
    check_shape,
    dimension_text,
    element_count,
    has_operator,
    is_floating,
    is_text,
    item_type,
    object_array,
    parse_value,
    text_array,
    type_name,
    type_text,
    value_message_of,
)
from conformance.exact.models.encoded_messages import MAX_TEXTS, decode_message
from conformance.exact.models.graphs import (
    constant_names,
    infer_shapes,
    is_operator,
    iter_nodes,
    names_taken_by,
    subgraphs_of,
)
from conformance.exact.models.input_files import DeclaredInput, known_dtype, required_input_names, required_inputs
from conformance.exact.models.model_building import pseudo_random_array
from conformance.exact.reference.nodes import attribute_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.exact.judgement.operator_call import Values
    from conformance.exact.models.arrays import Value


MAX_INPUT_BYTES = 2**31
"""Maximum size of a file of inputs."""

MAX_HEADER_BYTES = 2**16
"""Maximum size of the header of an array in a file of inputs."""

MAX_ELEMENTS = 2**27
"""Maximum number of elements of all pseudo-random inputs."""

_DAMAGED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OSError,
    EOFError,
    SyntaxError,
    RuntimeError,
    MemoryError,
    OverflowError,
    DecodeError,
    MalformedError,
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
)
"""Errors that NumPy and protobuf raise for a damaged file."""

_DATA_SET = re.compile(r"test_data_set_(\d+)$")
_NUMBERED = re.compile(r"input_(\d+)\.(pb|npy)$")


@dataclass(frozen=True)
class InputSet:
    """The inputs of one run.

    Attributes:
        name: the file or folder of the inputs, or `seed N`.
        arrays: the inputs, in the order of the graph's inputs without initializer. They are arrays, and also lists for
            sequences and None for empty optionals, until `with_tensor_inputs` replaces these by arrays, and maps.
        chosen: the options that give the sizes and values that the suite chose: `--shape X=2x3`, `--input rate=16000`.
    """

    name: str
    arrays: tuple[Value, ...]
    chosen: tuple[str, ...] = ()


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of `--shape NAME=2x3` by name; NAME is an input or a named dimension.

    Raises:
        UsageError: a text has another form.
    """
    shapes = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        if not name or not re.fullmatch(r"\d{1,9}(x\d{1,9})*", sizes):
            raise UsageError("invalid-shape", text=text)
        shapes[name] = tuple(int(size) for size in sizes.split("x"))
    return shapes


def parse_input_values(texts: Sequence[str], graph: onnx.GraphProto) -> dict[str, str]:
    """Return the texts of `--input NAME=VALUE` by the name of the input.

    Raises:
        UsageError: a text has another form, or the model has no such input.
    """
    known = required_input_names(graph)
    values = {}
    for text in texts:
        name = next((each for each in known if text.startswith(f"{each}=")), None)
        if name is None:
            hint = f"Give NAME=VALUE; the inputs are {', '.join(known) or 'none'}."
            raise UsageError("unknown-input", text=text, hint=hint)
        values[name] = text[len(name) + 1 :]
    return values


def choose_inputs(
    model: onnx.ModelProto, path: Path | None, shapes: Sequence[str], seed: int, values: Sequence[str] = ()
) -> list[InputSet]:
    """Return the inputs of a file or folder if one is given, and pseudo-random inputs otherwise.

    Open dimensions that `shapes` does not set have chosen sizes, see `choose_sizes`.

    Args:
        model: the model.
        path: the value of `--inputs`.
        shapes: the values of `--shape`.
        seed: the seed of pseudo-random inputs.
        values: the values of `--input`.

    Raises:
        UsageError: several are given, or the inputs cannot be read or made.
    """
    if path is None:
        given = parse_shapes(shapes)
        check_shape_names([model.graph], given)
        parsed = parse_input_values(values, model.graph)
        return [next(_inputs_of_sizes(model, given, choose_sizes(model, given), seed, parsed))]
    if shapes or values:
        raise UsageError("options-conflict.two", first="--shape" if shapes else "--input", second="--inputs")
    return read_inputs(path, model.graph)


def other_inputs(
    model: onnx.ModelProto, shapes: Sequence[str], seed: int, values: Sequence[str] = ()
) -> Iterator[InputSet]:
    """Yield the pseudo-random inputs of the other chosen sizes and values; for the arguments see `choose_inputs`."""
    given = parse_shapes(shapes)
    parsed = parse_input_values(values, model.graph)
    candidates = islice(size_candidates(model, given), MAX_TRIED_SIZES)
    tried = chain.from_iterable(_inputs_of_sizes(model, given, chosen, seed, parsed) for chosen in candidates)
    yield from islice(tried, 1, None)


def _inputs_of_sizes(
    model: onnx.ModelProto, given: Mapping[str, tuple[int, ...]], chosen: Shapes, seed: int, values: Mapping[str, str]
) -> Iterator[InputSet]:
    """Yield the inputs of some sizes with each of the values that are tried for inputs that the model compares."""
    made = make_inputs(model.graph, {**given, **chosen}, seed, values)
    names = required_input_names(model.graph)
    single = {
        name: each
        for name, each in zip(names, made.arrays, strict=True)
        if isinstance(each, np.ndarray) and each.size == 1 and name not in values
    }
    compared = compared_values(model.graph, single)
    options = chosen_options(model.graph, given, chosen)
    for number in range(max(map(len, compared.values()), default=1)):
        own = {name: texts[min(number, len(texts) - 1)] for name, texts in compared.items()}
        arrays = tuple(
            _filled(name, each, own[name]) if name in own else each
            for name, each in zip(names, made.arrays, strict=True)
        )
        added = tuple(shlex.join(["--input", f"{name}={text}"]) for name, text in own.items())
        yield replace(made, arrays=arrays, chosen=options + added)


MAX_TRIED_VALUES = 4
"""Maximum number of values that are tried for an input of one element."""

MAX_COMPARED = 2**20
"""Largest magnitude of a number that is tried next to a constant: a count of rounds may be such a number."""

_SAME_ELEMENTS = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
"""Operators whose result has the elements of the first operand."""

_ORDERS = ("Greater", "GreaterOrEqual", "Less", "LessOrEqual")

_COUNTS = {"Loop": 0, "OneHot": 1, "Range": 1, "TopK": 1}
"""Operators with an operand that counts rounds or results, and its position: 0 makes an empty tensor."""


def compared_values(graph: onnx.GraphProto, single: Mapping[str, Array]) -> dict[str, list[str]]:
    """Return the values to try for inputs of one element on which a branch may depend, as texts of `--input`.

    They are the constants with which `Equal` compares the input, and small numbers for a count of rounds or results.
    Without one, they are the pseudo-random value, and the constants of other comparisons with their neighbours, or the
    other truth value for the condition of an `If`.

    Args:
        graph: the main graph of the model.
        single: the pseudo-random values of the inputs of one element, by name.
    """
    origins = {name: name for name in single}
    constants: dict[str, onnx.TensorProto | None] = {tensor.name: tensor for tensor in graph.initializer}
    equal: dict[str, list[Any]] = {}
    others: dict[str, list[Any]] = {}
    for node in iter_nodes(graph) if single else ():
        first = next(iter(node.input), "")
        result = next(iter(node.output), "")
        if is_operator(node, "Constant"):
            constants[result] = next((each.t for each in node.attribute if each.name == "value"), None)
        elif is_operator(node, *_SAME_ELEMENTS) and first in origins:
            origins[result] = origins[first]
        elif is_operator(node, *_SAME_ELEMENTS) and first in constants:
            constants[result] = constants[first]
        elif is_operator(node, "If") and first in origins:
            name = origins[first]
            others.setdefault(name, []).append(not single[name].item())
        elif is_operator(node, *_COUNTS):
            count = next(islice(node.input, _COUNTS[node.op_type], None), "")
            if count in origins:
                equal.setdefault(origins[count], []).extend((DEFAULT_SIZE, 1))
        elif is_operator(node, "Equal", *_ORDERS):
            for own, other in zip(node.input, reversed(node.input), strict=True):
                value = _constant_item(constants.get(other)) if own in origins else None
                if value is None:
                    continue
                if node.op_type == "Equal":
                    equal.setdefault(origins[own], []).append(value)
                elif not isinstance(value, str) and abs(value) <= MAX_COMPARED:
                    others.setdefault(origins[own], []).extend((value, value - 1, value + 1))
    found = {}
    for name in single:
        if name in equal or name in others:
            texts = map(_value_as_text, [*equal.get(name, [single[name].item()]), *others.get(name, ())])
            fitting = [text for text in dict.fromkeys(texts) if _fits(single[name], text)]
            if fitting:
                found[name] = fitting[:MAX_TRIED_VALUES]
    return found


def _constant_item(tensor: onnx.TensorProto | None) -> Any:
    """Return the element of a constant of one element; None for another one, and for a number that is not finite."""
    if tensor is None or math.prod(tensor.dims) != 1 or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return None
    with suppress(*_DAMAGED):
        item = array_of(tensor).item()
        return item if isinstance(item, str) or math.isfinite(item) else None
    return None


def _value_as_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _fits(array: Array, text: str) -> bool:
    try:
        _filled("", array, text)
    except UsageError:
        return False
    return True


def _filled(name: str, array: Array, text: str) -> Array:
    """Return an array like the given one whose elements have the value of a text.

    Raises:
        UsageError: the element type does not have the value.
    """
    kind: Any = array.dtype
    if is_text(kind):
        return object_array([text] * array.size, array.shape)
    number = {"true": "1", "false": "0"}.get(text.lower(), text) if kind.kind == "b" else text
    try:
        value = float(number) if is_floating(kind) or kind.kind == "c" else int(number)
        with np.errstate(over="ignore"):
            filled: Array = np.full(array.shape, value).astype(kind)
            is_kept = isinstance(value, float) or int(np.asarray(value).astype(kind)) == value
    except (ValueError, OverflowError):
        is_kept = False
    if not is_kept:
        raise UsageError("input-value", name=name, text=text, type=type_name(kind))
    return filled


def given_inputs(graph: onnx.GraphProto, inputs: Values) -> InputSet:
    """Return the inputs that a caller gives as arrays.

    Args:
        graph: the main graph of the model.
        inputs: the inputs without initializer, by name or in order.

    Raises:
        UnknownName: there is no such input without initializer.
        UsageError: an input is missing, is no array, or has another type or shape than the model declares.
    """
    names = required_input_names(graph)
    values = fed_values(graph, inputs, names)
    for value in required_inputs(graph):
        try:
            DeclaredInput.of(value).check_value(values[value.name])
        except ValueError as error:
            raise UsageError("call-invalid", title=graph.name or "the model", problem=error) from None
    return InputSet("given arrays", tuple(values[name] for name in names))


def chosen_text(options: Sequence[str]) -> str:
    """Return a line with the options that change chosen sizes and values."""
    kinds = {"--shape": "sizes", "--input": "values"}
    named = " and ".join(kind for flag, kind in kinds.items() if any(each.startswith(flag) for each in options))
    return f"chosen {named}, which you can change: {' '.join(options)}"


def chosen_options(
    graph: onnx.GraphProto, given: Mapping[str, Sequence[int]], chosen: Mapping[str, Sequence[int]]
) -> tuple[str, ...]:
    """Return the options of the command line that give chosen sizes: `--shape batch=2`, or `--shape X=2x3`.

    A dimension has an option of its own if all open dimensions of its input have names.

    Args:
        graph: the main graph of the model.
        given: the shapes of inputs, and the sizes of named dimensions, that the user gave.
        chosen: the chosen shapes of inputs.
    """
    sizes: dict[str, Sequence[int]] = {}
    for value in required_inputs(graph):
        declared = DeclaredInput.of(value).shape
        if value.name not in chosen or declared is None:
            continue
        places = zip(declared, item_type(value.type).tensor_type.shape.dim, chosen[value.name], strict=True)
        named = {proto.dim_param: (size,) for known, proto, size in places if known is None}
        if all(named):
            sizes |= {name: size for name, size in named.items() if name not in given and not _terms(name)}
        elif named:
            sizes[value.name] = chosen[value.name]
    return tuple(
        shlex.join(["--shape", f"{name}={'x'.join(map(str, shape))}"]) for name, shape in sizes.items() if shape
    )


def make_inputs(
    graph: onnx.GraphProto, shapes: Mapping[str, tuple[int, ...]], seed: int, texts: Mapping[str, str] | None = None
) -> InputSet:
    """Return pseudo-random inputs that the model accepts; the same seed gives the same inputs on every machine.

    Numbers are between -1 and 1. Integers are 0 or 1, so that they are valid as indices, lengths and masks; lengths,
    classes and the like have the range that the other operands of a node leave them. Integers of 8 bits, which are
    images or quantized numbers, have all values of their type. An integer by which a node divides is 1. A text is a
    short one, or one of the attributes of the model.

    Args:
        graph: the main graph of the model.
        shapes: the shapes of inputs, and the sizes of named dimensions, by name.
        seed: the seed.
        texts: the value of all elements of an input, as text, by the name of the input.

    Raises:
        UsageError: an input is not a tensor of a type that can be made, a shape contradicts the model, a name is
            neither that of an input nor that of a dimension, or an input cannot have its value.
    """
    check_shape_names([graph], shapes)
    values = required_inputs(graph)
    divisors = {node.input[1] for node in graph.node if is_operator(node, "Div", "Mod") and len(node.input) > 1}
    nodes = list(iter_nodes(graph))
    made: list[Value] = []
    most = MAX_ELEMENTS
    takers: dict[str, list[onnx.NodeProto]] = {value.name: [] for value in values if value.type.HasField("map_type")}
    for node in nodes if takers else ():
        for name in takers.keys() & {*node.input}:
            takers[name].append(node)
    for value in values:
        is_of_texts = item_type(value.type).tensor_type.elem_type == onnx.TensorProto.STRING
        after = nodes_after(value.name, nodes) if is_of_texts else []
        own = takers.get(value.name, after if compared_texts(after) else nodes)
        made.append(_make_value(value, shapes, f"{seed}/0/{value.name}", own, most))
        most -= element_count(made[-1])
    given = texts or {}
    ranges = _ranges(graph, dict(zip((value.name for value in values), made, strict=True)))
    arrays: list[Value] = []
    for value, first in zip(values, made, strict=True):
        each = first
        if value.name in ranges and isinstance(first, np.ndarray):
            options = range_options(*ranges[value.name])
            each = choose_by_bits(options, element_bits(f"{seed}/1/{value.name}", first.shape)).astype(first.dtype)
        if value.name in given and not isinstance(each, np.ndarray):
            raise UsageError("input-value", name=value.name, text=given[value.name], type=type_text(value.type))
        if value.name in given:
            arrays.append(_filled(value.name, each, given[value.name]))
        else:
            arrays.append(np.ones_like(each) if value.name in divisors and _is_integer(each) else each)
    return InputSet(f"seed {seed}", tuple(arrays))


def _ranges(graph: onnx.GraphProto, made: Mapping[str, Value]) -> dict[str, tuple[int, int]]:
    """Return the smallest and the largest integer of each input of 8 bits, or that has a range, such as lengths."""
    known = {each.name: np.broadcast_to(np.zeros(()), tuple(each.dims)) for each in graph.initializer}
    known |= {name: each for name, each in made.items() if isinstance(each, np.ndarray)}
    found: dict[str, tuple[int, int]] = {}
    for node in graph.node:
        for place, name in enumerate(node.input):
            if name in made and _is_integer(made[name]):
                own = declared_range(fitting_declarations(node), node, place, known)
                if own is not None:
                    low, high = found.get(name, own)
                    found[name] = (max(low, own[0]), min(high, own[1]))
    for name, each in made.items():
        if _is_integer(each) and each.dtype.itemsize == 1:
            limits = np.iinfo(each.dtype)
            found.setdefault(name, (int(limits.min), int(limits.max)))
    return {name: own for name, own in found.items() if own[0] <= own[1]}


def _is_integer(value: Value) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu"


ITEMS = 2
"""Number of items of a sequence that is made."""


def _make_value(
    value: onnx.ValueInfoProto,
    shapes: Mapping[str, tuple[int, ...]],
    seed: str,
    nodes: Sequence[onnx.NodeProto],
    most: int,
) -> Value:
    """Return a tensor, a map, the item of an optional, or `ITEMS` items of a sequence with the given shape.

    Raises:
        UsageError: no operator takes values of its type.
    """
    kind = value.type.WhichOneof("value")
    if not has_operator(value.type):
        raise UsageError("cannot-make-input.inputs", name=value.name)
    if kind == "optional_type":
        return _make_value(element_info(value), shapes, seed, nodes, most)
    if kind == "sequence_type":
        item = element_info(value)
        return [_make_value(item, shapes, f"{seed}/{place}", nodes, most // ITEMS) for place in range(ITEMS)]
    if kind == "map_type":
        return _make_map(value, seed, nodes)
    return _make_input(value, shapes, seed, nodes, most)


MAX_KEYS = 64
"""Maximum number of keys of a map that is made."""


def _make_map(value: onnx.ValueInfoProto, seed: str, nodes: Sequence[onnx.NodeProto]) -> dict[Any, Any]:
    """Return a map with about half of the keys, and at least one, that `nodes` know, which take it.

    Raises:
        UsageError: it is not a map of texts or integers to texts or numbers.
    """
    type = value.type.map_type
    entry = known_dtype(type.value_type.tensor_type.elem_type)
    attributes = {each.name: each for node in nodes for each in node.attribute}
    if type.key_type == onnx.TensorProto.STRING:
        found = attributes.get("string_vocabulary")
        keys: list[Any] = [key.decode(errors="replace") for key in found.strings] if found else [*TEXTS]
    else:
        found = attributes.get("int64_vocabulary")
        keys = (
            [*found.ints]
            if found
            else [*range(min(attributes["max_map"].i, MAX_KEYS) if "max_map" in attributes else 8)]
        )
    if entry is None or not keys:
        raise UsageError("cannot-make-input.inputs", name=value.name)
    keys = list(dict.fromkeys(keys))[:MAX_KEYS]
    chances = pseudo_random_array(f"{seed}/keys", (len(keys),), np.float64, 0.0, 2.0)
    keys = [key for key, chance in zip(keys, chances, strict=True) if chance < 1] or keys[:1]
    if not is_text(entry):
        return dict(zip(keys, _random_numbers(seed, (len(keys),), entry), strict=True))
    texts = random_texts(seed, (len(keys),), (), NUMBERS if any(node.op_type == "CastMap" for node in nodes) else TEXTS)
    return dict(zip(keys, texts, strict=True))


def element_info(value: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
    """Return the declaration of the elements of a sequence or an optional, under its name."""
    kind = value.type.WhichOneof("value")
    return onnx.ValueInfoProto(name=value.name, type=getattr(value.type, kind).elem_type)


def shape_names(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the inputs and of the dimensions of a graph, to which `--shape` gives sizes."""
    values = [value for value in required_inputs(graph) if not value.type.HasField("map_type")]
    sizes = (size for value in values for size in item_type(value.type).tensor_type.shape.dim)
    return {value.name for value in values} | {size.dim_param for size in sizes if size.dim_param}


def check_shape_names(graphs: Iterable[onnx.GraphProto], shapes: Iterable[str]) -> None:
    """Check that each name of `--shape` is that of an input or of a dimension of a graph.

    Raises:
        UsageError: no graph has the name.
    """
    known = {name for graph in graphs for name in shape_names(graph)}
    for name in shapes:
        if name not in known:
            hint = f"Name one of {', '.join(sorted(known))}." if known else "Leave --shape out."
            raise UsageError("unknown-shape", name=name, hint=hint)


TEXTS = ("", "a", "A b", "the quick brown fox", "größer", "日本", "0", "1.5", "unknown")
"""Texts of pseudo-random inputs."""

ASCII_OPERATORS = frozenset(("RegexFullMatch", "StringNormalizer", "StringSplit", "Tokenizer"))
"""Operators that the reference does not judge on all texts outside of ASCII."""

SPLITTING_OPERATORS = frozenset(("StringSplit", "Tokenizer"))
"""Operators that make several texts of one."""

COMPARED_ATTRIBUTES = frozenset({
    "cats_strings", "classes_strings", "keys_strings", "keys_tensor", "pool_strings", "stopwords", "value",
    "value_strings",
})  # fmt: skip
"""Attributes whose texts are compared with those of an operand, or are those of a Constant."""

MAX_OWN_TEXTS = 64
"""Maximum number of texts of pseudo-random inputs that come from attributes of the model."""

LOOKED_UP = {
    "CategoryMapper": ("cats_strings", "cats_int64s"),
    "LabelEncoder": ("keys_strings", "keys_int64s", "keys_tensor", "classes_strings"),
    "OneHotEncoder": ("cats_strings", "cats_int64s"),
}
"""The attributes with the entries of each operator that returns a default for an element that is no entry."""

MAX_NAMED_NODES = 5
"""Maximum number of nodes that a warning names."""

MAX_WORDS = 3
"""Number of texts of attributes in one text of a model that splits texts."""

NUMBERS = ("0", "1.5", "-2")
"""Texts of a map whose texts are cast to numbers."""


def random_texts(
    seed: str, shape: Sequence[int], nodes: Iterable[onnx.NodeProto], others: Sequence[str] = TEXTS
) -> Array:
    """Return a pseudo-random tensor of strings: each second is one that a node compares with, and the first, too.

    Where a node splits texts, such a string can have several texts. All are of ASCII if the reference judges a node on
    these only, and there are such ones.
    """
    nodes = list(nodes)
    operators = {node.op_type for node in nodes}
    own = compared_texts(nodes)
    if len(own) > 1 and not operators.isdisjoint(SPLITTING_OPERATORS):
        own.append(" ".join(reversed(own[:MAX_WORDS])))
    kinds = [own or [*others] or [*TEXTS], [*others] or own or [*TEXTS]]
    if not operators.isdisjoint(ASCII_OPERATORS):
        kinds = [[text for text in texts if text.isascii()] or texts for texts in kinds]
    places = pseudo_random_array(seed, shape, np.float64, 0.0, 1.0)
    chosen = ((kinds[number % 2], place) for number, place in enumerate(places.flat))
    return object_array((texts[min(int(place * len(texts)), len(texts) - 1)] for texts, place in chosen), shape)


def nodes_after(name: str, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Return the nodes that depend on a value, in their order; those within a node that takes it all count.

    Args:
        name: the name of the value.
        nodes: all nodes in topological order, with those of subgraphs after the outer node.
    """
    reached = {name}
    found = []
    for node in nodes:
        if not reached.isdisjoint(names_taken_by(node)):
            reached.update(filter(None, node.output))
            reached.update(value.name for graph in subgraphs_of(node) for value in graph.input)
            found.append(node)
    return found


def compared_texts(nodes: Iterable[onnx.NodeProto]) -> list[str]:
    """Return texts of the attributes with which nodes compare, each once; a stop word also in other case.

    The first texts of all nodes come before their second ones.
    """
    given = [
        [(attribute.name, text) for text in (*attribute.strings, *attribute.t.string_data)]
        for node in nodes
        for attribute in node.attribute
        if attribute.name in COMPARED_ATTRIBUTES
    ]
    found: dict[str, None] = {}
    for name, content in islice(filter(None, chain.from_iterable(zip_longest(*given))), MAX_OWN_TEXTS):
        with suppress(UnicodeDecodeError):
            found[content.decode()] = None
            if name == "stopwords":
                found[content.decode().swapcase()] = None
    return [*found]


def vocabulary_text(nodes: Iterable[onnx.NodeProto], values: Mapping[str, Array]) -> str:
    """Return a note on nodes of whose vocabulary no element of their operand is an entry; empty if there are none.

    Args:
        nodes: the nodes.
        values: the known values by name.
    """
    unmet = [node.name or node.output[0] for node in nodes if _meets_no_entry(node, values)]
    if not unmet:
        return ""
    more = f" and {len(unmet) - MAX_NAMED_NODES} more" if len(unmet) > MAX_NAMED_NODES else ""
    named = ", ".join(unmet[:MAX_NAMED_NODES])
    return f"no element is in the vocabulary of {named}{more}, so that only defaults were judged; give other --inputs"


def _meets_no_entry(node: onnx.NodeProto, values: Mapping[str, Array]) -> bool:
    """Return whether a node looks up known elements, and finds none of them."""
    if is_operator(node, "TfIdfVectorizer"):
        result = values.get(node.output[0])
        return result is not None and result.size > 0 and not result.any()
    is_lookup = node.domain == "ai.onnx.ml" and node.op_type in LOOKED_UP
    operand = values.get(node.input[0]) if is_lookup and node.input else None
    if operand is None or not operand.size or not (is_text(operand.dtype) or operand.dtype.kind in "iu"):
        return False
    attributes = attribute_values(node.attribute)
    entries = [each for name in LOOKED_UP[node.op_type] for each in np.asarray(attributes.get(name, []), object).flat]
    return bool(entries) and {*operand.flat}.isdisjoint(entries)


def _make_input(
    value: onnx.ValueInfoProto,
    shapes: Mapping[str, tuple[int, ...]],
    seed: str,
    nodes: Sequence[onnx.NodeProto],
    most: int,
) -> Array:
    """Return a pseudo-random input of at most `most` elements.

    Raises:
        UsageError: the input is not a tensor of a type that can be made, or is too large.
    """
    declared = DeclaredInput.of(value)
    if declared.dtype is None:
        raise UsageError("cannot-make-input.inputs", name=value.name)
    shape = shape_of_input(value, declared, shapes)
    most = min(most, MAX_TEXTS) if is_text(declared.dtype) else most
    if len(shape) > MAX_RANK or math.prod(size or 1 for size in shape) > most:
        raise UsageError("cannot-make-input.size", name=value.name, shape=list(shape))
    kind: Any = declared.dtype
    if is_text(kind):
        return random_texts(seed, shape, nodes)
    return _random_numbers(seed, shape, kind)


def _random_numbers(seed: str, shape: Sequence[int], dtype: Any) -> Array:
    """Return integers that are 0 or 1, or numbers between -1 and 1."""
    if dtype.kind in "iub":
        return np.asarray(pseudo_random_array(seed, shape, np.float64, 0.0, 2.0) >= 1).astype(dtype)
    return pseudo_random_array(seed, shape, dtype, -1.0, 1.0)


def shape_of_input(
    value: onnx.ValueInfoProto, declared: DeclaredInput, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[int, ...]:
    """Return the shape of an input.

    Args:
        value: the input.
        declared: its declaration.
        shapes: the shapes of inputs, and the sizes of named dimensions, by name.

    Raises:
        UsageError: the rank is missing, or a shape contradicts the model.
    """
    given = shapes.get(value.name)
    if declared.shape is None:
        if given is None:
            raise UsageError("shape-missing.rank", name=value.name)
        return given
    if given is not None:
        fits = len(given) == len(declared.shape)
        if not fits or any(size not in {None, wanted} for size, wanted in zip(declared.shape, given, strict=True)):
            text = "x".join(map(dimension_text, value.type.tensor_type.shape.dim))
            raise UsageError("shape-differs", name=value.name, declared=text, shape=list(given))
        return given
    dimensions = zip(declared.shape, value.type.tensor_type.shape.dim, strict=True)
    return tuple(
        shapes.get(proto.dim_param, (DEFAULT_SIZE,))[0] if size is None else size for size, proto in dimensions
    )


def read_inputs(path: Path, graph: onnx.GraphProto) -> list[InputSet]:
    """Read inputs.

    Args:
        path: an .npz file, a folder of `input_N.pb` or `input_N.npy`, a folder of folders `test_data_set_N`, or a JSON
            file of polygraphy. Links below a folder are refused.
        graph: the main graph of the model.

    Raises:
        UsageError: the path has no inputs, or an input does not fit the model.
    """
    declared = [DeclaredInput.of(value) for value in required_inputs(graph)]
    if path.is_dir():
        return [InputSet(str(folder), _read_folder(path, folder, declared)) for folder in data_set_folders(path)]
    if path.suffix == ".json":
        runs = read_polygraphy(path)
        with file_errors(path):
            if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
                raise ValueError(NO_POLYGRAPHY)
            return [InputSet(str(path), tuple(read_encoded_arrays(path, run, declared))) for run in runs]
    return [InputSet(str(path), read_named_arrays(path, declared))]


def data_set_folders(path: Path) -> list[Path]:
    """Return the folders `test_data_set_N` of a folder by number, or else the folder itself."""
    numbered = {int(match[1]): each for each in path.iterdir() if (match := _DATA_SET.match(each.name))}
    return [numbered[number] for number in sorted(numbered) if numbered[number].is_dir()] or [path]


NO_POLYGRAPHY = "it is not a list of objects with arrays, as polygraphy writes it"
"""The reason why a JSON file of inputs is refused."""


def read_polygraphy(path: Path) -> Any:
    """Return the document of a JSON file of polygraphy; arrays in it are not decoded.

    Raises:
        UsageError: it cannot be read, or is not JSON.
    """
    content = read_file(path)
    with file_errors(path):
        return decode_json(content)


def read_encoded_arrays(file: Path, entries: Mapping[str, Any], declared: Sequence[DeclaredInput]) -> list[Array]:
    """Return arrays of a JSON file of polygraphy: base64 of a file in the format of NumPy.

    Args:
        file: the file.
        entries: the arrays by name, as in the file.
        declared: the declarations of the arrays that are wanted.

    Raises:
        UsageError: an array is missing, damaged, or does not fit its declaration.
    """
    arrays = []
    for value in declared:
        if value.name not in entries:
            raise UsageError(
                "input-missing.array", file=file, name=value.name, arrays=", ".join(entries) or "no arrays"
            )
        with file_errors(file):
            entry = entries[value.name]
            encoded = entry.get("values", entry) if isinstance(entry, dict) else None
            if not isinstance(encoded, dict):
                raise ValueError(NO_POLYGRAPHY)  # noqa: TRY004 - the file is wrong
            content = base64.b64decode(encoded["array"], validate=True)
            arrays.append(_read_npy(io.BytesIO(content), file, value))
    return arrays


def _read_folder(root: Path, folder: Path, declared: Sequence[DeclaredInput]) -> tuple[Value, ...]:
    numbered = [(int(match[1]), each) for each in folder.iterdir() if (match := _NUMBERED.match(each.name))]
    files = dict(numbered)
    if len(files) < len(numbered):
        raise UsageError("input-unreadable", file=folder, reason="two of its files have the same number")
    missing = sorted(set(range(len(declared))) - set(files))
    if missing:
        raise UsageError("input-missing.file", folder=folder, missing=missing[0], count=len(declared))
    return tuple(read_array(files[number], value, root) for number, value in enumerate(declared))


def read_array(file: Path, declared: DeclaredInput, root: Path) -> Value:
    """Return the array in a .pb or .npy file, or the sequence or optional in a .pb file.

    Args:
        file: the file.
        declared: the declaration of the value.
        root: the folder above the file that the command line names.

    Raises:
        UsageError: it cannot be read, or does not fit its declaration.
    """
    content = read_file(file, root)
    with file_errors(file):
        if file.suffix == ".npy":
            return _read_npy(io.BytesIO(content), file, declared)
        if declared.type is not None:
            value = parse_value(content, declared.type)
            try:
                declared.check_value(value)
            except ValueError as error:
                raise UsageError("input-differs", file=file, error=error) from None
            return value
        tensor = decode_message(content, onnx.TensorProto)
        _check(file, declared, known_dtype(tensor.data_type), tensor.dims)
        return array_of(tensor)


def read_named_arrays(file: Path, declared: Sequence[DeclaredInput]) -> tuple[Array, ...]:
    """Return arrays of an .npz file.

    Raises:
        UsageError: an array is missing, damaged, or does not fit its declaration.
    """
    content = read_file(file)
    arrays = []
    with file_errors(file), open_zip(io.BytesIO(content)) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        if len(members) < len(archive.namelist()):
            raise ValueError("two of its arrays have the same name")
        for value in declared:
            if value.name not in members:
                raise UsageError(
                    "input-missing.array", file=file, name=value.name, arrays=", ".join(members) or "no arrays"
                )
            member = archive.getinfo(members[value.name])
            if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise ValueError(f"the array {value.name} is compressed in a way that NumPy does not use")
            with archive.open(member) as stream:
                arrays.append(_read_npy(stream, file, value))
    return tuple(arrays)


def _read_npy(stream: IO[bytes], file: Path, declared: DeclaredInput) -> Array:
    """Read an array in the format of NumPy, after the check that its header fits the declaration.

    Raises:
        UsageError: the header does not fit.
        ValueError: the array is damaged, and so are other exceptions of `_DAMAGED`.
    """
    head = stream.read(MAX_HEADER_BYTES)
    start = io.BytesIO(head)
    is_first_version = np.lib.format.read_magic(start) == (1, 0)
    read_header = np.lib.format.read_array_header_1_0 if is_first_version else np.lib.format.read_array_header_2_0
    try:
        shape, is_fortran, dtype = read_header(start)
    except (ValueError, SyntaxError):  # with an address of Python
        raise ValueError(f"the header of the array {declared.name} is not that of NumPy") from None
    if dtype.hasobject:
        raise ValueError(f"the array {declared.name} has Python objects: save texts in an array of type U")
    _check(file, declared, np.dtype(object) if dtype.kind in "US" else dtype, shape)
    if dtype.kind in "US" and math.prod(shape) > MAX_TEXTS:
        raise ValueError(f"the array {declared.name} has more than {MAX_TEXTS} texts")
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_INPUT_BYTES:
        raise ValueError(f"the array {declared.name} has more than {MAX_INPUT_BYTES} bytes")
    content = bytearray(head[start.tell() :])
    content += stream.read(max(0, size + 1 - len(content)))
    if len(content) > size:
        raise ValueError(f"the array {declared.name} has bytes after its last element")
    array: Array = np.ndarray(shape, dtype, content, order="F" if is_fortran else "C")
    return text_array(array) if dtype.kind in "US" else array


def _check(file: Path, declared: DeclaredInput, dtype: np.dtype[Any] | None, shape: Sequence[int]) -> None:
    """Check that an input can have the type and shape in its file, before its elements are read.

    Raises:
        UsageError: the input does not fit the model.
        ValueError: no array can have the shape.
    """
    check_shape(shape)
    if declared.type is not None:
        raise UsageError("input-not-in-file", file=file, name=declared.name, type=type_text(declared.type))
    try:
        declared.check(dtype, shape)
    except ValueError as error:
        raise UsageError("input-differs", file=file, error=error) from None


@contextmanager
def file_errors(file: Path) -> Iterator[None]:
    """Replace an exception for a damaged file in the block by a `UsageError`."""
    try:
        yield
    except UsageError:
        raise
    except _DAMAGED as error:
        raise _unreadable(file, error) from None


def read_file(file: Path, root: Path | None = None) -> bytes:
    """Return the content of a file of inputs or recorded values.

    Args:
        file: the file.
        root: the folder above the file that the command line names; None if it names the file.

    Raises:
        UsageError: it cannot be read, or is larger than `MAX_INPUT_BYTES`.
    """
    try:
        return read_input(file, MAX_INPUT_BYTES, root)
    except OSError as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path, error: Exception) -> UsageError:
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, KeyError):
        reason = f"it has no {error}"
    return UsageError("input-unreadable", file=file, reason=reason)


def save_inputs_to(folder: Path | None, data_sets: Sequence[InputSet], graph: onnx.GraphProto) -> None:
    """Write the inputs to `FOLDER/test_data_set_N/input_M.pb`, the layout that ONNX's own tools read; None: nowhere.

    Raises:
        JobError: a folder or a file below the folder is a link.
    """
    if folder is None:
        return
    for number, data_set in enumerate(data_sets):
        place = folder / f"test_data_set_{number}"
        with state_errors(place):
            require_state_folder(place)
            place.mkdir(parents=True, exist_ok=True)
        for position, (given, value) in enumerate(zip(data_set.arrays, required_inputs(graph), strict=True)):
            message = value_message_of(given, value.type, value.name)
            with state_errors(place):
                require_no_link(place / f"input_{position}.pb")
            write_bytes_atomically(place / f"input_{position}.pb", message.SerializeToString())


def input_text(names: Sequence[str], data_set: InputSet) -> str:
    """Return names, types and shapes of the inputs: `X float 2x3, T int64 scalar, S 2 of float 2x3`."""
    return ", ".join(f"{name} {_value_text(given)}" for name, given in zip(names, data_set.arrays, strict=True))


def _value_text(value: Value) -> str:
    if isinstance(value, dict):
        return f"map of {len(value)}"
    if isinstance(value, list):
        items = [f"{len(list(group))} of {text}" for text, group in groupby(map(_value_text, value))]
        return " and ".join(items) or "empty"
    return "empty" if value is None else f"{type_name(value.dtype)} {'x'.join(map(str, value.shape)) or 'scalar'}"


DEFAULT_SIZE = 2
"""Size of an open dimension if a model accepts it."""

IMAGES = ((32, 32), (64, 64), (48, 192), (224, 224), (320, 320), (640, 640))
"""Heights and widths of images that are tried."""

SEQUENCES = (16, 64, 128, 512, 2048, 256)
"""Lengths of sequences that are tried."""

MULTIPLE = 84
"""A size of all open dimensions that a model can divide by all numbers up to 4, and by 6, 7, 12 and 14."""

GROWING = tuple(2**power for power in range(2, 11))
"""Sizes of all open dimensions that are tried last."""

MAX_TRIED_SIZES = 32
"""Maximum number of sizes that are tried on a subject."""

MAX_INFERRED_NODES = 2**20
MIN_INFERRED_SIZES = 4
"""Maximum number of nodes and inputs whose shapes are inferred for all sizes together, and minimum number of sizes that
are tried so. The sizes after these are tried only on a subject."""

MAX_SUMS = 64
"""Maximum number of sums of two dimensions that are tried as the size of a third one."""

MAX_SUM_LENGTH = 256
"""Maximum number of characters of the name of a dimension that is read as a sum."""

MAX_INPUT_ELEMENTS = 2**24
"""Maximum number of elements of an input with chosen sizes."""

_WITH_WEIGHTS = ("Conv", "ConvInteger")
_WINDOWS = (*_WITH_WEIGHTS, "MaxPool", "AveragePool", "LpPool")
"""Operators whose output is empty if their window is larger than their input."""

MAX_KEPT_ELEMENTS = 1024
"""Number of elements of a constant up to which shape inference may need its values."""

_SUM = re.compile(r"\s*\+\s*")

Shapes = dict[str, tuple[int, ...]]
"""Shapes of inputs by name."""


def choose_sizes(model: onnx.ModelProto, given: Mapping[str, tuple[int, ...]]) -> Shapes:
    """Return shapes of the inputs that have open dimensions.

    Args:
        model: the model.
        given: the shapes of inputs, and the sizes of named dimensions, by name. They stay as they are.
    """
    return next(size_candidates(model, given))


def size_candidates(model: onnx.ModelProto, given: Mapping[str, tuple[int, ...]]) -> Iterator[Shapes]:
    """Yield the shapes that `choose_sizes` tries: those without fault, those with a contradiction, and the others.

    Shape inference can find a contradiction where there is none, but a tensor that it calls empty is empty.
    """
    values = [
        value
        for value in required_inputs(model.graph)
        if value.name not in given and None in (DeclaredInput.of(value).shape or ())
    ]
    open_dimensions = [
        size
        for value in values
        for size, known in zip(value.type.tensor_type.shape.dim, DeclaredInput.of(value).shape or (), strict=True)
        if known is None and size.dim_param not in given
    ]
    if not open_dimensions:
        yield _shapes(values, given, _default_size)
        return
    skeleton = _without_large_constants(model)
    inferred = max(MIN_INFERRED_SIZES, MAX_INFERRED_NODES // (len(model.graph.node) + len(model.graph.input)))
    contradicting: list[Shapes] = []
    empty: list[Shapes] = []
    for number, candidate in enumerate(_candidates(values, given)):
        fault = _fault(skeleton, {**given, **candidate}) if number < inferred else _CONTRADICTION
        if fault is None:
            yield candidate
        else:
            (contradicting if fault == _CONTRADICTION else empty).append(candidate)
    yield from contradicting
    yield from empty


def _default_size(value: onnx.ValueInfoProto, axis: int) -> int:  # noqa: ARG001 - the signature of all choices
    return DEFAULT_SIZE


def _candidates(values: Sequence[onnx.ValueInfoProto], given: Mapping[str, tuple[int, ...]]) -> Iterator[Shapes]:
    """Yield the candidates in the order in which they are tried."""
    choices: list[Callable[[onnx.ValueInfoProto, int], int]] = []
    for batch in (DEFAULT_SIZE, 1):
        choices += [_image_sizes(batch, *sizes) for sizes in IMAGES]
        choices += [_sequence_sizes(batch, length) for length in SEQUENCES]
        choices += [_signal_sizes(batch, length) for length in SEQUENCES]
        if batch == DEFAULT_SIZE:
            choices += [_equal_sizes(MULTIPLE), lambda *_: MULTIPLE]
    choices += [_equal_sizes(size) for size in GROWING]
    default = _shapes(values, given, _default_size)
    found: list[Shapes] = []
    sums = (_shapes(values, {**given, **total}, _default_size) for total in islice(_sums(values, given), MAX_SUMS))
    for candidate in chain([default], sums, (_shapes(values, given, choose) for choose in choices)):
        is_small = all(math.prod(shape) <= MAX_INPUT_ELEMENTS for shape in candidate.values())
        if candidate not in found and (is_small or not found):
            found.append(candidate)
            yield candidate


def _sums(values: Sequence[onnx.ValueInfoProto], given: Mapping[str, tuple[int, ...]]) -> Iterator[Shapes]:
    """Yield a size for each named dimension that is the sum of two others: `total` may be `past` and `length`."""
    sizes = {
        size.dim_param: given.get(size.dim_param, (DEFAULT_SIZE,))[0]
        for value in values
        for size in value.type.tensor_type.shape.dim
        if size.dim_param and not _terms(size.dim_param)
    }
    counts = Counter(sizes.values())
    for name, own in sizes.items():
        if name not in given:
            others = (counts - Counter([own])).items()
            distinct = [size for size, count in others for _ in range(min(count, 2))]
            for total in sorted({one + other for one, other in combinations(distinct, 2)}):
                yield {name: (total,)}


def _image_sizes(batch: int, height: int, width: int) -> Callable[[onnx.ValueInfoProto, int], int]:
    """Return the choice of a height and a width for tensors of rank 4."""

    def choose(value: onnx.ValueInfoProto, axis: int) -> int:
        rank = len(value.type.tensor_type.shape.dim)
        if axis == 0:
            return batch
        return DEFAULT_SIZE if rank != 4 else {1: 3, 2: height, 3: width}[axis]

    return choose


def _sequence_sizes(batch: int, length: int) -> Callable[[onnx.ValueInfoProto, int], int]:
    def choose(value: onnx.ValueInfoProto, axis: int) -> int:
        rank = len(value.type.tensor_type.shape.dim)
        return batch if axis == 0 and rank > 1 else length

    return choose


def _signal_sizes(batch: int, length: int) -> Callable[[onnx.ValueInfoProto, int], int]:
    """Return the choice of a length for tensors of rank 1 and 2; a state of a higher rank has one item for each row."""

    def choose(value: onnx.ValueInfoProto, axis: int) -> int:
        rank = len(value.type.tensor_type.shape.dim)
        return length if rank in {1, 2} and axis == rank - 1 else batch

    return choose


def _equal_sizes(size: int) -> Callable[[onnx.ValueInfoProto, int], int]:
    def choose(value: onnx.ValueInfoProto, axis: int) -> int:
        return DEFAULT_SIZE if axis == 0 and len(value.type.tensor_type.shape.dim) > 1 else size

    return choose


def _shapes(
    values: Sequence[onnx.ValueInfoProto],
    given: Mapping[str, tuple[int, ...]],
    choose: Callable[[onnx.ValueInfoProto, int], int],
) -> Shapes:
    """Return a shape of each input; the first dimension of a name decides for all dimensions of this name."""
    named = {name: shape[0] for name, shape in given.items() if len(shape) == 1}
    declared = {value.name: DeclaredInput.of(value).shape or () for value in values}
    places = [
        (value, axis, size.dim_param)
        for value in values
        for axis, size in enumerate(value.type.tensor_type.shape.dim)
        if declared[value.name][axis] is None
    ]
    for value, axis, name in places:
        if name and not _terms(name):
            named.setdefault(name, choose(value, axis))
    sizes = {
        (value.name, axis): named[name] if name in named else _size_of(name, named) or choose(value, axis)
        for value, axis, name in places
    }
    return {
        name: tuple(sizes[name, axis] if size is None else size for axis, size in enumerate(shape))
        for name, shape in declared.items()
    }


def _terms(name: str) -> list[str]:
    """Return the terms of the name of a dimension that is a sum; an empty list for another name."""
    if len(name) > MAX_SUM_LENGTH:
        return []
    parts = _SUM.split(name.strip())
    return parts if len(parts) > 1 and all(part.isidentifier() or part.isdecimal() for part in parts) else []


def _size_of(name: str, named: Mapping[str, int]) -> int | None:
    """Return the size of a named dimension; None if it is not known."""
    if name in named:
        return named[name]
    terms = [int(part[:9]) if part.isdecimal() else named.get(part) for part in _terms(name)]
    return sum(filter(None, terms)) if terms and None not in terms else None


_CONTRADICTION = "contradiction"
_EMPTY = "empty"


def _fault(skeleton: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    """Return what onnx's shape inference finds for some shapes of the inputs; None if it finds no fault."""
    model = onnx.ModelProto()
    model.CopyFrom(skeleton)
    for value in model.graph.input:
        if value.name in shapes:
            _set_shape(value, shapes[value.name])
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        inferred = infer_shapes(model, strict_mode=True, data_prop=True)
    except Exception:  # noqa: BLE001 - onnx raises several types
        try:
            inferred = infer_shapes(model, data_prop=True)
        except Exception:  # noqa: BLE001
            return _CONTRADICTION
        return _EMPTY if _has_empty_tensor(inferred) else _CONTRADICTION
    return _EMPTY if _has_empty_tensor(inferred) else None


PARTS_OF_SHAPES = ("Constant", "Slice", "Shape")
"""Operators that may make an empty tensor with all sizes."""


def _has_empty_tensor(model: onnx.ModelProto) -> bool:
    """Return whether a node makes an empty tensor; a part of a shape, which may be empty, does not count."""
    values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    shapes = {value.name: DeclaredInput.of(value).shape for value in values}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    return any(
        any(size == 0 for name in node.output for size in shapes.get(name) or ())
        for node in model.graph.node
        if not is_operator(node, *PARTS_OF_SHAPES)
    ) or any(exceeds_input(node, shapes) for node in model.graph.node)


def exceeds_input(node: onnx.NodeProto, shapes: Mapping[str, Sequence[int | None] | None]) -> bool:
    """Return whether the window of a convolution or pooling is larger than its padded input.

    The shape inference of onnx rounds the negative size of the output to 1.
    """
    if not is_operator(node, *_WINDOWS):
        return False
    sizes = (shapes.get(node.input[0]) or ())[2:]
    attributes = {each.name: list(each.ints) for each in node.attribute if each.ints}
    rounds_up = any(each.name == "ceil_mode" and each.i for each in node.attribute)
    automatic = next((each.s for each in node.attribute if each.name == "auto_pad"), b"NOTSET")
    weights = shapes.get(node.input[1]) if node.op_type in _WITH_WEIGHTS and len(node.input) > 1 else None
    window = attributes.get("kernel_shape") or (weights or ())[2:]
    rank = len(sizes)
    dilations = attributes.get("dilations") or [1] * rank
    pads = attributes.get("pads") or [0] * (2 * rank)
    if (
        len(window) != rank
        or len(dilations) != rank
        or len(pads) != 2 * rank
        or automatic.startswith(b"SAME")
        or rounds_up
    ):
        return False
    return any(
        size is not None
        and width is not None
        and (width - 1) * dilations[axis] + 1 > size + pads[axis] + pads[rank + axis]
        for axis, (size, width) in enumerate(zip(sizes, window, strict=True))
    )


def _set_shape(value: onnx.ValueInfoProto, shape: Sequence[int]) -> None:
    kind = value.type.tensor_type.elem_type
    value.CopyFrom(helper.make_tensor_value_info(value.name, kind, shape))


def _without_large_constants(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model whose large initializers are inputs, and without types of values."""
    skeleton = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    graph = skeleton.graph
    graph.name = "skeleton"
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    constants = constant_names(model.graph)
    graph.input.extend(value for value in model.graph.input if value.name not in constants)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    for tensor in model.graph.initializer:
        is_kept = math.prod(tensor.dims) <= MAX_KEPT_ELEMENTS and tensor.data_location != onnx.TensorProto.EXTERNAL
        if is_kept:
            graph.initializer.append(tensor)
        else:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return skeleton
