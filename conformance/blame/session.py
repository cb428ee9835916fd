"""The steps of `blame`: controls, difference, passes, reduction and verdict.

Every step adds its data to a document, from which all reports are made. A document of an earlier, interrupted session
is continued: a step whose data it has does not run again.
"""

from __future__ import annotations

import base64
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import onnx
from onnx import TensorProto

from conformance.blame.comparison import Comparison, run_model, with_option
from conformance.blame.difference import Difference, find_difference
from conformance.blame.passes import ONNXRUNTIME, Passes, list_passes, minimize
from conformance.blame.reduction import MAX_SECONDS, Reducer, node_count
from conformance.blame.verdict import BlameOutcome, BlameVerdict, judge
from conformance.errors import JobError
from conformance.files.journal import require_identity
from conformance.graphs.fed_model import FedModel
from conformance.graphs.hashing import hash_values
from conformance.graphs.inputs import input_text
from conformance.models.arrays import array_of, tensor_of
from conformance.models.graphs import is_operator, iter_nodes
from conformance.models.inputs import required_input_names
from conformance.serialization.codec import JsonReader
from conformance.serialization.decoding import Count, MalformedError
from conformance.subjects.naming import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from conformance.blame.comparison import Computation, OpenSubjects
    from conformance.graphs.inputs import InputSet
    from conformance.graphs.reading import LoadedModel
    from conformance.subjects.loading import Subject

STEPS = ("controls", "difference", "passes", "reduction", "verdict")
"""The steps, in their order."""

LEVELS = {"backend": ("optimization", ("disabled", "basic", "extended")), "optimizer": ("level", ("basic", "extended"))}
"""The option of ONNX Runtime for its levels of graph optimization below `all`, and the levels, by kind of subject."""

FORMAT = 1


@dataclass(frozen=True)
class Request:
    """The two ways that are compared.

    Attributes:
        model: the model.
        data_sets: the inputs.
        first: the subject that runs the model.
        second: the subject that runs the rewrite, or the second subject.
        optimizer: the graph optimizer; None for two subjects.
        seed: the seed of pseudo-random inputs; None for inputs from files.
        seconds: the maximum time of the reduction.
    """

    model: LoadedModel
    data_sets: Sequence[InputSet]
    first: SubjectName
    second: SubjectName
    optimizer: SubjectName | None = None
    seed: int | None = None
    seconds: float = MAX_SECONDS

    def case(self, number: int) -> FedModel:
        """Return the model with one data set."""
        model = self.model.original
        names = required_input_names(model.graph)
        return FedModel(model, dict(zip(names, self.data_sets[number].arrays, strict=True)))

    def head(self) -> dict[str, Any]:
        """Return the part of the document that identifies the request."""
        names = required_input_names(self.model.original.graph)
        return {
            "format": FORMAT,
            "model": {
                "file": self.model.path.name,
                "sha256": self.model.digest,
                "nodes": node_count(self.model.original),
            },
            "inputs": [input_text(names, data_set) for data_set in self.data_sets],
            "inputs_sha256": hash_values(array for data_set in self.data_sets for array in data_set.arrays),
            "seed": self.seed,
            "subjects": [self.first.text, self.second.text],
            "optimizer": self.optimizer.text if self.optimizer else None,
        }


