"""What the tests of the diagnosis share: some cases of every family, on which backends are diagnosed without a run."""

from __future__ import annotations

import pytest
from diagnosing import Bench

EACH = 5
"""Each fifth case of a family is enough to tell most faults apart, in a fifth of the time."""


@pytest.fixture(scope="session")
def bench(whole_corpus) -> Bench:
    """Some of the corpus's cases."""
    return Bench.of(whole_corpus, EACH)
