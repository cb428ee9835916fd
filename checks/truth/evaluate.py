"""An interpreter of models whose arithmetic, fused nodes and kernels can be chosen.

Each node runs as a model of its own on ONNX Runtime without optimizations, and on onnx's ReferenceEvaluator where ONNX
Runtime has no kernel. A `Behavior` changes this: it replaces the results of operators, keeps float16 values in float
between nodes, computes in double, or does not round the values between two nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    Result: TypeAlias = Any
    Replacement: TypeAlias = Callable[["Call"], "Result"]

HALVES = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
FLOATS = {*HALVES, TensorProto.FLOAT, TensorProto.DOUBLE}
MAX_ITERATIONS = 10_000
onnxruntime.set_default_logger_severity(4)

NOT_EXPANDED = {"AffineGrid", "Celu", "RotaryEmbedding"}
"""Operators whose functions mix types, have no node for an output, or are not run by ONNX Runtime."""

RECURRENT = {"GRU", "LSTM", "RNN"}
"""Operators that ONNX Runtime does not compute in double."""


@dataclass(frozen=True)
class Value:
    """An array with the element type of the model; the array may have a wider type than the model states."""

    array: Array
    type: int


@dataclass(frozen=True)
class Behavior:
    """A way to compute a model.

    Attributes:
        replaced: a function for each operator whose result differs from that of the correct kernel.
        is_region: float16 and bfloat16 values stay in float between nodes, and are rounded in outputs of the model.
        is_double: every float node is computed in double and rounded once.
        fused: pairs of operators. The value between them is not rounded if only the second node reads it.
        replaced_pairs: a function for such a pair; it receives the calls of both nodes.
        is_expanded: operators that the specification defines as functions are computed by the nodes of the function.
        changed_node: the name of a node whose first output is changed after it is computed.
        change: the kind of this change, a name in `CHANGES`.
    """

    replaced: Mapping[str, Replacement] = field(default_factory=dict)
    is_region: bool = False
    is_double: bool = False
    fused: tuple[tuple[str, str], ...] = ()
    replaced_pairs: Mapping[tuple[str, str], Callable[[Call, Call, int], Result]] = field(default_factory=dict)
    is_expanded: bool = False
    changed_node: str = ""
    change: str = ""


class Call:
    """One execution of a node. Calling it computes the correct outputs, also for other inputs or attributes."""

    def __init__(
        self, evaluation: Evaluation, node: onnx.NodeProto, values: Sequence[Value | None], *, is_wide: bool
    ) -> None:
        self._evaluation = evaluation
        self._node = node
        self._types = [value.type if value else 0 for value in values]
        self._is_wide = is_wide
        self.attributes: dict[str, Any] = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.inputs: list[Any] = [None if value is None else widen(value, is_wide=is_wide) for value in values]
        self.type = self._types[0] if self._types else 0

    def input(self, index: int) -> Any:
        """Return an input, or None if it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def __call__(self, *inputs: Array | None, operator: str | None = None, **attributes: Any) -> list[Array]:
        """Return the correct outputs, in the type of the computation. An attribute that is None is removed."""
        merged = {k: v for k, v in {**self.attributes, **attributes}.items() if v is not None}
        arrays = list(inputs) if inputs else self.inputs
        operator = operator or self._node.op_type
        if operator in CONTROL_FLOW:
            types = [*self._types, *[0] * len(arrays)]
            values = [None if a is None else Value(a, types[i]) for i, a in enumerate(arrays)]
            return [value.array for value in CONTROL_FLOW[operator](self._evaluation, merged, values)]
        return self.kernel(operator, merged, arrays)(arrays)

    def one(self, *inputs: Array | None, operator: str | None = None, **attributes: Any) -> Array:
        """Return the first correct output."""
        return self(*inputs, operator=operator, **attributes)[0]

    def kernel(self, operator: str, attributes: dict[str, Any], arrays: Sequence[Array | None]) -> Kernel:
        """Return the kernel of the node for other inputs or attributes."""
        types = [
            0
            if a is None
            else (
                self._types[i] if i < len(self._types) and self._types[i] else helper.np_dtype_to_tensor_dtype(a.dtype)
            )
            for i, a in enumerate(arrays)
        ]
        given = tuple(bool(name) for name in self._node.output)
        node = helper.make_node(operator, [], [], domain=self._node.domain, **attributes)
        packed = node.SerializeToString(deterministic=True)
        return make_kernel(operator, packed, tuple(types), given, self._evaluation.opset, self._is_wide)

    def round(self, array: Array, type: int | None = None) -> Array:
        """Round to the element type of the first input, or to another type; keep the type of the array."""
        return round_to(array, self.type if type is None else type).astype(array.dtype)


