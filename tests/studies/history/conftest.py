"""Fixtures of the tests of histories: a corpus of three cases, and an empty store."""

from __future__ import annotations

import pytest
from history_stores import write_three_cases

from conformance.studies.history.store import HistoryStore


@pytest.fixture(scope="package")
def corpus(tmp_path_factory):
    return write_three_cases(tmp_path_factory.mktemp("corpora") / "three")


@pytest.fixture
def store(tmp_path):
    return HistoryStore(tmp_path / "store")
