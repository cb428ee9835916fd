"""A plugin of pytest for `scripts/sample_mutants.py`: it records the lines that each test executes, or selects tests.

The variable `RECORD` names the file to write. The variable `SELECT` names a file with a JSON list of test functions and
test files, in their order.
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the variable `SELECT`, in its order."""
    if "SELECT" not in os.environ:
        return
    places = {name: place for place, name in enumerate(json.loads(Path(os.environ["SELECT"]).read_bytes()))}

    def place_of(item: pytest.Item) -> int | None:
        return places.get(function_of(item), places.get(item.nodeid.partition("::")[0]))

    config.hook.pytest_deselected(items=[item for item in items if place_of(item) is None])
    items[:] = sorted((item for item in items if place_of(item) is not None), key=lambda item: place_of(item) or 0)


class Recorder:
    """Records executed lines and durations."""

    def __init__(self, path: Path) -> None:
        import coverage

        self.path = path
        self.coverage = coverage.Coverage(data_file=None, include=["conformance/*"], config_file=False)
        self.seconds: dict[str, float] = defaultdict(float)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        """Record the lines of a test under its name."""
        begun = time.monotonic()
        self.coverage.switch_context(function_of(item))
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")
            self.seconds[function_of(item)] += time.monotonic() - begun

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file."""
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {
            str(Path(file).relative_to(session.config.rootpath)): {
                line: sorted(filter(None, tests)) for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        document = {"digest": os.environ["DIGEST"], "seconds": self.seconds, "lines": lines}
        self.path.write_text(json.dumps(document))


def pytest_configure(config: pytest.Config) -> None:
    """Record if the variable `RECORD` is set."""
    if "RECORD" in os.environ:
        config.pluginmanager.register(Recorder(Path(os.environ.pop("RECORD"))))
