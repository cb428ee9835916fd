"""Strings, sequences and maps of a model: they are compared by value, and the nodes that make them are judged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance.base.errors import UsageError
from conformance.base.jobs.process_pool import create_workers
from conformance.exact.judgement.distances import output_share
from conformance.exact.models.arrays import array_of, parse_value, tensor_of, value_message_of
from conformance.exact.reference.model_enclosures import are_apart
from conformance.own.audit.audit_job import AuditWorkers
from conformance.own.audit.audit_session import AuditOptions, audit_recorded, audit_subject
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.blame.verdict import is_judged
from conformance.own.graphs.cutting import GraphParts
from conformance.own.graphs.intermediate_values import are_identical
from conformance.own.graphs.model_inputs import MAX_TEXTS, InputSet, make_inputs, read_inputs, save_inputs_to
from conformance.own.graphs.reading import LoadedModel
from conformance.own.graphs.recorded_outputs import DeviceRun
from conformance.own.graphs.tensor_borders import with_tensor_inputs
from conformance.own.model_cases.model_cases import define_model_cases, given_models
from conformance.subjects.calling.harness import value_message
from conformance.subjects.calling.subject_names import Subject, SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits, placeholder_for_type
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from pathlib import Path

ONE = np.ones(2, np.float32)
MAIN = helper.make_opsetid("", 17)


def split_to_sequence() -> onnx.ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("SplitToSequence", ["n"], ["s"], axis=0)]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])]
    parts = [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)]
    return helper.make_model(helper.make_graph(nodes, "g", values, parts), opset_imports=[MAIN], ir_version=8)


def classifier() -> onnx.ModelProto:
    """Return a classifier whose probabilities are a sequence of maps."""
    ml: dict[str, Any] = {"domain": "ai.onnx.ml"}
    weights: dict[str, Any] = {
        "coefficients": [0.1, 0.2, 0.3, -0.1, 0.2, 0.5, 0.3, 0.3, 0.1],
        "intercepts": [0.0, 0.1, 0.2],
    }
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("LinearClassifier", ["n"], ["y", "p"], classlabels_ints=[0, 1, 2], **weights, **ml),
        helper.make_node("ZipMap", ["p"], ["z"], classlabels_int64s=[0, 1, 2], **ml),
    ]
    maps = onnx.ValueInfoProto(name="z")
    maps.type.sequence_type.elem_type.map_type.key_type = TensorProto.INT64
    maps.type.sequence_type.elem_type.map_type.value_type.tensor_type.elem_type = TensorProto.FLOAT
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])]
    labels = helper.make_tensor_value_info("y", TensorProto.INT64, [4])
    graph = helper.make_graph(nodes, "g", values, [labels, maps])
    imports = [MAIN, helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ([ONE, ONE], [ONE.copy(), ONE.copy()], True),
        ([ONE, ONE], [ONE], False),
        ([ONE], [ONE * 2], False),
        ([ONE], [ONE.astype(np.float64)], False),
        ([ONE], [ONE.reshape(1, 2)], False),
        ([ONE * np.nan], [ONE * -np.nan], True),
        ([{0: 0.5, 1: 0.25}], [{1: 0.25, 0: 0.5}], True),
        ([{0: 0.5}], [{0: 0.25}], False),
        ([{"a": 0.5}], [{"b": 0.5}], False),
        (np.array(["a", "b"], object), np.array(["a", "b"], object), True),
        (None, None, True),
        ([], [[]], False),
    ],
)
def test_values_that_are_not_tensors_are_identical_by_their_elements(first: Any, second: Any, is_same: bool) -> None:
    assert are_identical([first], [second]) is is_same


@pytest.mark.parametrize(
    "value", [[object()], object(), [1.0], [[ONE]], {"a": [1]}, {(1, 2): 1}, np.array([None, "a"])]
)
def test_value_without_an_onnx_type_has_no_message(value: Any) -> None:
    assert value_message(value) is None


@pytest.mark.programs
@pytest.mark.parametrize(
    ("make", "judged"), [(split_to_sequence, ["correct", "correct"]), (classifier, ["correct", "correct", "correct"])]
)
@pytest.mark.parametrize("is_isolated", [True, False])
def test_audit_of_outputs_that_are_not_tensors_is_deterministic(
    tmp_path: Path, make: Any, judged: list[str], is_isolated: bool
) -> None:
    pytest.importorskip("onnxruntime")
    onnx.save(make(), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    named = [SubjectName.parse("onnxruntime", SubjectKind.BACKEND)]
    with started_subjects(named, Limits(60), no_isolation=not is_isolated) as (subject,):
        result = audit_subject(model, subject, make_inputs(model.original.graph, {}, 0))
    assert (result.is_repeatable, result.repeats_when_prepared_again, result.failure) == (True, True, None)
    assert [node.verdict for node in result.nodes] == list(map(NodeVerdict, judged))


def change_last(outputs: list[Any]) -> list[Any]:
    """Return outputs of which the last element of the last sequence is another one."""
    *before, last = outputs
    changed = {**last[-1], 2: 0.125} if isinstance(last[-1], dict) else last[-1] + np.float32(1)
    return [*before, [*last[:-1], changed]]


class Computes:
    """A backend that computes sequences and maps with NumPy, or as a change of the outputs has them.

    Args:
        change: the change; it is applied to every run.
        shows_elements: whether outputs are returned, and not objects with a digest, as of an old harness.
    """

    def __init__(self, change: Any = list, *, shows_elements: bool = True) -> None:
        self.change, self.shows_elements = change, shows_elements

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        names = [value.name for value in model.graph.output]

        def run(inputs: list[Any]) -> list[Any]:
            n = -inputs[0]
            values = {"n": n, "s": [*np.split(n, len(n))], "z": [{k: float(x) for k, x in enumerate(row)} for row in n]}
            own = self.change([values[names[0]]])
            own = own if self.shows_elements else [placeholder_for_type("list", repr(own[0]))]
            return [*own, *(values[name] for name in names[1:])]

        return SimpleNamespace(run=run)


def zip_map() -> onnx.ModelProto:
    ml = "ai.onnx.ml"
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("ZipMap", ["n"], ["z"], classlabels_int64s=[0, 1, 2], domain=ml),
    ]
    model = classifier()
    del model.graph.node[:], model.graph.output[0]
    model.graph.node.extend(nodes)
    return model


@pytest.mark.parametrize("make", [split_to_sequence, zip_map])
@pytest.mark.parametrize(("change", "verdict"), [(list, NodeVerdict.CORRECT), (change_last, NodeVerdict.WRONG)])
def test_sequence_or_map_with_another_element_is_wrong(
    tmp_path: Path, make: Any, change: Any, verdict: NodeVerdict
) -> None:
    onnx.save(make(), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    subject = Subject("computes", "1", Computes(change))
    result = audit_subject(model, subject, make_inputs(model.original.graph, {}, 0))
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT, verdict]
    assert result.nodes[1].elements == 12


def test_sequence_without_elements_is_not_judged(tmp_path: Path) -> None:
    onnx.save(split_to_sequence(), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    subject = Subject("computes", "1", Computes(shows_elements=False))
    result = audit_subject(model, subject, make_inputs(model.original.graph, {}, 0))
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT, NodeVerdict.NOT_JUDGED]


def test_recording_keeps_a_sequence(tmp_path: Path) -> None:
    onnx.save(split_to_sequence(), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    subject, inputs = Subject("computes", "1", Computes(change_last)), make_inputs(model.original.graph, {}, 0)
    workers = AuditWorkers(create_workers(1, None, lambda _: None), tmp_path / "state")
    for _ in range(2):  # the second audit reads the recording
        result = audit_subject(model, subject, inputs, options=AuditOptions(workers=workers))
        assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT, NodeVerdict.WRONG]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_tensors_are_identical_by_their_bits_except_for_nan(dtype: Any) -> None:
    first = np.array([np.nan, 0, 1]).astype(dtype)
    assert are_identical([first], [np.array([-np.nan, 0, 1]).astype(dtype)])
    assert not are_identical([first], [np.array([np.nan, -0.0, 1]).astype(dtype)])
    assert not are_identical([first], [np.array([0, np.nan, 1]).astype(dtype)])


WORDS = np.array(["größer", "", "a", "b\n\0c"], object)


def label_encoder() -> onnx.ModelProto:
    """Return a model that maps strings to strings."""
    node = helper.make_node(
        "LabelEncoder",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        keys_strings=["größer", "a"],
        values_strings=["klein", "b"],
        default_string="?",
    )
    x, y = (helper.make_tensor_value_info(name, TensorProto.STRING, ["n"]) for name in "xy")
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    return helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=imports, ir_version=8)


@pytest.fixture
def model(tmp_path: Path) -> LoadedModel:
    onnx.save(label_encoder(), tmp_path / "m.onnx")
    return LoadedModel.read(tmp_path / "m.onnx")


@pytest.mark.parametrize("kind", ["U", "S", "pb", "npz"])
def test_strings_are_read_from_each_kind_of_file(tmp_path: Path, model: LoadedModel, kind: str) -> None:
    path = tmp_path
    words = ["größer", "", "a"]
    if kind == "pb":
        (tmp_path / "input_0.pb").write_bytes(tensor_of(np.array(words, object)).SerializeToString())
    elif kind == "npz":
        path = tmp_path / "inputs.npz"
        np.savez(path, x=np.array(words))
    else:
        np.save(tmp_path / "input_0.npy", np.char.encode(words, "utf-8") if kind == "S" else np.array(words))
    (found,) = read_inputs(path, model.original.graph)
    assert found.arrays[0].tolist() == words
    assert found.arrays[0].dtype == object


@pytest.mark.parametrize("array", [np.array([b"\xff"]), np.array(["a"], object), np.zeros(MAX_TEXTS + 1, "U0")])
def test_strings_that_cannot_be_read_are_an_error_of_the_user(tmp_path: Path, model: LoadedModel, array: Any) -> None:
    np.save(tmp_path / "input_0.npy", array, allow_pickle=True)
    with pytest.raises(UsageError) as caught:
        read_inputs(tmp_path, model.original.graph)
    assert caught.value.code == "usage.input-unreadable"


def test_strings_of_a_tensor_keep_their_ends_and_their_size(tmp_path: Path) -> None:
    assert array_of(tensor_of(WORDS)).tolist() == WORDS.tolist()
    long = onnx.TensorProto(
        data_type=TensorProto.STRING, dims=[10**5], string_data=[b"x" * 10**5, *[b""] * (10**5 - 1)]
    )
    assert array_of(long).size == 10**5  # and not an array of as many characters for each


def test_random_strings_are_those_of_the_model_too(model: LoadedModel) -> None:
    (array,) = make_inputs(model.original.graph, {"n": (500,)}, 0).arrays
    assert {"größer", "a", ""} <= set(array)
    assert array.tolist() == make_inputs(model.original.graph, {"n": (500,)}, 0).arrays[0].tolist()


class Translates:
    """A backend that maps strings, and returns `dtype`, as a runtime may.

    Args:
        dtype: the type of NumPy that it returns.
        change: a function of each string.
    """

    def __init__(self, dtype: Any, change: Any = str) -> None:
        self.dtype, self.change = dtype, change

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        table = {"größer": "klein", "a": "b"}

        def run(inputs: list[Any]) -> list[Any]:
            found = [self.change(table.get(word, "?")) for word in inputs[0]]
            return [np.array([word.encode() for word in found] if self.dtype == "S" else found, self.dtype)]

        return SimpleNamespace(run=run)


@pytest.mark.parametrize(("change", "verdict"), [(str, NodeVerdict.CORRECT), (str.upper, NodeVerdict.WRONG)])
def test_node_of_strings_is_judged(model: LoadedModel, change: Any, verdict: NodeVerdict) -> None:
    result = audit_subject(model, Subject("t", "1", Translates(object, change)), InputSet("words", (WORDS,)))
    assert (result.failure, result.is_repeatable, result.nodes[0].verdict) == (None, True, verdict)
    if verdict is NodeVerdict.WRONG:
        worst = result.nodes[0].worst
        assert worst is not None
        assert (worst.index, worst.shown) == ((0,), ("KLEIN", "klein"))


@pytest.mark.programs
@pytest.mark.parametrize("is_isolated", [True, False])
def test_strings_reach_a_runtime_and_come_back(model: LoadedModel, is_isolated: bool) -> None:
    pytest.importorskip("onnxruntime")
    named = [SubjectName.parse("onnxruntime", SubjectKind.BACKEND)]
    with started_subjects(named, Limits(60), no_isolation=not is_isolated) as (subject,):
        result = audit_subject(model, subject, InputSet("words", (WORDS,)))
    assert (result.failure, [node.verdict for node in result.nodes]) == (None, [NodeVerdict.CORRECT])


def test_sequence_of_strings_and_its_element_are_right(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["q"], axis=0, keepdims=0),
        helper.make_node("SequenceAt", ["q", "one"], ["e"]),
    ]
    x, e = (helper.make_tensor_value_info(name, TensorProto.STRING, shape) for name, shape in (("x", ["n"]), ("e", [])))
    q = helper.make_tensor_sequence_value_info("q", TensorProto.STRING, [])
    one = helper.make_tensor("one", TensorProto.INT64, [], [1])
    graph = helper.make_graph(nodes, "g", [x], [q, e], [one])
    onnx.save(helper.make_model(graph, opset_imports=[MAIN], ir_version=8), tmp_path / "m.onnx")

    def run(inputs: list[Any]) -> list[Any]:
        parts = [np.array(word, object) for word in inputs[0]]
        return [parts, parts[1]]

    backend = SimpleNamespace(prepare=lambda *_: SimpleNamespace(run=run))
    model = LoadedModel.read(tmp_path / "m.onnx")
    result = audit_subject(model, Subject("t", "1", backend), InputSet("words", (WORDS,)))
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT, NodeVerdict.CORRECT]


def sequence_and_optional() -> onnx.ModelProto:
    """Return a model that appends the exponential of an optional to a sequence."""
    return onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 18]>
        g (seq(float[2]) S, optional(float[2]) O) => (seq(float[2]) R, bool H)
        { H = OptionalHasElement(O)  E = OptionalGetElement(O)  Y = Exp(E)  R = SequenceInsert(S, Y) }""")


