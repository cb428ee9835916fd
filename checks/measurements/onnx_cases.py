"""Judge onnx's own node cases with the reference, and count faults that the reference does not notice.

`nox -s onnx-cases` prints how many cases are judged, right and contradicted, and why the others are not judged. With
`--perturb`, each right output of floating-point numbers is changed in three ways, and the script prints how many
changed outputs are still admissible at each level, by cause. A change that level `should` admits needs a cause in
`ADMITTED`, and a change that only level `must` admits one in `WORST_CASES`; without one the exit status is 1.

With `--audit`, each change that level `must` admits is also made by a backend, which onnx's reference evaluator is
otherwise, in an audit of the model with default options. The script prints how many changes the audit notices: it has
hard data, with which the bounds are narrower.

In bfloat16, 1 % is 1 to 3 ULP, and a function body of a few nodes rounds as much. Its outputs are counted apart.
`docs/contributing/check-the-bounds.md` has the counts and reasons.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.models.arrays import format_of, is_computed, type_name
from conformance.exact.reference.enclosures import has_signed_zeros
from conformance.exact.reference.node_enclosures import NodeScope
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask
from conformance.own.audit.audit_session import AuditOptions, audit_subject
from conformance.own.audit.model_audit import PROBES
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.own.model_cases.onnx_cases import EVALUATION_ERRORS, array_of_value, enclose_outputs, node_cases
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

ROUNDED_CONSTANTS = {
    "test_averagepool_2d_ceil_last_window_starts_on_pad",
    "test_gridsample_bicubic",
    "test_roialign_aligned_false",
    "test_roialign_aligned_true",
}
"""Cases whose expected outputs are constants of four digits: nobody can compute them more exactly."""


def is_admissible(actual: Any, expected: Any, level: Level, *, signed: bool) -> bool:
    """Return whether an output has the expected type, shape and elements."""
    if expected.dtype != actual.dtype or tuple(expected.shape) != actual.shape:
        return False
    is_strict = level is Level.SHOULD
    bounds = expected.should or expected if is_strict and isinstance(expected, Enclosure) else expected
    return bool(admissible_mask(actual, bounds, has_signed_zeros=signed and is_strict).all())


def _pair(actual: Any, expected: Any) -> list[tuple[Any, Any]]:
    """Return an output with its expectation, each tensor of a sequence with its own.

    Raises:
        Unsupported: the sequence has another length.
    """
    if not isinstance(expected, list):
        return [(np.asarray(actual), expected)]
    if not isinstance(actual, list) or len(actual) != len(expected):
        raise Unsupported("a sequence has another length than the expected one")
    return [pair for each in zip(actual, expected, strict=True) for pair in _pair(*each)]


def _shift(array: Any) -> Any:
    """Return numbers that are 64 ULP larger in magnitude."""
    numbers = array.astype(np.float64)
    _, exponent = np.frexp(numbers)
    _, lowest = np.frexp(float(format_of(array.dtype).smallest_normal))
    ulp = np.ldexp(1.0, np.maximum(exponent, lowest) - format_of(array.dtype).precision)
    return (numbers + np.copysign(64 * ulp, numbers)).astype(array.dtype)


ADMITTED: Mapping[str, tuple[str, ...]] = {
    "the function body rounds each of its tensors to bfloat16, and 1 % is 1 to 3 ULP": (
        "test_attention_3d_causal_bf16",
        "test_attention_4d_attn_mask_causal_bf16",
        "test_attention_4d_causal_bf16",
        "test_attention_4d_causal_padded_kv_bf16",
        "test_attention_4d_padded_kv_bf16",
        "test_celu_bfloat16",
    ),
    "the function body computes the scale of doubles in float": ("test_flexattention_double",),
    "the mean of 120 numbers of both signs is near 0": (
        "test_layer_normalization_4d_axis0",
        "test_layer_normalization_4d_axis_negative_4",
    ),
    "the difference 1 - z of a gate is near 0": ("test_gru_bidirectional",),
    "the probabilistic bound of a sum of 6,480 terms is 281 ULP": (
        "test_nllloss_NCd1d2d3d4d5_mean_weight",
        "test_sce_NCd1d2d3d4d5_mean_weight",
        "test_sce_NCd1d2d3d4d5_mean_weight_log_prob",
    ),
    "the page has two readings: the largest sample, or the largest weighted pixel": ("test_roialign_mode_max",),
}
"""Causes for which level `should` admits a changed output, with the cases."""

WORST_CASES: Mapping[str, tuple[str, ...]] = {
    "every sum of Attention is accumulated in float16, with 18 keys": (
        "test_attention_4d_gqa_with_past_and_present_fp16",
    ),
    "a sum or a function in bfloat16, of which 1 % is 1 to 3 ULP": ("test_celu_bfloat16", "test_einsum_"),
    "the mean of up to 125 numbers": ("test_averagepool_3d_dilations_large",),
    "a sum of waves, whose terms cancel": ("test_dft_irfft",),
    "the mean of up to 120 numbers, and then the mean of squares of differences": (
        "test_layer_normalization_",
        "test_mvn",
    ),
    "a state to which each token adds roundings": ("test_linear_attention_",),
    "the sum of up to 108 losses": ("test_nllloss_NCd1d2_", "test_sce_mean_"),
    "transforms of tiles, or of the image": ("test_convtranspose_3d",),
    "cubic weights of rounded coordinates, whose terms cancel": ("test_resize_",),
}
"""Causes for which only level `must` admits a changed output, with the beginnings of the cases: all roundings of a sum
have the sign that moves the result farthest. Level `should` has the bound that roundings exceed with a probability of
2e-9."""


PERTURBATIONS: Mapping[str, Callable[[Any], Any]] = {
    "all zeros": lambda array: np.zeros(array.shape, array.dtype),
    "times 1.01": lambda array: (array.astype(np.float64) * 1.01).astype(array.dtype),
    "64 ULP": _shift,
}


@dataclass(frozen=True)
class ChangingBackend:
    """A backend whose results are those of onnx's reference evaluator, with a change of one output.

    Attributes:
        output: the name of the output.
        change: the change.
    """

    output: str
    change: Callable[[Any], Any]

    def prepare(self, model: onnx.ModelProto, _: str = "CPU") -> Any:
        """Prepare a model, as a backend does."""
        evaluator = ReferenceEvaluator(model)
        constants = {each.name for each in model.graph.initializer}
        names = [value.name for value in model.graph.input if value.name not in constants]

        def run(inputs: Sequence[Any]) -> list[Any]:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = evaluator.run(None, dict(zip(names, inputs, strict=True)))
                return [
                    self.change(np.asarray(each)) if value.name == self.output else each
                    for value, each in zip(model.graph.output, results, strict=True)
                ]

        return SimpleNamespace(run=run)


def wrong_nodes(case: Any, backend: ChangingBackend) -> int:
    """Return the number of judgements of nodes, in an audit with default options, that are wrong."""
    inputs, _ = case.data_sets[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(case.model, path)
        model = LoadedModel.read(path)
    data = InputSet(case.name, tuple(array_of_value(each) for each in inputs))
    found = audit_subject(model, Subject("changing", "1", backend), data, options=AuditOptions(probes=PROBES))
    return sum(each.verdict is NodeVerdict.WRONG for each in (*found.nodes, *(one.node for one in found.probes)))


def is_noticed_by_audit(case: Any, number: int, change: Callable[[Any], Any]) -> bool:
    """Return whether an audit of the model of a case has more wrong nodes with a change of one output than without."""
    output = case.model.graph.output[number].name
    unchanged, changed = (wrong_nodes(case, ChangingBackend(output, each)) for each in (lambda x: x, change))
    return changed > unchanged


class Tally:
    """The counts of one run over all cases."""

    def __init__(self) -> None:
        self.judged: list[str] = []
        self.names: list[str] = []
        self.contradicted: dict[Level, list[str]] = {Level.MUST: [], Level.SHOULD: []}
        self.reasons: Counter[str] = Counter()
        self.unspecified = 0
        self.perturbed: Counter[str] = Counter()
        self.unnoticed: dict[tuple[str, Level], list[tuple[str, int]]] = {}
        self.audited: Counter[str] = Counter()

    def audit(self, cases: Iterable[Any]) -> None:
        """Count the changes of each kind that level `must` admits, and that audits notice."""
        by_name = {case.name: case for case in cases}
        for kind, change in PERTURBATIONS.items():
            for name, number in self.unnoticed.get((kind, Level.MUST), []):
                self.audited[kind] += is_noticed_by_audit(by_name[name], number, change)

    def judge(self, case: Any, *, perturb: bool) -> None:
        """Judge one case; with `perturb`, also its changed outputs."""
        self.names.append(case.name)
        operator = case.model.graph.node[0].op_type if len(case.model.graph.node) == 1 else "several nodes"
        verdicts = dict.fromkeys(Level, True)
        kept = []
        for inputs, outputs in case.data_sets:
            arrays = [array_of_value(each) for each in inputs]
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = enclose_outputs(case.model, arrays)
            except Unsupported as reason:
                self.reasons[f"{operator}: {reason}"] += 1
                return
            except EVALUATION_ERRORS as error:
                self.reasons[f"{operator}: {type(error).__name__}"] += 1
                return
            node = NodeScope.of(case.model).node(case.model.graph.node[0])
            signed = operator != "several nodes" and has_signed_zeros(node)
            pairs = (_pair(array_of_value(each), one) for each, one in zip(outputs, expected, strict=True))
            for array, tensor in (pair for each in pairs for pair in each):
                if not isinstance(tensor, (Enclosure, np.ndarray)):
                    self.reasons[f"{operator}: an output is not a tensor"] += 1
                    return
                for level in (Level.MUST, Level.SHOULD):
                    verdicts[level] &= is_admissible(array, tensor, level, signed=signed)
                kept.append((array, tensor))
        self.judged.append(case.name)
        self.unspecified += any(isinstance(tensor, Enclosure) and tensor.unspecified is not None for _, tensor in kept)
        for level, names in self.contradicted.items():
            if not verdicts[level]:
                names.append(case.name)
        if perturb and verdicts[Level.MUST]:
            self._perturb(case.name, kept)

    def _perturb(self, name: str, kept: Sequence[tuple[Any, Any]]) -> None:
        for number, (array, tensor) in enumerate(kept):
            is_open = isinstance(tensor, Enclosure) and tensor.unspecified is not None and tensor.unspecified.all()
            if not is_computed(array.dtype) or not array.size or is_open:  # a random result is open
                continue
            for kind, change in PERTURBATIONS.items():
                with np.errstate(all="ignore"):
                    changed = change(array)
                numbers = changed.astype(np.float64), array.astype(np.float64)
                if np.array_equal(*numbers, equal_nan=True):
                    continue
                text = f"{kind} in bfloat16" if type_name(array.dtype) == "bfloat16" else kind
                self.perturbed[text] += 1
                for level in (Level.MUST, Level.SHOULD):
                    if is_admissible(changed, tensor, level, signed=False):
                        self.unnoticed.setdefault((text, level), []).append((name, number))

    def _counts(self) -> Iterator[tuple[str, list[str], list[str], int]]:
        """Yield the cases of each kind, the judged ones of these, and the number of contradicted ones."""
        wrong = set(self.contradicted[Level.MUST])
        for kind, is_expanded in (("single", False), ("expanded", True)):
            names, judged = (
                [n for n in each if ("_expanded" in n) == is_expanded] for each in (self.names, self.judged)
            )
            yield kind, names, judged, len(wrong & set(names))

    def lines(self) -> list[str]:
        """Return the report."""
        text = [
            "cases          all  judged   right  contradicted  not judged",
            *(
                f"{kind:12}{len(names):6}{len(judged):8}{len(judged) - wrong:8}{wrong:14}{len(names) - len(judged):12}"
                for kind, names, judged, wrong in self._counts()
            ),
            f"{self.unspecified} judged cases have unspecified elements",
            *(f"contradicted at {level}: {', '.join(names) or 'none'}" for level, names in self.contradicted.items()),
            f"{self.reasons.total()} not judged:",
            *(f"  {count:4} {reason}" for reason, count in self.reasons.most_common()),
        ]
        for kind, count in self.perturbed.items():
            for level in (Level.MUST, Level.SHOULD):
                passed = self.unnoticed.get((kind, level), [])
                text.append(f"{kind}: {len(passed)} of {count} outputs pass at {level}")
                causes: dict[str, list[str]] = {}
                for each in passed:
                    cause = _cause(each[0], is_noticed_at_should=self._is_noticed(kind, each))
                    causes.setdefault(cause, []).append(_family(each[0]))
                text += [f"  {len(names):4} {cause}: {_counted(names)}" for cause, names in causes.items()]
            if kind in self.audited:
                left = len(self.unnoticed[kind, Level.MUST]) - self.audited[kind]
                text.append(f"{kind}: {left} of {count} outputs pass in an audit with default options")
        return text

    @property
    def unexplained(self) -> set[str]:
        """The cases with a changed output that a level admits without a cause."""
        return {
            each[0]
            for (kind, _), passed in self.unnoticed.items()
            for each in passed
            if _cause(each[0], is_noticed_at_should=self._is_noticed(kind, each)) == UNEXPLAINED
        }

    def _is_noticed(self, kind: str, output: tuple[str, int]) -> bool:
        return output not in self.unnoticed.get((kind, Level.SHOULD), [])


UNEXPLAINED = "no cause in ADMITTED or WORST_CASES"


def _cause(name: str, *, is_noticed_at_should: bool) -> str:
    """Return the cause for which a changed output is admissible."""
    family = _family(name)
    if is_noticed_at_should:
        causes = (cause for cause, names in WORST_CASES.items() if family.startswith(names))
        return next((f"worst case of the roundings: {cause}" for cause in causes), UNEXPLAINED)
    return next((cause for cause, names in ADMITTED.items() if family in names), UNEXPLAINED)


def _family(name: str) -> str:
    """Return the name of a case, or of the case whose function body it has."""
    return name.partition("_expanded")[0]


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{name} ({count})" if count > 1 else name for name, count in Counter(names).items())


def main() -> int:
    """Judge all cases; return 1 if the reference contradicts one, or admits a changed one without a known cause."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--perturb", action="store_true", help="change each right output of floating-point numbers")
    parser.add_argument("--audit", action="store_true", help="with --perturb, audit the models of outputs that pass")
    options = parser.parse_args()
    tally = Tally()
    cases = node_cases()
    for case in cases:
        tally.judge(case, perturb=options.perturb)
    if options.audit:
        tally.audit(cases)
    print("\n".join(tally.lines()))
    wrong = set(tally.contradicted[Level.MUST]) - ROUNDED_CONSTANTS
    return int(bool(wrong or tally.unexplained))


if __name__ == "__main__":
    sys.exit(main())