class Kernel:
    """The correct computation of one node for given attributes and types."""

    def __init__(
        self, operator: str, packed: bytes, types: Sequence[int], given: Sequence[bool], opset: int, *, is_wide: bool
    ) -> None:
        node = onnx.NodeProto.FromString(packed)
        node.input.extend(f"i{i}" if type else "" for i, type in enumerate(types))
        node.output.extend(f"o{i}" if is_given else "" for i, is_given in enumerate(given))
        self.output_types = output_types(node, types, opset)
        for attribute in node.attribute:
            if attribute.name == "to" and operator == "Cast":
                attribute.i = computed_type(attribute.i, is_wide=is_wide)
        self._inputs = [(name, i) for i, name in enumerate(node.input) if name]
        self._given = given
        model = one_node_model(node, [computed_type(type, is_wide=is_wide) for type in types], opset)
        self._session: Any = None
        try:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.intra_op_num_threads = 1
            options.log_severity_level = 4
            self._session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception:  # noqa: BLE001 - ONNX Runtime raises many types for a kernel that it does not have
            self._session = None
        if node.domain and self._session:  # onnx infers no types for some domains
            found = {value.name: ORT_TYPES[value.type] for value in self._session.get_outputs()}
            self.output_types = [found.get(name, 0) for name in node.output]
        self._own = OWN_KERNELS.get(node.op_type)
        self._attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self._model = model

    def __call__(self, arrays: Sequence[Array | None]) -> list[Array]:
        feeds = {name: contiguous(arrays[i]) for name, i in self._inputs}
        found = iter(self._outputs(feeds))
        return [self._typed(next(found), i) if is_given else np.empty(0) for i, is_given in enumerate(self._given)]

    def _outputs(self, feeds: Mapping[str, Array]) -> Sequence[Array]:
        if self._session:
            try:
                return list(self._session.run(None, feeds))
            except onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException as error:
                if "does not support" not in str(error):  # otherwise the kernel refuses its type when it runs
                    raise
        if self._own:
            return [self._own([feeds[name] for name, _ in self._inputs], self._attributes)]
        return list(ReferenceEvaluator(self._model).run(None, dict(feeds)))

    def _typed(self, array: Array, index: int) -> Array:
        type = helper.tensor_dtype_to_np_dtype(self.output_types[index])
        is_raw = array.dtype == np.uint8 and type.itemsize == 1 and type.kind not in "biu"  # ONNX Runtime's float8
        return array.view(type) if is_raw else np.asarray(array)


def contiguous(array: Any) -> Array:
    """Return a contiguous array of the same shape; NumPy's function gives a scalar an axis."""
    return np.asarray(np.ascontiguousarray(array).reshape(np.shape(array)))


def exact_gelu(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Array:
    """Return Gelu in double."""
    x = arrays[0]
    if attributes.get("approximate") == b"tanh":
        return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * ERFC(-x / math.sqrt(2)))


def exact_lrn(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Array:
    """Return LRN, also with the even sizes that ONNX Runtime refuses."""
    x, size = arrays[0], attributes["size"]
    low, high = (size - 1) // 2, size // 2
    square = np.stack([(x[:, max(0, c - low) : c + high + 1] ** 2).sum(1) for c in range(x.shape[1])], 1)
    scale = attributes.get("bias", 1.0) + attributes.get("alpha", float(np.float32(1e-4))) / size * square
    return np.asarray(x / scale ** attributes.get("beta", 0.75))


ERF = np.vectorize(math.erf, otypes=[np.float64])
ERFC = np.vectorize(math.erfc, otypes=[np.float64])
OWN_KERNELS: dict[str, Any] = {"Erf": lambda arrays, _: ERF(arrays[0]), "Gelu": exact_gelu, "LRN": exact_lrn}
"""Kernels that ONNX Runtime does not have in double, and that onnx's ReferenceEvaluator computes in float."""


@lru_cache(maxsize=4096)
def make_kernel(
    operator: str, packed: bytes, types: tuple[int, ...], given: tuple[bool, ...], opset: int, is_wide: bool
) -> Kernel:
    """Return the kernel of a node, which is made once."""
    return Kernel(operator, packed, types, given, opset, is_wide=is_wide)


def one_node_model(node: onnx.NodeProto, types: Sequence[int], opset: int) -> onnx.ModelProto:
    """Return a model of one node whose inputs have no declared shape."""
    inputs = [helper.make_tensor_value_info(n, t, None) for n, t in zip(node.input, types, strict=True) if n]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs)
    return helper.make_model(graph, opset_imports=opset_imports(node.domain, opset), ir_version=10)


