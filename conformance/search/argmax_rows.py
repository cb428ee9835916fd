"""What varies in draws about ArgMax and the operators before it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.dimensions.contexts import IMPORTS
from conformance.dimensions.factors import Declaration, Meeting
from conformance.dimensions.origins import ORIGINS, STORED
from conformance.dimensions.places import PLACES
from conformance.dimensions.uses import USES
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS
from conformance.search.beside import WITHOUT_FUNCTIONS, WORDS
from conformance.search.choice import ALONG, CHAINED

if TYPE_CHECKING:
    from collections.abc import Sequence

PRODUCERS = (*CHAINED, "Relu")
FLOATS = ("float", "double", "float16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIGNED = tuple(name for name in INTEGERS if name.startswith("int"))
UNSIGNED = tuple(name for name in INTEGERS if name.startswith("u"))

SHORT = (
    "3", "2,3", "3,2", "2,3,2", "1,4", "7", "9", "15", "17", "4,5", "1", "1,1", "2,2,2,2", "5,1,2", "0,3", "2,0,3",
    "16", "32", "2,3", "3,3", "2,2,3", "2,1,1,1,1,1,1,2",
)  # fmt: skip
LONG = ("31", "63", "64", "2,70", "100", "128", "300", "512", "1100", "2048")
"""Shapes with more elements than a block of a loop holds."""

LEAF_PLACES = tuple(place for place in PLACES if place not in {"loop", "scan", "function_twice"})
"""Places whose builders need no state and no rows."""

FUNCTIONS = tuple(place for place in PLACES if place.startswith("function"))


NOTHING = "ArgMax along an axis without elements has no answer."


def argmax_declaration() -> Declaration:
    """What surrounds an ArgMax, what stands before it, and what it is given.

    An operator of the chain, the type of the data and how its values lie are the three dimensions of which rows cover
    all triples: a kernel that rounds shows where values lie so close that what it gives ties.
    """
    chain = ("none", *PRODUCERS)
    return Declaration(
        factors={
            "first": chain,
            "second": ("none",) * 9 + PRODUCERS,
            "third": ("none",) * 18 + PRODUCERS,
            "type": (*FLOATS, *INTEGERS),
            "values": ("close", "plain", "odd", "infinite"),
            "shape": (*SHORT, *LONG),
            "axis": ("default", *map(str, range(8))),
            "along": ALONG,
            "opset": ("13", "13", "11", "12"),
            "keepdims": ("default", "0", "1"),
            "last": ("default", "default", "1"),
            "place": ("main", "main", "main", *LEAF_PLACES),
            "origin_X": tuple(ORIGINS),
            "use_index": ("output", "output", *(use for use in USES if use != "unused")),
            "read_by_another": ("none", "none", "X"),
            "stored": tuple(STORED),
            "imports": tuple(spelling for spelling in IMPORTS if spelling != "main_by_name"),
            "training_info": ("absent", "absent", "present"),
        },
        excluded=(
            *(
                Meeting({place: PRODUCERS, "type": INTEGERS}, "The operators take no integers.")
                for place in ("first", "second", "third")
            ),
            *(
                Meeting({place: PRODUCERS, "values": ("odd", "infinite")}, "Rounding decides what comes of them.")
                for place in ("first", "second", "third")
            ),
            *(
                Meeting({place: tuple(ALONG_AXIS), "shape": LONG}, "Sums of so many terms leave many indices.")
                for place in ("first", "second", "third")
            ),
            Meeting({"shape": ("0,3",), "axis": ("default", "0", "2", "4", "6")}, NOTHING),
            Meeting({"shape": ("2,0,3",), "axis": ("1", "4", "7")}, NOTHING),
            Meeting({"type": UNSIGNED, "origin_X": ("part",)}, "What surrounds a part is a number of any sign."),
            Meeting({"type": UNSIGNED, "read_by_another": ("X",)}, "Neg takes no unsigned integers."),
            Meeting(
                {"type": SIGNED, "values": ("odd", "infinite"), "read_by_another": ("X",)},
                "No page says what the negative of the least integer is.",
            ),
            Meeting({"opset": ("11",), "last": ("1",)}, "select_last_index came with opset 12."),
            Meeting(
                {"place": FUNCTIONS, "along": ("next",)},
                "A function hands on one attribute of a name.",
            ),
        ),
        structural={"operators": ("first", "second", "third"), "type": ("type",), "values": ("values",)},
    )


def pass_declaration() -> Declaration:
    """What surrounds an ArgMax, and what else stands in the model, which a rewrite has to leave as it is."""
    declaration = argmax_declaration()
    return replace(
        declaration,
        factors={
            **declaration.factors,
            "shape": SHORT,
            "beside": ("none", *WORDS),
        },
        excluded=(
            *declaration.excluded,
            Meeting({"beside": WORDS, "opset": ("11", "12")}, "They are of opset 13."),
            Meeting({"beside": WITHOUT_FUNCTIONS, "place": FUNCTIONS}, "These versions of the IR have none."),
            *(
                Meeting({"beside": ("opset_6",), factor: values}, "Opset 6 lacks what that takes.")
                for factor, values in (
                    ("place", tuple(PLACES)[1:]),
                    ("origin_X", tuple(ORIGINS)[1:]),
                    ("use_index", tuple(USES)[1:]),
                    ("last", ("1",)),
                )
            ),
        ),
    )


PASS_STARTS: Sequence[Declaration] = (
    Declaration({"beside": WORDS, "first": PRODUCERS, "opset": ("13",), "type": ("float",), "values": ("plain",)}),
)
"""What rows about the pass are made for besides the structural triples: each word once for each operator."""

ARGMAX_STARTS: Sequence[Declaration] = (
    # how the axis of Softmax and LogSoftmax is read, by opset and rank, beside ArgMax's
    Declaration(
        {
            "first": tuple(sorted(ALONG_AXIS)),
            "second": ("none",),
            "along": ALONG,
            "opset": ("13", "11"),
            "shape": ("2,3", "3,3", "2,3,2"),
            "type": ("double",),
            "values": ("plain",),
        }
    ),
    # values that a narrower type takes for equal, in rows so long that the largest is seldom the first
    Declaration(
        {
            "first": CHAINED,
            "second": ("none",),
            "third": ("none",),
            "type": ("float", "double"),
            "values": ("close",),
            "shape": ("7", "9"),
        }
    ),
    # sizes around blocks and lanes
    Declaration(
        {
            "first": ("none",),
            "second": ("none",),
            "third": ("none",),
            "values": ("plain",),
            "shape": tuple(dict.fromkeys((*SHORT, *LONG))),
        }
    ),
)
"""What rows about ArgMax are made for besides the structural triples."""
