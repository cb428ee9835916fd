"""Prints how the package is built, and ends with 1 where it is not as docs/rooms.md says.

python scripts/house.py
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PACKAGE = "conformance"
MOST_ROOMS, LONGEST_CHAIN, LONGEST_FILE = 36, 10, 300


def rooms() -> dict[str, set[str]]:
    """The rooms at the root of the package, modules and folders, each with those that it imports.

    `__main__.py` is `cli.py` by another name, and none.
    """
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    found = sorted(graph.find_children(PACKAGE) - {f"{PACKAGE}.__main__"})
    return {
        importer: {
            imported
            for imported in found
            if imported != importer
            and graph.direct_import_exists(importer=importer, imported=imported, as_packages=True)
        }
        for importer in found
    }


def longest_chain(imports: dict[str, set[str]]) -> list[str]:
    """The longest chain of rooms in which each imports the next; ends where a room would come twice."""
    chains: dict[str, list[str]] = {}

    def chain_from(room: str, above: tuple[str, ...]) -> list[str]:
        if room in above:
            raise SystemExit(f"circle of imports: {' → '.join((*above[above.index(room) :], room))}")
        if room not in chains:
            below = [chain_from(each, (*above, room)) for each in sorted(imports[room])]
            chains[room] = [room, *max(below, key=len, default=[])]
        return chains[room]

    return max((chain_from(room, ()) for room in imports), key=len)


def long_files() -> list[str]:
    """The Python files of more than the allowed lines, in the folders that people read."""
    folders = (PACKAGE, "generators", "oracle", "tests", "scripts", "benchmarks")
    files = (file for folder in folders for file in sorted((ROOT / folder).rglob("*.py")))
    return [str(file.relative_to(ROOT)) for file in files if file.read_bytes().count(b"\n") > LONGEST_FILE]


def empty_modules() -> list[str]:
    """The package's modules, markers of folders aside, in which nothing is defined."""
    modules = (file for file in sorted((ROOT / PACKAGE).rglob("*.py")) if file.name != "__init__.py")
    return [str(file.relative_to(ROOT)) for file in modules if not any(map(_defines, _statements(file)))]


def _statements(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text(encoding="utf-8")).body


def _defines(statement: ast.stmt) -> bool:
    return not isinstance(statement, ast.Import | ast.ImportFrom | ast.Expr)


def main() -> int:
    """Print the figures; 1 where one is beyond its limit."""
    sys.path.insert(0, str(ROOT))
    imports, long, empty = rooms(), long_files(), empty_modules()
    chain = longest_chain(imports)
    print(f"rooms at the root of {PACKAGE}/: {len(imports)} (at most {MOST_ROOMS})")
    names = " → ".join(room.removeprefix(f"{PACKAGE}.") for room in chain)
    print(f"longest chain of imports: {len(chain)} (at most {LONGEST_CHAIN}): {names}")
    print("circles: 0")
    print(f"files above {LONGEST_FILE} lines: {len(long)}{': ' + ', '.join(long) if long else ''}")
    print(f"modules in which nothing is defined: {len(empty)}{': ' + ', '.join(empty) if empty else ''}")
    return int(len(imports) > MOST_ROOMS or len(chain) > LONGEST_CHAIN or bool(long or empty))


if __name__ == "__main__":
    sys.exit(main())
