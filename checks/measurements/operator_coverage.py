"""List each operator and version that onnx and ONNX Runtime have, and whether the reference judges it.

`nox -s operator-coverage` prints the excluded operators with reasons, those without a definition, those without a
declaration, and the versions, attributes and element types from which no node is drawn. The exit status is 1 if an
operator has no definition and no reason. With `--second-opinions`, it also lists the tests and the exact formulas that
compute each operator again.

With `--judge`, it also draws nodes of each declaration and version, and prints why nodes are not judged. It takes
minutes.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import (
    TYPE_SETS,
    UNDECLARED,
    declarations,
    has_schemas,
    operator_name,
)
from conformance.exact.declarations.drawing import InvalidNodeError, draw_node
from conformance.exact.models.graphs import normal_domain
from conformance.exact.reference.enclosures import is_supported
from conformance.exact.reference.enclosures.machine_learning import MAP_OPERATORS
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.nodes import Node
from conformance.exact.reference.operators.control_flow import CONTROL_FLOW
from conformance.exact.reference.operators.sequences import SEQUENCE_OPERATORS
from conformance.exact.reference.operators.training_optimizers import find_training_optimizer
from conformance.exact.reference.tolerances import FUNCTION_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.exact.declarations.declaration_tables import OperatorDeclaration

ROOT = Path(__file__).resolve().parents[2]

EXCLUDED: Mapping[tuple[str, str], str] = {
    ("", "ImageDecoder"): "decoders of images differ, and its page does not state their results",
    ("ai.onnx.preview.training", "Gradient"): "its result is the derivative of other nodes, and no runtime has it",
}
"""Operators that the reference does not judge, by domain and op_type, with reasons."""

EXCLUDED_PARTS: Mapping[str, str] = {
    "Attention U": "the page states a mask of booleans or of the type of the query, but the schema has integers too",
    "Col2Im T": "the page states no sum of booleans",
    "MeanVarianceNormalization T": "the full check of onnx rejects the function body for these types",
    "QuantizeLinear T1": "the scale has the type of the tensor, and the page states no scale of integers",
    "TreeEnsemble nodes_hitrates": "it is for performance and has no effect on the result",
    **dict.fromkeys(
        (
            *("CategoryMapper default_int64", "LabelEncoder default_int64", "LabelEncoder default_string"),
            *("LabelEncoder keys_strings", "LabelEncoder values_strings", "LinearClassifier classlabels_strings"),
            *("OneHotEncoder cats_strings", "SVMClassifier classlabels_strings"),
            *("TfIdfVectorizer pool_strings", "TreeEnsembleClassifier classlabels_strings"),
        ),
        "its operands or results are strings, which no drawn node has; tests judge them",
    ),
}
"""Attributes and element types that no declaration draws, with reasons."""

WRITTEN = (
    *("FusedConv", "FusedMatMul", "FusedGemm", "BiasGelu", "FastGelu", "QuickGelu", "SkipLayerNormalization"),
    *("SkipSimplifiedLayerNormalization", "EmbedLayerNormalization", "MultiHeadAttention", "GroupQueryAttention"),
    *("Attention", "RotaryEmbedding", "Gelu", "BiasSoftmax", "NhwcFusedConv", "NhwcMaxPool", "MatMulIntegerToFloat"),
    *("MatMulNBits", "MatMulBnb4", "GatherBlockQuantized", "QLinearAdd", "QLinearMul", "QLinearConv", "QLinearConcat"),
    *("QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax"),
    *("QLinearReduceMean", "QLinearWhere", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "QAttention", "QGemm"),
    *("QEmbedLayerNormalization", "QuantizeLinear", "DequantizeLinear"),
)
"""The operators of com.microsoft that ONNX Runtime's optimizer and quantizer write for its processor kernels. The
operators of com.microsoft.nchwc are not judged: the size of their blocks depends on the processor."""


def is_defined(domain: str, op_type: str, version: int) -> bool:
    """Return whether the reference has a definition of an operator."""
    return (
        (not domain and op_type in {*CONTROL_FLOW, *SEQUENCE_OPERATORS})
        or (domain == "ai.onnx.ml" and op_type in MAP_OPERATORS)
        or (domain, op_type) in FUNCTION_OPERATORS
        or find_training_optimizer(domain, op_type) is not None
        or is_supported(Node(op_type, (), (), {}, version, domain))
    )


def operators() -> dict[tuple[str, str], list[int]]:
    """Return the versions of each operator, by domain and op_type."""
    found: dict[tuple[str, str], list[int]] = {("com.microsoft", name): [1] for name in WRITTEN}
    found |= {("", "SimplifiedLayerNormalization"): [1]}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.deprecated:
            found.setdefault((normal_domain(schema.domain), schema.name), []).append(schema.since_version)
    return {key: sorted(found[key]) for key in sorted(found)}


def lines(missing: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the report.

    Args:
        missing: the operators without a definition.
    """
    every = operators()
    parts: dict[str, list[str]] = {}
    for (domain, name), versions in every.items():
        known = operator_name(name, domain)
        if known in declarations() and has_schemas(domain):
            for part, text in gaps(known, domain, versions):
                parts.setdefault(part, []).append(text)
    yield from (f"excluded: {domain or 'ai.onnx'} {name}: {reason}" for (domain, name), reason in EXCLUDED.items())
    for part in EXCLUDED_PARTS:
        yield from (f"excluded: {text}: {EXCLUDED_PARTS[part]}" for text in parts.pop(part, ()))
    yield f"excluded: tensors of {', '.join(sorted(UNDRAWN))} in drawn nodes: the protocol of search lacks them"
    for domain, name in every:
        if reason := UNDECLARED.get(operator_name(name, domain)):
            yield f"no declaration: {domain or 'ai.onnx'} {name}: {reason}"
    for domain in dict.fromkeys(domain for domain, _ in every):
        own = [name for each, name in every if each == domain]
        count = sum((domain, name) in EXCLUDED for name in own), sum((domain, name) in missing for name in own)
        declared = sum(operator_name(name, domain) in declarations() for name in own)
        judged = len(own) - sum(count)
        yield f"{domain or 'ai.onnx'}: {len(own)} operators, {count[0]} excluded, {judged} judged, {declared} declared"
    yield from (f"no definition: {domain or 'ai.onnx'} {name}" for domain, name in missing)
    for (domain, name), versions in every.items():
        known = operator_name(name, domain)
        drawn = {opset for each in declarations().get(known, ()) for opset in each.opsets_of(known)}
        if drawn and (rest := [str(version) for version in versions if version not in drawn]):
            yield f"no drawn node: {domain or 'ai.onnx'} {name} of version {', '.join(rest)}"
    yield from (text for texts in parts.values() for text in texts)


