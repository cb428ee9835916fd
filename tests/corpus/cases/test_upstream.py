"""onnx's own cases, loader and runner: our data is theirs in form, and the seven shared cases agree in values."""

from __future__ import annotations

import unittest
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx.backend.test import loader, runner
from repository import DATA

from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import LoadedCase, load_case, read_case_json
from conformance.corpus.cases.corpus import open_corpus
from conformance.subjects.adapters.reference import ReferenceBackend

if TYPE_CHECKING:
    from types import ModuleType

    from onnx.backend.test.case.test_case import TestCase

pytestmark = pytest.mark.whole

UPSTREAM = {
    "test_adagrad": {"decay_factor": 0.1, "epsilon": 1e-5, "norm_coefficient": 0.001},
    "test_adagrad_multiple": {"decay_factor": 0.1, "epsilon": 1e-5, "norm_coefficient": 0.001},
    "test_adam": {"alpha": 0.95, "beta": 0.1, "epsilon": 1e-7, "norm_coefficient": 0.001},
    "test_adam_multiple": {"alpha": 0.95, "beta": 0.85, "epsilon": 1e-2, "norm_coefficient": 0.001},
    "test_momentum": {"alpha": 0.95, "beta": 0.1, "mode": b"standard", "norm_coefficient": 0.001},
    "test_momentum_multiple": {"alpha": 0.95, "beta": 0.85, "mode": b"standard", "norm_coefficient": 0.001},
    "test_nesterov_momentum": {"alpha": 0.95, "beta": 1.0, "mode": b"nesterov", "norm_coefficient": 0.01},
}
"""The cases of the operators' pages and the attributes that the pages name."""


@pytest.fixture(scope="module")
def corpus():
    return open_corpus(DATA)


def tensors(model_dir: str, model: onnx.ModelProto, what: str) -> list[np.ndarray]:
    """The inputs or outputs of a case's first data set, as any reader of ONNX's layout reads them."""
    folder = Path(model_dir) / "test_data_set_0"
    count = len(model.graph.input if what == "input" else model.graph.output)
    protos = (onnx.TensorProto.FromString((folder / f"{what}_{i}.pb").read_bytes()) for i in range(count))
    return [onnx.numpy_helper.to_array(proto) for proto in protos]


def import_modules_of_optimizers(package: ModuleType) -> None:
    for name in ("adagrad", "adam", "momentum"):
        import_module(f"{package.__name__}.{name}")


def loaded_as_node(**folder: str) -> list[TestCase]:
    """The cases that onnx's loader gives for the kind `node`; its own cases warn when they are imported.

    A loader that builds its own cases imports the modules of the seven cases only; all modules take seconds.
    """
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(loader, "import_recursive", import_modules_of_optimizers, raising=False)
        return loader.load_model_tests(kind="node", **folder)


@pytest.fixture(scope="module")
def upstream() -> dict[str, tuple[list[np.ndarray], list[np.ndarray]]]:
    """Inputs and outputs of the seven cases as the installed onnx has them: in memory, or as files in older ones."""
    found = {}
    for case in loaded_as_node():
        if case.name not in UPSTREAM:
            continue
        if case.model_dir is None:
            ((inputs, outputs),) = case.data_sets
        else:
            model = onnx.load(Path(case.model_dir) / "model.onnx")
            inputs, outputs = (tensors(case.model_dir, model, what) for what in ("input", "output"))
        found[case.name] = ([_array(value) for value in inputs], [_array(value) for value in outputs])
    return found


def _array(value: np.ndarray | onnx.TensorProto) -> np.ndarray:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


