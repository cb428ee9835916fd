"""Check the shape of the package: wings and parts, names of files, import cycles, class names, dense statements.

python checks/measurements/check_structure.py [-v]

Prints every figure with its limit, and exits with 1 if a limit is exceeded. -v also lists what was counted.
import-linter checks which wing and which part may import which; see `[tool.importlinter]` in pyproject.toml.
"""

from __future__ import annotations

import ast
import gc
import io
import sys
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "conformance"
IMPORTERS = (PACKAGE, "generators", "checks")
"""Root packages whose imports count when import cycles are searched."""

STANDALONE = {f"{PACKAGE}.subjects.adapters.server", f"{PACKAGE}.subjects.calling.harness"}
"""Modules that run where the package is not installed, so that they define their own exceptions and requests."""

MAX_WINGS = 8
MAX_PARTS = 8
"""Limits for the folders of the package, and for the folders and modules in one of these."""

MAX_SAME_NAME = 2
"""Largest allowed number of modules with the same file name, in the package and the generators together."""

MAX_FILES_WITH_INTERNALS = 195
"""Limit for test files that import modules of the package, and not only its public names or its command line."""

RECORDED_BY_DIGEST = ("subjects/adapters/", "subjects/calling/harness.py")
"""Files whose digest is in recorded results, which a change of their form would make outdated."""

DOORS = {f"{PACKAGE}{name}" for name in ("", ".commands", ".commands.cli", ".base.verdicts", ".corpus.cases.case")}
"""Modules that any test imports: the command line, and the modules whose names CONTRIBUTING.md promises to keep."""


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


@cache
def syntax_nodes(source: str) -> list[ast.AST]:
    """Return the module of a source and all nodes below it."""
    return list(ast.walk(ast.parse(source)))


def code_lines(source: str) -> int:
    """Count the lines of a module without blank lines, comments and docstrings."""
    docstrings: set[int] = set()
    for node in syntax_nodes(source):
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
        for node in ast.iter_child_nodes(syntax_nodes(source)[0]):
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
    wings = [path for path in sorted((ROOT / PACKAGE).iterdir()) if (path / "__init__.py").exists()]
    parts = {wing.name: [path.name for path in wing.iterdir() if is_part(path)] for wing in wings}
    by_wing: dict[str, int] = defaultdict(int)
    for module, text in texts.items():
        by_wing[".".join(module.split(".")[:2])] += code_lines(text)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    imports[PACKAGE] = set()  # it imports a public name when it is used
    cycles = import_cycles(imports)
    own = {module: source for module, source in texts.items() if module not in STANDALONE}
    shared = {name: where for name, where in public_classes(own).items() if len(where) > 1}
    empty = [
        name
        for name, text in texts.items()
        if not is_package(name) and not any(map(_is_definition, ast.iter_child_nodes(syntax_nodes(text)[0])))
    ]
    names = modules_by_file_name()
    free = [file for file in python_files() if not any(each in str(file) for each in RECORDED_BY_DIGEST)]
    dense = [f"{file.relative_to(ROOT)}:{line}" for file in free for line in dense_statements(file.read_text("utf-8"))]

    yield Bar("wings", len(wings), MAX_WINGS, found=tuple(wing.name for wing in wings))
    crowded = tuple(f"{len(names)} {wing}: {', '.join(sorted(names))}" for wing, names in parts.items())
    most = max(len(names) for wing, names in parts.items() if wing != "commands")
    yield Bar("parts of the largest wing, without commands", most, MAX_PARTS, found=crowded)
    repeated = tuple(f"{name}: {', '.join(where)}" for name, where in names.items() if len(where) > MAX_SAME_NAME)
    yield Bar(
        "largest number of modules with one file name", max(map(len, names.values())), MAX_SAME_NAME, found=repeated
    )
    yield Bar("dense statements", len(dense), 0, found=tuple(dense))
    yield Bar("import cycles", len(cycles), 0, found=tuple(" ↔ ".join(cycle) for cycle in cycles))
    classes = tuple(f"{name}: {', '.join(where)}" for name, where in sorted(shared.items()))
    yield Bar("names that several public classes share", len(shared), 0, found=classes)
    yield Bar("modules that define nothing", len(empty), 0, found=tuple(empty))
    lines = tuple(f"{lines:6,} {name}" for name, lines in sorted(by_wing.items(), key=lambda each: -each[1]))
    yield Bar("lines of code without comments and docstrings", sum(by_wing.values()), float("inf"), found=lines)


def is_part(path: Path) -> bool:
    """Return whether a path is a part of a wing: a package, or a module other than `__init__`."""
    return (path / "__init__.py").exists() or (path.suffix == ".py" and path.stem != "__init__")


def is_package(module: str) -> bool:
    """Return whether a module is the `__init__` module of a package."""
    return (ROOT / module.replace(".", "/") / "__init__.py").exists()


def python_files() -> list[Path]:
    """Return the modules of the package and of the generators."""
    return [file for package in (PACKAGE, "generators") for file in sorted((ROOT / package).rglob("*.py"))]


def modules_by_file_name() -> dict[str, list[str]]:
    """Return the modules with each file name, without `__init__` and `__main__`."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in python_files():
        if not file.stem.startswith("__"):
            found[file.name].append(str(file.relative_to(ROOT)))
    return found


def dense_statements(source: str) -> Iterator[int]:
    """Yield the lines of statements that are dense for no reason.

    These are an assignment of a tuple of values to a tuple of names, unless a value uses one of the names (as in a
    swap), and a starred literal inside of another literal or of a call.
    """
    for node in syntax_nodes(source):
        match node:
            case ast.Assign(targets=[ast.Tuple() as targets], value=ast.Tuple() as values):
                has_star = any(isinstance(each, ast.Starred) for each in (*targets.elts, *values.elts))
                assigned = {ast.unparse(each) for each in targets.elts}
                used = {ast.unparse(each) for each in ast.walk(values) if isinstance(each, ast.Name | ast.Attribute)}
                if not has_star and not assigned & used:
                    yield node.lineno
            case ast.Starred(value=ast.Tuple() | ast.List()):
                yield node.lineno


def test_bars() -> Iterator[Bar]:
    """Measure the tests."""
    texts = {file: file.read_text("utf-8") for file in sorted((ROOT / "tests").rglob("*.py"))}
    inside = [
        f"{file.relative_to(ROOT)}: {', '.join(sorted(names))}"
        for file, text in texts.items()
        if file.name.startswith("test_") and (names := imported_modules(text) - DOORS)
    ]
    yield Bar("test files that import internal modules", len(inside), MAX_FILES_WITH_INTERNALS, found=tuple(inside))


def imported_modules(source: str) -> set[str]:
    """Return the modules of the package that a source imports."""
    nodes = syntax_nodes(source)
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name for name in names if name.split(".")[0] == PACKAGE}


def _is_definition(statement: ast.AST) -> bool:
    return not isinstance(statement, ast.Import | ast.ImportFrom | ast.Expr)


def main() -> int:
    """Print the figures; return 1 if a limit is exceeded."""
    gc.disable()  # the syntax trees are kept, and looking for garbage among them takes half of the time
    sys.path.insert(0, str(ROOT))
    is_met = True
    for bar in (*bars(), *test_bars()):
        print(bar)
        is_met &= bar.is_met
        if "-v" in sys.argv[1:] or not bar.is_met:
            for line in bar.found if "-v" in sys.argv[1:] else bar.found[:20]:
                print(f"       {line}")
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
