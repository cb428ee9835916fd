"""What can be said of an ONNX model without running it: its tensors, types, graphs, signatures and feeds."""
