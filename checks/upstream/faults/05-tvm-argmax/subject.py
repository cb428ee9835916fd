"""Calls tvm."""

from __future__ import annotations

from adapter.tvm import TvmBackend as Backend

OPTIONS = {}


def prepare(model):
    """Return a function from inputs, in the graph's order, to outputs."""
    valued = {each.name for each in model.graph.initializer}
    valued |= {each.values.name for each in model.graph.sparse_initializer}
    every = [each.name for each in model.graph.input]
    names = [name for name in every if name not in valued]
    options = dict(OPTIONS)
    prepared = Backend.prepare(model.SerializeToString(), options.pop("device", "CPU"), **options)
    fed = {len(names): names, len(every): every}
    return lambda inputs: prepared.run(dict(zip(fed[len(inputs)], inputs, strict=True)))
