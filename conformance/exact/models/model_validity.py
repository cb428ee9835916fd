"""Validity of ONNX models: reading a model file, onnx's checker, and faults that the checker does not detect."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.base.errors import ConformanceError, ModelError
from conformance.base.files.atomic_write import read_input
from conformance.base.serialization.decoding import read_own_toml
from conformance.base.serialization.printable_text import first_line, shorten_middle
from conformance.exact.models.arrays import array_of, check_shape, has_element_type
from conformance.exact.models.encoded_messages import MAX_FIELDS, is_large_message
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    all_graphs,
    all_nodes,
    all_tensors,
    called_name,
    copy_of,
    function_name,
    inference_problem,
    normal_domain,
    subgraphs_of,
    top_level_graphs,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.exact.models.graphs import FunctionName


def check_model(model: onnx.ModelProto, *, shapes: bool = False) -> None:
    """Check a model with onnx's checker, with the same result in every version of onnx.

    No version of onnx finds the operator of a node whose domain is `ai.onnx`, and some versions (1.18 and 1.20, but not
    1.23) find none if a model imports this name. This function therefore checks a copy with the empty name.

    Args:
        shapes: whether to infer shapes too, in strict mode.

    Raises:
        onnx.checker.ValidationError: the model is invalid, or `shapes` is set and shape inference would not
            end, see `inference_problem`. With `shapes`, shape inference may raise other errors.
    """
    fault = find_text_fault(model) or (inference_problem(model) if shapes else None)
    if fault is not None:
        raise onnx.checker.ValidationError(fault)
    if any(_named_domains(model)):
        model = copy_of(model)
        for named in _named_domains(model):
            named.domain = ""
    onnx.checker.check_model(model, full_check=shapes)


@lru_cache(maxsize=256)
def is_fully_valid(content: bytes) -> bool:
    """Return whether `check_model` with `shapes` accepts a serialised model."""
    with suppress(onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        check_model(onnx.load_model_from_string(content), shapes=True)
        return True
    return False


def find_text_fault(model: onnx.ModelProto) -> str | None:
    r"""Return a clause that names a text of a model that is not UTF-8, or None. Protobuf returns such a text as bytes.

    Example: `the name of a ValueInfoProto, b'\xff', is not UTF-8`.
    """
    messages: list[Any] = [model]
    while messages:
        message = messages.pop()
        for field, value in message.ListFields():
            if field.type == field.TYPE_MESSAGE:
                messages += [value] if hasattr(value, "ListFields") else value
            elif field.type == field.TYPE_STRING and not isinstance(value, str):
                texts = [value] if isinstance(value, bytes) else value
                if (text := next((each for each in texts if isinstance(each, bytes)), None)) is not None:
                    return f"the {field.name} of a {type(message).__name__}, {text[:MAX_SHOWN_BYTES]!r}, is not UTF-8"
    return None


MAX_SHOWN_BYTES = 40
"""Bytes of a text that is not UTF-8 that an error quotes."""


def has_schemas(model: onnx.ModelProto) -> bool:
    """Return whether onnx knows the schema or the body of every operator, without which it infers no shapes.

    An operator of a third party has no schema in onnx.
    """
    functions = {function_name(function) for function in model.functions}
    called = {called_name(node) for node in all_nodes(model)} - functions
    return all(onnx.defs.has(operator, domain) for domain, operator, _ in called)


def _named_domains(model: onnx.ModelProto) -> Iterator[onnx.OperatorSetIdProto | onnx.NodeProto | onnx.FunctionProto]:
    """Yield the nodes, functions and opset imports of the domain `ai.onnx`.

    An import is left out if the model also imports the empty domain name.
    """
    yield from (
        each for each in (*all_nodes(model), *model.functions) if each.domain and not normal_domain(each.domain)
    )
    for holder in (model, *model.functions):
        main = [entry for entry in holder.opset_import if entry.domain in MAIN_DOMAINS]
        if len(main) == 1 and main[0].domain:
            yield main[0]


def find_unchecked_faults(model: onnx.ModelProto) -> Iterator[str]:
    """Yield descriptions of faults that onnx's checker does not detect.

    The faults are: a function output that no node computes, a call with too many outputs, several declarations of one
    value, and a tensor whose number of elements does not match its shape. Example: `tensor W: the number of elements
    does not match the shape`.
    """
    for holder in (*all_graphs(model), *model.functions):
        names = Counter(value.name for value in holder.value_info)
        yield from (f"value_info has {count} entries of {name}" for name, count in names.items() if count > 1)
    for function in model.functions:
        given = {*function.input, *(name for node in function.node for name in node.output)}
        yield from (
            f"function {_qualified_name(function_name(function))}: no node computes the output {name}"
            for name in function.output
            if name not in given
        )
    functions = {function_name(function): function for function in model.functions}
    for node in all_nodes(model):
        function = functions.get(called_name(node))
        if function is not None and len(node.output) > len(function.output):
            yield f"function {_qualified_name(called_name(node))}: a call has more outputs than the function"
    yield from _tensor_faults(model)


def _tensor_faults(model: onnx.ModelProto) -> Iterator[str]:
    """Yield a description of each tensor in a model whose elements cannot be read; external data are left out."""
    for tensor in all_tensors(model):
        if tensor.data_location == tensor.EXTERNAL:
            continue
        name = f"tensor {tensor.name or 'of an attribute'}"
        try:
            array_of(tensor)
        except (KeyError, TypeError, NotImplementedError):
            continue  # an element type that the installed onnx does not know
        except UnicodeDecodeError:
            yield f"{name}: a text is not UTF-8"
        except ValueError:
            is_part = tensor.HasField("segment")
            yield f"{name}: {'it is a segment' if is_part else 'the number of elements does not match the shape'}"


def _find_missing_functions(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[str]:
    """Yield a description of each function that `after` still calls but that only `before` defines."""
    gone = {*map(function_name, before.functions)} - {*map(function_name, after.functions)}
    called = {called_name(node) for node in all_nodes(after)} if gone else set()
    yield from (
        f"function {_qualified_name(name)} is called but was removed" for name in sorted(gone & called) if name[0]
    )


def find_new_faults(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[str]:
    """Yield descriptions of faults of a rewritten model that onnx's checker does not detect and that `before` lacks."""
    yield from _find_missing_functions(before, after)
    known = {*find_unchecked_faults(before)}
    yield from (fault for fault in find_unchecked_faults(after) if fault not in known)


