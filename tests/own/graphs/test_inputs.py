"""Inputs of a model: the header of a file is compared with the declaration before the elements are read."""

from __future__ import annotations

import io
import json
import os
import resource
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from computing_backend import Computes
from onnx import TensorProto, helper
from refusals import assert_raises

from conformance.base.errors import UsageError
from conformance.own.audit.audit_session import SubjectAudit, audit_subject
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.model_inputs import (
    InputSet,
    choose_inputs,
    choose_sizes,
    make_inputs,
    other_inputs,
    random_texts,
    read_inputs,
    size_candidates,
    vocabulary_text,
)
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MEMORY = 2**27
"""Memory for a refusal, besides that of this process."""

RIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)


def graph_of(shape: list[int | str], type: int = TensorProto.FLOAT) -> onnx.GraphProto:
    values = [helper.make_tensor_value_info(name, type, shape) for name in "XY"]
    return helper.make_graph([helper.make_node("Abs", ["X"], ["Y"])], "g", values[:1], values[1:])


GRAPH = graph_of([2, 3])


@contextmanager
def limited_memory() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MAX_MEMORY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def npy_header(shape: tuple[int, ...], dtype: str = "<f4", version: int = 1) -> bytes:
    text = str({"descr": dtype, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text


def write_npz(file: Path, head: bytes, zeros: int = 0, name: str = "X.npy") -> None:
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as member,
    ):
        member.write(head)
        for _ in range(zeros >> 20):
            member.write(bytes(2**20))


def saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def refusal(path: Path, graph: onnx.GraphProto = GRAPH) -> str:
    with limited_memory(), pytest.raises(UsageError) as caught:
        read_inputs(path, graph)
    return caught.value.code


UNPACKED = 2**28
"""Size of a hostile array when it is unpacked."""

HEADERS = {
    "shape of 256 MiB": (npy_header((UNPACKED // 4,)), "usage.input-differs"),
    "type of 256 MiB": (npy_header((2, 3), f"<U{UNPACKED // 24}"), "usage.input-differs"),
    "Python object": (npy_header((2, 3), "|O"), "usage.input-unreadable"),
    "65 dimensions": (npy_header((1,) * 65), "usage.input-unreadable"),
    "0 x 2^62 x 2^62": (npy_header((0, 2**62, 2**62)), "usage.input-unreadable"),
    "negative size": (npy_header((-1, 3)), "usage.input-unreadable"),
    "header of 256 MiB": (b"\x93NUMPY\x02\x00" + UNPACKED.to_bytes(4, "little"), "usage.input-unreadable"),
    "no header": (b"", "usage.input-unreadable"),
    "header only": (npy_header((2, 3)), "usage.input-unreadable"),
    "header that calls": (npy_header((2, 3)).replace(b"False", b"exit()"), "usage.input-unreadable"),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_read_of_npz_with_hostile_header_is_refused_with_little_memory(tmp_path, kind):
    head, code = HEADERS[kind]
    write_npz(tmp_path / "inputs.npz", head, UNPACKED if "MiB" in kind else 0)
    assert (tmp_path / "inputs.npz").stat().st_size < 2**23
    assert refusal(tmp_path / "inputs.npz") == code


@pytest.mark.parametrize("kind", HEADERS)
def test_read_of_npy_with_hostile_header_is_refused(tmp_path, kind):
    head, code = HEADERS[kind]
    (tmp_path / "input_0.npy").write_bytes(head)
    assert refusal(tmp_path) == code


def test_read_of_npz_member_without_header_is_refused_with_little_memory(tmp_path):
    write_npz(tmp_path / "inputs.npz", b"", UNPACKED, name="X")
    assert refusal(tmp_path / "inputs.npz") == "usage.input-unreadable"


def test_read_of_npz_of_open_shape_is_refused_beyond_the_limit(tmp_path):
    write_npz(tmp_path / "inputs.npz", npy_header((2**40,)))
    assert refusal(tmp_path / "inputs.npz", graph_of(["n"])) == "usage.input-unreadable"


@pytest.mark.parametrize("names", [["X.npy", "X.npy"], ["X", "X.npy"]])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_read_of_npz_with_two_arrays_of_one_name_is_refused(tmp_path, names):
    with zipfile.ZipFile(tmp_path / "inputs.npz", "w") as archive:
        for name in names:
            archive.writestr(name, saved(RIGHT))
    assert refusal(tmp_path / "inputs.npz") == "usage.input-unreadable"


@pytest.mark.parametrize("zeros", [1, 2**17])
def test_read_of_array_with_bytes_after_it_is_refused(tmp_path, zeros):
    (tmp_path / "input_0.npy").write_bytes(saved(RIGHT) + bytes(zeros))
    assert refusal(tmp_path) == "usage.input-unreadable"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("packed", [True, False])
def test_read_of_npz_returns_the_saved_arrays(tmp_path, order, packed):
    (np.savez_compressed if packed else np.savez)(tmp_path / "inputs.npz", X=RIGHT.copy(order=order))
    [data_set] = read_inputs(tmp_path / "inputs.npz", GRAPH)
    np.testing.assert_array_equal(data_set.arrays[0], RIGHT)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("shape", [(), (0, 4), (2, 3)])
def test_read_of_npy_returns_the_saved_array(tmp_path, version, shape):
    array = np.ones(shape, np.float32)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version)
    (tmp_path / "input_0.npy").write_bytes(stream.getvalue())
    [data_set] = read_inputs(tmp_path, graph_of(list(shape)))
    np.testing.assert_array_equal(data_set.arrays[0], array)


def external_tensor(location: str) -> TensorProto:
    tensor = TensorProto(name="X", data_type=TensorProto.FLOAT, dims=(2, 3), data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


@pytest.mark.parametrize("content", ['{"lst": []}', '["X"]', '[{"X": [1, 2]}]', '[{"X": {"values": 1}}]'])
def test_read_of_json_that_is_not_of_polygraphy_is_refused(tmp_path, content):
    (tmp_path / "inputs.json").write_text(content)
    assert refusal(tmp_path / "inputs.json") == "usage.input-unreadable"


def test_read_of_two_files_of_one_input_is_refused(tmp_path):
    (tmp_path / "input_0.npy").write_bytes(saved(RIGHT))
    (tmp_path / "input_0.pb").write_bytes(b"")
    assert refusal(tmp_path) == "usage.input-unreadable"


PROTOS = {
    "external data": (external_tensor("secret"), "usage.input-unreadable"),
    "65 dimensions": (TensorProto(data_type=1, dims=(1,) * 65, raw_data=bytes(4)), "usage.input-unreadable"),
    "0 x 2^62 x 2^62": (TensorProto(data_type=1, dims=(0, 2**62, 2**62)), "usage.input-unreadable"),
    "another shape": (TensorProto(data_type=1, dims=(2**20,)), "usage.input-differs"),
    "another type": (TensorProto(data_type=7, dims=(2, 3)), "usage.input-differs"),
    "an unknown type": (TensorProto(data_type=999, dims=(2, 3)), "usage.input-differs"),
    "too few elements": (TensorProto(data_type=1, dims=(2, 3), raw_data=bytes(4)), "usage.input-unreadable"),
}


@pytest.mark.parametrize("kind", PROTOS)
def test_read_of_hostile_pb_is_refused(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(RIGHT.tobytes())
    tensor, code = PROTOS[kind]
    (tmp_path / "input_0.pb").write_bytes(tensor.SerializeToString())
    assert refusal(tmp_path) == code


def test_read_of_pb_with_more_parts_than_are_decoded_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("conformance.exact.models.encoded_messages.MAX_TEXTS", 0)
    tensor = TensorProto(data_type=1, dims=(2, 3), raw_data=RIGHT.tobytes())
    (tmp_path / "input_0.pb").write_bytes(tensor.SerializeToString())
    assert refusal(tmp_path) == "usage.input-unreadable"


@pytest.mark.parametrize("name", ["input_0.pb", "input_0.npy", "inputs.npz"])
@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_read_of_input_that_is_no_regular_file_is_refused(tmp_path, name, kind):
    file = tmp_path / name
    {"pipe": os.mkfifo, "directory": Path.mkdir, "device": lambda path: path.symlink_to("/dev/zero")}[kind](file)
    given = file if name.endswith("npz") and kind != "directory" else tmp_path
    assert refusal(given) in {"usage.input-unreadable", "usage.input-missing"}


@pytest.mark.parametrize("linked", ["test_data_set_0", "test_data_set_0/input_0.npy"])
def test_read_of_link_below_the_folder_is_refused(tmp_path, linked):
    inputs, target = tmp_path / "inputs", tmp_path / "inputs" / linked
    (inputs / "test_data_set_0").mkdir(parents=True)
    (inputs / "test_data_set_0" / "input_0.npy").write_bytes(saved(RIGHT))
    assert read_inputs(inputs, GRAPH)[0].arrays[0].tolist() == RIGHT.tolist()
    target.rename(tmp_path / "elsewhere")
    target.symlink_to(tmp_path / "elsewhere")
    assert refusal(inputs) == "usage.input-unreadable"


@pytest.mark.parametrize(
    ("declared", "shape"), [(["n"] * 65, {}), ([0, "a", "b", "c"], dict.fromkeys("abc", (999_999_999,)))]
)
def test_make_of_inputs_with_impossible_shape_is_refused(declared, shape):
    with assert_raises("usage.cannot-make-input"):
        make_inputs(graph_of(declared), shape, 0)


@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_make_of_inputs_gives_integers_that_divide_no_zero(operator: str) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.INT32, [40]) for name in "ABC"]
    graph = helper.make_graph([helper.make_node(operator, ["A", "B"], ["C"])], "g", values[:2], values[2:])
    A, B = make_inputs(graph, {}, 0).arrays
    assert {*A.tolist()} == {0, 1}
    assert {*B.tolist()} == {1}


HEAD = '<ir_version: 10, opset_import: ["" : 18]> g '


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("(float[5, 8, 2] X, int64[8] N) => (Y) { Y = ReverseSequence <time_axis = 0, batch_axis = 1> (X, N) }", 1, 5),
        ("(float[8, 5, 2] X, int64[8] N) => (Y) { Y = ReverseSequence <time_axis = 1, batch_axis = 0> (X, N) }", 1, 5),
        ("(float[1, 2, 5, 5] X, float[8, 4] R, int64[8] N) => (Y) { Y = RoiAlign <output_width = 7> (X, R, N) }", 0, 0),
        ('(uint32[40] X, uint32[40] N) => (Y) { Y = BitShift <direction = "LEFT"> (X, N) }', 0, 31),
        ("(float[8, 3] X, int64[8] N) => (Y) { Y = NegativeLogLikelihoodLoss (X, N) }", 0, 2),
    ],
)
def test_integers_of_an_input_have_the_range_of_its_operand(text: str, low: int, high: int) -> None:
    numbers = make_inputs(onnx.parser.parse_model(HEAD + text).graph, {}, 0).arrays[-1]
    assert isinstance(numbers, np.ndarray)
    assert low <= numbers.min() <= numbers.max() <= high
    assert len({*numbers.tolist()}) > (high - low) / 2


POOLED = (
    "(float[N,3,H,W] X) => (float[A,B,C,D] Y) { A = MaxPool <kernel_shape = [8,8], strides = [8,8]> (X)"
    " Y = AveragePool <kernel_shape = [2,2], strides = [2,2]> (A) }"
)

SIGNAL = (
    "(float[N,L] X, float[1,1,9] W) => (float[A,B] Y) <int64[1] U = {1}>"
    " { A = Unsqueeze(X, U) C = Conv(A, W) Y = Squeeze(C, U) }"
)

WITH_PAST = (
    "(float[past] P, float[length] X, float[total] M) => (float[total] Y)"
    " { C = Concat <axis = 0> (P, X) Y = Add(C, M) }"
)


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


@pytest.mark.parametrize(
    ("text", "given", "chosen"),
    [
        ("(float[N,3] X) => (float[N,3] Y) { Y = Abs(X) }", {}, {"X": (2, 3)}),
        ("(float[2,3] X) => (float[2,3] Y) { Y = Abs(X) }", {}, {}),
        (POOLED, {}, {"X": (2, 3, 32, 32)}),
        (POOLED, {"N": (5,)}, {"X": (5, 3, 32, 32)}),
        ("(float[N,L] X) => (float[N,L] Y) { Y = Abs(X) }", {"L": (0,)}, {"X": (2, 0)}),
        (POOLED, {"X": (1, 3, 2, 2)}, {}),
        (
            SIGNAL,
            {},
            {"X": (2, 16)},
        ),
        (
            WITH_PAST,
            {},
            {"P": (2,), "X": (2,), "M": (4,)},
        ),
        (WITH_PAST.replace("total", "kv"), {"length": (3,)}, {"P": (2,), "X": (3,), "M": (5,)}),
    ],
)
def test_chosen_sizes_leave_no_tensor_empty(text: str, given: Any, chosen: Any) -> None:
    model = parsed(text)
    for value in model.graph.input:
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param == "total":
                size.dim_param = "past + length"
    assert choose_sizes(model, given) == chosen


@pytest.mark.parametrize(("open_inputs", "most"), [(200, 110), (4, 20)])
def test_sizes_of_many_open_inputs_are_few(open_inputs: int, most: int) -> None:
    inputs = ", ".join(f"float[n{number}] X{number}" for number in range(open_inputs))
    candidates = [*size_candidates(parsed(f"({inputs}) => (float[n0] Y) {{ Y = Abs(X0) }}"), {})]
    assert len(candidates) <= most
    assert candidates[0] == {f"X{number}": (2,) for number in range(open_inputs)}


class CountsNothingAsOne(Computes):
    """A backend that returns ones of shape 1x1 for an empty image."""

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        for node in changed.graph.node:
            if node.op_type == "MaxPool":
                node.op_type = "GlobalMaxPool"
                del node.attribute[:]
        return super().prepare(changed, device)


def audit(path: Path, data_set: InputSet) -> SubjectAudit:
    return audit_subject(LoadedModel.read(path), Subject("s", "1", CountsNothingAsOne()), data_set)


def test_empty_tensor_of_a_chosen_size_is_no_verdict(tmp_path: Path) -> None:
    model = parsed("(float[N,3,4,4] X) => (float[A,B,C,D] Y) { Y = MaxPool <kernel_shape = [5,5]> (X) }")
    onnx.save(model, tmp_path / "m.onnx")
    (chosen,) = choose_inputs(model, None, (), 0)
    (given,) = choose_inputs(model, None, ("X=2x3x4x4",), 0)
    np.testing.assert_array_equal(chosen.arrays[0], given.arrays[0])
    assert (chosen.chosen, given.chosen) == (("--shape N=2",), ())
    for data_set, verdict in ((chosen, NodeVerdict.NOT_JUDGED), (given, NodeVerdict.WRONG)):
        (node,) = audit(tmp_path / "m.onnx", data_set).nodes
        assert node.verdict is verdict


GATHERED = "(float[L] X) => (float Y) <int64 I = {20}> { Y = Gather(X, I) }"
"""A model whose shortest input shape inference does not see."""


def test_sizes_are_chosen_with_which_the_subject_runs(tmp_path: Path, command: Any) -> None:
    onnx.save(parsed(GATHERED), tmp_path / "m.onnx")
    report = tmp_path / "audit.json"
    ended = command("audit", tmp_path / "m.onnx", "-b", "fake_subject:correct", "--no-isolation", "--json", report)
    assert ended.status == 0
    assert json.loads(report.read_text())["inputs"] == ["X float 64"]


@pytest.mark.parametrize("op_type", ["StringNormalizer", "StringConcat"])
def test_texts_of_inputs_are_of_ascii_if_a_node_is_judged_on_these_only(op_type: str) -> None:
    node = helper.make_node(op_type, ["X"], ["Y"], stopwords=["née", "the"])
    drawn = {*random_texts("0", (300,), [node]).flat}
    assert {"the", "a"} <= drawn
    assert all(text.isascii() for text in drawn) == (op_type == "StringNormalizer")


@pytest.mark.parametrize(
    ("op_type", "attribute", "domain"),
    [
        ("TfIdfVectorizer", "pool_strings", ""),
        ("LabelEncoder", "keys_strings", "ai.onnx.ml"),
        ("CategoryMapper", "cats_strings", "ai.onnx.ml"),
        ("StringNormalizer", "stopwords", ""),
    ],
)
def test_first_text_of_an_input_is_one_that_a_node_compares_with(op_type: str, attribute: str, domain: str) -> None:
    words = [f"word {number}" for number in range(50)]
    node = helper.make_node(op_type, ["X"], ["Y"], domain=domain, **{attribute: words})
    labels = helper.make_node("ZipMap", ["Y"], ["Z"], domain="ai.onnx.ml", classlabels_strings=["label"] * 50)
    for seed in range(20):
        first, *_, last = random_texts(str(seed), (2,), [node, labels])
        assert first.lower() in words
        assert last not in [*words, "label"]


FIRST = ", ".join(f'"first {number}"' for number in range(99))
COLUMNS = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18, "ai.onnx.ml": 3]>
    g (string[2] A, string[2] B) => (int64[2] Y, float[2] Z) {{
        Y = ai.onnx.ml.LabelEncoder <keys_strings = [{FIRST}], values_int64s = [{", ".join(map(str, range(99)))}]> (A)
        U = Identity (B)
        Z = ai.onnx.ml.LabelEncoder <keys_strings = ["red", "blue"], values_floats = [1.0, 2.0]> (U)
    }}""")
COUNTED = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
    g (string[2] A) => (float[2] Y) {
        Y = TfIdfVectorizer <mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
            ngram_counts = [0], ngram_indexes = [0, 1], pool_strings = ["red", "blue"]> (A) }""")


