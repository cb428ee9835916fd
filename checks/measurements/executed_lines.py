"""A plugin of pytest for `sample_mutants.py`: it records the lines that each test executes, or selects tests.

The variable `RECORD` is a JSON object with the digest of each test file and the path of its records. The variable
`SELECT` names a file with a JSON list of test functions and test files, in their order.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from pathlib import Path

import pytest


def function_of(item: pytest.Item) -> str:
    """Return the id of the function of a test, without parameters."""
    return item.nodeid.partition("[")[0]


def file_of(test: str) -> str:
    """Return the path of the file of a test."""
    return test.partition("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the variable `SELECT`, in its order."""
    if "SELECT" not in os.environ:
        return
    places = {name: place for place, name in enumerate(json.loads(Path(os.environ["SELECT"]).read_bytes()))}

    def place_of(item: pytest.Item) -> int | None:
        return places.get(function_of(item), places.get(file_of(item.nodeid)))

    config.hook.pytest_deselected(items=[item for item in items if place_of(item) is None])
    items[:] = sorted((item for item in items if place_of(item) is not None), key=lambda item: place_of(item) or 0)


class Recorder:
    """Records executed lines and durations, for each test file apart."""

    def __init__(self, written: dict[str, dict[str, str]]) -> None:
        import coverage

        self.written = written
        self.coverage = coverage.Coverage(data_file=None, include=["conformance/*"], config_file=False)
        self.seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.failed: set[str] = set()
        self.coverage.start()
        os.register_at_fork(after_in_child=self.coverage.stop)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        """Record the lines of a test under its name."""
        begun = time.monotonic()
        function = function_of(item)
        self.coverage.switch_context(function)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")
            self.seconds[file_of(function)][function] += time.monotonic() - begun

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note tests that fail: they detect nothing."""
        if report.failed:
            self.failed.add(report.nodeid.partition("[")[0])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file of each test file."""
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[str, dict[int, list[str]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
        for source in data.measured_files():
            path = str(Path(source).relative_to(session.config.rootpath))
            for line, tests in data.contexts_by_lineno(source).items():
                for test in sorted({*tests} - {""} - self.failed):
                    lines[file_of(test)][path][line].append(test)
        for file, told in self.written.items():
            document = {"digest": told["digest"], "seconds": self.seconds[file], "lines": lines[file]}
            Path(told["path"]).write_text(json.dumps(document))


def pytest_configure(config: pytest.Config) -> None:
    """Record if the variable `RECORD` is set."""
    if "RECORD" in os.environ:
        config.pluginmanager.register(Recorder(json.loads(os.environ.pop("RECORD"))))
