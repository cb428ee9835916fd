"""Changes of models that have no text form in ONNX, by the text and the name of the case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.exact.models.arrays import array_of, tensor_of
from conformance.exact.models.graphs import all_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx

    from generators.eliminate_nop_monotone_argmax.case_texts import ModelChange


def _sparse_constants(values_name: str, places_name: str) -> ModelChange:
    """Return a function that makes the values of all Constants sparse whose output begins with S.

    Args:
        values_name: name of the tensor of the elements that are not zero.
        places_name: name of the tensor of their places.
    """

    def modify(model: onnx.ModelProto) -> None:
        for node in all_nodes(model):
            if node.op_type == "Constant" and node.output[0].startswith("S"):
                array = array_of(node.attribute[0].t)
                places = np.flatnonzero(array)
                sparse = helper.make_sparse_tensor(
                    tensor_of(array.ravel()[places], values_name),
                    tensor_of(places.astype(np.int64), places_name),
                    array.shape,
                )
                node.attribute[0].CopyFrom(helper.make_attribute("sparse_value", sparse))

    return modify


CHANGES: Mapping[str, Mapping[str, ModelChange]] = {
    "function_bodies": dict.fromkeys(("sparse_constant", "sparse_constants"), _sparse_constants("values", "places")),
}
