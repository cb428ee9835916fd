"""A package that is none of ours adds a backend and a generator by entry points alone."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
from corpora import ADAM, SMALL
from outputs import results_of, tree

from conformance.corpus.corpus import open_corpus
from conformance.results.file import read

ACME = Path(__file__).parent / "acme-onnx"


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> str:
    """A directory with Acme's package in it as an installer leaves it, which needs no network and no build."""
    project = tomllib.loads((ACME / "pyproject.toml").read_text())["project"]
    site = tmp_path_factory.mktemp("site")
    shutil.copy(ACME / "acme_onnx.py", site)
    info = site / "acme_onnx-3.1.4.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return str(site)


@pytest.fixture
def acme(process, site):
    """Runs `onnx-conformance` where Acme's package is installed too."""
    return lambda *arguments: process("onnx-conformance", *arguments, PYTHONPATH=site)


def test_its_backend_is_run_by_its_short_name(acme, small_corpus, here):
    ended = acme("run", "-b", "acme", "--data", small_corpus, "--results", "out.jsonl")
    assert ended.status == 0, ended.err
    assert set(results_of(here / "out.jsonl")) == {("acme", case) for case in SMALL}


def test_its_version_is_told(acme, small_corpus, here):
    acme("run", "-b", "acme", "--data", small_corpus, "--case", ADAM, "--results", "out.jsonl")
    (subject,) = read(here / "out.jsonl").header["subjects"]
    assert subject == {"id": "acme", "kind": "backend", "version": "3.1.4", "language": "Python"}


def test_its_backend_is_run_in_several_processes(acme, small_corpus):
    assert acme("run", "-b", "acme", "--data", small_corpus, "-n", "2").status == 0


def test_its_backend_and_generator_are_listed(acme):
    assert "acme  acme_onnx:Backend\n" in acme("list", "--backends").out
    assert "acme  acme_onnx:cases\n" in acme("list", "--generators").out


def test_its_backend_does_not_take_the_place_of_one_of_ours(acme):
    assert "reference  conformance.backends.reference:ReferenceBackend\n" in acme("list", "--backends").out


def test_its_backend_that_fails_to_import_spoils_nothing_but_itself(acme, small_corpus):
    assert acme("run", "-b", "acme", "--data", small_corpus).status == 0
    ended = acme("run", "-b", "acme-broken", "--data", small_corpus)
    assert ended.status == 2
    assert "acme-broken" in ended.err
    assert "Traceback" not in ended.err


def test_its_backend_is_run_in_its_own_test_suite(process, site, small_corpus):
    ended = process("pytest", "--onnx-backend=acme", f"--onnx-data={small_corpus}", PYTHONPATH=site)
    assert ended.status == 0, ended.out
    assert f"{len(SMALL)} passed" in ended.out


def test_its_cases_make_a_corpus(acme, here):
    ended = acme("generate", "-g", "acme", "-o", "corpus")
    assert ended.status == 0, ended.err
    assert set(open_corpus(here / "corpus").cases) == {"test_acme_0", "test_acme_1"}


def test_its_corpus_is_run(acme, here):
    acme("generate", "-g", "acme", "-o", "corpus")
    ended = acme("run", "-b", "acme", "-b", "reference", "--data", "corpus", "--results", "out.jsonl")
    assert ended.status == 0, ended.err
    assert len(results_of(here / "out.jsonl")) == 4


@pytest.mark.whole
def test_its_cases_stay_out_of_what_is_generated_and_checked_by_default(process, site, defined):
    imported = "from conformance.generation.defined import defined_cases"
    program = f"{imported}; print(*(case.id for _, case in defined_cases(())))"
    assert process("python", "-c", program, PYTHONPATH=site).out.split() == list(defined)


def test_its_generator_joins_ours_where_it_is_named(acme, here):
    acme("generate", "-g", "acme", "-g", "argmax", "-o", "corpus")
    names = set(open_corpus(here / "corpus").cases)
    assert names >= {"test_acme_0", "test_argmax_ties_default"}


def test_the_package_itself_is_left_as_it_is(acme, site):
    before = tree(Path(site))
    acme("generate", "-g", "acme", "-o", "corpus")
    assert {name: tree(Path(site))[name] for name in before} == before
