"""Declarations of operators as data, and the nodes, inputs and hard values that are drawn from them.

The declarations depend on no reference: the schemas of onnx restrict them, and onnx's checker checks each drawn model.
"""