def opset_imports(domain: str, opset: int) -> list[onnx.OperatorSetIdProto]:
    """Return the versions of a model of one node."""
    main = helper.make_opsetid("", opset)
    return [main, helper.make_opsetid(domain, DOMAIN_VERSIONS[domain])] if domain else [main]


DOMAIN_VERSIONS = {"ai.onnx.ml": 3, "com.microsoft": 1}
"""The versions of domains other than the main one."""

ORT_TYPES = {
    "tensor(float)": TensorProto.FLOAT,
    "tensor(int64)": TensorProto.INT64,
    "tensor(int32)": TensorProto.INT32,
    "tensor(uint8)": TensorProto.UINT8,
    "tensor(int8)": TensorProto.INT8,
}
"""Element types by their names in ONNX Runtime."""


def output_types(node: onnx.NodeProto, types: Sequence[int], opset: int) -> list[int]:
    """Return the element types of the outputs, 0 for an output that is left out."""
    inferred = onnx.shape_inference.infer_shapes(one_node_model(node, types, opset)).graph.output
    found = {value.name: value.type.tensor_type.elem_type for value in inferred}
    return [(found.get(name) or types[0]) if name else 0 for name in node.output]


def computed_type(type: int, *, is_wide: bool) -> int:
    """Return the type in which a node computes."""
    if is_wide and type in FLOATS:
        return TensorProto.DOUBLE
    return TensorProto.FLOAT if type in HALVES else type


def widen(value: Value, *, is_wide: bool) -> Array:
    """Return the array in the type of the computation."""
    if value.type not in FLOATS:
        return value.array
    return value.array.astype(helper.tensor_dtype_to_np_dtype(computed_type(value.type, is_wide=is_wide)))


def round_to(array: Array, type: int) -> Array:
    """Round an array once to an element type."""
    with np.errstate(all="ignore"):
        if type != TensorProto.BFLOAT16 or array.dtype != np.float64:
            return array.astype(helper.tensor_dtype_to_np_dtype(type))
        single = array.astype(np.float32)  # round to odd, so that the second rounding is right
        wrong = (single.astype(np.float64) != array) & np.isfinite(array) & np.isfinite(single)
        away = wrong & (np.abs(single.astype(np.float64)) > np.abs(array))
        single = np.where(away, np.nextafter(single, np.float32(0)), single)
        single = np.where(wrong, (single.view(np.uint32) | 1).view(np.float32), single)
        return single.astype(ml_dtypes.bfloat16)


