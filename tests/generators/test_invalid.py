"""Models that must be rejected: how a rejection is judged, what they are, and what the reference says of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from corpora import write_corpus
from model_refusals import checker_refusal, reference_refusal
from onnx import helper, numpy_helper
from outputs import records, results_of, tree
from raising_backends import Panic, Unsupported

from conformance.backends.reference import ReferenceBackend
from conformance.corpus.case import Case
from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.judging.backend import judge_backend
from conformance.models.signatures import TRAINING
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.reference.validity import InvalidModel, check
from conformance.subjects.failures import is_unsupported
from conformance.verdicts import Level, Verdict
from generators.adagrad import OPERATOR as ADAGRAD
from generators.adam import OPERATOR as ADAM
from generators.invalid import cases
from generators.momentum import OPERATOR as MOMENTUM
from generators.training_optimizers.drafts import argmax_draft, optimizer_draft

CASES = {case.id: case for case in cases()}
CHECKER = {id: case for id, case in CASES.items() if "checker" in case.tags}
PROSE = {id: case for id, case in CASES.items() if "prose" in case.tags}
MODE = "test_invalid_momentum_without_mode"

each = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


class ComputesAnyway:
    """Gives some outputs for any model."""

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


class SaysUnsupported(ComputesAnyway):
    @classmethod
    def prepare(cls, model, device="CPU"):
        raise Unsupported("no Momentum")


class SaysUnsupportedAtRun(ComputesAnyway):
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
    (SaysUnsupported, Verdict.UNSUPPORTED, "load", "Unsupported: no Momentum"),
    (SaysUnsupportedAtRun, Verdict.UNSUPPORTED, "run", "Unsupported: no Momentum"),
    (Exits, Verdict.ERROR, "load", "SystemExit: 1"),
    (Panics, Verdict.ERROR, "run", "Panic: index out of range"),
    (ComputesAnyway, Verdict.FAIL, "compare", f"computed 2 outputs although {CASES[MODE].title}"),
    (ComputesOneOutput, Verdict.FAIL, "compare", f"computed 1 output although {CASES[MODE].title}"),
    (ReturnsADict, Verdict.FAIL, "compare", f"computed a dict although {CASES[MODE].title}"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Every invalid model; not to be written to."""
    directory = tmp_path_factory.mktemp("invalid") / "corpus"
    write_corpus(directory, CASES.values())
    return open_corpus(directory)


class TestJudgement:
    @pytest.mark.parametrize(("fake", "verdict", "phase", "message"), OUTCOMES)
    def test_a_rejection_passes_and_a_computation_fails(self, corpus, fake, verdict, phase, message):
        outcome = judge_backend(fake, load_case(corpus, corpus.cases[MODE]))
        assert (outcome.verdict, outcome.phase, outcome.message) == (verdict, phase, message)
        assert outcome.outputs == ()

    def test_the_user_s_interrupt_is_no_rejection(self, corpus):
        class Interrupted(ComputesAnyway):
            def run(self, inputs):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            judge_backend(Interrupted, load_case(corpus, corpus.cases[MODE]))


class TestCorpus:
    def test_each_has_inputs_and_nothing_else(self, corpus):
        files = {name.rpartition("/")[2].rstrip("0123456789.pb") for name in tree(corpus.path) if name.endswith(".pb")}
        assert files == {"input_"}

    def test_each_is_loaded_with_its_inputs_and_without_outputs(self, corpus):
        for case in corpus.cases.values():
            (data_set,) = load_case(corpus, case).data_sets()
            given = [np.asarray(array) for array in CASES[case.id].data_sets[0]]
            assert [(a.dtype, a.tolist()) for a in data_set.inputs] == [(a.dtype, a.tolist()) for a in given]
            assert data_set.outputs == ()

    def test_the_oracle_is_not_asked(self, tmp_path, monkeypatch):
        monkeypatch.setattr("conformance.generation.case_files.answers", lambda *_: pytest.fail("asked"))
        write_corpus(tmp_path / "corpus", [CASES[MODE]])
        assert len(open_corpus(tmp_path / "corpus").cases) == 1

    def test_explain_says_that_the_model_must_be_rejected(self, command, corpus):
        told = command("explain", MODE, "--data", corpus.path).out
        assert "out none: the model is invalid and must be rejected" in told

    def test_a_results_file_tells_where_each_was_rejected(self, process, corpus, here):
        process("onnx-conformance", "run", "-b", "reference", "--data", corpus.path, "--results", "r.jsonl")
        result = results_of(here / "r.jsonl")["reference", MODE]
        assert (result["verdict"], result["phase"], result["outputs"]) == ("pass", "load", [])
        assert result["message"] == "InvalidModel: Momentum lacks the required attribute mode"
        described = [line for line in records(here / "r.jsonl") if line["record"] == "case"]
        assert {line["kind"] for line in described} == {"invalid"}
        assert not any(data_set["outputs"] for line in described for data_set in line["data_sets"])


