"""The operators as the specification writes them, each pseudo-code once, and the number systems it runs on.

`operators` has each operator: training and ArgMax as plain array arithmetic, the others as tables. `numbers` is
what they compute with: `decimal.Decimal`, an interval around it that encloses every admissible evaluation, and NumPy
arrays. `graph` walks a model, `validity` says whether it is one, and `oracle` what a conforming backend may answer.
"""
