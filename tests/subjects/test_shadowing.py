"""What lies in the user's directory takes no module's place but that of the subject which is named."""

from __future__ import annotations

import pytest

ROBBED = ("conformance/__init__.py", "numpy.py", "json.py", "onnx/__init__.py", "generators/__init__.py")
"""Modules of Python, of a library and of this suite."""

SUBJECT = """\
import json
import numpy

from conformance.backends.reference import ReferenceBackend

from acme_kernels import WHERE

__version__ = WHERE + json.__name__ + numpy.__name__
prepare = ReferenceBackend.prepare
"""


@pytest.fixture
def robbed(here):
    """A directory with a backend, and with modules that must not be taken for those of their names."""
    for name in ROBBED:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(f"raise RuntimeError('taken for the real {name}')")
    (here / "acme.py").write_text(SUBJECT)
    (here / "acme_kernels.py").write_text("WHERE = 'here '")
    return here


@pytest.mark.parametrize("how", [(), ("--in-process",), ("-n", "2"), ("-n", "2", "--in-process")], ids=" ".join)
def test_a_module_of_a_library_or_of_the_suite_is_never_taken_from_there(robbed, process, small_corpus, how):
    ended = process("onnx-conformance", "run", "-b", "acme", "--data", small_corpus, *how)
    assert (ended.status, "here jsonnumpy" in ended.out) == (0, True), ended.out + ended.err


def test_the_module_that_is_named_is_taken_from_there_before_an_installed_one(here, process, small_corpus):
    (here / "hypothesis.py").write_text(SUBJECT.replace("WHERE +", "'mine ' +").replace("from acme_kernels", "# "))
    ended = process("onnx-conformance", "run", "-b", "hypothesis", "--data", small_corpus)
    assert (ended.status, "mine jsonnumpy" in ended.out) == (0, True), ended.out + ended.err


def test_a_module_of_python_is_not_taken_from_there_even_where_it_is_named(robbed, process, small_corpus):
    ended = process("onnx-conformance", "run", "-b", "json", "--data", small_corpus)
    assert (ended.status, "has no `prepare`" in ended.err) == (2, True), ended.err
