"""The passes that cause a difference: the smallest set of passes of a graph optimizer that keeps the difference.

The passes are bisected by delta debugging (Zeller and Hildebrandt, 2002: Simplifying and Isolating Failure-Inducing
Input). It halves the set as long as one half keeps the difference, and then leaves out smaller parts. Passes that cause
the difference only together stay together. Before that, single passes are tried whose names have the operators that the
rewrite removes: `fuse_bn_into_conv` for a BatchNormalization beside a Conv.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import onnx

from conformance.base.serialization.decoding import read_own_toml
from conformance.exact.models.graphs import iter_nodes
from conformance.own.blame.document import FoundPasses
from conformance.own.blame.model_comparison import TimeIsOverError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.own.blame.model_comparison import OpenSubjects
    from conformance.subjects.calling.subject_names import SubjectName

T = TypeVar("T")

ONNXRUNTIME = "onnxruntime"
"""Name of the subjects, backend and graph optimizer, that take `disabled_optimizers`."""

TIME_IS_OVER = "the time ended before the search for the smallest set of passes"

MAX_LIKELY = 6
"""Maximum number of single passes that are tried before the set of all is bisected."""

MAX_TESTS = 400
"""Maximum number of sets of passes that are tried."""


@dataclass(frozen=True)
class Passes:
    """The passes of a subject, and the way in which they are chosen.

    Attributes:
        subject: the name of the subject.
        names: the passes, in the order in which they run.
        takes_disabled: whether the subject takes the passes that do not run (`disabled_optimizers`), and not those that
            do (`passes`).
    """

    subject: SubjectName
    names: tuple[str, ...]
    takes_disabled: bool = False

    def choose(self, chosen: Sequence[str]) -> SubjectName:
        """Return the name of the subject with only these passes."""
        if self.takes_disabled:
            before = self.subject.options.get("disabled_optimizers", "")
            disabled = [*before.split("+"), *(name for name in self.names if name not in chosen)]
            return self.subject.with_option("disabled_optimizers", "+".join(filter(None, disabled)))
        return self.subject.with_option("passes", "+".join(chosen) or "none")


def list_passes(subject: SubjectName, subjects: OpenSubjects) -> Passes | None:
    """Return the passes of a subject; None if they cannot be chosen.

    A graph optimizer lists its passes for `passes=list`, see `conformance.subjects.adapters.optimizers`. The passes of
    ONNX Runtime, as a backend and as a graph optimizer, come from `onnxruntime_optimizers.toml`.
    """
    if subject.name == ONNXRUNTIME and not subject.is_command:
        if subject.options.get("optimization") == "disabled":
            return None
        names = read_own_toml("conformance.own.blame", "onnxruntime_optimizers.toml")["names"]
        return Passes(subject, tuple(names), takes_disabled=True)
    if subject.kind != "optimizer" or subject.is_command:
        return None
    if given := subject.options.get("passes"):
        return Passes(subject, tuple(given.split("+")))
    try:
        with subjects.open(subject.with_option("passes", "list")) as (found,):
            answer = found.target(onnx.parser.parse_model(_SMALL_MODEL))
    except Exception:  # noqa: BLE001 - the graph optimizer has no such option, or fails
        return None
    listed = next((entry.value for entry in answer.metadata_props if entry.key == "passes"), "")
    return Passes(subject, tuple(listed.split("+"))) if listed else None


LEVELS = {"backend": ("optimization", ("disabled", "basic", "extended")), "optimizer": ("level", ("basic", "extended"))}
"""The option of ONNX Runtime for its levels of graph optimization below `all`, and the levels, by kind of subject."""


@dataclass
class PassSearch:
    """Search for the smallest set of passes that keeps a difference.

    Attributes:
        passes: the passes of the subject.
        keeps_difference: whether the difference stays if a subject replaces the one with all passes.
        progress: is called with a text for the user.
        tried: the answers of `keeps_difference` by the name of the subject, also those of an interrupted search.
        deadline: the time (`time.monotonic`) at which the search ends; a set that it found may then be too large.
        find_rewrite: returns the rewrite by a set of passes that was tried here; None if there is none.
        model: the model; None if the passes do not rewrite it here.
        tested: the number of sets whose answer was needed.
    """

    passes: Passes
    keeps_difference: Callable[[SubjectName], bool]
    progress: Callable[[str], None]
    tried: dict[str, bool]
    deadline: float = math.inf
    model: onnx.ModelProto | None = None
    find_rewrite: Callable[[SubjectName], onnx.ModelProto | None] = lambda _: None
    tested: int = 0

    def find(self) -> FoundPasses:
        """Return the smallest set of passes; without names if the passes cannot be chosen or no time is left."""
        try:
            return self._find()
        except TimeIsOverError:
            return self._none(TIME_IS_OVER)

    def _find(self) -> FoundPasses:
        passes = self._lowest_level() if self.passes.takes_disabled else self.passes
        if passes is None:
            return self._none(
                f"the difference stays with all graph optimizations of {self.passes.subject.text} disabled"
            )
        if not self._keeps(passes.choose(passes.names)):
            return self._none("the difference does not come if all passes are chosen by name")
        if self._keeps(passes.choose([])):
            return self._none("the difference stays if no pass is chosen")
        names = [*passes.names]

        def keeps(chosen: Sequence[str]) -> bool:
            nonlocal names
            is_kept = self._keeps(passes.choose(chosen))
            names = [*chosen] if is_kept else names
            return is_kept

        try:
            rewrite = self.find_rewrite(passes.choose(passes.names))
            likely = [] if self.model is None or rewrite is None else likely_passes(names, self.model, rewrite)
            if not any(keeps([name]) for name in likely[:MAX_LIKELY]):
                minimize(names, keeps)
        except TimeIsOverError:
            return FoundPasses(names, TIME_IS_OVER, self.tested, passes.choose(names).text)
        return FoundPasses(names, "", self.tested, passes.choose(names).text)

    def _none(self, reason: str) -> FoundPasses:
        return FoundPasses(None, reason, self.tested)

    def _lowest_level(self) -> Passes | None:
        """Return the passes of ONNX Runtime at its lowest level with the difference; None for `disabled`."""
        named = self.passes.subject
        option, levels = LEVELS[named.kind]
        given = named.options.get(option)
        for level in levels[: levels.index(given)] if given in levels else levels:
            subject = named.with_option(option, level)
            if self._keeps(subject):
                return None if level == "disabled" else replace(self.passes, subject=subject)
        return self.passes

    def _keeps(self, subject: SubjectName) -> bool:
        if time.monotonic() > self.deadline:
            raise TimeIsOverError
        self.tested += 1
        self.progress(f"{self.tested} sets of passes tried")
        if subject.text not in self.tried:
            self.tried[subject.text] = self.keeps_difference(subject)
        return self.tried[subject.text]


_SMALL_MODEL = '<ir_version: 8, opset_import: ["" : 17]> small (float[1] X) => (float[1] Y) { Y = Neg(X) }'
"""A model for which a graph optimizer lists its passes."""


def likely_passes(names: Sequence[str], model: onnx.ModelProto, rewrite: onnx.ModelProto) -> list[str]:
    """Return the passes whose names have operators that a rewrite removes, those with most of them first.

    A name can have the whole operator or its initials. An operator that stays counts half: it may be changed too.
    """
    before, after = (Counter(node.op_type for node in iter_nodes(each.graph)) for each in (model, rewrite))
    weights = {operator: 1.0 if after[operator] < count else 0.5 for operator, count in before.items()}
    removed = [operator for operator in before if after[operator] < before[operator]]
    scores: dict[str, float] = {}
    for name in names:
        words = [word.lower() for word in _WORDS.findall(name)]
        named = [
            operator
            for operator in before
            if operator.lower() in "".join(words) or "".join(_CAPITALS.findall(operator)).lower() in words
        ]
        if not {*named}.isdisjoint(removed):
            scores[name] = sum(weights[operator] for operator in named)
    return sorted(scores, key=lambda name: -scores[name])


_WORDS = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CAPITALS = re.compile("[A-Z]")


def minimize(items: Sequence[T], keeps: Callable[[Sequence[T]], bool], max_tests: int = MAX_TESTS) -> list[T]:
    """Return a part of a list that keeps a property, and of which no item can be left out.

    Args:
        items: the list, which has the property.
        keeps: whether a part of the list, in its order, has the property.
        max_tests: the number of parts that are tried; the result may be larger than necessary after that many.
    """
    current = list(items)
    parts = 2
    tests = 0
    seen: dict[tuple[int, ...], bool] = {}
    numbers = list(range(len(current)))

    def has_property(chosen: list[int]) -> bool:
        nonlocal tests
        key = tuple(chosen)
        if key not in seen:
            tests += 1
            seen[key] = keeps([current[number] for number in chosen])
        return seen[key]

    while len(numbers) > 1 and tests < max_tests:
        size = -(-len(numbers) // parts)
        chunks = [numbers[start : start + size] for start in range(0, len(numbers), size)]
        rest: Any = ([number for number in numbers if number not in chunk] for chunk in map(set, reversed(chunks)))
        found = next((chunk for chunk in reversed(chunks) if has_property(chunk)), None)
        if found is not None:
            numbers = found
            parts = 2
            continue
        found = next((part for part in rest if part and has_property(part)), None) if len(chunks) > 2 else None
        if found is not None:
            numbers, parts = found, max(parts - 1, 2)
        elif size == 1:
            break
        else:
            parts = min(len(numbers), 2 * parts)
    return [current[number] for number in numbers]
