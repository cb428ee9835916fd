"""Collect the failing examples of a search: the simplest example of each failure signature, and counters.

Failing examples can be written as a corpus, which every other verb accepts with `--data`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx

from conformance.base.errors import CorpusError
from conformance.base.serialization.decoding import Count, MalformedError, StoredRecord
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import Case, CaseKind
from conformance.corpus.cases.corpus import missing_and_unexpected_files, read_manifest
from conformance.corpus.generation.expected_outputs import with_answers
from conformance.corpus.generation.write_corpus import generate
from conformance.exact.clauses import clauses
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.diagnosis.diagnosis_run import SEARCH_TAG
from conformance.studies.search.drawn_example import AnyExample, DrawnExample
from conformance.studies.search.evaluation import confirming_case, expected_rewrite, is_of_pass
from conformance.studies.search.example import ARGMAX
from conformance.studies.search.program_example import ProgramExample
from conformance.studies.search.search_cases import (
    CASE_PREFIX,
    NoExpectedOutputsError,
    case_id,
    drawn_answers,
)
from conformance.studies.search.search_conditions import describe_conditions
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from conformance.base.jobs.job import ChunkResult
    from conformance.studies.search.distributions import Combination
    from conformance.studies.search.named_mutants import NamedMutant
    from conformance.studies.search.program_example import SampledExample
    from conformance.studies.search.search_job import FailingExample, SearchJob


def to_case(
    example: AnyExample,
    kind: str,
    level: Level = Level.MUST,
    conditions: Iterable[str] = (),
    mutants: Iterable[NamedMutant] = (),
) -> Case:
    """Convert an example to a corpus case, data included.

    Args:
        kind: a `CaseKind`: for backends (`node`) or for graph optimizers (`pass`).
        conditions: the names of the conditions of the failure, for the title.
        mutants: the mutants that the search named. Their ids become tags: diagnosis of a run names no other mutant for
            a case of a search.
    """
    built = example.built
    return Case(
        id=case_id(example),
        title=describe(example, conditions),
        level=level,
        clauses=() if isinstance(example, DrawnExample) else relevant_clauses(example, kind),
        tags=(SEARCH_TAG, example.operator.lower(), *(mutant.id for mutant in mutants)),
        model=built.model,
        data_sets=built.data_sets,
        kind=kind,
        rewrite=expected_rewrite(onnx.load_model_from_string(built.model)) if kind == CaseKind.PASS else None,
        answers=(tuple(drawn_answers(example, level)),) if isinstance(example, DrawnExample) else (),
        full_check_exception="the example is drawn at random",
    )


def relevant_clauses(example: SampledExample, kind: str) -> tuple[str, ...]:
    """Return the ids of the clauses that an example tests as a case.

    Args:
        kind: a `CaseKind`, as for `to_case`.
    """
    if kind == CaseKind.PASS and not is_of_pass(example):
        return ("monotone.valid", "monotone.interface")
    if kind == CaseKind.PASS:
        return ("monotone.fires",) if example.chain else ("monotone.adjacent",)
    if example.operator == ARGMAX:
        return ("argmax.index",)
    prefix = example.operator.lower()
    mode = f"_{example.attributes.get('mode', 'standard')}" if example.operator == "Momentum" else ""
    names = (f"{prefix}.{name.lower()}" for name in TRAINING_OPTIMIZERS[example.operator].results)
    return tuple(name if name in clauses() else f"{name}{mode}" for name in names)


def describe(example: AnyExample, conditions: Iterable[str]) -> str:
    """Describe an example in words, for titles: the operator, and the conditions of the failure.

    Args:
        conditions: the names of the features without which the failure disappears; see `find_conditions`.
    """
    texts = describe_conditions(example, conditions)
    if isinstance(example, ProgramExample) and example.rewritten:
        return f"A pattern of {' and '.join(example.rewritten)} with {', '.join(texts) or 'plain surroundings'}"
    return f"{example.operator} computes with {', '.join(texts) or 'plain operands, attributes and surroundings'}"


CORPUS_VERSION = "1.0.0"
"""The version of the corpora that a search writes."""


class CoverageDocument(StoredRecord):
    """The file of `--coverage`: the numbers of examples, and the parts of each combination by name."""

    seed: int
    examples: Count
    without_outputs: dict[str, Count]
    combinations: list[dict[str, str]]


@dataclass
class FailingExamples:
    """The results of a search so far.

    Attributes:
        examples: the number of examples generated.
        without_outputs: by reason, the number of examples without determinate expected outputs.
        verdicts: by subject, the number of examples with each verdict.
        decided_natively: by subject, the number of examples judged without the oracle, by the reference backend alone.
        scopes: the number of examples by the enclosing scope of the tested node.
        combinations: the combinations of classes that the examples have.
    """

    job: SearchJob
    examples: int = 0
    without_outputs: Counter[str] = field(default_factory=Counter)
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    decided_natively: Counter[str] = field(default_factory=Counter)
    scopes: Counter[str] = field(default_factory=Counter)
    combinations: set[Combination] = field(default_factory=set)
    _smallest: dict[tuple[object, ...], tuple[tuple[int, ...], int, FailingExample]] = field(default_factory=dict)

    def add(self, chunk: ChunkResult) -> None:
        """Add the result of a chunk.

        Of two failing examples with the same signature and conditions, the simpler one is kept; of equally simple ones,
        the earlier.
        """
        result = chunk.result
        self.examples += result.examples
        self.without_outputs.update(result.without_outputs)
        self.decided_natively.update(result.decided_natively)
        self.scopes.update(result.scopes)
        self.combinations.update(result.combinations)
        for subject, counts in result.verdicts.items():
            self.verdicts.setdefault(subject, Counter()).update(counts)
        for failure in result.failures:
            key = *_signature(failure), frozenset(failure.conditions)
            entry = failure.read().complexity, chunk.number, failure
            if key not in self._smallest or entry[:2] < self._smallest[key][:2]:
                self._smallest[key] = entry

    def __len__(self) -> int:
        return len(self._faults())

    def __iter__(self) -> Iterator[FailingExample]:
        """Iterate over the failing examples by subject, the simplest first: one for each fault."""
        return iter(self._faults())

    def _faults(self) -> list[FailingExample]:
        """Return the simplest failing example of each fault.

        An example has the fault of a simpler one with the same signature if it fails only under all conditions of the
        simpler one, or if the subject behaves like the same mutants on both.
        """
        kept: list[FailingExample] = []
        for _, _, failure in sorted(self._smallest.values(), key=lambda entry: (entry[2].subject, *entry[:2])):
            if not any(_has_same_fault(simpler, failure) for simpler in kept):
                kept.append(failure)
        return kept

    def unsupporting_subjects(self) -> list[str]:
        """Return the subjects that supported none of the examples."""
        return [text for text, _ in self.job.subjects if not set(self.verdicts.get(text, {})) - {Verdict.UNSUPPORTED}]

    @property
    def coverage(self) -> CoverageDocument:
        """The numbers of examples, and the combinations that they have."""
        combinations = [combination._asdict() for combination in sorted(self.combinations)]
        return CoverageDocument(self.job.seed, self.examples, dict(sorted(self.without_outputs.items())), combinations)

    def write_corpus(self, directory: Path) -> None:
        """Write the failing examples as a corpus for `run --data`; the corpus of an earlier search is replaced.

        Examples with an element that is not determinate are omitted; they are only listed on the terminal.

        Raises:
            CorpusError: the directory is not empty or cannot be written.
        """
        kinds = dict(self.job.subjects)
        cases: dict[str, tuple[str, Case]] = {}
        for failure in self:
            kind = CaseKind.PASS if kinds[failure.subject] is SubjectKind.OPTIMIZER else CaseKind.NODE
            example = failure.read()
            if _is_fully_determinate(example, kinds[failure.subject], self.job.level):
                case = to_case(example, kind, self.job.level, failure.conditions, failure.mutants)
                case = case if kind == CaseKind.NODE or is_of_pass(example) else with_answers(case)
                cases.setdefault(case.id, ("search", case))
        generate(directory, list(cases.values()), CORPUS_VERSION, lambda _: None, is_versioned=False)


def is_corpus_of_search(directory: Path) -> bool:
    """Return whether a folder has a corpus that a search wrote, and no other file."""
    try:
        corpus = read_manifest(directory)
        _, unexpected = missing_and_unexpected_files(corpus)
    except CorpusError:
        return False
    return not unexpected and all(id.startswith(CASE_PREFIX) for id in corpus.cases)


def _has_same_fault(simpler: FailingExample, failure: FailingExample) -> bool:
    mutants = {one.id for one in failure.mutants}
    if mutants and failure.subject == simpler.subject:
        return mutants == {one.id for one in simpler.mutants}
    return _signature(simpler) == _signature(failure) and {*simpler.conditions} <= {*failure.conditions}


def _signature(failure: FailingExample) -> tuple[str, ...]:
    return failure.subject, failure.about, failure.verdict, failure.phase, failure.violation


def saved_versions(chunks: Iterable[ChunkResult]) -> dict[str, str]:
    """Return the versions of the subjects in the chunks of a state file, by id.

    Raises:
        MalformedError: the chunks have two versions of a subject.
    """
    versions: dict[str, str] = {}
    for chunk in chunks:
        for subject, version in chunk.result.versions.items():
            if versions.setdefault(subject, version) != version:
                raise MalformedError("the chunks have results of two versions of a subject")
    return versions


def _is_fully_determinate(example: AnyExample, kind: str, level: Level) -> bool:
    try:
        confirming_case(kind, example, level)
    except NoExpectedOutputsError:
        return False
    return True
