"""Measure which faults of conformance/ the tests detect: mutate a random sample of places, and run the tests of each.

python checks/measurements/sample_mutants.py record                 record which tests execute each line
python checks/measurements/sample_mutants.py run --mutants 300  run the tests of each mutant; write
reports/test-mutation.jsonl

A mutant differs from the source in one expression or statement. `run` executes the tests that execute the line of
the mutant, quickest first, and then those that import its module, those of its package and those of the commands. It
executes tests whose recorded time is `--seconds-each` together, and stops at the first failure. A mutant inside a
function runs in a forked child of one pytest, and others run in a pytest of their own. `run` with the same results file
runs only mutants that the file does not have, and survivors of which more tests are left. It changes the file of the
mutant in the working tree, and restores it.
`record` runs the test files that have changed since they were recorded. Lines that only child processes execute are
not recorded. The outcomes are `detected`, `survived`, `timeout` (the tests did not end) and `untested` (no test was
found).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TextIO

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "conformance"
RESULTS = ROOT / "reports" / "test-mutation.jsonl"
RECORDED = ROOT / ".pytest_cache" / "executed-lines"
"""Folder with a JSON file for each test file: its digest, and the durations and lines of its test functions."""

PLUGIN = "executed_lines"
"""The module of scripts/ with the plugin of pytest that records lines and selects tests."""

FOLDERS_OF_COMMANDS = ("tests/commands/", "tests/golden/", "tests/run/corpus_run/")
"""Folders of tests that use the whole package, most of it in child processes."""

EXTRA_SECONDS = 60.0
TIMEOUT_FACTOR = 10.0
"""The time limit of a run of pytest is `EXTRA_SECONDS` and this multiple of the recorded time of its tests."""

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
}
"""The text of an operator and its replacement."""


@dataclass(frozen=True)
class Mutant:
    """One replacement in one file; `start` and `end` count bytes."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def source(self, original: bytes) -> bytes:
        """Return the source of the file with the replacement."""
        return original[: self.start] + self.new.encode() + original[self.end :]


