"""How strong the corpus is: which deviations its cases notice, and whether they accuse a correct implementation.

The subjects are the suite's own: every deviation of the catalogue must fail a case, no correct variant may. Beside the
corpus stands what onnx's own seven cases notice of the same catalogue, compared as onnx's runner compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.loading import CaseInMemory, case_in_memory
from conformance.deviations import catalogue, family_of, op_types
from conformance.judging.backend import judge_backend
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.corpus.corpus import Corpus
    from conformance.corpus.loading import LoadedCase
    from conformance.deviations import Deviation
    from conformance.judging.outcome import Outcome
    from conformance.models.arrays import Array
    from conformance.strength.variants import Variant

UPSTREAM = (
    "test_adagrad",
    "test_adagrad_multiple",
    "test_adam",
    "test_adam_multiple",
    "test_momentum",
    "test_momentum_multiple",
    "test_nesterov_momentum",
)
"""onnx's own cases of the three operators."""

DECISIVE = 10
"""By which multiple of the bound an error is beyond doubt."""

RTOL, ATOL = 1e-3, 1e-7
"""The tolerance of onnx's runner."""


@dataclass(frozen=True)
class Notice:
    """A case that noticed a deviation.

    Attributes:
        case: its id.
        how: `value`, `type`, `shape`, `inputs` (changed by the run), `error` or `outputs` (their number).
        margin: the largest error as a fraction of the bound, where that can be said.
    """

    case: str
    how: str
    margin: float | None = None

    @property
    def is_decisive(self) -> bool:
        """Whether no bound that is somewhat wider would let it pass."""
        return self.margin is None or self.margin >= DECISIVE

    def __str__(self) -> str:
        return f"{self.case}, {self.how if self.margin is None else f'{self.margin:.3g} x bound'}"


@dataclass(frozen=True)
class Detection:
    """What the corpus says of a deviation.

    Attributes:
        noticed: the first case of the deviation's own level that noticed it, decisively if there is one, or None.
        accused: the first `must` case that noticed it although its level is below, or None.
        upstream: whether onnx's own cases notice it, None where they have no case of its operator.
    """

    deviation: Deviation
    noticed: Notice | None
    accused: Notice | None
    upstream: bool | None


@dataclass(frozen=True)
class Acquittal:
    """What the corpus says of a correct variant: the `must` cases that accuse it."""

    variant: Variant
    accusers: tuple[str, ...]
    cases: int


@dataclass(frozen=True)
class Strength:
    """The whole finding.

    Attributes:
        standings: by family, in the catalogue's order.
    """

    standings: Mapping[str, Sequence[Detection]]
    acquittals: Sequence[Acquittal]

    @property
    def survivors(self) -> list[Detection]:
        """`must` deviations that no `must` case notices."""
        every = [standing for standings in self.standings.values() for standing in standings]
        return [one for one in every if one.deviation.level is Level.MUST and one.noticed is None]

    @property
    def accused(self) -> list[Detection]:
        """Deviations that the rulings admit below their level, and that a `must` case accuses nevertheless."""
        return [one for standings in self.standings.values() for one in standings if one.accused]

    @property
    def holds(self) -> bool:
        """Whether the corpus notices what it must and accuses nobody wrongly."""
        return not (self.survivors or self.accused or any(one.accusers for one in self.acquittals))


def measure(corpus: Corpus, progress: Callable[[str], None], only: Iterable[str] = ()) -> Strength:
    """Run every deviation and every correct variant on the cases of its operator.

    Args:
        progress: called with the id of each when it is done.
        only: names of families; all where empty.
    """
    from conformance.strength.variants import VARIANTS

    cases = held_cases(corpus)
    families = {name: rows for name, rows in catalogue().items() if not only or name in only}
    standings: dict[str, list[Detection]] = {}
    for family, deviations in families.items():
        standings[family] = []
        for deviation in deviations:
            standings[family].append(_standing(deviation, cases.get(family, [])))
            progress(deviation.id)
    acquittals = []
    for variant in VARIANTS:
        acquittals.append(_acquittal(variant, [case for family in families for case in cases.get(family, [])]))
        progress(variant.id)
    return Strength(standings, acquittals)


