"""The graph's inputs and outputs keep their names, types, shapes and order, and the model its opset imports.

What a denotation says of a type is no part of the type, see `preservation`. A graph optimizer that claims the pass also
keeps the defaults of inputs. One that does not may infer what an output left open or had but a name for, name an
input's open dimensions, and import further domains or drop unused ones.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from conformance.models.canonical import tensor_key
from conformance.models.differences import first_difference
from conformance.models.types import described, names, refines, undenoted
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import onnx

    from conformance.judging.rewriting import Rewriting

LEVEL = Level.MUST
CLAUSES = ("monotone.interface",)


def complaint(rewriting: Rewriting) -> str | None:
    """`type of input X changed from float[N,3] to float[2,3]`."""
    return next(_complaints(rewriting), None)


def _complaints(rewriting: Rewriting) -> Iterator[str]:
    before, after = rewriting.before.graph, rewriting.after.graph
    yield from _changed("input", before.input, after.input, operator.eq if rewriting.claims else names)
    yield from _changed("output", before.output, after.output, operator.eq if rewriting.claims else refines)
    if rewriting.claims:
        yield from _defaults(before, after)
    yield from _imports(rewriting.before, rewriting.after, strict=rewriting.claims)


def _changed(
    what: str,
    before: Sequence[onnx.ValueInfoProto],
    after: Sequence[onnx.ValueInfoProto],
    admissible: Callable[[onnx.TypeProto, onnx.TypeProto], bool],
) -> Iterator[str]:
    """What is wrong with inputs or outputs; `admissible` says it of a type that is there and the one that was."""
    old, new = ([value.name for value in values] for values in (before, after))
    yield from (f"{what} {name} is gone" for name in old if name not in new)
    yield from (f"there is a new {what} {name}" for name in new if name not in old)
    if sorted(old) == sorted(new) and old != new:
        yield f"order of {what}s changed from {', '.join(old)} to {', '.join(new)}"
    types = {value.name: undenoted(value.type) for value in after}
    for value in before:
        was = undenoted(value.type)
        type = types.get(value.name, was)
        if type != was and not admissible(type, was):
            yield f"type of {what} {value.name} changed {_change(was, type)}"


def _defaults(before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[str]:
    """What is wrong with the initializers of inputs: values that a caller need not feed."""
    fed = {value.name for value in before.input}
    left = {tensor.name: tensor for tensor in after.initializer}
    for tensor in before.initializer:
        if tensor.name in fed and tensor.name not in left:
            yield f"default of input {tensor.name} is gone"
        elif tensor.name in fed and tensor_key(tensor) != tensor_key(left[tensor.name]):
            yield f"default of input {tensor.name} has another type, shape or content"


def _change(before: onnx.TypeProto, after: onnx.TypeProto) -> str:
    """From what to what; where both read alike, in what detail."""
    if (old := described(before)) != (new := described(after)):
        return f"from {old} to {new}"
    return f"in detail: {first_difference(before, after)}"


def _imports(before: onnx.ModelProto, after: onnx.ModelProto, *, strict: bool) -> Iterator[str]:
    old, new = _versions(before), _versions(after)
    for domain, version in old.items():
        if domain not in new:
            if strict:
                yield f"opset import of {domain} is gone"
        elif new[domain] != version:
            yield f"opset import of {domain} changed from {version} to {new[domain]}"
    if strict and (added := [domain for domain in new if domain not in old]):
        yield f"there is a new opset import of {added[0]}"


def _versions(model: onnx.ModelProto) -> dict[str, int]:
    return {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