class MutantFinder(ast.NodeVisitor):
    """Collects the mutants of a file."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.source = source
        self.mutants: list[Mutant] = []
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.visit(ast.parse(source))

    def _offsets(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _add(self, start: int, end: int, new: str) -> None:
        line = self.source.count(b"\n", 0, start) + 1
        self.mutants.append(Mutant(self.path, line, start, end, self.source[start:end].decode(), new))

    def _replace(self, node: ast.expr | ast.stmt, new: str) -> None:
        self._add(*self._offsets(node), new)

    def _replace_operator(self, left: ast.expr, operator: ast.AST, right: ast.expr) -> None:
        old, new = OPERATORS.get(type(operator), ("", ""))
        start, end = self._offsets(left)[1], self._offsets(right)[0]
        place = self.source.find(old.encode(), start, end)
        if old and place >= 0:
            self._add(place, place + len(old), new)

    def _negate(self, node: ast.expr) -> None:
        start, end = self._offsets(node)
        self._add(start, end, f"(not ({self.source[start:end].decode()}))")

    def visit_Compare(self, node: ast.Compare) -> None:
        """Replace each comparison by its opposite, or move its border."""
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self._replace_operator(left, operator, right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Exchange `and` and `or`."""
        self._replace_operator(node.values[0], node.op, node.values[1])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Replace an arithmetic operator."""
        self._replace_operator(node.left, node.op, node.right)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Negate a condition, but not the one of the imports for types."""
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Negate a condition."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Negate a boolean, or add 1 to a number."""
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._replace(node, f"({self.source[slice(*self._offsets(node))].decode()} + 1)")

    def visit_Return(self, node: ast.Return) -> None:
        """Return None."""
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._replace(node, "return None")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Remove a call."""
        if isinstance(node.value, ast.Call):
            self._replace(node, "pass")
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Remove a `raise`."""
        self._replace(node, "pass")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        """Replace `break`."""
        self._replace(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        """Replace `continue`."""
        self._replace(node, "break")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave annotations unchanged."""
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Leave annotations unchanged."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leave annotations and decorators unchanged."""
        for part in (node.args, *node.body):
            self.visit(part)


def sample(seed: int, number: int, pattern: str = "**/*.py") -> list[Mutant]:
    """Return a random sample of the mutants of the package's files that match a pattern."""
    files = sorted((ROOT / PACKAGE).glob(pattern))
    found = [m for file in files for m in MutantFinder(str(file.relative_to(ROOT)), file.read_bytes()).mutants]
    return random.Random(seed).sample(found, min(number, len(found)))  # noqa: S311


def pytest_command(*arguments: str) -> list[str]:
    """Return the command that runs the tests of `nox -s tests` in one process."""
    return [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *arguments]


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of pytest."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "checks" / "measurements"), **variables}


def test_files() -> list[Path]:
    """Return the test files of `nox -s tests`, relative to the root."""
    found = (ROOT / "tests").rglob("test_*.py")
    return sorted(path.relative_to(ROOT) for path in found if "browser" not in path.parts)


def digest(file: Path) -> str:
    """Return the digest of a test file."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()


def record_file(file: Path) -> Path:
    """Return the path of the records of a test file."""
    return RECORDED / f"{'.'.join(file.with_suffix('').parts)}.json"


def is_recorded(file: Path) -> bool:
    """Return whether the records of a test file are there and up to date."""
    path = record_file(file)
    return path.exists() and json.loads(path.read_bytes())["digest"] == digest(file)


def record() -> int:
    """Run the test files whose records are missing or out of date, and write their records."""
    RECORDED.mkdir(parents=True, exist_ok=True)
    files = [file for file in test_files() if not is_recorded(file)]
    if files:
        written = {str(file): {"digest": digest(file), "path": str(record_file(file))} for file in files}
        variables = {"RECORD": json.dumps(written)}
        subprocess.run(pytest_command(*map(str, files)), cwd=ROOT, env=environment(**variables), check=False)
    return 0


class Recorded:
    """The recorded lines and durations of all test files, and the modules that the other files import."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._tests: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._functions: dict[str, list[str]] = {}
        self._importers: dict[str, set[str]] = defaultdict(set)
        for file in test_files():
            self._read_imports(file)
            if record_file(file).exists():
                document = json.loads(record_file(file).read_bytes())
                self._functions[str(file)] = [*document["seconds"]]
                self._read_records(document)

    def _read_records(self, document: dict[str, Any]) -> None:
        self.seconds |= document["seconds"]
        for path, lines in document["lines"].items():
            for line, tests in lines.items():
                self._tests[path, int(line)] += tests

    def _read_imports(self, file: Path) -> None:
        for node in ast.walk(ast.parse((ROOT / file).read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    self._importers[name].add(str(file))

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute the line of a mutant, and then those of its module and package."""
        module = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        folders = (f"tests/{module.split('.')[1]}/", *FOLDERS_OF_COMMANDS)
        files = [*self._importers[module], *(str(file) for file in test_files() if str(file).startswith(folders))]
        others = [test for file in files for test in self._functions.get(file, [file])]
        executing = self._tests.get((mutant.path, mutant.line), [])
        return list(dict.fromkeys([*self._sorted(executing), *self._sorted(others)]))

    def _sorted(self, tests: Iterable[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.seconds.get(test, 1.0), test))


def detecting_test(tests: Sequence[str], limit: float) -> str | None:
    """Run tests in a process of their own until one fails; return the name of that test, `timeout` or None."""
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as selected:
        json.dump(tests, selected)
        selected.flush()
        return _first_failure(pytest_command("-x", "--tb=no", "-rfE", *files), environment(SELECT=selected.name), limit)


def _first_failure(command: Sequence[str], environ: dict[str, str], limit: float) -> str | None:
    process = subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    )
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "timeout"
    if process.returncode == 0:
        return None
    failed = [line.split(" ")[1] for line in out.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else "collection"


def run_apart(mutant: Mutant, tests: Sequence[str], limit: float) -> str | None:
    """Run the tests of a mutant of code that runs at import; return the name of the test that detects it, or None."""
    file = ROOT / mutant.path
    original = file.read_bytes()
    try:
        file.write_bytes(mutant.source(original))
        return detecting_test(tests, limit)
    finally:
        file.write_bytes(original)


@dataclass
class Task:
    """A mutant and its tests, quickest first, as many as the time for a mutant permits."""

    mutant: Mutant
    tests: list[str]
    left: int
    """Number of tests that the time does not permit."""

    seconds: float

    def record(self, by: str | None) -> dict[str, object]:
        """Return the record of the result."""
        outcome = "timeout" if by == "timeout" else "detected" if by else "survived" if self.tests else "untested"
        return {**asdict(self.mutant), "outcome": outcome, "by": by, "tests": len(self.tests), "left": self.left}


def plan(mutant: Mutant, recorded: Recorded, seconds: float) -> Task:
    """Choose the tests of a mutant whose recorded times are within a number of seconds together."""
    tests, used = recorded.tests_of(mutant), 0.0
    chosen = []
    for test in tests:
        chosen.append(test)
        used += recorded.seconds.get(test, 1.0)
        if used > seconds:
            break
    return Task(mutant, chosen, len(tests) - len(chosen), EXTRA_SECONDS + TIMEOUT_FACTOR * used)


def run_tasks(tasks: Sequence[Task]) -> Iterator[tuple[Task, str | None]]:
    """Run the tests of mutants: in forked children of one pytest, and then those that need a new import."""
    files = sorted({test.partition("::")[0] for task in tasks for test in task.tests})
    with tempfile.TemporaryDirectory() as folder:
        mutants, outcomes = Path(folder, "mutants"), Path(folder, "outcomes")
        with mutants.open("w", encoding="utf-8") as stream:
            for task in tasks:
                original = (ROOT / task.mutant.path).read_bytes()
                told = {"path": task.mutant.path, "tests": task.tests, "seconds": task.seconds}
                sources = {"original": original.decode(), "mutated": task.mutant.source(original).decode()}
                stream.write(json.dumps(told | sources) + "\n")
        outcomes.touch()
        command = [*pytest_command("--assert=plain", *files), "-p", "forked_mutants"]
        variables = {"MUTANTS": str(mutants), "OUTCOMES": str(outcomes)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment(**variables), stdout=subprocess.DEVNULL)
        later = []
        try:
            with outcomes.open(encoding="utf-8") as stream:
                while line := next_line(stream, process):
                    found = json.loads(line)
                    task = tasks[found["index"]]
                    if found["by"] == "import":
                        later.append(task)
                    else:
                        yield task, found["by"]
        finally:
            process.terminate()
            process.wait()
    for task in later:
        yield task, run_apart(task.mutant, task.tests, task.seconds)


def next_line(stream: TextIO, process: subprocess.Popen[bytes]) -> str:
    """Wait for a line of a file that a process writes; return an empty line when the process has ended."""
    text = ""
    while not text.endswith("\n"):
        has_ended = process.poll() is not None
        text += stream.readline()
        if not text and has_ended:
            return ""
        if not text.endswith("\n"):
            time.sleep(0.05)
    return text


def key_of(record: dict[str, object]) -> tuple[object, ...]:
    """Return what identifies a mutant in the results, also after lines were inserted above it."""
    return record["path"], record["old"], record["new"], record["line"]


def run(mutants: Sequence[Mutant], seconds: float, seconds_each: float, output: Path) -> int:
    """Run mutants that the results do not have until the time is over, and print how many were detected.

    A mutant that survived is run again if the time for a mutant permits more of its tests.
    """
    known = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    finished = {key_of(each): each for each in known}
    recorded, until = Recorded(), time.monotonic() + seconds
    tasks = [plan(mutant, recorded, seconds_each) for mutant in mutants]
    tasks = [task for task in tasks if len(task.tests) > finished_tests(finished.get(key_of(asdict(task.mutant))))]
    for task, by in run_tasks(tasks):
        finished[key_of(asdict(task.mutant))] = task.record(by)
        with output.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(task.record(by), ensure_ascii=False) + "\n")
        if time.monotonic() > until:
            break
    print_table([finished[key] for mutant in mutants if (key := key_of(asdict(mutant))) in finished])
    return 0


def finished_tests(record: dict[str, Any] | None) -> float:
    """Return the number of tests after which a mutant needs no further run: -1 if it has not been run."""
    if record is None:
        return -1
    return record["tests"] if record["outcome"] in {"survived", "untested"} else float("inf")


def print_table(results: Sequence[dict[str, object]]) -> None:
    """Print the number of mutants by package and outcome."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for each in results:
        for row in (Path(str(each["path"])).parts[1], "all"):
            table[row][str(each["outcome"])] += 1
    for row, counts in sorted(table.items(), key=lambda item: item[0] == "all"):
        cells = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
        print(f"{row:24} {counts.total():4} mutants: {cells}")


def main() -> int:
    """Execute the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("action", choices=("record", "run"))
    parser.add_argument("--mutants", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--seconds-each", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FILE")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the file of a mutant is restored
    if arguments.action == "record":
        return record()
    mutants = sample(arguments.seed, arguments.mutants)
    return run(mutants, arguments.seconds, arguments.seconds_each, arguments.output)


if __name__ == "__main__":
    sys.exit(main())
