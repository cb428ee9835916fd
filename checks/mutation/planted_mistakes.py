"""Count how many planted mistakes the diagnosis of `run` names, on a corpus of `generate --onnx`.

python -m checks.mutation.planted_mistakes CORPUS [--operator NAME …] [-v]

A planted mistake is a change of ONNX Runtime: of the node, its operands, or its outputs. It is judged on the cases of
its operator that ONNX Runtime passes without it. `MISTAKES` was written from the pages of the operators. The expected
name is that of the mutant with the same meaning. It is empty for a mistake that is no mutant: any name is wrong then.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import helper

from conformance.base.errors import ConformanceError
from conformance.base.serialization.printable_text import print_line
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.models.arrays import array_of, format_of
from conformance.run.diagnosis.collected_results import CollectedResult, ResultCollector
from conformance.run.diagnosis.diagnosis_run import diagnose_run
from conformance.run.diagnosis.failure_evidence import (
    Observation,
    is_failure,
    observation_to_record,
    observe,
    single_node,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.exact.models.arrays import Array


@dataclass(frozen=True)
class Mistake:
    """A planted mistake.

    Attributes:
        operator: the operator.
        text: the mistake.
        name: the expected name; empty if no mutant has the meaning.
        attributes: new values of attributes, each from the old value; None removes the attribute.
        operands: returns other operands.
        outputs: returns other outputs from the operands and the right outputs.
        left_out: the number of an input that is left out.
    """

    operator: str
    text: str
    name: str
    attributes: Mapping[str, Callable[[Any], Any]] | None = None
    operands: Callable[[list[Any]], list[Any]] | None = None
    outputs: Callable[[list[Any], list[Any]], list[Any]] | None = None
    left_out: int | None = None


def ignored(operator: str, *names: str) -> list[Mistake]:
    """Return the mistakes of ignoring attributes."""
    return [
        Mistake(operator, f"does not read {name}", f"ignores {name}", attributes={name: lambda _: None})
        for name in names
    ]


def without(operator: str, number: int, name: str) -> Mistake:
    """Return the mistake of ignoring an optional input."""
    return Mistake(operator, f"does not read the input {name}", f"ignores the input {name}", left_out=number)


def changed(operator: str, text: str, name: str, **attributes: Callable[[Any], Any]) -> Mistake:
    """Return a mistake with attributes."""
    return Mistake(operator, text, name, attributes=attributes)


def reading(operator: str, text: str, name: str, operands: Callable[[list[Any]], list[Any]]) -> Mistake:
    """Return a mistake with operands."""
    return Mistake(operator, text, name, operands=operands)


def returning(operator: str, text: str, name: str, outputs: Callable[[list[Any], list[Any]], list[Any]]) -> Mistake:
    """Return a mistake with outputs."""
    return Mistake(operator, text, name, outputs=outputs)


def swapped(operands: list[Any]) -> list[Any]:
    """Swap the first two operands."""
    return [operands[1], operands[0], *operands[2:]]


def through(source: Any, lower: Any) -> Callable[[list[Any]], list[Any]]:
    """Read the tensors of a type in another one."""

    def change(arrays: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return [a.astype(lower).astype(source) if a is not None and a.dtype == source else a for a in arrays]

    return change


def elementwise(compute: Callable[..., Any]) -> Callable[[list[Any], list[Any]], list[Any]]:
    """Compute the first output from the operands in double."""

    def change(operands: list[Any], outputs: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return [np.asarray(compute(*operands)).astype(outputs[0].dtype), *outputs[1:]]

    return change


def each_output(compute: Callable[[Array], Any]) -> Callable[[list[Any], list[Any]], list[Any]]:
    """Change every output."""

    def change(_: list[Any], outputs: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return [np.asarray(compute(a)).astype(a.dtype) for a in outputs]

    return change


def tail_lost(size: int) -> Callable[[Array], Array]:
    """Return zeros after the last whole vector."""

    def change(a: Array) -> Array:
        flat = a.copy().reshape(-1)
        flat[flat.size - flat.size % size :] = 0
        return flat.reshape(a.shape)

    return change


def last_lost(axis: int) -> Callable[[Array], Array]:
    """Return zeros in the last place of an axis."""

    def change(a: Array) -> Array:
        if a.ndim < 2 or not a.size:
            return a
        changed = np.moveaxis(a.copy(), axis, 0)
        changed[-1] = 0
        return np.moveaxis(changed, 0, axis)

    return change


def wide(a: Array) -> Array:
    """Return doubles."""
    return a.astype(np.float64)


MISTAKES = (
    *ignored("Conv", "dilations", "group"),
    without("Conv", 2, "B"),
    changed("Conv", "swaps the strides", "reverses strides", strides=lambda s: s[::-1]),
    changed(
        "Conv",
        "takes the first stride for all",
        "takes the first element for all of strides",
        strides=lambda s: [s[0]] * len(s),
    ),
    returning("Conv", "leaves out the last channel", "leaves out the last channel", each_output(last_lost(1))),
    returning("Conv", "adds 0.01", "", each_output(lambda a: wide(a) + 0.01)),
    *ignored("ConvTranspose", "output_padding", "dilations"),
    without("ConvTranspose", 2, "B"),
    *ignored("MaxPool", "ceil_mode", "dilations", "pads", "strides"),
    *ignored("AveragePool", "count_include_pad", "ceil_mode"),
    changed("AveragePool", "always counts the padding", "takes count_include_pad as 1", count_include_pad=lambda _: 1),
    *ignored("LpPool", "p"),
    returning(
        "GlobalAveragePool",
        "returns half precision",
        "returns float32 rounded to float16",
        each_output(lambda a: a.astype(np.float16) if a.dtype == np.float32 else a),
    ),
    *ignored("Gemm", "alpha", "beta", "transB"),
    without("Gemm", 2, "C"),
    reading("MatMul", "multiplies in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    reading("MatMul", "multiplies in bfloat16", "reads float32 in bfloat16", through(np.float32, ml_dtypes.bfloat16)),
    *ignored("Softmax", "axis"),
    returning("Softmax", "returns 1 % more", "", each_output(lambda a: wide(a) * 1.01)),
    *ignored("LogSoftmax", "axis"),
    *ignored("LayerNormalization", "epsilon", "axis"),
    without("LayerNormalization", 2, "B"),
    reading("LayerNormalization", "ignores the scale", "", lambda x: [x[0], np.ones_like(x[1]), *x[2:]]),
    *ignored("BatchNormalization", "epsilon"),
    *ignored("InstanceNormalization", "epsilon"),
    *ignored("LRN", "alpha", "bias", "beta"),
    *ignored("LpNormalization", "p", "axis"),
    *ignored("ReduceSum", "keepdims", "noop_with_empty_axes"),
    changed("ReduceMean", "never keeps dimensions", "takes keepdims as 0", keepdims=lambda _: 0),
    reading("ReduceProd", "multiplies in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning("ReduceL2", "forgets the root", "", each_output(lambda a: wide(a) ** 2)),
    *ignored("ArgMin", "select_last_index", "axis"),
    *ignored("TopK", "largest", "axis"),
    changed("Concat", "counts the axis from the end", "counts axis from the other end", axis=lambda a: -1 - a),
    *ignored("Split", "axis"),
    *ignored("Gather", "axis"),
    *ignored("GatherElements", "axis"),
    *ignored("GatherND", "batch_dims"),
    *ignored("ScatterElements", "reduction", "axis"),
    *ignored("ScatterND", "reduction"),
    *ignored("Transpose", "perm"),
    changed("Transpose", "inverts the permutation", "", perm=lambda p: [p.index(k) for k in range(len(p))]),
    *ignored("Pad", "mode"),
    without("Pad", 2, "constant_value"),
    without("Slice", 4, "steps"),
    *ignored("Flatten", "axis"),
    *ignored("DepthToSpace", "mode"),
    returning("SpaceToDepth", "leaves out the last column", "leaves out the last column", each_output(last_lost(-1))),
    *ignored(
        "Resize", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a", "antialias", "exclude_outside"
    ),
    *ignored("GridSample", "align_corners", "padding_mode", "mode"),
    *ignored("RoiAlign", "sampling_ratio", "mode", "spatial_scale"),
    *ignored("CumSum", "exclusive", "reverse"),
    *ignored("Trilu", "upper"),
    without("Trilu", 1, "k"),
    *ignored("OneHot", "axis"),
    *ignored("Elu", "alpha"),
    *ignored("LeakyRelu", "alpha"),
    *ignored("Selu", "gamma", "alpha"),
    *ignored("HardSigmoid", "alpha", "beta"),
    *ignored("Gelu", "approximate"),
    *ignored("Celu", "alpha"),
    *ignored("ThresholdedRelu", "alpha"),
    *ignored("Shrink", "bias", "lambd"),
    without("Clip", 1, "min"),
    without("Clip", 2, "max"),
    *ignored("Mod", "fmod"),
    returning(
        "Round",
        "rounds half away from zero",
        "rounds half away from zero",
        elementwise(lambda x: np.trunc(wide(x) + np.copysign(0.5, wide(x)))),
    ),
    reading("Sub", "swaps the operands", "swaps the first two inputs", swapped),
    reading("Div", "swaps the operands", "swaps the first two inputs", swapped),
    reading("Pow", "swaps the operands", "swaps the first two inputs", swapped),
    returning("Less", "is true for equal numbers", "includes equality", elementwise(lambda a, b: a <= b)),
    returning("Greater", "is true for equal numbers", "includes equality", elementwise(lambda a, b: a >= b)),
    reading("Where", "swaps the branches", "swaps the branches", lambda x: [x[0], x[2], x[1]]),
    returning("PRelu", "multiplies all elements by the slope", "", elementwise(lambda x, s: wide(x) * wide(s))),
    returning("Softplus", "overflows", "overflows", elementwise(lambda x: np.log(1 + np.exp(x)))),
    returning(
        "Softsign",
        "forgets the absolute value",
        "forgets the absolute value",
        elementwise(lambda x: wide(x) / (1 + wide(x))),
    ),
    reading("Neg", "reads int64 as float", "reads int64 in float32", through(np.int64, np.float32)),
    returning(
        "Add",
        "leaves out the rest after vectors of 8",
        "leaves out the elements after whole vectors of 8",
        each_output(tail_lost(8)),
    ),
    returning("Mul", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    returning(
        "Exp",
        "returns the largest number for infinity",
        "returns the largest number for infinities",
        each_output(
            lambda a: np.where(np.isinf(wide(a)), np.copysign(float(format_of(a.dtype).largest), wide(a)), wide(a))
        ),
    ),
    *ignored("QuantizeLinear", "axis"),
    without("QuantizeLinear", 2, "y_zero_point"),
    *ignored("DequantizeLinear", "axis"),
    without("DequantizeLinear", 2, "x_zero_point"),
    without("LSTM", 7, "P"),
    without("LSTM", 3, "B"),
    *ignored("GRU", "linear_before_reset", "direction"),
    *ignored("RNN", "activations"),
    *ignored("EyeLike", "k"),
    returning(
        "Tanh", "clamps the operand at 5", "clamps at 5", elementwise(lambda x: np.tanh(np.clip(wide(x), -5, 5)))
    ),
    returning("Sigmoid", "returns 1 % more", "", each_output(lambda a: wide(a) * 1.01)),
)
"""The planted mistakes."""


class MistakenBackend:
    """ONNX Runtime with a mistake; None for no mistake."""

    def __init__(self, mistake: Mistake | None) -> None:
        self._mistake = mistake

    def prepare(self, model: onnx.ModelProto, _: str = "CPU") -> PreparedMistake:
        """Prepare a model of one node."""
        return PreparedMistake(model, self._mistake)


class PreparedMistake:
    """A model in ONNX Runtime, with a mistake."""

    def __init__(self, model: onnx.ModelProto, mistake: Mistake | None) -> None:
        self._mistake = mistake
        self._inputs = [value.name for value in model.graph.input]
        (node,) = model.graph.node
        self._operands = [*node.input]
        constants = {tensor.name: tensor for tensor in model.graph.initializer}
        del model.graph.initializer[:]
        fed = {*self._inputs}
        for name, tensor in constants.items():
            if name not in fed:
                model.graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, tensor.dims))
        self._constants = {name: array_of(tensor) for name, tensor in constants.items()}
        if mistake is not None and mistake.attributes is not None:
            values = {each.name: helper.get_attribute_value(each) for each in node.attribute}
            for name, change in mistake.attributes.items():
                kept = [each for each in node.attribute if each.name != name]
                value = change(values[name]) if name in values else change(None) if name in _ALWAYS else None
                del node.attribute[:]
                node.attribute.extend(kept)
                if value is not None:
                    node.attribute.append(helper.make_attribute(name, value))
        if mistake is not None and mistake.left_out is not None and mistake.left_out < len(node.input):
            node.input[mistake.left_out] = ""
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
        for value in model.graph.input:
            value.type.tensor_type.ClearField("shape")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        self._taken = [value.name for value in model.graph.input]

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs."""
        values = self._constants | dict(zip(self._inputs, inputs, strict=False))
        mistake = self._mistake
        operands = [values[name] if name else None for name in self._operands]
        if mistake is not None and mistake.operands is not None:
            operands = mistake.operands(operands)
            values |= {name: each for name, each in zip(self._operands, operands, strict=True) if name}
        outputs = self._session.run(None, {name: values[name] for name in self._taken})
        if mistake is not None and mistake.outputs is not None:
            outputs = mistake.outputs(operands, outputs)
        return list(outputs)