def _qualified_name(name: FunctionName) -> str:
    domain, op_type, overload = name
    return f"{domain or 'ai.onnx'}.{op_type}{overload and f':{overload}'}"


MAX_MODEL_BYTES = 2**31
"""Maximum size of a model file in bytes, a limit of protobuf."""


MAX_IMPORTS = 1000
"""Maximum number of operator sets that a model imports; each node that is judged alone has all imports."""


def read_model(path: Path) -> tuple[bytes, onnx.ModelProto]:
    """Read a model file and return its bytes and the parsed model.

    Raises:
        ModelError: the file cannot be read, is not an ONNX model, has too many fields, a text that is not UTF-8, or a
            tensor without its elements, or declares a shape that no array can have.
    """
    try:
        content = read_input(path, MAX_MODEL_BYTES)
        if len(content) > MAX_FIELDS and is_large_message(content, MAX_FIELDS):  # a field has at least a byte
            raise ModelError("too-large.fields", path=path, most=MAX_FIELDS)
        model = onnx.ModelProto.FromString(content)
    except OSError as error:
        raise ModelError("file-unreadable", path=path, reason=error.strerror) from None
    except DecodeError:
        raise ModelError("not-a-model.file", path=path) from None
    check_contents(path, model)
    return content, model


def check_contents(path: Path | str, model: onnx.ModelProto) -> None:
    """Check that a model has a graph, few imports, texts in UTF-8, and tensors of possible types and shapes.

    Args:
        path: its file, or a name of it for the message.
        model: the model.

    Raises:
        ModelError: it is malformed.
    """
    if not model.ir_version or not model.HasField("graph"):
        raise ModelError("not-a-model.graph", path=path)
    if len(model.opset_import) > MAX_IMPORTS:
        raise ModelError("too-large.imports", path=path, most=MAX_IMPORTS)
    if (fault := find_text_fault(model)) is not None:
        raise ModelError("invalid", path=path, fault=fault)
    for name, shape, type in _declared_types(model):
        try:
            check_shape(shape)
        except ValueError as error:
            raise ModelError("impossible-shape", path=path, name=name, error=error) from None
        if type and not has_element_type(type):
            fault = f"{name or 'a tensor'} has the element type {type}, which does not exist"
            raise ModelError("invalid", path=path, fault=fault)
    if (fault := next(_tensor_faults(model), None)) is not None:
        raise ModelError("invalid", path=path, fault=fault)


def _declared_types(model: onnx.ModelProto) -> Iterator[tuple[str, Sequence[int], int]]:
    """Yield names, shapes and element types of the tensors and values of a model; what is not declared is 0."""
    yield from ((tensor.name, tensor.dims, tensor.data_type) for tensor in all_tensors(model))
    graphs = [*top_level_graphs(model), *chain.from_iterable(map(subgraphs_of, all_nodes(model)))]
    for holder in (*graphs, *model.functions):
        own = () if isinstance(holder, onnx.FunctionProto) else (*holder.input, *holder.output)
        for value in (*own, *holder.value_info):
            type = value.type
            while (kind := type.WhichOneof("value")) in {"sequence_type", "optional_type", "map_type"}:
                type = type.map_type.value_type if kind == "map_type" else getattr(type, kind).elem_type
            if kind in {"tensor_type", "sparse_tensor_type"}:
                declared = getattr(type, kind)
                yield value.name, [max(size.dim_value, 0) for size in declared.shape.dim], declared.elem_type


