"""Judge random nodes of all declared operators on runtimes and on correct variants, and list each accusation by cause.

Run `python checks/measurements/sweep.py NODES [SEED] [OPERATOR ...] [--backend NAME]`. The nodes come from
`conformance.exact.declarations`. Each runs on the backend of the suite with this name. Without a backend, it runs on
ONNX Runtime with and without optimizations, on onnx's reference evaluator, and on variants that are correct:

- in double, with results rounded once to the type;
- with the terms of its sums in another order;
- as the function of its schema;
- with scale and bias folded into one factor and one summand;
- with fused multiply-add;
- in PyTorch, if it is installed.

Rational arithmetic and mpmath compute the exact value of an element outside of its bound, without the reference. The
element is a fault of the subject if the bound contains the exact value and the subject's value is further away.

Where there is no formula, another implementation of the operator decides that a backend is *contradicted*: it returns a
number within the bound. For operators of the domain com.microsoft that is ONNX Runtime, which defines them; for others
it is onnx's reference evaluator. They are not asked about themselves.

The exit status is 1 if an element outside of a bound of level `must` is neither such a fault nor contradicted, and
`KNOWN_FAULTS` has no fault of the operator.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from torch_variant import NOT_INSTALLED, is_installed, run_torch

from checks.truth.exact import evaluate_exactly
from checks.truth.exact_node import NoFormula
from checks.truth.known_faults import known_faults
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations, has_schemas
from conformance.exact.declarations.drawing import draw_valid_node
from conformance.exact.declarations.hard_values import text_bits
from conformance.exact.models.arrays import dtype_of, type_name, type_number
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.nodes import attribute_values
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask
from conformance.own.graphs.intermediate_values import SubjectRefused, run_each
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.exact.declarations.drawing import DrawnNode
    from conformance.subjects.calling.subject_names import Subject

    Array = np.ndarray[Any, Any]
    Outputs = list[Array] | None

KNOWN_FAULTS = known_faults()
"""Faults of subjects that explain accusations. No formula here settles them; `checks/truth/known_faults.toml` has the
evidence of each."""

BASES = {
    "variant in double": "onnx-reference",
    "variant in another order": "onnxruntime",
    "variant as a function": "onnxruntime",
}
"""The subjects that compute variants, with their faults."""

INT8_PRODUCTS = frozenset(
    {
        *("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"),
        *("DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QAttention", "QGemm"),
    }
)
"""Operators that sum products of integers of 8 bits."""

OF_ONE_TYPE = frozenset({"Cast", "CastLike", "BitCast", "QuantizeLinear", "DequantizeLinear", "EyeLike"})
"""Operators whose result depends on the type of the operand, so that double is another node."""

NARROWER = ("float", "float16", "bfloat16")


def attributes_of(node: DrawnNode) -> dict[str, Any]:
    """Return the attributes of a node by name."""
    return attribute_values(node.proto.attribute)


def run_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Array], *, is_optimized: bool) -> Outputs:
    """Return the outputs of ONNX Runtime; None if it does not run the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if is_optimized else level.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return list(session.run(None, dict(feeds)))
    except Exception:  # noqa: BLE001 - the runtime lacks the operator for the type
        return None


@cache
def has_saturated_products() -> bool:
    """Return whether ONNX Runtime saturates sums of products of uint8 and int8, as on x86 processors without VNNI."""
    graph = "saturated (uint8[1,2] A, int8[2,1] B) => (int32[1,1] Y) { Y = MatMulInteger (A, B) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {graph}')
    feeds = {"A": np.full((1, 2), 255, np.uint8), "B": np.full((2, 1), 127, np.int8)}
    outputs = run_onnxruntime(model, feeds, is_optimized=False)
    return outputs is not None and int(outputs[0][0, 0]) != 2 * 255 * 127


