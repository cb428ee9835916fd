"""The pages of `audit`, `blame`, `census` and the evidence: outcome first, accessible, and nothing cut when narrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import pytest
from evidence_inputs import write_inputs
from onnx import TensorProto, helper

from conformance.studies.evidence.evidence_folder import write_evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from report_page import ReportPage

ELEMENTS_THAT_ARE_CUT = Path(__file__).with_name("cut_elements.js").read_text("utf-8")


def write_model(path: Path) -> Path:
    """Write a model with names that are longer than a narrow page."""
    long = "a_long_name_of_a_value_" * 5
    nodes = [
        helper.make_node("Exp", ["X"], [long], name=long),
        helper.make_node("Mul", [long, long], ["product"]),
        helper.make_node("Softmax", ["product"], ["Y"]),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("X", "Y")]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]), ir_version=10)
    onnx.save(model, path)
    return path


def write_page(kind: str, command: Callable[..., Any], tmp_path: Path) -> Path:
    page = tmp_path / f"{kind}.html"
    if kind == "evidence":
        paths = write_inputs(tmp_path)
        write_evidence(paths, tmp_path / "out", tmp_path / "map.toml", data=tmp_path / "corpus")
        return tmp_path / "out" / "index.html"
    if kind == "census":
        options = ("--type", "float16", "--operator", "Exp", "--no-isolation")
        ended = command("census", "-b", "fake_subject:out_of_order_seven_times", *options, "--html", page)
    else:
        model = write_model(tmp_path / f"{'a_long_name_of_a_model_' * 5}.onnx")
        ended = command(kind, model, "-b", "onnx-reference", "-b", "onnxruntime", "--html", page)
    assert page.is_file(), ended
    return page


@pytest.mark.parametrize(
    "kind", ["audit", "blame", *(pytest.param(each, marks=pytest.mark.long) for each in ("census", "evidence"))]
)
def test_page_begins_with_outcome_and_is_accessible(
    open_page: Callable[..., ReportPage], command: Callable[..., Any], tmp_path: Path, kind: str
) -> None:
    page = open_page(write_page(kind, command, tmp_path))
    assert page.one("main section").get_attribute("class").startswith("outcome ")
    assert any(digit.isdigit() for digit in page.text("main section"))
    for width in (1440, 390):
        page.resize(width)
        assert page.axe_violations() == []
        assert page.driver.execute_script(ELEMENTS_THAT_ARE_CUT) == []
