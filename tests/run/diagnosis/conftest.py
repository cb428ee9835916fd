"""A sample of the corpus for diagnosing backends without a run."""

from __future__ import annotations

import pytest
from diagnosis_accuracy import Bench

SAMPLING_STEP = 5
"""Every fifth case of a family distinguishes most faults, in a fifth of the time."""


@pytest.fixture(scope="session")
def bench(whole_corpus, judged_cases) -> Bench:
    """Every fifth case of each family."""
    return Bench.of(whole_corpus, judged_cases, SAMPLING_STEP)
