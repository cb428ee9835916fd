"""Write the JSON Schemas in conformance/base/serialization/schemas from the types of the documents.

python scripts/make_schemas.py           write the schemas
python scripts/make_schemas.py --check   exit with status 1 if a schema differs from its types
"""

from __future__ import annotations

import json
import sys
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from protocol_messages import ANSWERS, COMMANDS, MESSAGES, ElementType, Placement

from conformance.corpus.cases.case_loading import CaseDocument
from conformance.corpus.cases.corpus import ManifestDocument
from conformance.corpus.cases.released import ReleasedDocument
from conformance.run.report.summary import Summary
from conformance.run.results.records import ResultsRecord
from conformance.studies.census.census_file import CensusRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parents[1] / "conformance" / "base" / "serialization" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/{name}"

DOCUMENTS: dict[str, tuple[str, Any]] = {
    "case": ("The case.json of a case", CaseDocument),
    "census": ("One record (one line) of a census file", CensusRecord),
    "manifest": ("The manifest.json of a corpus", ManifestDocument),
    "released": ("The released.json of a corpus", ReleasedDocument),
    "results": ("One record (one line) of a results file", ResultsRecord),
    "summary": ("A summary of runs of one corpus, for programs", Summary),
}
"""Title and type of the documents, by the name of the schema."""

ELEMENTS = {
    "if": {"properties": {"dtype": {"const": "string"}}},
    "then": {"required": ["texts"], "not": {"anyOf": [{"required": ["data"]}, {"required": ["file"]}]}},
    "else": {"oneOf": [{"required": ["data"]}, {"required": ["file"]}], "not": {"required": ["texts"]}},
    "dependentRequired": {"offset": ["file"]},
}
RULES: dict[tuple[str, str], dict[str, Any]] = {
    ("case", "ExpectedOutput"): {
        "allOf": [
            {"if": {"properties": {"check": {"const": check}}}, "then": {"required": [key]}}
            for check, key in (("bound", "bounds"), ("index", "accept"))
        ]
    },
    ("protocol", "input"): ELEMENTS,
    ("protocol", "tensor"): ELEMENTS,
    ("protocol", "element"): ELEMENTS,
}
"""Rules that types cannot express, by the names of the schema and of the definition."""


def document_schema(name: str) -> dict[str, Any]:
    """Return the schema of a document in `DOCUMENTS`."""
    title, type_ = DOCUMENTS[name]
    (schema,), definitions = msgspec.json.schema_components([type_], ref_template=REFERENCE)
    schema.pop("discriminator", None)  # OpenAPI, not JSON Schema
    bound_numbers(definitions)
    list_keys(definitions, definitions)
    return {"$schema": DIALECT, "title": title, **schema, "$defs": definitions}


def protocol_schema() -> dict[str, Any]:
    """Return the schema of the harness protocol: a definition for each message and for the answers to each command."""
    parts = {**MESSAGES, "dtype": ElementType, "placement": Placement}
    schemas, definitions = msgspec.json.schema_components(parts.values(), ref_template=REFERENCE)
    names = {type_.__name__: name for name, type_ in MESSAGES.items()}
    named = {names.get(name, name): schema for name, schema in definitions.items()}
    values = {name: schema for name, schema in zip(parts, schemas, strict=True) if name not in MESSAGES}
    answers = {f"{command}_answer": any_of(allowed) for command, allowed in ANSWERS.items()}
    text = json.dumps({**any_of(COMMANDS), "$defs": {**named, **values, **answers}})
    for type_name, name in names.items():
        text = text.replace(f'"{REFERENCE.format(name=type_name)}"', f'"{REFERENCE.format(name=name)}"')
    title = "The harness protocol, version 1: a definition for each message; the schema itself is any command"
    return {"$schema": DIALECT, "title": title, **json.loads(text)}


def bound_numbers(schema: Any) -> None:
    """Apply the limits of an integer to a number that is its alternative: an integer is a number in JSON Schema."""
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        bound_numbers(value)
    if isinstance(schema, dict):
        integer = next((each for each in schema.get("anyOf", ()) if each.get("type") == "integer"), {})
        for number in (each for each in schema.get("anyOf", ()) if each.get("type") == "number"):
            number.update({limit: integer[limit] for limit in ("minimum", "maximum") if limit in integer})


def list_keys(schema: Any, definitions: dict[str, Any]) -> None:
    """List the keys of objects in order: msgspec 0.23 refers to their type, and earlier versions repeat our list."""
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        list_keys(value, definitions)
    if isinstance(schema, dict) and (names := schema.get("propertyNames")):
        keys = definitions[names["$ref"].rpartition("/")[2]] if "$ref" in names else names
        schema["propertyNames"] = {"enum": sorted(keys["enum"])} if "enum" in keys else names


def any_of(names: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a document that satisfies one of these definitions."""
    return {"anyOf": [{"$ref": REFERENCE.format(name=name)} for name in names]}


def main() -> int:
    """Write or check all schemas, and return the exit status."""
    schemas = {**{name: document_schema(name) for name in DOCUMENTS}, "protocol": protocol_schema()}
    for (name, definition), rule in RULES.items():
        schemas[name]["$defs"][definition].update(rule)
    for definition in (definition for schema in schemas.values() for definition in schema["$defs"].values()):
        definition.pop("title", None)  # the name of the Python type
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
    outdated = []
    for name, schema in schemas.items():
        file = FOLDER / f"{name}.schema.json"
        text = json.dumps(schema, indent=1).replace(r"\\Z", "$") + "\n"  # the end of a text in a regular expression
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            outdated.append(file.name)
            if "--check" not in sys.argv[1:]:
                file.write_text(text, encoding="utf-8")
    if "--check" in sys.argv[1:] and outdated:
        print(f"Outdated: {', '.join(outdated)}. Run python scripts/make_schemas.py.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
