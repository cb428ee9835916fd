"""The judged model with its inputs by name; a call of one operator becomes a model of one node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.errors import UnknownName, UsageError
from conformance.base.serialization.printable_text import first_line
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import domain_and_type, has_schemas
from conformance.exact.judgement.given_arrays import given_array, given_map, shown, whole_number
from conformance.exact.models.arrays import tensor_of, type_name, type_number
from conformance.exact.models.external_data import initializer_arrays_in
from conformance.exact.models.graphs import inference_problem, normal_domain, operator_text, recursion_problem
from conformance.exact.models.input_files import DeclaredInput, constant_node_values, required_input_names
from conformance.exact.models.model_validity import check_contents, read_model

if TYPE_CHECKING:
    from typing import TypeAlias

    Values: TypeAlias = "Mapping[str, Any] | Sequence[Any]"
    """Arrays by name, or in order. A list or tuple in the place of an array is a sequence, and None is left out."""

MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class OperatorCall:
    """A model with its inputs.

    Attributes:
        title: the operator with its version, or the name of the model's graph.
        model: the model.
        values: the inputs and constants by name.
        output_names: the name of each output, by the name that a caller uses; both are equal for a model.
        is_operator: whether the model was made of one operator.
        exact_attributes: the numbers of attributes that type float does not have, as the caller gave them.
    """

    title: str
    model: onnx.ModelProto
    values: Mapping[str, Any]
    output_names: Mapping[str, str]
    is_operator: bool
    exact_attributes: Mapping[str, Any] = field(default_factory=dict)

    def outputs_by_name(self, outputs: Values) -> dict[str, Any]:
        """Return outputs by their name in the model; outputs that are None are left out.

        Raises:
            UnknownName: there is no output of a name.
            UsageError: an output is missing, there are too many, or one is no array.
        """
        given = _by_name(outputs, list(self.output_names), "output")
        if missing := [name for name in self.output_names if name not in given]:
            raise UsageError("value-missing", kind="output", name=missing[0], title=self.title)
        return {self.output_names[name]: given_value(each, name) for name, each in given.items() if each is not None}


def given_value(given: Any, name: str) -> Any:
    """Return an input or output: an array, a list of arrays or maps for a sequence, or a map.

    Raises:
        UsageError: it is none of these.
    """
    if isinstance(given, (list, tuple)):
        return [_given_part(each, name) for each in given]
    return _given_part(given, name)


def _given_part(given: Any, name: str) -> Any:
    return given_map(given, name) if isinstance(given, Mapping) else given_array(given, name)


def call_of_model(given: onnx.ModelProto | bytes | PathLike[str], inputs: Values) -> OperatorCall:
    """Return a model with its inputs.

    Args:
        given: the model, its bytes, or its file.
        inputs: its inputs, by name or in order; those with an initializer may be left out.

    Raises:
        ModelError: the model cannot be read.
        UsageError: an input is missing, or has another type or shape than the model declares.
    """
    folder = None
    if isinstance(given, onnx.ModelProto):
        model = given
    elif isinstance(given, bytes):
        model = _parsed(given)
    elif isinstance(given, PathLike):
        path = Path(given)
        folder = path.parent
        _, model = read_model(path)
    else:
        raise UsageError("argument", name="the model", kind="a model of onnx, its bytes or a path", value=shown(given))
    if folder is None:
        check_contents("The model", model)
    if problem := _problem(model):
        raise UsageError("call-invalid", title=model.graph.name or "the model", problem=problem)
    names = [value.name for value in model.graph.input]
    required = required_input_names(model.graph)
    is_short = isinstance(inputs, Sequence) and len(inputs) == len(required)
    values = fed_values(model.graph, inputs, required if is_short else names)
    try:
        constants = {**initializer_arrays_in(model.graph, folder), **constant_node_values(model.graph)}
    except Unsupported as error:
        raise UsageError("call-invalid", title=model.graph.name or "the model", problem=error) from None
    outputs = [value.name for value in model.graph.output]
    title = model.graph.name or "model"
    return OperatorCall(title, model, {**constants, **values}, dict(zip(outputs, outputs, strict=True)), False)


def _problem(model: onnx.ModelProto) -> str | None:
    """Return why the values of a model are not determined; None if they may be."""
    if problem := recursion_problem(model):
        return problem.splitlines()[0]
    for entry in model.opset_import:
        if not normal_domain(entry.domain) and (problem := _version_problem(entry.version)):
            return problem
    given = {value.name for value in model.graph.input}
    for node in model.graph.node:
        for name in filter(None, node.output):
            if name in given:
                return f"the graph computes {name} twice, or computes an input"
            given.add(name)
    return None


def _version_problem(version: int) -> str | None:
    """Return why a version of the main domain cannot be judged."""
    newest = onnx.defs.onnx_opset_version()
    if 0 < version <= newest:
        return None
    return f"the installed onnx {onnx.__version__} has the opsets 1 to {newest}, not {version}"


def fed_values(graph: onnx.GraphProto, inputs: Values, names: Sequence[str]) -> dict[str, Any]:
    """Return the inputs of a graph by name, without those that are None.

    Args:
        graph: the main graph of a model.
        inputs: its inputs, by name or in order.
        names: the inputs that may be given, in order.

    Raises:
        UnknownName: there is no such input.
        UsageError: an input is missing, or has another type or shape than the model declares.
    """
    title = graph.name or "the model"
    fed = _by_name(inputs, names, "input")
    if missing := [name for name in required_input_names(graph) if fed.get(name) is None]:
        raise UsageError("value-missing", kind="input", name=missing[0], title=title)
    values = {name: given_value(each, name) for name, each in fed.items() if each is not None}
    for value in graph.input:
        if isinstance(array := values.get(value.name), np.ndarray):
            try:
                DeclaredInput.of(value).check(array.dtype, array.shape)
            except ValueError as error:
                raise UsageError("call-invalid", title=title, problem=error) from None
    return values


def _parsed(content: bytes) -> onnx.ModelProto:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(content)
    except DecodeError:
        raise UsageError("not-a-model") from None
    if not model.HasField("graph"):
        raise UsageError("not-a-model")
    return model


def call_of_operator(
    operator: str,
    inputs: Values,
    attributes: Mapping[str, Any],
    *,
    opset: int | None = None,
    outputs: Values | int | None = None,
) -> OperatorCall:
    """Return a call of an operator as a model of one node.

    Args:
        operator: the operator; the name of another domain stands before it, as in `com.microsoft.BiasGelu`. Without a
            domain, it is that of the main domain, or else the only one of this name.
        inputs: its inputs, by the names of the operator's page or in order; None leaves an optional input out.
        attributes: its attributes.
        opset: the version of its domain; None for the newest one that the installed onnx has.
        outputs: the outputs, or their number; None for the fewest with which the node is valid.

    Raises:
        UnknownName: there is no such operator, attribute, input or output.
        UsageError: onnx rejects the node, or an attribute has another type.
    """
    if operator.endswith(".onnx"):
        raise UsageError("path-as-text", path=operator)
    domain, op_type = domain_and_type(operator)
    newest = onnx.defs.onnx_opset_version() if not domain else _newest_version(domain)
    version = newest if opset is None else whole_number(opset, "opset")
    if not domain and (problem := _version_problem(version)):
        raise UsageError("call-invalid", title=operator, problem=problem)
    schema = _schema_of(op_type, version, domain)
    title = f"{operator_text(op_type, domain)}-{schema.since_version if schema else version}"
    names, values = _arranged(inputs, schema.inputs if schema else None, "input", title)
    if missing := _missing_inputs(schema, values):
        raise UsageError("value-missing", kind="input", name=missing[0], title=title)
    own = [_attribute(name, value, schema, title) for name, value in attributes.items()]
    determined = _determined_output_count(op_type, domain, attributes, values)
    if isinstance(outputs, int) and determined not in (None, outputs):
        problem = f"the inputs or attributes determine {determined} outputs, not {outputs}"
        raise UsageError("call-invalid", title=title, problem=problem)
    count = determined if outputs is None else outputs

    def made(count: Values | int | None) -> OperatorCall:
        found = _call_with_outputs(operator, version, schema, names, values, own, count, title=title)
        return replace(found, exact_attributes=_unrounded(attributes, own))

    try:
        return made(count)
    except UsageError:
        most = len(schema.outputs) if schema is not None and count is None else 0
        for more in range(2, most + 1):  # a BatchNormalization of training has all its outputs
            with suppress(UsageError):
                return made(more)
        raise


def _unrounded(given: Mapping[str, Any], stored: Sequence[onnx.AttributeProto]) -> dict[str, Any]:
    """Return the numbers of attributes that differ from those of type float that a model stores."""
    found: dict[str, Any] = {}
    for each in stored:
        if each.type in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.FLOATS):
            own, kept = (
                np.asarray(value, np.float64) for value in (given[each.name], helper.get_attribute_value(each))
            )
            if not np.array_equal(own, kept, equal_nan=True) and np.isfinite(kept).all():
                found[each.name] = own.tolist()
    return found


def _determined_output_count(
    op_type: str, domain: str, attributes: Mapping[str, Any], values: Mapping[str, Any]
) -> int | None:
    """Return the number of outputs that attributes and inputs determine; None if they do not."""
    if (op_type, domain) != ("Split", ""):
        return None
    sizes = values.get("split", attributes.get("split"))
    return attributes.get("num_outputs") if sizes is None else len(np.ravel(sizes))


def _call_with_outputs(
    operator: str,
    version: int,
    schema: Any,
    names: Sequence[str],
    values: Mapping[str, Any],
    attributes: Sequence[onnx.AttributeProto],
    outputs: Values | int | None,
    *,
    title: str,
) -> OperatorCall:
    """Return the call with some outputs.

    Raises:
        UnknownName: there is no output of a name.
        UsageError: onnx rejects the node, or it has fewer outputs.
    """
    domain, op_type = domain_and_type(operator)
    output_names = _output_names(outputs, schema, title)
    node = helper.make_node(op_type, names, list(output_names.values()), domain=domain)
    node.attribute.extend(attributes)
    graph = helper.make_graph(
        [node],
        operator,
        [helper.make_value_info(name, _type_of(values[name])) for name in dict.fromkeys(names) if name],
        [onnx.ValueInfoProto(name=name) for name in output_names.values() if name],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)])
    if schema is not None:
        if (problem := inference_problem(model)) is not None:
            raise UsageError("call-invalid", title=title, problem=problem.rstrip("."))
        problem = _inference_error(model)
        if problem is not None and schema.has_function:  # its body refers to attributes that have a default
            given = {each.name for each in attributes}
            defaults = [each.default_value for each in schema.attributes.values() if each.name not in given]
            model.graph.node[0].attribute.extend(each for each in defaults if each.name)
            problem = _inference_error(model)
        if problem is not None:
            raise UsageError("call-invalid", title=title, problem=problem)
    return OperatorCall(title, model, values, output_names, True)


def _inference_error(model: onnx.ModelProto) -> str | None:
    """Return why shape inference rejects a model; None if it does not."""
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError) as error:
        return _without_prefixes(first_line(error))
    return None


def _without_prefixes(message: str) -> str:
    """Return a message of shape inference without the names of errors and operators before it."""
    return re.sub(r"^(\[\w+\]|Inference error\(s\):|\(op_type:[^)]*\):|\s)+", "", message).rstrip(". ")


def schema_domains() -> dict[str, int]:
    """Return the newest version of each domain of which the suite judges operators."""
    versions: dict[str, int] = {MICROSOFT: 1}
    for schema in onnx.defs.get_all_schemas():
        versions[schema.domain] = max(schema.since_version, versions.get(schema.domain, 1))
    return {**versions, "": onnx.defs.onnx_opset_version()}


def _newest_version(domain: str) -> int:
    versions = schema_domains()
    if domain not in versions:
        raise UnknownName("domain", name=domain, known=sorted(filter(None, versions)))
    return versions[domain]


def _schema_of(op_type: str, version: int, domain: str) -> Any:
    """Return the schema of an operator; None if the installed onnx has no schemas of the domain.

    Raises:
        UnknownName: the domain has no such operator.
        UsageError: the operator exists only in later versions of the domain.
    """
    if not has_schemas(domain):
        return None
    try:
        return onnx.defs.get_schema(op_type, version, domain)
    except (onnx.defs.SchemaError, TypeError):  # the latter for a name that is not UTF-8, or for a version of 2**31
        schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == domain]
        if later := [schema.since_version for schema in schemas if schema.name == op_type]:
            raise UsageError("opset-too-old", name=op_type, opset=version, since=min(later)) from None
        known = {schema.name for schema in schemas}
        raise UnknownName(
            "operator", name=op_type, opset=version, domain=domain or "ai.onnx", known=sorted(known)
        ) from None


def _by_name(given: Values, names: Sequence[str], kind: str) -> dict[str, Any]:
    """Return values by name.

    Raises:
        UnknownName: there is no value of a name.
        UsageError: there are more values than names.
    """
    if isinstance(given, Mapping):
        if unknown := [name for name in given if name not in names]:
            raise UnknownName("value", kind=kind, name=unknown[0], known=list(names))
        return dict(given)
    each = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(each) > len(names):
        raise UsageError("value-count", kind=kind, count=len(each), known=len(names))
    return dict(zip(names, each, strict=False))


def _arranged(given: Values, formals: Any, kind: str, title: str) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the inputs in order, empty for one that is left out, and the values by name."""
    if formals is None:
        if isinstance(given, Mapping):
            raise UsageError("names-unknown", title=title)
        known = [f"input{place}" for place in range(len(given) if isinstance(given, (list, tuple)) else 1)]
    else:
        known = _formal_names(formals, given)
    found = _by_name(given, known, kind)
    names = [name if found.get(name) is not None else "" for name in known]
    while names and not names[-1]:
        names.pop()
    return names, {name: given_value(found[name], name) for name in names if name}


