"""Held-out mutants are read from a file, run on the corpus and the search, and validated."""

from __future__ import annotations

import json

import numpy as np
import pytest
from refusals import assert_raises

from conformance.mutants import catalogue
from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.verdicts import Level
from mutation.held_out import read_held_out

FILE = """
[[mutant]]
id = "adam.no_bias_correction"
operator = "Adam"
text = "does not correct the bias"
edits = { "R * np.sqrt(1 - beta**T) / (1 - alpha**T)" = "R" }

[[mutant]]
id = "adagrad.half_state"
operator = "Adagrad"
text = "keeps a default epsilon of 0 and rounds H to half precision"
level = "should"
within = "If"
defaults = { epsilon = 0.0 }
wrappers = [{ name = "each_operand", function = "half", operands = "H" }, { name = "keep_state" }]

[[mutant]]
id = "softmax.negated"
operator = "Softmax"
text = "negates its result"
wrappers = [{ name = "each_output", function = "negative" }]

[[pass_mutant]]
id = "removes_relu"
text = "removes every operator before ArgMax"
steps = { is_monotone = "lambda site: True" }
level = "should"
"""


@pytest.fixture
def write_file(tmp_path):
    """Return a function that writes a file of held-out mutants and returns its path."""

    def write(text=FILE):
        path = tmp_path / "held_out.toml"
        path.write_text(text, "utf-8")
        return path

    return write


def test_read_held_out_groups_mutants_by_family(write_file):
    families, themes = read_held_out(write_file())
    assert {family: [one.id for one in rows] for family, rows in families.items()} == {
        "Adam": ["adam.no_bias_correction"],
        "Adagrad": ["adagrad.half_state"],
        "ArgMax": ["softmax.negated"],
    }
    (mutant,) = families["Adagrad"]
    assert (mutant.level, mutant.within, dict(mutant.defaults), len(mutant.wrappers)) == (
        *(Level.SHOULD, "If"),
        {"epsilon": 0.0},
        2,
    )
    ((passes,),) = themes.values()
    assert (passes.id, passes.level) == ("removes_relu", Level.SHOULD)


def test_held_out_edits_equal_the_same_mutant_of_the_catalogue(write_file, case_of):
    case = case_of("test_adam")
    (data_set, *_) = case.data_sets()
    known = next(one for one in catalogue()["Adam"] if one.id == "adam.never_corrected")
    (held_out,) = read_held_out(write_file())[0]["Adam"]
    outputs = [one.backend.prepare(case.model).run(list(data_set.inputs)) for one in (known, held_out)]
    assert all(map(np.array_equal, *outputs))


@pytest.mark.parametrize(
    ("wrapper", "name"),
    [
        ('{ name = "each_input", function = "abs" }', "ArgMax"),
        ('{ name = "scalar", scalar = "T", function = "abs" }', "Adam"),
        ('{ name = "scalar_type", scalar = "T", dtype = "int8" }', "Adam"),
        ('{ name = "output_type", dtype = "float64" }', "Adam"),
        ('{ name = "attributes", alpha = 0.5 }', "Adam"),
        ('{ name = "first_elements", count = 1 }', "Adam"),
        ('{ name = "first_tensors", count = 1 }', "Adam"),
        ('{ name = "remember_first", scalar = "R" }', "Adam"),
        ('{ name = "overwrite", operand = "V" }', "Adam"),
        ('{ name = "count_runs" }', "Adam"),
    ],
)
def test_held_out_wrapper_runs_a_case(write_file, case_of, wrapper, name):
    case = case_of("test_adam" if name == "Adam" else "test_argmax_ties_default")
    text = f'[[mutant]]\nid = "x.y"\noperator = "{name}"\ntext = "x"\nwrappers = [{wrapper}]\n'
    ((mutant,),) = read_held_out(write_file(text))[0].values()
    (data_set, *_) = case.data_sets()
    assert mutant.backend.prepare(case.model).run(list(data_set.inputs))


def test_held_out_pass_mutant_replaces_the_step(write_file):
    ((mutant,),) = read_held_out(write_file())[1].values()
    assert mutant.optimize.is_monotone is not eliminate.is_monotone


@pytest.mark.parametrize(
    ("text", "code", "data"),
    [
        ("x = ", "held-out.malformed", "held_out.toml"),
        ("[[mutants]]", "held-out.malformed", "mutants"),
        ('[[mutant]]\nid = "a"\noperator = "Adam"', "held-out.malformed", "text"),
        ("", "held-out.no-mutants", "held_out.toml"),
        ('[[mutant]]\nid = "a.b"\noperator = "Conv"\ntext = "x"', "held-out.mutant-invalid", "Softmax"),
        (
            '[[mutant]]\nid = "a.b"\noperator = "ArgMax"\ntext = "x"\nedits = {a = "b"}',
            "held-out.mutant-invalid",
            "ArgMax",
        ),
        ('[[mutant]]\nid = "a.b"\noperator = "Adam"\ntext = "x"\nedits = {Q = "b"}', "held-out.mutant-invalid", "'Q'"),
        (
            '[[mutant]]\nid = "a.b"\noperator = "Adam"\ntext = "x"\nwrappers = [{name = "q"}]',
            "held-out.mutant-invalid",
            "each_output",
        ),
        ('[[pass_mutant]]\nid = "a"\ntext = "x"\nsteps = {is_monotone = "("}', "held-out.mutant-invalid", "a"),
        ('[[pass_mutant]]\nid = "a"\ntext = "x"\nsteps = {q = "None"}', "held-out.mutant-invalid", "q"),
    ],
)
def test_read_held_out_of_a_wrong_file_is_refused(write_file, text, code, data):
    path = write_file(text)
    with assert_raises(code, path, data):
        read_held_out(path)


def test_read_held_out_of_a_directory_is_refused(tmp_path):
    with assert_raises("held-out.file-unreadable", tmp_path):
        read_held_out(tmp_path)


def test_command_with_held_out_runs_only_its_mutants(mutation_command, write_file, small_corpus):
    ended = mutation_command("--data", small_corpus, "--held-out", write_file(), "--json", "-")
    document = json.loads(ended.out)
    ids = {family: [one["id"] for one in found["mutants"]] for family, found in document["operators"].items()}
    assert ids == {
        "Adam": ["adam.no_bias_correction"],
        "Adagrad": ["adagrad.half_state"],
        "ArgMax": ["softmax.negated"],
    }
    assert [one["id"] for one in document["pass"]["mutants"]] == ["removes_relu"]
    assert document["variants"] == document["pass"]["correct"] == []
    assert ended.status == 1


def test_command_with_held_out_and_search_runs_only_its_mutants(mutation_command, write_file):
    ended = mutation_command("--held-out", write_file(), "--search", 1, "--json", "-")
    document = json.loads(ended.out)
    tested = {**document["search"]["detected"], **dict.fromkeys(document["search"]["missed"])}
    assert tested.keys() == {"adam.no_bias_correction", "softmax.negated"}
    assert document["pass_search"]["detected"].keys() | document["pass_search"]["missed"].keys() == {"removes_relu"}


def test_command_with_invalid_held_out_file_exits_with_2(mutation_command, write_file):
    ended = mutation_command("--held-out", write_file("x ="))
    assert ended.status == 2
    assert "held-out.malformed" in ended.err
