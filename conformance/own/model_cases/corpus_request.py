"""The corpora that `generate` writes: which options belong together, and the cases of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.errors import CorpusError, ModelError, UsageError
from conformance.base.serialization.printable_text import print_progress, progress_counter
from conformance.corpus.cases.case_loading import read_case_json
from conformance.corpus.cases.corpus import read_manifest
from conformance.corpus.generation.generators import PATTERNS, define_cases
from conformance.corpus.generation.write_corpus import CorpusSize, check_no_corpus, corpus_differences, generate
from conformance.own.model_cases.earlier_answers import EarlierAnswers, code_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.cases.case import Case
    from conformance.corpus.cases.corpus import Corpus
    from conformance.own.model_cases.model_cases import ModelCases
    from conformance.own.model_cases.onnx_cases import OnnxCases


ONNX = "onnx"
"""Name of the corpus of onnx's cases."""


@dataclass(frozen=True)
class CorpusRequest:
    """Sources of a corpus: generators, the cases of onnx, models of a user, or patterns of passes.

    Attributes:
        generators: names of generators of the suite; empty for all.
        version: the version of a corpus of generators; None for the smallest that is allowed.
        onnx: whether the cases of onnx are taken.
        operators: the operators whose cases of onnx are taken; empty for all.
        opset: the opset of drawn nodes in place of onnx's cases, as text.
        models: the files of the user's models.
        inputs: the file or folder with inputs of one model.
        shapes: the values of `--shape`.
        has_values: whether the cases have data and names of the models.
        passes: whether the patterns of passes are taken.
        output: the directory; None for the one that the kind of cases has.
    """

    generators: Sequence[str] = ()
    version: str | None = None
    onnx: bool = False
    operators: Sequence[str] = ()
    opset: str | None = None
    models: Sequence[Path] = ()
    inputs: Path | None = None
    shapes: Sequence[str] = ()
    has_values: bool = True
    passes: bool = False
    output: Path | None = None

    @property
    def directory(self) -> Path:
        """The directory of the corpus."""
        kinds = (self.onnx, "onnx-cases"), (self.models, "model-cases"), (self.passes, "pass-cases")
        return self.output or Path(next((name for is_chosen, name in kinds if is_chosen), "data"))

    def check(self, *, is_release: bool, is_compared: bool, replaces: bool) -> None:
        """Check that the options belong together.

        Args:
            is_release: whether the corpus is recorded as released, and not written.
            is_compared: whether the corpus is compared, and not written.
            replaces: whether an existing corpus may be replaced.

        Raises:
            UsageError: they do not.
            ModelError: a model cannot be found.
            CorpusError: a corpus exists, and must not be replaced.
        """
        kinds = ("--passes", self.passes), ("--onnx", self.onnx), ("--model", self.models)
        chosen = [option for option, is_given in kinds if is_given]
        if len(chosen) > 1 or (chosen and (self.generators or self.version or is_release)):
            raise UsageError("options-conflict.alone", option=chosen[0])
        if (self.operators or self.opset) and not self.onnx:
            raise UsageError("onnx-missing", option="--operator" if self.operators else "--opset")
        if not self.models and (self.inputs is not None or self.shapes or not self.has_values):
            raise UsageError("model-missing")
        if is_release and (self.generators or self.version or is_compared or replaces):
            raise UsageError("options-conflict.alone", option="--release")
        for model in self.models:  # before the folder is checked: its error would hide a wrong name
            try:
                Path(model).stat()
            except OSError as error:
                raise ModelError("file-unreadable", path=model, reason=error.strerror) from None
        if is_compared and not is_release:
            read_manifest(self.directory)
        elif not is_release:
            check_no_corpus(self.directory, replaces=replaces or self.is_extensible)
            if self._present is not None and self.is_extensible and not replaces:
                self._check_same_code(self._present)

    @property
    def is_extensible(self) -> bool:
        """Whether cases of operators can be added to a corpus of onnx's cases in the directory."""
        return self.onnx and not self.opset and self._present is not None and self._present.name == ONNX

    @cached_property
    def _present(self) -> Corpus | None:
        """The corpus in the directory before this request; None if there is none."""
        try:
            return read_manifest(self.directory)
        except CorpusError:
            return None

    def _check_same_code(self, present: Corpus) -> None:
        """Check that this code wrote the corpus in the directory, so that the old and the new cases belong together.

        Raises:
            CorpusError: other code or another release of onnx wrote it.
        """
        if present.code != code_digest():
            raise CorpusError("exists.other-code", directory=self.directory, count=len(present.cases))

    def extended(self) -> CorpusRequest | None:
        """Return the request with the operators of the corpus in the directory; None if it has all requested ones."""
        corpus = self._present or read_manifest(self.directory)
        operators = {read_case_json(corpus, case).tags[0] for case in corpus.cases.values()}
        if self.operators and operators.issuperset(self.operators):
            return None
        return replace(self, operators=sorted(operators.union(self.operators)) if self.operators else ())

    def write(self, *, keeps: bool = False) -> GeneratedCorpus:
        """Write the corpus. Answers of the corpus that is replaced are reused if they have not changed.

        Args:
            keeps: whether the corpus must have all cases of the corpus that is replaced.

        Raises:
            CorpusError: it lacks some of them.
        """
        code = code_digest() if self.onnx or self.models else ""
        earlier = EarlierAnswers.of(self.directory, code) if code else EarlierAnswers()
        defined = self._define(earlier)
        cases = defined.cases
        known = self._present.cases if keeps and self._present is not None else {}
        if not known.keys() <= {case.id for _, case in cases}:
            raise CorpusError("exists.other", directory=self.directory, count=len(known))
        with progress_counter("expected outputs", len(cases)) as progress:
            size = generate(
                self.directory,
                cases,
                defined.version,
                progress,
                defined.name,
                is_versioned=defined.is_versioned,
                added=defined.added,
                code=code,
                nodes=defined.nodes,
            )
        return GeneratedCorpus(defined.name, size, defined.notes, defined.summary, earlier.reused)

    def differences(self) -> tuple[int, list[str]]:
        """Return the number of cases, and a sentence for each file of the corpus that a new corpus would change."""
        defined = self._define(EarlierAnswers())
        with progress_counter("expected outputs", len(defined.cases)) as progress:
            found = corpus_differences(self.directory, defined.cases, progress, defined.added)
        return len(defined.cases), found

    def _define(self, earlier: EarlierAnswers) -> _DefinedCorpus:
        if self.onnx:
            from conformance.own.model_cases.drawn_cases import chosen_onnx_cases

            counter = partial(progress_counter, "cases")
            return _DefinedCorpus.of(chosen_onnx_cases(self.operators or None, self.opset, counter, earlier))
        if self.models:
            return self._define_model_cases(earlier)
        cases = define_cases([PATTERNS] if self.passes else self.generators)
        name = PATTERNS if self.passes else ""
        return _DefinedCorpus(cases, name, self.version, is_versioned=not self.passes)

    def _define_model_cases(self, earlier: EarlierAnswers) -> _DefinedCorpus:
        from conformance.own.graphs.model_inputs import chosen_text
        from conformance.own.graphs.reading import LoadedModel
        from conformance.own.model_cases.model_cases import define_model_cases, given_models

        given = given_models([LoadedModel.read(path) for path in self.models], self.inputs, self.shapes)
        notes = [f"{each.model.path.name}: {chosen_text(each.chosen)}" for each in given if each.chosen]
        found = define_model_cases(given, has_values=self.has_values, progress=print_progress, earlier=earlier)
        return replace(_DefinedCorpus.of(found, notes), nodes=found.nodes)


