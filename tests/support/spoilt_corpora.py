"""Corpora that are spoilt in one thing, and how they are refused."""

from __future__ import annotations

import hashlib
import json

import pytest
from corpora import ADAM, rehash

from conformance.corpus.corpus import MANIFEST, open_corpus
from conformance.corpus.loading import LoadedCase, load_case
from conformance.errors import CorpusError

MODEL = f"node/{ADAM}/model.onnx"


INPUT = f"node/{ADAM}/test_data_set_0/input_0.pb"


def refusal(directory, *, read: bool = False) -> CorpusError:
    """What opening the corpus, or reading all of it, is refused with."""
    with pytest.raises(CorpusError) as refused:
        corpus = open_corpus(directory)
        if read:
            corpus.verify()
    assert refused.value.mend.endswith(".")
    return refused.value


def edit_manifest(directory, edit) -> None:
    """Change the manifest's document in place; the digest stays as it was."""
    path = directory / MANIFEST
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def loaded_from(directory) -> LoadedCase:
    """The case ADAM of a corpus."""
    corpus = open_corpus(directory)
    return load_case(corpus, corpus.cases[ADAM])


def replace_file(directory, path: str, content: bytes) -> None:
    """Give a file another content, and the manifest its hash: a whole corpus, but of something else."""
    (directory / path).write_bytes(content)
    cases = json.loads((directory / MANIFEST).read_text())["cases"]
    case, file = "/".join(path.split("/")[:2]), path.split("/", 2)[2]
    cases[case][file] = hashlib.sha256(content).hexdigest()
    rehash(directory, cases)
