"""The wing `exact`: exact values and proven bounds of ONNX models.

- `models`: reads and builds ONNX models, tensors and types, without computing them
- `clauses`: the statements of the specification, as data
- `declarations`: the operators' inputs, attributes and hard values, as data
- `reference`: formulas, number systems and bounds of every judged operator
- `judgement`: the judgement of arrays by these bounds: the functions `judge`, `assert_conforms` and `evaluate`

Imports: `base`.
Begin with `reference/oracle.py`, which computes the admissible outputs of a model.
"""