def _missing_inputs(schema: Any, values: Mapping[str, Any]) -> list[str]:
    """Return the names of the inputs that an operator needs and that are not given."""
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    return [each.name for each in schema.inputs if each.option == single and each.name not in values] if schema else []


def _formal_names(formals: Any, given: Any) -> list[str]:
    """Return the names of inputs or outputs; the last one is repeated with a number if it is variadic."""
    names = [each.name for each in formals]
    if formals and formals[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        count = given if isinstance(given, int) else len(given) if isinstance(given, (list, tuple, Mapping)) else 1
        last = names.pop()
        names += [f"{last}{number}" for number in range(max(1, count - len(names)))]
    return names


def _output_names(outputs: Values | int | None, schema: Any, title: str) -> dict[str, str]:
    """Return the names of the outputs of a call; the name in the model is empty for one that is left out."""
    count = outputs if isinstance(outputs, int) else None
    if schema is None:
        if isinstance(outputs, Mapping):
            raise UsageError("names-unknown", title=title)
        known = [
            f"output{place}" for place in range(count or (len(outputs) if isinstance(outputs, (list, tuple)) else 1))
        ]
        return {name: name for name in known}
    known = _formal_names(schema.outputs, schema.min_output if outputs is None else outputs)
    required = max(1, schema.min_output)
    if isinstance(outputs, Mapping):
        last = max((place for place, name in enumerate(known) if name in outputs), default=0)
        required = max(required, last + 1)
    elif isinstance(outputs, (list, tuple)):
        required = max(required, len(outputs))
    elif count is not None:
        required = max(required, count)
    if required > len(known):
        raise UsageError("value-count", kind="output", count=required, known=len(known))
    inputs = {each.name for each in schema.inputs}
    return {name: f"{name}_output" if name in inputs else name for name in known[:required]}


def _type_of(value: Any) -> onnx.TypeProto:
    """Return the type of an input: a tensor with its shape, or a sequence or map without shapes."""
    if isinstance(value, list):
        element = _type_of(value[0] if value else np.zeros(0, np.float32))
        element.tensor_type.ClearField("shape")
        return helper.make_sequence_type_proto(element)
    if isinstance(value, dict):
        key, entry = (_TYPES_IN_MAPS[type(each)] for each in next(iter(value.items()), ("", 0.0)))
        return helper.make_map_type_proto(key, helper.make_tensor_type_proto(entry, ()))
    return helper.make_tensor_type_proto(type_number(type_name(value.dtype)), value.shape)


_TYPES_IN_MAPS = {str: onnx.TensorProto.STRING, int: onnx.TensorProto.INT64, float: onnx.TensorProto.FLOAT}


def _attribute(name: str, value: Any, schema: Any, title: str) -> onnx.AttributeProto:
    """Return an attribute with the type of the schema.

    Raises:
        UnknownName: the operator has no such attribute.
        UsageError: the value has another type.
    """
    if schema is not None and not schema.attributes:
        raise UnknownName("attribute.none", name=name, title=title)
    if schema is not None and name not in schema.attributes:
        raise UnknownName("attribute.other", name=name, title=title, known=sorted(schema.attributes))
    kind = schema.attributes[name].type.value if schema is not None else None
    types = onnx.AttributeProto
    is_array = issubclass(type(value), (np.ndarray, np.generic))  # the attribute `__class__` of an object can lie
    if is_array and kind in (types.TENSOR, None):
        return helper.make_attribute(name, tensor_of(np.asarray(value)))
    text, convert = _ATTRIBUTE_TYPES.get(kind, ("a value of an attribute", lambda each: each))
    try:
        return helper.make_attribute(name, convert(value.tolist() if is_array else value), attr_type=kind)
    except (TypeError, ValueError):
        raise UsageError("argument", name=f"{name} of {title}", kind=text, value=shown(value)) from None


def check_attributes(attributes: Mapping[str, Any], schema: Any, title: str) -> None:
    """Check the names and types of attributes; errors are those of `call_of_operator`."""
    for name, value in attributes.items():
        _attribute(name, value, schema, title)


def _number(given: Any) -> float:
    if isinstance(given, str):
        raise TypeError(given)
    return float(given)


def _numbers(given: Any) -> list[float]:
    return [_number(each) for each in given]


def _integers(given: Any) -> list[int]:
    return [index(each) for each in given]


def _texts(given: Any) -> list[str | bytes]:
    if isinstance(given, (str, bytes)):
        raise TypeError(given)
    return list(given)


def _text(given: Any) -> str | bytes:
    if not isinstance(given, (str, bytes)):
        raise TypeError(given)
    return given


_ATTRIBUTE_TYPES: dict[int | None, tuple[str, Callable[[Any], Any]]] = {
    onnx.AttributeProto.FLOAT: ("a number", _number),
    onnx.AttributeProto.FLOATS: ("a list of numbers", _numbers),
    onnx.AttributeProto.INT: ("an integer", index),
    onnx.AttributeProto.INTS: ("a list of integers", _integers),
    onnx.AttributeProto.STRING: ("a text", _text),
    onnx.AttributeProto.STRINGS: ("a list of texts", _texts),
    onnx.AttributeProto.TENSOR: ("an array or a tensor of onnx", lambda given: given),
}
"""The type of an attribute for the user, and the conversion of a value, by the type in the schema."""
