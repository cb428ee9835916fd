"""The answers of a corpus that `generate` replaces, for models and inputs that have not changed.

The reference computes an answer from a model and its inputs. So a corpus that the same code wrote has the answers of
its cases. `EarlierAnswers` finds them, and everything else is computed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from conformance.base.errors import CorpusError
from conformance.base.verdicts import Unsupported
from conformance.corpus.cases.case import VALUE_TAG
from conformance.corpus.cases.case_loading import load_case, read_case_json
from conformance.corpus.cases.corpus import read_manifest
from conformance.exact.models.arrays import Array, hash_values
from conformance.exact.models.input_files import fed_input_names, initializer_arrays
from conformance.exact.reference.oracle import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.corpus.cases.corpus import Corpus

WINGS = ("base", "exact", "corpus", "own")
"""The wings whose files determine the answers."""


def code_digest() -> str:
    """Return the SHA-256 of the code and the tables that determine the answers, with the release of onnx."""
    found = hashlib.sha256(onnx.__version__.encode())
    root = Path(__file__).parents[2]
    for wing in WINGS:
        for path in sorted((root / wing).rglob("*")):
            if path.suffix in {".py", ".toml"}:
                content = path.read_bytes()
                found.update(f"\0{path.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


@dataclass(frozen=True)
class CaseComputation:
    """A computation of a case: a model, whose declared inputs and outputs do not count, and the elements of all values.

    Attributes:
        model: has the opsets and the functions.
        nodes: the nodes.
        results: the names of the outputs.
        values: the elements of inputs and initializers, by name.
    """

    model: onnx.ModelProto
    nodes: Sequence[onnx.NodeProto]
    results: Sequence[str]
    values: Mapping[str, Array]

    @classmethod
    def of(cls, model: onnx.ModelProto, inputs: Sequence[Array]) -> CaseComputation:
        """Return the computation of a model on inputs.

        Raises:
            Unsupported: the elements of an initializer are not in the model.
        """
        names = fed_input_names(model.graph, len(inputs))
        values = initializer_arrays(model.graph) | dict(zip(names, inputs, strict=True))
        return cls(model, model.graph.node, [value.name for value in model.graph.output], values)

    def digest(self) -> str:
        """Return the SHA-256 of everything that determines the results."""
        messages = [*self.nodes, *self.model.functions]
        imports = sorted((entry.domain, entry.version) for entry in self.model.opset_import)
        content = [message.SerializeToString(deterministic=True).hex() for message in messages]
        names = sorted(self.values)
        elements = hash_values(self.values[name] for name in names)
        return hashlib.sha256(repr((imports, content, list(self.results), names, elements)).encode()).hexdigest()


@dataclass
class EarlierAnswers:
    """The answers of the cases of an earlier corpus.

    Attributes:
        corpus: the corpus; None if there is none, or if other code wrote it.
        reused: the number of data sets whose answers were found.
    """

    corpus: Corpus | None = None
    reused: int = 0
    _by_case: dict[str, dict[str, list[Answer]]] = field(default_factory=dict)

    @classmethod
    def of(cls, directory: Path, code: str) -> EarlierAnswers:
        """Return the answers of the corpus in a directory, if code with this digest wrote it."""
        try:
            corpus = read_manifest(directory)
        except CorpusError:
            return cls()
        return cls(corpus if corpus.code == code else None)

    def find_or(
        self, id: str, make: Callable[[], CaseComputation], compute: Callable[[], list[Answer]]
    ) -> list[Answer]:
        """Return the answers of a data set of a case, from the corpus if it has them.

        Args:
            id: the case.
            make: returns the computation.
            compute: computes the answers.

        Raises:
            Unsupported: the reference has no answer.
        """
        if self.corpus is None or id not in self.corpus.cases:
            return compute()
        if id not in self._by_case:
            self._by_case[id] = _answers_of_case(self.corpus, id)
        if (found := self._by_case[id].get(make().digest())) is None:
            return compute()
        self.reused += 1
        return found


def _answers_of_case(corpus: Corpus, id: str) -> dict[str, list[Answer]]:
    """Return the answers of a case by computation; none if they are not the reference's, or a file is damaged."""
    entry = corpus.cases[id]
    try:
        if VALUE_TAG in read_case_json(corpus, entry).tags:
            return {}
        case = load_case(corpus, entry)
        return {
            CaseComputation.of(case.model, data_set.inputs).digest(): [
                Answer(each.expected, each.bound, each.choices) for each in data_set.outputs
            ]
            for data_set in case.data_sets()
        }
    except (CorpusError, Unsupported):
        return {}
