"""What a profile asks of a case: which of its rules are about it, and which answers they leave of those accepted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.clauses import clauses
from conformance.corpus.document import case_json
from conformance.errors import UsageError
from conformance.judging.kept import NAME as KEPT_OUTPUTS
from conformance.models.feeds import fed_names
from conformance.models.signatures import MAIN_DOMAINS
from conformance.profiles import read_profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx

    from conformance.corpus.loading import DataSet, ExpectedTensor, LoadedCase
    from conformance.models.arrays import Array
    from conformance.profiles import Profile, Rule


def profile_of(name: str) -> Profile:
    """Read a profile, by its name or from a file, after making sure that there is what its rules name.

    Raises:
        UsageError: there is none, it is malformed, or it names a clause or a check that does not exist.
    """
    profile = read_profile(name)
    _refuse_unknown(profile)
    return profile


def _refuse_unknown(profile: Profile) -> None:
    for rule in profile.rules:
        place = f"Rule {rule.id} of the profile {profile.name} names"
        if unknown := set(rule.clauses) - clauses().keys():
            raise UsageError(f"{place} the clause {min(unknown)}, which does not exist.", "See `list --clauses`.")
        if rule.checks and (unknown := set(rule.checks) - _check_names()):
            raise UsageError(
                f"{place} the check {min(unknown)}, which does not exist.", f"Use {', '.join(sorted(_check_names()))}."
            )


def rules_about(profile: Profile, case: LoadedCase) -> tuple[Rule, ...]:
    """The rules that raise a case's level: by a clause that it names, or by a question that they decide in it.

    Raises:
        CorpusError: a file of the case is altered.
    """
    named = set(case_json(case.corpus, case.entry)["clauses"])
    return tuple(rule for rule in profile.rules if named & set(rule.clauses) or (rule.answer and _is_decided(case)))


def data_sets_under(profile: Profile | None, case: LoadedCase) -> Iterator[DataSet]:
    """A case's data sets, with the answers that a profile leaves.

    Raises:
        CorpusError: a file of the case is altered.
    """
    decides = profile is not None and any(rule.answer for rule in profile.rules)
    return (_decided(case.model.graph, one) if decides else one for one in case.data_sets())


def _is_decided(case: LoadedCase) -> bool:
    """Whether some row that an ArgMax is given has a NaN."""
    if case.is_invalid or not any(node.op_type == "ArgMax" for node in case.model.graph.node):
        return False
    return any(_decided(case.model.graph, one) is not one for one in case.data_sets())


def _decided(graph: onnx.GraphProto, given: DataSet) -> DataSet:
    """A data set in which an ArgMax from an input to an output accepts but one index of a row with NaN.

    The data set itself where there is no such row.
    """
    inputs = dict(zip(fed_names(graph), given.inputs, strict=True))
    of_inputs = {
        node.output[0]: node
        for node in graph.node
        if node.op_type == "ArgMax" and node.domain in MAIN_DOMAINS and node.input[0] in inputs
    }
    outputs = tuple(
        _nan_wins(of_inputs[one.name], inputs[of_inputs[one.name].input[0]], one) if one.name in of_inputs else one
        for one in given.outputs
    )
    changed = any(new is not old for new, old in zip(outputs, given.outputs, strict=True))
    return replace(given, outputs=outputs) if changed else given


def _nan_wins(node: onnx.NodeProto, data: Array, output: ExpectedTensor) -> ExpectedTensor:
    """An output with the index of the first NaN of each row that has one, or of the last, as the one acceptable."""
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


def _check_names() -> frozenset[str]:
    from conformance.judging.checks import checks  # with all that graph optimizers are judged by

    return frozenset({KEPT_OUTPUTS, *(check.name for check in checks())})