_ALWAYS = ("count_include_pad", "keepdims")
"""Attributes that a mistake sets even on nodes that leave them out."""


def examined(corpus: Corpus, operators: set[str]) -> dict[str, list[tuple[CorpusCase, CaseInMemory]]]:
    """Return the cases by operator that ONNX Runtime passes, and whose models are one node."""
    found: dict[str, list[tuple[CorpusCase, CaseInMemory]]] = defaultdict(list)
    for entry in corpus.cases.values():
        try:
            case = load_case_in_memory(corpus, entry)
        except ConformanceError:
            continue
        node = single_node(case.model)
        if node is not None and node.op_type in operators and not case.is_invalid:
            observed = observe(MistakenBackend(None), case)
            if observed is not None and not observed.error and not is_failure(observed, case):
                found[node.op_type].append((entry, case))
    return found


def results_of(
    mistake: Mistake, cases: Sequence[tuple[CorpusCase, CaseInMemory]]
) -> tuple[ResultCollector, Counter[str]]:
    """Return the results of a mistake on cases, and the number of each verdict."""
    collector = ResultCollector()
    counts: Counter[str] = Counter()
    for entry, case in cases:
        observed: Observation | None = observe(MistakenBackend(mistake), case)
        if observed is None:
            continue
        verdict = Verdict.ERROR if observed.error else Verdict.FAIL if is_failure(observed, case) else Verdict.PASS
        counts[verdict] += 1
        record = observation_to_record(observed) if verdict is not Verdict.PASS else None
        collector.by_subject["planted"][entry.id] = CollectedResult(entry.level, verdict, record)
    return collector, counts


def main() -> int:
    """Print the outcome of each mistake, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--operator", action="append", default=[])
    given: Any = parser.parse_args()
    chosen = [each for each in MISTAKES if not given.operator or each.operator in given.operator]
    corpus = open_corpus(given.corpus)
    cases = examined(corpus, {each.operator for each in chosen})
    outcomes: Counter[str] = Counter()
    for mistake in chosen:
        collector, counts = results_of(mistake, cases[mistake.operator])
        diagnosed = diagnose_run(collector, corpus)
        names = [record.text for record in diagnosed.diagnoses]
        outcome = "not detected" if not counts[Verdict.FAIL] else "not named"
        if names:
            outcome = "right" if names == [mistake.name] else "WRONG"
        elif not mistake.name and counts[Verdict.FAIL]:
            outcome = "rightly not named"
        outcomes[outcome] += 1
        shown = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        failures = "".join(f" {each.code} {each.problem}" for each in diagnosed.undiagnosed)
        print_line(f"{outcome}: {mistake.operator} {mistake.text} ({shown}) {names}{failures}")
    print_line(f"{len(chosen)} mistakes of {len(cases)} operators: {dict(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
