"""A plugin of pytest for `sample_mutants.py`: it runs the tests of many mutants, each in a forked child.

The child exchanges the code of the functions that the mutant changes, so that nothing is imported again. The variable
`MUTANTS` names a file with a JSON object for each mutant: `path`, `original`, `mutated`, `tests` and `seconds`. The
variable `OUTCOMES` names the file to which a line with `index` and `by` is added for each mutant. `by` is the test that
failed, `timeout`, `import` if code outside of functions differs, or null.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import pytest
from executed_lines import function_of

if TYPE_CHECKING:
    from collections.abc import Iterator

CO_OPTIMIZED = 1
"""The flag of the code of a function, which the code of a module or of a class body lacks."""


class NeedsImportError(Exception):
    """A mutant changes code that runs when a module is imported."""


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from inner_codes(constant)


def changed_codes(original: str, mutated: str, path: str) -> list[tuple[CodeType, CodeType]]:
    """Return the old and the new code of each function that differs, with the functions inside it.

    Raises:
        NeedsImportError: the code of a module or of a class body differs.
    """
    old, new = ([*inner_codes(compile(text, path, "exec", dont_inherit=True))] for text in (original, mutated))
    if [code.co_qualname for code in old] != [code.co_qualname for code in new]:
        raise NeedsImportError
    changed = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
    for before, after in changed:
        if not before.co_flags & CO_OPTIMIZED and own_parts(before) != own_parts(after):
            raise NeedsImportError
    return [pair for pair in changed if pair[0].co_flags & CO_OPTIMIZED]


def own_parts(code: CodeType) -> tuple[Any, ...]:
    """Return what a code object has besides the code objects inside it."""
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, constants, code.co_names


class ForkedMutants:
    """Runs the tests of each mutant instead of all tests."""

    def __init__(self) -> None:
        self._functions: dict[str, list[FunctionType]] = defaultdict(list)
        self._items: dict[str, list[pytest.Item]] = defaultdict(list)
        self._result = -1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests of each mutant."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the file of a mutant is restored
        gc.unfreeze()
        for function in gc.get_objects():
            if isinstance(function, FunctionType):
                self._functions[function.__code__.co_filename].append(function)
        for item in session.items:
            self._items[function_of(item)].append(item)
            self._items[item.nodeid.partition("::")[0]].append(item)
        with Path(os.environ["OUTCOMES"]).open("a", encoding="utf-8") as stream:
            for index, line in enumerate(Path(os.environ["MUTANTS"]).read_text().splitlines()):
                stream.write(json.dumps({"index": index, **self._run(session, json.loads(line))}) + "\n")
                stream.flush()
        return True

    def _run(self, session: pytest.Session, mutant: dict[str, Any]) -> dict[str, Any]:
        """Run a mutant; the file also has its source, for modules and processes that its tests start."""
        file = session.config.rootpath / mutant["path"]
        original, times = mutant["original"], file.stat()
        try:
            changed = changed_codes(original, mutant["mutated"], str(file))
        except NeedsImportError:
            return {"by": "import"}
        if not changed:
            return {"by": None}
        file.write_text(mutant["mutated"], encoding="utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns + 10**9))  # no module compiled earlier is taken for it
        folder = tempfile.mkdtemp(prefix="mutant-")
        try:
            return self._fork(session, mutant, changed, folder)
        finally:
            file.write_text(original, encoding="utf-8")
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            shutil.rmtree(folder, ignore_errors=True)

    def _fork(self, session: pytest.Session, mutant: dict[str, Any], changed: Any, folder: str) -> dict[str, Any]:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.setpgid(0, 0)
                self._result = writing
                self._run_tests(session, mutant["tests"], changed, folder)
            finally:
                os._exit(1)
        os.close(writing)
        told, deadline = b"", time.monotonic() + mutant["seconds"]
        while not told.endswith(b"\n") and select.select([reading], [], [], max(0, deadline - time.monotonic()))[0]:
            part = os.read(reading, 2**16)
            told += part or b'{"by": "crash"}\n'
        os.close(reading)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return json.loads(told) if told else {"by": "timeout"}

    def _run_tests(self, session: pytest.Session, tests: list[str], changed: Any, folder: str) -> None:
        """Run the tests in the child until one fails."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with Path(os.devnull).open("r+b") as nowhere:
            for place in (0, 1, 2):
                os.dup2(nowhere.fileno(), place)
        del os.environ["MUTANTS"], os.environ["OUTCOMES"]
        session.config.pluginmanager.get_plugin("terminalreporter")._tw._file = sys.__stdout__
        session.config._tmp_path_factory._basetemp = Path(folder)
        if not self._exchange(changed):
            self._tell("import")
        items = [item for test in tests for item in self._items[test]]
        for item, following in zip(items, [*items[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        self._tell(None)

    def _exchange(self, changed: list[tuple[CodeType, CodeType]]) -> bool:
        """Exchange the code of functions; return false if the module is imported and has none of them."""
        codes = dict(changed)
        functions = self._functions[changed[0][0].co_filename]
        chosen = [function for function in functions if function.__code__ in codes]
        for function in chosen:
            try:
                function.__code__ = codes[function.__code__]
            except ValueError:  # the mutant uses other names of the function around it
                return False
        return bool(chosen) or not functions

    def _tell(self, by: str | None) -> None:
        os.write(self._result, (json.dumps({"by": by}) + "\n").encode())
        os._exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End the child at the first failure."""
        if report.failed and self._result >= 0:
            self._tell(report.nodeid)


def pytest_configure(config: pytest.Config) -> None:
    """Run mutants if the variable `MUTANTS` is set."""
    if "MUTANTS" in os.environ:
        config.pluginmanager.register(ForkedMutants())
