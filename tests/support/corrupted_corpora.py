"""Corpora with one corruption, and the error that rejects them."""

from __future__ import annotations

import hashlib
import json

import pytest
from corpora import ADAM, rehash

from conformance.base.errors import CorpusError
from conformance.corpus.cases.case_loading import LoadedCase, load_case
from conformance.corpus.cases.corpus import MANIFEST, open_corpus

MODEL = f"node/{ADAM}/model.onnx"


INPUT = f"node/{ADAM}/test_data_set_0/input_0.pb"


def opening_error(directory, *, read: bool = False) -> CorpusError:
    """Return the error of opening the corpus or reading all of it."""
    with pytest.raises(CorpusError) as refused:
        corpus = open_corpus(directory)
        if read:
            corpus.verify()
    assert refused.value.hint.endswith(".")
    return refused.value


def edit_manifest(directory, edit) -> None:
    """Change the manifest without updating its digest."""
    path = directory / MANIFEST
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def load_adam(directory) -> LoadedCase:
    """Return the case ADAM of a corpus."""
    corpus = open_corpus(directory)
    return load_case(corpus, corpus.cases[ADAM])


def replace_file(directory, path: str, content: bytes) -> None:
    """Replace a file, and write its hash into the manifest."""
    (directory / path).write_bytes(content)
    cases = json.loads((directory / MANIFEST).read_text())["cases"]
    case, file = "/".join(path.split("/")[:2]), path.split("/", 2)[2]
    cases[case][file] = hashlib.sha256(content).hexdigest()
    rehash(directory, cases)