class Evaluation:
    """One execution of a model."""

    def __init__(self, model: onnx.ModelProto, behavior: Behavior) -> None:
        self.opset = next(o.version for o in model.opset_import if o.domain in {"", "ai.onnx"})
        self.behavior = behavior
        self.ulps: dict[str, float] = {}

    def run_graph(self, graph: onnx.GraphProto, values: dict[str, Value]) -> list[Value]:
        """Return the outputs of a graph; `values` has the inputs and the values of outer graphs."""
        values = dict(values)
        for tensor in graph.initializer:
            values.setdefault(tensor.name, Value(onnx.numpy_helper.to_array(tensor), tensor.data_type))
        readers: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in [*node.input, *captured(node)]:
                readers.setdefault(name, []).append(node)
        exposed = {value.name for value in graph.output}
        calls: dict[str, Call] = {}
        for node in graph.node:
            fused = self._fused_reader(node, readers, exposed)
            pair = next((name for name in node.input if name in calls), None)
            call = self._call(node, values)
            if pair is not None:
                first = calls[pair]
                function = self.behavior.replaced_pairs.get((first._node.op_type, node.op_type))  # noqa: SLF001
                results = self._finish(
                    node,
                    values,
                    None if function is None else function(first, call, list(node.input).index(pair)),
                    call,
                    keep=fused,
                )
            else:
                results = self._finish(node, values, None, call, keep=fused)
            if fused and (node.op_type, readers[node.output[0]][0].op_type) in self.behavior.replaced_pairs:
                calls[node.output[0]] = call
            if node.name and node.name == self.behavior.changed_node:
                results[0] = self._change(results[0])
            values.update((name, value) for name, value in zip(node.output, results, strict=False) if name)
        return [values[value.name] for value in graph.output]

    def _change(self, value: Value) -> Value:
        """Return the value after the change of the behavior, in its own type, and keep the difference in ULP."""
        array = round_to(value.array, value.type)
        changed = CHANGES[self.behavior.change](array.astype(np.float64), value.type)
        changed = round_to(np.asarray(changed, np.float64), value.type)
        self.ulps["changed"] = max(self.ulps.get("changed", 0.0), ulps(changed, array, value.type))
        return Value(changed.astype(value.array.dtype), value.type)

    def _fused_reader(self, node: onnx.NodeProto, readers: dict[str, list[onnx.NodeProto]], exposed: set[str]) -> bool:
        if len(node.output) != 1 or node.output[0] in exposed or len(readers.get(node.output[0], ())) != 1:
            return False
        pair = (node.op_type, readers[node.output[0]][0].op_type)
        return pair in self.behavior.fused or pair in self.behavior.replaced_pairs

    def _call(self, node: onnx.NodeProto, values: dict[str, Value]) -> Call:
        self.scope = values
        given = [values[name] if name else None for name in node.input]
        unrounded = any(v is not None and v.array.dtype == np.float64 and v.type != TensorProto.DOUBLE for v in given)
        is_wide = (self.behavior.is_double or unrounded) and node.op_type not in {*CONTROL_FLOW, *RECURRENT}
        return Call(self, node, given, is_wide=is_wide)

    def _finish(
        self, node: onnx.NodeProto, values: dict[str, Value], result: Result | None, call: Call, *, keep: bool
    ) -> list[Value]:
        given = [values[name] if name else None for name in node.input]
        if self.behavior.is_expanded and (body := function_body(node, [v.type if v else 0 for v in given], self.opset)):
            return self._run_function(body, given)
        replacement = self.behavior.replaced.get(node.op_type)
        if node.op_type in CONTROL_FLOW and replacement is None:
            return CONTROL_FLOW[node.op_type](self, call.attributes, given)
        if node.op_type in CONTROL_FLOW:
            types = [value.type for value in CONTROL_FLOW[node.op_type](self, call.attributes, given)]
        else:
            types = call.kernel(node.op_type, call.attributes, call.inputs).output_types
        if result is None and replacement is not None:
            with np.errstate(all="ignore"):
                result = replacement(call)
        if result is None and node.op_type == "Cast" and types[0] in FLOATS and given[0] and given[0].type in FLOATS:
            return [Value(round_to(given[0].array, types[0]), types[0])]
        if result is not None and node.op_type not in CONTROL_FLOW:
            self._compare(node.op_type, call(), result, types)
        outputs = (
            [result] if isinstance(result, np.ndarray | np.generic) else list(call() if result is None else result)
        )
        is_cast = node.op_type in {"Cast", "CastLike"}
        return [
            Value(np.empty(0) if a is None else self._store(np.asarray(a), type, keep=keep, is_cast=is_cast), type)
            for a, type in zip(outputs, types, strict=False)
        ]

    def _run_function(self, body: onnx.FunctionProto, given: Sequence[Value | None]) -> list[Value]:
        """Return the outputs of a function; every node of the function rounds its result."""
        values = {name: value for name, value in zip(body.input, given, strict=False) if value is not None}
        made = {name for node in body.node for name in node.output}  # without optional outputs
        outputs = [onnx.ValueInfoProto(name=name) for name in body.output if name in made]
        graph = onnx.GraphProto(node=body.node, output=outputs)
        opset = self.opset
        self.opset = next((o.version for o in body.opset_import if not o.domain), opset)
        try:
            return self.run_graph(graph, values)
        finally:
            self.opset = opset

    def _compare(self, operator: str, correct: Sequence[Array], result: Any, types: Sequence[int]) -> None:
        """Keep the largest difference of a replaced result from the correct one, in ULP of the type of the output."""
        results = [result] if isinstance(result, np.ndarray | np.generic) else result
        pairs = zip(results, correct, types, strict=False)
        found = [ulps(np.asarray(r), c, type) for r, c, type in pairs if r is not None and type]
        self.ulps[operator] = max(self.ulps.get(operator, 0.0), *found, 0.0)

    def _store(self, array: Array, type: int, *, keep: bool, is_cast: bool) -> Array:
        if keep and type in FLOATS:
            return array.astype(np.float64)
        if type in HALVES and self.behavior.is_region and not is_cast:
            return array.astype(np.float32)
        return round_to(array, type) if type else array