@pytest.mark.parametrize("seed", range(5))
def test_first_text_of_each_input_is_one_of_the_vocabulary_of_the_nodes_after_it(seed: int) -> None:
    (first, _), (second, _) = make_inputs(COLUMNS.graph, {}, seed).arrays
    assert first.startswith("first")
    assert second in ("red", "blue")


def test_vocabulary_without_an_entry_among_the_elements_is_named(command, here) -> None:
    onnx.save(COLUMNS, here / "columns.onnx")
    for texts, count in ((["blue", "x"], 0), (["y", "x"], 1)):
        np.savez(here / "inputs.npz", A=np.array(["first 3", "x"]), B=np.array(texts))
        given = "columns.onnx", "-b", "onnx-reference", "--inputs", "inputs.npz", "--json", "a.json"
        assert command("audit", *given).status == 0
        (audit,) = json.loads((here / "a.json").read_text())["audits"]
        assert len([each for each in audit["warnings"] if "vocabulary" in each]) == count


@pytest.mark.parametrize(("counts", "is_named"), [([0, 0], True), ([0, 2], False)])
def test_vocabulary_of_which_nothing_was_counted_is_named(counts: list[float], is_named: bool) -> None:
    assert bool(vocabulary_text(COUNTED.graph.node, {"Y": np.array(counts, np.float32)})) == is_named


