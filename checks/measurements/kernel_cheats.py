"""Count the planted cheats that `judge_kernel` detects, and the right kernels that it accuses.

python checks/measurements/kernel_cheats.py [--operator NAME]… [--calls N] [--right] [-v]

Each cheat changes a right NumPy kernel of an operator in one way: zeros, a constant, a part of the sum left out,
float16 instead of float, an output of an earlier call, the input, a wrong last element, NaN everywhere, another type,
and values that are right only for inputs that were seen before. The right kernels are those of NumPy, and kernels in
blocks, with fused multiply-add, with sums in double and float, and with an online softmax. A cheat of an accused kernel
does not count as detected. The exit status is 1 if a right kernel is accused, or if more than 1 % of the cheats are not
detected. -v prints each of them. --right judges the kernels of `right_kernels.py` instead.

python checks/measurements/kernel_cheats.py --set PATH [--right] [--isolated | --once | --audit] [--only NAME]…

This judges the functions of a Python file, or of all files of a folder, instead, which other people write. Its list
`ENTRIES` has a dictionary for each: `name`, `operator`, `opset`, `attributes`, `inputs`, `function` and `why`. An input
is a pair of type and shape, an array, or None. The function takes arrays of these types and ranks, and the attributes.
Each function is a kernel, with --isolated in a process of its own. With --once, `judge` judges one call on hard inputs.
With --audit, each function is the backend of an audit of one node with the default options. The script prints each that
is not accepted although the set is --right, or is not accused. The files are executed: trust their authors.
"""

from __future__ import annotations

import argparse
import math
import runpy
import sys
import tempfile
from collections import Counter
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from checks.measurements.right_kernels import right_kernels
from conformance import hard_inputs, judge, judge_kernel
from conformance.exact.models.arrays import dtype_of, is_floating, type_name, type_number
from conformance.exact.models.input_files import initializer_arrays
from conformance.own.audit.audit_session import AuditOptions, audit_subject
from conformance.own.audit.model_audit import PROBES
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.model_inputs import make_inputs, parse_shapes
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Kernel = Callable[..., Any]

MAX_MISSED_SHARE = 0.01

SALT = "measurement"
"""The cheats do not know it; a fixed text gives the same figures on each run."""


def softmax(x: Any, dtype: Any = np.float32) -> Any:
    """Return the softmax of the last axis by three passes, with intermediate numbers of a type."""
    wide = x.astype(dtype)
    power = np.exp(wide - wide.max(-1, keepdims=True, initial=-np.inf))
    return (power / power.sum(-1, keepdims=True)).astype(np.float32)


def online_softmax(x: Any) -> Any:
    """Return the softmax of the last axis by one pass that keeps a running maximum and a running sum."""
    largest = np.full(x.shape[:-1], -np.inf, np.float32)
    total = np.zeros(x.shape[:-1], np.float32)
    for column in range(x.shape[-1]):
        new = np.maximum(largest, x[..., column])
        is_same = new == largest
        share = np.where(x[..., column] == -np.inf, np.float32(0), np.exp(x[..., column] - new))
        total = total * np.where(is_same, np.float32(1), np.exp(largest - new)) + share
        largest = new
    return np.exp(x - largest[..., None]) / total[..., None]


def matmul_in_blocks(a: Any, b: Any, block: int = 4) -> Any:
    """Return a product whose inner axis is split into blocks."""
    if a.ndim < 2 or b.ndim < 2 or not a.shape[-1]:
        return np.matmul(a, b)
    parts = [
        np.matmul(a[..., start : start + block], b[..., start : start + block, :])
        for start in range(0, a.shape[-1], block)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def matmul_with_fused_steps(a: Any, b: Any) -> Any:
    """Return a product whose steps are rounded once: a float product is exact in double, and so is nearly its sum."""
    if a.ndim < 2 or b.ndim < 2:
        return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    shape = np.matmul(a, b).shape
    total = np.zeros(shape, np.float32)
    for place in range(a.shape[-1]):
        product = a[..., :, place, None].astype(np.float64) * b[..., None, place, :].astype(np.float64)
        total = (product + total).astype(np.float32)
    return total


def layer_normalization(x: Any, scale: Any, bias: Any = None, dtype: Any = np.float32) -> Any:
    """Return the normalization of the last axis, with intermediate numbers of a type."""
    wide = x.astype(dtype)
    centred = wide - wide.mean(-1, keepdims=True, dtype=dtype)
    deviation = np.sqrt((centred * centred).mean(-1, keepdims=True, dtype=dtype) + dtype(1e-5))
    result = centred / deviation * scale.astype(dtype)
    return (result if bias is None else result + bias.astype(dtype)).astype(np.float32)


def gelu(x: Any) -> Any:
    """Return Gelu by the error function, in double."""
    wide = x.astype(np.float64)
    return (0.5 * wide * (1 + np.vectorize(math.erf, otypes=[float])(wide / math.sqrt(2)))).astype(np.float32)


def elu(x: Any) -> Any:
    """Return Elu with alpha 1."""
    return np.where(x < 0, np.expm1(np.minimum(x, 0)), x).astype(np.float32)


def sigmoid(x: Any) -> Any:
    """Return Sigmoid by its formula, in double."""
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32)


