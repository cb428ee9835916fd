"""`onnx-conformance audit`."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import numpy as np
import onnx
import pytest
from isolation_support import faulty_harness
from onnx import TensorProto, helper
from refusals import assert_bad_input

OWN = ("-b", "onnx-reference", "--no-isolation")


@pytest.fixture
def model(here):
    """A model of 40 nodes in the current directory."""
    names = ["X", *(f"v{number}" for number in range(39)), "Y"]
    nodes = [
        helper.make_node(["Tanh", "Neg"][number % 2], [names[number]], [names[number + 1]]) for number in range(40)
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in ("X", "Y")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), here / "m.onnx")
    return "m.onnx"


def test_audit_shows_seed_shapes_and_operators(command, model, here):
    ended = command(
        "audit", model, *OWN, "--shape", "batch=4", "--seed", "7", "--html", "a.html", "--save-inputs", "in"
    )
    assert ended.status == 0
    assert "inputs (seed 7): X float 4x3" in ended.out
    judged = "PASSED: 40 of 40 nodes judged (480 of 480 elements; 100 % of the arithmetic), 0 wrong"
    assert ended.out.splitlines()[-1] == f"{judged}; on hard data 2 of 2 distinct nodes judged, 0 wrong"
    assert (here / "a.html").read_text().count("<rect") == 2 * 40  # in the graph and in the chart of errors
    assert (here / "in/test_data_set_0/input_0.pb").exists()
    assert "Wrote a.html." in ended.out
    again = command("audit", model, *OWN, "--inputs", "in", "--json", "again.json", "-q")
    assert again.out.splitlines()[:-1] == ["Wrote again.json."]
    assert not again.status


@pytest.fixture
def newer_operator():
    """An operator that onnx has from now on."""
    parameter = onnx.defs.OpSchema.FormalParameter
    interface = {"inputs": [parameter("X", "T")], "outputs": [parameter("Y", "T")]}
    types = [("T", ["tensor(float)"], "")]
    newest = onnx.defs.onnx_opset_version()
    onnx.defs.register_schema(onnx.defs.OpSchema("Newer", "", newest, type_constraints=types, **interface))
    yield "Newer"
    onnx.defs.deregister_schema("Newer", newest, "")


def test_operator_of_a_newer_onnx_is_not_judged(command, here, newer_operator):
    (here / "of_newer_onnx.py").write_text(
        "from onnx.reference import ReferenceEvaluator, op_run\n"
        "class Newer(op_run.OpRun):\n"
        "    def _run(self, x):\n"
        "        return (abs(x),)\n"
        "class Prepared:\n"
        "    def __init__(self, model):\n"
        "        self.evaluator = ReferenceEvaluator(model, new_ops=[Newer])\n"
        "    def run(self, inputs):\n"
        "        return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs)))\n"
        "def prepare(model, device):\n"
        "    return Prepared(model)\n"
    )
    nodes = [helper.make_node(newer_operator, ["X"], ["v"]), helper.make_node("Relu", ["v"], ["Y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("X", "Y")]
    opsets = [helper.make_opsetid("", onnx.defs.onnx_opset_version())]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]), opset_imports=opsets)
    onnx.save(model, here / "m.onnx")
    ended = command("audit", "m.onnx", "-b", "of_newer_onnx", "--no-isolation", "--json", "audit.json")
    assert ended.status == 0, ended
    (audit,) = json.loads((here / "audit.json").read_text())["audits"]
    assert {each["operator"]: each["judged"] for each in audit["operators"]} == {newer_operator: 0, "Relu": 1}
    assert audit["judged"]["nodes"] == 1


@pytest.mark.programs
def test_result_is_the_same_for_any_number_of_workers(command, model, here):
    assert not command("audit", model, *OWN, "--json", "one.json").status
    assert not command("audit", model, *OWN, "--json", "two.json", "-n", "2").status
    assert (here / "one.json").read_bytes() == (here / "two.json").read_bytes()


def test_resumed_audit_has_the_same_result_and_refuses_another_model(command, model, here):
    for name in ("first", "second"):
        assert not command("audit", model, *OWN, "--json", f"{name}.json", "--resume", "kept").status
    assert (here / "first.json").read_bytes() == (here / "second.json").read_bytes()
    proto = onnx.load(here / model)
    proto.doc_string = "other"
    onnx.save(proto, here / "other.onnx")
    ended = command("audit", "other.onnx", *OWN, "--resume", "kept")
    assert (ended.status, ended.code) == (2, "job.other-job")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("missing.onnx", *OWN), "model.file-unreadable"),
        (("m.onnx",), "usage.subject-missing"),
        (("m.onnx", *OWN, "--shape", "batch=x"), "usage.invalid-shape"),
        (("m.onnx", *OWN, "--inputs", "missing.npz"), "usage.input-unreadable"),
        (("m.onnx", *OWN, "--inputs", "wrong.npz"), "usage.input-missing"),
        (("m.onnx", *OWN, "-n", "2", "--dask", "tcp://127.0.0.1:1"), "usage.workers-and-dask"),
        (("m.onnx", *OWN, "--resume", "wrong.npz"), "job.state-not-a-folder"),
        (("m.onnx", *OWN, "--resume", "m.onnx"), "usage.target-is-input"),
        (("m.onnx", "-b", "nonsuch", "--no-isolation"), "name.unknown-subject"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing_behind(command, model, here, arguments, code):
    np.savez(here / "wrong.npz", Z=np.zeros(3))
    before = sorted(path.name for path in here.iterdir())
    ended = command("audit", *arguments, "--html", "a.html", "--save-inputs", "in", "--output", "cases")
    assert (ended.status, ended.code) == (2, code)
    assert sorted(path.name for path in here.iterdir()) == before


def test_audit_whose_report_cannot_be_written_can_be_repeated(command, model, here):
    wrong = ("-b", "fake_subject:always_wrong", "--no-isolation", "--output", "cases")
    assert command("audit", model, *wrong, "--html", "/dev/full").status == 2
    assert command("audit", model, *wrong, "--html", "a.html").status == 1
    assert (here / "cases" / "manifest.json").exists()


@pytest.mark.programs
@pytest.mark.parametrize("fault", ["closes_stdout", "not_a_number"])
def test_subject_that_hangs_or_returns_garbage_is_reported(command, model, here, fault):
    ended = command("audit", model, "-b", faulty_harness(fault), "--timeout", "2", "--json", "a.json")
    assert ended.status == 1
    (audit,) = json.loads((here / "a.json").read_text())["audits"]
    assert audit["failure"]
    assert not audit["nodes"]


@pytest.mark.parametrize(("ir_version", "opset"), [(99, 17), (8, 99)])
def test_audit_of_a_model_newer_than_onnx_says_to_upgrade_onnx(command, model, here, ir_version, opset):
    newer = onnx.load(here / "m.onnx")
    newer.ir_version = ir_version
    newer.opset_import[0].version = opset
    newer.graph.node[1].op_type = "Tomorrow" if opset == 99 else "Neg"
    onnx.save(newer, here / "newer.onnx")
    ended = command("audit", "newer.onnx", *OWN)
    assert_bad_input(ended, "model.newer-than-onnx", "newer.onnx", "99", "--upgrade onnx")


def test_audit_of_a_newer_opset_with_known_operators_warns(command, model, here):
    newer = onnx.load(here / "m.onnx")
    newer.opset_import[0].version = 99
    onnx.save(newer, here / "newer.onnx")
    ended = command("audit", "newer.onnx", *OWN, "--json", "a.json")
    (audit,) = json.loads((here / "a.json").read_text())["audits"]
    assert ended.status == 0
    assert "99" in audit["warnings"][0]


@pytest.fixture
def abs_model(here):
    """A model of a Tanh and an Abs in the current directory."""
    nodes = [helper.make_node("Tanh", ["X"], ["a"]), helper.make_node("Abs", ["a"], ["Y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("X", "Y")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), here / "m.onnx")
    return "m.onnx"


WRONG_ABS = ("-b", "fake_subject:wrong_abs", "--no-isolation")


def expect(here, **entries):
    """Write the expectations file `known.toml`, with a list of cases for each verdict."""
    lines = ['subject = "fake_subject:wrong_abs"', 'corpus = "audit"', "[[expect]]", 'reason = "Abs is wrong."']
    (here / "known.toml").write_text("\n".join([*lines, *(f"{name} = {cases}" for name, cases in entries.items())]))


def failures(path):
    """Return the names of the failing tests of a JUnit file, and of the skipped ones."""
    tests = list(ET.parse(path).getroot().iter("testcase"))
    return tuple(
        sorted(test.attrib["name"] for test in tests if test.find(tag) is not None) for tag in ("failure", "skipped")
    )


ABS_CASES = ["test_audit_m_1_abs", "test_audit_m_1_abs_hard_data"]


def test_wrong_nodes_fail_the_reports_until_they_are_expected(command, abs_model, here):
    reports = ("--json", "a.json", "--junit", "a.xml", "--markdown", "a.md")
    assert command("audit", abs_model, *WRONG_ABS, *reports).status == 1
    assert failures(here / "a.xml") == (["run passes", *ABS_CASES], [])
    assert "FAILED" in (here / "a.md").read_text()
    assert command("update-expectations", "a.json", "--expect", "known.toml", "--reason", "Abs is wrong.").status == 0
    ended = command("audit", abs_model, *WRONG_ABS, *reports, "--expect", "known.toml")
    assert ended.status == 0, ended.out
    assert failures(here / "a.xml") == ([], ABS_CASES)
    assert "PASSED" in (here / "a.md").read_text()
    assert command("update-expectations", "a.json", "--expect", "known.toml", "--check").status == 0


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ({"fail": ["test_audit_m_1_abs"]}, "test_audit_m_1_abs_hard_data"),
        ({"fail": ["*_abs*", "test_audit_m_0_tanh"]}, "test_audit_m_0_tanh"),
        ({"fail": ["*_abs*", "*_softmax"]}, "*_softmax"),
        ({"error": ["*_abs*"]}, "test_audit_m_1_abs"),
    ],
)
def test_audit_that_differs_from_its_expectations_fails(command, abs_model, here, entries, named):
    expect(here, **entries)
    ended = command("audit", abs_model, *WRONG_ABS, "--expect", "known.toml")
    assert ended.status == 1
    assert named in ended.out.split("on hard data:")[1]


def test_expected_wrong_node_of_another_corpus_or_subject_is_refused(command, abs_model, here):
    expect(here, fail=["*_abs*"])
    (here / "known.toml").write_text((here / "known.toml").read_text().replace('"audit"', '"onnx"'))
    assert_bad_input(command("audit", abs_model, *WRONG_ABS, "--expect", "known.toml"), "expectations.other-corpus")
    expect(here, fail=["*_abs*"])
    assert_bad_input(command("audit", abs_model, *OWN, "--expect", "known.toml"), "expectations.subject-not-run")


def test_node_that_is_audited_alone_needs_no_other_expected_node(command, abs_model, here):
    expect(here, fail=["*_abs*"])
    assert command("audit", abs_model, *WRONG_ABS, "--node", "0", "--expect", "known.toml").status == 0


def test_node_that_is_audited_alone_has_hard_data(command, abs_model, here):
    ended = command("audit", abs_model, *WRONG_ABS, "--node", "1")
    assert ended.out.count("hard data:") == 1


def test_model_that_does_not_run_fails_also_if_that_is_expected(command, abs_model, here):
    subject = "fake_subject:raises_for_abs"
    (here / "known.toml").write_text(
        f'subject = "{subject}"\n[[expect]]\nreason = "There is no Abs."\nerror = ["test_audit_m_0_run"]\n'
    )
    ended = command("audit", abs_model, "-b", subject, "--no-isolation", "--expect", "known.toml")
    assert ended.status == 1
    assert f"{subject} passed nothing" in ended.out


def write_text_model(here, text):
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}'), here / "text.onnx")
    return "text.onnx"


def test_sizes_are_multiples_where_a_model_needs_them(command, here):
    windows = """g (float[H, 3] x) => (float[n, 7, 3] y) <int64[3] sizes = {-1, 7, 3}> { y = Reshape (x, sizes) }"""
    ended = command("audit", write_text_model(here, windows), *OWN)
    assert (ended.status, "--shape H=84" in ended.out) == (0, True)


def test_model_that_no_chosen_size_fits_is_no_fault_of_the_subject(command, here):
    parts = """g (float[N, 5] x) => (float[n, 1193] y) <int64[2] sizes = {-1, 1193}> { y = Reshape (x, sizes) }"""
    ended = command("audit", write_text_model(here, parts), *OWN)
    assert_bad_input(ended, "usage.chosen-inputs", "--shape N=2")


def test_images_have_all_values_and_an_empty_output_is_named(command, here):
    image = "g (uint8[2, 64] x) => (float[2, 64] y) { y = Cast <to = 1> (x) }"
    ended = command("audit", write_text_model(here, image), *OWN, "--save-inputs", "in")
    assert ended.status == 0
    x = onnx.numpy_helper.to_array(onnx.load_tensor(here / "in/test_data_set_0/input_0.pb"))
    assert (x.min() < 50, x.max() > 200) == (True, True)
    none = "g (float[2, 6] x) => (int64[2, n] y) <float high = {200}> { large = Greater (x, high) y = NonZero (large) }"
    assert command("audit", write_text_model(here, none), *OWN, "--json", "a.json").status == 0
    (warning,) = json.loads((here / "a.json").read_text())["audits"][0]["warnings"]
    assert warning.startswith("y ")


@pytest.mark.parametrize("last", ["y = Add (x, noise)", "y = Abs (x)"])
def test_random_numbers_need_not_repeat(command, here, last):
    noise = f"g (float[2, 6] x) => (float[2, 6] y, float[2, 6] z) {{ noise = RandomNormalLike (x) {last} z = Neg (x) }}"
    ended = command("audit", write_text_model(here, noise), *OWN)
    assert ended.status == 0, ended.out


ENDS_WITH_NAN = """
import os

