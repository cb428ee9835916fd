"""A corpus as a folder or archive for runners in any language: the cases with an index, a judge in C and a README.

`index.csv` has one line per case. The manifest has the hashes of the files of cases, and
`SHA256SUMS` the hashes of the other files.
"""

from __future__ import annotations

import csv
import hashlib
import io
from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import find_suite_path, read_regular
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import (
    COMPANION_FILE,
    DataSet,
    LoadedCase,
    load_case,
    load_companion,
    read_case_json,
)
from conformance.corpus.cases.corpus import (
    MANIFEST,
    MAX_FILE_BYTES,
    NOTICE,
    Corpus,
    CorpusCase,
    has_file,
    manifest_bytes,
)
from conformance.exact.models.graphs import has_double_output, iter_nodes
from conformance.exact.reference.interpretations import interpreted_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


CHECKSUMS = "SHA256SUMS"
INDEX = "index.csv"
INDEX_COLUMNS = (
    "case",
    "kind",
    "level",
    "data_sets",
    "checks",
    "one_computation",
    "cases",
    "operators",
    "clauses",
    "title",
)
"""Columns of the index. harnesses/c/judge.c reads the first seven, and requires them in this order."""

_ADDED_FILES = {
    "README.md": "docs/how-to/judge-without-python.md",
    "LICENSE": "LICENSE",
    "judge/judge.c": "harnesses/c/judge.c",
    "judge/CMakeLists.txt": "harnesses/c/CMakeLists.txt",
}
"""Files that are added to the cases, with their places in a checkout. The wheel has them in the folder `exported`."""


def exported_files(
    corpus: Corpus, cases: Mapping[str, CorpusCase], progress: Callable[[str], None] = lambda _: None
) -> dict[str, bytes]:
    """Return the contents of all files of an exported corpus by path; the same cases give the same bytes.

    Args:
        corpus: the corpus.
        cases: the cases to export, by id; their companions are added. The manifest lists only these cases, so the
            digest is that of the selection.
        progress: is called with the id of each case.

    Raises:
        CorpusError: a file of the corpus is missing or altered.
    """
    chosen = _with_companions(corpus, cases)
    files: dict[str, bytes] = {}
    for case in chosen:
        files |= {f"{case.path}/{name}": corpus.read(case, name) for name in case.files}
        progress(case.id)
    added = {name: _added_file(name) for name in _ADDED_FILES} | _licence_files(corpus)
    if has_file(corpus.path, NOTICE) and not has_file(corpus.path, "LICENSE"):
        del added["LICENSE"]
    hashes = {case.path: case.files for case in chosen}
    levels = {case.path: case.level for case in chosen}
    added[MANIFEST] = manifest_bytes(corpus.version, hashes, levels, corpus.name, corpus.code, corpus.nodes)
    added[INDEX] = corpus_index(corpus, chosen)
    sums = "".join(f"{hashlib.sha256(added[name]).hexdigest()}  {name}\n" for name in sorted(added))
    return files | added | {CHECKSUMS: sums.encode()}


def _with_companions(corpus: Corpus, cases: Mapping[str, CorpusCase]) -> list[CorpusCase]:
    """Return cases and their companions, sorted by id."""
    chosen = dict(cases)
    for case in cases.values():
        if COMPANION_FILE in case.files and (companion := load_companion(load_case(corpus, case))):
            chosen.setdefault(companion.id, companion.entry)
    return [chosen[id] for id in sorted(chosen)]


def _licence_files(corpus: Corpus) -> dict[str, bytes]:
    """Return the licence and the notice of a corpus whose models come from elsewhere.

    The corpus of a user's models has a notice and no licence. Its export has no licence either: that of the suite does
    not apply to the models.
    """
    return {
        name: read_regular(str(corpus.path / name), MAX_FILE_BYTES)
        for name in ("LICENSE", NOTICE)
        if has_file(corpus.path, name)
    }


def _added_file(name: str) -> bytes:
    return find_suite_path(f"exported/{name}", _ADDED_FILES[name]).read_bytes()


def corpus_index(corpus: Corpus, cases: list[CorpusCase]) -> bytes:
    """Return a CSV with one line per case.

    The column `checks` has the check of each output: once if all data sets have the same checks, else for each data
    set, separated by `|`. The column `one_computation` has the numbers of the outputs for which bounds do not suffice:
    one computation must explain all of them (see `conformance.exact.reference.interpretations`). The column `cases` has
    the number of cases in each line, so that a runner notices when lines are lost.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(INDEX_COLUMNS)
    writer.writerows(list(_index_row(corpus, case, len(cases))) for case in cases)
    return stream.getvalue().encode()


def _index_row(corpus: Corpus, entry: CorpusCase, cases: int) -> Iterator[str | int]:
    case = load_case(corpus, entry)
    document = read_case_json(corpus, entry)
    data_sets = list(case.data_sets())
    op_types = {node.op_type for part in (case.model.graph, *case.model.functions) for node in iter_nodes(part)}
    checks = [[output.check for output in data_set.outputs] for data_set in data_sets]
    if all(each == checks[0] for each in checks):
        del checks[1:]
    yield from (entry.id, entry.kind, entry.level, len(data_sets))
    yield " | ".join(map(" ".join, checks))
    yield " ".join(map(str, _outputs_of_one_computation(case, data_sets)))
    yield cases
    texts = (" ".join(sorted(op_types)), " ".join(document.clauses), document.title)
    yield from (f"'{text}" if text.startswith(("=", "+", "-", "@")) else text for text in texts)  # no formulas


def _outputs_of_one_computation(case: LoadedCase, data_sets: list[DataSet]) -> list[int]:
    """Return the numbers of the outputs that `output_without_interpretation` compares with interpretations."""
    if case.entry.level is not Level.MUST or case.is_invalid or not data_sets or not has_double_output(case.model):
        return []
    nodes = interpreted_nodes(case.model.SerializeToString(), data_sets[0].inputs)
    return sorted({output for node in nodes for output in node.outputs})
