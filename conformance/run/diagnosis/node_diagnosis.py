"""Name the mistakes of an operator: mutants of its nodes that explain wrong outputs and no right ones.

The mutants are those of `conformance.run.mutants.node_mutants`, so every operator with a schema has them. A mutant
explains a result if its outputs are those of the subject. It is refuted by a right result if its own outputs are wrong
there, whatever their rounding is. `run` names the mistakes of cases of one node, and `audit` those of a model's nodes.

One mutant that explains all wrong outputs is preferred. Else `run` names mutants that each explain several cases, of
one version of the operator if right results of another version refute the mutant.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING

import onnx
from onnx.defs import SchemaError

from conformance.base.verdicts import Level
from conformance.exact.models.graphs import normal_domain
from conformance.exact.models.input_files import initializer_arrays
from conformance.exact.reference.oracle import Answer
from conformance.run.diagnosis.failure_evidence import single_node
from conformance.run.judging.compare import is_acceptable
from conformance.run.mutants import mutants_by_id
from conformance.run.mutants.node_mutants import (
    COMPUTES_NEWEST,
    COMPUTES_OLDER,
    NodeRun,
    explaining_mistakes,
    failing_mistakes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory, DataSet, LoadedCase
    from conformance.exact.models.arrays import Array
    from conformance.run.diagnosis.failure_evidence import Observation

MAX_ELEMENTS = 20_000
"""Largest number of elements of the operands of a node that is run with mutants."""

MAX_RIGHT_RESULTS = 60
"""Number of nodes with right outputs on which the mutants are run that explain the wrong outputs."""


@dataclass(frozen=True)
class NodeResult:
    """The outputs of a subject for a node.

    Attributes:
        run: the node with its operands.
        answers: its right outputs; None to compute them.
        outputs: the outputs of the subject; None if they are not recorded, because all are right.
        is_wrong: whether an output of the subject is wrong.
    """

    run: NodeRun
    answers: Sequence[Answer] | None
    outputs: Sequence[Array] | None
    is_wrong: bool

    @property
    def version(self) -> int:
        """The version of the node's operator."""
        return self.run.schema.since_version

    @property
    def size(self) -> int:
        """The number of elements of the operands."""
        return sum(each.size for each in self.run.inputs if each is not None)


def node_runs(case: LoadedCase) -> Iterator[tuple[NodeRun, DataSet]]:
    """Yield the node of a case whose model is one node, with the operands of each data set; nothing for other cases."""
    node = single_node(case.model)
    if node is None or case.is_invalid or case.is_structural:
        return
    opsets = {normal_domain(each.domain): each.version for each in case.model.opset_import}
    constants = initializer_arrays(case.model.graph)
    for data_set in case.data_sets():
        names = (value.name for value in case.model.graph.input)
        values = {**constants, **dict(zip(names, data_set.inputs, strict=False))}
        operands = tuple(values.get(name) if name else None for name in node.input)
        if all(operand is not None for operand, name in zip(operands, node.input, strict=True) if name):
            yield NodeRun(node, opsets[normal_domain(node.domain)], operands), data_set


MIN_CASES_OF_PART = 2
"""Number of cases that a mistake must explain if it does not explain all wrong outputs."""

MAX_ALTERNATIVES = 3
"""Number of mistakes that no case distinguishes, up to which one of them is named."""


SCHEMA_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training")
"""Domains of operators that have a schema in onnx."""


def mistake_text(operator: str, mistake: str) -> str:
    """Return a mistake of a node as a report names it; of a wrong version, what the version computes differently.

    A mutant of the catalogue gives the text if it is about the same mistake.
    """
    known = (one for one in mutants_by_id().values() if (one.operator, one.mistake) == (operator, mistake))
    if (mutant := next(known, None)) is not None:
        return mutant.description
    if mistake == COMPUTES_NEWEST:
        domain = next((each for each in SCHEMA_DOMAINS if onnx.defs.has(operator, each)), None)
        if domain is not None:
            newest = onnx.defs.get_schema(operator, domain).since_version
            return f"computes {operator}-{newest} also in models whose opset has an older version, with another meaning"
    if mistake == COMPUTES_OLDER:
        return f"computes an older version of {operator} than the opset of the model has"
    return mistake


@dataclass(frozen=True)
class NamedMistake:
    """A mistake that explains failing cases.

    Attributes:
        mistakes: the mistake, and those that no case distinguishes from it.
        cases: the ids of the cases that the mistake explains.
        condition: the models in which the subject has the mistake, as a verb phrase in the plural; empty for all.
        is_of_all: whether the mistake explains all wrong results on which it was tried.
    """

    mistakes: tuple[str, ...]
    cases: frozenset[str]
    condition: str = ""
    is_of_all: bool = False


def named_mistakes(
    cases: Mapping[str, CaseInMemory], observations: Mapping[str, Observation], passed: Iterable[str]
) -> list[NamedMistake]:
    """Return the mistakes of `mistakes_of_results` for the cases of a run. No mistake explains a failure by an error.

    Args:
        cases: the cases of one operator by id.
        observations: the outputs of the subject on failing cases.
        passed: the ids of the cases that the subject passes.
    """
    by_case = {id: list(_data_sets(cases[id], observed)) for id, observed in observations.items() if not observed.error}
    right = (each for id in passed if cases[id].level is not Level.SILENT for each in _data_sets(cases[id]))
    return mistakes_of_results(by_case, right)


