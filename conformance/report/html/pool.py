"""What a report says of many cases, said once: values by number, and tensors in as few characters as show them.

The corpus repeats itself: the expanded form of a case has the same data, and its nodes are those of other cases.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.models.preview import ModelSummary


class Pool:
    """Distinct values in the order in which they came; a detail names each by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def values(self) -> list[Any]:
        return [json.loads(text) for text in self._numbers]

    def add(self, value: Any) -> int:
        """The number of a value."""
        return self._numbers.setdefault(json.dumps(value), len(self._numbers))


def packed_model(model: ModelSummary, pool: Pool) -> dict[str, Any]:
    """A model with its nodes, inputs and outputs in the pool."""
    nodes = [
        [node["op_type"], node["domain"], node["inputs"], node["outputs"], node["attributes"]]
        for node in model["nodes"]
    ]
    return {
        "ir_version": model["ir_version"],
        "opset_imports": model["opset_imports"],
        "inputs": [pool.add([value["name"], value["type"], value["shape"]]) for value in model["inputs"]],
        "outputs": [pool.add([value["name"], value["type"], value["shape"]]) for value in model["outputs"]],
        "nodes": [pool.add(node) for node in nodes],
    }


def packed_data_set(data_set: Mapping[str, Any], pool: Pool) -> dict[str, Any]:
    """A data set with its tensors in the pool."""
    packed: dict[str, Any] = {
        key: [pool.add(packed_tensor(tensor)) for tensor in data_set[key]] for key in ("inputs", "outputs")
    }
    if "hazard" in data_set:
        packed["hazard"] = data_set["hazard"]
    return packed


def packed_tensor(tensor: Mapping[str, Any]) -> list[Any]:
    """A row: name, type, shape, elided, decimals, bits, check, bounds and acceptable indices, as far as there are."""
    row = [
        tensor["name"],
        tensor["type"],
        tensor["shape"],
        tensor["elided"],
        _joined(tensor["values"]),
        _bits(tensor.get("hex")),
        tensor.get("check"),
        _joined(tensor["bounds"]) if "bounds" in tensor else None,
        tensor.get("accept"),
    ]
    while row[-1] is None:
        row.pop()
    return row


def _joined(texts: list[str]) -> str | list[str]:
    """The texts with a space between each two, where none has one itself."""
    plain = bool(texts) and all(text and " " not in text for text in texts)
    return " ".join(texts) if plain else texts


def _bits(texts: list[str] | None) -> str | list[str] | None:
    """Hexadecimal numbers without their 0x, where each has it; a list is left as it is."""
    if texts and all(text.startswith("0x") for text in texts):
        packed = _joined([text[2:] for text in texts])
        return packed if isinstance(packed, str) else texts
    return texts