@pytest.fixture
def appends(tmp_path: Path) -> LoadedModel:
    onnx.save(sequence_and_optional(), tmp_path / "m.onnx")
    return LoadedModel.read(tmp_path / "m.onnx")


def test_sequence_and_optional_are_read_as_they_are_saved(tmp_path: Path, appends: LoadedModel) -> None:
    graph = appends.original.graph
    made = make_inputs(graph, {}, 3)
    save_inputs_to(tmp_path / "saved", [made, InputSet("empty", ([], None))], graph)
    first, second = read_inputs(tmp_path / "saved", graph)
    assert are_identical(first.arrays, made.arrays)
    assert [len(first.arrays[0]), second.arrays] == [2, ([], None)]


@pytest.mark.parametrize(
    ("value", "type", "code"),
    [
        ([ONE.astype(np.float64)], "seq(double[2])", "usage.input-differs"),
        ([np.ones(3, np.float32)], "seq(float[3])", "usage.input-differs"),
        ([[ONE]], "seq(seq(float[2]))", "usage.input-unreadable"),
        (ONE, "float[2]", "usage.input-unreadable"),
    ],
)
def test_sequence_of_another_type_is_an_error_of_the_user(
    tmp_path: Path, appends: LoadedModel, value: Any, type: str, code: str
) -> None:
    (declared,) = onnx.parser.parse_graph(f"g ({type} S) => () {{}}").input
    (tmp_path / "input_0.pb").write_bytes(value_message_of(value, declared.type).SerializeToString())
    (tmp_path / "input_1.pb").write_bytes(b"")
    with pytest.raises(UsageError) as caught:
        read_inputs(tmp_path, appends.original.graph)
    assert caught.value.code == code