@dataclass
class Session:
    """One run of all steps.

    Attributes:
        request: the two ways.
        subjects: starts the subjects.
        on_step: is called with the name and the data of each step that ends.
        progress: is called with a text for the user.
        find_releases: returns the releases of a subject that are worth comparing for some operators, see
            `releases_worth_comparing`.
        document: the data of all steps; data of an earlier session to continue it.
        reduced: the reduced case, after its step.
    """

    request: Request
    subjects: OpenSubjects
    on_step: Callable[[str, Mapping[str, Any]], None] = lambda *_: None
    progress: Callable[[str], None] = lambda _: None
    document: dict[str, Any] = field(default_factory=dict)
    find_releases: Callable[[SubjectName, Collection[str]], list[dict[str, Any]]] = lambda *_: []
    reduced: FedModel | None = None
    answers: tuple[Computation, Computation] | None = None
    _passes: Passes | None = None
    _observed: dict[int, Difference] = field(default_factory=dict)
    _tested: int = 0
    _ended_early: bool = False

    def run(self) -> BlameVerdict:
        """Run the steps that the document lacks, and return the verdict.

        Raises:
            JobError: the document belongs to another request.
            ConformanceError: a subject cannot be loaded.
        """
        self._begin()
        controls = self._step("controls", self._controls)
        difference = self._step("difference", self._difference) if controls["is_deterministic"] else {}
        if not controls["is_deterministic"]:
            verdict = BlameVerdict(BlameOutcome.NOT_DETERMINISTIC, controls["reason"])
        elif not difference["differs"] and any(difference["failures"]):
            reason = f"neither computes the model: {difference['messages'][0]}"
            verdict = BlameVerdict(BlameOutcome.NOT_JUDGED, reason)
        elif not difference["differs"]:
            verdict = BlameVerdict(BlameOutcome.NO_DIFFERENCE)
        else:
            self._step("passes", self._bisect)
            verdict = self._reduce_and_judge()
        more = self._releases(verdict) | self._compare_with_unoptimized(verdict)
        self._step("verdict", lambda: verdict_data(verdict) | more, again=True)
        return verdict

    def _compare_with_unoptimized(self, verdict: BlameVerdict) -> dict[str, Any]:
        """Return how both ways differ from the result without optimizations, if the reference cannot judge them.

        The result is that of ONNX Runtime without optimizations if a way is ONNX Runtime, and otherwise that of onnx's
        reference evaluator.
        """
        if verdict.outcome is not BlameOutcome.NOT_JUDGED or self.reduced is None or self.answers is None:
            return {}
        ways = [self.request.first, self.request.second]
        runtime = next((way for way in ways if way.name == ONNXRUNTIME and not way.is_command), None)
        plain = SubjectName.parse("onnx-reference", SubjectKind.BACKEND)
        plain = plain if runtime is None else with_option(runtime, "optimization", "disabled")
        with self.subjects.open(plain) as (subject,):
            found = run_model(subject.target, self.reduced.model, self.reduced.inputs)
        if found.failure or any(answer.failure for answer in self.answers):
            return {}
        names = [value.name for value in self.reduced.model.graph.output]
        differences = [difference_data(find_difference(names, answer, found)) for answer in self.answers]
        return {"unoptimized": {"subject": plain.text, "ways": [each["outputs"] for each in differences]}}

    def _releases(self, verdict: BlameVerdict) -> dict[str, Any]:
        """Return the releases worth comparing of all subjects, for the operators of the reduced model."""
        if not self.document["steps"].get("reduction") or not verdict.outcome.fails:
            return {}
        operators = {node["operator"] for node in self.document["steps"]["reduction"]["nodes"]}
        ways = [self.request.first, self.request.second, self.request.optimizer]
        named = {each.name: each for each in ways if each is not None}
        found = [release for each in named.values() for release in self.find_releases(each, operators)]
        return {"releases": found} if found else {}

    def _begin(self) -> None:
        head, steps = self.request.head(), self.document.get("steps", {})
        if self.document:
            require_identity("The file of --resume", {name: self.document.get(name) for name in head}, head)
        names = [self.request.first, self.request.second, *([self.request.optimizer] if self.request.optimizer else [])]
        with self.subjects.open(*names) as found:
            versions = [each.version or "" for each in found]
        tried = self.document.get("tried", {})
        if self.document and self.document["versions"] != versions:
            steps, tried = {}, {}  # another release must be examined anew
        self.document.clear()
        self.document.update(head, versions=versions, steps=dict(steps))
        if tried:
            self.document["tried"] = dict(tried)

    def _step(self, name: str, compute: Callable[[], dict[str, Any]], *, again: bool = False) -> dict[str, Any]:
        steps = self.document["steps"]
        if again or name not in steps:
            steps[name] = compute()
        self.on_step(name, steps[name])
        data: dict[str, Any] = steps[name]
        return data

    def _compare(self, chosen: SubjectName | None = None) -> Any:
        """Start the subjects; `chosen` replaces the subject whose passes are chosen."""
        return self.subjects.compare(*self._with_chosen(chosen))

    def _with_chosen(self, chosen: SubjectName | None) -> tuple[SubjectName, SubjectName, SubjectName | None]:
        first, second, optimizer = self.request.first, self.request.second, self.request.optimizer
        if chosen is None:
            return first, second, optimizer
        if optimizer is not None:
            return first, second, chosen
        return (first, chosen, None) if self.bisects_second else (chosen, second, None)

    @property
    def bisects_second(self) -> bool:
        """Whether the passes of the second subject are chosen, and not those of the first."""
        second = self.request.second
        return second.name == ONNXRUNTIME and second.options.get("optimization") != "disabled"

    def _observe(self, comparison: Comparison, number: int = 0) -> tuple[Difference, tuple[Computation, Computation]]:
        return observe(comparison, self.request.case(number))

    def _controls(self) -> dict[str, Any]:
        """Run everything twice, in two processes; find the first data set with a difference."""
        number = 0
        with self._compare() as comparison:
            for place in range(len(self.request.data_sets)):
                difference, answers = self._observe(comparison, place)
                self._observed[place] = difference
                if difference or not place:
                    number, kept = place, answers
                if difference:
                    break
            # a failure, which may be a hang, is repeated in another process only
            same_process = kept if any(each.failure for each in kept) else comparison.answers(self.request.case(number))
        with self._compare() as comparison:
            other_process = comparison.answers(self.request.case(number))
            labels = comparison.names
        names = [value.name for value in self.request.case(number).model.graph.output]
        differing = [
            _change_text(label, where, one, other)
            for where, again in (("in the second run", same_process), ("in another process", other_process))
            for label, one, other in zip(labels, kept, again, strict=True)
            if find_difference(names, one, other)
        ]
        data: dict[str, Any] = {
            "data_set": number,
            "ways": list(labels),
            "is_deterministic": not differing,
            "reason": differing[0] if differing else "",
            "round_trip": None,
        }
        if self.request.optimizer is not None and not differing:
            data["round_trip"] = self._round_trip(number)
        return data

    def _round_trip(self, number: int) -> str | None:
        """Run the graph optimizer without any pass; None if its passes cannot be chosen."""
        passes = self._listed_passes()
        if passes is None:
            return None
        with self._compare(passes.choose([])) as comparison:
            difference, answers = self._observe(comparison, number)
        if not difference:
            return "same"
        return answers[1].message or "differs"

    def _listed_passes(self) -> Passes | None:
        if self._passes is None:
            request = self.request
            subject = request.optimizer or (request.second if self.bisects_second else request.first)
            self._passes = list_passes(subject, self.subjects)
        return self._passes

    @property
    def _number(self) -> int:
        return int(self.document["steps"]["controls"]["data_set"])

    def _difference(self) -> dict[str, Any]:
        data = difference_data(self._wanted())
        for output in data["outputs"]:
            scale = quantization_step(self.request.model.prepared, output["name"])
            if scale and isinstance(output["largest"], float):
                output["steps"] = output["largest"] / scale
        return data

    def _wanted(self) -> Difference:
        """Return the difference of the whole model."""
        if self._number not in self._observed:
            with self._compare() as comparison:
                self._observed[self._number], _ = self._observe(comparison, self._number)
        return self._observed[self._number]

    def _bisect(self) -> dict[str, Any]:
        """Find the passes; the data has no names if the passes cannot be chosen."""
        if self.document["steps"]["controls"]["round_trip"] not in (None, "same"):
            passes = self._listed_passes()
            assert passes is not None
            reason = "the difference comes without any pass: the round trip"
            return {"names": [], "reason": reason, "tested": 1, "subject": passes.choose([]).text}
        passes = self._listed_passes()
        if passes is None:
            return {"names": None, "reason": "the passes cannot be chosen", "tested": 0, "subject": None}
        with self._search_of_passes() as search:
            found = self._smallest_set(passes, search)
        self.document.pop("tried", None)
        return found

    def _smallest_set(self, passes: Passes, search: _PassSearch) -> dict[str, Any]:
        keeps = search.keeps
        if passes.takes_disabled:
            lowest = self._lowest_level(passes, keeps)
            if lowest is None:
                reason = "the difference stays with all graph optimizations disabled"
                return {"names": None, "reason": reason, "tested": search.tested, "subject": None}
            passes = lowest
        if not keeps(passes.choose(passes.names)):
            reason = "the difference does not come if all passes are chosen by name"
            return {"names": None, "reason": reason, "tested": search.tested, "subject": None}
        if keeps(passes.choose([])):
            reason = "the difference stays if no pass is chosen"
            return {"names": None, "reason": reason, "tested": search.tested, "subject": None}
        names = minimize(passes.names, lambda chosen: keeps(passes.choose(chosen)))
        return {"names": names, "reason": "", "tested": search.tested, "subject": passes.choose(names).text}

    @contextmanager
    def _search_of_passes(self) -> Iterator[_PassSearch]:
        """Compute the way whose passes are fixed once, and start only the other subject for each set of passes."""
        first, second, optimizer = self._with_chosen(None)
        case, wanted = self.request.case(self._number), self._wanted()
        fixed = first if optimizer is not None or self.bisects_second else second
        with self.subjects.open(fixed) as (held,):
            known = run_model(held.target, case.model, case.inputs)
            yield _PassSearch(self, held, case, known, wanted)

    def _lowest_level(self, passes: Passes, keeps: Callable[[SubjectName], bool]) -> Passes | None:
        """Return the passes of ONNX Runtime at its lowest level with the difference; None for `disabled`."""
        option, levels = LEVELS[passes.subject.kind]
        if option in passes.subject.options:
            given = passes.subject.options[option]
            levels = levels[: levels.index(given)] if given in levels else levels
        for level in levels:
            subject = with_option(passes.subject, option, level)
            if keeps(subject):
                return None if level == "disabled" else Passes(subject, passes.names, passes.takes_disabled)
        return passes

    def _chosen(self) -> SubjectName | None:
        """Return the subject with the passes of the difference only; None if they are not known."""
        text = self.document["steps"]["passes"]["subject"]
        passes = self._listed_passes() if text else None
        return SubjectName.parse(text, passes.subject.kind) if passes is not None else None

    def chosen_subjects(self) -> tuple[SubjectName, SubjectName, SubjectName | None]:
        """Return both subjects and the graph optimizer, with only the passes of the difference if they are known."""
        return self._with_chosen(self._chosen())

    def _reduce_and_judge(self) -> BlameVerdict:
        with self._compare(self._chosen()) as comparison:
            known = self.document["steps"].get("reduction")
            if known and known["is_complete"]:
                self.reduced = read_case(known)
                self._step("reduction", dict)
            else:
                start = read_case(known) if known else None
                self._step("reduction", lambda: self._reduce(comparison, start), again=True)
            assert self.reduced is not None
            difference, self.answers = observe(comparison, self.reduced)
            if not difference:
                reason = "the difference of the reduced model does not come again in the same process"
                return BlameVerdict(BlameOutcome.NOT_DETERMINISTIC, reason)
            self.document["reduced_difference"] = difference_data(difference)
            return judge(comparison, self.reduced, difference, self.answers)

    def _reduce(self, comparison: Comparison, start: FedModel | None) -> dict[str, Any]:
        """Reduce the model, from `start` if an earlier session has reduced it.

        If nobody is wrong on the reduced model, a part of the whole model on which somebody is wrong is searched. If
        there is none, the difference has the sum of many roundings, and the smallest of them is kept.
        """
        whole = self._inlined_case(comparison)
        wanted, answers = observe(comparison, whole)
        kept = judge(comparison, whole, wanted, answers).outcome

        def has_difference(case: FedModel) -> bool:
            """Return whether a smaller model has the same difference; a rounding is another one than a fault.

            A model that is judged is not reduced to one that is not.
            """
            nonlocal kept
            found, answers = observe(comparison, case)
            if not wanted.is_same(found) or any(wanted.failures):
                return wanted.is_same(found)
            outcome = judge(comparison, case, found, answers).outcome
            is_kept = kept is BlameOutcome.NOT_JUDGED or (
                outcome is not BlameOutcome.NOT_JUDGED and outcome.is_open == kept.is_open
            )
            kept = outcome if is_kept else kept
            return is_kept

        first = start if start is not None and has_difference(start) else whole
        case = self._reduce_while(comparison, first, has_difference)
        outcome = judged_outcome(comparison, case)
        if outcome.is_open and not any(wanted.failures):
            found = self._find_wrong_part(comparison, whole, wanted)
            if found is not None:
                case = self._reduce_while(comparison, found, lambda case: is_wrong(comparison, case, wanted))
            elif outcome is BlameOutcome.BOTH_ADMISSIBLE:
                case = self._reduce_while(
                    comparison, case, lambda case: is_alike_and_admissible(comparison, case, wanted)
                )
        self.reduced = case
        return self._reduction_data(case, is_complete=not self._ended_early)

    def _reducer(self, comparison: Comparison, is_same: Callable[[FedModel], bool]) -> Reducer:
        """Return a reducer that has a third of the time."""
        deadline = time.monotonic() + self.request.seconds / 3
        return Reducer(comparison.first.target, is_same, self.progress, deadline, on_smaller=self._keep)

    def _reduce_while(self, comparison: Comparison, case: FedModel, is_same: Callable[[FedModel], bool]) -> FedModel:
        reducer = self._reducer(comparison, is_same)
        self.reduced = case
        try:
            return reducer.reduce(case)
        finally:
            self._tested += reducer.tested
            self._ended_early |= reducer.ended_early

    def _find_wrong_part(self, comparison: Comparison, whole: FedModel, wanted: Difference) -> FedModel | None:
        reducer = self._reducer(comparison, lambda case: is_wrong(comparison, case, wanted))
        reducer.on_smaller = lambda _: None
        found = whole if reducer.holds(whole) else reducer.find_part(whole)
        self._tested += reducer.tested
        self._ended_early |= reducer.ended_early
        return found

    def _keep(self, case: FedModel) -> None:
        """Store a smaller case, for the case that the session is interrupted."""
        self.reduced = case
        self.document["steps"]["reduction"] = self._reduction_data(case, is_complete=False)

    def _inlined_case(self, comparison: Comparison) -> FedModel:
        """Return the model without model-local functions if the difference stays, and otherwise as it is."""
        original = self.request.case(self._number)
        prepared = FedModel(self.request.model.prepared, original.inputs)
        if not original.model.functions:
            return prepared
        wanted, _ = observe(comparison, original)
        return prepared if wanted.is_same(observe(comparison, prepared)[0]) else original

    def _reduction_data(self, case: FedModel, *, is_complete: bool) -> dict[str, Any]:
        return {
            "is_complete": is_complete,
            "nodes_before": self.document["model"]["nodes"],
            "nodes": [
                {"operator": node.op_type, "domain": node.domain, "name": node.name or next(iter(node.output), "")}
                for node in iter_nodes(case.model.graph)
                if not is_operator(node, "Constant")
            ],
            "tested": self._tested,
            "ended_early": self._ended_early,
            "model": base64.b64encode(case.model.SerializeToString()).decode(),
            "inputs": [
                base64.b64encode(tensor_of(array, name).SerializeToString()).decode()
                for name, array in case.inputs.items()
            ],
        }


