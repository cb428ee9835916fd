"""Faults in how axes are read and compared, and in what becomes of ArgMax's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import altered
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, ELEMENTWISE, explicit_axis, is_monotone, rewire

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.passes.eliminate_nop_monotone_argmax import Site


def _compared(agree: Callable[[int | None, int | None], bool], *, explicit: bool = True) -> Callable[[Site], bool]:
    """The predicate with another comparison of the operator's axis and ArgMax's.

    Args:
        explicit: whether ArgMax's axis must be there.
    """

    def fires(site: Site) -> bool:
        own, reduced = explicit_axis(site.producer), explicit_axis(site.argmax)
        if explicit and reduced is None:
            return False
        if site.producer.op_type in ELEMENTWISE:
            return True
        return site.producer.op_type in ALONG_AXIS and agree(own, reduced)

    return fires


def _absolute(own: int | None, reduced: int | None) -> bool:
    return own is not None and reduced is not None and abs(own) == abs(reduced)


def _default_last(own: int | None, reduced: int | None) -> bool:
    return (-1 if own is None else own) == reduced


def _missing_is_equal(own: int | None, reduced: int | None) -> bool:
    return own is None or own == reduced


def _argmax_default(own: int | None, reduced: int | None) -> bool:
    return own == (0 if reduced is None else reduced)


def _same_sign_only(site: Site) -> bool:
    return is_monotone(site) and (explicit_axis(site.argmax) or 0) >= 0


def _first_axes_only(site: Site) -> bool:
    return is_monotone(site) and explicit_axis(site.argmax) in {-1, 0, 1}


def _since_13(site: Site) -> bool:
    versions = {entry.domain: entry.version for entry in site.scope.model.opset_import}
    return is_monotone(site) and versions.get("", versions.get("ai.onnx", 13)) >= 13


def _dropping(*names: str) -> Callable[[Site], None]:
    """Rewire, and lose attributes of ArgMax on the way."""

    def rewired(site: Site) -> None:
        rewire(site)
        kept = [attribute for attribute in site.argmax.attribute if attribute.name not in names]
        del site.argmax.attribute[:]
        site.argmax.attribute.extend(kept)

    return rewired


AXES = (
    altered("any_axis", "does not compare the axes at all", is_monotone=_compared(lambda _, __: True)),
    altered("axis_absolute", "compares the axes without their signs", is_monotone=_compared(_absolute)),
    altered(
        "axis_smaller",
        "fires where the operator's axis is at most ArgMax's",
        is_monotone=_compared(lambda own, reduced: own is not None and reduced is not None and own <= reduced),
    ),
    altered("softmax_default_axis", "takes a missing axis of Softmax for -1", is_monotone=_compared(_default_last)),
    altered("missing_axis_agrees", "takes a missing axis for the same", is_monotone=_compared(_missing_is_equal)),
    altered(
        "argmax_default_axis",
        "takes a missing axis of ArgMax for 0",
        is_monotone=_compared(_argmax_default, explicit=False),
    ),
    altered(
        "axes_both_missing",
        "takes two missing axes for the same",
        is_monotone=_compared(lambda own, reduced: own == reduced, explicit=False),
    ),
    altered("no_negative_axis", "stays where the axis is negative", is_monotone=_same_sign_only),
    altered("no_far_axis", "stays where the axis is none of -1, 0 and 1", is_monotone=_first_axes_only),
    altered("opset_13_only", "stays below opset 13", is_monotone=_since_13),
    altered("drops_keepdims", "drops keepdims of ArgMax", rewire=_dropping("keepdims")),
    altered("drops_select_last_index", "drops select_last_index of ArgMax", rewire=_dropping("select_last_index")),
    altered("drops_axis", "drops ArgMax's axis", rewire=_dropping("axis")),
)
