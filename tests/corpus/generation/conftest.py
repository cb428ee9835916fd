"""Fixtures with three cases and a corpus of two of them."""

from __future__ import annotations

import pytest
from corpora import ADAM, EXACT, INDEX, write_corpus


@pytest.fixture
def few(defined):
    """Three cases of the suite."""
    return [defined[id][1] for id in (ADAM, EXACT, INDEX)]


@pytest.fixture
def old(tmp_path, few):
    """Path of a corpus with two of the cases, the only entry of its parent directory."""
    directory = tmp_path / "parent" / "corpus"
    write_corpus(directory, few[:2])
    return directory