def log_softmax(x: Any) -> Any:
    """Return the logarithm of the softmax of the last axis."""
    shifted = x - x.max(-1, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def in_double(function: Kernel) -> Kernel:
    """Return a function that computes in double, and rounds once."""
    return lambda *inputs: function(*(each.astype(np.float64) for each in inputs)).astype(np.float32)


def reduced(function: Kernel, **options: Any) -> Kernel:
    """Return a reduction over all axes."""
    return lambda x: np.asarray(function(x, keepdims=True, **options), np.float32)


KERNELS: dict[str, Sequence[Kernel]] = {
    "Relu": [lambda x: np.where(x > 0, x, np.where(np.isnan(x), x, np.float32(0)))],
    "Abs": [np.abs],
    "Neg": [np.negative],
    "Sqrt": [np.sqrt, in_double(np.sqrt)],
    "Exp": [np.exp, in_double(np.exp)],
    "Log": [np.log, in_double(np.log)],
    "Sin": [np.sin, in_double(np.sin)],
    "Cos": [np.cos, in_double(np.cos)],
    "Tanh": [np.tanh, in_double(np.tanh)],
    "Sigmoid": [sigmoid],
    "Floor": [np.floor],
    "Ceil": [np.ceil],
    "Round": [np.rint],
    "Sign": [np.sign],
    "Reciprocal": [np.reciprocal, in_double(np.reciprocal)],
    "Atan": [np.arctan, in_double(np.arctan)],
    "Sinh": [np.sinh, in_double(np.sinh)],
    "Softsign": [lambda x: x / (1 + np.abs(x))],
    "Elu": [elu],
    "Gelu": [gelu],
    "Add": [np.add, in_double(np.add)],
    "Sub": [np.subtract, in_double(np.subtract)],
    "Mul": [np.multiply, in_double(np.multiply)],
    "Div": [np.divide, in_double(np.divide)],
    "Max": [lambda *each: np.asarray(np.maximum.reduce(np.broadcast_arrays(*each)))],
    "Min": [lambda *each: np.asarray(np.minimum.reduce(np.broadcast_arrays(*each)))],
    "PRelu": [lambda x, slope: np.where(x < 0, slope * x, x)],
    "Softmax": [softmax, partial(softmax, dtype=np.float64), online_softmax],
    "LogSoftmax": [log_softmax],
    "ReduceSum": [reduced(np.sum), reduced(np.sum, dtype=np.float64)],
    "ReduceMean": [reduced(np.mean), reduced(np.mean, dtype=np.float64)],
    "ReduceMax": [reduced(np.max, initial=-np.inf)],
    "ReduceMin": [reduced(np.min, initial=np.inf)],
    "ReduceSumSquare": [lambda x: np.sum(x * x, keepdims=True)],
    "ReduceL1": [lambda x: np.sum(np.abs(x), keepdims=True)],
    "ReduceL2": [lambda x: np.sqrt(np.sum(x.astype(np.float64) ** 2, keepdims=True)).astype(np.float32)],
    "MatMul": [
        np.matmul,
        lambda a, b: np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.float32),
        matmul_in_blocks,
        partial(matmul_in_blocks, block=1),
        matmul_with_fused_steps,
    ],
    "Gemm": [lambda a, b, c=None: np.matmul(a, b) if c is None else np.matmul(a, b) + c],
    "LayerNormalization": [layer_normalization, partial(layer_normalization, dtype=np.float64)],
    "GlobalAveragePool": [lambda x: x.mean(tuple(range(2, x.ndim)), keepdims=True)],
}
"""Right kernels of operators with default attributes. The first one is changed by the cheats."""


def accepts(inputs: Sequence[Any]) -> bool:
    """Return whether the kernels compute inputs: those of a reduction have no axes."""
    return all(each is not None and each.dtype == np.float32 for each in inputs)


