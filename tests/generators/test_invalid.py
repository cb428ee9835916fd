"""Cases with invalid models: verdicts of backends, definitions, and the reference backend."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from batches import for_each
from command_outputs import read_records, read_tree, results_by_key
from corpora import write_corpus
from fake_subject import Panic, Unsupported
from model_refusals import checker_refusal, reference_refusal
from onnx import helper, numpy_helper

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import Case
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.models.graphs import TRAINING_DOMAIN
from conformance.exact.reference.node_validity import InvalidModelError, check_model
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.judging.backend import judge_backend
from conformance.subjects.adapters.reference import ReferenceBackend
from conformance.subjects.calling.harness import is_unsupported
from generators.adagrad import OPERATOR as ADAGRAD
from generators.adam import OPERATOR as ADAM
from generators.invalid import cases
from generators.momentum import OPERATOR as MOMENTUM
from generators.training_optimizers.single_node_model import valid_argmax_model, valid_optimizer_model

CASES = {case.id: case for case in cases()}
CHECKER = {id: case for id, case in CASES.items() if "checker" in case.tags}
PROSE = {id: case for id, case in CASES.items() if "prose" in case.tags}
MODE = "test_invalid_momentum_without_mode"

each = for_each("case", CASES.values(), lambda case: case.id)


class ComputesAnyway:
    """Backend that returns outputs for any model."""

    outputs: object = (np.zeros(4, np.float32), np.zeros(4, np.float32))

    @classmethod
    def prepare(cls, model, device="CPU"):
        return cls()

    def run(self, inputs):
        return self.outputs


class ComputesOneOutput(ComputesAnyway):
    outputs = (np.zeros(4, np.float32),)


class ReturnsADict(ComputesAnyway):
    def run(self, inputs):
        return {"X_new": np.zeros(4, np.float32)}


class RejectsAtLoad(ComputesAnyway):
    @classmethod
    def prepare(cls, model, device="CPU"):
        raise ValueError("Momentum has no mode")


class RejectsAtRun(ComputesAnyway):
    def run(self, inputs):
        raise ValueError("which mode?")


class RaisesUnsupported(ComputesAnyway):
    @classmethod
    def prepare(cls, model, device="CPU"):
        raise Unsupported("no Momentum")


class RaisesUnsupportedAtRun(ComputesAnyway):
    def run(self, inputs):
        raise Unsupported("no Momentum")


class Exits(ComputesAnyway):
    @classmethod
    def prepare(cls, model, device="CPU"):
        raise SystemExit(1)


class Panics(ComputesAnyway):
    def run(self, inputs):
        raise Panic("index out of range")


# the fake, its verdict, the phase and the message
OUTCOMES = [
    (RejectsAtLoad, Verdict.PASS, "load", "ValueError: Momentum has no mode"),
    (RejectsAtRun, Verdict.PASS, "run", "ValueError: which mode?"),
    (RaisesUnsupported, Verdict.UNSUPPORTED, "load", "no Momentum"),
    (RaisesUnsupportedAtRun, Verdict.UNSUPPORTED, "run", "no Momentum"),
    (Exits, Verdict.ERROR, "load", "SystemExit: 1"),
    (Panics, Verdict.ERROR, "run", "Panic: index out of range"),
    (ComputesAnyway, Verdict.FAIL, "compare", f"computed 2 outputs although {CASES[MODE].title}"),
    (ComputesOneOutput, Verdict.FAIL, "compare", f"computed 1 output although {CASES[MODE].title}"),
    (ReturnsADict, Verdict.FAIL, "compare", f"computed a dict although {CASES[MODE].title}"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Corpus of all invalid models. Tests must not write to it."""
    directory = tmp_path_factory.mktemp("invalid") / "corpus"
    write_corpus(directory, CASES.values())
    return open_corpus(directory)