@pytest.mark.parametrize("name", UPSTREAM)
class TestSevenCases:
    def test_case_has_its_upstream_name(self, name):
        assert (DATA / "node" / name / "model.onnx").is_file()

    def test_model_has_the_attributes_of_the_specification(self, name):
        (node,) = onnx.load(DATA / "node" / name / "model.onnx").graph.node
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        expected = {
            key: value if isinstance(value, bytes) else np.float32(value) for key, value in UPSTREAM[name].items()
        }
        assert attributes == expected

    def test_inputs_equal_upstream(self, name, upstream, corpus):
        (data_set,) = load_case(corpus, corpus.cases[name]).data_sets()
        for ours, theirs in zip(data_set.inputs, upstream[name][0], strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)

    def test_expected_outputs_agree_with_upstream(self, name, upstream, corpus):
        (data_set,) = load_case(corpus, corpus.cases[name]).data_sets()
        for ours, theirs in zip(data_set.outputs, upstream[name][1], strict=True):
            assert (ours.expected.dtype, ours.expected.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(ours.expected, theirs, rtol=1e-5, atol=0)

    def test_upstream_outputs_are_within_the_bounds(self, name, upstream, corpus):
        (data_set,) = load_case(corpus, corpus.cases[name]).data_sets()
        for ours, theirs in zip(data_set.outputs, upstream[name][1], strict=True):
            distance = np.abs(ours.expected.astype(np.float64) - theirs.astype(np.float64))
            assert (distance <= ours.bound).all()


def test_adam_multiple_has_the_specified_epsilon():
    (node,) = onnx.load(DATA / "node" / "test_adam_multiple" / "model.onnx").graph.node
    assert {a.name: a.f for a in node.attribute}["epsilon"] == np.float32(0.01)


@pytest.fixture(scope="module", params=["node", "pass"])
def loaded(request, tmp_path_factory):
    """Our cases as onnx's loader reads them, by a kind of their own, which every version of it looks up as a folder."""
    folder = tmp_path_factory.mktemp("onnx_data")
    (folder / "conformance").symlink_to(DATA / request.param, target_is_directory=True)
    return request.param, loader.load_model_tests(data_dir=str(folder), kind="conformance")


class TestLoader:
    def test_loader_finds_each_case(self, loaded, corpus):
        kind, cases = loaded
        assert {case.name for case in cases} == {case.id for case in corpus.cases.values() if case.kind == kind}

    def test_loaded_cases_are_on_disk(self, loaded):
        assert all((Path(case.model_dir) / "model.onnx").is_file() for case in loaded[1])

    def test_loaded_cases_need_no_download(self, loaded):
        assert not [case.name for case in loaded[1] if case.url]

    def test_loader_reads_node_cases_from_this_corpus(self, corpus):
        """Since onnx 1.23 the loader answers the kind `node` from memory, whatever folder it is given."""
        cases = loaded_as_node(data_dir=str(DATA))
        names = {case.name for case in cases}
        if all(case.model_dir is None for case in cases):
            assert names >= set(UPSTREAM)
        else:
            assert names == {case.id for case in corpus.cases.values() if case.kind == "node"}


def sampled(loaded: tuple[str, list[TestCase]]) -> list[TestCase]:
    """Every seventh case: `onnx-conformance run -b reference` runs all, and judges by the same outputs."""
    return loaded[1][::7]


@pytest.fixture(scope="module")
def outcome(loaded) -> tuple[dict[str, unittest.TestCase], unittest.TestResult]:
    """The tests that onnx's runner makes of a sample, by name, and what came of running all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "load_model_tests", lambda **ask: sampled(loaded) if ask["kind"] == "node" else [])
        suite = runner.Runner(ReferenceBackend, __name__).test_suite
    tests = {test.id().rpartition(".")[2]: test for test in suite}
    result = unittest.TestResult()
    suite.run(result)
    return tests, result


UNKNOWN_OPERATORS = {"test_argmax_pass_types_and_shapes_captured_by_list_of_graphs"}
"""Cases without data sets whose models have an operator that no runtime has."""


def failed(outcome: tuple[dict[str, unittest.TestCase], unittest.TestResult]) -> list[str]:
    """The cases whose test failed or raised on the CPU."""
    _, result = outcome
    ids = (test.id().rpartition(".")[2].removesuffix("_cpu") for test, _ in [*result.failures, *result.errors])
    return [id for id in ids if id not in UNKNOWN_OPERATORS]


@pytest.fixture(scope="module")
def levels(corpus) -> dict[str, str]:
    """Every case's level by its id."""
    return {id: read_case_json(corpus, case).level for id, case in corpus.cases.items()}


def leaves_choice(case: LoadedCase) -> bool:
    """Whether several indices are acceptable somewhere, of which onnx's runner knows the expected one only."""
    choices = [out.choices for data in case.data_sets() for out in data.outputs if out.choices is not None]
    return any((acceptable.sum(axis=-1) > 1).any() for acceptable in choices)


class TestRunner:
    """onnx's runner, with its own blanket tolerance, on the cases that its loader read."""

    def test_runner_has_a_test_per_case_and_device(self, loaded, outcome):
        assert set(outcome[0]) == {f"{case.name}_{device}" for case in sampled(loaded) for device in ("cpu", "cuda")}

    def test_must_cases_without_choice_pass(self, loaded, outcome, levels, corpus):
        must = [name for name in failed(outcome) if levels[name] == Level.MUST]
        assert not [name for name in must if not leaves_choice(load_case(corpus, corpus.cases[name]))]

    def test_failures_have_bounds_wider_than_upstream_tolerance(self, outcome, corpus):
        """The runner knows no bounds and no choices: where admissible evaluations differ, it insists on one of them."""
        for name in failed(outcome):
            case = load_case(corpus, corpus.cases[name])
            bounded = [out for data in case.data_sets() for out in data.outputs if out.bound is not None]
            wider = [(out.bound > 1e-7 + 1e-3 * np.abs(out.expected)).any() for out in bounded]
            assert any(wider) or leaves_choice(case), name

    def test_runner_skips_only_the_other_device(self, loaded, outcome):
        skipped = {test.id().rpartition(".")[2] for test, _ in outcome[1].skipped}
        assert skipped == {f"{case.name}_cuda" for case in sampled(loaded)}