def mistakes_of_results(by_case: Mapping[str, Sequence[NodeResult]], right: Iterable[NodeResult]) -> list[NamedMistake]:
    """Return the mistake that explains all wrong results of nodes of one operator, and no right ones.

    Without such a mistake, the result is those that explain the wrong results of some cases. Results with too many
    elements neither explain nor contradict a mistake.

    Args:
        by_case: the results of each failing case.
        right: the results of cases without a wrong result.
    """
    results = [*(each for found in by_case.values() for each in found), *right]
    wrong = {
        id: sorted((each for each in found if each.is_wrong), key=attrgetter("size")) for id, found in by_case.items()
    }
    small = {id: found for id, found in wrong.items() if found and found[-1].size <= MAX_ELEMENTS}
    try:
        left = _explaining_all_results(results)
        if small and 0 < len(left) <= MAX_ALTERNATIVES:
            return [NamedMistake(tuple(left), frozenset(small), is_of_all=True)]
        return list(mistakes_of_parts(small, [each for each in results if not each.is_wrong]))
    except SchemaError:
        return []


def mistakes_of_parts(wrong: Mapping[str, Sequence[NodeResult]], right: Sequence[NodeResult]) -> Iterator[NamedMistake]:
    """Yield mistakes that each explain all wrong outputs of several cases, the one that explains most cases first.

    Args:
        wrong: the wrong results of each failing case, the smallest first.
        right: the right results.
    """
    explaining = {id: found for id, results in wrong.items() if (found := _explaining_all(results))}
    versions = {id: results[0].version for id, results in wrong.items()}
    every = list(dict.fromkeys(mistake for found in explaining.values() for mistake in found))
    refuted: dict[int, set[str]] = defaultdict(set)
    for version, own in groupby(sorted(right, key=attrgetter("version", "size")), key=attrgetter("version")):
        refuted[version] = _refuted_by(own, every)
    while True:
        gains = {
            mistake: frozenset(
                id for id, found in explaining.items() if mistake in found and mistake not in refuted[versions[id]]
            )
            for mistake in every
        }
        cases = max(gains.values(), key=len, default=frozenset())
        equal = tuple(mistake for mistake in gains if gains[mistake] == cases)
        if len(cases) < MIN_CASES_OF_PART or len(equal) > MAX_ALTERNATIVES:
            return
        is_limited = any(equal[0] in found for found in refuted.values())
        operator = wrong[min(cases)][0].run.node.op_type
        numbers = " or ".join(map(str, sorted({versions[id] for id in cases})))
        yield NamedMistake(equal, cases, f"have version {numbers} of {operator}" if is_limited else "")
        explaining = {id: found for id, found in explaining.items() if id not in cases}


def _explaining_all(results: Sequence[NodeResult]) -> list[str]:
    """Return the mistakes that explain all of some wrong results, in the order of the rules of `node_mutants`."""
    found: list[str] | None = None
    for each in results:
        assert each.outputs is not None
        found = explaining_mistakes(each.run, each.outputs, each.answers, found)
        if not found:
            break
    return found or []


def _refuted_by(right: Iterable[NodeResult], mistakes: Sequence[str]) -> set[str]:
    """Return the mistakes that would have made the first right results of moderate size wrong."""
    refuted: set[str] = set()
    for each in islice((one for one in right if one.size <= MAX_ELEMENTS), MAX_RIGHT_RESULTS):
        answers = each.answers or each.run.answers()
        if answers is not None:
            refuted |= failing_mistakes(each.run, answers, {*mistakes} - refuted)
        if refuted.issuperset(mistakes):
            break
    return refuted


def _explaining_all_results(results: Iterable[NodeResult]) -> list[str]:
    """Return the mistakes that explain all wrong results of moderate size, and no right ones."""
    known = sorted((each for each in results if each.size <= MAX_ELEMENTS), key=attrgetter("size"))
    explaining = _explaining_all([each for each in known if each.is_wrong])
    refuted = _refuted_by((each for each in known if not each.is_wrong), explaining)
    return [mistake for mistake in explaining if mistake not in refuted]


def _data_sets(case: CaseInMemory, observed: Observation | None = None) -> Iterator[NodeResult]:
    """Yield the data sets of a case whose outputs are those of its node, with the outputs of a subject if it failed."""
    for number, (run, data_set) in enumerate(node_runs(case)):
        names = [name for name in run.node.output if name]
        if names == [output.name for output in data_set.outputs]:
            answers = tuple(Answer(each.expected, each.bound, each.choices) for each in data_set.outputs)
            outputs = None if observed is None else observed.outputs[number]
            pairs = zip(data_set.outputs, outputs or (), strict=False)
            yield NodeResult(run, answers, outputs, not all(is_acceptable(*pair) for pair in pairs))
