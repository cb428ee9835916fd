"""Whether a harness keeps to the protocol of docs/harness.md, apart from whether its runtime is right.

`conversation` is the process and its lines, `questions` what every fact uses to ask, `probes` the models that are
asked about, `probing` how backends are asked. The facts are in tables: of all harnesses, of backends, of what these
offer besides, of graph optimizers; `check` walks them.
"""
