"""Definitions that the generators of Adam, Momentum and Adagrad cases share."""