@pytest.mark.programs
@pytest.mark.parametrize("values", [None, ([], ONE), ([ONE, ONE], ONE)])
def test_sequence_and_optional_are_inputs_of_an_audit(appends: LoadedModel, values: Any) -> None:
    pytest.importorskip("onnxruntime")
    named = [SubjectName.parse("onnxruntime", SubjectKind.BACKEND)]
    data_set = make_inputs(appends.original.graph, {}, 0) if values is None else InputSet("given", values)
    with started_subjects(named, Limits(60), no_isolation=False) as (subject,):
        result = audit_subject(appends, subject, data_set)
    assert (result.failure, {node.verdict for node in result.nodes}) == (None, {NodeVerdict.CORRECT})


def test_recorded_sequence_is_judged(appends: LoadedModel) -> None:
    data_set = InputSet("given", ([ONE], ONE))
    for change, verdict in ((0, NodeVerdict.CORRECT), (1, NodeVerdict.WRONG)):
        values = {"R": [ONE, np.exp(ONE) + np.float32(change)], "H": np.array(True)}
        result = audit_recorded(appends, DeviceRun("device", "run", values), data_set)
        (inserted,) = [node for node in result.nodes if node.op_type == "SequenceInsert"]
        assert inserted.verdict is verdict
    assert inserted.worst is not None
    assert inserted.worst.index[0] == 1


