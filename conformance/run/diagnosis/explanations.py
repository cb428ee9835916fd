"""Select the mutants that together explain the most failures of a subject.

One mutant that explains all failures is preferred, then a pair, then several mutants that explain a part, then a pair
that no case shows alone. None of them fails a case that the subject passes. Failures that are left are explained by
mutants that the subject has only under a condition, such as a type or T ≤ 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, islice, permutations
from typing import TYPE_CHECKING, TypeAlias

from conformance.run.diagnosis.failure_evidence import (
    Evidence,
    FailureComparison,
    can_compose,
    differing_outputs,
    is_failure,
    observation_from_record,
    observe,
    shuffle_key,
    wrong_outputs,
)
from conformance.run.diagnosis.properties import separating_condition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.run.diagnosis.failure_evidence import MutantCombination, MutantRunner
    from conformance.run.mutants import Mutant
    from conformance.run.results.records import RecordedOutputs


SelectedMutants: TypeAlias = "tuple[MutantCombination, ...]"
"""The selected mutants. Each item starts with a mutant, followed by those that no case distinguishes from it."""

MAX_EXPLANATIONS = 5
"""Maximum number of mutants reported for one subject and family."""

MIN_SUPPORT_RATIO = 9
"""Number of cases that a mutant must explain for each case that it fails differently from the subject."""

MIN_SUPPORT = 3
"""Number of cases that a mutant must explain if some cases stay unexplained. Fewer may be coincidence."""

MAX_PAIR_SEEDS = 3
"""Number of best-scoring mutants that are combined with every other one."""


@dataclass(frozen=True)
class Explanation:
    """A mutant that explains failures of a subject.

    Attributes:
        indistinguishable: other mutants that explain the same cases; the cases do not distinguish them from the mutant.
        cases: the ids of the cases that the mutant explains, alone or jointly with other selected mutants.
        jointly_explained: the part of `cases` that the mutant explains only together with other mutants.
        condition: the property of the cases in which the subject has the mistake, as a verb phrase in the plural; empty
            if the subject has it in all cases.
    """

    mutant: Mutant
    indistinguishable: tuple[Mutant, ...]
    cases: frozenset[str]
    jointly_explained: frozenset[str] = frozenset()
    condition: str = ""


def select_explanations(evidence: Evidence) -> list[Explanation]:
    """Select the mutants that explain the failures of a subject; the result is empty if too few cases are explained.

    A single mutant that explains all failures is preferred, then a pair of mutants that explains all failures, then
    several mutants that explain a part of the failures, then several of which two or more act in most of the cases,
    then a pair that explains cases which neither explains alone.
    """
    return (
        _explain_with_one(evidence)
        or _explain_with_pair(evidence)
        or _explain_with_several(evidence)
        or _explain_with_overlapping(evidence)
        or _explain_with_hidden_pair(evidence)
    )


def _explain_with_one(evidence: Evidence) -> list[Explanation]:
    """Explain all failing cases by one mutant; return an empty list if that is not possible."""
    complete = [(one,) for one in evidence.candidates if evidence.explains_all((one,))]
    whole = [alone for alone in complete if not evidence.is_refuted(alone)]
    if not whole:
        return []
    (first,), *others = evidence.without_failures_below(whole)
    return [Explanation(first, tuple(other for (other,) in others), evidence.failing)]


def _explain_with_pair(evidence: Evidence) -> list[Explanation]:
    """Explain all failing cases by two mutants of one implementation; return an empty list if that is not possible."""
    whole = _complete_pairs(evidence, combinations(evidence.candidates, 2))
    if not whole:
        chief = sorted(evidence.candidates, key=lambda one: -len(evidence.explained_alone(one)))[:MAX_PAIR_SEEDS]
        pairs = (
            (one, other)
            for one in chief
            for other in evidence.possible_partners((one,), _unexplained_cases(evidence, (one,)))
        )
        whole = _complete_pairs(evidence, pairs)
    if not whole:
        return []
    whole.sort(key=lambda pair: -len(evidence.explained_alone(pair[0]) | evidence.explained_alone(pair[1])))
    equal = evidence.without_failures_below([*whole, *_alternative_pairs(evidence, whole[0], whole)])
    return _pair_explanations(evidence, equal, evidence.failing)


def _complete_pairs(evidence: Evidence, pairs: Iterable[MutantCombination]) -> list[MutantCombination]:
    """Return the ordered pairs that explain all failing cases.

    A pair is skipped if one mutant, alone, explains only cases that the other one explains too.
    """
    apart = (
        pair
        for pair in pairs
        if all(evidence.explained_alone(a) - evidence.explained_alone(b) for a, b in permutations(pair))
    )
    return [order for pair in apart for order in permutations(pair) if _is_complete_pair(evidence, order)]


def _is_complete_pair(evidence: Evidence, pair: MutantCombination) -> bool:
    """Return whether a pair of mutants explains all failing cases and is not refuted."""
    return evidence.explains_all(pair, _explained_jointly(evidence, pair)) and not evidence.is_refuted(pair)


def _explained_jointly(evidence: Evidence, pair: MutantCombination) -> frozenset[str]:
    """Return the failing cases that neither mutant explains alone, which often decide whether the pair does."""
    return evidence.failing.difference(*map(evidence.explained_alone, pair))


def _alternative_pairs(
    evidence: Evidence, pair: MutantCombination, known: Sequence[MutantCombination]
) -> list[MutantCombination]:
    """Return further pairs that explain all failing cases and share a mutant with `pair`.

    The other mutant of these pairs may explain almost no case alone, so `_complete_pairs` does not try it.

    Args:
        known: the pairs that were found before, which are not returned.
    """
    decisive = _explained_jointly(evidence, pair)
    others = ((kept, one) for kept in pair for one in evidence.catalogue if one not in pair)
    orders = (order for two in others for order in permutations(two) if order not in known)
    return [order for order in orders if evidence.explains_all(order, decisive) and not evidence.is_refuted(order)]


def _pair_explanations(
    evidence: Evidence, pairs: Sequence[MutantCombination], explained: frozenset[str]
) -> list[Explanation]:
    """Return the explanation of each mutant of the first pair.

    Args:
        pairs: pairs that explain the same cases. A mutant that can replace one of the first pair is indistinguishable
            from it.
        explained: the ids of the cases that the pairs explain.
    """
    found = []
    for mutant, beside in (pairs[0], pairs[0][::-1]):
        indistinguishable = dict.fromkeys(
            one for pair in pairs[1:] if beside in pair for one in pair if one not in (mutant, beside)
        )
        explained_alone = evidence.explained_alone(mutant)
        without = evidence.explained_alone(beside)
        cases = explained - (without - explained_alone)
        jointly_explained = explained - without - explained_alone
        found.append(Explanation(mutant, tuple(indistinguishable), cases, jointly_explained))
    return found


def _explain_with_several(evidence: Evidence) -> list[Explanation]:
    """Explain as many failing cases as possible by several mutants; some cases may stay unexplained."""
    pool = [
        one for one in evidence.candidates if _has_enough_support(evidence, one) and not evidence.is_refuted((one,))
    ]
    selection = _extend_selection(evidence, pool)
    while (doubtful := _least_supported(evidence, selection)) is not None:
        pool.remove(doubtful)
        selection = _extend_selection(evidence, pool)
    if selection:
        chosen = _representatives(selection)
        possible_partners = evidence.possible_partners(chosen, _unexplained_cases(evidence, chosen))
        beside = [one for one in possible_partners if not evidence.is_refuted((one,))]
        more = _extend_selection(evidence, beside, selection)
        selection = selection if _least_supported(evidence, more) else more
    return _explanations_of(evidence, selection)


def _explanations_of(evidence: Evidence, selection: SelectedMutants) -> list[Explanation]:
    reasons = explaining_combinations(evidence, _representatives(selection))
    return [build_explanation(alternatives, reasons) for alternatives in selection]


MAX_OVERLAPPING_SEEDS = 2
"""Number of best-scoring mutants with which a selection of overlapping mutants begins."""


def _explain_with_overlapping(evidence: Evidence) -> list[Explanation]:
    """Explain failing cases by several mutants of which two or more act in most of the cases.

    None of them explains enough cases alone. The selection begins with a mutant that explains some case alone; each
    step adds the mutant with which it explains most of the cases that are left.
    """
    seeds = [one for one in evidence.candidates if not evidence.is_refuted((one,))]
    for seed in sorted(seeds, key=lambda one: -len(evidence.explained_alone(one)))[:MAX_OVERLAPPING_SEEDS]:
        selection: SelectedMutants = ()
        more: SelectedMutants = ((seed,),)
        while len(more) > len(selection):
            selection = more
            chosen = _representatives(more)
            partners = evidence.possible_partners(chosen, _unexplained_cases(evidence, chosen))
            pool = [one for one in partners if not evidence.is_refuted((one,))]
            more = _extend_selection(evidence, pool, selection)
        if _least_supported(evidence, selection) is None:
            return _explanations_of(evidence, selection)
    return []


HIDDEN_PAIR_SAMPLE_SIZE = 4
"""Number of failing cases that a pair must explain before it is tried on all cases."""

MAX_HIDDEN_PAIRS = 6000
"""Number of ordered pairs that are run on the first case of the sample."""


def _explain_with_hidden_pair(evidence: Evidence) -> list[Explanation]:
    """Explain failing cases by two mutants of one operator, of which no case shows one alone.

    A pair must explain a sample of the cases that test few clauses. For each case that it fails in another way than
    the subject, it must explain at least `MIN_SUPPORT_RATIO` cases.
    """
    first, *sample = [id for id in evidence.cases_to_try if evidence.observations[id].error is None] or [""]
    if len(sample) < HIDDEN_PAIR_SAMPLE_SIZE - 1:
        return []
    orders = [
        order
        for pair in islice(_pairs_by_outputs(evidence, first), MAX_HIDDEN_PAIRS // 2)
        for order in permutations(pair)
        if can_compose(order) and evidence.runner.explains(order, first)
    ]
    for id in sample[: HIDDEN_PAIR_SAMPLE_SIZE - 1]:
        orders = [order for order in orders if evidence.runner.explains(order, id)]
    found = {order: evidence.explained_cases(order) for order in orders if not evidence.is_refuted(order)}
    if not found:
        return []
    best, most = max(found.items(), key=lambda item: len(item[1]))
    left = evidence.failing - most
    differing = [id for id in left if evidence.runner.compare(best, id) is FailureComparison.FAILS_DIFFERENTLY]
    if len(most) < max(MIN_SUPPORT, MIN_SUPPORT_RATIO * len(differing)):
        return []
    pairs = evidence.without_failures_below([order for order in found if found[order] == most])
    return _pair_explanations(evidence, pairs, most)


def _pairs_by_outputs(evidence: Evidence, id: str) -> Iterator[MutantCombination]:
    """Yield the pairs of mutants that can explain a case: an output that one mutant changes is that of the subject.

    An output that both mutants change is not compared. Every wrong output of the subject must be changed.
    """
    case = evidence.cases[id]
    subject = evidence.observations[id]
    observed = {one: observe(one.backend, case) for one in evidence.catalogue}
    made = {one: observation for one, observation in observed.items() if observation is not None}
    wrong = {number for _, number in wrong_outputs(subject, case)}
    changed = {
        one: {number for _, number in wrong_outputs(observation, case)}
        for one, observation in made.items()
        if not observation.error
    }
    changed = {one: outputs for one, outputs in changed.items() if outputs and outputs <= wrong}
    differing = {one: {number for _, number in differing_outputs(made[one], subject, case)} for one in changed}
    for one, other in combinations(changed, 2):
        only_one = changed[one] - changed[other]
        only_other = changed[other] - changed[one]
        is_alike = only_one.isdisjoint(differing[one]) and only_other.isdisjoint(differing[other])
        if one.operator == other.operator and is_alike and changed[one] | changed[other] == wrong:
            yield one, other


def _has_enough_support(evidence: Evidence, mutant: Mutant) -> bool:
    """Return whether a mutant alone explains at least as many cases as it fails in another way than the subject."""
    return len(evidence.explained_alone(mutant)) >= len(evidence.contradicting_cases(mutant, evidence.failing))


def _extend_selection(evidence: Evidence, pool: Sequence[Mutant], selection: SelectedMutants = ()) -> SelectedMutants:
    """Return the selection extended: each step adds the mutant of `pool` that explains most unexplained cases."""
    while len(selection) < MAX_EXPLANATIONS:
        left = _unexplained_cases(evidence, _representatives(selection))
        gains = {
            one: frozenset(explaining_combinations(evidence, (*_representatives(selection), one), left)) for one in pool
        }
        most = max(gains.values(), key=len, default=frozenset())
        if not most:
            break
        alternatives = evidence.without_failures_below([(one,) for one, gain in gains.items() if gain == most])
        selection = (*selection, tuple(one for (one,) in alternatives))
        pool = [one for one in pool if one not in selection[-1]]
    return selection


def _representatives(selection: SelectedMutants) -> MutantCombination:
    """Return the first mutant of each group of indistinguishable mutants."""
    return tuple(alternatives[0] for alternatives in selection)


def explaining_combinations(
    evidence: Evidence, mutants: MutantCombination, among: Collection[str] | None = None
) -> dict[str, MutantCombination]:
    """Return, by case id, the smallest combination of the mutants that explains the case."""
    found: dict[str, MutantCombination] = {}
    for some in _combinations(mutants):
        ids = [id for id in (evidence.failing if among is None else among) if id not in found]
        explained_cases = evidence.explained_cases(some, ids)
        if explained_cases and (len(some) == 1 or not evidence.is_refuted(some)):
            found |= dict.fromkeys(explained_cases, some)
    return found


def _unexplained_cases(evidence: Evidence, mutants: MutantCombination) -> frozenset[str]:
    """Return the failing cases that no combination of the mutants explains."""
    return evidence.failing - explaining_combinations(evidence, mutants).keys()


def _combinations(mutants: MutantCombination) -> Iterator[MutantCombination]:
    """Yield each mutant alone, every ordered pair, and all mutants in their order."""
    yield from permutations(mutants, 1)
    yield from permutations(mutants, 2)
    if len(mutants) > 2:
        yield mutants


def _least_supported(evidence: Evidence, selection: SelectedMutants) -> Mutant | None:
    """Return the selected mutant with the least support if its support is too low, otherwise None.

    The support is the number of cases that a mutant explains. `MIN_SUPPORT` and `MIN_SUPPORT_RATIO` define the least
    sufficient number. If every failing case is explained, the result is None.
    """
    reasons = explaining_combinations(evidence, _representatives(selection))
    left = evidence.failing - reasons.keys()
    if not left:
        return None
    margins = {
        one: sum(one in some for some in reasons.values())
        - max(MIN_SUPPORT, MIN_SUPPORT_RATIO * len(evidence.contradicting_cases(one, left)))
        for one in _representatives(selection)
    }
    worst = min(margins, key=margins.__getitem__, default=None)
    return worst if worst is not None and margins[worst] < 0 else None


def is_cause(mutant: Mutant, others: Sequence[Mutant], case: CaseInMemory, record: RecordedOutputs) -> bool:
    """Return whether a mutant is a reason of a failure: others alone do not explain it, but with the mutant they do.

    Failures whose recorded outputs are unreadable or correct are not judged: the result is then true.
    """
    observation = observation_from_record(record)
    if observation is None or not is_failure(observation, case):
        return True
    evidence = Evidence((), {case.id: case}, {case.id: observation}, ())
    mutants = (mutant, *others)
    if found := explaining_combinations(evidence, mutants):
        return mutant in found[case.id]
    return evidence.runner.explains_parts(mutants, case.id) and not evidence.runner.explains_parts(others, case.id)


def build_explanation(alternatives: MutantCombination, reasons: Mapping[str, MutantCombination]) -> Explanation:
    """Return the explanation of a mutant.

    Args:
        alternatives: the mutant, followed by those that no case distinguishes from it.
        reasons: the combination of mutants that explains each case, by case id.
    """
    own = {id: some for id, some in reasons.items() if alternatives[0] in some}
    jointly_explained = frozenset(id for id, some in own.items() if len(some) > 1)
    return Explanation(alternatives[0], alternatives[1:], frozenset(own), jointly_explained)


CONDITIONAL_SUPPORT_RATIO = 3
"""Number of cases that a mutant under a condition must explain for each case that it fails differently."""

MIN_CONDITIONAL_SUPPORT = 5
"""Number of cases that a mutant under a condition must explain."""

CONDITIONAL_SAMPLE_SIZE = 8
"""Number of unexplained cases on which all mutants are tried before a condition is searched."""

MAX_CONDITIONAL_MUTANTS = 4
"""Number of mutants for which a condition is searched at a time: those that explain the most unexplained cases."""


def explain_under_conditions(evidence: Evidence, found: Sequence[Explanation]) -> list[Explanation]:
    """Explain unexplained cases by mutants that the subject has only under a condition, such as a type or T ≤ 0.

    A mutant is named if one property, or two, separate the failing cases that the mutant explains from the passing
    cases that the mutant would fail.

    Args:
        found: the explanations without a condition.
    """
    more: list[Explanation] = []
    left = evidence.failing.difference(*(one.cases for one in found))
    while len(left) >= MIN_CONDITIONAL_SUPPORT and len(found) + len(more) < MAX_EXPLANATIONS:
        known = {mutant for one in (*found, *more) for mutant in (one.mutant, *one.indistinguishable)}
        sample = sorted(left, key=shuffle_key)[:CONDITIONAL_SAMPLE_SIZE]
        runner = evidence.runner
        pool = [one for one in evidence.catalogue if one not in known]
        pool = [one for one in pool if any(runner.explains_parts((*known, one), id) for id in sample)]
        gains = {one: frozenset(id for id in left if runner.explains_parts((one,), id)) for one in pool}
        ranked = [one for one in pool if len(gains[one]) >= MIN_CONDITIONAL_SUPPORT]
        ranked = sorted(ranked, key=lambda one: -len(gains[one]))[:MAX_CONDITIONAL_MUTANTS]
        refuting = {one: evidence.refuting_cases(one) for one in ranked}
        specific = [one for one in ranked if not any(_is_likelier(gains, refuting, other, one) for other in ranked)]
        options = {
            one: _condition(evidence, one, gains[one], left - _shared(runner, known, one, left)) for one in specific
        }
        conditions = {one: condition for one, condition in options.items() if condition is not None}
        if not conditions:
            break
        mutant = max(conditions, key=lambda one: len(gains[one]))
        equal = tuple(one for one in ranked if one is not mutant and gains[one] == gains[mutant])
        more.append(Explanation(mutant, equal, gains[mutant], condition=conditions[mutant]))
        left = frozenset(id for id in left if not runner.explains_parts((*known, mutant), id))
    more = [one for one in more if not _is_contradicted(evidence, one.mutant, len(one.cases), left)]
    return [_with_shared_cases(evidence, one, (*found, *more)) for one in more]


def with_explanations_under_conditions(evidence: Evidence, found: Sequence[Explanation]) -> list[Explanation]:
    """Return the explanations without a condition and those under one.

    An explanation without a condition is left out if others, each of more cases, explain its cases under conditions.
    """
    more = explain_under_conditions(evidence, found)
    kept = []
    for one in found:
        shares = _shares(evidence, one, more)
        if shares is None:
            kept.append(one)
        else:
            more = [replace(other, cases=other.cases | share) for other, share in zip(more, shares, strict=True)]
    return [*kept, *more]


def _shares(evidence: Evidence, one: Explanation, more: Sequence[Explanation]) -> list[frozenset[str]] | None:
    """Return which cases of an explanation each explanation under a condition explains; None if they leave a case."""
    larger = [other for other in more if len(other.cases) > len(one.cases)]
    shares = [
        frozenset(id for id in one.cases if other in larger and _explains_under_condition(evidence, other, id))
        for other in more
    ]
    return shares if one.cases and one.cases == frozenset().union(*shares) else None


def _explains_under_condition(evidence: Evidence, one: Explanation, id: str) -> bool:
    """Return whether a mutant explains one more case, and keeps its condition with it."""
    gain = (one.cases - one.jointly_explained) | {id}
    explains = evidence.runner.explains_parts((one.mutant,), id)
    return explains and _condition(evidence, one.mutant, gain, gain) == one.condition


def _with_shared_cases(evidence: Evidence, one: Explanation, every: Sequence[Explanation]) -> Explanation:
    """Return an explanation with the cases in which it explains some parts and other explanations all other parts."""
    mutants = [explanation.mutant for explanation in every]
    others = [mutant for mutant in mutants if mutant is not one.mutant]
    runner = evidence.runner
    shared = frozenset(
        id
        for id in evidence.failing.difference(*(explanation.cases for explanation in every))
        if runner.explains_parts(mutants, id) and not runner.explains_parts(others, id)
    )
    return replace(one, cases=one.cases | shared, jointly_explained=one.jointly_explained | shared)


def _shared(runner: MutantRunner, known: Collection[Mutant], one: Mutant, ids: Iterable[str]) -> frozenset[str]:
    """Return the cases in which each wrong part is explained by `one` or by a known mutant."""
    return frozenset(id for id in ids if runner.explains_parts((*known, one), id)) if known else frozenset()


def _is_likelier(
    gains: Mapping[Mutant, frozenset[str]], refuting: Mapping[Mutant, frozenset[str]], one: Mutant, other: Mutant
) -> bool:
    """Return whether a mutant explains more than another one, or explains the same and needs no condition."""
    return gains[one] > gains[other] or (gains[one] == gains[other] and not refuting[one] and bool(refuting[other]))


def _is_contradicted(evidence: Evidence, mutant: Mutant, support: int, left: Iterable[str]) -> bool:
    """Return whether a mutant under a condition fails too many of these cases differently from the subject."""
    return CONDITIONAL_SUPPORT_RATIO * len(evidence.contradicting_cases(mutant, left)) > support


def _condition(evidence: Evidence, mutant: Mutant, gain: frozenset[str], left: frozenset[str]) -> str | None:
    """Return the condition under which the subject has a mutant; empty if always, None if no condition is found.

    Args:
        gain: the ids of the unexplained cases that the mutant explains.
        left: the ids of all unexplained cases.
    """
    contradicting = evidence.contradicting_cases(mutant, left - gain)
    refuting = evidence.refuting_cases(mutant)
    if not refuting:
        return "" if MIN_SUPPORT_RATIO * len(contradicting) <= len(gain) else None
    described = ({id: evidence.properties(id) for id in ids} for ids in (gain, refuting, contradicting))
    condition = separating_condition(*described)
    if condition is None:
        return None
    return None if _is_contradicted(evidence, mutant, len(gain), condition.others & left) else condition.text