def work() -> int:
    """How often `measure` calls `progress`."""
    from conformance.strength.variants import VARIANTS

    return sum(len(rows) for rows in catalogue().values()) + len(VARIANTS)


def held_cases(corpus: Corpus) -> dict[str, list[CaseInMemory]]:
    """The corpus's judged cases by family, each read once."""
    cases: dict[str, list[CaseInMemory]] = {}
    for entry in corpus.cases.values():
        if entry.is_invalid:
            continue
        case = case_in_memory(corpus, entry)
        family = family_of(case.model)
        if family is not None and case.level is not Level.SILENT:
            cases.setdefault(family, []).append(case)
    return cases


def noticed(backend: Any, case: LoadedCase) -> Notice | None:
    """How a case notices that a backend is wrong; None where it does not."""
    outcome = judge_backend(backend, case)
    if outcome.verdict not in {Verdict.FAIL, Verdict.ERROR}:
        return None
    return _notice(case.id, outcome)


def _standing(deviation: Deviation, cases: Sequence[CaseInMemory]) -> Detection:
    backend = deviation.backend
    concerned = [case for case in cases if deviation.operator in op_types(case.model)]
    own = [case for case in concerned if case.level is deviation.level]
    must = [case for case in concerned if case.level is Level.MUST and deviation.level is not Level.MUST]
    return Detection(
        deviation,
        _first(backend, own),
        _first(backend, must),
        _noticed_upstream(backend, [case for case in concerned if case.id in UPSTREAM]),
    )


def _first(backend: Any, cases: Iterable[CaseInMemory]) -> Notice | None:
    """The first case that notices a backend decisively; if none does, the one with the largest margin."""
    best: Notice | None = None
    for case in cases:
        notice = noticed(backend, case)
        if notice is None:
            continue
        if notice.is_decisive:
            return notice
        best = notice if best is None else max(best, notice, key=lambda found: found.margin or 0)
    return best


def _acquittal(variant: Variant, cases: Iterable[CaseInMemory]) -> Acquittal:
    concerned = [case for case in cases if case.level is Level.MUST and variant.concerns(op_types(case.model))]
    accusers = tuple(case.id for case in concerned if noticed(variant.backend, case))
    return Acquittal(variant, accusers, len(concerned))


def _notice(case: str, outcome: Outcome) -> Notice:
    if outcome.verdict is Verdict.ERROR:
        return Notice(case, "error")
    complaints = [output for output in outcome.outputs if "complaint" in output]
    if not complaints:
        return Notice(case, "inputs" if outcome.message.startswith("input") else "outputs")
    for word in ("type", "shape"):
        if any(f"has {word}" in output["complaint"] for output in complaints):
            return Notice(case, word)
    ratios = [output["error_over_bound"] for output in complaints if "error_over_bound" in output]
    return Notice(case, "value", max(ratios) if ratios and max(ratios) > 1 else None)


def _noticed_upstream(backend: Any, cases: Sequence[CaseInMemory]) -> bool | None:
    if not cases:
        return None
    return not all(_passes_upstream(backend, case) for case in cases)


def _passes_upstream(backend: Any, case: CaseInMemory) -> bool:
    try:
        prepared = backend.prepare(case.model, "CPU")
        for data_set in case.data_sets():
            outputs = prepared.run(list(data_set.inputs))
            if len(outputs) != len(data_set.outputs):
                return False
            if not all(_close(a, output.expected) for a, output in zip(outputs, data_set.outputs, strict=True)):
                return False
    except Exception:  # noqa: BLE001
        return False
    return True


def _close(actual: Array, expected: Array) -> bool:
    """What onnx's runner asks of an output."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    with np.errstate(all="ignore"):
        return bool(np.isclose(actual, expected, rtol=RTOL, atol=ATOL, equal_nan=True).all())