class TestJudgement:
    @pytest.mark.parametrize(("fake", "verdict", "phase", "message"), OUTCOMES)
    def test_rejection_passes_and_computation_fails(self, corpus, fake, verdict, phase, message):
        outcome = judge_backend(fake, load_case(corpus, corpus.cases[MODE]))
        assert (outcome.verdict, outcome.phase, outcome.message) == (verdict, phase, message)
        assert outcome.outputs == []

    def test_keyboard_interrupt_is_not_a_rejection(self, corpus):
        class Interrupted(ComputesAnyway):
            def run(self, inputs):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            judge_backend(Interrupted, load_case(corpus, corpus.cases[MODE]))


class TestCorpus:
    def test_invalid_cases_store_only_inputs(self, corpus):
        files = {
            name.rpartition("/")[2].rstrip("0123456789.pb") for name in read_tree(corpus.path) if name.endswith(".pb")
        }
        assert files == {"input_"}

    def test_invalid_case_has_inputs_and_no_outputs(self, corpus):
        for case in corpus.cases.values():
            (data_set,) = load_case(corpus, case).data_sets()
            given = [np.asarray(array) for array in CASES[case.id].data_sets[0]]
            assert [(a.dtype, a.tolist()) for a in data_set.inputs] == [(a.dtype, a.tolist()) for a in given]
            assert data_set.outputs == ()

    def test_oracle_does_not_compute_invalid_cases(self, tmp_path, monkeypatch):
        monkeypatch.setattr("conformance.corpus.generation.expected_outputs.answers", lambda *_: pytest.fail("asked"))
        write_corpus(tmp_path / "corpus", [CASES[MODE]])
        assert len(open_corpus(tmp_path / "corpus").cases) == 1

    def test_explain_states_that_the_model_is_invalid(self, command, corpus):
        shown = command("explain", MODE, "--data", corpus.path).out
        assert any("invalid" in line for line in shown.splitlines() if line.lstrip().startswith("out"))

    def test_results_contain_the_phase_of_rejection(self, process, corpus, here):
        process("onnx-conformance", "run", "-b", "reference", "--data", corpus.path, "--results", "r.jsonl")
        result = results_by_key(here / "r.jsonl")["reference", MODE]
        assert (result["verdict"], result["phase"], result["outputs"]) == ("pass", "load", [])
        assert {"InvalidModelError:", "Momentum", "mode"} <= {*result["message"].split()}
        described = [line for line in read_records(here / "r.jsonl") if line["record"] == "case"]
        assert {line["kind"] for line in described} == {"invalid"}
        assert not any(data_set["outputs"] for line in described for data_set in line["data_sets"])


class TestDefinitions:
    def test_invalid_cases_per_optimizer_number_20_to_40(self):
        counts = Counter(case.tags[0] for case in CASES.values())
        assert all(20 <= counts[name.lower()] <= 40 for name in TRAINING_OPTIMIZERS)

    @each
    def test_case_is_invalid_and_should(self, case):
        assert case.id.startswith(f"test_invalid_{case.tags[0]}_")
        assert (case.kind, case.level, case.path) == ("invalid", Level.SHOULD, f"invalid/{case.id}")
        assert "invalid" in case.tags
        assert len({"checker", "prose"} & set(case.tags)) == 1

    def test_models_are_distinct(self):
        assert len({_without_name(case) for case in CASES.values()}) == len(CASES)

    def test_titles_are_distinct(self):
        assert len({case.title for case in CASES.values()}) == len(CASES)

    @for_each("case", CHECKER.values(), lambda case: case.id)
    def test_checker_rejects_cases_tagged_checker(self, case):
        with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
            onnx.checker.check_model(onnx.load_model_from_string(case.model), full_check=True)

    @for_each("case", PROSE.values(), lambda case: case.id)
    def test_checker_accepts_cases_tagged_prose(self, case):
        assert checker_refusal(onnx.load_model_from_string(case.model)) is None

    @pytest.mark.parametrize(
        "valid_model", [*map(valid_optimizer_model, (ADAM, MOMENTUM, ADAGRAD)), valid_argmax_model()]
    )
    def test_model_without_fault_is_valid(self, valid_model):
        model = onnx.load_model_from_string(valid_model.serialise("valid"))
        onnx.checker.check_model(model, full_check=True)
        assert len(ReferenceBackend.prepare(model).run(list(valid_model.inputs.values()))) == len(valid_model.outputs)


