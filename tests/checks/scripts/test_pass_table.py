"""The page on passes is made from its data, and each fault in it can be run again."""

from __future__ import annotations

import base64
import json

import onnx

from checks.measurements.pass_table import RANK, REPORT, page


def read(name):
    return (REPORT / name).read_text(encoding="utf-8")


def test_page_has_the_data():
    document = json.loads(read("passes.json"))
    table = document["rows"]
    faults = list(map(json.loads, read("faults.jsonl").splitlines()))
    assert page(table, faults, document["notes"]) == read("README.md")
    assert {row["class"] for row in table} <= {*RANK, "no rewrite", "by design"}
    assert not any(row["counts"].get("not judged") for row in table) or document["notes"]["open"]
    for fault in faults:
        assert fault["pass"] in {row["pass"] for row in table if row["optimizer"] == fault["optimizer"]}
        model = onnx.load_model_from_string(base64.b64decode(fault["model"]))
        tensors = [onnx.TensorProto.FromString(base64.b64decode(text)) for text in fault["inputs"]]
        assert {tensor.name for tensor in tensors} <= {value.name for value in model.graph.input}
