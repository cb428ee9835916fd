"""The verdict on a difference: who is wrong, by enclosures of the outputs of the reduced model.

The outputs of a model are enclosed from its inputs, with composed bounds, so that no value has to be exposed. An output
outside of its enclosure is a fault of the subject that returned it. If the enclosures of a model and of its rewrite
have no common value, the graph optimizer is wrong; two given models then compute different functions. If every output
lies in its enclosure, the difference is nobody's fault.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from conformance.base.errors import ModelError
from conformance.base.serialization.decoding import Count  # noqa: TC001 - msgspec reads the annotations
from conformance.base.serialization.printable_text import first_line
from conformance.base.verdicts import Level
from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.exact.judgement.distances import are_comparable, find_distances, output_share
from conformance.exact.judgement.node_comparison import JudgedElement
from conformance.exact.models.graphs import MAIN_DOMAINS, constant_names, infer_shapes, is_operator, names_taken_by
from conformance.exact.reference.enclosures import has_signed_zeros
from conformance.exact.reference.enclosures.earlier_texts import readings_of
from conformance.exact.reference.model_enclosures import MARGIN, AcceptableIndices, are_apart, enclose_model
from conformance.exact.reference.node_enclosures import NodeScope
from conformance.exact.reference.numbers.enclosure import Enclosure, read_as
from conformance.own.blame.difference import OutputDifference  # noqa: TC001 - msgspec reads the annotations
from conformance.own.blame.model_comparison import Comparison, Computation, Failure, run_model
from conformance.own.graphs.inlining import inline_functions
from conformance.own.graphs.intermediate_values import are_identical
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.hazard_counts import NO_HAZARD, NO_OPERAND, count_hazards

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.own.blame.difference import Difference
    from conformance.own.graphs.fed_model import FedModel


class BlameOutcome(StrEnum):
    """The answer of `blame`."""

    NO_DIFFERENCE = "no difference"
    NOT_DETERMINISTIC = "not deterministic"
    FIRST_WRONG = "the first is wrong"
    SECOND_WRONG = "the second is wrong"
    BOTH_WRONG = "both are wrong"
    OPTIMIZER_WRONG = "the graph optimizer is wrong"
    MODELS_DIFFER = "the models compute different functions"
    BOTH_ADMISSIBLE = "both are admissible"
    NOT_JUDGED = "not judged"

    @property
    def fails(self) -> bool:
        """Whether the exit status is 1."""
        return self not in (BlameOutcome.NO_DIFFERENCE, BlameOutcome.BOTH_ADMISSIBLE)

    @property
    def is_open(self) -> bool:
        """Whether nobody is wrong as far as it is known."""
        return self in (BlameOutcome.BOTH_ADMISSIBLE, BlameOutcome.NOT_JUDGED)


class ChangedReleases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two neighbouring releases of a subject, between which `changed` verdicts of the corpus change."""

    subject: str
    older: str
    newer: str
    changed: Count