def test_text_of_a_model_that_splits_texts_has_several_words() -> None:
    words = ["the", "cat", "sat"]
    vocabulary = helper.make_node("TfIdfVectorizer", ["S"], ["Y"], pool_strings=words)
    split = helper.make_node("StringSplit", ["X"], ["S", "N"])
    drawn = {*random_texts("0", (100,), [split, vocabulary]).flat}
    assert {"the", "sat cat the"} <= drawn


BRANCHES = (
    "(float[2] X, {type} rate) => (float[2] Y) <float[3] Three = {{1, 2, 3}}> {{ {condition}"
    " Y = If (C) <then_branch = t () => (float[2] T) {{ T = {then} }},"
    " else_branch = e () => (float[2] E) {{ E = {other} }}> }}"
)
"""A model with one branch that no runtime can run, because its shapes contradict each other."""

RUNS, FAILS = "Abs(X)", "Add(X, Three)"
EQUAL = "K = Constant <value = int64 {16000}> () C = Equal(rate, K)"


@pytest.mark.parametrize(
    ("type", "condition", "then", "other", "options", "status", "value"),
    [
        ("int64", EQUAL, RUNS, FAILS, (), 0, 16000),
        ("int64", EQUAL, FAILS, RUNS, ("--input", "rate=8000"), 0, 8000),
        ("int64", EQUAL, RUNS, FAILS, ("--input", "rate=8000"), 1, 8000),
        ("bool", "C = Identity(rate)", RUNS, FAILS, (), 0, True),
        ("bool", "C = Identity(rate)", FAILS, RUNS, (), 0, False),
    ],
)
def test_value_of_a_compared_input_leads_to_a_branch_that_runs(
    type: str,
    condition: str,
    then: str,
    other: str,
    options: tuple[str, ...],
    status: int,
    value: Any,
    tmp_path: Path,
    command: Any,
) -> None:
    onnx.save(parsed(BRANCHES.format(type=type, condition=condition, then=then, other=other)), tmp_path / "m.onnx")
    subject = ("-b", "fake_subject:correct", "--no-isolation", "--save-inputs", tmp_path / "in")
    assert command("audit", tmp_path / "m.onnx", *subject, *options).status == status
    saved_value = onnx.load_tensor(tmp_path / "in/test_data_set_0/input_1.pb")
    assert onnx.numpy_helper.to_array(saved_value).item() == value