@dataclass
class _PassSearch:
    """Tries sets of passes.

    Attributes:
        session: the session.
        held: the subject that computes the way whose passes are fixed.
        case: the whole model and its inputs.
        known: the answer of that way.
        wanted: the difference that a set of passes must keep.
        tested: the number of sets that were tried.
    """

    session: Session
    held: Subject
    case: FedModel
    known: Computation
    wanted: Difference
    tested: int = 0

    def keeps(self, subject: SubjectName) -> bool:
        """Return whether the difference stays with a set of passes; an earlier session may have tried it."""
        self.tested += 1
        self.session.progress(f"{self.tested} sets of passes tried")
        tried: dict[str, bool] = self.session.document.setdefault("tried", {})
        if subject.text not in tried:
            tried[subject.text] = self._try(subject)
        return tried[subject.text]

    def _try(self, subject: SubjectName) -> bool:
        with self.session.subjects.open(subject) as (chosen,):
            if subject.kind is SubjectKind.OPTIMIZER:
                answers = self.known, Comparison(self.held, self.held, chosen).answer(self.case, is_second=True)
            else:
                answers = self.known, run_model(chosen.target, self.case.model, self.case.inputs)
        if subject.kind is SubjectKind.BACKEND and not self.session.bisects_second:
            answers = answers[1], answers[0]
        names = [value.name for value in self.case.model.graph.output]
        return self.wanted.is_same(find_difference(names, *answers))