def is_saturated(subject: str, node: DrawnNode) -> bool:
    """Return whether a wrong result of ONNX Runtime is explained by products that this processor saturates."""
    if not subject.startswith("onnxruntime") or node.proto.op_type not in INT8_PRODUCTS:
        return False
    return any(array.dtype == np.int8 for array in node.operands.values()) and has_saturated_products()


def run_evaluator(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Outputs:
    """Return the outputs of onnx's reference evaluator; None if it does not run the model."""
    try:
        results = [np.asarray(result) for result in ReferenceEvaluator(model).run(None, dict(feeds))]
        return [each.astype(object) if each.dtype.kind == "U" else each for each in results]
    except Exception:  # noqa: BLE001 - the evaluator lacks the operator for the type
        return None


def in_double(node: DrawnNode) -> Outputs:
    """Return the outputs of the node computed in double and rounded once; None if it has no such form."""
    narrow = [dtype_of(type_number(name)) for name in NARROWER]
    if node.operator in OF_ONE_TYPE or not any(array.dtype in narrow for array in node.operands.values()):
        return None
    wide = {name: array.astype(np.float64) if array.dtype in narrow else array for name, array in node.operands.items()}
    results = run_evaluator(with_operands(node, wide), wide)
    if results is None:
        return None
    types = [dtype_of(value.type.tensor_type.elem_type) for value in node.model.graph.output]
    return [result.astype(dtype) for result, dtype in zip(results, types, strict=True)]


def with_operands(node: DrawnNode, operands: Mapping[str, Array]) -> onnx.ModelProto:
    """Return the model of the node alone, with other operands as inputs, and outputs without types."""
    inputs = [
        helper.make_tensor_value_info(name, type_number(type_name(a.dtype)), a.shape) for name, a in operands.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.proto.output]
    graph = helper.make_graph([node.proto], "variant", inputs, outputs)
    return helper.make_model(graph, opset_imports=node.model.opset_import, ir_version=node.model.ir_version)


def in_other_order(node: DrawnNode, bits: int) -> Outputs:
    """Return the outputs of a node whose sums have their terms in another order; None if it has no sum."""
    names, X = list(node.operands), next(iter(node.operands.values()), None)
    given, changed = attributes_of(node), dict(node.operands)

    def permuted(name: str, axis: int) -> None:
        array = changed[name]
        order = np.random.default_rng(bits).permutation(array.shape[axis])
        changed[name] = np.ascontiguousarray(np.take(array, order, axis=axis))

    if X is None or not X.ndim:
        return None
    if node.operator.startswith("Reduce"):
        axes = node.operands.get("axes", given.get("axes"))
        is_empty = axes is None or not np.size(axes)
        if is_empty and given.get("noop_with_empty_axes"):
            return None
        permuted(names[0], 0 if is_empty else int(axes[0]))
    elif node.operator == "MatMul" and min(array.ndim for array in changed.values()) > 1:
        permuted(names[0], -1)
        permuted(names[1], -2)
    elif node.operator == "Conv" and given.get("group", 1) == 1:
        permuted(names[0], 1)
        permuted(names[1], 1)
    elif node.operator in {"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"}:
        permuted(names[0], -1)
    else:
        return None
    return run_onnxruntime(with_types(node, with_operands(node, changed)), changed, is_optimized=False)


def with_types(node: DrawnNode, model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model with the declared outputs of the node."""
    del model.graph.output[:]
    model.graph.output.extend(node.model.graph.output)
    return model


def as_function(node: DrawnNode) -> Outputs:
    """Return the outputs of the function of the node's schema; None if it has none, or it does not run."""
    opset = node.model.opset_import[0].version
    if not has_schemas(node.proto.domain):
        return None
    schema: Any = onnx.defs.get_schema(node.operator, opset, node.proto.domain)
    if schema.has_context_dependent_function:
        types = [value.type.SerializeToString() for value in with_operands(node, node.operands).graph.input]
        versions = [each for each in schema.context_dependent_function_opset_versions if each <= opset]
        if not versions or len(types) != len(node.proto.input):
            return None
        given = node.proto.SerializeToString()
        text = schema.get_context_dependent_function_with_opset_version(max(versions), given, types)
    elif schema.has_function and (versions := [each for each in schema.function_opset_versions if each <= opset]):
        text = schema.get_function_with_opset_version(max(versions))
    else:
        return None
    function = onnx.FunctionProto.FromString(text)
    function.domain, function.name = "local", f"Own{node.operator}"
    model = with_operands(node, node.operands)
    call = model.graph.node[0]
    call.domain, call.op_type = "local", function.name
    defaults = [each.default_value for name, each in schema.attributes.items() if each.default_value.name]
    own = {attribute.name for attribute in call.attribute}
    call.attribute.extend(each for each in defaults if each.name in function.attribute and each.name not in own)
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("local", 1))
    return run_onnxruntime(with_types(node, model), node.operands, is_optimized=False)


def with_folded_scale(node: DrawnNode) -> Outputs:
    """Return a normalization as a product and a sum, in the type of the tensor; None for other operators."""
    if node.operator not in {"BatchNormalization", "InstanceNormalization"}:
        return None
    X, scale, bias, *statistics = node.operands.values()
    if X.dtype not in (np.float32, np.float64) or attributes_of(node).get("training_mode"):
        return None
    epsilon = X.dtype.type(attributes_of(node).get("epsilon", np.float32(1e-5)))
    axes = tuple(range(2, X.ndim))
    mean, variance = statistics or (X.mean(axis=axes), X.var(axis=axes))
    factor = scale / np.sqrt(variance + epsilon)
    own = (1, *factor.shape) if statistics else factor.shape
    shape = (*own, *[1] * (X.ndim - len(own)))
    return [X * factor.reshape(shape) + (bias - mean * factor).reshape(shape)]


def with_fused_multiply_add(node: DrawnNode) -> Outputs:
    """Return a matrix product in float whose sums are rounded once for each term; None for other nodes."""
    if node.operator != "MatMul":
        return None
    A, B = node.operands.values()
    if A.dtype != np.float32 or min(A.ndim, B.ndim) < 2:
        return None
    total = np.zeros((*np.broadcast_shapes(A.shape[:-2], B.shape[:-2]), A.shape[-2], B.shape[-1]), np.float32)
    for place in range(A.shape[-1]):
        exact = A[..., :, place, None].astype(np.float64) * B[..., place, None, :].astype(np.float64)
        total = (exact + total).astype(np.float32)  # the product of two floats is exact in double
    return [total]


def run_backend(backend: Subject, node: DrawnNode) -> Outputs:
    """Return the outputs of a backend of the suite; None if it does not run the model."""
    try:
        return run_each(backend.target, node.model, [list(node.inputs.values())])[0]
    except SubjectRefused:
        return None


def subjects(node: DrawnNode, bits: int) -> Iterator[tuple[str, Outputs]]:
    """Yield the name of each subject and its outputs for a node."""
    yield "onnxruntime", run_onnxruntime(node.model, node.inputs, is_optimized=True)
    yield "onnxruntime without optimizations", run_onnxruntime(node.model, node.inputs, is_optimized=False)
    yield "onnx-reference", run_evaluator(node.model, node.inputs)
    yield "variant in double", in_double(node)
    yield "variant in another order", in_other_order(node, bits)
    yield "variant as a function", as_function(node)
    yield "variant with folded scale", with_folded_scale(node)
    yield "variant with fused multiply-add", with_fused_multiply_add(node)
    yield "torch", run_torch(node, attributes_of(node))


# Exact values


def exact_output(node: DrawnNode, number: int) -> Any:
    """Return an output by the interpreter `checks.truth.exact`; None if it has no formula for the node."""
    if sum(array.size for array in node.operands.values()) > MAX_EVALUATED:
        return None
    try:
        return np.asarray(evaluate_exactly(node.model, node.inputs)[number], object)
    except (NoFormula, ArithmeticError, LookupError, TypeError, ValueError):
        return None


def exact_number(element: Any) -> Any:
    """Return an element of an exact output as a number of mpmath, which converts no numbers of NumPy before 1.4."""
    return mpmath.mpf(element.item() if isinstance(element, np.generic) else element)


MAX_EVALUATED = 30_000
"""Maximum number of elements of the operands of a node that `checks.truth.exact` evaluates."""

OWN_ERROR, SMALLEST = 2.0**-52, 2.0**-1074
"""Relative and absolute errors of a value of the reference that is shown as a double."""


def is_fault_of_subject(actual: float, value: float, error: float, exact: Any) -> bool:
    """Return whether the bound contains the exact value, and the subject's value is further from it than the bound."""
    if exact is None:
        return False
    if mpmath.isnan(exact):
        return bool(np.isnan(value) and not np.isnan(actual))
    limit = error + abs(exact) * OWN_ERROR + SMALLEST
    if not mpmath.isfinite(exact) or not np.isfinite(actual):
        return bool(exact == value and exact != actual) or (
            bool(mpmath.isfinite(exact)) and bool(np.isfinite(value)) and abs(exact - value) <= limit
        )
    return bool(abs(exact - value) <= limit and abs(exact - mpmath.mpf(actual)) > error)


def element_of(bound: Any, place: tuple[int, ...]) -> tuple[Any, float]:
    """Return an element of an expected output, and its error."""
    if isinstance(bound, Enclosure):
        return bound.value[place], float(bound.error[place])
    return bound[place], 0.0


def is_settled_by(exact: Any, actual: Array, bound: Any, places: Sequence[tuple[int, ...]]) -> bool:
    """Return whether one of the elements outside of the bound is a fault of the subject, see `is_fault_of_subject`."""
    if exact is None:
        return False
    for place in places:
        value, error = element_of(bound, place)
        if isinstance(value, str):
            if exact[place] == value:
                return True
        elif exact[place] is not None:
            number = exact_number(exact[place])
            if is_fault_of_subject(_number(actual[place]), _number(value), error, number):
                return True
    return False


def is_invented(node: DrawnNode, actual: Any, value: Any) -> bool:
    """Return whether an operator that only moves elements has an element that no operand has, unlike the expected."""
    if node.proto.op_type not in MOVEMENTS:
        return False
    moved = [array for array in node.operands.values() if array.dtype == np.asarray(actual).dtype]
    has_value, has_actual = (any(bool((array == each).any()) for array in moved) for each in (value, actual))
    return has_value and not has_actual


MOVEMENTS = frozenset(
    {
        *("Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND"),
        *("Identity", "Reshape", "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Slice"),
        *("SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
    }
)
"""Operators whose results are elements of operands, apart from zeros and sums."""


def is_inferred(model: onnx.ModelProto, number: int, tensor: Array | Enclosure, *, has_shape: bool = True) -> bool:
    """Return whether onnx gives an output of a node the type and the shape of a tensor, as far as it infers them.

    Without `has_shape` only the type counts.
    """
    bare = onnx.ModelProto.FromString(model.SerializeToString())
    for value in [*bare.graph.output, *bare.graph.value_info]:
        value.ClearField("type")
    inferred = onnx.shape_inference.infer_shapes(bare, data_prop=True).graph.output[number].type.tensor_type
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in inferred.shape.dim]
    is_shape = len(sizes) == len(tensor.shape) and all(
        size in (None, given) for size, given in zip(sizes, tensor.shape, strict=True)
    )
    (node,), (opset,) = model.graph.node, model.opset_import
    admitted = onnx.defs.get_schema(node.op_type, opset.version, node.domain).outputs[number].types
    own = type_number(type_name(tensor.dtype))
    is_type = inferred.elem_type == own if inferred.elem_type else f"tensor({type_name(tensor.dtype)})" in admitted
    return is_type and (is_shape or not has_shape or not inferred.HasField("shape"))


# The sweep


@dataclass
class Sweep:
    """The results of a sweep.

    Attributes:
        counts: the number of judged nodes and compared results, and of nodes that were not judged by reason.
        causes: the accusations: the number by cause.
        examples: the first accusation of each cause.
        open: the causes of level `must` that are neither settled nor contradicted nor known.
        backend: the backend that runs the nodes; None for the runtimes and variants of `subjects`.
    """

    backend: Subject | None = None

    counts: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)

    def judge(self, operator: str, seed: str) -> None:
        """Draw a node and judge it on all subjects."""
        node, own = draw_valid_node(operator, seed)
        self.counts["nodes"] += 1
        try:
            expected = enclose(NodeScope.of(node.model), node.proto, node.operands)
        except Unsupported as reason:
            self.counts[f"not judged: {reason}"] += 1
            return
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # a fault of the suite
            cause = f"open: suite: {operator}: {type(error).__name__}"
            self.causes[cause] += 1
            self.examples.setdefault(cause, f"{error}; seed {own}")
            self.open.add(cause)
            return
        self.counts["judged nodes"] += 1
        backend = self.backend
        results = subjects(node, text_bits(own)) if backend is None else [(backend.id, run_backend(backend, node))]
        for name, outputs in results:
            if outputs is not None:
                self.counts[f"results of {name}"] += 1
                for number, (actual, tensor) in enumerate(zip(outputs, expected, strict=False)):
                    if tensor is not None:  # the page does not state this output
                        self.compare(node, own, name, number, np.asarray(actual), tensor)

    def compare(self, node: DrawnNode, seed: str, name: str, number: int, actual: Array, tensor: Any) -> None:
        """Compare an output of a subject with its enclosure."""
        if isinstance(tensor, Enclosure) and actual.dtype == np.uint8 and np.dtype(tensor.dtype).kind in "fV":
            actual = actual.view(tensor.dtype)  # ONNX Runtime returns the bytes of types that NumPy lacks
        if actual.dtype != tensor.dtype or actual.shape != tuple(tensor.shape):
            shapes = f"{actual.dtype}{list(actual.shape)}, expected {tensor.dtype}{list(tensor.shape)}"
            model = with_operands(node, node.operands)
            known = [numpy_helper.from_array(array, key) for key, array in node.operands.items() if array.size < 9]
            model.graph.initializer.extend(known)  # shape inference reads starts and ends of Slice
            has_shape = actual.shape != tuple(tensor.shape)
            right, wrong = (is_inferred(model, number, each, has_shape=has_shape) for each in (tensor, actual))
            line, kind = f"must: output {number}: {shapes}", "another type or shape"
            if wrong and actual.shape != tuple(tensor.shape):
                self.counts["results with the size that shape inference states, and not the page"] += 1
                return
            is_settled = (right and not wrong) or actual.shape != tuple(tensor.shape) == np.shape(
                exact_output(node, number)
            )
            self.accuse(node, seed, name, line, kind, is_settled=is_settled)
            return
        bounds = {"must": tensor}
        # NumPy accumulates float16 in float16, which level `should` does not admit
        if name.startswith("onnxruntime") and isinstance(tensor, Enclosure) and tensor.should is not None:
            bounds["should"] = tensor.should
        for level, bound in bounds.items():
            outside = ~admissible_mask(actual, bound)
            if outside.any():
                places = [tuple(map(int, each)) for each in np.argwhere(outside)] if outside.ndim else [()]
                place, exact = places[0], exact_output(node, number)
                value, error = element_of(bound, place)
                got = actual[place]
                line = f"{level}: output {number}{list(place)} is {got!r}, expected {value!r} ± {error:.3g}"
                if exact is not None and exact[place] is not None and not isinstance(got, str):
                    line += f", exactly {mpmath.nstr(exact_number(exact[place]), 20)}"
                is_settled = is_invented(node, got, value) or is_settled_by(exact, actual, bound, places)
                kind = f"{level}, {_kind(got)} instead of {_kind(value)}"
                is_other = level == "must" and not is_settled and self.backend is not None
                is_other = is_other and is_contradicted(name, node, number, place, bound)
                self.accuse(node, seed, name, line, kind, is_settled=is_settled, is_contradicted=is_other)
                return

    def accuse(
        self,
        node: DrawnNode,
        seed: str,
        name: str,
        line: str,
        kind: str,
        *,
        is_settled: bool,
        is_contradicted: bool = False,
    ) -> None:
        """Count an accusation, and keep the first of each cause."""
        subject = BASES.get(name, name.partition(" without")[0])
        is_known = is_saturated(subject, node) or any(row.explains(subject, node.model, kind) for row in KNOWN_FAULTS)
        state = "settled" if is_settled else "known" if is_known else "contradicted" if is_contradicted else "open"
        types = "/".join(dict.fromkeys(type_name(array.dtype) for array in node.operands.values()))
        cause = f"{state}: {name}: {node.operator} of {types}: {kind}"
        self.causes[cause] += 1
        shapes = " ".join(f"{type_name(array.dtype)}{list(array.shape)}" for array in node.operands.values())
        attributes = {key: value for key, value in attributes_of(node).items() if not isinstance(value, np.ndarray)}
        opset = node.model.opset_import[0].version
        self.examples.setdefault(cause, f"{line}; {shapes} {attributes} opset {opset}, seed {seed}")
        if state == "open" and not kind.startswith("should"):
            self.open.add(cause)

    def lines(self) -> list[str]:
        """Return the report: accusations by cause, and counts."""
        found = [f"{number:6} {cause}\n       {self.examples[cause]}" for cause, number in sorted(self.causes.items())]
        return [*found, *(f"{number:8} {text}" for text, number in self.counts.most_common())]


