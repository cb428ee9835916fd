"""Graph optimizers named for what they do."""

from __future__ import annotations

from conformance.optimizers import identity
from conformance.passes.eliminate_nop_monotone_argmax import eliminate


def never_fires(model):
    """Leaves every model as it is, and says nothing of what it claims."""
    return identity.optimize(model)


def fires(model, fixed_point=False):
    """The pass, without saying so."""
    return eliminate(model, fixed_point)


def drops_metadata(model):
    """Leaves every model as it is but for its metadata."""
    copy = identity.optimize(model)
    del copy.metadata_props[:]
    return copy


def raises(model):
    """Rewrites nothing."""
    raise ValueError("cannot rewrite this")


def names_nodes_of_the_caller(model):
    """Leaves every model as it is, and names each Exp of the one that it was handed."""
    copy = identity.optimize(model)
    for node in model.graph.node:
        if node.op_type == "Exp":
            node.name = "mine"
    return copy


def renames_the_input_of_the_caller(model):
    """Renames an input, in the model that it was handed."""
    model.graph.input[0].name = "renamed"
    return model
