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
