"""The operators as the specification writes them, each pseudo-code once, and the number systems it runs on.

`adam`, `momentum`, `adagrad`, `argmax` and `softmax` hold the pseudo-code in plain array arithmetic. `primitives`,
`elementwise`, `movements`, `reductions`, `indices`, `sequences` and `control_flow` are the tables of all operators,
`operators` joins them. `exact`, `bounded` and `native` are what is computed with: `decimal.Decimal`, an interval
around it that encloses every admissible evaluation, and NumPy arrays. `graph` walks a model, `oracle` says what a
conforming backend may answer.
"""