@contextmanager
def report_invalid_model(path: Path, model: onnx.ModelProto) -> Iterator[None]:
    """Replace an exception in the `with` block by a `ModelError` if onnx's checker rejects the model.

    The checker runs only after an exception, because it also rejects usable models, such as models with newer opsets.

    Raises:
        ModelError: the model is invalid. The message quotes the checker.
    """
    try:
        yield
    except (ConformanceError, OSError):
        raise
    except Exception:
        violation = model_violation(model)
        if violation is None:
            raise
        raise invalid_model(path, model, violation) from None


def invalid_model(path: Path, model: onnx.ModelProto, violation: str) -> ModelError:
    """Return the error for a model that onnx's checker rejects; it says so if the model is newer than onnx."""
    return newer_than_onnx(path, model) or ModelError("invalid", path=path, fault=violation.rstrip(". "))


def newer_than_onnx(path: Path, model: onnx.ModelProto) -> ModelError | None:
    """Return the error for a model with a newer IR version or opset than those of the installed onnx, or None."""
    opset = max((each.version for each in model.opset_import if each.domain in {"", "ai.onnx"}), default=0)
    pairs = {
        "IR version": (model.ir_version, int(onnx.IR_VERSION)),
        "opset": (opset, onnx.defs.onnx_opset_version()),
    }
    for what, (version, known) in pairs.items():
        if version > known:
            installed = onnx.__version__
            return ModelError(
                "newer-than-onnx", path=path, what=what, version=version, installed=installed, known=known
            )
    return None


def open_outputs(model: onnx.ModelProto) -> set[str]:
    """Return the names of the outputs of a known element type whose rank is not declared."""
    tensors = {value.name: value.type.tensor_type for value in model.graph.output}
    return {name for name, type in tensors.items() if type.elem_type and not type.HasField("shape")}


def with_known_ranks(model: onnx.ModelProto, names: Container[str]) -> onnx.ModelProto:
    """Return a model in which some outputs without a shape have one, for onnx's checker, which rejects open ranks."""
    lacking = {name for name in open_outputs(model) if name in names}
    if not lacking:
        return model
    model = copy_of(model)
    for value in model.graph.output:
        if value.name in lacking:
            value.type.tensor_type.shape.SetInParent()
    return model


def model_violation(model: onnx.ModelProto, *, shapes: bool = False) -> str | None:
    """Return the first line of the error of `check_model`, or None if the model is valid."""
    try:
        check_model(model, shapes=shapes)
    except Exception as error:  # noqa: BLE001 - it raises errors of several kinds, of which some are bare exceptions
        return first_line(error)
    return None


MAX_NAME_LENGTH = 100
"""Maximum number of characters of a name or a text in the sentence on a violation."""


class _TextAttribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An attribute of operators: the texts that their pages state, by the first version of the operator."""

    name: str
    operators: list[str]
    texts: dict[str, list[str]]


class _TextAttributes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attribute: list[_TextAttribute]


@cache
def _stated_texts() -> dict[tuple[str, str], dict[int, list[str]]]:
    """Return the texts that pages state, by operator and attribute, and by version."""
    table = msgspec.convert(read_own_toml("conformance.exact.models", "text_attributes.toml"), _TextAttributes)
    return {
        (operator, each.name): {int(version): texts for version, texts in each.texts.items()}
        for each in table.attribute
        for operator in each.operators
    }


def unnoticed_violation(model: onnx.ModelProto) -> str:
    """Return how a model violates the IR or the page of an operator although onnx's checker accepts it.

    Return an empty text if no such violation is known: two nodes of one graph have the same name, or an attribute has a
    text that the page does not state.
    """
    for holder in (*all_graphs(model), *model.functions):
        names = Counter(node.name for node in holder.node if node.name)
        if twice := next((name for name, count in names.items() if count > 1), None):
            return f"two nodes of a graph have the name {shorten_middle(twice, MAX_NAME_LENGTH)}"
        imports = holder.opset_import if isinstance(holder, onnx.FunctionProto) else model.opset_import
        versions = {normal_domain(each.domain): each.version for each in imports}
        for node in holder.node:
            if found := _unstated_text(node, versions):
                return found
    return ""


def _unstated_text(node: onnx.NodeProto, versions: Mapping[str, int]) -> str:
    """Return which attribute of a node has a text that its page does not state; an empty text for none."""
    domain = normal_domain(node.domain)
    if domain not in ("", "ai.onnx.ml"):
        return ""
    for attribute in node.attribute:
        stated = _stated_texts().get((node.op_type, attribute.name))
        newest = max((each for each in stated or () if each <= versions.get(domain, 0)), default=None)
        if stated is None or newest is None or not attribute.HasField("s"):
            continue
        text = attribute.s.decode(errors="replace")
        if text not in stated[newest]:
            shown = shorten_middle(text, MAX_NAME_LENGTH)
            return f"{attribute.name} of {node.op_type} is {shown}, and its page states {', '.join(stated[newest])}"
    return ""
