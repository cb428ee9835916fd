"""Check that a harness implements the protocol of docs/reference/protocol.md. Accuracy is not checked.

`session` runs the harness and exchanges messages with it. `probes` creates the models that the harness must run. The
rules are in tables: `general_rules` for all harnesses, `backend_rules` and `optimizer_rules`. `check` checks the rules
in order.
"""