@pytest.mark.parametrize(
    ("type", "text", "code"),
    [
        ("int8", "X=300", "usage.input-value"),
        ("int64", "X=1.5", "usage.input-value"),
        ("bool", "X=2", "usage.input-value"),
        ("float", "X=fast", "usage.input-value"),
        ("float", "X", "usage.unknown-input"),
        ("float", "Z=1", "usage.unknown-input"),
    ],
)
def test_value_that_the_input_cannot_have_is_refused(type: str, text: str, code: str) -> None:
    model = parsed(f"({type}[2] X) => ({type}[2] Y) {{ Y = Identity(X) }}")
    with assert_raises(code, text.partition("=")[0]):
        choose_inputs(model, None, (), 0, [text])


def test_value_fills_an_input_of_numbers_or_texts() -> None:
    model = parsed("(float16[2,N] X, string[2] T) => (float16[2,N] Y) { Y = Identity(X) }")
    (made,) = choose_inputs(model, None, ("N=3",), 0, ["X=-1.5e4", "T=a=b"])
    X, T = made.arrays
    assert isinstance(X, np.ndarray)
    assert isinstance(T, np.ndarray)
    assert (X.dtype, X.shape, {*X.flat}) == (np.float16, (2, 3), {-15000})
    assert T.tolist() == ["a=b", "a=b"]
    with assert_raises("usage.options-conflict", "--input", "--inputs"):
        choose_inputs(model, Path("in"), (), 0, ["X=1"])


