"""The command line of the mutation tests, run in this process."""

from __future__ import annotations

import pytest
from forked_program import Ended

from checks.mutation.__main__ import main


@pytest.fixture
def mutation_command(capfd, monkeypatch):
    """Return a function that runs `python -m checks.mutation` with some arguments."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        capfd.readouterr()
        status = main([*map(str, arguments)])
        captured = capfd.readouterr()
        return Ended(status, captured.out, captured.err)

    return run
