"""Changes of a page within one version: results of both texts are admissible, and the change is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper

if TYPE_CHECKING:
    from pathlib import Path

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
    assert ("onnx 1.22" in ended.out) == (verdict == "unspecified")
    return ended.status, verdict


@pytest.mark.parametrize("is_earlier", [True, False])
@pytest.mark.parametrize(("softcap", "mode"), [(0.0, 1), (0.0, 2), (2.0, 0), (2.0, 1), (2.0, 2)])
def test_attention_by_either_text_is_not_wrong(
    tmp_path: Path, command: Any, softcap: float, mode: int, is_earlier: bool
) -> None:
    status, verdict = audit(command, tmp_path, softcap, mode, is_earlier=is_earlier)
    assert (status, verdict) == (0, "correct" if (softcap, mode) == (0.0, 2) else "unspecified")


def test_attention_that_follows_neither_text_is_wrong(tmp_path: Path, command: Any) -> None:
    assert audit(command, tmp_path, 0.0, 1, factor=1.01) == (1, "wrong")