def _change_text(label: str, where: str, one: Computation, other: Computation) -> str:
    """Return how a repeated computation differs from the first."""
    if one.failure:
        return f"{label} fails in the first run only ({one.failure}: {one.message})"
    if other.failure:
        return f"{label} fails {where} only ({other.failure}: {other.message})"
    return f"{label} returns other outputs {where}"


def observe(comparison: Comparison, case: FedModel) -> tuple[Difference, tuple[Computation, Computation]]:
    """Compute a case in both ways; return the difference and the answers."""
    answers = comparison.answers(case)
    names = [value.name for value in case.model.graph.output]
    return find_difference(names, *answers), answers


def judged_outcome(comparison: Comparison, case: FedModel) -> BlameOutcome:
    """Return the outcome of the verdict on a case."""
    difference, answers = observe(comparison, case)
    return judge(comparison, case, difference, answers).outcome


def quantization_step(model: onnx.ModelProto, output: str) -> float:
    """Return the distance of two neighbouring values of a quantized output; 0 if the output is not quantized.

    An output is quantized if it has a type of at most 8 bits, or if a DequantizeLinear with one scale computes it.
    """
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.output}
    if TensorProto.DataType.Name(types.get(output, 0)) in _QUANTIZED:
        return 1.0
    node = next((each for each in model.graph.node if output in each.output), None)
    if node is None or not is_operator(node, "DequantizeLinear"):
        return 0.0
    scale = next((tensor for tensor in model.graph.initializer if tensor.name == node.input[1]), None)
    array = None if scale is None or scale.data_location == TensorProto.EXTERNAL else array_of(scale)
    return float(array.item()) if array is not None and array.size == 1 else 0.0


