"""`onnx-conformance verify`: the frozen corpus, file by file."""

from __future__ import annotations

from conformance.commands.options import Data
from conformance.commands.terminal import say


def verify(data: Data = None) -> None:
    """Make sure that every file of the corpus is there and is what the manifest hashes."""
    from conformance.corpus.beside import verify_neighbours
    from conformance.corpus.corpus import bundled, open_corpus
    from conformance.corpus.released import read_released

    corpus = open_corpus(data or bundled())
    files = corpus.verify()
    verify_neighbours(corpus)
    read_released(corpus.path)
    say(f"corpus {corpus.version} is whole: {len(corpus.cases)} cases, {files} files, digest {corpus.digest}")