@dataclass(frozen=True)
class _DefinedCorpus:
    """The cases of a corpus, and what it has besides."""

    cases: Sequence[tuple[str, Case]]
    name: str
    version: str | None
    is_versioned: bool
    added: Mapping[str, bytes] = field(default_factory=dict)
    notes: Sequence[str] = ()
    summary: Sequence[str] = ()
    nodes: int = 0

    @classmethod
    def of(cls, found: OnnxCases | ModelCases, notes: Sequence[str] = ()) -> _DefinedCorpus:
        return cls(
            found.cases,
            found.name,
            found.version,
            is_versioned=False,
            added=found.added_files(),
            notes=notes,
            summary=list(found.summary()),
        )


@dataclass(frozen=True)
class GeneratedCorpus:
    """A corpus that was written.

    Attributes:
        name: its name; empty for the corpus of the suite.
        size: its version and size.
        notes: lines on what was chosen for the user.
        summary: lines with counts of cases.
        reused: the number of data sets whose answers come from the corpus that was replaced.
    """

    name: str
    size: CorpusSize
    notes: Sequence[str]
    summary: Sequence[str]
    reused: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of `summary`, and one on the reused answers."""
        yield from self.summary
        if self.reused:
            yield f"{self.reused} data sets have the expected values of the replaced corpus, because nothing changed"