class Unoptimized(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The differences of the outputs of both ways from those of a subject without optimizations."""

    subject: str
    ways: tuple[tuple[OutputDifference, ...], tuple[OutputDifference, ...]]


class BlameVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on a difference.

    Attributes:
        outcome: who is wrong.
        reason: why, in one sentence.
        hazard: the name of the hazard by which both answers are admissible; otherwise None.
        shares: the distances of both outputs from the expected value as shares of the bound; None if not judged.
        should_shares: the same for the bounds of level `should`.
        differing: the number of differing elements of the outputs of the reduced model.
        undetermined: the number of differing elements for which every value is admissible.
        loose: the number of differing elements whose bound is larger than the magnitude of the expected value.
        unspecified: the number of differing elements for which the page of an operator states no result.
        releases: releases that are worth comparing.
        unoptimized: the comparison with a subject without optimizations, if the reference cannot judge.
        elements: of each output, the element that is furthest outside of its bound; None if there is none.
    """

    outcome: BlameOutcome
    reason: str = ""
    hazard: str | None = None
    shares: tuple[float | None, float | None] = (None, None)
    should_shares: tuple[float | None, float | None] = (None, None)
    differing: Count = 0
    undetermined: Count = 0
    loose: Count = 0
    unspecified: Count = 0
    releases: list[ChangedReleases] | msgspec.UnsetType = msgspec.UNSET
    unoptimized: Unoptimized | msgspec.UnsetType = msgspec.UNSET
    elements: tuple[JudgedElement | None, JudgedElement | None] = (None, None)

    def fails(self, level: Level) -> bool:
        """Return whether the exit status is 1, if the outputs must keep the bounds of a level."""
        is_below = level is not Level.MUST and any(share is not None and share > 1 for share in self.should_shares)
        return self.outcome.fails or is_below

    @property
    def has_useful_bounds(self) -> bool:
        """Whether a wrong value of at least half of the differing elements would be found."""
        return 2 * (self.undetermined + self.loose) <= self.differing


def enclose_fed_model(fed: FedModel, note: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Enclose the outputs of a model on its inputs; see `enclose_model`."""
    return enclose_model(fed.model, {**fed.initializers, **fed.inputs}, note)


def is_judged(actual: Any, expected: Any) -> bool:
    """Return whether an output is outside of its bounds, or has an element that a wrong value would make wrong."""
    share = output_share(actual, expected)
    if isinstance(expected, list) and share is not None and share <= 1:
        return any(is_judged(*pair) for pair in zip(actual, expected, strict=True))
    if share is None or share > 1 or not isinstance(expected, Enclosure) or not actual.size:
        return share is not None
    return bool(find_distances(actual, expected).is_judged.any())


def judge(
    comparison: Comparison, fed: FedModel, difference: Difference, answers: tuple[Computation, Computation]
) -> BlameVerdict:
    """Return the verdict on the difference of two answers.

    Args:
        comparison: both ways.
        fed: the reduced model and its inputs.
        difference: the difference of the answers.
        answers: the answers.
    """
    if not difference:
        return BlameVerdict(BlameOutcome.NO_DIFFERENCE)
    if any(difference.failures):
        return _judge_failure(comparison, fed, difference)
    texts = TextEnclosures(fed, comparison.note)
    expected = texts.of(answers[0].outputs)
    is_rewrite = comparison.has_rewrite
    rewritten = answers[1].model if is_rewrite else None
    of_second = (texts if rewritten is None else TextEnclosures(fed.with_model(rewritten), comparison.note)).of(
        answers[1].outputs
    )
    names = [value.name for value in fed.model.graph.output]
    signed = _signed_outputs(fed)
    different = {each.name for each in difference.outputs}
    found = [
        replace(
            _judge_output(expected[name], other, a, b, is_rewrite=is_rewrite, keeps_signs=name in signed),
            elements=(_wrong_element(name, a, expected[name]), _wrong_element(name, b, other)),
        )
        for name, other, a, b in zip(names, of_second.values(), answers[0].outputs, answers[1].outputs, strict=False)
        if name in different
    ]
    if comparison.second_model is not None:
        found = list(map(_without_optimizer, found))
    worst = min(found, key=lambda verdict: _ORDER.index(verdict.outcome))
    counts: dict[str, Any] = {name: sum(getattr(verdict, name) for verdict in found) for name in _COUNTS}
    worst = replace(worst, **counts)
    wrong = {verdict.outcome for verdict in found}
    if {BlameOutcome.FIRST_WRONG, BlameOutcome.SECOND_WRONG} <= wrong:
        reason = "different outputs of both are outside of their bounds"
        return replace(worst, outcome=BlameOutcome.BOTH_WRONG, reason=reason, hazard=None)
    if is_rewrite and (hazard := _hazard_of_pass(comparison, fed, answers)):
        return replace(worst, outcome=BlameOutcome.BOTH_ADMISSIBLE, reason="both outputs are admissible", hazard=hazard)
    return worst


def _wrong_element(name: str, actual: Any, expected: Any) -> JudgedElement | None:
    """Return the element of an output that is furthest outside of its bound; None if there is none."""
    is_known = isinstance(expected, Enclosure | np.ndarray) and isinstance(actual, np.ndarray)
    if not is_known or not actual.size or not are_comparable(actual, expected):
        return None
    found = find_distances(actual, expected)
    place = np.unravel_index(int(np.argmax(found.shares)), actual.shape)
    if found.shares[place] <= 1:
        return None
    value, middle, bound = (np.asarray(each)[place] for each in (actual, found.expected, found.bounds))
    return JudgedElement.of(name, tuple(map(int, place)), value, middle, bound)


def _without_optimizer(verdict: BlameVerdict) -> BlameVerdict:
    """Return a verdict on two given models: there is no graph optimizer that can be wrong."""
    if verdict.outcome is not BlameOutcome.OPTIMIZER_WRONG:
        return verdict
    is_open = verdict.reason == _NOT_COMPARED
    return replace(verdict, outcome=BlameOutcome.NOT_JUDGED if is_open else BlameOutcome.MODELS_DIFFER)


_NOT_COMPARED = "the output of B is not admissible for the model of A, and the model of B cannot be judged"

_ORDER = [
    BlameOutcome.BOTH_WRONG,
    BlameOutcome.OPTIMIZER_WRONG,
    BlameOutcome.FIRST_WRONG,
    BlameOutcome.SECOND_WRONG,
    BlameOutcome.MODELS_DIFFER,
    BlameOutcome.NOT_JUDGED,
    BlameOutcome.BOTH_ADMISSIBLE,
]


class TextEnclosures:
    """The enclosures of the outputs of a model by each text of its pages, each computed once.

    Args:
        fed: the model, whose model-local functions are replaced by their nodes, and its inputs.
        note: is called with the progress for the user.
    """

    def __init__(self, fed: FedModel, note: Callable[[str], None] = lambda _: None) -> None:
        self._fed = fed
        self._note = note
        self._found: dict[frozenset[str], dict[str, Any]] = {}

    def of(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Return the enclosures by the text that a subject with these outputs follows.

        This is the text of the installed onnx, or an earlier one if it contains all outputs of the subject.
        """
        expected = self._by(frozenset())
        if _are_within(outputs, expected):
            return expected
        earlier = map(self._by, _readings(self._fed.model))
        return next((each for each in earlier if _are_within(outputs, each)), expected)

    def _by(self, reading: frozenset[str]) -> dict[str, Any]:
        if reading not in self._found:
            try:
                inlined = self._fed.with_model(inline_functions(self._fed.model))
            except ModelError as error:
                return {value.name: error.problem for value in self._fed.model.graph.output}
            with read_as(reading):
                self._found[reading] = enclose_fed_model(inlined, self._note)
        return self._found[reading]


def _readings(model: onnx.ModelProto) -> list[frozenset[str]]:
    """Return the sets of changes before which the pages of a model may be read: those of each node, and all of them."""
    scope = NodeScope.of(model)
    nodes = (scope.node(node) for node in model.graph.node if node.domain in MAIN_DOMAINS)
    found = list(dict.fromkeys(reading for node in nodes for reading in readings_of(node)))
    return [*found, frozenset().union(*found)] if found else []


def _are_within(outputs: Sequence[Any], expected: Mapping[str, Any]) -> bool:
    shares = (output_share(*pair) for pair in zip(outputs, expected.values(), strict=False))
    return all(share is None or share <= 1 for share in shares)


def _signed_outputs(fed: FedModel) -> set[str]:
    """Return the outputs whose zeros have signs that IEEE 754 determines: those of one node on inputs and constants."""
    scope = NodeScope.of(fed.model)
    known = {*constant_names(fed.model.graph), *fed.inputs}
    return {
        name
        for node in fed.model.graph.node
        if known.issuperset(names_taken_by(node)) and node.domain in MAIN_DOMAINS and has_signed_zeros(scope.node(node))
        for name in node.output
    }


def _judge_output(
    expected: Any, of_second: Any, a: Any, b: Any, *, is_rewrite: bool, keeps_signs: bool
) -> BlameVerdict:
    """Judge one output that differs. It is not judged if most differing elements have no useful bound."""
    verdict = _judge_bounds(expected, of_second, a, b, is_rewrite=is_rewrite)
    if verdict.outcome.is_open and verdict.shares[0] is not None:
        strict = list(map(_at_should, (expected, of_second)))
        first, second = (output_share(*pair, has_signed_zeros=keeps_signs) for pair in zip((a, b), strict, strict=True))
        verdict = replace(verdict, should_shares=(first, second))
    if pairs := _differing_tensors(expected, a, b):
        counts = [_count_differing(*each) for each in pairs]
        verdict = replace(verdict, **{name: sum(each.get(name, 0) for each in counts) for name in _COUNTS})
    if verdict.outcome is not BlameOutcome.BOTH_ADMISSIBLE or verdict.has_useful_bounds:
        return verdict
    reason = f"{verdict.undetermined + verdict.loose} of {verdict.differing} differing elements have no useful bound"
    return replace(verdict, outcome=BlameOutcome.NOT_JUDGED, reason=reason, hazard=None)


_COUNTS = ("differing", "undetermined", "loose", "unspecified")


def _at_should(expected: Any) -> Any:
    """Return an enclosure, or a sequence of enclosures, with the bounds of level `should`."""
    if isinstance(expected, list):
        return list(map(_at_should, expected))
    return (expected.should or expected) if isinstance(expected, Enclosure) else expected


def _differing_tensors(expected: Any, a: Any, b: Any) -> list[tuple[Any, Array, Array]]:
    """Return the tensors of an output that differ, each as its enclosure and both values; none if lengths differ."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return [] if are_identical([a], [b]) else [(expected, a, b)]
    if not isinstance(a, list) or not isinstance(b, list) or len(a) != len(b):
        return []
    items = expected if isinstance(expected, list) and len(expected) == len(a) else [""] * len(a)
    return [pair for each in zip(items, a, b, strict=True) for pair in _differing_tensors(*each)]


def _judge_bounds(expected: Any, of_second: Any, a: Any, b: Any, *, is_rewrite: bool) -> BlameVerdict:
    """Compare one output that differs with the bounds of both ways."""
    first = output_share(a, expected)
    second = output_share(b, of_second)
    shares = (first, second)
    if first is None:
        reason = expected if isinstance(expected, str) else "the output is not a tensor, nor a sequence of tensors"
        return BlameVerdict(BlameOutcome.NOT_JUDGED, reason, None, shares)
    if is_rewrite:
        apart = are_apart(expected, of_second)
        if apart:
            return BlameVerdict(
                BlameOutcome.OPTIMIZER_WRONG, "no value that A may return is one that B may return", None, shares
            )
        if apart is None:
            # the rewrite cannot be enclosed: its outputs are compared with those that the model may have
            second = output_share(b, expected)
            shares = (first, second)
            if second is not None and second > MARGIN and first <= 1:
                return BlameVerdict(BlameOutcome.OPTIMIZER_WRONG, _NOT_COMPARED, None, shares)
            second = 0.0
    is_first = first > 1
    is_second = second is not None and second > 1
    if is_first and is_second:
        return BlameVerdict(BlameOutcome.BOTH_WRONG, "both outputs are outside of their bounds", None, shares)
    if is_first or is_second:
        outcome = BlameOutcome.FIRST_WRONG if is_first else BlameOutcome.SECOND_WRONG
        return BlameVerdict(outcome, "its output is outside of its bound", None, shares)
    hazard = next((_hazard(*each) for each in _differing_tensors(expected, a, b)), "rounding")
    return BlameVerdict(BlameOutcome.BOTH_ADMISSIBLE, "both outputs are admissible", hazard, shares)


def _count_differing(expected: Any, a: Array, b: Array) -> dict[str, Any]:
    """Return the number of differing elements of an output, and of those that no value contradicts."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return {}
    differs = (a != b) & ~((a != a) & (b != b))  # noqa: PLR0124 - NaN
    count = {"differing": int(np.count_nonzero(differs))}
    if isinstance(expected, Enclosure) and are_comparable(a, expected):
        found = find_distances(a, expected)
        masks = {"undetermined": found.undetermined, "loose": found.loose, "unspecified": found.unspecified}
        count |= {name: int(np.count_nonzero(mask & differs)) for name, mask in masks.items()}
    return count


def _hazard(expected: Any, a: Array, b: Array) -> str:
    if isinstance(expected, AcceptableIndices):
        return expected.hazard
    if a.shape == b.shape and bool(np.all(a == b)):
        return "signed_zero"
    if not isinstance(expected, Enclosure):
        return "nan"
    if expected.unspecified is not None and bool(np.any(expected.unspecified & (a != b))):
        return "unspecified"
    if np.isinf(expected.error).any():
        return "overflow"
    return "nan" if np.isnan(expected.value).any() else "rounding"


def _hazard_of_pass(comparison: Comparison, fed: FedModel, answers: tuple[Computation, Computation]) -> str:
    """Return the hazard by which the removal of monotone operators before an ArgMax explains the difference.

    It does if the subject returns the outputs of the rewrite for the suite's own removal too, and each changed index
    has a hazard. Otherwise the text is empty.
    """
    if not any(is_operator(node, "ArgMax") for node in fed.model.graph.node):
        return ""
    try:
        removed = run_model(comparison.first.target, eliminate(fed.model, fixed_point=True), fed.inputs)
        if removed.failure or not are_identical(removed.outputs, answers[1].outputs):
            return ""
        counts = count_hazards(fed.model, comparison.first, [InputSet("given", tuple(fed.arrays))], fed.data_folder)
    except Exception:  # noqa: BLE001 - the hazard is only looked for
        return ""
    names = {name for changes in counts.argmax for name, count in changes.changed.items() if count}
    return "" if names & {NO_HAZARD, NO_OPERAND} else " and ".join(sorted(names))


def _judge_failure(comparison: Comparison, fed: FedModel, difference: Difference) -> BlameVerdict:
    first, second = difference.failures
    message = difference.messages[0 if first else 1]
    if Failure.UNSUPPORTED in (first, second):
        return BlameVerdict(BlameOutcome.NOT_JUDGED, f"{Failure.UNSUPPORTED}: {message}")
    if first and second and second != Failure.REWRITE:
        return BlameVerdict(BlameOutcome.NOT_JUDGED, f"neither computes the model: {message}")
    if second in (Failure.REWRITE, Failure.INVALID):
        return BlameVerdict(BlameOutcome.OPTIMIZER_WRONG, f"{second}: {difference.messages[1]}")
    if first:
        return BlameVerdict(BlameOutcome.FIRST_WRONG, f"{first}: {message}")
    if not comparison.has_rewrite:
        return BlameVerdict(BlameOutcome.SECOND_WRONG, f"{second}: {message}")
    if fault := _strict_fault(comparison, fed):
        outcome = BlameOutcome.OPTIMIZER_WRONG if comparison.second_model is None else BlameOutcome.NOT_JUDGED
        return BlameVerdict(outcome, f"the model of B contradicts itself: {fault}")
    return BlameVerdict(BlameOutcome.NOT_JUDGED, f"the model of B is valid, and the subject does not run it: {message}")


def _strict_fault(comparison: Comparison, fed: FedModel) -> str:
    """Return the contradiction of types or shapes in a rewrite whose original has none."""
    rewritten = comparison.rewrite(fed.model).model
    try:
        infer_shapes(fed.model, strict_mode=True)
    except Exception:  # noqa: BLE001 - the original has a contradiction of its own
        return ""
    try:
        if rewritten is not None:
            infer_shapes(rewritten, strict_mode=True)
    except Exception as error:  # noqa: BLE001 - shape inference raises errors of several kinds
        return first_line(error)
    return ""
