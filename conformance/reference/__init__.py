"""The reference: every operator written once, and evaluated in several number systems.

`operators` has the evaluation of each operator: training optimizers and ArgMax as plain array functions, the others in
tables. `numbers` has the number systems: NumPy arrays, exact decimals, and decimals with an interval that encloses the
results of all admissible evaluations. `graph` evaluates a model, `validity` validates it, and `oracle` computes the
outputs that a conforming backend may return.
"""
