"""The search as a job of numbered chunks, which worker processes or Dask workers execute.

Each chunk generates `EXAMPLES_PER_CHUNK` examples from the seed and its number, runs them on the subjects, and shrinks
the first failing example of each signature.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.errors import SubjectError
from conformance.isolation.limits import Limits
from conformance.isolation.start_subjects import started_subjects
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.search.cases import NoExpectedOutputsError, build_oracle_case
from conformance.search.conditions import find_conditions, restore
from conformance.search.distributions import Combination  # noqa: TC001 - msgspec reads the annotations
from conformance.search.drawn_example import DrawnDocument, DrawnExample, draw_example, read_any_example
from conformance.search.evaluation import EvaluatedExample, evaluate, failure_signature
from conformance.search.example import ARGMAX, Example, ExampleDocument
from conformance.search.named_mutants import NamedMutant, name_mutants
from conformance.search.program_example import ProgramDocument, ProgramExample
from conformance.search.sampling import mix_examples
from conformance.search.shrinking import shrink
from conformance.serialization.decoding import Count, MalformedError, Seconds, StoredRecord
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.jobs.job import ChunkResult
    from conformance.search.drawn_example import AnyExample
    from conformance.search.evaluation import FailureSignature
    from conformance.subjects.loading import Subject


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
    drawn: DrawnDocument | None
    conditions: list[str]
    tries: Count
    seconds: Seconds
    mutants: list[NamedMutant]
    program: ProgramDocument | None = None


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
    """

    versions: dict[str, str]
    examples: Count
    without_outputs: dict[str, Count]
    verdicts: dict[str, dict[str, Count]]
    decided_natively: dict[str, Count]
    scopes: dict[str, Count]
    combinations: list[Combination]
    failures: list[FailingExample]


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
        until: the time, in seconds since the epoch, after which no more examples are generated; a chunk then ends
            early. It must be infinite if chunks are saved to a state file.
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
        """See `conformance.jobs.job.Job`. A state file of a longer search has more chunks, which count too."""
        subjects = {text for text, _ in self.subjects}
        result = chunk.result
        named = {*result.verdicts, *result.decided_natively, *(one.subject for one in result.failures)}
        if not named <= subjects or result.examples > EXAMPLES_PER_CHUNK:
            raise MalformedError("it has examples of another search")
        for failure in result.failures:
            read_any_example(failure.example, failure.drawn, failure.program)

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


def _search_chunk(job: SearchJob, subjects: Sequence[Subject], number: int) -> SearchChunkResult:
    """Generate the examples of a chunk, run them on the subjects and shrink the failing ones."""
    found: dict[FailureSignature, list[FailingExample]] = {}
    combinations: set[Combination] = set()
    versions = {subject.id: subject.version for subject in subjects}
    result = SearchChunkResult(versions, 0, {}, {}, {}, {}, [], [])
    for example in _chunk_examples(job, number):
        if time.time() >= job.until:
            break
        result.examples += 1
        _increment(result.scopes, example.context.scope)
        combinations.add(example.combination)
        evaluated = EvaluatedExample(example, job.level)
        try:
            for subject in subjects:
                if subject.kind is SubjectKind.OPTIMIZER and example.operator != ARGMAX:
                    continue
                judged = evaluated.result(subject)
                _increment(result.verdicts.setdefault(subject.id, {}), str(judged.verdict))
                if not evaluated.used_oracle:
                    _increment(result.decided_natively, subject.id)
                signature = failure_signature(subject, example, judged)
                if signature is not None and _is_new_fault(job, subject, example, signature, found):
                    found[signature].append(_shrink_failure(job, subject, example, signature, judged.message, number))
        except NoExpectedOutputsError as reason:
            _increment(result.without_outputs, str(reason)[:MAX_REASON_LENGTH])
    result.combinations = sorted(combinations)
    result.failures = [failure for group in found.values() for failure in group]
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


def _increment(counts: dict[str, int], word: str) -> None:
    counts[word] = counts.get(word, 0) + 1


def _is_new_fault(
    job: SearchJob,
    subject: Subject,
    example: AnyExample,
    signature: FailureSignature,
    found: dict[FailureSignature, list[FailingExample]],
) -> bool:
    """Return whether a failing example has another fault than the failing examples with its signature.

    It has if it fails in the same way without the conditions of each of them.
    """
    known = found.setdefault(signature, [])
    return len(known) < MAX_FAULTS_OF_SIGNATURE and all(
        failure.conditions and _has_signature(job, subject, restore(example, failure.conditions), signature)
        for failure in known
    )


def _shrink_failure(
    job: SearchJob, subject: Subject, example: AnyExample, signature: FailureSignature, message: str, number: int
) -> FailingExample:
    """Shrink a failing example and describe its failure.

    Args:
        message: the message of the failure.
        number: the number of the chunk.
    """
    started = time.process_time()
    small, tries = shrink(example, lambda smaller: _has_signature(job, subject, smaller, signature) is True)
    if small is not example:
        message = evaluate(subject, build_oracle_case(small, job.level)).message
    is_of_numbers = subject.kind is SubjectKind.BACKEND and signature.verdict == Verdict.FAIL
    mutants = []
    if is_of_numbers and not isinstance(example, DrawnExample) and not isinstance(small, DrawnExample):
        mutants = name_mutants(subject, example, small, job.level, job.seed, number)
    return FailingExample(
        subject=subject.id,
        about=signature.about,
        verdict=Verdict(signature.verdict),
        phase=signature.phase,
        violation=signature.violation,
        message=message,
        example=small.to_document() if isinstance(small, Example) else None,
        drawn=small.to_document() if isinstance(small, DrawnExample) else None,
        conditions=find_conditions(small, lambda other: _has_signature(job, subject, other, signature)),
        tries=tries,
        seconds=round(time.process_time() - started, 3),
        mutants=mutants,
        program=small.to_document() if isinstance(small, ProgramExample) else None,
    )


def _has_signature(job: SearchJob, subject: Subject, example: AnyExample, signature: FailureSignature) -> bool | None:
    """Return whether an example fails with this signature; None if it has an element that is not determinate."""
    try:
        judged = evaluate(subject, build_oracle_case(example, job.level, whole=True))
        return failure_signature(subject, example, judged) == signature
    except (NoExpectedOutputsError, ValueError, IndexError, KeyError):
        return None