_QUANTIZED = {f"{sign}INT{bits}" for sign in ("", "U") for bits in (2, 4, 8)}


def is_alike_and_admissible(comparison: Comparison, case: FedModel, wanted: Difference) -> bool:
    """Return whether the outputs of a case have a difference of the same kind, are judged, and nobody is wrong."""
    difference, answers = observe(comparison, case)
    if not wanted.is_alike(difference):
        return False
    return judge(comparison, case, difference, answers).outcome is BlameOutcome.BOTH_ADMISSIBLE


def is_wrong(comparison: Comparison, case: FedModel, wanted: Difference) -> bool:
    """Return whether the outputs of a case differ, and somebody is wrong; NaN is no part of a finite difference."""
    difference, answers = observe(comparison, case)
    if not difference or any(difference.failures) or (wanted.is_finite and not difference.is_finite):
        return False
    return not judge(comparison, case, difference, answers).outcome.is_open


def read_case(data: Mapping[str, Any]) -> FedModel:
    """Return the reduced case of a document.

    Raises:
        JobError: the document is malformed.
    """
    try:
        model = onnx.ModelProto.FromString(base64.b64decode(data["model"]))
        tensors = [onnx.TensorProto.FromString(base64.b64decode(text)) for text in data["inputs"]]
        return FedModel(model, {tensor.name: array_of(tensor) for tensor in tensors})
    except Exception:  # noqa: BLE001 - protobuf and base64 raise errors of several kinds
        raise JobError("malformed-state", "The file of --resume is malformed.", "Name another file.") from None


