"""Models whose functions call each other without end, or far too often, are none for the reference."""

from __future__ import annotations

import pytest
from many_nodes import doubling, recursive

from conformance.reference.graph import Graph
from conformance.verdicts import Unsupported


@pytest.mark.parametrize(("model", "said"), [(doubling(40), "more than 200,000 nodes"), (recursive(), "calls itself")])
def test_functions_whose_calls_do_not_end_are_unsupported(model, said):
    with pytest.raises(Unsupported, match=said):
        Graph.of(model)
