"""`hazards` and `expand` reject malformed models with status 2, without a traceback."""

from __future__ import annotations

import json
import os

import onnx
import pytest
from corrupted_models import corrupted_model
from expandable_models import one_node
from hypothesis import HealthCheck, given, settings
from large_models import argmax, chain, doubling, recursive
from onnx import AttributeProto, helper
from refusals import assert_bad_input

from conformance.base.errors import ConformanceError
from conformance.commands.expand_and_hazards import expand, hazards

EXAMPLES = 60


def with_node(change):
    """Return a model with a changed ArgMax node."""
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
    "an axis that is no integer": ("hazards", with_node(lambda node: made(node.attribute[0], 1.5)), "axis"),
    "an axis of no type": ("hazards", with_node(lambda node: node.attribute[0].ClearField("type")), "axis"),
    "an unknown type": (
        *("hazards", with_value(lambda value: setattr(value.type.tensor_type, "elem_type", 99)), "element type 99"),
    ),
    "an axis beyond the rank": ("hazards", with_node(lambda node: made(node.attribute[0], 1)), "the axis 1"),
    "an axis before the rank": ("hazards", with_node(lambda node: made(node.attribute[0], -2)), "the axis -2"),
    "recursive functions": ("hazards", recursive(), "calls itself"),
    "an attribute that is a text": ("expand", adam(lambda attribute: made(attribute, "half")), "alpha"),
    "an attribute of whole numbers": ("expand", adam(lambda attribute: made(attribute, [1, 2])), "alpha"),
    "an attribute of no type": ("expand", adam(lambda attribute: attribute.ClearField("type")), "alpha"),
    "an optimizer and recursive functions": ("expand", optimizer_after(recursive().functions), "calls itself"),
    "an optimizer and endless functions": ("expand", optimizer_after(doubling(26).functions), "200,000 nodes"),
}


@pytest.mark.parametrize(("verb", "model", "said"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_model_is_refused(command, here, verb, model, said):
    (here / "model.onnx").write_bytes(model.SerializeToString())
    assert_bad_input(command(verb, "model.onnx", *(["--output", "out.onnx"] if verb == "expand" else [])), said)
    assert not (here / "out.onnx").exists()


def test_hazards_keeps_argmax_with_axis_from_call(command, here):
    model = with_node(
        lambda node: node.attribute[0].CopyFrom(
            AttributeProto(name="axis", ref_attr_name="axis", type=AttributeProto.INT)
        )
    )
    onnx.save(model, here / "model.onnx")
    assert command("hazards", "model.onnx", "--json", "report.json").status == 0
    (site,) = json.loads((here / "report.json").read_text())["argmax"]
    assert site["removed"] == []
    assert "axis" in site["reason_for_stop"]


def test_names_that_would_steer_a_terminal_are_shown_as_escapes(command, here):
    model = chain(1)
    for node, place in zip(model.graph.node, ("output", "input"), strict=True):
        getattr(node, place)[0] = "S\x1b[2J\n\u202e"
    onnx.save(model, here / "model.onnx")
    told = command("hazards", "model.onnx").out
    assert " S\\x1b[2J \\u202e (float)" in told
    assert "\x1b" not in told


def test_functions_without_end_do_not_keep_hazards_from_ending(command, here):
    onnx.save(doubling(40), here / "model.onnx")
    assert " E (unknown type)" in command("hazards", "model.onnx").out


def test_internal_error_on_valid_model_exits_with_3(command, here, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("our own")

    monkeypatch.setattr("conformance.own.hazard_counts.analyse_argmaxes", broken)
    monkeypatch.setattr("tempfile.tempdir", str(here))
    onnx.save(chain(1), here / "model.onnx")
    assert command("hazards", "model.onnx").status == 3
    assert len(list(here.glob("onnx-conformance-fault-*.txt"))) == 1


def test_lack_of_memory_exits_with_2(command, here, monkeypatch):
    def broken(_):
        return bytearray(2**62)

    monkeypatch.setattr("conformance.own.hazard_counts.analyse_argmaxes", broken)
    onnx.save(chain(1), here / "model.onnx")
    assert_bad_input(command("hazards", "model.onnx", "--verbose"), "storage.out-of-memory")


def test_internal_error_on_invalid_model_shows_checker_message(command, here, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("our own")

    monkeypatch.setattr("conformance.own.hazard_counts.analyse_argmaxes", broken)
    model = chain(1)
    model.graph.node.append(argmax("nowhere", "other"))
    onnx.save(model, here / "model.onnx")
    assert_bad_input(command("hazards", "model.onnx"), "model.invalid", "nowhere")


def refusal(verb):
    """Return the error message of a verb, or a full stop if the verb accepts the model."""
    try:
        verb()
    except ConformanceError as error:
        return error.problem
    return "."


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=corrupted_model())
def test_mutated_model_is_accepted_or_refused_in_one_line(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("mutated")
    path = folder / "model.onnx"
    path.write_bytes(content)
    verbs = (
        lambda: hazards(model=path, json=None),
        lambda: hazards(model=path, json=folder / "out.json"),
        lambda: expand(model=path, output=folder / "out.onnx"),
    )
    for verb in verbs:
        problem = refusal(verb)
        assert problem.endswith(".")
        assert len(problem.splitlines()) == 1


@pytest.mark.parametrize("verb", [["hazards"], ["expand", "--output", "expanded.onnx"]])
@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_path_to_special_file_is_refused(command, here, verb, name):
    os.mkfifo(here / "pipe")
    assert_bad_input(command(*verb, name), name)


@pytest.mark.parametrize(("most", "status"), [(60, 2), (10**6, 0)])
def test_model_of_more_messages_than_the_limit_is_refused(command, tmp_path, monkeypatch, most, status):
    monkeypatch.setattr("conformance.exact.models.model_validity.MAX_FIELDS", most)
    onnx.save(chain(20), tmp_path / "m.onnx")
    ended = command("hazards", tmp_path / "m.onnx", "--verbose")
    if status:
        assert_bad_input(ended, "model.too-large", most)
    assert ended.status == status
