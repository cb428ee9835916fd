"""Answers of isolated subjects: tensors, and hostile answers."""

from __future__ import annotations

import errno
import json
import os
import re
import sys

import fake_harness
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from repository import DATA, SUPPORT, exec_subject

from conformance.exact.models import encoded_messages
from conformance.exact.models.arrays import dtype_of, type_name
from conformance.exact.models.encoded_messages import is_large_message
from conformance.run.results.results_file import read_results
from conformance.subjects.calling.harness import NUMPY_TYPES, READ_SUFFIX, numpy_type, read_tensor, write_output
from conformance.subjects.isolation.protocol import parse_answer
from conformance.subjects.isolation.proxies import decode_value, take_packed, take_tensor, write_packed

# Hostile answers of a harness: each is a verdict, the results can be read, and the suite stays under a gibibyte.


PASS_CASE = "test_argmax_pass_surroundings_above_64_kib"
"""The case with the largest model, and so with the largest limits."""

MOST_MEBIBYTES = 1024

PEAK = """
import re, sys
from pathlib import Path
from conformance.commands.cli import main
sys.argv[0] = "onnx-conformance"
try:
    main()
finally:
    (kibibytes,) = re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print("PEAK", int(kibibytes) // 1024, file=sys.stderr)
"""
"""Runs the command line and prints its peak memory in MiB. `ru_maxrss` would include the memory from before exec."""

# the attack, the verdict and a part of the message
ATTACKS = [
    ("claims_endless_seconds", "error", "violates the protocol"),
    ("writes_three_sparse_gibibytes", "error", "output 0 that has more than "),
    ("writes_sparse_outputs_up_to_the_limit", "fail", "1 outputs instead of"),
    ("writes_a_line_of_250_megabytes", "error", "bytes in one line"),
    ("writes_the_longest_line", "error", "\U0001f600"),
    ("writes_an_endless_line_byte_by_byte", "timeout", "did not answer"),
    ("nests_five_million_lists", "error", "values"),
    ("returns_a_million_outputs", "fail", "200001 outputs instead of"),
    ("places_nodes_on_long_names", "fail", "0 outputs instead of"),
    ("overwrites_what_is_not_there", "error", "reports that it overwrote output 0 of run 0"),
    ("refuses_with_a_long_text", "unsupported", "xxx"),
    ("writes_a_model_of_two_million_nodes", "error", "fields"),
    ("writes_a_model_with_an_endless_number", "error", "not a model"),
    ("writes_a_sparse_model_of_a_gibibyte", "error", "wrote a model of more than "),
]
LONG = {
    "writes_three_sparse_gibibytes",
    "writes_sparse_outputs_up_to_the_limit",
    "writes_a_line_of_250_megabytes",
    "returns_a_million_outputs",
    "writes_a_model_of_two_million_nodes",
    "writes_the_longest_line",
    "places_nodes_on_long_names",
    "overwrites_what_is_not_there",
}
"""Attacks that take seconds; each has a smaller one of its kind."""


@pytest.mark.variants(2)
@pytest.mark.programs
@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status is Linux")
@pytest.mark.parametrize(
    ("attack", "verdict", "message"),
    [pytest.param(*row, id=row[0], marks=[pytest.mark.long] * (row[0] in LONG)) for row in ATTACKS],
)
def test_hostile_answer_is_a_verdict_and_memory_stays_below_a_gibibyte(process, here, attack, verdict, message):
    is_optimizer = "model" in attack
    harness = exec_subject(sys.executable, SUPPORT / "fake_harness.py", attack)
    subject = ("-o", harness) if is_optimizer else ("-b", harness)
    case = PASS_CASE if is_optimizer else "test_momentum_multiple"
    timeout = "3" if verdict == "timeout" else "20"
    told = ("run", *subject, "--case", case, "--data", DATA, "--results", "out.jsonl", "--timeout", timeout)
    ended = process(sys.executable, "-c", PEAK, *told)
    (row,) = read_results(here / "out.jsonl").rows.values()
    peak = int(ended.err.rpartition("PEAK ")[2])
    assert (row.verdict, ended.status) == (verdict, 1)
    assert message in row.message
    assert peak < MOST_MEBIBYTES


def test_whole_number_with_a_point_is_an_integer():
    output = {"dtype": "float", "shape": [1.0], "data": "AACAPw=="}
    answer = parse_answer(json.dumps({"seq": 1.0, "outputs": [output], "changed": [0.0]}).encode(), "run", 1)
    assert answer["changed"][0].bit_length() == 0
    assert decode_value(answer["outputs"][0]).tolist() == [1.0]


