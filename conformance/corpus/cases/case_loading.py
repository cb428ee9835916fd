"""Load a case: its model, the inputs of each data set, the expected outputs, and its descriptive files.

`LoadedCase` reads data sets on demand. `CaseInMemory` reads all files once and returns copies. A `CaseDocument` is the
content of case.json. The types also define `schemas/case.schema.json`. A companion is a second case whose model is
loaded after the model of the tested case; see `judging.backend`.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from msgspec import Meta, to_builtins

from conformance.base.errors import CorpusError, UnknownName
from conformance.base.serialization.decoding import (
    Count,
    JsonReader,
    MalformedError,
    NonEmpty,
    StoredRecord,
    schema_violation,
)
from conformance.base.verdicts import CheckKind, Level, check_name
from conformance.corpus.cases.case import CaseKind, PassEffect
from conformance.corpus.cases.corpus import Corpus, CorpusCase, damaged_corpus_error, find_case
from conformance.exact.models.arrays import Array, array_of, copy_of_value, dtype_of, has_element_type
from conformance.exact.models.summaries import ModelSummary, TensorPreview

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


LAYOUT_CACHE_SIZE = 512
"""Number of cached lists of file names; most cases have the same file names as another case."""

_FILE = re.compile(r"test_data_set_(\d+)/(input|output|bound|accept)_(\d+)\.pb")


@dataclass(frozen=True, slots=True)
class ExpectedTensor:
    """The expected value of an output, with its bounds or acceptable indices.

    Attributes:
        expected: expected value.
        bound: largest accepted distance of each element from the expected value (double, the output's shape). None if
            the check is `exact` or `index`.
        choices: acceptable indices (bool, the output's shape with one more axis); None if the output is not an index.
    """

    name: str
    expected: Array
    bound: Array | None = None
    choices: Array | None = None

    @property
    def check(self) -> CheckKind:
        """Name of the check: `exact`, `bound` or `index`."""
        return check_name(bound=self.bound, choices=self.choices)

    @property
    def open_elements(self) -> int:
        """Number of the elements whose bound is infinite: every value is admissible, so nothing is judged."""
        return 0 if self.bound is None else int(np.isinf(self.bound).sum())


@dataclass(frozen=True, slots=True)
class DataSet:
    """Inputs and expected outputs in the order of the graph; an invalid model has no expected outputs."""

    inputs: tuple[Array, ...]
    outputs: tuple[ExpectedTensor, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LoadedCase:
    """A case loaded for one run. It shares no objects with other runs, so a subject may modify it.

    Attributes:
        entry: the case in the manifest.
        model: the model that a subject prepares.
    """

    corpus: Corpus
    entry: CorpusCase
    model: onnx.ModelProto

    @property
    def id(self) -> str:
        """Id of the case."""
        return self.entry.id

    @property
    def is_invalid(self) -> bool:
        """Whether the model is invalid: a subject must reject it, and there are no expected outputs."""
        return self.entry.is_invalid

    @property
    def is_structural(self) -> bool:
        """Whether the case has no data set, so that it only tests how a graph optimizer rewrites the graph."""
        return self.entry.is_structural

    def data_sets(self) -> Iterator[DataSet]:
        """Yield the data sets in order, each read on demand; a structural case has none.

        Raises:
            CorpusError: a file is altered or malformed, or a case that needs a data set has none.
        """
        names = [] if self.is_invalid else [value.name for value in self.model.graph.output]
        data_sets = _files_by_data_set(tuple(self.entry.files))
        if not data_sets and not self.is_structural:
            raise CorpusError("malformed.no-data-set", path=self.entry.path, corpus=self.corpus.path)
        for files in data_sets:
            with _corpus_errors(self.corpus, self.entry):
                yield _read_data_set(self.corpus, self.entry, files, names)

    def in_memory(self) -> CaseInMemory:
        """Return the case with all its data sets.

        Raises:
            CorpusError: a file is altered or malformed.
        """
        return CaseInMemory(self.corpus, self.entry, self.model, tuple(self.data_sets()))


def load_case(corpus: Corpus, case: CorpusCase) -> LoadedCase:
    """Load a case.

    Raises:
        CorpusError: the model is altered or malformed.
    """
    with _corpus_errors(corpus, case):
        return LoadedCase(corpus, case, onnx.ModelProto.FromString(corpus.read(case, "model.onnx")))


@contextmanager
def _corpus_errors(corpus: Corpus, case: CorpusCase) -> Iterator[None]:
    """Replace an error of decoding a case's files in the `with` block by a CorpusError."""
    try:
        yield
    except (DecodeError, ValueError, KeyError, TypeError) as error:
        what = error if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise CorpusError("malformed.case", path=case.path, corpus=corpus.path, error=what) from None


@lru_cache(maxsize=LAYOUT_CACHE_SIZE)
def _files_by_data_set(files: tuple[str, ...]) -> list[Mapping[tuple[str, int], str]]:
    """Return for each data set its files by (content, number); content is `input`, `output`, `bound` or `accept`."""
    found: dict[int, dict[tuple[str, int], str]] = {}
    for file in files:
        if match := _FILE.fullmatch(file):
            found.setdefault(int(match[1]), {})[match[2], int(match[3])] = file
    return [found[number] for number in sorted(found)]


def _read_data_set(
    corpus: Corpus, case: CorpusCase, files: Mapping[tuple[str, int], str], names: Sequence[str]
) -> DataSet:
    count = sum(what == "output" for what, _ in files)
    if count != len(names) or not (names or case.is_invalid):
        raise ValueError(f"a data set has {count} outputs, and the model has {len(names)}")
    numbers = {what: sorted(number for each, number in files if each == what) for what, _ in files}
    if any(numbers[what] != [*range(len(numbers[what]))] for what in ("input", "output") if what in numbers):
        raise ValueError("a file of a data set is missing")
    tensors = {key: _decode_tensor(corpus.read(case, file)) for key, file in files.items()}
    outputs = tuple(
        _expected_tensor(name, tensors["output", i], tensors.get(("bound", i)), tensors.get(("accept", i)))
        for i, name in enumerate(names)
    )
    if outputs and all(0 < each.expected.size == each.open_elements for each in outputs):
        raise ValueError("the bounds of a data set admit every value")
    return DataSet(tuple(tensors["input", i] for i in range(sum(what == "input" for what, _ in files))), outputs)


def _expected_tensor(name: str, expected: Array, bound: Array | None, choices: Array | None) -> ExpectedTensor:
    """Return the expected output `name`, after a check of the shapes; nothing is broadcast.

    Raises:
        ValueError: the bound does not have the shape of the output, has another type than double, or a negative element
            or NaN; or the acceptable indices (`choices`) are not those of integers, or do not have that shape and one
            more axis.
    """
    if bound is not None and bound.shape != expected.shape:
        raise ValueError(f"the bound of {name} has shape {bound.shape} instead of {expected.shape}")
    if bound is not None and (bound.dtype != np.float64 or not (bound >= 0).all()):
        raise ValueError(f"the bound of {name} has other elements than doubles from 0")
    if choices is not None and (
        choices.dtype != np.bool_ or choices.shape[:-1] != expected.shape or expected.dtype.kind not in "iu"
    ):
        raise ValueError(f"the acceptable indices of {name} do not fit its shape {expected.shape}")
    return ExpectedTensor(name, expected, bound, choices)


_OTHER_NAMES = {"INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2", "FLOAT6E2M3", "FLOAT6E3M2", "STRING"}
_OTHER_TYPES = frozenset(number for name, number in onnx.TensorProto.DataType.items() if name in _OTHER_NAMES)
"""Element types of less than a byte, and strings."""


def _decode_tensor(content: bytes) -> Array:
    """Return the tensor in a file of the corpus as a new, writable array.

    Every tensor of the corpus stores its elements in `raw_data`, except for strings. Types of less than a byte are
    packed there.
    """
    proto = onnx.TensorProto.FromString(content)
    if not has_element_type(proto.data_type):
        raise ValueError(f"a tensor has the element type {proto.data_type}, which does not exist")
    if proto.data_type in _OTHER_TYPES:
        return array_of(proto).copy()
    return np.frombuffer(proto.raw_data, dtype=dtype_of(proto.data_type)).reshape(tuple(proto.dims)).copy()


@dataclass(frozen=True, slots=True, eq=False)
class CaseInMemory(LoadedCase):
    """A case whose files are read once. Each run receives copies of the inputs, which a subject may modify.

    Attributes:
        held: the data sets in memory.
    """

    held: tuple[DataSet, ...]

    @property
    def level(self) -> Level:
        """Level of the case."""
        return self.entry.level

    def data_sets(self) -> Iterator[DataSet]:
        """Yield the data sets with copies of their inputs."""
        return (DataSet(tuple(map(copy_of_value, kept.inputs)), kept.outputs) for kept in self.held)

    def fresh_model(self) -> onnx.ModelProto:
        """Return a copy of the model, which a subject may modify."""
        return deepcopy(self.model)


def load_case_in_memory(corpus: Corpus, case: CorpusCase) -> CaseInMemory:
    """Load a case with all its data sets.

    Raises:
        CorpusError: a file is altered or malformed.
    """
    return load_case(corpus, case).in_memory()


UniqueTexts = Annotated[list[str], Meta(extra_json_schema={"uniqueItems": True})]


class ExpectedOutput(TensorPreview, kw_only=True):
    """Preview of an expected output: its first elements with bounds or acceptable indices, and its check."""

    check: CheckKind
    bounds: list[str] | None = None
    accept: list[str] | None = None


class DataSetPreview(StoredRecord):
    """Preview of one data set of a case: inputs, expected outputs, and the hazard that the data set exposes."""

    inputs: list[TensorPreview]
    outputs: list[ExpectedOutput]
    hazard: NonEmpty = ""


class RewriteDocument(StoredRecord):
    """The required effect of the pass on the model of a case.

    `once` has the paths of the values whose producers one run removes; `fixed_point` the same for runs to a fixed
    point. `check` is the graph optimizer check that the case tests.
    """

    effect: PassEffect
    once: list[str]
    fixed_point: list[str]
    check: NonEmpty = ""


class CaseDocument(StoredRecord):
    """The content of case.json; `uses` is how often the models of a user have the node of the case."""

    title: NonEmpty
    level: Level
    generator: NonEmpty
    clauses: UniqueTexts
    tags: UniqueTexts
    model: ModelSummary
    data_sets: list[DataSetPreview]
    rewrite: RewriteDocument | None = None
    uses: Count = 0


MAX_CASE_JSON_BYTES = 2**23
"""Largest size of a case.json: its record must fit in a line of a results file."""

MAX_CASE_JSON_VALUES = 2**19
"""Largest number of values of a case.json; those of a preview have about 16 bytes."""

_decode_case = JsonReader(CaseDocument, max_values=MAX_CASE_JSON_VALUES)

_EFFECT_OF_ANSWER = {
    b'"answer": "fires"': b'"effect": "applies"',
    b'"answer": "stays"': b'"effect": "does_not_apply"',
    b'"answer": "may"': b'"effect": "optional"',
}
"""The key of the effect of the pass in corpora before 2.0.0, with its values, and what stands there since 2.0.0.

The title of a case cannot contain the text of a key: JSON writes a quotation mark in a text with a backslash.
"""


def read_case_json(corpus: Corpus, case: CorpusCase) -> CaseDocument:
    """Return the case.json of a case.

    Raises:
        CorpusError: the file is altered or malformed.
    """
    content = corpus.read(case, "case.json")
    problem: str | None
    try:
        if len(content) > MAX_CASE_JSON_BYTES:
            raise MalformedError(f"it is larger than {MAX_CASE_JSON_BYTES} bytes")  # noqa: TRY301 - one message for both
        for old, new in _EFFECT_OF_ANSWER.items():
            content = content.replace(old, new)
        document = _decode_case(content)
        problem = schema_violation("case", to_builtins(document))
    except MalformedError as error:
        problem = str(error)
    if problem:
        raise damaged_corpus_error("malformed", corpus.path, f"{case.path}/case.json is malformed: {problem}")
    return document


def runnable_cases(corpus: Corpus, *, by_optimizers: bool) -> frozenset[str]:
    """Return the ids of the cases that backends run, or those that graph optimizers run.

    Backends run each case with data sets or an invalid model, and graph optimizers each case of the pass: its case.json
    defines the effect of the pass.
    """
    cases = corpus.cases.values()
    if not by_optimizers:
        return frozenset(case.id for case in cases if not case.is_structural)
    others = (case for case in cases if case.kind is not CaseKind.NODE)
    return frozenset(case.id for case in others if read_case_json(corpus, case).rewrite)


COMPANION_FILE = "companion.json"


class CompanionDocument(StoredRecord):
    """The content of companion.json: the id of the companion case."""

    case: str


_decode_companion = JsonReader(CompanionDocument)


def verify_companions(corpus: Corpus) -> None:
    """Check that every companion file names a case of the corpus that can be run.

    Raises:
        CorpusError: a companion file is malformed or names an unsuitable case.
    """
    for entry in corpus.cases.values():
        if COMPANION_FILE in entry.files:
            load_companion(load_case(corpus, entry))


def companion_bytes(id: str) -> bytes:
    """Return the content of the file companion.json for the companion case `id`."""
    return (json.dumps({"case": id}) + "\n").encode()


def find_companion(corpus: Corpus, case: CorpusCase) -> CorpusCase | None:
    """Return the companion of a case, which can be the case itself; None if it has no companion.

    Raises:
        CorpusError: the companion file is malformed, or names a case that does not exist or cannot be run.
    """
    if COMPANION_FILE not in case.files:
        return None
    file = f"{case.path}/{COMPANION_FILE}"
    try:
        other = find_case(corpus, _decode_companion(corpus.read(case, COMPANION_FILE)).case)
    except MalformedError as error:
        raise damaged_corpus_error("malformed", corpus.path, f"{file} is malformed: {error}") from None
    except UnknownName:
        raise damaged_corpus_error(
            "companion-unsuitable", corpus.path, f"{file} names a case that does not exist"
        ) from None
    if other.is_invalid or other.is_structural:
        raise damaged_corpus_error("companion-unsuitable", corpus.path, f"{file} names {other.id}, which cannot be run")
    return other


def load_companion(case: LoadedCase) -> LoadedCase | None:
    """Load the companion of a case, see `find_companion`."""
    other = find_companion(case.corpus, case.entry)
    return None if other is None else load_case(case.corpus, other)
