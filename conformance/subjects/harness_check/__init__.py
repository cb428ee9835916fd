"""Check that a harness implements the protocol of docs/reference/protocol.md. Accuracy is not checked.

`harness_session` runs the harness and exchanges messages with it. `harness_probes` creates the models that the harness
must run. The file `rules.toml` states the rules; `check`, `backend_rules` and `optimizer_rules` check them. `check`
applies the rules in order.
"""
