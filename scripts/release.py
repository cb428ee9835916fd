"""Make the files of a release: wheel, sdist, recipe, archives of the corpus and of onnx's node cases, and checksums.

The same checkout gives the same files, because they contain no times and no paths, and because pyproject.toml pins the
library that compresses the archives. The tar in an archive has its own checksum, which no library changes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import onnx

from conformance import __version__
from conformance.corpus.cases.corpus import open_corpus
from conformance.corpus.generation.export import CHECKSUMS, exported_files
from conformance.corpus.generation.write_corpus import generate
from conformance.own.model_cases.drawn_cases import onnx_cases
from conformance.own.model_cases.onnx_cases import node_cases

ROOT = Path(__file__).resolve().parent.parent

EPOCH = "1577836800"
"""Time of the files in wheel and sdist, in seconds since 1970: 2020-01-01. Zip files have no time before 1980."""

RECIPE = "recipe.yaml"
"""Recipe of the conda package, beside the sdist from which it builds."""

RELEASE_FILE = re.compile(
    rf"onnx_conformance-.*\.(whl|tar\.gz)|(corpus|onnx-cases)-.*\.tar\.zst|{re.escape(RECIPE)}|{CHECKSUMS}"
)
"""Names of the files that this script writes."""

COMPRESSION_LEVEL = 9
"""Level of zstd: level 17 needs 15 times as long for archives that are 9% smaller."""


def corpus_archive(corpus: Path, name: str) -> bytes:
    """Return a tar of an exported corpus in the folder `name`; the same corpus gives the same bytes.

    Raises:
        CorpusError: a file of the corpus is missing, extra or altered.
    """
    opened = open_corpus(corpus)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content in sorted(exported_files(opened, opened.cases).items()):
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def write_corpus_archive(corpus: Path, folder: Path, name: str = "") -> dict[str, str]:
    """Write the archive of a corpus into a folder; return the SHA-256 of the archive and of its tar, by name.

    Args:
        corpus: the corpus.
        folder: the folder.
        name: name of the archive, and of the folder in it; empty for `corpus-VERSION`.
    """
    import zstandard

    name = name or f"corpus-{open_corpus(corpus).version}"
    tar = corpus_archive(corpus, name)
    packed = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL).compress(tar)
    (folder / f"{name}.tar.zst").write_bytes(packed)
    return {f"{name}.tar.zst": _hash(packed), f"{name}.tar": _hash(tar)}


def write_onnx_cases_archive(folder: Path) -> dict[str, str]:
    """Write the archive of the node cases of the installed onnx, as `write_corpus_archive` does."""
    found = onnx_cases(node_cases())
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch) / "onnx-cases"
        generate(corpus, found.cases, found.version, lambda _: None, added=found.added_files())
        return write_corpus_archive(corpus, folder, f"onnx-cases-{onnx.defs.onnx_opset_version()}")


def write_recipe(folder: Path, sdist_hash: str) -> dict[str, str]:
    """Write the recipe of the conda package with the hash of the sdist; return the SHA-256 of the recipe, by name."""
    text = (ROOT / "packaging" / "conda-forge" / RECIPE).read_text(encoding="utf-8")
    (folder / RECIPE).write_text(text.replace("0" * len(sdist_hash), sdist_hash), encoding="utf-8")
    return {RECIPE: _hash((folder / RECIPE).read_bytes())}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def clear(folder: Path) -> None:
    """Create a folder, or remove the files of an earlier release from it.

    Raises:
        SystemExit: the path is not a folder, or the folder has other files, which would be lost.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        sys.exit(f"{folder} is not a folder. Name a new folder.")
    for path in sorted(folder.iterdir()) if folder.exists() else ():
        if path.is_symlink() or not path.is_file() or not RELEASE_FILE.fullmatch(path.name):
            sys.exit(f"{path} is not a file of a release, and would be lost. Name a new folder.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def main() -> None:
    """Make all files of the release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path("dist/release"), help="a new folder, or one of an earlier release"
    )
    folder = parser.parse_args().folder.absolute()
    clear(folder)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, stdout=sys.stderr, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    sums = {file.name: _hash(file.read_bytes()) for file in sorted(folder.iterdir()) if file.name != ".gitignore"}
    sums |= write_recipe(folder, sums[f"onnx_conformance-{__version__}.tar.gz"])
    sums |= write_corpus_archive(ROOT / "data", folder) | write_onnx_cases_archive(folder)
    (folder / CHECKSUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")
    sys.stdout.write((folder / CHECKSUMS).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
