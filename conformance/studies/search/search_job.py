"""The search as a job of numbered chunks, which worker processes or Dask workers execute.

Each chunk generates `EXAMPLES_PER_CHUNK` examples from the seed and its number, runs them on the subjects, and shrinks
the first failing example of each signature.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.base.errors import SubjectError
from conformance.base.serialization.decoding import Count, MalformedError, Seconds, StoredRecord
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.exact.declarations.declaration_tables import declarations
from conformance.studies.search.distributions import Combination  # noqa: TC001 - msgspec reads the annotations
from conformance.studies.search.drawn_example import AnyExample, DrawnExample, draw_example
from conformance.studies.search.evaluation import (
    EvaluatedExample,
    FailureSignature,
    confirming_case,
    evaluate,
    failure_signature,
)
from conformance.studies.search.example import ARGMAX, Example, ExampleDocument
from conformance.studies.search.named_mutants import NamedMutant, name_mutants
from conformance.studies.search.program_example import ProgramDocument, ProgramExample
from conformance.studies.search.search_cases import NoExpectedOutputsError
from conformance.studies.search.search_conditions import find_conditions, restore
from conformance.studies.search.search_sampling import mix_examples, sample_examples
from conformance.studies.search.shrinking import shrink
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.base.jobs.job import ChunkResult
    from conformance.subjects.calling.subject_names import Subject


OPERATORS = ("Adam", "Momentum", "Adagrad", "ArgMax")
"""The op_types that examples can test."""

MAX_FAULTS_OF_SIGNATURE = 4
"""The most failing examples of one failure signature in a chunk."""

SAMPLED = (*OPERATORS, PASS_NAME)
"""The tested operators, and the pass, whose examples come from the dimensions of the corpus."""

EXAMPLES_PER_CHUNK = 40
"""The number of examples in a chunk."""

MAX_REASON_LENGTH = 200
"""Characters kept of a reason why an example has no expected outputs."""


class FailingExample(StoredRecord):
    """A failing example after shrinking.

    The failure signature is in `subject`, `about`, `verdict`, `phase` and `violation`. `message` is the complete
    message, `conditions` the names of the features without which the failure disappears, `tries` the number of simpler
    examples that were tried, `seconds` the processor time of shrinking, and `mutants` the mutants that the subject
    behaves like.
    """

    subject: str
    about: str
    verdict: Verdict
    phase: str
    violation: str
    message: str
    example: ExampleDocument | None
    drawn: DrawnExample | None
    conditions: list[str]
    tries: Count
    seconds: Seconds
    mutants: list[NamedMutant]
    program: ProgramDocument | None = None

    def read(self) -> AnyExample:
        """Return the example.

        Raises:
            MalformedError: no model can be built from the record.
        """
        match [each for each in (self.example, self.drawn, self.program) if each is not None]:
            case [ExampleDocument() as document]:
                return Example.from_document(document)
            case [ProgramDocument() as document]:
                return ProgramExample.from_document(document)
            case [DrawnExample() as drawn]:
                drawn.check()
                return drawn
        raise MalformedError("a failing example needs one example")


class SearchChunkResult(StoredRecord):
    """The result of a chunk.

    Attributes:
        versions: the versions of the subjects, by id.
        examples: the number of examples generated.
        without_outputs: by reason, the number of examples without determinate expected outputs.
        verdicts: by subject, the number of examples with each verdict.
        decided_natively: by subject, the number of these examples for which the oracle was not needed: the backend was
            bit-identical to the reference backend or did not support the example.
        scopes: the number of examples by the enclosing scope of the tested node.
        combinations: the combinations of classes that the examples have.
        failures: the shrunk failing examples.
        is_partial: whether the time of the search ended before the chunk was complete.
    """

    versions: dict[str, str]
    examples: Count
    without_outputs: dict[str, Count]
    verdicts: dict[str, dict[str, Count]]
    decided_natively: dict[str, Count]
    scopes: dict[str, Count]
    combinations: list[Combination]
    failures: list[FailingExample]
    is_partial: bool = False


@dataclass(frozen=True)
class SearchJob:
    """The configuration of a search.

    Attributes:
        subjects: the names of the subjects on the command line, each with its kind.
        operators: the op_types to test.
        seed: the random seed.
        examples: the minimum number of examples; 0 for no limit.
        timeout: seconds that a subject may take for an example.
        isolated: whether each subject runs in a process of its own.
        claims: the passes of `--implements`, for graph optimizers that do not declare their passes.
        level: the level at which subjects are judged.
        until: the time, in seconds since the epoch, after which no more examples are generated or shrunk; a chunk then
            ends early, and is not saved to a state file.
        versions: the versions of the subjects in the chunks of a state file; the subjects must have these versions.
    """

    result_type: ClassVar[Any] = SearchChunkResult

    subjects: tuple[tuple[str, SubjectKind], ...]
    operators: tuple[str, ...]
    seed: int
    examples: int = 0
    timeout: float = 10.0
    isolated: bool = True
    claims: tuple[str, ...] = ()
    level: Level = Level.MUST
    until: float = float("inf")
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether the time of the search has ended."""
        return time.time() >= self.until

    @property
    def identity(self) -> Mapping[str, Any]:
        """The properties that two searches must share for their chunks to be interchangeable."""
        return {
            "search": [[text, str(kind)] for text, kind in self.subjects],
            "operators": list(self.operators),
            "seed": self.seed,
            "level": str(self.level),
            "timeout": self.timeout,
            "isolated": self.isolated,
            "implements": list(self.claims),
        }

    def chunk_numbers(self) -> Iterable[int]:
        """Return the numbers of the chunks."""
        return range(-(-self.examples // EXAMPLES_PER_CHUNK)) if self.examples else count()

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.base.jobs.job.Job`. A state file of a longer search has more chunks, which count too."""
        subjects = {text for text, _ in self.subjects}
        result = chunk.result
        named = {*result.verdicts, *result.decided_natively, *(one.subject for one in result.failures)}
        if not named <= subjects or result.examples > EXAMPLES_PER_CHUNK:
            raise MalformedError("it has examples of another search")
        for failure in result.failures:
            failure.read()

    @contextmanager
    def open(self) -> Iterator[Callable[[int], SearchChunkResult]]:
        """Start the subjects and yield a function that runs one chunk."""
        named = [SubjectName.parse(text, kind) for text, kind in self.subjects]
        with started_subjects(
            named, Limits(self.timeout), no_isolation=not self.isolated, implements=self.claims
        ) as subjects:
            self._check_versions(subjects)
            yield lambda number: _search_chunk(self, subjects, number)

    def _check_versions(self, subjects: Iterable[Subject]) -> None:
        for subject in subjects:
            expected = self.versions.get(subject.id, subject.version)
            if subject.version != expected:
                raise SubjectError("other-version", subject=subject.id, version=subject.version, expected=expected)


SUPPORT_EXAMPLES = 16
"""Largest number of examples that are run on a subject to find out whether it supports an operator."""


def operators_with_examples() -> tuple[str, ...]:
    """Return all operators that examples can test."""
    return tuple(dict.fromkeys((*OPERATORS, *declarations())))


def supported_operators(named: Sequence[SubjectName], limits: Limits, *, isolated: bool) -> tuple[str, ...]:
    """Return the operators of which a subject returns outputs for an example, right or wrong.

    A subject that raises another error than one for an unsupported model, or dies, does not support the operator.

    Args:
        named: the backends.
        limits: the limits of each subject.
        isolated: whether each subject runs in a process of its own.

    Raises:
        ConformanceError: a subject cannot be started.
    """
    names = operators_with_examples()
    with started_subjects(named, limits, no_isolation=not isolated) as subjects:
        return tuple(name for name in names if any(_supports(subject, name) for subject in subjects))


def _supports(subject: Subject, operator: str) -> bool:
    if operator in SAMPLED:
        examples: Iterable[AnyExample] = sample_examples((operator,), 0, 0, SUPPORT_EXAMPLES)
    else:
        examples = (draw_example(operator, f"support/{number}") for number in range(SUPPORT_EXAMPLES))
    for example in examples:
        try:
            if EvaluatedExample(example).result(subject).verdict in {Verdict.PASS, Verdict.FAIL}:
                return True
        except NoExpectedOutputsError:
            continue
    return False


def _search_chunk(job: SearchJob, subjects: Sequence[Subject], number: int) -> SearchChunkResult:
    """Generate the examples of a chunk, run them on the subjects and shrink the failing ones."""
    found: dict[FailureSignature, list[FailingExample]] = {}
    combinations: set[Combination] = set()
    versions = {subject.id: subject.version for subject in subjects}
    result = SearchChunkResult(versions, 0, Counter(), {}, Counter(), Counter(), [], [])
    for example in _chunk_examples(job, number):
        if job.is_over:
            break
        result.examples += 1
        result.scopes[example.context.scope] += 1
        combinations.add(example.combination)
        evaluated = EvaluatedExample(example, job.level)
        try:
            for subject in subjects:
                if subject.kind is SubjectKind.OPTIMIZER and example.operator != ARGMAX:
                    continue
                judged = evaluated.result(subject)
                result.verdicts.setdefault(subject.id, Counter())[str(judged.verdict)] += 1
                if not evaluated.used_oracle:
                    result.decided_natively[subject.id] += 1
                signature = failure_signature(subject, example, judged)
                if signature is None:
                    continue
                known = found.setdefault(signature, [])
                failure = _Failure(job, subject, signature)
                if failure.is_new(example, known):
                    known.append(failure.shrink(example, judged.message, number))
        except NoExpectedOutputsError as reason:
            result.without_outputs[str(reason)[:MAX_REASON_LENGTH]] += 1
    result.combinations = sorted(combinations)
    result.failures = [failure for group in found.values() for failure in group]
    result.is_partial = job.is_over
    return result


def _chunk_examples(job: SearchJob, number: int) -> Iterator[AnyExample]:
    """Yield the examples of a chunk, which test the operators in turn; those of the corpus's operators come first."""
    places = range(number * EXAMPLES_PER_CHUNK, (number + 1) * EXAMPLES_PER_CHUNK)
    tested = {place: job.operators[place % len(job.operators)] for place in places}
    sampled = [operator for operator in job.operators if operator in SAMPLED]
    if sampled:
        count = sum(operator in SAMPLED for operator in tested.values())
        yield from mix_examples(sampled, job.seed, number, count)
    for place, operator in tested.items():
        if operator not in SAMPLED:
            yield draw_example(operator, f"{job.seed}/{place}")


@dataclass(frozen=True)
class _Failure:
    """A failure of a subject, which several examples can have."""

    job: SearchJob
    subject: Subject
    signature: FailureSignature

    def is_new(self, example: AnyExample, known: Sequence[FailingExample]) -> bool:
        """Return whether an example with this failure has another fault than the known examples with it.

        It has if it fails in the same way without the conditions of each of them.
        """
        return len(known) < MAX_FAULTS_OF_SIGNATURE and all(
            each.conditions and self.is_of(restore(example, each.conditions)) for each in known
        )

    def is_of(self, example: AnyExample) -> bool | None:
        """Return whether an example fails in this way; None if it has an element that is not determinate."""
        try:
            judged = evaluate(self.subject, confirming_case(self.subject.kind, example, self.job.level))
            return failure_signature(self.subject, example, judged) == self.signature
        except (NoExpectedOutputsError, ValueError, IndexError, KeyError):
            return None

    def shrink(self, example: AnyExample, message: str, number: int) -> FailingExample:
        """Shrink an example and describe its failure, as long as the time of the search has not ended.

        Args:
            example: the example.
            message: the message of the failure.
            number: the number of the chunk.
        """
        started = time.process_time()
        job = self.job
        subject = self.subject
        small, tries = shrink(example, lambda smaller: not job.is_over and self.is_of(smaller) is True)
        if small is not example:
            message = evaluate(subject, confirming_case(subject.kind, small, job.level)).message
        is_of_numbers = subject.kind is SubjectKind.BACKEND and self.signature.verdict is Verdict.FAIL
        mutants = []
        if job.is_over:
            is_of_numbers = False  # mutants are named by further runs
        if is_of_numbers and not isinstance(example, DrawnExample) and not isinstance(small, DrawnExample):
            mutants = name_mutants(subject, example, small, job.level, job.seed, number)
        return FailingExample(
            **asdict(self.signature),
            message=message,
            example=small.to_document() if isinstance(small, Example) else None,
            drawn=small if isinstance(small, DrawnExample) else None,
            conditions=find_conditions(small, lambda plainer: None if job.is_over else self.is_of(plainer)),
            tries=tries,
            seconds=round(time.process_time() - started, 3),
            mutants=mutants,
            program=small.to_document() if isinstance(small, ProgramExample) else None,
        )