UNDRAWN = frozenset({"string", "complex64", "complex128"})
"""Element types that no node has: the protocol between `search` and runtimes lacks them. tests/exact/declarations has
nodes with elements of these types that are only moved."""


def gaps(name: str, domain: str, versions: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yield the attributes and type variables of an operator that its declarations do not draw, with a text."""
    found: dict[tuple[str, str], list[int]] = {}
    for version in versions:
        schema = onnx.defs.get_schema(name, version, domain)
        own = [each for each in declarations()[name] if version in each.opsets_of(name)]
        drawn = {attribute for each in own for attribute in each.attributes}
        for attribute in sorted({*schema.attributes} - drawn):
            part = f"{name} {attribute}"
            found.setdefault((part, f"no drawn attribute: {part}"), []).append(version)
        for each in schema.type_constraints:
            types = {text.removeprefix("tensor(").removesuffix(")") for text in each.allowed_type_strs} - UNDRAWN
            types = {text for text in types if "(" not in text}
            places = [place for place in schema.inputs if place.type_str == each.type_param_str]
            if places and (rest := sorted(types - drawn_types(own, schema, each.type_param_str))):
                part = f"{name} {each.type_param_str}"
                found.setdefault((part, f"no drawn type: {part} {' '.join(rest)}"), []).append(version)
    for (part, text), numbers in found.items():
        yield part, f"{text} of version {', '.join(map(str, numbers))}"


def drawn_types(declared: Sequence[OperatorDeclaration], schema: Any, name: str) -> set[str]:
    """Return the element types that declarations draw for a type variable of a schema."""
    found: set[str] = set()
    for declaration in declared:
        for place, operand in enumerate(declaration.operands()):
            own = schema.inputs[min(place, len(schema.inputs) - 1)].type_str
            variable = next((each for each in operand.type.split("|") if each in declaration.types), operand.type)
            given = declaration.types.get(name if name in operand.type.split("|") else variable, (variable,))
            if own == name:
                found |= {*(TYPE_SETS[given] if isinstance(given, str) else given)}
    return found


NODES = 25
"""The number of nodes that are drawn from each declaration and version."""


def judged_lines(names: Sequence[str]) -> Iterator[str]:
    """Yield the reasons for which drawn nodes are not judged, by operator, version and reason."""
    for name in names or declarations():
        found: dict[str, set[int]] = {}
        for number, declaration in enumerate(declarations()[name]):
            for place, version in enumerate(reversed(declaration.opsets_of(name))):
                for seed in range(NODES):
                    if reason := reason_not_judged(name, f"{seed}", {"declaration": number, "opset": place}):
                        found.setdefault(reason, set()).add(version)
        for reason, versions in found.items():
            yield f"not judged: {name} of version {', '.join(map(str, sorted(versions)))}: {reason}"


def reason_not_judged(name: str, seed: str, chosen: Mapping[str, int]) -> str:
    """Return the reason for which a drawn node is not judged; an empty text for a judged or an invalid node."""
    try:
        node = draw_node(name, seed, chosen)
        with np.errstate(all="ignore"):
            enclose(NodeScope.of(node.model), node.proto, node.operands)
    except Unsupported as reason:
        return str(reason)
    except InvalidNodeError:
        return ""
    return ""


def second_opinions() -> dict[tuple[str, str], list[str]]:
    """Return the files that compute each operator a second time: tests that name it, and exact formulas."""
    files = [
        *sorted((ROOT / "tests" / "exact" / "reference").rglob("test_*.py")),
        *sorted((ROOT / "checks" / "truth").glob("exact*.py")),
    ]
    texts = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}
    return {
        (domain, name): [file for file, text in texts.items() if re.search(rf'"{name}"|= {name} ?[<(]', text)]
        for domain, name in operators()
        if (domain, name) not in EXCLUDED
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report, and return 1 if an operator has no definition."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--second-opinions", action="store_true", help="list what computes each operator again")
    parser.add_argument("--judge", nargs="*", metavar="OPERATOR", help="draw nodes of these operators, or of all")
    options = parser.parse_args(arguments)
    missing = [
        (domain, name)
        for (domain, name), versions in operators().items()
        if (domain, name) not in EXCLUDED and not is_defined(domain, name, versions[-1])
    ]
    judged = () if options.judge is None else judged_lines(options.judge)
    opinions = second_opinions().items() if options.second_opinions else ()
    again = (f"second opinion: {domain or 'ai.onnx'} {name}: {', '.join(each)}" for (domain, name), each in opinions)
    for line in (*lines(missing), *again, *judged):
        sys.stdout.write(f"{line}\n")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