def difference_data(difference: Difference) -> dict[str, Any]:
    """Return a difference as JSON data; infinities and NaN become text."""
    return {
        "differs": bool(difference),
        "failures": [str(failure) for failure in difference.failures],
        "messages": list(difference.messages),
        "outputs": [
            {
                "name": each.name,
                "kind": each.kind,
                "elements": each.elements,
                "differing": each.differing,
                "largest": _plain(each.largest),
                "mean": _plain(each.mean),
                "ulps": _plain(each.ulps),
                "worst": [
                    {"index": list(element.index), "values": [_plain(element.first), _plain(element.second)]}
                    for element in each.worst
                ],
            }
            for each in difference.outputs
        ],
    }


def verdict_data(verdict: BlameVerdict) -> dict[str, Any]:
    """Return a verdict as JSON data."""
    return {
        "outcome": str(verdict.outcome),
        "reason": verdict.reason,
        "hazard": verdict.hazard or None,
        "shares": [_plain(share) for share in verdict.shares],
        "should_shares": [_plain(share) for share in verdict.should_shares],
        "differing": verdict.differing,
        "undetermined": verdict.undetermined,
        "loose": verdict.loose,
        "unspecified": verdict.unspecified,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    return str(value)


_Plain = bool | int | float | str | None
"""A number, of which infinities and NaN are text, or the text of a value."""


class _Strict(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a document; a key that is not described is refused."""


class _Controls(_Strict):
    """The step `controls`."""

    data_set: Count
    ways: Annotated[list[str], msgspec.Meta(min_length=2, max_length=2)]
    is_deterministic: bool
    reason: str
    round_trip: str | None


class _WorstElement(_Strict):
    """An element that differs, and both values."""

    index: list[Count]
    values: Annotated[list[_Plain], msgspec.Meta(min_length=2, max_length=2)]


class _OutputDifference(_Strict):
    """The difference of one output."""

    name: str
    kind: str
    elements: Count
    differing: Count
    largest: _Plain
    mean: _Plain
    ulps: _Plain
    worst: list[_WorstElement]
    steps: float = 0.0


class _DifferenceStep(_Strict):
    """The step `difference`."""

    differs: bool
    failures: Annotated[list[str], msgspec.Meta(min_length=2, max_length=2)]
    messages: Annotated[list[str], msgspec.Meta(min_length=2, max_length=2)]
    outputs: list[_OutputDifference]


class _PassesStep(_Strict):
    """The step `passes`."""

    names: list[str] | None
    reason: str
    tested: Count
    subject: str | None


class _Node(_Strict):
    """A node of the reduced model."""

    operator: str
    domain: str
    name: str


class _ReductionStep(_Strict):
    """The step `reduction`, with the reduced model and its inputs in base64."""

    is_complete: bool
    nodes_before: Count
    nodes: list[_Node]
    tested: Count
    ended_early: bool
    model: str
    inputs: list[str]


class _ChangedReleases(_Strict):
    """Two neighbouring releases that are worth comparing."""

    subject: str
    older: str
    newer: str
    changed: Count


class _Unoptimized(_Strict):
    """The differences of the outputs of both ways from those of a subject without optimizations."""

    subject: str
    ways: Annotated[list[list[_OutputDifference]], msgspec.Meta(min_length=2, max_length=2)]


class _VerdictStep(_Strict):
    """The step `verdict`."""

    outcome: BlameOutcome
    reason: str
    hazard: str | None
    shares: list[_Plain]
    should_shares: list[_Plain] = []
    differing: Count = 0
    undetermined: Count = 0
    loose: Count = 0
    unspecified: Count = 0
    releases: list[_ChangedReleases] = []
    unoptimized: _Unoptimized | msgspec.UnsetType = msgspec.UNSET


class _Steps(_Strict):
    """The steps that ended."""

    controls: _Controls | msgspec.UnsetType = msgspec.UNSET
    difference: _DifferenceStep | msgspec.UnsetType = msgspec.UNSET
    passes: _PassesStep | msgspec.UnsetType = msgspec.UNSET
    reduction: _ReductionStep | msgspec.UnsetType = msgspec.UNSET
    verdict: _VerdictStep | msgspec.UnsetType = msgspec.UNSET


class _Model(_Strict):
    """The model of the request."""

    file: str
    sha256: str
    nodes: Count


class _Document(_Strict):
    """The file of `--json`, from which `--resume` continues."""

    format: Literal[1]
    model: _Model
    inputs: Annotated[list[str], msgspec.Meta(min_length=1)]
    inputs_sha256: str
    seed: int | None
    subjects: Annotated[list[str], msgspec.Meta(min_length=2, max_length=2)]
    optimizer: str | None
    versions: list[str]
    steps: _Steps
    tried: dict[str, bool] = {}
    reduced_difference: _DifferenceStep | msgspec.UnsetType = msgspec.UNSET


_decode_document = JsonReader(_Document)


def decode_document(content: bytes) -> dict[str, Any]:
    """Return the document of an earlier session.

    Raises:
        MalformedError: the content is not a document that a session wrote.
    """
    found = _decode_document(content)
    document: dict[str, Any] = msgspec.to_builtins(found)
    names = [name for name in STEPS[:-1] if name in document["steps"]]
    if names != list(STEPS[: len(names)]):
        raise MalformedError("a step is missing")
    if document["steps"].get("controls", {}).get("data_set", 0) >= len(found.inputs):
        raise MalformedError("it names a data set that it does not have")
    return document
