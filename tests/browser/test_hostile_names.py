"""Pages with names of markup, control and right-to-left characters: no script runs, nothing is cut or reordered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import pytest
from onnx import TensorProto, helper
from report_sample import small_run
from runs_in_memory import list_results, with_fields, with_results

if TYPE_CHECKING:
    from report_page import ReportPage

SCRIPT = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
HOSTILE = f"{SCRIPT}\u202eevil\u2066\x1b[31m\x07\r\n&lt;\"'`${{7*7}}{{{{7*7}}}}{'w' * 400}\u05d0\u05d1"
WIDTHS = (1280, 360)
TEXT_THAT_IS_REORDERED = Path(__file__).with_name("reordered_text.js").read_text("utf-8")
ELEMENTS_THAT_ARE_CUT = Path(__file__).with_name("cut_elements.js").read_text("utf-8")


def _model() -> onnx.ModelProto:
    """Return a model of which each name is hostile; the second node is wrong on some subjects."""
    names = [f"{place}{HOSTILE}" for place in "XTY"]
    nodes = [
        helper.make_node(operator, names[place : place + 1], names[place + 1 : place + 2], f"{operator}{HOSTILE}")
        for place, operator in enumerate(("Tanh", "Abs"))
    ]
    values = [helper.make_tensor_value_info(names[place], TensorProto.FLOAT, [2, 3]) for place in (0, 2)]
    graph = helper.make_graph(nodes, HOSTILE, values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _run() -> Any:
    """Return a run whose failures have hostile messages and whose cases have hostile titles."""
    run = small_run()
    results = [
        with_fields(result, message=HOSTILE, stderr=HOSTILE) if result.verdict != "pass" else result
        for result in list_results(run)
    ]
    return with_results(run, results)


def _check(page: ReportPage) -> None:
    assert page.driver.execute_script("return window.ran") is None
    assert page.overflow() <= 0
    assert page.driver.execute_script(ELEMENTS_THAT_ARE_CUT) == []
    assert page.driver.execute_script(TEXT_THAT_IS_REORDERED) == []
    assert not page.shows_unprintable_text()
    assert "window.ran = 1" in page.text("body")


@pytest.mark.parametrize("verb", ["audit", "blame"])
def test_page_of_model_with_hostile_names_shows_them_and_runs_no_script(
    open_page: Any, command: Any, verb: str
) -> None:
    onnx.save(_model(), "m.onnx")
    subjects = {"audit": ["fake_subject:wrong_abs"], "blame": ["fake_subject:correct", "fake_subject:wrong_abs"]}
    chosen = [word for subject in subjects[verb] for word in ("-b", subject)]
    ended = command(verb, "m.onnx", *chosen, "--no-isolation", "--html", "page.html")
    assert ended.status == 1
    for width in WIDTHS:
        page = open_page(Path("page.html").resolve(), width=width)
        page.settle()
        _check(page)


@pytest.mark.parametrize("width", WIDTHS)
def test_report_with_hostile_messages_shows_them_and_runs_no_script(show: Any, width: int) -> None:
    page = show(_run(), address="#view=subject&subject=onnxruntime", width=width)
    page.wait("#page")
    _check(page)
    page.visit("#case=test_momentum_nesterov")
    page.wait("#case")
    _check(page)