class TestDefinitions:
    def test_about_twenty_of_each_optimizer(self):
        counts = Counter(case.tags[0] for case in CASES.values())
        assert all(20 <= counts[name.lower()] <= 40 for name in TRAINING_OPTIMIZERS)

    @each
    def test_each_is_an_invalid_case_of_level_should(self, case):
        assert case.id.startswith(f"test_invalid_{case.tags[0]}_")
        assert (case.kind, case.level, case.path) == ("invalid", Level.SHOULD, f"invalid/{case.id}")
        assert "invalid" in case.tags
        assert len({"checker", "prose"} & set(case.tags)) == 1

    def test_no_two_have_one_model(self):
        assert len({_without_name(case) for case in CASES.values()}) == len(CASES)

    def test_titles_are_distinct(self):
        assert len({case.title for case in CASES.values()}) == len(CASES)

    @pytest.mark.parametrize("case", CHECKER.values(), ids=CHECKER.keys())
    def test_onnx_s_checker_refuses_what_is_tagged_checker(self, case):
        with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
            onnx.checker.check_model(onnx.load_model_from_string(case.model), full_check=True)

    @pytest.mark.parametrize("case", PROSE.values(), ids=PROSE.keys())
    def test_onnx_s_checker_accepts_what_is_tagged_prose(self, case):
        assert checker_refusal(onnx.load_model_from_string(case.model)) is None

    @pytest.mark.parametrize("draft", [*map(optimizer_draft, (ADAM, MOMENTUM, ADAGRAD)), argmax_draft()])
    def test_what_they_are_spoilt_from_is_valid(self, draft):
        model = onnx.load_model_from_string(draft.serialised("valid"))
        onnx.checker.check_model(model, full_check=True)
        assert len(ReferenceBackend.prepare(model).run(list(draft.inputs.values()))) == len(draft.outputs)


class TestReference:
    @each
    def test_it_rejects_each_at_load(self, corpus, case):
        outcome = judge_backend(ReferenceBackend, load_case(corpus, corpus.cases[case.id]))
        assert outcome.verdict in {Verdict.PASS, Verdict.UNSUPPORTED}
        assert outcome.phase == "load"
        assert outcome.message.startswith(("InvalidModel: ", "Unsupported: "))

    def test_it_calls_unsupported_only_what_it_has_no_operator_for(self, corpus):
        outcomes = {
            case.id: judge_backend(ReferenceBackend, load_case(corpus, corpus.cases[case.id]))
            for case in CASES.values()
        }
        told = {id for id, outcome in outcomes.items() if outcome.verdict is Verdict.UNSUPPORTED}
        assert {id.split("_", 3)[3] for id in told} == {"main_domain", "name_unknown", "version_2", "version_999"}

    def test_an_invalid_model_is_not_an_unsupported_one(self):
        assert not is_unsupported(InvalidModel())

    def test_no_valid_case_is_invalid_to_it(self, defined):
        nodes = [case for _, case in defined.values() if case.kind == "node"]
        models = {case.id: onnx.load_model_from_string(case.model) for case in nodes}
        assert {id: why for id, model in models.items() if (why := reference_refusal(model))} == {}

    def test_open_dimensions_are_left_to_the_run(self):
        draft = optimizer_draft(ADAM)
        model = onnx.load_model_from_string(draft.serialised("open"))
        model.graph.input[3].type.tensor_type.shape.dim[0].dim_param = "N"
        assert reference_refusal(model) is None

    def test_an_undeclared_rank_is_left_to_the_run(self):
        model = onnx.load_model_from_string(optimizer_draft(ADAM).serialised("open"))
        model.graph.input[0].type.tensor_type.ClearField("shape")
        assert reference_refusal(model) is None

    def test_an_initializer_is_looked_at_like_an_input(self):
        model = onnx.load_model_from_string(optimizer_draft(ADAM).serialised("constant"))
        del model.graph.input[1]
        model.graph.initializer.append(numpy_helper.from_array(np.array(2, dtype=np.int32), "T"))
        with pytest.raises(InvalidModel, match="takes T of type int64, not int32"):
            check(model)

    def test_a_function_of_the_model_s_own_has_its_own_rules(self):
        model = onnx.load_model_from_string(CASES["test_invalid_adam_name_unknown"].model)
        names = [list(model.graph.node[0].input), list(model.graph.node[0].output)]
        body = [helper.make_node("Identity", [names[0][2]], [name]) for name in names[1]]
        attributes = [attribute.name for attribute in model.graph.node[0].attribute]
        imports = [helper.make_opsetid("", 13)]
        function = helper.make_function(TRAINING, "AdamW", *names, body, imports, attributes)
        model.functions.append(function)
        assert ReferenceBackend.prepare(model)

    @pytest.mark.parametrize(("X", "G", "valid"), [((4,), (1,), True), ((4,), (), True), ((1,), (4,), False)])
    def test_an_operand_may_be_broadcast_to_x_and_not_beyond(self, X, G, valid):
        draft = optimizer_draft(ADAM, shapes=(X,)).with_inputs(G=np.zeros(G, np.float32))
        model = onnx.load_model_from_string(draft.serialised("broadcast"))
        if valid:
            check(model)
        else:
            with pytest.raises(InvalidModel, match=r"has G of shape \[4\] beside X of shape \[1\]"):
                check(model)


def _without_name(case: Case) -> bytes:
    model = onnx.load_model_from_string(case.model)
    model.graph.name = ""
    return model.SerializeToString(deterministic=True)
