"""Make the files of a release: wheel, sdist, an archive of the corpus, and their checksums.

python scripts/release.py [FOLDER]

FOLDER is `dist` by default; it is deleted first. The same checkout gives the same files, because they contain no times
and no paths. The compressed bytes of the archive depend on the version of zlib, so the tar in it has its own checksum.

The archive has the corpus, an index of its cases (`index.csv`), the judge in C, a README and the licence. Its
`SHA256SUMS` covers all these files but those of the cases, whose hashes are in `manifest.json`.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.corpus.case_json import read_case_json
from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.corpus.released import RELEASED
from conformance.models.graphs import iter_nodes
from conformance.reference.interpretations import has_interpretations, interpreted_nodes
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.corpus.loading import DataSet, LoadedCase

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "how-to" / "judge-without-python.md"
LICENSE = ROOT / "LICENSE"
JUDGE = ROOT / "harnesses" / "c"
CHECKSUMS = "SHA256SUMS"
INDEX = "index.csv"
INDEX_COLUMNS = (
    "case",
    "kind",
    "level",
    "data_sets",
    "checks",
    "one_computation",
    "operators",
    "clauses",
    "title",
)
"""Columns of the index. harnesses/c/judge.c reads the first six, and requires them in this order."""

EPOCH = "1577836800"
"""Time of the files in wheel and sdist, in seconds since 1970: 2020-01-01. Zip files have no time before 1980."""


def corpus_archive(corpus: Path, name: str) -> bytes:
    """Return a tar of a corpus with all that a runner without Python needs; the same corpus gives the same bytes.

    Raises:
        CorpusError: a file of the corpus is missing, extra or altered.
    """
    opened = open_corpus(corpus)
    opened.verify()
    files = dict(_files(corpus)) | {INDEX: corpus_index(opened)}
    in_manifest = {f"{case.path}/{file}" for case in opened.cases.values() for file in case.files}
    files[CHECKSUMS] = "".join(
        f"{_hash(files[path])}  {path}\n" for path in sorted(files.keys() - in_manifest)
    ).encode()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _files(corpus: Path) -> Iterator[tuple[str, bytes]]:
    for file in corpus.rglob("*"):
        if file.is_file() and file.name != RELEASED:
            yield file.relative_to(corpus).as_posix(), file.read_bytes()
    yield "README.md", PAGE.read_bytes()
    yield "LICENSE", LICENSE.read_bytes()
    for name in ("judge.c", "CMakeLists.txt"):
        yield f"judge/{name}", (JUDGE / name).read_bytes()


def corpus_index(corpus: Corpus) -> bytes:
    """Return a CSV with one line per case.

    The column `checks` has the check of each output: once if all data sets have the same checks, else for each data
    set, separated by `|`. The column `one_computation` has the numbers of the outputs for which bounds do not suffice:
    one computation must explain all of them (see `conformance.reference.interpretations`).
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(INDEX_COLUMNS)
    writer.writerows(_index_row(corpus, corpus.cases[id]) for id in sorted(corpus.cases))
    return stream.getvalue().encode()


def _index_row(corpus: Corpus, entry: CorpusCase) -> list[str | int]:
    case, document = load_case(corpus, entry), read_case_json(corpus, entry)
    data_sets = list(case.data_sets())
    op_types = {node.op_type for part in (case.model.graph, *case.model.functions) for node in iter_nodes(part)}
    checks = [[output.check for output in data_set.outputs] for data_set in data_sets]
    if all(each == checks[0] for each in checks):
        del checks[1:]
    return [
        entry.id,
        entry.kind,
        entry.level,
        len(data_sets),
        " | ".join(map(" ".join, checks)),
        " ".join(map(str, _outputs_of_one_computation(case, data_sets))),
        " ".join(sorted(op_types)),
        " ".join(document["clauses"]),
        document["title"],
    ]


def _outputs_of_one_computation(case: LoadedCase, data_sets: list[DataSet]) -> list[int]:
    """Return the numbers of the outputs that `output_without_interpretation` compares with interpretations."""
    if case.entry.level is not Level.MUST or case.is_invalid or not data_sets or not has_interpretations(case.model):
        return []
    nodes = interpreted_nodes(case.model.SerializeToString(), data_sets[0].inputs)
    return sorted({output for node in nodes for output in node.outputs})


def write_corpus_archive(corpus: Path, folder: Path) -> dict[str, str]:
    """Write the archive of a corpus into a folder; return the SHA-256 of the archive and of its tar, by name."""
    name = f"onnx-conformance-corpus-{open_corpus(corpus).version}"
    tar = corpus_archive(corpus, name)
    packed = gzip.compress(tar, mtime=0)
    (folder / f"{name}.tar.gz").write_bytes(packed)
    return {f"{name}.tar.gz": _hash(packed), f"{name}.tar": _hash(tar)}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """Make all files of the release."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, stdout=sys.stderr, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    sums = {file.name: _hash(file.read_bytes()) for file in sorted(folder.iterdir())}
    sums |= write_corpus_archive(ROOT / "data", folder)
    (folder / CHECKSUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")
    sys.stdout.write((folder / CHECKSUMS).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
