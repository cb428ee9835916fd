"""Definition of a case, as a generator yields it.

The oracle computes the expected outputs of a case later. A corpus stores the case with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from conformance.base.errors import CaseError

if TYPE_CHECKING:
    from conformance.base.verdicts import Level
    from conformance.exact.models.arrays import Array

IDENTIFIER = re.compile(r"test_[A-Za-z0-9_]{1,120}")

MAX_CASE_TENSORS = 1000
"""Maximum number of the data sets of a case, and of the inputs and the outputs of one: a number has three digits."""


MODELS_CORPUS = "models"
"""Name of a corpus with the nodes of a user's models."""

VALUE_TAG = "onnx-value"
"""Tag of a case whose expected values are onnx's, because the reference has no answer."""

FUNCTION_TAG = "function"
"""Tag of a case whose model defines the tested operator as a model-local function, which needs no kernel of it."""

REGION_TAG = "region"
"""Tag of a case with the nodes of a region of a model that runtimes fuse."""


class CaseKind(StrEnum):
    """Kind of a case; the value is the name of a folder of the corpus."""

    NODE = "node"
    """Tests the outputs of a backend."""
    PASS = "pass"  # noqa: S105
    """Tests what a graph-optimizer pass does with the model, and the outputs of a backend."""
    INVALID = "invalid"
    """Tests that an invalid model is rejected; it has inputs, but no expected outputs."""


class PassEffect(StrEnum):
    """Whether a graph-optimizer pass must, must not or may rewrite a model."""

    APPLIES = "applies"
    DOES_NOT_APPLY = "does_not_apply"
    OPTIONAL = "optional"


@dataclass(frozen=True)
class Rewrite:
    """The effect that the pass must have on a case's model.

    Attributes:
        effect: whether the pass applies to the model, does not apply, or may do either.
        once: paths of the values whose producers one run removes. A value in a subgraph has a path such as
            `taken/then_branch/Y`: the first output of the node with the subgraph, the attribute, the value.
        fixed_point: paths of the values whose producers runs to a fixed point remove.
        check: name of the optimizer check that the case tests; None if it tests several.
    """

    effect: PassEffect
    once: tuple[str, ...] = ()
    fixed_point: tuple[str, ...] = ()
    check: str | None = None

    def __post_init__(self) -> None:
        """Check that effect and removals are consistent.

        Raises:
            CaseError: a pass that applies removes nothing, a pass that does not apply removes something, or one run
                removes a value that runs to a fixed point keep.
        """
        removes = bool(self.once), bool(self.fixed_point)
        if self.effect is not PassEffect.OPTIONAL and removes != (self.effect is PassEffect.APPLIES,) * 2:
            raise CaseError(
                "rewrite-contradictory.effect",
                effect=self.effect,
                once=self.once,
                fixed_point=self.fixed_point,
                applies=PassEffect.APPLIES,
            )
        if not {*self.once} <= {*self.fixed_point}:
            raise CaseError("rewrite-contradictory.rounds", once=self.once, fixed_point=self.fixed_point)


@dataclass(frozen=True)
class Case:
    """A test case: a model, its inputs, and the clauses that it tests.

    Attributes:
        id: name of its directory: `test_` and words, in lower case except for cases that onnx names.
        title: sentence that states the tested fact.
        level: how strongly the specification supports the case.
        clauses: ids of the tested clauses, the most important one first.
        tags: words for the selection of cases: operator, types, family.
        model: serialised ModelProto. The oracle computes the expected outputs from it, unless the model is invalid.
        data_sets: for each data set, the graph's inputs without an initializer, or all inputs, in order. All data sets
            run on one prepared model. Only a case of kind `pass` may have no data set. Such a case has inputs or
            outputs that are not tensors, and only the structure of its graph is judged.
        kind: a `CaseKind`, the folder of the corpus.
        rewrite: what the pass must do with the model; None if the case does not define it.
        hazards: for each data set, the class of hazard that it exposes, or None if the rewrite keeps the answer. An
            empty tuple means None for all data sets.
        companion: the id of a second case whose model is loaded after the model of this case. The two models then run
            in turns. If the companion is this case itself, the same model is loaded twice. Only the outputs of this
            case are judged. None if the case has no companion.
        answers: for each data set, the acceptable values (`Answer`) of each output; empty if the oracle computes them.
            Only a case with answers may have no clause.
        uses: how often the models of a user have the node or the region of the case; 0 for other cases.
        full_check_exception: why the full check of onnx, which infers shapes, rejects the model although it is valid;
            empty if the check must accept the model.
    """

    id: str
    title: str
    level: Level
    clauses: tuple[str, ...]
    tags: tuple[str, ...]
    model: bytes
    data_sets: tuple[tuple[Array, ...], ...]
    kind: str = CaseKind.NODE
    rewrite: Rewrite | None = None
    hazards: tuple[str | None, ...] = ()
    companion: str | None = None
    answers: tuple[tuple[Any, ...], ...] = ()
    full_check_exception: str = ""
    uses: int = 0

    def __post_init__(self) -> None:
        """Check that the case can be stored in a corpus.

        Raises:
            CaseError: the id, kind, clauses, data sets or rewrite are malformed, or there are too many of them.
        """
        if not IDENTIFIER.fullmatch(self.id):
            raise CaseError("id-malformed", id=self.id)
        if self.kind not in set(CaseKind):
            raise CaseError("kind-unknown", id=self.id, kind=self.kind, known=list(CaseKind))
        has_topic = bool(self.clauses or self.answers)
        if not (self.title and has_topic and (self.data_sets or self.kind == CaseKind.PASS)):
            raise CaseError("incomplete", id=self.id)
        numbers = len(self.data_sets), *map(len, self.data_sets), *map(len, self.answers)
        if max(numbers, default=0) > MAX_CASE_TENSORS:
            raise CaseError("too-many-tensors", id=self.id, most=MAX_CASE_TENSORS)
        if len(self.hazards) not in (0, len(self.data_sets)):
            raise CaseError("hazards-mismatch", id=self.id, data_sets=len(self.data_sets), hazards=len(self.hazards))
        if self.kind == CaseKind.PASS and self.rewrite is None:
            raise CaseError("rewrite-missing", id=self.id)

    @property
    def path(self) -> str:
        """Directory of the case, relative to the corpus."""
        return f"{self.kind}/{self.id}"

    @property
    def is_invalid(self) -> bool:
        """Whether the model is invalid: a subject must reject it, and there are no expected outputs."""
        return self.kind == CaseKind.INVALID
