"""Models of the training optimizers to expand, and functions that compute their outputs."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from conformance.exact.models.graphs import all_nodes
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.numbers.number_system import NumberSystem

TRAINING = "ai.onnx.preview.training"


OPERANDS = {"Adam": "XGVH", "Momentum": "XGV", "Adagrad": "XGH"}


RESULTS = {"Adam": "XVH", "Momentum": "XV", "Adagrad": "XH"}


ATTRIBUTES = {
    "Adam": ["alpha", "beta", "epsilon", "norm_coefficient", "norm_coefficient_post"],
    "Momentum": ["alpha", "beta", "norm_coefficient"],
    "Adagrad": ["decay_factor", "epsilon", "norm_coefficient"],
}


NEUTRAL = {"alpha": 0.5, "beta": 0.75, "mode": "standard", "norm_coefficient": 0.25}


OPSETS = {"": 13, TRAINING: 1}


def declared(name, dtype, shape=None):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def build_model(nodes, inputs, outputs, opsets=OPSETS, *, ir_version=8, functions=(), initializers=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, ir_version=ir_version, opset_imports=imports, functions=functions)


def optimizer(op_type, inputs, outputs, **attributes):
    if op_type == "Momentum":
        attributes = {**NEUTRAL, **attributes}
    return helper.make_node(op_type, inputs, outputs, domain=TRAINING, **attributes)


def one_node(op_type, shapes=((2,),), dtype=np.float32, R_dtype=None, opsets=OPSETS, **attributes):
    """Return a model with one optimizer node."""
    operands = {f"{kind}{i}": shape for kind in OPERANDS[op_type] for i, shape in enumerate(shapes)}
    results = {f"{kind}{i}_new": shape for kind in RESULTS[op_type] for i, shape in enumerate(shapes)}
    return build_model(
        [optimizer(op_type, ["R", "T", *operands], [*results], **attributes)],
        [
            declared("R", R_dtype or dtype, ()),
            declared("T", np.int64, ()),
            *(declared(name, dtype, shape) for name, shape in operands.items()),
        ],
        [declared(name, dtype, shape) for name, shape in results.items()],
        opsets,
    )


def model_inputs(op_type, shapes=((2,),), dtype=np.float32, R_dtype=None, R=0.125, T=3, seed=0):
    random = np.random.default_rng(seed)
    tensors = [random.uniform(0.25, 2, shape).astype(dtype) for _ in OPERANDS[op_type] for shape in shapes]
    return [np.array(R, R_dtype or dtype), np.array(T, np.int64), *tensors]


def reference_outputs(model, inputs):
    return [value.elements for value in Graph.from_model(model).run(inputs, NumberSystem())]


def onnxruntime_outputs(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, dict(zip([value.name for value in session.get_inputs()], inputs, strict=True)))


def is_within(answer, output):
    agrees = (output == answer.expected) | (np.isnan(output) & np.isnan(answer.expected))
    return output.dtype == answer.expected.dtype and bool(
        (agrees | (abs(output - answer.expected) <= answer.bound)).all()
    )


def op_types(model):
    return {(node.domain, node.op_type) for node in all_nodes(model)}


every_optimizer = pytest.mark.parametrize("op_type", OPERANDS)


def plain_model():
    inputs = [declared("X", np.float32, (2,))]
    model = build_model([helper.make_node("Relu", ["X"], ["Y"])], inputs, [declared("Y", np.float32, (2,))], {"": 7})
    model.producer_name, model.doc_string = "someone", "a model"
    model.metadata_props.add(key="license", value="none")
    return model


STATE = [declared("R", np.float32, ()), declared("T", np.int64, ()), *(declared(n, np.float32, (2,)) for n in "XGV")]


def broken(**changes):
    node = {"op_type": "Adagrad", "inputs": ["R", "T", "X", "G", "V"], "outputs": ["Y", "Z"], **changes}
    attributes = {name: value for name, value in node.items() if name not in {"op_type", "inputs", "outputs"}}
    made = helper.make_node(node["op_type"], node["inputs"], node["outputs"], domain=TRAINING, **attributes)
    return build_model([made], STATE, [helper.make_empty_tensor_value_info("Y")])
