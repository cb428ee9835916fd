"""Conformance suite for ONNX's training optimizers and the ArgMax pass around them.

What a backend's author installs: the cases' format, the reference, comparison, adapters, the runner and its reports.
The definitions of the cases live in `generators`, the frozen cases in the corpus.
"""

__version__ = "0.2.0"