def is_contradicted(subject: str, node: DrawnNode, number: int, place: tuple[int, ...], bound: Any) -> bool:
    """Return whether another implementation of an operator returns a number within the bound, see the module."""
    is_microsoft = node.proto.domain == "com.microsoft"
    other = "onnxruntime" if is_microsoft else "onnx-reference"
    if subject.startswith(other):
        return False
    if is_microsoft:
        outputs = run_onnxruntime(node.model, node.inputs, is_optimized=False)
    else:
        outputs = run_evaluator(node.model, node.inputs)
    if outputs is None:
        return False
    actual = np.asarray(outputs[number])
    is_same_kind = actual.dtype == bound.dtype and actual.shape == tuple(bound.shape)
    return is_same_kind and bool(np.asarray(admissible_mask(actual, bound))[place])


def _number(element: Any) -> float:
    return int(element) if isinstance(element, np.integer | np.bool_) else float(element)


def _kind(number: Any) -> str:
    if isinstance(number, str):
        return "a string"
    value = float(number)
    return "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else "a number" if value else "zero"


def sweep(count: int, seed: int, operators: Sequence[str] = (), backend: Subject | None = None) -> Sweep:
    """Judge random nodes; the operators take turns."""
    chosen, found = list(operators) or list(declarations()), Sweep(backend)
    for number in range(count):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found.judge(chosen[number % len(chosen)], f"{seed}/{number}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Sweep, and return 1 if an accusation of level `must` is open."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="number of nodes", metavar="NODES")
    parser.add_argument("seed", type=int, nargs="?", default=1, metavar="SEED")
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    parser.add_argument("--backend", metavar="NAME", help="run the nodes on this backend")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    named = [] if options.backend is None else [SubjectName.parse(options.backend, SubjectKind.BACKEND)]
    with started_subjects(named, Limits()) if named else nullcontext([None]) as (backend,):
        found = sweep(options.count, options.seed, options.operators, backend)
    missing = [] if is_installed or named else [NOT_INSTALLED]
    last = f"{time.monotonic() - started:.0f} s; {len(found.open)} causes of level must are open"
    text = [*found.lines(), *missing, last]
    sys.stdout.write("\n".join(text) + "\n")
    return int(bool(found.open))


if __name__ == "__main__":
    sys.exit(main())
