"""The wing `own`: a user's own model.

- `graphs`: reads, renames, inlines, cuts and feeds a model
- `audit`: judges every node on the values that a runtime computes
- `blame`: finds the nodes that cause a difference of two runtimes or of a rewritten model
- `model_cases`: makes cases of the nodes of a model, and of onnx's node tests
- `kernel_referee`: judges a function that computes one operator
- `hazard_counts` and `expansion`: the verbs `hazards` and `expand`

Imports: `base`, `exact`, `corpus`, `subjects`, `run`.
Begin with `audit/node_verdicts.py` or `blame/verdict.py`.
"""
