"""Graph optimizers named for what they do."""

from __future__ import annotations

from conformance.adapters.optimizers import identity
from conformance.passes.eliminate_nop_monotone_argmax import eliminate


def never_fires(model):
    """Return the model unchanged, without declared passes."""
    return identity.optimize(model)


def fires(model, fixed_point=False):
    """Apply the pass without declaring it."""
    return eliminate(model, fixed_point)


def drops_metadata(model):
    """Remove the metadata of the model."""
    copy = identity.optimize(model)
    del copy.metadata_props[:]
    return copy


def raises(model):
    """Raise an error."""
    raise ValueError("cannot rewrite this")


def names_nodes_of_the_caller(model):
    """Return a copy, and name each Exp of the input model."""
    copy = identity.optimize(model)
    for node in model.graph.node:
        if node.op_type == "Exp":
            node.name = "mine"
    return copy


def renames_the_input_of_the_caller(model):
    """Rename an input of the input model."""
    model.graph.input[0].name = "renamed"
    return model