MAP = {"a": np.float64(0.1), "größer": np.float64(-2.0)}


def dict_vectorizer(entry: str = "double") -> onnx.ModelProto:
    """Return a model that looks the values of a map up, and rounds them to float."""
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
        g (map(string, {entry}) d) => ({entry}[1, 3] v, float[1, 3] e)
        {{ v = ai.onnx.ml.DictVectorizer <string_vocabulary = ["größer", "b", "a"]> (d)  c = Cast <to = 1> (v)
          e = Exp(c) }}""")


def read_model(folder: Path, proto: onnx.ModelProto) -> LoadedModel:
    onnx.save(proto, folder / "m.onnx")
    return LoadedModel.read(folder / "m.onnx")


def look_up(keys: list[str]) -> Any:
    """Return a backend with a vocabulary."""

    def prepare(model: onnx.ModelProto, device: str = "CPU") -> Any:
        names = [value.name for value in model.graph.output]

        def run(inputs: list[Any]) -> list[Any]:
            v = np.array([[inputs[0].get(key, 0) for key in keys]], np.float64)
            values = {"v": v, "c": v.astype(np.float32), "e": np.exp(v.astype(np.float32))}
            return [values[name] for name in names]

        return SimpleNamespace(run=run)

    return SimpleNamespace(prepare=prepare)


def test_map_is_read_as_it_is_saved(tmp_path: Path) -> None:
    graph = read_model(tmp_path, dict_vectorizer()).original.graph
    made = make_inputs(graph, {}, 3)
    assert {*made.arrays[0]} <= {"größer", "b", "a"}
    save_inputs_to(tmp_path / "saved", [made, InputSet("given", (MAP,)), InputSet("empty", ({},))], graph)
    first, second, third = read_inputs(tmp_path / "saved", graph)
    assert are_identical(first.arrays, made.arrays)
    assert (second.arrays, third.arrays) == ((MAP,), ({},))
    assert type(second.arrays[0]["a"]) is np.float64


@pytest.mark.parametrize(
    ("value", "type", "code"),
    [
        ({"a": np.float32(1)}, "map(string, float)", "usage.input-differs"),
        ({1: np.float64(1)}, "map(int64, double)", "usage.input-differs"),
        ({"a": "b"}, "map(string, string)", "usage.input-differs"),
        ([ONE], "seq(float[2])", "usage.input-unreadable"),
    ],
)
def test_map_of_another_type_is_an_error_of_the_user(tmp_path: Path, value: Any, type: str, code: str) -> None:
    (declared,) = onnx.parser.parse_graph(f"g ({type} S) => () {{}}").input
    (tmp_path / "input_0.pb").write_bytes(value_message_of(value, declared.type).SerializeToString())
    with pytest.raises(UsageError) as caught:
        read_inputs(tmp_path, read_model(tmp_path, dict_vectorizer()).original.graph)
    assert caught.value.code == code


def test_map_with_equal_keys_is_an_error_of_the_user(tmp_path: Path) -> None:
    message = value_message_of(MAP, dict_vectorizer().graph.input[0].type)
    message.string_keys[0] = message.string_keys[1]
    (tmp_path / "input_0.pb").write_bytes(message.SerializeToString())
    with pytest.raises(UsageError) as caught:
        read_inputs(tmp_path, read_model(tmp_path, dict_vectorizer()).original.graph)
    assert caught.value.code == "usage.input-unreadable"


@pytest.mark.parametrize(
    ("keys", "verdict"), [(["größer", "b", "a"], NodeVerdict.CORRECT), (["a", "b", "größer"], NodeVerdict.WRONG)]
)
def test_node_that_takes_a_map_is_judged(tmp_path: Path, keys: list[str], verdict: NodeVerdict) -> None:
    model = read_model(tmp_path, dict_vectorizer())
    workers = AuditWorkers(create_workers(1, None, lambda _: None), tmp_path / "state")
    subject = Subject("looks-up", "1", look_up(keys))
    for options in (AuditOptions(), AuditOptions(workers=workers), AuditOptions(workers=workers)):
        result = audit_subject(model, subject, InputSet("given", (MAP,)), options=options)
        assert [node.verdict for node in result.nodes] == [verdict, NodeVerdict.CORRECT, NodeVerdict.CORRECT]


@pytest.mark.programs
def test_map_is_an_input_of_an_audit_of_a_runtime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    named = [SubjectName.parse("onnxruntime", SubjectKind.BACKEND)]
    for entry, is_passed in (("float", True), ("double", False)):  # its interface for Python passes float alone
        model = read_model(tmp_path, dict_vectorizer(entry))
        with started_subjects(named, Limits(60), no_isolation=False) as (subject,):
            result = audit_subject(model, subject, make_inputs(model.original.graph, {}, 0))
        assert (not result.failure) == is_passed
        assert {node.verdict for node in result.nodes} <= {NodeVerdict.CORRECT}


def test_cut_part_keeps_the_map_of_the_model(tmp_path: Path) -> None:
    model = read_model(tmp_path, dict_vectorizer()).prepared
    part = GraphParts(model).cut([0], {"d": MAP, "v": np.zeros((1, 3))})
    assert part is not None
    assert part.model.graph.input[0].type == model.graph.input[0].type
    assert parse_value(part.messages[0].SerializeToString(), model.graph.input[0].type) == MAP


def test_nodes_behind_a_map_have_cases(tmp_path: Path) -> None:
    found = define_model_cases(given_models([read_model(tmp_path, dict_vectorizer())], None, ()))
    assert sorted(case.id.split("_")[2] for _, case in found.cases) == ["cast", "exp"]
    assert [operator for operator, _ in found.left_out] == ["DictVectorizer"]


OTHERS = ("seq(map(string, float))", "optional(map(string, float))", "map(string, seq(float))", "seq(seq(seq(float)))")


@pytest.mark.parametrize("type", OTHERS)
def test_input_that_no_operator_takes_is_an_error_of_the_user(tmp_path: Path, type: str) -> None:
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        g ({type} d, float x) => (float y) {{ y = Neg(x) }}""")
    graph = read_model(tmp_path, model)
    with pytest.raises(UsageError) as caught:
        with_tensor_inputs(graph, [make_inputs(graph.original.graph, {}, 0)])
    assert caught.value.code == "usage.cannot-make-input"


@pytest.mark.parametrize(
    ("actual", "share", "is_within"),
    [([ONE, ONE], 0.0, True), ([ONE, ONE * 2], np.inf, False), ([ONE], np.inf, False), (ONE, np.inf, False)],
)
def test_sequence_of_blame_is_compared_item_by_item(actual: Any, share: float, is_within: bool) -> None:
    assert output_share(actual, [ONE, ONE]) == share
    assert is_judged(actual, [ONE, ONE])
    assert are_apart([ONE, ONE], actual) is not is_within
