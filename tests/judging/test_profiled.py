"""What a profile leaves of the answers to ArgMax of NaN, and which cases its rules are about."""

from __future__ import annotations

import numpy as np
import pytest
from argmax_cases import argmax_case
from corpora import write_corpus
from onnx import helper

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case
from conformance.generation.models import declared, declared_as, model
from conformance.judging.backend import judge_backend
from conformance.judging.profiled import data_sets_under, profile_of, rules_about
from conformance.verdicts import Level, Verdict

NAN = np.nan
ROWS = np.array([[1, NAN, NAN, 2], [3, 4, 4, 1]], dtype=np.float32)


@pytest.fixture(scope="module")
def sonnx():
    return profile_of("sonnx")


@pytest.fixture
def case(tmp_path):
    """Makes a loaded case of one ArgMax of some data."""

    def made(data, *, level=Level.SILENT, before=(), clauses=("argmax.index",), **attributes):
        keepdims, axis = attributes.get("keepdims", 1), attributes.get("axis", 0)
        shape = [1 if at == axis % data.ndim else size for at, size in enumerate(data.shape)]
        shape = shape if keepdims else [size for at, size in enumerate(data.shape) if at != axis % data.ndim]
        node = helper.make_node("ArgMax", ["Y" if before else "X"], ["index"], **attributes)
        nodes = [*(helper.make_node(name, ["X"], ["Y"]) for name in before), node]
        inputs, outputs = [declared("X", data)], [declared_as("index", "int64", shape)]
        proto = model("test_small", nodes, inputs, outputs, {"": 13})
        given = argmax_case(model=proto, data_sets=((data,),), level=level, clauses=clauses)
        write_corpus(tmp_path / "corpus", [given])
        corpus = open_corpus(tmp_path / "corpus")
        return load_case(corpus, corpus.cases["test_small"])

    return made


class Answers:
    """A backend that always gives one answer."""

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
def test_the_first_nan_of_a_row_wins_or_the_last_and_other_rows_are_as_before(case, sonnx, attributes, index):
    (data_set,) = data_sets_under(sonnx, case(ROWS, **attributes))
    choices = data_set.outputs[0].choices
    assert choices.sum(axis=-1).tolist() == np.ones_like(index).tolist()
    assert choices.argmax(axis=-1).tolist() == index


@pytest.mark.parametrize(("index", "verdict"), [([[1], [1]], Verdict.PASS), ([[2], [1]], Verdict.FAIL)])
def test_another_index_fails(case, sonnx, index, verdict):
    assert judge_backend(Answers(index), case(ROWS, axis=1), sonnx).verdict is verdict


def test_without_a_profile_any_index_passes(case):
    assert judge_backend(Answers([[3], [1]]), case(ROWS, axis=1)).verdict is Verdict.PASS


def test_a_rule_is_about_a_case_with_a_nan(case, sonnx):
    assert [rule.id for rule in rules_about(sonnx, case(ROWS, axis=1))] == ["sonnx.argmax_nan"]


def test_it_is_about_no_case_without_one(case, sonnx):
    assert rules_about(sonnx, case(np.ones((2, 3), np.float32), level=Level.MUST, axis=1)) == ()


def test_it_is_about_no_case_in_which_the_nan_is_another_operator_s(case, sonnx):
    data = np.array([[-1, 2]], dtype=np.float32)
    assert rules_about(sonnx, case(data, before=["Log"], axis=1)) == ()


@pytest.mark.parametrize(("clause", "rules"), [("argmax.index", 1), ("argmax.first_index", 0)])
def test_a_rule_about_a_clause_is_about_the_cases_that_name_it(case, tmp_path, clause, rules):
    file = tmp_path / "house.toml"
    rule = 'id = "house.index"\nlevel = "must"\ntext = "x"\nsource = "y"\nclauses = "argmax.index"\n'
    file.write_text(f'name = "house"\ntitle = "x"\nsource = "y"\n[[rule]]\n{rule}')
    given = case(np.ones((2, 3), np.float32), level=Level.SHOULD, axis=1, clauses=(clause, "argmax.axis"))
    assert len(rules_about(profile_of(str(file)), given)) == rules
