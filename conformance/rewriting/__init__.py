"""Graph optimizers: the suite's own implementation of the pass, and what any graph optimizer is judged by.

`eliminate` is the pass `eliminate_nop_monotone_argmax` written from what it promises, `scopes` says which uses a value
has. `judging` runs a graph optimizer on a case; `checks` has one module for each thing that it is held to.
"""
