"""A sample of the corpus for diagnosing backends without a run."""

from __future__ import annotations

import pytest
from diagnosis_accuracy import Bench

SAMPLING_STEP = 10
"""Every tenth case of a family distinguishes most faults, in a tenth of the time."""


@pytest.fixture(scope="session")
def bench(whole_corpus, judged_cases) -> Bench:
    """Every tenth case of each family."""
    return Bench.of(whole_corpus, judged_cases, SAMPLING_STEP)
