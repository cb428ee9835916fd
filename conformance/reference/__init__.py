"""The operators as the specification writes them, each pseudo-code once, and the number systems it runs on.

`adam`, `momentum`, `adagrad`, `argmax` and `elementwise` hold the pseudo-code in plain array arithmetic. `exact`,
`bounded` and `native` are what it computes with: `decimal.Decimal`, an interval around it that encloses every
admissible evaluation, and NumPy arrays. `graph` walks a model, `oracle` says what a conforming backend may answer.
"""