import numpy as np
from fake_subject import correct


class Ends(correct):
    @classmethod
    def prepare(cls, model, device="CPU"):
        prepared = super().prepare(model)

        class Prepared:
            def run(self, inputs):
                if np.isnan(inputs[0]).any():
                    {end}
                return prepared.run(inputs)

        return Prepared()
"""


@pytest.mark.parametrize(("end", "status"), [("os.abort()", 1), ("raise ValueError('NaN')", 0)])
def test_end_of_a_process_on_hard_values_is_a_fault_and_an_error_leaves_the_other_values(command, here, end, status):
    (here / "ends.py").write_text(ENDS_WITH_NAN.format(end=end))
    model = write_text_model(here, "g (float[2, 6] x) => (float[2, 6] y) { y = Abs (x) }")
    assert command("audit", model, "-b", "ends:Ends", "--json", "a.json").status == status
    (probe,) = json.loads((here / "a.json").read_text())["audits"][0]["probes"]
    assert probe["verdict"] == ("wrong" if status else "correct")
    assert probe["probes"] > 0


def test_gate_says_only_that_a_subject_does_not_run_the_model(command, here):
    model = write_text_model(here, "g (float[2, 6] x) => (float[2, 6] y) { y = Abs (x) }")
    (here / "known.toml").write_text(
        'subject = "fake_subject:raises_on_prepare"\nsupports = ["Abs"]\n\n'
        '[[expect]]\nreason = "known"\nfail = ["test_audit_text_1_abs"]\n\n'
        '[[expect]]\nreason = "known too"\nfail = ["test_audit_text_2_neg"]\n'
    )
    ended = command("audit", model, "-b", "fake_subject:raises_on_prepare", "--no-isolation", "--expect", "known.toml")
    assert ended.status == 1
    assert ended.out.count("known.toml") == 0, ended.out
