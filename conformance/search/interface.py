"""The declared sizes of the values of a random model."""

from __future__ import annotations

import onnx

from conformance.factors.wrapping import BuiltModel
from conformance.models.inputs import required_input_names


def open_declared_sizes(built: BuiltModel) -> BuiltModel:
    """Return a model that declares a symbol for each size in which the inputs of two data sets differ.

    The sizes of all outputs are not declared.
    """
    model = onnx.load_model_from_string(built.model)
    declared = {value.name: value for value in model.graph.input}
    for name, *arrays in zip(required_input_names(model.graph), *built.data_sets, strict=False):
        dimensions = declared[name].type.tensor_type.shape.dim
        for axis, sizes in enumerate(zip(*(array.shape for array in arrays), strict=True)):
            if len({*sizes}) > 1:
                dimensions[axis].dim_param = f"size_{axis}_of_{name}"
    for value in model.graph.output:
        for dimension in value.type.tensor_type.shape.dim:
            dimension.Clear()
    return BuiltModel(model.SerializeToString(deterministic=True), built.data_sets)
