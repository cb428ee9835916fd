"""A third-party package adds a backend and a generator through entry points."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
from command_outputs import read_tree, results_by_key
from corpora import ADAM, SMALL

from conformance.corpus.cases.corpus import open_corpus
from conformance.corpus.generation.generators import define_cases
from conformance.run.results.results_file import read_results

ACME = Path(__file__).parent / "acme-onnx"


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> str:
    """Directory with Acme's package, as an installer leaves it. No network or build is needed."""
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
    """Return a function that runs `onnx-conformance` with Acme's package installed."""
    return lambda *arguments: process("onnx-conformance", *arguments, PYTHONPATH=site)


def test_third_party_backend_runs_by_short_name(acme, small_corpus, here):
    ended = acme("run", "-b", "acme", "--data", small_corpus, "--results", "out.jsonl")
    assert ended.status == 0, ended.err
    assert set(results_by_key(here / "out.jsonl")) == {("acme", case) for case in SMALL}


def test_third_party_backend_version_is_in_results(acme, small_corpus, here):
    acme("run", "-b", "acme", "--data", small_corpus, "--case", ADAM, "--results", "out.jsonl")
    (subject,) = read_results(here / "out.jsonl").header.subjects
    assert (subject.id, subject.kind, subject.version, subject.language) == ("acme", "backend", "3.1.4", "Python")


@pytest.mark.long
def test_third_party_backend_runs_with_two_workers(acme, small_corpus):
    assert acme("run", "-b", "acme", "--data", small_corpus, "-n", "2").status == 0


def test_list_shows_third_party_backend_and_generator(acme):
    assert "acme  acme_onnx:Backend\n" in acme("list", "--backends").out
    assert "acme  acme_onnx:cases\n" in acme("list", "--generators").out


def test_third_party_backend_does_not_replace_built_in_backend(acme):
    assert "reference  conformance.subjects.adapters.reference:ReferenceBackend\n" in acme("list", "--backends").out


def test_third_party_import_error_affects_only_that_backend(acme, small_corpus):
    assert acme("run", "-b", "acme", "--data", small_corpus).status == 0
    ended = acme("run", "-b", "acme-broken", "--data", small_corpus)
    assert ended.status == 2
    assert "acme-broken" in ended.err
    assert "Traceback" not in ended.err


def test_pytest_plugin_runs_third_party_backend(process, site, small_corpus):
    ended = process("pytest", "--onnx-backend=acme", f"--onnx-data={small_corpus}", PYTHONPATH=site)
    assert ended.status == 0, ended.out
    assert f"{len(SMALL)} passed" in ended.out


def test_third_party_generator_writes_a_corpus(acme, here):
    ended = acme("generate", "-g", "acme", "--output", "corpus")
    assert ended.status == 0, ended.err
    assert set(open_corpus(here / "corpus").cases) == {"test_acme_0", "test_acme_1"}


def test_third_party_corpus_runs_on_two_backends(acme, here):
    acme("generate", "-g", "acme", "--output", "corpus")
    ended = acme("run", "-b", "acme", "-b", "reference", "--data", "corpus", "--results", "out.jsonl")
    assert ended.status == 0, ended.err
    assert len(results_by_key(here / "out.jsonl")) == 4


@pytest.mark.whole
def test_third_party_cases_are_not_generated_by_default(process, site):
    lines = (
        "from conformance.corpus.generation.generators import bundled_generators, define_cases",
        "bundled_generators().update({name: tuple for name in bundled_generators() if name != 'functions'})",
        "print(*(case.id for _, case in define_cases(())))",
    )
    named = [case.id for _, case in define_cases(["functions"])]
    assert process("python", "-c", "; ".join(lines), PYTHONPATH=site).out.split() == named


def test_third_party_generator_combines_with_built_in_generator(acme, here):
    acme("generate", "-g", "acme", "-g", "functions", "--output", "corpus")
    names = set(open_corpus(here / "corpus").cases)
    assert names > {"test_acme_0", "test_acme_1"}


def test_generate_leaves_third_party_package_unchanged(acme, site):
    before = read_tree(Path(site))
    acme("generate", "-g", "acme", "--output", "corpus")
    assert {name: read_tree(Path(site))[name] for name in before} == before
