"""The texts that clauses point into, as far as the packages that are installed carry them."""

from __future__ import annotations

from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import defs, helper

from conformance.models.signatures import MAIN_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.clauses import Passage

SCHEMAS = "onnx.defs"
"""The first word of a document that is an operator's schema: `onnx.defs ai.onnx Log-13`."""

CARRIERS: Mapping[str, str] = {SCHEMAS: "onnx", "onnx": "onnx", "onnxoptimizer": "onnxoptimizer"}
"""Per first word of a document the package that carries it, ONNX's own or that of the graph optimizer of the pass."""

SIGNATURE = "signature"
"""The part of an operator that no sentence says, but the schema's fields: see `signature`."""


def carrier(document: str) -> str | None:
    """The package that a document is in, by its name; None where it is in no package."""
    return CARRIERS.get(document.partition(" ")[0])


def quoted(passage: Passage) -> str | None:
    """What a passage says, from the installed package; None where that is missing or says it in other words."""
    text = text_of(passage.document, passage.part)
    return None if text is None else passage.found_in(text)


def locator(passage: Passage) -> Iterator[str]:
    """Where the specification says something, and its words where an installed package has them: lines."""
    package = carrier(passage.document)
    version = package and version_of(package)
    words = quoted(passage)
    place = f"{passage.document}, {passage.part}"
    if words is not None:
        yield f"{package} {version} ({place}):"
        yield from (f"> {line}" for line in words.splitlines())
    elif version:
        yield f"{package} {version} words it differently ({place}, sha256 {passage.sha256})"
    else:
        where = f"{package} is not installed" if package else "no package has its text"
        yield f"{place}, characters {passage.start} to {passage.end}, sha256 {passage.sha256} ({where})"


def version_of(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return metadata.version(package)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def text_of(document: str, part: str) -> str | None:
    """A part of an operator's schema, or a whole file of a package; None where nothing here has it."""
    place, _, name = document.partition(" ")
    if place == SCHEMAS:
        domain, _, operator = name.partition(" ")
        return _schema_text(domain, operator, part)
    return _file(place, name) if place in CARRIERS else None


def signature(schema: defs.OpSchema) -> str:
    """What a schema says in fields: its version, and of all it takes and gives the types, defaults and numbers."""
    lines = [f"since_version {schema.since_version}"]
    lines += [_attribute(schema.attributes[name]) for name in sorted(schema.attributes)]
    lines += _formals("input", schema.inputs, schema.min_input, schema.max_input)
    lines += _formals("output", schema.outputs, schema.min_output, schema.max_output)
    lines += [
        f"type constraint {constraint.type_param_str}: {', '.join(sorted(constraint.allowed_type_strs))}"
        for constraint in schema.type_constraints
    ]
    return "\n".join(lines)


def _attribute(attribute: defs.OpSchema.Attribute) -> str:
    named = f"attribute {attribute.name}: {_word(attribute.type)}"
    if attribute.required:
        return f"{named}, required"
    default = attribute.default_value
    return f"{named}, default {helper.get_attribute_value(default)!r}" if default.name else f"{named}, optional"


def _formals(what: str, formals: Sequence[defs.OpSchema.FormalParameter], least: int, most: int) -> list[str]:
    count = f"{least} to {'any number' if most == 2**31 - 1 else most} {what}s"
    shown = [f"{what} {formal.name}: {formal.type_str}, {_word(formal.option)}" for formal in formals]
    return [count, *shown]


def _word(member: object) -> str:
    """An enumeration's member without the enumeration: the stubs of `onnx.defs` say of none that it has a name."""
    return str(member).rpartition(".")[2]


def _schema_text(domain: str, operator: str, part: str) -> str | None:
    name, _, version = operator.rpartition("-")
    known = "" if domain in MAIN_DOMAINS else domain
    try:
        schema = defs.get_schema(name, int(version), known)
    except defs.SchemaError:
        return None
    if schema.since_version != int(version):
        return None
    if part == "summary":
        return str(schema.doc)
    if part == SIGNATURE:
        return signature(schema)
    kind, _, of = part.rpartition(" ")
    return _DESCRIPTIONS[kind](schema).get(of)


_DESCRIPTIONS: Mapping[str, Callable[[defs.OpSchema], Mapping[str, str]]] = {
    "attribute": lambda schema: {name: held.description for name, held in schema.attributes.items()},
    "input": lambda schema: {formal.name: formal.description for formal in schema.inputs},
    "output": lambda schema: {formal.name: formal.description for formal in schema.outputs},
    "type constraint": lambda schema: {one.type_param_str: one.description for one in schema.type_constraints},
}
"""Per kind of part, the descriptions by name."""


def _file(package: str, name: str) -> str | None:
    """A text file of a package, which is not imported for it."""
    spec = util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / name
    return path.read_text(encoding="utf-8") if path.is_file() else None
