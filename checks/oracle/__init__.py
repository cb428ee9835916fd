"""A second oracle: every expected value of the corpus, computed again from the models' bytes.

It is an independent implementation of ONNX's operator documents, docs/explanation/levels.md and
docs/explanation/bounds.md. It does not import the package `conformance`: it reads the corpus with onnx's protobuf
classes, and computes with the real numbers of Arb. If it differs from the corpus, one of the two is wrong.
"""
