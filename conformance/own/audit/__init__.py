"""Audit of a user's own model: each node is judged on the values that the runtime itself passed to it."""