@pytest.mark.parametrize(
    "node",
    [
        "Y = Loop(n) <body = b (int64 i, bool c) => (bool d, float o) { d = Identity(c) o = Cast <to = 1> (i) }>",
        "Y = Range(zero, n, one)",
        "Y, I = TopK(X, m)",
        "Y = OneHot(K, n, V)",
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_chosen_count_of_rounds_or_results_makes_no_empty_tensor(node: str, seed: int) -> None:
    model = parsed(
        "(int64 n, float[4] X) => (float[M] Y) <int64 zero = {0}, int64 one = {1}, int64[1] rank = {1},"
        " int64[2] K = {0, 1}, float[2] V = {0, 1}> { m = Reshape(n, rank) " + node + " }"
    )
    tried = [*choose_inputs(model, None, (), seed), *other_inputs(model, (), seed)]
    assert [each.arrays[0].item() for each in tried[:2]] == [2, 1]
    assert tried[0].chosen == ("--input n=2",)


def test_other_values_are_tried_near_the_constant_of_a_comparison() -> None:
    model = parsed(
        "(float[2] X, int64 rate) => (float[2] Y) <int64 K = {4}, int64[1] one = {1}>"
        " { R = Reshape(rate, one) D = Less(K, R) C = Cast <to = 1> (D) Y = Add(X, C) }"
    )
    tried = [*choose_inputs(model, None, (), 0), *other_inputs(model, (), 0)]
    drawn, *others = [each.arrays[1].item() for each in tried]
    assert (drawn in {0, 1}, others) == (True, [4, 3, 5])
    assert tried[1].chosen == ("--input rate=4",)
