"""Modules in the user's folder hide no other module, except those of the subject and its own package `conformance`."""

from __future__ import annotations

import pytest

SHADOWED = ("numpy.py", "json.py", "onnx/__init__.py", "generators/__init__.py")
"""Files with the names of modules of Python, of libraries and of this suite's checkout."""

SUBJECT = """\
import json
import numpy

from conformance.subjects.adapters.reference import ReferenceBackend

from acme_kernels import WHERE

__version__ = WHERE + json.__name__ + numpy.__name__
prepare = ReferenceBackend.prepare
"""

OWN_PACKAGE = """\
from conformance.kernels import ARGMAX

import onnx.reference


class Prepared:
    def __init__(self, model):
        self.evaluator = onnx.reference.ReferenceEvaluator(model)

    def run(self, inputs):
        return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs)))


class Backend:
    __version__ = ARGMAX

    @staticmethod
    def prepare(model, device):
        return Prepared(model)
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


WORKERS = ("-n", "2")


@pytest.mark.variants(1)
@pytest.mark.parametrize(
    "how",
    [(), ("--no-isolation",), pytest.param(WORKERS, marks=pytest.mark.long), (*WORKERS, "--no-isolation")],
    ids=" ".join,
)
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


@pytest.fixture
def own_package(here):
    """Folder of a project that has a package with the name of the suite's package."""
    (here / "conformance").mkdir()
    (here / "conformance" / "__init__.py").write_text("")
    (here / "conformance" / "kernels.py").write_text("ARGMAX = 'own package'\n")
    (here / "acme.py").write_text(OWN_PACKAGE)
    return here


@pytest.mark.variants(1)
@pytest.mark.parametrize("how", [("acme:Backend",), ("acme:Backend", "-n", "2"), ("conformance.backend:Backend",)])
def test_run_subject_beside_or_inside_its_own_package_conformance(own_package, process, small_corpus, how):
    (own_package / "conformance" / "backend.py").write_text(OWN_PACKAGE)
    ended = process("onnx-conformance", "run", "--data", small_corpus, "-b", *how)
    assert (ended.status, "own package" in ended.out) == (0, True), ended.out + ended.err


@pytest.mark.variants(1)
@pytest.mark.parametrize("name", ["reference", "onnxruntime", "onnx-reference"])
def test_run_registered_subject_beside_a_package_conformance(own_package, process, small_corpus, name):
    (own_package / "conformance" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (own_package / "adapters").mkdir()
    (own_package / "adapters" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    ended = process("onnx-conformance", "run", "-b", name, "--data", small_corpus)
    assert (ended.status in {0, 1}, ended.err) == (True, ""), ended.out


@pytest.mark.parametrize(
    "how", [(), pytest.param(("-n", "2"), marks=pytest.mark.long)], ids=["one process", "two workers"]
)
def test_run_registered_subject_imports_nothing_from_the_folder(here, process, small_corpus, how):
    for name in ("signal", "pickle", "google", "onnxruntime", "adapters"):
        (here / f"{name}.py").write_text(f"open('{name} is imported', 'w')\n")
    ended = process("onnx-conformance", "run", "-b", "onnxruntime", "--data", small_corpus, *how)
    assert (ended.status in {0, 1}, ended.err) == (True, ""), ended.out
    assert not list(here.glob("*is imported"))


def test_run_subject_that_imports_adapters_of_the_suite(here, process, small_corpus):
    (here / "acme.py").write_text(
        "from conformance.subjects.adapters.onnx_reference import OnnxReferenceBackend\n"
        "from conformance.subjects.adapters.server import Adapter, Unsupported\n"
        "class Acme(OnnxReferenceBackend):\n    __version__ = f'derives from {Adapter.__module__}'\n"
    )
    ended = process("onnx-conformance", "run", "-b", "acme:Acme", "--data", small_corpus)
    assert (ended.status, "derives from conformance.subjects.adapters.server" in ended.out) == (0, True), ended.err