def test_every_attack_of_the_harness_is_tested():
    assert {function.__name__ for function in fake_harness.ATTACKS} == {row[0] for row in ATTACKS}


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        (b"", 0),
        (b"\x08\x01", 0),
        (onnx.ModelProto(ir_version=300, producer_name="name").SerializeToString(), 1),
        (onnx.ModelProto(graph=onnx.GraphProto(node=[onnx.NodeProto(input=["a", "b"])] * 3)).SerializeToString(), 10),
        (b"\x3a\x04\x0a\x00\x0a\x00", 3),
        (b"\xc3\x3e\xc4\x3e\x3a\x06\xc3\x3e\xc4\x3e\x0a\x00", 6),
        (b"\x09" + bytes(8) + b"\x0d" + bytes(4) + b"\x88\x01\xff\x01" * 10**4, 0),
    ],
)
def test_messages_and_texts_of_a_model_are_counted_without_decoding(content, fields):
    assert not is_large_message(content, fields)
    assert is_large_message(content + b"\x12\x00", fields)


@pytest.mark.parametrize(
    ("tensor", "most"),
    [
        (onnx.TensorProto(int64_data=[300] * 10), 80),
        (onnx.TensorProto(int32_data=[300] * 10), 40),
        (onnx.TensorProto(float_data=[1.0] * 10, raw_data=bytes(100)), 0),
    ],
)
def test_memory_of_numbers_is_counted_without_decoding(monkeypatch, tensor, most):
    content = tensor.SerializeToString()
    monkeypatch.setattr(encoded_messages, "MAX_NUMBER_BYTES", most)
    assert not is_large_message(content, 100, onnx.TensorProto)
    monkeypatch.setattr(encoded_messages, "MAX_NUMBER_BYTES", most - 1)
    assert is_large_message(content, 100, onnx.TensorProto)


@pytest.mark.parametrize("content", [b"\x3a" + b"\xff" * 10**6, b"\x3a\x80", b"\x0e\x0f", b"\x3a\xff\xff\xff\xff\x7f"])
def test_counting_of_what_is_not_a_model_ends(content):
    assert not is_large_message(content, 10**7)


# Tensors in files between the suite and a harness.


LIMIT_BYTES = 2**20

tensors = of_numpy.arrays(st.sampled_from(["float32", "float64", "int64", "bool"]), of_numpy.array_shapes(max_side=6))


def write_and_take(path, array):
    write_output(str(path), array)
    message = {"name": "", "dtype": type_name(array.dtype), "shape": list(array.shape), "file": str(path)}
    return take_tensor(message, str(path), LIMIT_BYTES)


@given(st.lists(tensors, min_size=2, max_size=4))
def test_take_tensor_overwritten_files_return_each_tensor(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("work") / "output_0"
    for array in arrays:
        np.testing.assert_array_equal(write_and_take(path, array), array, strict=True)


def pack(path, arrays):
    return write_packed(str(path), [(f"value_{number}", array) for number, array in enumerate(arrays)])


some_tensors = st.lists(
    of_numpy.arrays(st.sampled_from(["float32", "float64", "bool"]), of_numpy.array_shapes(min_dims=0, min_side=0)),
    min_size=1,
    max_size=5,
)


@given(some_tensors)
def test_take_packed_returns_each_tensor(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("work") / "outputs"
    messages = pack(path, arrays)
    contents = {str(path): path.read_bytes()}
    for message, array in zip(messages, arrays, strict=True):
        np.testing.assert_array_equal(read_tensor(message, contents), array, strict=True)
    for taken, array in zip(take_packed(messages, str(path), LIMIT_BYTES), arrays, strict=True):
        np.testing.assert_array_equal(taken, array, strict=True)


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"offset": 2**40}, LIMIT_BYTES),
        ({"offset": 64}, LIMIT_BYTES),
        ({"shape": [1000]}, LIMIT_BYTES),
        ({"file": "/other"}, LIMIT_BYTES),
        ({}, 47),
    ],
)
def test_take_packed_of_a_wrong_message_is_refused(tmp_path, change, limit):
    path = tmp_path / "outputs"
    messages = pack(path, [np.arange(4.0), np.arange(4.0, dtype=np.float32)])
    with pytest.raises(ValueError, match=r"file|bytes"):
        take_packed([messages[0], messages[1] | change], str(path), limit)


def test_take_tensor_second_time_is_refused(tmp_path):
    path = tmp_path / "output_0"
    array = np.arange(4.0)
    write_and_take(path, array)
    message = {"name": "", "dtype": "double", "shape": [4], "file": str(path)}
    with pytest.raises(ValueError, match=re.escape(os.strerror(errno.ENOENT))):
        take_tensor(message, str(path), LIMIT_BYTES)


def test_write_output_reuses_read_file(tmp_path):
    path = tmp_path / "output_0"
    write_and_take(path, np.arange(4.0))
    inode = (tmp_path / f"output_0{READ_SUFFIX}").stat().st_ino
    write_output(str(path), np.arange(2.0))
    assert (path.stat().st_ino, path.stat().st_size) == (inode, 16)


def test_numpy_types_of_harness_equal_those_of_onnx():
    known = {name.lower(): number for name, number in onnx.TensorProto.DataType.items()}
    named = {name for name in known if name not in {"undefined", "string"}}
    assert named <= set(NUMPY_TYPES)
    for name in named:
        assert numpy_type(name) == dtype_of(known[name])
