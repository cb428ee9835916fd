"""What to test: one module per operator or pass, each with a function `cases`; nothing but case definitions.

No expected value is computed here: the oracle does that, from the serialised model.
"""
