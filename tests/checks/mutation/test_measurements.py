"""Measurements with mutants: false positives, held-out mutants, operators, passes and tightness."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from corpora import write_corpus
from corpus_measurements import measure_pass_cases, read_pass_measurement
from refusals import assert_raises
from session_cache import compute_once

from checks.mutation.bound_tightness import AttainedError, Tightness, largest_attained_error
from checks.mutation.dimensions import all_mutants
from checks.mutation.held_out import read_held_out
from checks.mutation.operators import ONNX_CASES, cases_by_family, detect, measure_mutation_score, progress_steps
from checks.mutation.pass_mutants import pass_mutants
from checks.mutation.passes import pass_progress_steps
from checks.mutation.report import pass_score_document, pass_score_lines, score_document, score_lines
from conformance.base.serialization.decoding import JsonReader
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.cases.corpus import open_corpus
from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.studies.evidence.evidence_inputs import MutationDocument

# Held-out mutants are read from a file, run on the corpus and the search, and validated.


FILE = Path(__file__).with_name("held_out.toml").read_text("utf-8")


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
    known = next(one for one in all_mutants()["Adam"] if one.id == "adam.never_corrected")
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


# The corpus detects every mutant that it must, decisively, and has no false positives.


OPTIMIZERS = tuple(all_mutants())[:3]


def mutant(id):
    return next(one for rows in all_mutants().values() for one in rows if one.id == id)


@pytest.mark.whole
@pytest.mark.long
def test_must_mutants_are_detected_by_must_cases(mutation_score):
    assert [result.mutant.id for result in mutation_score.survivors] == []


@pytest.mark.whole
@pytest.mark.long
def test_mutants_below_must_are_detected_at_their_level(mutation_score):
    below = [one for one in mutation_score.of_all_mutants if one.mutant.level is not Level.MUST]
    assert [one.mutant.id for one in below if one.detection is None] == []


@pytest.mark.whole
@pytest.mark.long
def test_must_cases_have_no_false_positives(mutation_score):
    assert [(one.mutant.id, str(one.false_positive)) for one in mutation_score.false_positives] == []
    assert {one.variant.id: one.false_positives for one in mutation_score.variants if one.false_positives} == {}
    assert all(one.cases for one in mutation_score.variants)


@pytest.mark.whole
@pytest.mark.long
def test_must_mutants_are_detected_decisively(mutation_score):
    must = [one for one in mutation_score.of_all_mutants if one.mutant.level is Level.MUST and one.detection]
    assert [one.mutant.id for one in must if not one.detection.is_decisive] == []


@pytest.mark.whole
@pytest.mark.long
def test_onnx_cases_detect_less_than_half(mutation_score):
    results = [one for name in OPTIMIZERS for one in mutation_score.results[name] if one.mutant.level is Level.MUST]
    theirs = sum(bool(one.detected_by_onnx) for one in results) / len(results)
    assert 0 < theirs < 0.5
    assert all(one.detected_by_onnx is None for one in mutation_score.results["ArgMax"])


def test_corpus_contains_all_onnx_cases(whole_corpus):
    assert set(ONNX_CASES) <= whole_corpus.cases.keys()


def test_case_in_memory_survives_a_backend_that_changes_inputs(opened):
    (case,) = (case for case in cases_by_family(opened)["Adam"] if case.id == "test_adam")
    spoiler = mutant("adam.overwrites_x").backend
    assert detect(spoiler, case).how == "inputs"
    assert detect(spoiler, case).how == "inputs"
    assert detect(mutant("adam.default_beta_0").backend, case) is None


def test_progress_is_called_as_often_as_announced(opened):
    measure_mutation_score(opened, (seen := []).append, only=("ArgMax",))
    assert len(seen) == progress_steps() - sum(len(all_mutants()[name]) for name in OPTIMIZERS)


@pytest.mark.whole
@pytest.mark.long
def test_score_document_and_lines_list_every_mutant(mutation_score, whole_corpus):
    document = score_document(whole_corpus, mutation_score, [])
    assert json.loads(json.dumps(document)) == document
    assert set(document["operators"]) == set(all_mutants())
    assert document["passes"] == mutation_score.passes
    text = "\n".join(score_lines(mutation_score, [], verbose=True))
    assert all(one.id in text for rows in all_mutants().values() for one in rows)
    assert "correct variants" in text


@pytest.mark.long
def test_command_with_survivors_exits_with_1(mutation_command, small_corpus):
    ended = mutation_command("--data", small_corpus)
    assert ended.status == 1, "a corpus of seven cases cannot detect most mutants"
    assert "NOT DETECTED" in ended.out


def test_command_with_json_prints_one_object(mutation_command, small_corpus):
    ended = mutation_command("--data", small_corpus, "--json", "-", "--sweep", 1)
    assert JsonReader(MutationDocument)(ended.out.encode()).command.startswith("python -m checks.mutation --data")
    document = json.loads(ended.out)
    assert document["passes"] is False
    assert len(document["sweep"]) == 6
    assert len(document["pass"]["mutants"]) == sum(map(len, pass_mutants().values()))


def test_help_counts_the_mutants_of_the_catalogue(mutation_command):
    numbers = {str(sum(map(len, table.values()))) for table in (all_mutants(), pass_mutants())}
    assert numbers <= {*mutation_command("--help").out.split()}


# The cases of the pass detect every mutant of the pass, and have no false positives.


MUTANTS = [mutant for mutants in pass_mutants().values() for mutant in mutants]


@pytest.fixture(scope="module")
def pass_score(whole_corpus, tmp_path_factory):
    """The mutation score of the pass cases of the whole corpus."""
    return read_pass_measurement(compute_once(tmp_path_factory, "pass-score", lambda: measure_pass_cases(whole_corpus)))


@pytest.mark.whole
@pytest.mark.long
def test_pass_mutants_are_all_detected(pass_score):
    assert [one.mutant.id for one in pass_score.survivors] == []


@pytest.mark.whole
@pytest.mark.long
def test_correct_optimizers_have_no_false_positives(pass_score):
    false_positives = {
        one.optimizer.id: list(map(str, one.false_positives)) for one in pass_score.correct if one.false_positives
    }
    assert false_positives == {}
    assert all(one.cases for one in pass_score.correct)


@pytest.mark.whole
@pytest.mark.long
def test_pass_score_passes(pass_score):
    assert pass_score.passes


@pytest.mark.whole
@pytest.mark.long
def test_pass_score_lines_list_every_mutant(pass_score):
    text = "\n".join(pass_score_lines(pass_score, verbose=True))
    assert all(f"  {mutant.id}: {mutant.text}: " in text for mutant in MUTANTS)
    assert re.search(r": 0 with \D*$", text, re.MULTILINE)


@pytest.mark.whole
@pytest.mark.long
def test_pass_score_document_lists_every_mutant(pass_score):
    document = json.loads(json.dumps(pass_score_document(pass_score)))
    assert [entry["id"] for entry in document["mutants"]] == [mutant.id for mutant in MUTANTS]
    assert all(entry["detection"]["violation"] for entry in document["mutants"])


def test_pass_mutant_themes_have_at_least_five_mutants():
    assert len(MUTANTS) >= 100
    assert {len(mutants) >= 5 for mutants in pass_mutants().values()} == {True}


@pytest.mark.whole
@pytest.mark.long
def test_pass_mutants_are_detected_at_their_level(pass_score):
    results = [one for results in pass_score.results.values() for one in results]
    assert [one.mutant.id for one in results if one.detection.level.rank > one.mutant.level.rank] == []


def test_ids_and_texts_of_mutants_are_unique():
    assert len({mutant.id for mutant in MUTANTS}) == len({mutant.text for mutant in MUTANTS}) == len(MUTANTS)


def test_progress_steps_cover_all_mutants():
    assert pass_progress_steps() > len(MUTANTS)


# The error that an adversary attains by choosing each rounding is within the bound, and not far below it.


CASES = (
    "test_adam",
    "test_adam_multiple",
    "test_adam_shape_2x3x4_float",
    "test_adam_tiny_double",
    "test_adam_function_attributes_double",
    "test_adagrad",
    "test_adagrad_multiple",
    "test_adagrad_shape_3001_double",
    "test_adagrad_training_10_steps_float",
    "test_momentum",
    "test_momentum_chained_steps_double",
    "test_momentum_shape_2x3x4_float",
    "test_momentum_sizes_around_4096_float",
    "test_momentum_training_10_steps_double",
    "test_nesterov_momentum",
    "test_argmax_pass_other_operators_log_softmax_before_reducemax",
    "test_argmax_pass_other_operators_softmax_before_reducemax",
    "test_argmax_pass_contexts_scanned",
    "test_argmax_pass_fields_attribute_main",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory, defined):
    """The errors that the adversary attains on a few generated cases."""
    directory = tmp_path_factory.mktemp("corpora") / "tightness"
    write_corpus(directory, [defined[id][1] for id in CASES])
    corpus = open_corpus(directory)
    return [largest_attained_error(load_case_in_memory(corpus, corpus.cases[id])) for id in CASES]


@pytest.mark.long
def test_attained_errors_are_within_the_bounds(found):
    assert [one for one in found if one.ratio < 1] == []


@pytest.mark.long
def test_median_ratio_is_at_most_two(found):
    assert median(one.ratio for one in found) <= 2


@pytest.mark.long
def test_bound_is_at_most_16_times_attained_error(found):
    assert [one for one in found if one.ratio > 16] == []


def test_exact_case_has_no_attained_error(tmp_path, defined):
    write_corpus(tmp_path / "exact", [defined["test_argmax_ties_default"][1]])
    corpus = open_corpus(tmp_path / "exact")
    assert largest_attained_error(load_case_in_memory(corpus, corpus.cases["test_argmax_ties_default"])) is None


def test_command_bounds_of_prints_matching_cases(mutation_command, small_corpus):
    ended = mutation_command("--data", small_corpus, "--bounds-of", "test_adam*")
    assert ended.status == 0
    assert "1 cases, 0 refuted" in ended.out


def test_command_bounds_of_without_matches_is_refused(mutation_command, small_corpus):
    ended = mutation_command("--data", small_corpus, "--bounds-of", "test_nothing*")
    assert ended.status == 2
    assert "usage.no-bounded-cases" in ended.err
    assert "'test_nothing*'" in ended.err


def test_tightness_with_a_wide_bound_does_not_pass():
    wide = AttainedError("test_adam", "X_new", (0,), bound=17.0, error=1.0)
    assert not Tightness([wide, *[AttainedError("test_adam", "X_new", (0,), 1.0, 1.0)] * 3]).passes
