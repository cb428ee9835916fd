"""Read and compare ONNX models without running them: tensors, types, graphs, inputs and validity."""
