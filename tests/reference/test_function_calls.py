"""Models whose functions call each other endlessly, or expand to too many nodes, are unsupported."""

from __future__ import annotations

import pytest
from large_models import doubling, recursive

from conformance.reference.graph import Graph
from conformance.verdicts import Unsupported


@pytest.mark.parametrize(("model", "said"), [(doubling(40), "more than 200,000 nodes"), (recursive(), "calls itself")])
def test_model_with_endless_function_calls_is_unsupported(model, said):
    with pytest.raises(Unsupported, match=said):
        Graph.from_model(model)
