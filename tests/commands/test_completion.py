"""Shell completion of all options and arguments that take a name."""

from __future__ import annotations

import pytest
import typer.main

from conformance.commands.cli import create_app

VERBS = typer.main.get_command(create_app(())).commands


def completed(verb, parameter, incomplete, *, after=()):
    """Return the completions of a verb's parameter after some words of the command line."""
    command = VERBS[verb]
    context = command.make_context(verb, list(after), resilient_parsing=True)
    (found,) = (each for each in command.params if each.name == parameter)
    return [item.value for item in found.shell_complete(context, incomplete)]


@pytest.mark.parametrize(
    ("verb", "parameter", "incomplete", "names"),
    [
        ("run", "backend", "onnxr", ["onnxruntime"]),
        ("run", "optimizer", "onnxs", ["onnxscript", "onnxsim"]),
        ("run", "implements", "", ["eliminate_nop_monotone_argmax"]),
        ("run", "clause", "adam.h_s", ["adam.h_sqrt"]),
        ("run", "fail_level", "sh", ["should"]),
        ("run", "select_level", "si", ["silent"]),
        ("run", "profile", "", ["sonnx"]),
        ("list", "clause", "adam.h_s", ["adam.h_sqrt"]),
        ("explain", "backend", "onnxr", ["onnxruntime"]),
        ("explain", "profile", "so", ["sonnx"]),
        ("repro", "backend", "onnxr", ["onnxruntime"]),
        ("repro", "optimizer", "onnxsi", ["onnxsim"]),
        ("search", "backend", "onnxr", ["onnxruntime"]),
        ("search", "optimizer", "onnxsi", ["onnxsim"]),
        ("census", "backend", "onnxr", ["onnxruntime"]),
        ("generate", "generator", "eliminate", ["eliminate_nop_monotone_argmax"]),
    ],
)
def test_completion_lists_matching_names(verb, parameter, incomplete, names):
    assert completed(verb, parameter, incomplete) == names


@pytest.mark.parametrize(
    ("parameter", "incomplete", "names"),
    [
        ("tag", "ada", ["adagrad", "adam"]),
        ("operator", "Ada", ["Adagrad", "Adam"]),
        ("require", "Ada", ["Adagrad", "Adam"]),
        ("case", "test_adam_z", ["test_adam_zeros_of_both_signs_float"]),
    ],
)
def test_completion_uses_corpus_of_data_option(small_corpus, parameter, incomplete, names):
    assert completed("run", parameter, incomplete, after=["--data", str(small_corpus)]) == names


@pytest.mark.parametrize("verb", ["explain", "repro"])
def test_completion_of_case_argument_lists_cases(verb):
    assert completed(verb, "case", "test_argmax_empty_0_2_3_r") == ["test_argmax_empty_0_2_3_removed"]


@pytest.mark.parametrize("parameter", ["tag", "operator", "case"])
def test_completion_without_corpus_is_empty(parameter, tmp_path):
    assert completed("run", parameter, "", after=["--data", str(tmp_path)]) == []