def ulps(result: Array, correct: Array, type: int) -> float:
    """Return the largest difference in ULP.

    It is infinite for other shapes, whole numbers, NaN, infinities and signs of zero that differ.
    """
    if result.shape != correct.shape:
        return float("inf")
    if not result.size:
        return 0.0
    if type not in FLOATS:
        return float("inf") if (result.astype(correct.dtype) != correct).any() else 0.0
    stored: Any = ml_dtypes.finfo(helper.tensor_dtype_to_np_dtype(type))  # type: ignore[no-untyped-call]
    a, b = result.astype(np.float64), correct.astype(np.float64)
    with np.errstate(all="ignore"):
        is_far = (np.isnan(a) != np.isnan(b)) | ((np.isinf(a) | np.isinf(b)) & (a != b) & ~np.isnan(a))
        is_far |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
        size = np.maximum(np.abs(b), float(stored.smallest_normal))
        unit = float(stored.eps) * 2.0 ** np.floor(np.log2(size))
        distance = np.where(is_far, np.inf, np.where((a == b) | np.isnan(a), 0, np.abs(a - b) / unit))
    return float(distance.max())


def function_body(node: onnx.NodeProto, types: Sequence[int], opset: int) -> onnx.FunctionProto | None:
    """Return the function that defines the operator of a node, with the attributes of the node; None without one."""
    if not onnx.defs.has(node.op_type, opset) or node.op_type in {*CONTROL_FLOW, *NOT_EXPANDED}:
        return None
    schema: Any = onnx.defs.get_schema(node.op_type, opset)  # the types of onnx do not have the functions
    dependent = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
    plain = [v for v in schema.function_opset_versions if v <= opset]
    if dependent:
        made = [helper.make_tensor_type_proto(type, None).SerializeToString() for type in types]
        packed = schema.get_context_dependent_function_with_opset_version(
            max(dependent), node.SerializeToString(), made
        )
    elif plain:
        packed = schema.get_function_with_opset_version(max(plain))
    else:
        return None
    body: onnx.FunctionProto = onnx.FunctionProto.FromString(packed)
    given = {name: attribute.default_value for name, attribute in schema.attributes.items()}
    given |= {attribute.name: attribute for attribute in node.attribute}
    for inner in body.node:
        for index, attribute in reversed(list(enumerate(inner.attribute))):
            if attribute.ref_attr_name:
                found = given.get(attribute.ref_attr_name)
                if found is None or not found.type:
                    del inner.attribute[index]
                else:
                    name = attribute.name
                    attribute.CopyFrom(found)
                    attribute.name = name
    return body


def spacing(array: Array, type: int) -> Array:
    """Return the distances of numbers of a type near the elements of an array of doubles."""
    stored: Any = ml_dtypes.finfo(helper.tensor_dtype_to_np_dtype(type))  # type: ignore[no-untyped-call]
    size = np.maximum(np.abs(array), float(stored.smallest_normal))
    return np.asarray(float(stored.eps) * 2.0 ** np.floor(np.log2(size)))


def with_last(array: Array, value: float) -> Array:
    """Return a copy whose last element has another value."""
    copy = array.copy()
    copy.reshape(-1)[-1:] = value
    return copy


CHANGES: dict[str, Callable[[Array, int], Array]] = {
    "zeros": lambda x, _: np.zeros_like(x),
    "percent": lambda x, _: x * 1.01,
    "ulps": lambda x, elem_type: x + 64 * spacing(x, elem_type),
    "last": lambda x, _: with_last(x, 0.75 * x.reshape(-1)[-1] if x.size else 0.0),
    "nan": lambda x, _: with_last(x, float("nan")),
    "shifted": lambda x, _: np.roll(x, 1, -1) if x.ndim else x,
}
"""Changes of the output of one node: a wrong result of any operator, without a model of the mistake."""


def captured(node: onnx.NodeProto) -> set[str]:
    """Return the names that the graphs of a node read."""
    found: set[str] = set()
    for attribute in node.attribute:
        for inner in attribute.g.node:
            found.update(inner.input, captured(inner))
        found.update(value.name for value in attribute.g.output)
    return found


