"""A few cases, and the corpus that was written of them."""

from __future__ import annotations

import pytest
from corpora import ADAM, EXACT, INDEX, write_corpus


@pytest.fixture
def few(defined):
    """Three of the suite's cases."""
    return [defined[id][1] for id in (ADAM, EXACT, INDEX)]


@pytest.fixture
def old(tmp_path, few):
    """A corpus of two of them, and nothing else in its parent directory."""
    directory = tmp_path / "parent" / "corpus"
    write_corpus(directory, few[:2])
    return directory
