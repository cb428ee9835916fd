"""Check the size and the shape of the package: number and length of modules, lines of code, import cycles, class names.

python scripts/check_structure.py [-v]

Prints every figure with its limit, and exits with 1 if a limit is exceeded. -v also lists what was counted.
Which layer may import which is checked by import-linter; see `[tool.importlinter]` in pyproject.toml.
"""

from __future__ import annotations

import ast
import io
import statistics
import sys
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "conformance"
IMPORTERS = (PACKAGE, "generators", "mutation", "oracle")
"""Root packages whose imports count when the importers of a module are counted."""

STANDALONE = {f"{PACKAGE}.adapters.server", f"{PACKAGE}.subjects.harness"}
"""Modules that run where the package is not installed, so that they define their own exceptions and requests."""

MAX_MODULES = 321
MIN_MEDIAN_LINES = 140
SMALL_MODULE_LINES = 120
MAX_SMALL_MODULES = 28
"""Limit for modules that are shorter than `SMALL_MODULE_LINES` and have exactly one importer."""

MAX_CODE_LINES = 46_320
"""Limit for the lines of installed Python, without blank lines, comments and docstrings."""

MAX_TEST_CODE_LINES = 40_000
"""Limit for the lines of tests/, counted in the same way."""

MAX_FILES_WITH_INTERNALS = 193
"""Limit for test files that import modules of the package, and not only its public names or its command line."""

DOORS = {PACKAGE, f"{PACKAGE}.cli"}
"""Modules that any test imports."""


@dataclass(frozen=True)
class Bar:
    """One figure of the package and its limit."""

    name: str
    figure: float
    limit: float
    is_minimum: bool = False
    found: tuple[str, ...] = ()
    """The counted items, one line each."""

    @property
    def is_met(self) -> bool:
        """True if the figure is within the limit."""
        return self.figure >= self.limit if self.is_minimum else self.figure <= self.limit

    def __str__(self) -> str:
        mark = "ok  " if self.is_met else "FAIL"
        return f"{mark} {self.name}: {self.figure:g} ({'at least' if self.is_minimum else 'at most'} {self.limit:g})"


def code_lines(source: str) -> int:
    """Count the lines of a module without blank lines, comments and docstrings."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in ignored:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def import_cycles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through other modules (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for imported in sorted(imports[module]):
            if imported not in index:
                visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], index[imported])
        if low[module] == index[module]:
            group = [module]
            while stack[-1] != module:
                group.append(stack.pop())
            stack.pop()
            if len(group) > 1:
                cycles.append(sorted(group))

    for module in sorted(imports):
        if module not in index:
            visit(module)
    return cycles


def public_classes(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the modules that define each public class, by the name of the class.

    Args:
        modules: the source text of each module, by its name.
    """
    definitions: dict[str, list[str]] = defaultdict(list)
    for module, source in modules.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                definitions[node.name].append(module)
    return definitions


def sources() -> dict[str, str]:
    """Return the source text of every module of the package, with `__init__` modules, by the module's name."""
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file.read_text("utf-8")
        for file in files
    }


def bars() -> Iterator[Bar]:
    """Measure the package."""
    texts = sources()
    graph = grimp.build_graph(*IMPORTERS, cache_dir=None)
    packages = {module for module in texts if (ROOT / module.replace(".", "/") / "__init__.py").exists()}
    lengths = {module: text.count("\n") for module, text in texts.items() if module not in packages}
    small = [
        f"{module} ({lines} lines, imported by {importers[0]})"
        for module, lines in lengths.items()
        if lines < SMALL_MODULE_LINES and len(importers := sorted(graph.find_modules_that_directly_import(module))) == 1
    ]
    by_folder: dict[str, int] = defaultdict(int)
    for module, text in texts.items():
        by_folder[".".join(module.split(".")[:2])] += code_lines(text)
    cycles = import_cycles({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})
    own = {module: source for module, source in texts.items() if module not in STANDALONE}
    shared = {name: where for name, where in public_classes(own).items() if len(where) > 1}
    empty = [module for module in lengths if not any(map(_is_definition, ast.parse(texts[module]).body))]

    yield Bar(f"modules of {PACKAGE}/ without __init__.py", len(lengths), MAX_MODULES)
    yield Bar("median of their lines", statistics.median(lengths.values()), MIN_MEDIAN_LINES, is_minimum=True)
    name = f"modules under {SMALL_MODULE_LINES} lines with exactly one importer"
    yield Bar(name, len(small), MAX_SMALL_MODULES, found=tuple(small))
    folders = tuple(f"{lines:6,} {name}" for name, lines in sorted(by_folder.items(), key=lambda each: -each[1]))
    name = "lines of installed Python without blanks, comments and docstrings"
    yield Bar(name, sum(by_folder.values()), MAX_CODE_LINES, found=folders)
    yield Bar("import cycles", len(cycles), 0, found=tuple(" ↔ ".join(cycle) for cycle in cycles))
    classes = tuple(f"{name}: {', '.join(where)}" for name, where in sorted(shared.items()))
    yield Bar("names that several public classes share", len(shared), 0, found=classes)
    yield Bar("modules that define nothing", len(empty), 0, found=tuple(empty))


def test_bars() -> Iterator[Bar]:
    """Measure the tests."""
    texts = {file: file.read_text("utf-8") for file in sorted((ROOT / "tests").rglob("*.py"))}
    inside = [
        f"{file.relative_to(ROOT)}: {', '.join(sorted(names))}"
        for file, text in texts.items()
        if file.name.startswith("test_") and (names := imported_modules(text) - DOORS)
    ]
    name = "lines of tests/ without blanks, comments and docstrings"
    yield Bar(name, sum(map(code_lines, texts.values())), MAX_TEST_CODE_LINES)
    yield Bar("test files that import internal modules", len(inside), MAX_FILES_WITH_INTERNALS, found=tuple(inside))


def imported_modules(source: str) -> set[str]:
    """Return the modules of the package that a source imports."""
    nodes = [*ast.walk(ast.parse(source))]
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name for name in names if name.split(".")[0] == PACKAGE}


def _is_definition(statement: ast.stmt) -> bool:
    return not isinstance(statement, ast.Import | ast.ImportFrom | ast.Expr)


def main() -> int:
    """Print the figures; return 1 if a limit is exceeded."""
    sys.path.insert(0, str(ROOT))
    is_met = True
    for bar in (*bars(), *test_bars()):
        print(bar)
        is_met &= bar.is_met
        if "-v" in sys.argv[1:] or not bar.is_met:
            for line in bar.found:
                print(f"       {line}")
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
