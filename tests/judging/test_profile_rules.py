"""Rules of a profile: the indices that they accept for ArgMax of NaN, and the cases to which they apply."""

from __future__ import annotations

import numpy as np
import pytest
from argmax_cases import argmax_case
from corpora import write_corpus
from onnx import helper

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.generation.models import array_value_info, build_model, make_value_info
from conformance.judging.backend import judge_backend
from conformance.judging.profile_rules import applicable_rules, data_sets_with_profile, load_profile
from conformance.verdicts import Level, Verdict

NAN = np.nan
ROWS = np.array([[1, NAN, NAN, 2], [3, 4, 4, 1]], dtype=np.float32)


@pytest.fixture(scope="module")
def sonnx():
    return load_profile("sonnx")


@pytest.fixture
def case(tmp_path):
    """Return a function that makes a loaded case of one ArgMax node from data."""

    def made(data, *, level=Level.SILENT, before=(), clauses=("argmax.index",), **attributes):
        keepdims, axis = attributes.get("keepdims", 1), attributes.get("axis", 0)
        shape = [1 if at == axis % data.ndim else size for at, size in enumerate(data.shape)]
        shape = shape if keepdims else [size for at, size in enumerate(data.shape) if at != axis % data.ndim]
        node = helper.make_node("ArgMax", ["Y" if before else "X"], ["index"], **attributes)
        nodes = [*(helper.make_node(name, ["X"], ["Y"]) for name in before), node]
        inputs, outputs = [array_value_info("X", data)], [make_value_info("index", "int64", shape)]
        proto = build_model("test_small", nodes, inputs, outputs, {"": 13})
        given = argmax_case(model=proto, data_sets=((data,),), level=level, clauses=clauses)
        write_corpus(tmp_path / "corpus", [given])
        corpus = open_corpus(tmp_path / "corpus")
        return load_case(corpus, corpus.cases["test_small"])

    return made


class Answers:
    """Backend that always returns one answer."""

    def __init__(self, index) -> None:
        self._index = np.array(index, dtype=np.int64)

    def prepare(self, model, device):
        return self

    def run(self, inputs):
        return [self._index]


@pytest.mark.parametrize(
    ("attributes", "index"),
    [
        ({"axis": 1}, [[1], [1]]),
        ({"axis": -1, "select_last_index": 1}, [[2], [2]]),
        ({"axis": 1, "keepdims": 0}, [1, 1]),
        ({"axis": 0, "keepdims": 0}, [1, 0, 0, 0]),
        ({}, [[1, 0, 0, 0]]),
    ],
)
def test_profile_accepts_only_the_first_or_last_nan(case, sonnx, attributes, index):
    (data_set,) = data_sets_with_profile(sonnx, case(ROWS, **attributes))
    choices = data_set.outputs[0].choices
    assert choices.sum(axis=-1).tolist() == np.ones_like(index).tolist()
    assert choices.argmax(axis=-1).tolist() == index


@pytest.mark.parametrize(("index", "verdict"), [([[1], [1]], Verdict.PASS), ([[2], [1]], Verdict.FAIL)])
def test_profile_decides_verdict_of_index(case, sonnx, index, verdict):
    assert judge_backend(Answers(index), case(ROWS, axis=1), sonnx).verdict is verdict


def test_any_index_passes_without_a_profile(case):
    assert judge_backend(Answers([[3], [1]]), case(ROWS, axis=1)).verdict is Verdict.PASS


def test_rule_applies_to_a_case_with_nan(case, sonnx):
    assert [rule.id for rule in applicable_rules(sonnx, case(ROWS, axis=1))] == ["sonnx.argmax_nan"]


def test_rule_does_not_apply_without_nan(case, sonnx):
    assert applicable_rules(sonnx, case(np.ones((2, 3), np.float32), level=Level.MUST, axis=1)) == ()


def test_rule_ignores_nan_of_other_operators(case, sonnx):
    data = np.array([[-1, 2]], dtype=np.float32)
    assert applicable_rules(sonnx, case(data, before=["Log"], axis=1)) == ()


@pytest.mark.parametrize(("clause", "rules"), [("argmax.index", 1), ("argmax.first_index", 0)])
def test_clause_rule_applies_to_cases_with_the_clause(case, tmp_path, clause, rules):
    file = tmp_path / "house.toml"
    rule = 'id = "house.index"\nlevel = "must"\ntext = "x"\nsource = "y"\nclauses = "argmax.index"\n'
    file.write_text(f'name = "house"\ntitle = "x"\nsource = "y"\n[[rule]]\n{rule}')
    given = case(np.ones((2, 3), np.float32), level=Level.SHOULD, axis=1, clauses=(clause, "argmax.axis"))
    assert len(applicable_rules(load_profile(str(file)), given)) == rules
