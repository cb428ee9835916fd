"""Fixtures of the tests of runs."""

from __future__ import annotations

import os

import pytest
from forked_program import run_in_fork
from repository import SUPPORT


@pytest.fixture
def suite(here):
    """Directory of another test suite, which has one test and its own settings."""
    (here / "pytest.ini").write_text("[pytest]\n")  # not those of this project, if the directory is in its checkout
    (here / "test_own.py").write_text("def test_own_item():\n    pass\n")
    return here


@pytest.fixture
def run_pytest(suite):
    """Return a function that runs pytest in that directory, with only this plugin and xdist.

    Its temporary directories are not those of this process: pytest removes all that earlier sessions have left there.
    """

    def run(*arguments, plugins=("-p", "onnx_conformance_pytest", "-p", "xdist"), **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment |= {"PYTHONPATH": str(SUPPORT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        environment |= {"PYTEST_DEBUG_TEMPROOT": str(suite.parent), **variables}
        words = ["pytest", *plugins, *map(str, arguments)]
        return run_in_fork(pytest.main, words, suite, [str(SUPPORT), str(suite)], environment)

    return run
