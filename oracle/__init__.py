"""A second oracle: every expected value of the corpus, computed again from the models' bytes.

It is written from ONNX's operator documents and from docs/levels-and-rulings.md. It knows nothing of the package
`conformance`: it reads the corpus with onnx's protobuf classes, and its real numbers are Arb's. Where it and the corpus
differ, one of the two is wrong.
"""
