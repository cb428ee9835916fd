"""Descriptions of wrong outputs, coarse enough that runs on different machines can be compared.

A description is a set of words, the values of the key `wrong` of an expectations file: kinds of wrong elements, such as
`zero`, and for each wrong output how many of its elements are wrong, such as `one of output 0`. An entry of such a file
accepts a failure whose description is no larger. Values and exact numbers are not compared: they depend on the machine.
"""

from __future__ import annotations

import re
from collections import defaultdict
from enum import IntEnum, auto
from typing import TYPE_CHECKING

from conformance.run.results.records import kinds_of_output, wrong_kinds
from conformance.run.results.violations import WrongKind, strip_tensor_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from conformance.run.results.records import Judged, OutputEvidence, Result

WRONG_KINDS = (*map(str, WrongKind), "no_array", "output_type", "output_shape", "interpretation")
"""Kinds of wrong elements, and violations of whole outputs."""

MAX_LISTED_PLACES = 4
"""Largest number of outputs whose extents an entry for several failures lists; more would be unreadable."""

MAX_FEW_SHARE = 1 / 16
"""Largest share of the elements of an output that is `few`; two elements are always few."""


class Extent(IntEnum):
    """How many elements of an output are wrong, over all data sets: one, few, up to half, or more."""

    ONE = auto()
    FEW = auto()
    SOME = auto()
    MOST = auto()


_EXTENT = re.compile(f"({'|'.join(one.name.lower() for one in Extent)}) of output (0|[1-9][0-9]{{0,8}})")


def is_wrong_word(text: str) -> bool:
    """Return whether a text is a value of the key `wrong`."""
    return text in WRONG_KINDS or _EXTENT.fullmatch(text) is not None


def wrong_words(result: Judged | Result) -> frozenset[str]:
    """Return what is wrong with the outputs of a failing backend, over all data sets.

    It is empty where `wrong_kinds` is.
    """
    found = wrong_kinds(result)
    if not found or found == {WrongKind.OTHER}:
        return found
    extents = _extents_of(result.outputs, is_near_only=found == {WrongKind.NEAR})
    return found.union(_extent_word(place, extent) for place, extent in extents.items())


def _extents_of(outputs: Sequence[OutputEvidence], *, is_near_only: bool) -> dict[int, Extent]:
    """Return how many elements are wrong in each output that has wrong elements, by the place of the output.

    Outputs that differ in the number of their tensor, such as `X1_new` and `X2_new`, have one place. Records have no
    sizes of correct outputs; another data set gives the size, or else another output of the place.

    Args:
        is_near_only: whether all wrong elements of the case are nearly right. Otherwise outputs whose elements are
            nearly right are left out, because they depend on the processor.
    """
    roles: dict[str, list[OutputEvidence]] = defaultdict(list)
    for output in outputs:
        roles[strip_tensor_number(output.name)].append(output)
    found: dict[int, Extent] = {}
    for place, own in enumerate(roles.values()):
        wrong = [
            output
            for output in own
            if output.violation is not None and (is_near_only or kinds_of_output(output) != {WrongKind.NEAR})
        ]
        if not wrong:
            continue
        sizes = {output.name: (output.violation and output.violation.of) or 1 for output in wrong}
        size = sum(sizes.get(output.name, max(sizes.values())) for output in own)
        count = sum((output.violation and output.violation.count) or sizes[output.name] for output in wrong)
        found[place] = _extent(count, size)
    return found


def _extent(count: int, size: int) -> Extent:
    if count <= 1:
        return Extent.ONE
    if count <= max(2, MAX_FEW_SHARE * size):
        return Extent.FEW
    return Extent.SOME if 2 * count <= size else Extent.MOST


def _split(words: Collection[str]) -> tuple[set[str], dict[int, Extent]]:
    """Return the kinds and the extents by place; of several extents of a place, the largest."""
    extents: dict[int, Extent] = {}
    kinds: set[str] = set()
    for word in words:
        if (match := _EXTENT.fullmatch(word)) is None:
            kinds.add(word)
        else:
            place = int(match[2])
            extents[place] = max(Extent[match[1].upper()], extents.get(place, Extent.ONE))
    return kinds, extents


def is_wrong_otherwise(words: Collection[str], listed: Collection[str]) -> bool:
    """Return whether a failure has wrong elements of other kinds, more of them or in other outputs than are listed.

    Elements that are nearly right depend on the processor. They count only if the failure has no others, and their
    extent may be one step larger than listed.

    Args:
        words: what is wrong; empty if it is unknown.
        listed: what an entry of an expectations file lists, or what was wrong before; empty if anything is accepted.
    """
    kinds, extents = _split(words)
    listed_kinds, listed_extents = _split(listed)
    distinct = kinds - {WrongKind.NEAR} or kinds
    accepted = set(listed_kinds)
    if WrongKind.FAR in listed_kinds:
        accepted.add(WrongKind.ROUGH)
    if WrongKind.ROUGH in accepted:
        accepted.add(WrongKind.NEAR)
    if listed_kinds and not distinct <= accepted:
        return True
    slack = 1 if WrongKind.NEAR in kinds else 0
    return bool(listed_extents) and any(
        place not in listed_extents or extent > listed_extents[place] + slack for place, extent in extents.items()
    )


def smaller_words(words: Collection[str], listed: Collection[str]) -> tuple[str, ...] | None:
    """Return what an entry can list instead, sorted, if a failure has clearly fewer wrong elements; otherwise None.

    The kinds stay, because they depend on the data too. Elements that are nearly right must be fewer by two steps.

    Args:
        words: what is wrong; empty if it is unknown.
        listed: what the entry lists.
    """
    kinds, extents = _split(words)
    listed_kinds, listed_extents = _split(listed)
    slack = 1 if WrongKind.NEAR in kinds | listed_kinds else 0
    is_smaller = any(extent > extents.get(place, 0) + slack for place, extent in listed_extents.items())
    if not kinds or not extents or not is_smaller or is_wrong_otherwise(words, listed):
        return None
    return tuple(sorted(listed_kinds | {_extent_word(place, extent) for place, extent in extents.items()}))


def common_words(failures: Iterable[Collection[str]]) -> tuple[str, ...]:
    """Return what one entry can list for several failures on every machine, sorted; empty if it is nothing.

    The kinds are those of all failures, and an extent is the largest. Processors and threads round differently. Nothing
    is therefore listed if the wrong elements are only nearly right or rough, and no extent if some are far or an index.

    Args:
        failures: for each failure what is wrong; empty if it is unknown.
    """
    found = list(failures)
    kinds, extents = _split(set().union(*found))
    has_rounding = bool(kinds & {WrongKind.NEAR, WrongKind.ROUGH})
    if not all(found) or WrongKind.OTHER in kinds or (has_rounding and WrongKind.FAR not in kinds):
        return ()
    if kinds & {WrongKind.FAR, WrongKind.VALUE} or len(extents) > MAX_LISTED_PLACES:
        return tuple(sorted(kinds))
    return tuple(sorted(kinds | {_extent_word(place, extent) for place, extent in extents.items()}))


def _extent_word(place: int, extent: Extent) -> str:
    return f"{extent.name.lower()} of output {place}"
