"""The layout of a model's graph: rows follow the edges, nodes do not overlap, and large graphs stay fast."""

from __future__ import annotations

import random
import time
from itertools import combinations

import pytest

from conformance.audit import layout as layouts
from conformance.audit.layout import BEND_WIDTH, NODE_WIDTH, layered_layout


def random_graph(nodes: int, seed: int = 0) -> list[tuple[int, int]]:
    source = random.Random(seed)
    return [(source.randrange(max(0, b - 30), b), b) for b in range(1, nodes) for _ in range(source.choice([1, 1, 2]))]


def test_every_node_is_below_the_nodes_before_it() -> None:
    edges = random_graph(200)
    layout = layered_layout(range(200), edges)
    assert set(layout.places) == set(range(200))
    assert all(layout.places[a][1] < layout.places[b][1] for a, b in edges)
    for (a, b), points in layout.courses.items():
        assert (points[0], points[-1]) == (layout.places[a], layout.places[b])
        assert [y for _, y in points] == sorted({y for _, y in points})


def test_nodes_of_a_row_do_not_overlap_and_are_inside_of_the_drawing() -> None:
    layout = layered_layout(range(300), random_graph(300, 1))
    rows: dict[float, list[float]] = {}
    for x, y in layout.places.values():
        rows.setdefault(y, []).append(x)
        assert NODE_WIDTH / 2 <= x <= layout.width - NODE_WIDTH / 2
        assert 0 < y < layout.height
    assert all(abs(a - b) >= NODE_WIDTH - 0.2 for row in rows.values() for a, b in combinations(row, 2))


def test_chain_is_straight_beside_an_edge_that_skips_it() -> None:
    layout = layered_layout(range(10), [*((n, n + 1) for n in range(9)), (0, 9)])
    assert len({x for number, (x, _) in layout.places.items() if 1 < number < 8}) == 1
    bend = layout.courses[0, 9][4][0]
    assert abs(bend - layout.places[4][0]) >= (NODE_WIDTH + BEND_WIDTH) / 2 - 0.2


def test_same_graph_has_the_same_layout_in_any_order_of_edges() -> None:
    edges = random_graph(100)
    assert layered_layout(range(100), edges) == layered_layout(range(100), edges[::-1])


def test_graph_with_too_many_bends_has_straight_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "MAX_BENDS", 5)
    layout = layered_layout(range(20), [*((n, n + 1) for n in range(19)), (0, 19)])
    assert len(layout.courses[0, 19]) == 2


def test_graph_of_thousands_of_nodes_is_laid_out_quickly() -> None:
    began = time.process_time()
    layered_layout(range(3000), random_graph(3000))
    assert time.process_time() - began < 5


def test_empty_graph_has_a_layout() -> None:
    assert layered_layout([], []).places == {}
