"""Observations of a subject on the cases of an operator family, and the mutants that explain them.

An `Observation` has the outputs, changed inputs and errors of a backend on a case. `observe` runs a case, and
`are_equivalent` compares two observations apart from rounding. `observation_to_record` converts an observation for the
results file, so that a run can be diagnosed later. `MutantRunner` compares mutants with the observations of a subject.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.exact.models import arrays
from conformance.exact.models.arrays import copy_of_value, equal_elements, value_byte_count, value_bytes
from conformance.run.diagnosis.properties import Properties
from conformance.run.judging.compare import is_acceptable, overwritten_inputs
from conformance.run.judging.returned import decode_output, encode_output
from conformance.run.mutants import family_of_operators, model_family, op_types
from conformance.run.mutants.mutant import IncompatibleMutantsError, compose
from conformance.run.results.records import RecordedOutputs
from conformance.run.results.violations import normalize_message
from conformance.subjects.calling.request import CaseEnded, call_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import onnx

    from conformance.corpus.cases.case_loading import CaseInMemory, DataSet, ExpectedTensor
    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.run.diagnosis.collected_results import CollectedResult
    from conformance.run.mutants import Mutant
    from conformance.subjects.calling.subject_names import Subject


Output: TypeAlias = "tuple[int, int]"
"""The number of a run of a case, and the number of an output of the run."""

Part: TypeAlias = "int | Output"
"""The number of a run of a case, or an output of a run."""

EXTRA_ROUNDINGS = 16
"""Units of roundoff, in addition to the bound, by which two evaluations of one wrong formula may differ."""


@dataclass(frozen=True)
class Observation:
    """The behaviour of a backend on a case.

    Attributes:
        outputs: the outputs of each data set's run, up to the first error.
        changed_inputs: for each data set, the indices of the input arrays that the run modified.
        error: the phase and the text of the error that ended the runs, or None. Two errors are equivalent only if
            equal.
    """

    outputs: tuple[tuple[Any, ...], ...]
    changed_inputs: tuple[tuple[int, ...], ...]
    error: str | None = None


def observe(backend: Any, case: CaseInMemory, like: Observation | None = None) -> Observation | None:
    """Run a case on a backend and return the observation, or None if the backend does not support the case.

    Args:
        like: another observation of the case, or None. If it is given, the function stops and returns None at the first
            data set with outputs that are not equivalent to it.
    """
    outputs: list[tuple[Any, ...]] = []
    changed: list[tuple[int, ...]] = []
    model = case.fresh_model()
    try:
        prepared = call_subject("load", lambda: backend.prepare(model, "CPU"))
        for number, data_set in enumerate(case.data_sets()):
            before = list(map(value_bytes, data_set.inputs))
            came = call_subject("run", partial(_run, prepared, data_set))
            outputs.append(tuple(map(copy_of_value, came)))
            changed.append(tuple(overwritten_inputs(data_set.inputs, before)))
            if like is not None and not _is_alike(like, number, data_set, outputs[-1]):
                return None
    except CaseEnded as ended:
        is_unsupported = ended.verdict is Verdict.UNSUPPORTED
        error = f"{ended.phase}: {ended.message}"
        return None if is_unsupported else Observation(tuple(outputs), tuple(changed), error)
    return Observation(tuple(outputs), tuple(changed))


def _run(prepared: Any, data_set: DataSet) -> tuple[Any, ...]:
    return tuple(prepared.run(list(data_set.inputs)))


def are_equivalent(one: Observation, other: Observation, case: CaseInMemory) -> bool:
    """Return whether two observations of a case differ by rounding at most."""
    if (one.error, one.changed_inputs, len(one.outputs)) != (other.error, other.changed_inputs, len(other.outputs)):
        return False
    return not any(True for _ in differing_outputs(one, other, case))


def wrong_outputs(observation: Observation, case: CaseInMemory) -> Iterator[Output]:
    """Yield the outputs that are wrong; all outputs of a run if their number is wrong."""
    return _outputs_without(is_acceptable, case, observation)


def differing_outputs(one: Observation, other: Observation, case: CaseInMemory) -> Iterator[Output]:
    """Yield the outputs that differ by more than rounding; all outputs of a run if their number is wrong."""
    return _outputs_without(_is_output_equivalent, case, one, other)


def _outputs_without(holds: Callable[..., bool], case: CaseInMemory, *observations: Observation) -> Iterator[Output]:
    """Yield the outputs for which a relation between the expected and the observed values does not hold."""
    runs = zip(case.held, *(one.outputs for one in observations), strict=False)
    for run, (data_set, *values) in enumerate(runs):
        for output in _numbers_without(holds, data_set, *values):
            yield run, output


def _numbers_without(holds: Callable[..., bool], data_set: DataSet, *values: Sequence[Any]) -> Iterator[int]:
    """Yield the numbers of the outputs of one run for which a relation does not hold."""
    is_complete = all(len(outputs) == len(data_set.outputs) for outputs in values)
    for number, expected in enumerate(data_set.outputs):
        if not is_complete or not holds(expected, *(outputs[number] for outputs in values)):
            yield number


def wrong_parts(subject: Observation, case: CaseInMemory) -> frozenset[Part]:
    """Return the parts of a case that a subject which fails it has wrong.

    If an error, a changed input or a missing run is part of the failure, all parts count as wrong.
    """
    is_whole = _fails_as_a_whole(subject, case)
    return _parts(case, _all_outputs(case) if is_whole else wrong_outputs(subject, case))


def differing_parts(mutant: Observation, subject: Observation, case: CaseInMemory) -> frozenset[Part]:
    """Return the parts of a case in which a mutant and a subject differ by more than rounding.

    If an error, a changed input or a missing run is part of a failure, the result is all or none of the parts.
    """
    if _fails_as_a_whole(mutant, case) or _fails_as_a_whole(subject, case):
        return frozenset() if are_equivalent(mutant, subject, case) else _parts(case, _all_outputs(case))
    return _parts(case, differing_outputs(mutant, subject, case))


def _parts(case: CaseInMemory, outputs: Iterable[Output]) -> frozenset[Part]:
    """Return the parts of a case that contain the outputs.

    A part is a run. If the main graph has several nodes of one operator, a part is an output of a run, because the
    subject may have a mistake in some of the nodes. Nodes in a function do not count: they compute its operator.
    """
    is_repeated = max(Counter(node.op_type for node in case.model.graph.node).values(), default=0) > 1
    return frozenset(outputs) if is_repeated else frozenset(run for run, _ in outputs)


def _all_outputs(case: CaseInMemory) -> Iterator[Output]:
    return ((run, output) for run, data_set in enumerate(case.held) for output in range(len(data_set.outputs)))


def _is_alike(observation: Observation, number: int, data_set: DataSet, outputs: Sequence[Any]) -> bool:
    """Return whether the outputs of one data set differ from those of an observation by rounding at most."""
    if number >= len(observation.outputs):
        return False
    differing = _numbers_without(_is_output_equivalent, data_set, outputs, observation.outputs[number])
    return not any(True for _ in differing)


def is_failure(observation: Observation, case: CaseInMemory) -> bool:
    """Return whether a backend with this behaviour fails the case."""
    return _fails_as_a_whole(observation, case) or any(True for _ in wrong_outputs(observation, case))


def failure_mode(finding: CollectedResult, observation: Observation | None, case: CaseInMemory) -> str:
    """Return the failure mode of a case as text: the error, the kind of wrong output, or the verdict with the message.

    Args:
        observation: the recorded outputs of the subject, if available.
    """
    if observation is None:
        return f"{finding.verdict}: {finding.message}" if finding.message else str(finding.verdict)
    if observation.error is not None:
        return normalize_message(observation.error)
    if any(observation.changed_inputs):
        return "changed inputs"
    pairs = [
        (output.expected, came)
        for data_set, outputs in zip(case.held, observation.outputs, strict=False)
        for output, came in zip(data_set.outputs, outputs, strict=False)
    ]
    if any(len(data_set.outputs) != len(came) for data_set, came in zip(case.held, observation.outputs, strict=False)):
        return "wrong number of outputs"
    if any(not isinstance(came, np.ndarray) or came.dtype != expected.dtype for expected, came in pairs):
        return "wrong types"
    return "wrong shapes" if any(came.shape != expected.shape for expected, came in pairs) else "wrong values"


def _fails_as_a_whole(observation: Observation, case: CaseInMemory) -> bool:
    """Return whether an error, a changed input or a missing run is part of a failure."""
    return bool(observation.error) or any(observation.changed_inputs) or len(observation.outputs) != len(case.held)


def _is_output_equivalent(expected: ExpectedTensor, one: Any, other: Any) -> bool:
    """Return whether two outputs, which may both be wrong, can be evaluations of the same formula.

    They may differ by the bound and several roundings, and in elements of which every index is acceptable.
    """
    if not (isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic)):
        return False
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    a = np.asarray(one)
    b = np.asarray(other)
    differs = ~equal_elements(a, b, with_signs=expected.bound is None)
    if expected.choices is not None and expected.choices.shape[:-1] == differs.shape:
        differs &= ~expected.choices.all(axis=-1)
    elif expected.bound is not None and expected.bound.shape == differs.shape and a.dtype.kind in "iu":
        differs &= ~np.isinf(expected.bound)
    if expected.bound is None or not differs.any():
        return not differs.any()
    a, b = a[differs].astype(np.float64), b[differs].astype(np.float64)
    format = arrays.FLOAT_FORMATS["float" if expected.expected.dtype == np.float32 else "double"]
    with np.errstate(all="ignore"):
        distance = np.abs(a - b)
        room = EXTRA_ROUNDINGS * float(format.unit_roundoff) * np.maximum(np.abs(a), np.abs(b))
    if expected.bound.shape == differs.shape and np.isfinite(expected.bound).all():
        room += expected.bound[differs]
    return bool((np.isfinite(distance) & (distance <= room)).all())


MAX_RECORDED_BYTES = 384 * 1024
"""Bytes of all outputs of a case up to which they are recorded. Larger cases are not diagnosed."""

OPERATORS_NEXT_TO_FAMILY = {"ArgMax": ("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax", "Relu", "Concat")}
"""By family: the other operators that a model of the family may contain."""


def evidence_family(model: onnx.ModelProto) -> str | None:
    """Return the operator family to which a failure of the model is attributed, or None.

    It is None if the model contains other operators that could be at fault.
    """
    present = op_types(model)
    family = family_of_operators(present)
    return family if family is not None and present <= {*OPERATORS_NEXT_TO_FAMILY.get(family, ()), family} else None


def single_node(model: onnx.ModelProto) -> onnx.NodeProto | None:
    """Return the node of a model of one node without subgraphs; None for another model."""
    if len(model.graph.node) != 1 or model.functions:
        return None
    (node,) = model.graph.node
    return None if any(each.HasField("g") or each.graphs for each in node.attribute) else node


def record_outputs(subject: Subject, corpus: Corpus, entry: CorpusCase) -> RecordedOutputs | None:
    """Run a failing case again and return the recorded outputs of the subject.

    Return None if mutants cannot explain the case, because no operator has a family, and the model is not one node.

    Raises:
        CorpusError: a file of the case was changed.
    """
    if entry.is_invalid or entry.level is Level.SILENT:
        return None
    case = load_case_in_memory(corpus, entry)
    if model_family(case.model) is None and single_node(case.model) is None:
        return None
    observation = observe(subject.target, case)
    return None if observation is None else observation_to_record(observation)


def observation_to_record(observation: Observation) -> RecordedOutputs | None:
    """Return an observation as a record of the results file, or None if it is too large."""
    if sum(value_byte_count(value) for outputs in observation.outputs for value in outputs) > MAX_RECORDED_BYTES:
        return None
    return RecordedOutputs(
        [[encode_output(array) for array in outputs] for outputs in observation.outputs],
        [list(places) for places in observation.changed_inputs],
        observation.error,
    )


def observation_from_record(record: RecordedOutputs) -> Observation | None:
    """Read an observation from a record, or return None if a tensor in it is malformed."""
    try:
        outputs = tuple(
            tuple(None if tensor is None else decode_output(tensor) for tensor in tensors) for tensors in record.outputs
        )
    except (KeyError, TypeError, ValueError):
        return None
    return Observation(outputs, tuple(tuple(places) for places in record.changed), record.ended)


MutantCombination: TypeAlias = "tuple[Mutant, ...]"
"""Mutants that one implementation has at the same time, in the order in which they are applied."""


class FailureComparison(Enum):
    """The result of running mutants on a case that the subject fails."""

    REPRODUCES = "fails in the same way as the subject"
    FAILS_DIFFERENTLY = "fails in another way"
    PASSES = "does not fail"


class MutantRunner:
    """Runs combinations of mutants on cases and caches the results.

    A combination is one implementation with several mutants at once.

    Args:
        cases: the cases by id.
        observations: the outputs and errors of the subject on the cases that it fails, by id.
    """

    def __init__(self, cases: Mapping[str, CaseInMemory], observations: Mapping[str, Observation]) -> None:
        self._cases = cases
        self._operators = {id: op_types(case.model) for id, case in cases.items()}
        self._observations = observations
        self._compare = cache(self._compare_relevant)
        self._reproduces = cache(self._reproduces_relevant)
        self._fails = cache(self._fails_relevant)
        self._differing_parts = cache(self._differing_parts_relevant)
        self._wrong_parts = cache(lambda case: wrong_parts(self._observations[case], self._cases[case]))

    def compare(self, mutants: MutantCombination, id: str) -> FailureComparison:
        """Compare the outputs of a combination of mutants with those of the subject on a failing case."""
        return self._compare(self._relevant_mutants(mutants, id), id)

    def explains(self, mutants: MutantCombination, id: str) -> bool:
        """Return whether a combination of mutants fails a case in the same way as the subject.

        A run of several mutants stops at the first difference. A run of a single mutant is completed, because its
        comparison is needed later.
        """
        relevant = self._relevant_mutants(mutants, id)
        if len(relevant) < 2:
            return self._compare(relevant, id) is FailureComparison.REPRODUCES
        return self._reproduces(relevant, id)

    def fails(self, mutants: MutantCombination, id: str) -> bool:
        """Return whether a combination of mutants fails a case."""
        return self._fails(self._relevant_mutants(mutants, id), id)

    def explains_parts(self, mutants: Iterable[Mutant], id: str) -> bool:
        """Return whether the subject has the outputs of one of the mutants in each wrong part of a failing case."""
        wrong = self._wrong_parts(id)
        differing = [self._differing_parts(self._relevant_mutants((mutant,), id), id) for mutant in mutants]
        return bool(wrong) and not wrong.intersection(*differing)

    def _differing_parts_relevant(self, mutants: MutantCombination, id: str) -> frozenset[Part]:
        observation, _ = _observe_mutants(mutants, self._cases[id])
        if observation is None:
            return self._wrong_parts(id)  # a mutant that does not run a case explains no part of it
        return differing_parts(observation, self._observations[id], self._cases[id])

    def _fails_relevant(self, mutants: MutantCombination, id: str) -> bool:
        return _observe_mutants(mutants, self._cases[id])[1]

    def _compare_relevant(self, mutants: MutantCombination, id: str) -> FailureComparison:
        observation, is_failed = _observe_mutants(mutants, self._cases[id])
        if observation is None or not is_failed:
            return FailureComparison.PASSES
        return (
            FailureComparison.REPRODUCES
            if are_equivalent(observation, self._observations[id], self._cases[id])
            else FailureComparison.FAILS_DIFFERENTLY
        )

    def _reproduces_relevant(self, mutants: MutantCombination, id: str) -> bool:
        if not can_compose(mutants):
            return False
        case = self._cases[id]
        expected = self._observations[id]
        observation = observe(compose(mutants), case, expected)
        return observation is not None and are_equivalent(observation, expected, case) and is_failure(observation, case)

    def _relevant_mutants(self, mutants: MutantCombination, id: str) -> MutantCombination:
        """Return the mutants whose operator is in the model of a case; other mutants have no effect on the case."""
        present = self._operators[id]
        return _canonical_order(tuple(mutant for mutant in mutants if mutant.operator in present))


@lru_cache(maxsize=2**15)
def _observe_mutants(mutants: MutantCombination, case: CaseInMemory) -> tuple[Observation | None, bool]:
    """Return the outputs of a combination of mutants, and whether it fails the case.

    The result is cached for the diagnoses of further subjects. It is None if the combination does not run the case.
    """
    observation = observe(compose(mutants), case) if mutants and can_compose(mutants) else None
    return observation, observation is not None and is_failure(observation, case)


@lru_cache(maxsize=2**16)
def _canonical_order(mutants: MutantCombination) -> MutantCombination:
    """Return the mutants in a canonical order, so that the cache has one entry for equivalent orders.

    Two mutants are reordered if their order has no effect, as for most pairs of mutants of a training optimizer.
    """
    if len(mutants) != 2 or not can_compose(mutants):
        return mutants
    other = mutants[::-1]
    is_same = mutants[0].id > mutants[1].id and compose(mutants) == compose(other)
    return other if is_same else mutants


def can_compose(mutants: MutantCombination) -> bool:
    """Return whether one implementation can have all of these mutants."""
    try:
        compose(mutants)
    except IncompatibleMutantsError:
        return False
    return True


MAX_CASES_TRIED = 32
"""Number of failing cases after which a mutant that explains none of them is discarded."""

MAX_OTHER_FAILURES = 12
"""Number of cases that a mutant may fail differently from the subject before it is discarded."""

PARTNER_SAMPLE_SIZE = 8
"""Number of unexplained cases on which all mutants are tried in combination with a selected one."""


@dataclass(frozen=True)
class Evidence:
    """A subject's results on the cases of one operator family.

    Attributes:
        catalogue: the mutants that are considered.
        cases: the cases that the subject passes or fails, by id.
        observations: the outputs and errors of the subject on the cases that it fails, by id.
        passed: the ids of the passed cases. A mutant that fails one of these cases is refuted.
        passed_at_lower_level: the ids of passed cases of a weaker level. A mutant that fails one of these cases is less
            likely.
        clauses: the ids of the clauses that a failing case tests, by case id.
        properties: returns the properties of a case by its id.
    """

    catalogue: Sequence[Mutant]
    cases: Mapping[str, CaseInMemory]
    observations: Mapping[str, Observation]
    passed: Sequence[str]
    passed_at_lower_level: Sequence[str] = ()
    clauses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    properties: Callable[[str], Properties] = lambda _: Properties((), {})

    @cached_property
    def runner(self) -> MutantRunner:
        """The runner of mutants on these cases."""
        return MutantRunner(self.cases, self.observations)

    @cached_property
    def failing(self) -> frozenset[str]:
        """The ids of the cases to be explained."""
        return frozenset(self.observations)

    def explained_cases(self, mutants: MutantCombination, among: Iterable[str] | None = None) -> frozenset[str]:
        """Return the failing cases (all, or those in `among`) that the combination of mutants explains."""
        ids = self.failing if among is None else among
        return frozenset(id for id in ids if self.runner.explains(mutants, id))

    def explains_all(self, mutants: MutantCombination, first: frozenset[str] = frozenset()) -> bool:
        """Return whether the combination of mutants explains all failing cases; those in `first` are tried first."""
        ids = sorted(self._failing_by_size, key=lambda case: case not in first)
        return all(self.runner.explains(mutants, id) for id in ids)

    def is_refuted(self, mutants: MutantCombination) -> bool:
        """Return whether the mutants cannot be combined, or fail a case that the subject passes."""
        return not can_compose(mutants) or any(self.runner.fails(mutants, id) for id in self._passed_by_size)

    def refuting_cases(self, mutant: Mutant) -> frozenset[str]:
        """Return the passed cases of any level that a mutant fails."""
        passed = (*self.passed, *self.passed_at_lower_level)
        return frozenset(id for id in passed if self.runner.fails((mutant,), id))

    def without_failures_below(self, alternatives: Sequence[MutantCombination]) -> list[MutantCombination]:
        """Return the combinations that fail none of the cases in `passed_at_lower_level`.

        If all combinations fail such a case, return all combinations.
        """
        fails = self.runner.fails
        holding = [each for each in alternatives if not any(fails(each, id) for id in self.passed_at_lower_level)]
        return holding or list(alternatives)

    @cached_property
    def _failing_by_size(self) -> list[str]:
        return self._by_size(self.failing)

    @cached_property
    def _passed_by_size(self) -> list[str]:
        return self._by_size(self.passed)

    def _by_size(self, ids: Iterable[str]) -> list[str]:
        """Return cases by size: a small case shows after little work that mutants do not explain it."""

        def size(id: str) -> tuple[int, str]:
            case = self.cases[id]
            return case.model.ByteSize() + sum(array.nbytes for data in case.held for array in data.inputs), id

        return sorted(ids, key=size)

    @cached_property
    def candidates(self) -> Sequence[Mutant]:
        """The mutants that explain a failing case; each mutant is tried on a part of the failing cases."""
        return [mutant for mutant in self.catalogue if self._explains_any_case(mutant)]

    @cached_property
    def _alone(self) -> dict[Mutant, frozenset[str]]:
        return {}

    def explained_alone(self, mutant: Mutant) -> frozenset[str]:
        """Return the ids of all failing cases that a single mutant explains."""
        if mutant not in self._alone:
            self._alone[mutant] = self.explained_cases((mutant,))
        return self._alone[mutant]

    def possible_partners(self, mutants: MutantCombination, left: frozenset[str]) -> list[Mutant]:
        """Return the mutants that explain an unexplained case in combination with `mutants`.

        Args:
            left: the ids of the unexplained cases; a sample of them is tried.
        """
        answered = (id for id in left if self.observations[id].error is None)
        sample = sorted(answered, key=shuffle_key)[:PARTNER_SAMPLE_SIZE]
        others = [one for one in self.catalogue if one not in mutants]
        orders = {one: ((*mutants, one), (one, *mutants)) for one in others}
        return [one for one in others if any(self.explained_cases(order, sample) for order in orders[one])]

    def contradicting_cases(self, mutant: Mutant, among: Iterable[str]) -> list[str]:
        """Return the cases for which the subject and the mutant return different wrong outputs."""
        answered = (id for id in among if self.observations[id].error is None)
        return [id for id in answered if self.runner.compare((mutant,), id) is FailureComparison.FAILS_DIFFERENTLY]

    def _explains_any_case(self, mutant: Mutant) -> bool:
        """Return whether a mutant explains a failing case. Cases that test the clause of the mutant are tried first."""
        others = 0
        ordered = sorted(self.cases_to_try, key=lambda case: mutant.clause not in self.clauses.get(case, ()))
        for id in ordered[:MAX_CASES_TRIED]:
            compare = self.runner.compare((mutant,), id)
            if compare is FailureComparison.REPRODUCES:
                return True
            others += compare is FailureComparison.FAILS_DIFFERENTLY
            if others >= MAX_OTHER_FAILURES:
                return False
        return False

    @cached_property
    def cases_to_try(self) -> list[str]:
        """The failing cases in the order in which to try them.

        Cases that test few clauses come first. Of several cases with the same error, only two are tried.
        """
        ids = sorted(self.failing, key=lambda case: (len(self.clauses.get(case, ())), shuffle_key(case)))
        seen: Counter[str | None] = Counter()
        kept = []
        for id in ids:
            ended = self.observations[id].error
            seen[ended] += 1
            if ended is None or seen[ended] <= 2:
                kept.append(id)
        return kept


def shuffle_key(case: str) -> int:
    """Return a pseudo-random sort key for a case id; it is the same in every run."""
    return zlib.crc32(case.encode())