def cheats(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Yield the cheats that are made of a kernel, each with its name. They keep a state of their own."""

    def changed(change: Callable[[Any], Any]) -> Kernel:
        return lambda *inputs: change(np.array(kernel(*inputs)))

    def left_out(*inputs: Any) -> Any:
        first = inputs[0].copy()
        first[..., -1:] = 0
        return kernel(first, *inputs[1:])

    def narrow(*inputs: Any) -> Any:
        result = kernel(*(each.astype(np.float16).astype(np.float32) for each in inputs))
        return np.asarray(result).astype(np.float16).astype(np.float32)

    def last(array: Any) -> Any:
        flat = array.reshape(-1)
        flat[-1:] = flat[-1:] * np.float32(1.01) + np.float32(1e-3)
        return flat.reshape(array.shape)

    replayed: list[Any] = []
    of_shapes: dict[Any, Any] = {}
    seen: set[bytes] = set()

    def replay(*inputs: Any) -> Any:
        result = np.array(kernel(*inputs))
        previous = next((each for each in reversed(replayed) if each.shape == result.shape), result)
        replayed.append(result)
        return previous.copy()

    def memory_of_shapes(*inputs: Any) -> Any:
        key = tuple(each.shape for each in inputs)
        return of_shapes.setdefault(key, np.array(kernel(*inputs))).copy()

    def right_once(*inputs: Any) -> Any:
        result = np.array(kernel(*inputs))
        is_new = not seen
        seen.add(b"")
        return result if is_new else np.zeros_like(result)

    yield "zeros", changed(np.zeros_like)
    yield "constant", changed(lambda array: np.full_like(array, 0.5))
    yield "part left out", left_out
    yield "float16", narrow
    yield "replay", replay
    yield "memory of shapes", memory_of_shapes
    yield "right for one input", right_once
    yield "input returned", lambda *inputs: inputs[0]
    yield "copy of the input", lambda *inputs: inputs[0].copy()
    yield "wrong last element", changed(last)
    yield "NaN everywhere", changed(lambda array: np.full_like(array, np.nan))
    yield "double", changed(lambda array: array.astype(np.float64))


def _judge_right_kernels(options: argparse.Namespace) -> int:
    """Judge the kernels of `right_kernels`, and return the exit status."""
    wrong: list[str] = []
    unjudged: list[str] = []
    chosen = [each for each in right_kernels() if not options.operator or each.operator in options.operator]
    with np.errstate(all="ignore"):
        for each in chosen:
            given = {"count": options.calls, "salt": options.salt, **each.options, **each.attributes}
            judgement = judge_kernel(each.kernel, each.operator, **given)
            if not judgement:
                (wrong if judgement.faults else unjudged).append(f"{each.operator}, {each.name}: {judgement}")
    operators = len({each.operator for each in chosen})
    print(
        f"{len(chosen)} right kernels of {operators} operators: {len(wrong)} accused, {len(unjudged)} not judged enough"
    )
    if options.verbose:
        print("\n".join([*wrong, *unjudged]))
    return int(bool(wrong))


@dataclass(frozen=True)
class Entry:
    """A function that computes an operator on inputs of some types, rightly or wrongly.

    Attributes:
        name: its name.
        operator: the operator.
        opset: the version of the operator's domain.
        attributes: the attributes of the node.
        inputs: the type and shape of each input, its array, or None.
        function: the function.
        why: who computes like this, or which mistake it is.
    """

    name: str
    operator: str
    opset: int
    attributes: dict[str, Any]
    inputs: Sequence[Any]
    function: Kernel
    why: str = ""
    path: Path = Path()

    @classmethod
    def read(cls, path: Path) -> list[Entry]:
        """Return the entries of a file, or of all files of a folder."""
        names = [each.name for each in fields(cls)]
        return [
            cls(**{name: each[name] for name in names if name in each}, path=file.absolute())
            for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])
            for each in runpy.run_path(str(file))["ENTRIES"]
        ]

    @property
    def examples(self) -> list[Any]:
        """An array for each input."""
        random = np.random.default_rng(len(self.name))

        def example(given: Any) -> Any:
            if given is None or isinstance(given, np.ndarray):
                return given
            name, shape = given
            dtype = dtype_of(type_number(name))
            return random.standard_normal(shape).astype(dtype) if is_floating(dtype) else np.ones(shape, dtype)

        return [example(each) for each in self.inputs]

    @cached_property
    def kept(self) -> list[int]:
        """The places of the arrays that keep their elements in all hard inputs, such as axes and shapes."""
        drawn = hard_inputs(self.operator, like=self.examples, opset=self.opset, count=3, **self.attributes)
        every = [self.examples, *drawn]
        return [
            place
            for place, each in enumerate(self.inputs)
            if isinstance(each, np.ndarray) and all(np.array_equal(each, inputs[place]) for inputs in every)
        ]

    def accepts(self, inputs: Sequence[Any]) -> bool:
        """Return whether inputs have the types and ranks of the entry, and the elements that must be kept.

        Omitted inputs at the end do not count.
        """
        kinds = [
            {place: (each.dtype, each.ndim) for place, each in enumerate(every) if each is not None}
            for every in (inputs, self.examples)
        ]
        if kinds[0] != kinds[1]:
            return False
        return all(np.array_equal(inputs[place], self.inputs[place]) for place in self.kept)

    def outputs(self, *inputs: Any) -> list[Any]:
        """Return the outputs of the function on inputs."""
        with np.errstate(all="ignore"):
            results = self.function(*inputs, **self.attributes)
        return [*results] if isinstance(results, tuple | list) else [np.asarray(results)]

    @property
    def model(self) -> onnx.ModelProto:
        """The model of one node. Its arrays of integers, such as axes and shapes, are constants."""
        names = ["" if each is None else f"x{place}" for place, each in enumerate(self.inputs)]
        results = [(type_number(type_name(each.dtype)), [None] * each.ndim) for each in self.outputs(*self.examples)]
        node = helper.make_node(
            self.operator, names, [f"y{place}" for place, _ in enumerate(results)], **self.attributes
        )
        constants = {
            name: each
            for name, each in zip(names, self.inputs, strict=True)
            if isinstance(each, np.ndarray) and not is_floating(each.dtype)
        }
        graph = helper.make_graph(
            [node],
            "entry",
            [
                helper.make_tensor_value_info(name, type_number(type_name(each.dtype)), each.shape)
                for name, each in zip(names, self.examples, strict=True)
                if each is not None and name not in constants
            ],
            [helper.make_tensor_value_info(f"y{place}", *each) for place, each in enumerate(results)],
            [onnx.numpy_helper.from_array(each, name) for name, each in constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])

    def prepare(self, model: onnx.ModelProto, _: str = "CPU") -> Any:
        """Prepare the model of the node, or the same node with other inputs, as a backend does."""
        constants = initializer_arrays(model.graph)
        (node,) = model.graph.node
        names = [value.name for value in model.graph.input if value.name not in constants]

        def run(inputs: Sequence[Any]) -> list[Any]:
            given = {**constants, **dict(zip(names, inputs, strict=True))}
            return self.outputs(*(given[name] if name else None for name in node.input))

        return SimpleNamespace(run=run)

    def audit(self) -> tuple[str, str]:
        """Return whether the default audit of the node accepts the function, and the reason."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            onnx.save(self.model, path)
            model = LoadedModel.read(path)
        data = make_inputs(model.original.graph, parse_shapes(()), 0)
        given = {f"x{place}": each for place, each in enumerate(self.inputs) if isinstance(each, np.ndarray)}
        names = [value.name for value in model.original.graph.input]
        data = replace(data, arrays=tuple(given.get(*each) for each in zip(names, data.arrays, strict=True)))
        found = audit_subject(model, Subject("entry", "1", self), data, options=AuditOptions(probes=PROBES))
        judged = [*found.nodes, *(each.node for each in found.probes)]
        wrong = [each for each in judged if each.verdict is NodeVerdict.WRONG]
        if found.failure or wrong:
            return "accused", found.failure or f"{wrong[0].reason or wrong[0].worst}"
        noticed = min((each.noticed for each in judged), default=math.inf)
        is_judged = any(each.verdict is not NodeVerdict.NOT_JUDGED for each in judged)
        return "accepted" if is_judged else "not judged", f"an error of {noticed:.2g} would show"

    def judge_once(self, salt: str) -> tuple[str, str]:
        """Return whether the judgement of one call on hard inputs accepts the function, and the reason."""
        options = {"opset": self.opset, **self.attributes}
        (inputs,) = hard_inputs(self.operator, like=self.examples, count=1, salt=salt, **options)
        judgement = judge(self.operator, inputs, self.outputs(*inputs), **options)
        return {"wrong": "accused", "admissible": "accepted"}.get(judgement.verdict, judgement.verdict), str(judgement)

    def judge(self, calls: int, salt: str, *, is_isolated: bool = False) -> tuple[str, str]:
        """Return whether the judgement of kernels accepts the function, and the reason."""
        kinds = [type_name(each.dtype) for each in self.examples if each is not None]
        floating = [type_name(each.dtype) for each in self.examples if each is not None and is_floating(each.dtype)]
        count = len(self.outputs(*self.examples))
        own = lambda *inputs: tuple(self.outputs(*inputs)) if count > 1 else self.outputs(*inputs)[0]  # noqa: E731
        judgement = judge_kernel(
            f"{self.path.stem}_of_set:{self.name}" if is_isolated else own,
            self.operator,
            opset=self.opset,
            types=tuple(dict.fromkeys([*kinds[:1], *floating])),
            like=self.examples,
            where=self.accepts,
            count=calls,
            salt=salt,
            output_count=count,
            **self.attributes,
        )
        state = "accepted" if judgement else "accused" if judgement.faults else "not judged"
        return state, str(judgement)


MODULE_OF_SET = """
import runpy

def kernel(entry):
    return lambda *inputs: entry["function"](*inputs, **entry["attributes"])

globals().update({each["name"]: kernel(each) for each in runpy.run_path(PATH)["ENTRIES"]})
"""
"""Source of a module with the functions of a file, without arguments for attributes; `PATH` is the file."""


@contextmanager
def _modules_of(entries: Sequence[Entry]) -> Iterator[None]:
    """Change to a folder with a module for each file, from which another process imports the functions."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for path in {entry.path for entry in entries}:
            Path(f"{path.stem}_of_set.py").write_text(f"PATH = {str(path)!r}\n{MODULE_OF_SET}", encoding="utf-8")
        yield


def _judge_set(entries: Sequence[Entry], options: argparse.Namespace) -> int:
    """Judge the functions of a file, print those that are not judged as the set claims, and return the exit status."""
    counts: Counter[str] = Counter()
    claimed = "accepted" if options.right else "accused"
    for entry in entries:
        try:
            if options.audit:
                state, reason = entry.audit()
            elif options.once:
                state, reason = entry.judge_once(options.salt)
            else:
                state, reason = entry.judge(options.calls, options.salt, is_isolated=options.isolated)
        except Exception as error:  # noqa: BLE001 - the function can raise anything
            state, reason = "not run", f"{type(error).__name__}: {error}"
        counts[state] += 1
        if state != claimed or options.verbose:
            print(f"{state}: {entry.name}, {entry.operator}-{entry.opset} ({entry.why}): {reason}", flush=True)
    print(f"{len(entries)} functions of {options.set}: {dict(counts)}")
    return int(counts[claimed] < len(entries))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operator", action="append")
    parser.add_argument("--calls", type=int, default=12, help="number of drawn shapes")
    parser.add_argument("--right", action="store_true", help="judge right kernels: of the file, or of many operators")
    parser.add_argument("--salt", default=SALT, help="the text that chooses the inputs of --right")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--set", metavar="PATH", help="judge the functions of a file or of a folder instead")
    parser.add_argument("--isolated", action="store_true", help="run each function in a process of its own")
    parser.add_argument("--once", action="store_true", help="judge one call of each function")
    parser.add_argument("--only", metavar="NAME", action="append", help="the name of a function of the file")
    parser.add_argument("--audit", action="store_true", help="audit a node with each function of the file")
    options = parser.parse_args(arguments)
    if options.set:
        entries = [each for each in Entry.read(Path(options.set)) if not options.only or each.name in options.only]
        with _modules_of(entries) if options.isolated else nullcontext():
            return _judge_set(entries, options)
    if options.right:
        return _judge_right_kernels(options)
    missed: list[str] = []
    accused: list[str] = []
    counts = {"cheats": 0, "kernels": 0}
    with np.errstate(all="ignore"):
        for operator in options.operator or KERNELS:
            for number, kernel in enumerate(KERNELS[operator]):
                counts["kernels"] += 1
                judgement = judge_kernel(kernel, operator, count=options.calls, salt=SALT, where=accepts)
                if not judgement:
                    accused.append(f"{operator}, kernel {number}: {judgement}")
            is_accused = any(each.startswith(f"{operator}, kernel 0:") for each in accused)
            for name, cheat in cheats(KERNELS[operator][0]):
                counts["cheats"] += 1
                if is_accused or judge_kernel(cheat, operator, count=options.calls, salt=SALT, where=accepts):
                    missed.append(f"{operator}: {name}")
    print(f"{counts['cheats'] - len(missed)} of {counts['cheats']} cheats detected")
    print(f"{len(accused)} of {counts['kernels']} right kernels accused or not judged")
    if options.verbose:
        print("\n".join([*(f"  not detected: {each}" for each in missed), *(f"  accused: {each}" for each in accused)]))
    return int(bool(accused) or len(missed) > MAX_MISSED_SHARE * counts["cheats"])


if __name__ == "__main__":
    sys.exit(main())
