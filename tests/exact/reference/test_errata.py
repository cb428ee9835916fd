"""Changes of a page within one version: results of both texts are admissible, and the change is named."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper

from conformance import judge

if TYPE_CHECKING:
    from pathlib import Path

TABLES = tomllib.loads(resources.files("conformance.exact.reference").joinpath("tolerances.toml").read_text())
ERRATA = {row["name"]: row for row in TABLES["errata"]}
MASK = np.array([[0, -2, 0.5], [-1, 0, -np.inf]], np.float32)


def softmax(x: Any) -> Any:
    shares = np.exp(x - x.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def attention(inputs: dict[str, Any], softcap: float, mode: int, *, is_earlier: bool) -> dict[str, Any]:
    """Return the results of one head by the text up to onnx 1.21, or by the later one."""
    Q, K, V = (inputs[name].astype(np.float64)[0, 0] for name in "QKV")
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    cap = (lambda x: softcap * np.tanh(x / softcap)) if softcap else (lambda x: x)
    steps = [scores + MASK, cap(scores + MASK)] if is_earlier else [cap(scores), cap(scores) + MASK]
    weights = softmax(steps[-1])
    chosen = [scores, *steps, weights][mode]
    return {"Y": (weights @ V)[None, None].astype(np.float32), "qk": chosen[None, None].astype(np.float32)}


def audit(
    command: Any, folder: Path, softcap: float, mode: int, *, is_earlier: bool = False, factor: float = 1
) -> tuple[int, str]:
    """Return the exit status and the verdict on recorded results of Attention, of which Y is multiplied by a factor."""
    rng = np.random.default_rng(3)
    rows = {"Q": 2, "K": 3, "V": 3}
    values = {name: rng.standard_normal((1, 1, count, 4)).astype(np.float32) for name, count in rows.items()}
    values["M"] = MASK
    made = attention(values, softcap, mode, is_earlier=is_earlier)
    made["Y"] = made["Y"] * np.float32(factor)
    attributes: dict[str, Any] = {"softcap": softcap, "qk_matmul_output_mode": mode}
    node = helper.make_node("Attention", list(values), ["Y", "", "", "qk"], **attributes)
    ends = [
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, each.shape) for name, each in arrays.items()]
        for arrays in (values, made)
    ]
    model = helper.make_model(
        helper.make_graph([node], "g", *ends), opset_imports=[helper.make_opsetid("", 23)], ir_version=10
    )
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "in.npz", **values)
    np.savez(folder / "out.npz", **made)
    words = ("--outputs", folder / "out.npz", "--inputs", folder / "in.npz", "--json", folder / "a.json")
    ended = command("audit", folder / "m.onnx", *words)
    verdict = json.loads((folder / "a.json").read_text())["audits"][0]["nodes"][0]["verdict"]
    assert ("onnx 1.22" in ended.out) == (verdict == "correct" and is_earlier and (softcap, mode) != (0.0, 2))
    return ended.status, verdict


@pytest.mark.parametrize("is_earlier", [True, False])
@pytest.mark.parametrize(("softcap", "mode"), [(0.0, 1), (0.0, 2), (2.0, 0), (2.0, 1), (2.0, 2)])
def test_attention_by_either_text_is_not_wrong(
    tmp_path: Path, command: Any, softcap: float, mode: int, is_earlier: bool
) -> None:
    status, verdict = audit(command, tmp_path, softcap, mode, is_earlier=is_earlier)
    assert (status, verdict) == (0, "correct")


def test_attention_that_follows_neither_text_is_wrong(tmp_path: Path, command: Any) -> None:
    assert audit(command, tmp_path, 0.0, 1, factor=1.01) == (1, "wrong")


def floats(*values: Any) -> Any:
    return np.array(values, np.float32)


def integers(*values: Any) -> Any:
    return np.array(values, np.int64)


def rows(*values: float) -> Any:
    """Return one head with a row of four equal numbers for each value."""
    return np.repeat(floats(*values), 4).reshape(1, 1, -1, 4)


SIGNED = floats([1, -2], [3, 4])
LINE = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5)
ONES = rows(1, 1)
PAST = [rows(1), rows(1)]
PRESENT = [rows(1, 1, 1), rows(1, 2, 4)]
BOXES = floats([[0, 0, 1, 1], [0, 0, 1, 2]])
MASKED = np.array([[True] * 3, [False] * 3])
POOLED = {"kernel_shape": [2], "strides": [2], "auto_pad": "SAME_UPPER"}

TEXTS: list[tuple[str, str, int, list[Any], list[Any], list[Any], list[Any], dict[str, Any]]] = [
    # name of the change, operator, opset, inputs, results by the earlier text, by the later text, and by neither
    (
        "alignment of the causal mask",
        "Attention",
        23,
        [ONES, ONES, rows(2, 4), None, *PAST],
        [rows(1, 1.5), *PRESENT],
        [rows(1.5, 7 / 3), *PRESENT],
        [rows(4, 1.5), *PRESENT],
        {"is_causal": 1},
    ),
    (
        "rows that are masked",
        "Attention",
        23,
        [ONES, rows(1, 1, 1), rows(1, 2, 4), MASKED],
        [rows(7 / 3, np.nan)],
        [rows(7 / 3, 0)],
        [rows(2, 0)],
        {},
    ),
    (
        "half of an odd difference",
        "CenterCropPad",
        18,
        [floats(1, 2), integers(5)],
        [floats(0, 0, 1, 2, 0)],
        [floats(0, 1, 2, 0, 0)],
        [floats(1, 1, 2, 0, 0)],
        {},
    ),
    *(
        ("reduction without axes", op_type, 18, [SIGNED], [SIGNED], [later], [later + 40], {"noop_with_empty_axes": 1})
        for op_type, later in (
            ("ReduceL1", np.abs(SIGNED)),
            ("ReduceL2", np.abs(SIGNED)),
            ("ReduceSumSquare", SIGNED * SIGNED),
        )
    ),
    *(
        (
            "quotient of zeros",
            "LpNormalization",
            opset,
            [floats([0, 0], [3, 4])],
            [floats([np.nan] * 2, [0.6, 0.8])],
            [floats([0, 0], [0.6, 0.8])],
            [floats([0, 0], [0.6, 0.9])],
            {"axis": 1},
        )
        for opset in (17, 22)
    ),
    (
        "division of integers",
        "Div",
        14,
        [integers(-7), integers(2)],
        [integers(-4)],
        [integers(-3)],
        [integers(-5)],
        {},
    ),
    (
        "limits in reverse",
        "Clip",
        13,
        [floats(0, 5), np.float32(3), np.float32(1)],
        [floats(3, 3)],
        [floats(1, 1)],
        [floats(4, 1)],
        {},
    ),
    ("limits in reverse", "Clip", 6, [floats(0)], [floats(3)], [floats(1)], [floats(4)], {"min": 3.0, "max": 1.0}),
    (
        "remainder of zero",
        "Mod",
        13,
        [floats(1, 5), floats(0, 3)],
        [floats(1, 2)],
        [floats(np.nan, 2)],
        [floats(np.nan, 1)],
        {"fmod": 1},
    ),
    (
        "overlap that is the threshold",
        "NonMaxSuppression",
        11,
        [BOXES, floats([[0.9, 0.8]]), integers(5), floats(0.5)],
        [integers([0, 0, 0])],
        [integers([0, 0, 0], [0, 0, 1])],
        [],
        {},
    ),
    (
        "places of a scalar",
        "NonZero",
        13,
        [np.array(3, np.float32)],
        [np.zeros((1, 1), np.int64)],
        [np.zeros((0, 1), np.int64)],
        [np.zeros((2, 1), np.int64)],
        {},
    ),
    ("start behind the last axis", "Shape", 15, [SIGNED], [integers(2)], [integers()], [integers(2, 2)], {"start": 5}),
    (
        "size of automatic padding",
        "AveragePool",
        11,
        [LINE],
        [floats([[1.5, 3.5, 5]])],
        [floats([[1.5, 3.5]])],
        [floats([[1.5, 3.5, 6]])],
        POOLED,
    ),
    *(
        (
            name,
            op_type,
            opset,
            [LINE],
            [floats([[*pooled, 0]])],
            [floats([pooled])],
            [floats([[pooled[0], 7]])],
            {"kernel_shape": [2], "strides": [3], "pads": [0, 1], "ceil_mode": 1, **attributes},
        )
        for name, op_type, opset, pooled, attributes in (
            ("window in the padding", "AveragePool", 19, [1.5, 4.5], {}),
            ("window in the padding", "MaxPool", 10, [2, 5], {}),
            ("window in the padding of LpPool", "LpPool", 22, [3, 9], {"p": 1}),
        )
    ),
]


@pytest.mark.parametrize(
    ("name", "op_type", "opset", "inputs", "earlier", "later", "neither", "attributes"),
    TEXTS,
    ids=[f"{row[0]} {row[1]}-{row[2]}" for row in TEXTS],
)
def test_results_by_either_text_are_not_wrong_and_others_are(
    name: str,
    op_type: str,
    opset: int,
    inputs: list[Any],
    earlier: list[Any],
    later: list[Any],
    neither: list[Any],
    attributes: dict[str, Any],
) -> None:
    assert op_type in ERRATA[name]["operators"]
    for results in (earlier, later):
        found = judge(op_type, inputs, results, opset=opset, **attributes)
        assert not found.is_wrong, found
    if neither:
        assert judge(op_type, inputs, neither, opset=opset, **attributes).is_wrong


def test_every_change_of_a_page_has_a_test() -> None:
    assert {row[0] for row in TEXTS} | {"order of mask and softcap"} == ERRATA.keys()


@pytest.mark.parametrize("opset", [17, 22])
def test_audit_names_the_change_of_the_page(tmp_path: Path, command: Any, opset: int) -> None:
    """The result is that of the text before the change; the other row is judged."""
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2]) for name in "XY"]
    node = helper.make_node("LpNormalization", ["X"], ["Y"], axis=1)
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", X=floats([0, 0], [3, 4]))
    np.savez(tmp_path / "out.npz", Y=floats([np.nan] * 2, [0.6, 0.8]))
    ended = command("audit", tmp_path / "m.onnx", "--outputs", tmp_path / "out.npz", "--inputs", tmp_path / "in.npz")
    assert ended.status == 0
    assert "onnx 1.21" in ended.out
