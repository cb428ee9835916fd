"""Whether a harness keeps to the protocol of docs/harness.md, apart from whether its runtime is right.

`conversation` is the process and its lines, `questions` what every fact uses to ask, `probes` the models that are
asked about; `any_facts`, `backend_facts` and `optimizer_facts` are the facts, in tables; `check` walks them.
"""
