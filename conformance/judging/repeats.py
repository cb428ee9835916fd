"""A case several times over, each time prepared anew: the worst outcome, and how often there was which verdict."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.judging.outcome import Outcome


def repeated(judged: Callable[[], Outcome], times: int) -> tuple[Outcome, dict[str, int]]:
    """Judge a case some times.

    Returns:
        The first of the worst outcomes, and the verdicts with how often each came; none for a single time.
    """
    worst = judged()
    verdicts = Counter([worst.verdict])
    for _ in range(times - 1):
        outcome = judged()
        verdicts[outcome.verdict] += 1
        if outcome.verdict.is_worse_than(worst.verdict):
            worst = outcome
    return worst, {str(verdict): verdicts[verdict] for verdict in sorted(verdicts)} if times > 1 else {}
