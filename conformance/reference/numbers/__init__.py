"""Number systems: the kinds of numbers that the reference computes with, all behind one interface.

A graph is evaluated by the same code in every system (`NumberSystem`):

- `NativeSystem`: NumPy arrays of the tensors' own types. It is the arithmetic of the `reference` backend.
- `IntervalSystem`: exact values, each with an interval of all results that a conforming backend can compute. It is the
  arithmetic of the oracle.
- `IeeeSystem`: every operator's result rounded once, correctly, to its tensor's type; or no rounding at all.

`symbolic` is not a `NumberSystem`: it records an optimizer's formula as a graph of ONNX operators.
"""
