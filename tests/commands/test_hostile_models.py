"""`hazards` and `lower` on models that are none: a sentence and status 2, never a traceback."""

from __future__ import annotations

import os

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from lowerable_models import one_node
from many_nodes import argmax, chain, doubling, recursive
from mutated_models import mutated
from onnx import AttributeProto, helper
from refusals import assert_bad_input

from conformance.commands.hazards import hazards
from conformance.commands.lower import lower
from conformance.errors import ConformanceError

EXAMPLES = 60


def with_node(change):
    """A model whose ArgMax is changed."""
    model = chain(1)
    change(model.graph.node[-1])
    return model


def with_value(change):
    model = chain(1)
    change(model.graph.input[0])
    return model


def adam(change):
    model = one_node("Adam")
    model.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.5))
    change(model.graph.node[0].attribute[0])
    return model


def made(attribute, value):
    attribute.CopyFrom(helper.make_attribute(attribute.name, value))


def optimizer_after(functions):
    model = one_node("Adam")
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("acme", 1))
    model.graph.node.append(helper.make_node(functions[-1].name, ["X0_new"], ["Z"], domain="acme"))
    return model


MALFORMED = {
    "no output": ("hazards", with_node(lambda node: node.ClearField("output")), "has no output"),
    "a nameless output": ("hazards", with_node(lambda node: node.output.__setitem__(0, "")), "has no output"),
    "an axis that is no integer": ("hazards", with_node(lambda node: made(node.attribute[0], 1.5)), "no integer"),
    "an axis of no type": ("hazards", with_node(lambda node: node.attribute[0].ClearField("type")), "no integer"),
    "an unknown type": (
        *("hazards", with_value(lambda value: setattr(value.type.tensor_type, "elem_type", 99)), "element type 99"),
    ),
    "recursive functions": ("hazards", recursive(), "calls itself"),
    "an attribute that is a text": ("lower", adam(lambda attribute: made(attribute, "half")), "alpha"),
    "an attribute of whole numbers": ("lower", adam(lambda attribute: made(attribute, [1, 2])), "alpha"),
    "an attribute of no type": ("lower", adam(lambda attribute: attribute.ClearField("type")), "alpha"),
    "an optimizer and recursive functions": ("lower", optimizer_after(recursive().functions), "calls itself"),
    "an optimizer and endless functions": ("lower", optimizer_after(doubling(26).functions), "200,000 nodes"),
}


@pytest.mark.parametrize(("verb", "model", "said"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_model_that_is_malformed_is_refused(command, here, verb, model, said):
    (here / "model.onnx").write_bytes(model.SerializeToString())
    assert_bad_input(command(verb, "model.onnx", *(["-o", "out.onnx"] if verb == "lower" else [])), said)
    assert not (here / "out.onnx").exists()


def test_an_axis_that_a_call_gives_is_none_of_its_own(command, here):
    model = with_node(
        lambda node: node.attribute[0].CopyFrom(
            AttributeProto(name="axis", ref_attr_name="axis", type=AttributeProto.INT)
        )
    )
    onnx.save(model, here / "model.onnx")
    assert "it has no axis of its own" in command("hazards", "model.onnx").out


def test_names_that_would_steer_a_terminal_are_shown_as_escapes(command, here):
    model = chain(1)
    for node, place in zip(model.graph.node, ("output", "input"), strict=True):
        getattr(node, place)[0] = "S\x1b[2J\n\u202e"
    onnx.save(model, here / "model.onnx")
    told = command("hazards", "model.onnx").out
    assert "with it S\\x1b[2J \\u202e (float)" in told
    assert "\x1b" not in told


def test_functions_without_end_do_not_keep_hazards_from_ending(command, here):
    onnx.save(doubling(40), here / "model.onnx")
    assert "Exp goes, and with it E (unknown type)" in command("hazards", "model.onnx").out


def test_a_fault_of_the_suite_on_a_valid_model_is_none_of_the_model(command, here, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("our own")

    monkeypatch.setattr("conformance.passes.survey.survey", broken)
    monkeypatch.setattr("tempfile.tempdir", str(here))
    onnx.save(chain(1), here / "model.onnx")
    assert command("hazards", "model.onnx").status == 3
    assert len(list(here.glob("onnx-conformance-fault-*.txt"))) == 1


def test_what_breaks_down_on_an_invalid_model_is_told_in_the_checkers_words(command, here, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("our own")

    monkeypatch.setattr("conformance.passes.survey.survey", broken)
    model = chain(1)
    model.graph.node.append(argmax("nowhere", "other"))
    onnx.save(model, here / "model.onnx")
    assert_bad_input(command("hazards", "model.onnx"), "is not a valid ONNX model", "nowhere")


def refusal(verb):
    """The sentence that a verb refuses its model with; a full stop where it does not."""
    try:
        verb()
    except ConformanceError as error:
        return error.problem
    return "."


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=mutated())
def test_a_mutated_model_is_told_of_or_refused_with_a_sentence(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("mutated")
    path = folder / "model.onnx"
    path.write_bytes(content)
    for verb in (lambda: hazards(path), lambda: hazards(path, as_json=True), lambda: lower(path, folder / "out.onnx")):
        problem = refusal(verb)
        assert problem.endswith(".")
        assert len(problem.splitlines()) == 1


@pytest.mark.parametrize("verb", [["hazards"], ["lower", "-o", "lowered.onnx"]])
@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_what_is_no_regular_file_is_no_model(command, here, verb, name):
    os.mkfifo(here / "pipe")
    assert_bad_input(command(*verb, name), "it is no regular file")