def run_if(evaluation: Evaluation, attributes: dict[str, Any], inputs: Sequence[Value | None]) -> list[Value]:
    """Return the outputs of the branch that an If takes."""
    condition = inputs[0]
    assert condition is not None
    branch = attributes["then_branch" if condition.array.item() else "else_branch"]
    return evaluation.run_graph(branch, evaluation.scope)


def run_loop(evaluation: Evaluation, attributes: dict[str, Any], inputs: Sequence[Value | None]) -> list[Value]:
    """Return the outputs of a Loop."""
    body, scope = attributes["body"], dict(evaluation.scope)
    limit = int(inputs[0].array.item()) if inputs[0] else MAX_ITERATIONS
    goes_on = Value(np.array(True) if inputs[1] is None else inputs[1].array, TensorProto.BOOL)
    carried = [value for value in inputs[2:] if value]
    collected: list[list[Value]] = []
    iteration = 0
    while iteration < limit and bool(goes_on.array.item()):
        counter = Value(np.array(iteration, np.int64), TensorProto.INT64)
        given = dict(zip((v.name for v in body.input), [counter, goes_on, *carried], strict=True))
        goes_on, *rest = evaluation.run_graph(body, {**scope, **given})
        carried = rest[: len(carried)]
        collected.append(rest[len(carried) :])
        iteration += 1
    evaluation.scope = scope
    return [
        *carried,
        *(Value(np.stack([v.array for v in column]), column[0].type) for column in zip(*collected, strict=True)),
    ]


def run_scan(evaluation: Evaluation, attributes: dict[str, Any], inputs: Sequence[Value | None]) -> list[Value]:
    """Return the outputs of a Scan over the first axis."""
    body, scope, count = attributes["body"], dict(evaluation.scope), attributes["num_scan_inputs"]
    given = [value for value in inputs if value]
    carried, scanned = given[: len(given) - count], given[len(given) - count :]
    backwards = attributes.get("scan_input_directions") or [0] * count
    collected: list[list[Value]] = []
    for step in range(scanned[0].array.shape[0]):
        rows = [Value(s.array[-1 - step if b else step], s.type) for s, b in zip(scanned, backwards, strict=True)]
        names = (v.name for v in body.input)
        rest = evaluation.run_graph(body, {**scope, **dict(zip(names, [*carried, *rows], strict=True))})
        carried = rest[: len(carried)]
        collected.append(rest[len(carried) :])
    evaluation.scope = scope
    columns = list(zip(*collected, strict=True))
    reverse = attributes.get("scan_output_directions") or [0] * len(columns)
    return [
        *carried,
        *(
            Value(np.stack([v.array for v in (c[::-1] if b else c)]), c[0].type)
            for c, b in zip(columns, reverse, strict=True)
        ),
    ]


CONTROL_FLOW: dict[str, Callable[[Evaluation, dict[str, Any], Sequence[Value | None]], list[Value]]] = {
    "If": run_if,
    "Loop": run_loop,
    "Scan": run_scan,
}


def declare_outputs(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> onnx.ModelProto:
    """Return a model whose outputs have types and shapes: the inferred ones, or those of a correct execution."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    del inferred.graph.value_info[:]
    tensors = [value.type.tensor_type for value in inferred.graph.output]
    if not all(
        t.elem_type and t.HasField("shape") and all(d.HasField("dim_value") for d in t.shape.dim) for t in tensors
    ):
        for value, array in zip(inferred.graph.output, evaluate(inferred, feeds, Behavior()), strict=True):
            type = helper.np_dtype_to_tensor_dtype(array.dtype)
            value.CopyFrom(helper.make_tensor_value_info(value.name, type, array.shape))
    return inferred


def evaluate(model: onnx.ModelProto, feeds: Mapping[str, Array], behavior: Behavior) -> list[Array]:
    """Return the outputs of a model."""
    return execute(model, feeds, behavior)[0]


def execute(
    model: onnx.ModelProto, feeds: Mapping[str, Array], behavior: Behavior
) -> tuple[list[Array], dict[str, float]]:
    """Return the outputs of a model, and how far replaced results are from the correct ones, by operator in ULP."""
    values = {
        v.name: Value(np.asarray(feeds[v.name]), v.type.tensor_type.elem_type)
        for v in model.graph.input
        if v.name in feeds
    }
    evaluation = Evaluation(model, behavior)
    outputs = evaluation.run_graph(model.graph, values)
    return [round_to(output.array, output.type) for output in outputs], evaluation.ulps
