"""Make the files of a release: wheel, sdist, an archive of the corpus, and their checksums.

python scripts/release.py [FOLDER]

FOLDER is `dist` by default; it is deleted first. The same checkout gives the same files, because they contain no times
and no paths. The compressed bytes of the archive depend on the version of zlib, so the tar in it has its own checksum.
"""

from __future__ import annotations

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

from conformance.corpus.corpus import open_corpus
from conformance.corpus.released import RELEASED

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "how-to" / "judge-without-python.md"
LICENSE = ROOT / "LICENSE"
CHECKSUMS = "SHA256SUMS"
EPOCH = "1577836800"
"""Time of the files in wheel and sdist, in seconds since 1970: 2020-01-01. Zip files have no time before 1980."""


def corpus_archive(corpus: Path, name: str) -> bytes:
    """Return a tar of a corpus with a README and the licence; the same corpus gives the same bytes.

    Raises:
        CorpusError: a file of the corpus is missing, extra or altered.
    """
    open_corpus(corpus).verify()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content in sorted(_files(corpus)):
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
