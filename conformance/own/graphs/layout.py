"""A layered layout of a model's graph: nodes in rows, each below the nodes whose results it takes.

The layout has the usual steps (Sugiyama, Tagawa and Toda 1981): rows by the longest path, bends where an edge passes a
row, an order within each row that follows the neighbours' mean position, and positions with a minimum distance. It is
the same for the same graph. Its time is linear in the number of nodes and bends.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROW_HEIGHT = 44.0
"""Distance of two rows."""

NODE_WIDTH = 132.0
"""Distance of two nodes of one row."""

BEND_WIDTH = 24.0
"""Distance of an edge that passes a row from its neighbours."""

NODE_HEIGHT = 24.0
"""Height of a node."""

MAX_LABEL_LENGTH = 18
"""Characters of an operator's name in a node."""

MAX_BENDS = 20_000
"""Number of bends above which edges are drawn as straight lines."""

_SWEEPS = 6
_MARGIN = 16.0


@dataclass(frozen=True)
class Layout:
    """The positions of a graph's nodes, and the courses of its edges.

    Attributes:
        width: the width of the drawing.
        height: its height.
        places: the centre of each node.
        courses: for each edge the points that it passes, from the first node to the second.
    """

    width: float
    height: float
    places: Mapping[int, tuple[float, float]]
    courses: Mapping[tuple[int, int], Sequence[tuple[float, float]]]


def layered_layout(nodes: Sequence[int], edges: Iterable[tuple[int, int]]) -> Layout:
    """Return the layout of a graph.

    Args:
        nodes: the nodes, each after the nodes before it.
        edges: pairs of nodes; the first node is before the second.
    """
    known = set(nodes)
    pairs = sorted({(a, b) for a, b in edges if a in known and b in known and a != b})
    rows = _rows(nodes, pairs)
    paths = _paths(rows, pairs)
    members: list[list[int]] = [[] for _ in range(max(rows.values(), default=-1) + 1)]
    for node in rows:
        members[rows[node]].append(node)
    above: dict[int, list[int]] = {node: [] for node in rows}
    below: dict[int, list[int]] = {node: [] for node in rows}
    for path in paths.values():
        for upper, lower in pairwise(path):
            above[lower].append(upper)
            below[upper].append(lower)
    x = _positions(members, above, below, {node: NODE_WIDTH if node in known else BEND_WIDTH for node in rows})
    left = min(x.values(), default=0.0) - NODE_WIDTH / 2 - _MARGIN
    right = max(x.values(), default=0.0) + NODE_WIDTH / 2 + _MARGIN
    points = {node: (round(x[node] - left, 1), _MARGIN + ROW_HEIGHT * (rows[node] + 0.5)) for node in rows}
    return Layout(
        round(right - left, 1),
        2 * _MARGIN + ROW_HEIGHT * len(members),
        {node: points[node] for node in nodes},
        {pair: [points[node] for node in path] for pair, path in paths.items()},
    )


def _rows(nodes: Sequence[int], pairs: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return the row of each node: by the longest path to it, and then as near to the nodes after it as possible."""
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for first, second in pairs:
        before.setdefault(second, []).append(first)
        after.setdefault(first, []).append(second)
    rows: dict[int, int] = {}
    for node in nodes:
        rows[node] = max((rows[other] + 1 for other in before.get(node, ()) if other in rows), default=0)
    for node in reversed(nodes):
        rows[node] = min((rows[other] - 1 for other in after.get(node, ())), default=rows[node])
    return rows


def _paths(rows: dict[int, int], pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], list[int]]:
    """Return the nodes and bends that each edge passes, and add the rows of the bends, whose numbers are negative."""
    is_bent = sum(max(0, rows[b] - rows[a] - 1) for a, b in pairs) <= MAX_BENDS
    paths = {}
    bend = min([0, *rows]) - 1
    for first, second in pairs:
        path = [first]
        for row in range(rows[first] + 1, rows[second] if is_bent else 0):
            rows[bend] = row
            path.append(bend)
            bend -= 1
        paths[first, second] = [*path, second]
    return paths


def _positions(
    members: list[list[int]],
    above: Mapping[int, list[int]],
    below: Mapping[int, list[int]],
    widths: Mapping[int, float],
) -> dict[int, float]:
    """Order the members of each row, and return their horizontal positions."""
    x: dict[int, float] = {}
    for row in members:
        _place(row, {node: float(number) * NODE_WIDTH for number, node in enumerate(row)}, widths, x)
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        neighbours = above if is_down else below
        for row in members if is_down else reversed(members):
            wanted = {
                node: sum(x[other] for other in neighbours[node]) / len(neighbours[node])
                if neighbours[node]
                else x[node]
                for node in row
            }
            row.sort(key=lambda node: wanted[node])
            _place(row, wanted, widths, x)
    return x


def _place(row: Sequence[int], wanted: Mapping[int, float], widths: Mapping[int, float], x: dict[int, float]) -> None:
    """Place the members of a row near the wanted positions, with their widths as the minimum distance."""
    place = 0.0
    shift = 0.0
    last = None
    for node in row:
        smallest = wanted[node] if last is None else place + (widths[last] + widths[node]) / 2
        place = max(wanted[node], smallest)
        shift += place - wanted[node]
        x[node] = place
        last = node
    for node in row:
        x[node] -= shift / len(row)


def curve(points: Sequence[tuple[float, float]]) -> str:
    """Return the SVG path through some points, from the lower side of the first node to the upper side of the last."""
    (x, y) = points[0]
    (last_x, last_y) = points[-1]
    places = [(x, y + NODE_HEIGHT / 2), *points[1:-1], (last_x, last_y - NODE_HEIGHT / 2)]
    curves = [
        f"C{x:g} {(y + next_y) / 2:g} {next_x:g} {(y + next_y) / 2:g} {next_x:g} {next_y:g}"
        for (x, y), (next_x, next_y) in pairwise(places)
    ]
    return f"M{places[0][0]:g} {places[0][1]:g}{''.join(curves)}"


def short_label(name: str) -> str:
    """Return the name of an operator as a node has it."""
    return name if len(name) <= MAX_LABEL_LENGTH else f"{name[: MAX_LABEL_LENGTH - 1]}…"
