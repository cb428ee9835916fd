"""Quotations of the specification, read from installed packages.

Clauses do not copy the specification. They cite a range of characters and its digest (`Passage`). This module finds the
text in the installed `onnx` or `onnxoptimizer` package and quotes the cited words.
"""

from __future__ import annotations

from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import defs, helper

from conformance.base.plugins import version_of
from conformance.exact.models.graphs import MAIN_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.exact.clauses import Passage


SCHEMA_DOCUMENT = "onnx.defs"
"""First word of a document name that identifies an operator schema: `onnx.defs ai.onnx Log-13`."""

TEXT_PACKAGES: Mapping[str, str] = {SCHEMA_DOCUMENT: "onnx", "onnx": "onnx", "onnxoptimizer": "onnxoptimizer"}
"""Package that contains a document, by the first word of the document name."""

SIGNATURE_PART = "signature"
"""Part of an operator schema that consists of its fields rather than of text, see `schema_signature`."""


def text_package(document: str) -> str | None:
    """Return the name of the Python package that contains a document of the specification, or None."""
    return TEXT_PACKAGES.get(document.partition(" ")[0])


def quote_passage(passage: Passage) -> str | None:
    """Return the cited words from the installed package. Return None if the package or the words are missing."""
    text = specification_text(passage.document, passage.part)
    return None if text is None else passage.found_in(text)


def locator_lines(passage: Passage) -> Iterator[str]:
    """Yield lines that name the document and position of a passage, then its words if they are available."""
    package = text_package(passage.document)
    version = package and installed_version(package)
    words = quote_passage(passage)
    place = f"{passage.document}, {passage.part}"
    if words is not None:
        yield f"{package} {version} ({place}):"
        yield from (f"> {line}" for line in words.splitlines())
    elif version:
        yield f"{package} {version} has a different text ({place}, sha256 {passage.sha256})"
    else:
        where = f"{package} is not installed" if package else "no package contains the text"
        yield f"{place}, characters {passage.start} to {passage.end}, sha256 {passage.sha256} ({where})"


def installed_version(package: str) -> str | None:
    """Return the version of an installed package, or None."""
    try:
        return version_of(package)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def specification_text(document: str, part: str) -> str | None:
    """Return part of an operator schema, or a whole file of a package; None if the document is not installed."""
    place, _, name = document.partition(" ")
    if place == SCHEMA_DOCUMENT:
        domain, _, operator = name.partition(" ")
        return _schema_text(domain, operator, part)
    return _package_file(place, name) if place in TEXT_PACKAGES else None


def schema_signature(schema: defs.OpSchema) -> str:
    """Return a schema's fields as lines of text: version, attributes, inputs, outputs and type constraints."""
    lines = [f"since_version {schema.since_version}"]
    lines += [_attribute_line(schema.attributes[name]) for name in sorted(schema.attributes)]
    lines += _formal_lines("input", schema.inputs, schema.min_input, schema.max_input)
    lines += _formal_lines("output", schema.outputs, schema.min_output, schema.max_output)
    lines += [
        f"type constraint {constraint.type_param_str}: {', '.join(sorted(constraint.allowed_type_strs))}"
        for constraint in schema.type_constraints
    ]
    return "\n".join(lines)


def _attribute_line(attribute: defs.OpSchema.Attribute) -> str:
    named = f"attribute {attribute.name}: {_member_name(attribute.type)}"
    if attribute.required:
        return f"{named}, required"
    default = attribute.default_value
    return f"{named}, default {helper.get_attribute_value(default)!r}" if default.name else f"{named}, optional"


def _formal_lines(what: str, formals: Sequence[defs.OpSchema.FormalParameter], least: int, most: int) -> list[str]:
    count = f"{least} to {'any number' if most == 2**31 - 1 else most} {what}s"
    shown = [f"{what} {formal.name}: {formal.type_str}, {_member_name(formal.option)}" for formal in formals]
    return [count, *shown]


def _member_name(member: object) -> str:
    """Return the name of an enumeration member. The type stubs of `onnx.defs` do not declare `name`."""
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
    if part == SIGNATURE_PART:
        return schema_signature(schema)
    kind, _, of = part.rpartition(" ")
    return _DESCRIPTIONS[kind](schema).get(of)


_DESCRIPTIONS: Mapping[str, Callable[[defs.OpSchema], Mapping[str, str]]] = {
    "attribute": lambda schema: {name: held.description for name, held in schema.attributes.items()},
    "input": lambda schema: {formal.name: formal.description for formal in schema.inputs},
    "output": lambda schema: {formal.name: formal.description for formal in schema.outputs},
    "type constraint": lambda schema: {one.type_param_str: one.description for one in schema.type_constraints},
}
"""Function that returns the descriptions by name, for each kind of schema part."""


def _package_file(package: str, name: str) -> str | None:
    """Return the content of a text file of a package without importing the package."""
    spec = util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / name
    return path.read_text(encoding="utf-8") if path.is_file() else None
