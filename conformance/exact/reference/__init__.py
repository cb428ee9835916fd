"""The reference: exact values and bounds of operators, evaluated in several number systems.

`formulas` has the formulas of operators that compute with every kind of tensor, and `enclosures` those that compute
with bounds over arrays only. `operators` has the evaluations for number systems: training optimizers and ArgMax as
plain array functions, the others in tables. `numbers` has the number systems: NumPy arrays, exact decimals, and
decimals with an interval that encloses the results of all admissible evaluations. `graph` evaluates a model,
`node_validity` validates a node, and `oracle` computes the outputs that a conforming backend may return.
"""
