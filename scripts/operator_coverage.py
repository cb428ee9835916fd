"""List each operator and version that onnx and ONNX Runtime have, and whether the reference judges it.

`nox -s operator-coverage` prints the excluded operators with reasons, those without a definition, those without a
declaration, and versions from which no node is drawn. The exit status is 1 if an operator has no definition and no
reason.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import onnx

from conformance.declarations.tables import UNDECLARED, declarations, operator_name
from conformance.models.types import normal_domain
from conformance.reference.enclosures import is_supported
from conformance.reference.enclosures.machine_learning import MAP_OPERATORS
from conformance.reference.enclosures.sequences import SEQUENCE_OPERATORS
from conformance.reference.node_enclosures import CONTROL_FLOW
from conformance.reference.nodes import Node
from conformance.reference.operators.training_optimizers import find_training_optimizer
from conformance.reference.tolerances import FUNCTION_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXCLUDED: Mapping[tuple[str, str], str] = {
    ("", "ImageDecoder"): "decoders of images differ, and its page does not state their results",
    ("ai.onnx.preview.training", "Gradient"): "its result is the derivative of other nodes, and no runtime has it",
}
"""Operators that the reference does not judge, by domain and op_type, with reasons."""

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
    yield from (f"excluded: {domain or 'ai.onnx'} {name}: {reason}" for (domain, name), reason in EXCLUDED.items())
    for domain in dict.fromkeys(domain for domain, _ in every):
        own = [name for each, name in every if each == domain]
        count = sum((domain, name) in EXCLUDED for name in own), sum((domain, name) in missing for name in own)
        declared = sum(operator_name(name, domain) in declarations() for name in own)
        judged = len(own) - sum(count)
        yield f"{domain or 'ai.onnx'}: {len(own)} operators, {count[0]} excluded, {judged} judged, {declared} declared"
    yield from (f"no definition: {domain or 'ai.onnx'} {name}" for domain, name in missing)
    for (domain, name), versions in every.items():
        known = operator_name(name, domain)
        if known in UNDECLARED:
            yield f"no declaration: {domain or 'ai.onnx'} {name}: {UNDECLARED[known]}"
        drawn = {opset for each in declarations().get(known, ()) for opset in each.opsets_of(known)}
        if drawn and (rest := [str(version) for version in versions if version not in drawn]):
            yield f"no drawn node: {domain or 'ai.onnx'} {name} of version {', '.join(rest)}"


def main() -> int:
    """Print the report, and return 1 if an operator has no definition."""
    missing = [
        (domain, name)
        for (domain, name), versions in operators().items()
        if (domain, name) not in EXCLUDED and not is_defined(domain, name, versions[-1])
    ]
    sys.stdout.write("\n".join(lines(missing)) + "\n")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
