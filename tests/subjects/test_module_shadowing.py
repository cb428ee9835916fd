"""Modules in the user's folder hide no other module, except the one that a subject names."""

from __future__ import annotations

import pytest

SHADOWED = ("conformance/__init__.py", "numpy.py", "json.py", "onnx/__init__.py", "generators/__init__.py")
"""Files with the names of modules of Python, of libraries and of this suite."""

SUBJECT = """\
import json
import numpy

from conformance.adapters.reference import ReferenceBackend

from acme_kernels import WHERE

__version__ = WHERE + json.__name__ + numpy.__name__
prepare = ReferenceBackend.prepare
"""


@pytest.fixture
def shadowing_folder(here):
    """Folder with a backend, and with modules that must not be imported."""
    for name in SHADOWED:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(f"raise RuntimeError('imported instead of the real {name}')")
    (here / "acme.py").write_text(SUBJECT)
    (here / "acme_kernels.py").write_text("WHERE = 'here '")
    return here


@pytest.mark.parametrize("how", [(), ("--no-isolation",), ("-n", "2"), ("-n", "2", "--no-isolation")], ids=" ".join)
def test_run_modules_in_folder_do_not_shadow_others(shadowing_folder, process, small_corpus, how):
    ended = process("onnx-conformance", "run", "-b", "acme", "--data", small_corpus, *how)
    assert (ended.status, "here jsonnumpy" in ended.out) == (0, True), ended.out + ended.err


def test_run_named_module_in_folder_shadows_installed_one(here, process, small_corpus):
    (here / "hypothesis.py").write_text(SUBJECT.replace("WHERE +", "'mine ' +").replace("from acme_kernels", "# "))
    ended = process("onnx-conformance", "run", "-b", "hypothesis", "--data", small_corpus)
    assert (ended.status, "mine jsonnumpy" in ended.out) == (0, True), ended.out + ended.err


def test_run_named_module_in_folder_does_not_shadow_standard_library(shadowing_folder, process, small_corpus):
    ended = process("onnx-conformance", "run", "-b", "json", "--data", small_corpus)
    assert (ended.status, "Backend json" in ended.err) == (2, True), ended.err
