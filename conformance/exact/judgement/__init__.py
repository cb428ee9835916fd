"""Judgement of arrays: which elements of an output are outside of the bounds of the exact result.

- `node_comparison`: the outputs of one node beside their enclosures, which `audit` and the Python interface share
- `samples`: the part of a large node that is judged
- `array_judgement`: the functions `judge`, `assert_conforms` and `evaluate` of the Python interface
"""