class TestReference:
    @each
    def test_reference_rejects_case_at_load(self, corpus, case):
        outcome = judge_backend(ReferenceBackend, load_case(corpus, corpus.cases[case.id]))
        assert outcome.verdict in {Verdict.PASS, Verdict.UNSUPPORTED}
        assert outcome.phase == "load"
        assert outcome.message.startswith("InvalidModelError: ") or outcome.verdict is Verdict.UNSUPPORTED

    def test_reference_reports_unknown_operators_as_unsupported(self, corpus):
        outcomes = {
            case.id: judge_backend(ReferenceBackend, load_case(corpus, corpus.cases[case.id]))
            for case in CASES.values()
        }
        unsupported = {id for id, outcome in outcomes.items() if outcome.verdict is Verdict.UNSUPPORTED}
        assert {id.split("_", 3)[3] for id in unsupported} == {
            "main_domain",
            "name_unknown",
            "version_2",
            "version_999",
        }

    def test_invalid_model_error_is_not_unsupported(self):
        assert not is_unsupported(InvalidModelError())

    @pytest.mark.whole
    def test_reference_accepts_every_valid_case(self, defined):
        nodes = [case for _, case in defined.values() if case.kind == "node"]
        models = {case.id: onnx.load_model_from_string(case.model) for case in nodes}
        assert {id: why for id, model in models.items() if (why := reference_refusal(model))} == {}

    def test_symbolic_dimension_is_accepted_at_load(self):
        valid_model = valid_optimizer_model(ADAM)
        model = onnx.load_model_from_string(valid_model.serialise("open"))
        model.graph.input[3].type.tensor_type.shape.dim[0].dim_param = "N"
        assert reference_refusal(model) is None

    def test_undeclared_rank_is_accepted_at_load(self):
        model = onnx.load_model_from_string(valid_optimizer_model(ADAM).serialise("open"))
        model.graph.input[0].type.tensor_type.ClearField("shape")
        assert reference_refusal(model) is None

    def test_initializer_type_is_checked(self):
        model = onnx.load_model_from_string(valid_optimizer_model(ADAM).serialise("constant"))
        del model.graph.input[1]
        model.graph.initializer.append(numpy_helper.from_array(np.array(2, dtype=np.int32), "T"))
        with pytest.raises(InvalidModelError, match=r"T.*int64.*int32"):
            check_model(model)

    def test_model_local_function_is_not_checked_as_operator(self):
        model = onnx.load_model_from_string(CASES["test_invalid_adam_name_unknown"].model)
        names = [list(model.graph.node[0].input), list(model.graph.node[0].output)]
        body = [helper.make_node("Identity", [names[0][2]], [name]) for name in names[1]]
        attributes = [attribute.name for attribute in model.graph.node[0].attribute]
        imports = [helper.make_opsetid("", 13)]
        function = helper.make_function(TRAINING_DOMAIN, "AdamW", *names, body, imports, attributes)
        model.functions.append(function)
        assert ReferenceBackend.prepare(model)

    @pytest.mark.parametrize(("X", "G", "valid"), [((4,), (1,), True), ((4,), (), True), ((1,), (4,), False)])
    def test_operand_may_broadcast_to_x_only(self, X, G, valid):
        valid_model = valid_optimizer_model(ADAM, shapes=(X,)).with_inputs(G=np.zeros(G, np.float32))
        model = onnx.load_model_from_string(valid_model.serialise("broadcast"))
        if valid:
            check_model(model)
        else:
            with pytest.raises(InvalidModelError, match=r"G.*\[4\].*X.*\[1\]"):
                check_model(model)


def _without_name(case: Case) -> bytes:
    model = onnx.load_model_from_string(case.model)
    model.graph.name = ""
    return model.SerializeToString(deterministic=True)
