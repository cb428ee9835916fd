"""Requirements beyond the expected outputs of a case: outputs stay unchanged, and the rules of profiles.

`RetainedOutputs` checks that later runs do not overwrite the outputs of earlier runs. ONNX's backend interface does not
define how long outputs stay valid, so this check is `should`. The other functions apply the rules of a profile to a
case and to its data sets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.errors import UsageError
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import read_case_json
from conformance.corpus.profiles import read_profile
from conformance.exact.clauses import clauses
from conformance.exact.models.graphs import is_operator
from conformance.exact.models.input_files import fed_input_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx

    from conformance.corpus.cases.case_loading import DataSet, ExpectedTensor, LoadedCase
    from conformance.corpus.profiles import ProfileRule, RequirementProfile
    from conformance.exact.models.arrays import Array


RETAINED_OUTPUTS_CHECK = "kept_outputs"
"""Name of the check in results and in profiles."""

RETAINED_OUTPUTS_LEVEL = Level.SHOULD


def load_profile(name: str) -> RequirementProfile:
    """Read a profile by name or from a file, and check that the clauses and checks of its rules exist.

    Raises:
        UsageError: the profile does not exist or is malformed, or it names an unknown clause or check.
    """
    profile = read_profile(name)
    for rule in profile.rules:
        prefix = f"Rule {rule.id} of the profile {profile.name} names"
        if unknown := set(rule.clauses) - clauses().keys():
            raise UsageError("profile-clause-not-found", prefix=prefix, unknown=min(unknown))
        if rule.checks and (unknown := set(rule.checks) - check_names()):
            known = sorted(check_names())
            raise UsageError("profile-check-not-found", prefix=prefix, unknown=min(unknown), known=known)
    return profile


def applicable_rules(profile: RequirementProfile, case: LoadedCase) -> tuple[ProfileRule, ...]:
    """Return the rules of a profile that raise the level of a case.

    A rule raises it if it names one of the case's clauses, or if it decides an open question that occurs in the case.

    Raises:
        CorpusError: a file of the case is altered.
    """
    named = set(read_case_json(case.corpus, case.entry).clauses)
    return tuple(
        rule for rule in profile.rules if named & set(rule.clauses) or (rule.answer and _decides_an_output(case))
    )


def data_sets_with_profile(profile: RequirementProfile | None, case: LoadedCase) -> Iterator[DataSet]:
    """Return the data sets of a case; if the profile decides open questions, with fewer acceptable indices.

    Raises:
        CorpusError: a file of the case is altered.
    """
    decides = profile is not None and any(rule.answer for rule in profile.rules)
    return (_decide_data_set(case.model.graph, one) if decides else one for one in case.data_sets())


def _decides_an_output(case: LoadedCase) -> bool:
    """Return whether an ArgMax of a case's graph has an input row with a NaN, whose index is an open question."""
    if case.is_invalid or not any(is_operator(node, "ArgMax") for node in case.model.graph.node):
        return False
    return any(_decide_data_set(case.model.graph, one) is not one for one in case.data_sets())


def _decide_data_set(graph: onnx.GraphProto, given: DataSet) -> DataSet:
    """Return a copy of a data set with one acceptable index for each ArgMax row with a NaN.

    Only ArgMax nodes that read a graph input count. Return `given` itself if there is no such row.
    """
    inputs = dict(zip(fed_input_names(graph, len(given.inputs)), given.inputs, strict=True))
    of_inputs = {node.output[0]: node for node in graph.node if is_operator(node, "ArgMax") and node.input[0] in inputs}
    outputs = tuple(
        _accept_first_nan(of_inputs[one.name], inputs[of_inputs[one.name].input[0]], one)
        if one.name in of_inputs
        else one
        for one in given.outputs
    )
    changed = any(new is not old for new, old in zip(outputs, given.outputs, strict=True))
    return replace(given, outputs=outputs) if changed else given


def _accept_first_nan(node: onnx.NodeProto, data: Array, output: ExpectedTensor) -> ExpectedTensor:
    """Return an expected output in which each row with a NaN has one acceptable index: that of its first NaN.

    If the node has `select_last_index`, it is the index of the last NaN.
    """
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    if output.choices is None or not data.ndim:
        return output
    axis = attributes.get("axis", 0) % data.ndim
    nan = np.moveaxis(np.asarray(data != data), axis, -1)  # noqa: PLR0124 - true of NaN in every type, bfloat16 too
    if attributes.get("keepdims", 1):
        nan = np.expand_dims(nan, axis)
    if not nan.any():
        return output
    last = bool(attributes.get("select_last_index", 0))
    index = nan.shape[-1] - 1 - nan[..., ::-1].argmax(axis=-1) if last else nan.argmax(axis=-1)
    winner = np.arange(nan.shape[-1]) == index[..., np.newaxis]
    return replace(output, choices=np.where(nan.any(axis=-1, keepdims=True), winner, output.choices))


def check_names() -> frozenset[str]:
    """Return the names of all checks, of backends and of graph optimizers."""
    from conformance.run.judging.optimizer_checks import CHECKS  # imported late: it imports the reference

    return frozenset({RETAINED_OUTPUTS_CHECK, *(check.name for check in CHECKS)})
