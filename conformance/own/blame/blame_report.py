"""Reports of `blame`: the text of each step, an issue text, an HTML page, and a reproduction folder."""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict, deque
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import onnx
from msgspec import UNSET

from conformance.base.files.atomic_write import write_folder, write_json_atomically, write_text_atomically
from conformance.base.pages import templating
from conformance.base.serialization.decoding import encode_document
from conformance.base.serialization.printable_text import escape_markdown, escape_unprintable, one_line, ratio_text
from conformance.exact.models.arrays import tensor_of
from conformance.exact.models.graphs import graph_edges, is_operator, normal_domain, operator_text
from conformance.own.blame.verdict import BlameOutcome, BlameVerdict
from conformance.own.graphs.layout import curve, layered_layout, short_label
from conformance.run.diagnosis.reproduction.reproduction_folder import printed_model
from conformance.run.diagnosis.reproduction.subject_file import subject_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.own.blame.blame_session import Session
    from conformance.own.blame.difference import Difference, OutputDifference
    from conformance.own.blame.document import (
        BlameDocument,
        BlameSteps,
        Controls,
        FoundPasses,
        ReducedModel,
        ReducedNode,
    )
    from conformance.own.blame.model_comparison import Computation
    from conformance.own.graphs.fed_model import FedModel
    from conformance.subjects.calling.subject_names import SubjectName

MAX_LINE = 20_000
"""Characters of a line: a message of a subject or of onnx's checker is complete, unless a subject floods it."""

MAX_MODEL_LINE = 240
"""Characters of a line of the reduced model that are shown: a line can have thousands of weights."""

MAX_MODEL_LINES = 80
"""Lines of the reduced model that a report shows."""

TITLES = {
    "controls": "1. Controls",
    "difference": "2. The difference",
    "passes": "3. The pass",
    "reduction": "4. The nodes",
    "verdict": "5. The verdict",
}
"""The titles of the steps."""


MAX_LISTED_LOSSES = 8
"""Steps that lose accuracy of which the terminal shows the errors."""


def step_lines(name: str, document: BlameDocument) -> Iterator[str]:
    """Yield the lines of a step that the document has; the first line is its title."""
    yield TITLES[name]
    yield from (f"  {line}" for line in _LINES[name](getattr(document.steps, name), document))


def _sections(document: BlameDocument) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the lines of each step that ended."""
    for name in TITLES:
        if getattr(document.steps, name) is not None:
            title, *lines = step_lines(name, document)
            yield title, lines


def _control_lines(step: Controls, _: BlameDocument) -> Iterator[str]:
    yield f"A: {step.ways[0]}"
    yield f"B: {step.ways[1]}"
    if not step.is_deterministic:
        yield f"{step.reason}."
        return
    yield "Both do the same again, also in another process."
    if step.round_trip == "same":
        yield "A round trip without any pass changes no output."
    elif step.round_trip is not None:
        yield f"A round trip without any pass changes the outputs: {_short(step.round_trip)}."


def _difference_lines(step: Difference, _: BlameDocument) -> Iterator[str]:
    if not step.differs and not any(step.failures):
        yield "There is no difference: all outputs are identical."
        yield from (f"Warning: {each}" for each in step.constant)
        return
    for label, failure, message in zip("AB", step.failures, step.messages, strict=True):
        if failure:
            yield f"{label}: {failure}: {_short(message)}"
    for output in step.outputs:
        if output.kind != "values":
            numbers = [f": A {first}, B {second}" for each in output.worst for first, second in (each.values,)]
            yield f"{output.name}: the {output.kind} differs{''.join(numbers[:1])}"
            continue
        yield f"{output.name}: {output.differing} of {output.elements} elements differ, {_size_text(output)}"
        for element in output.worst[:3]:
            first, second = map(_number, element.values)
            yield f"  {output.name}{element.place}: A {first}, B {second}"


def _size_text(output: OutputDifference) -> str:
    """Return the size of the difference of an output, in ULP or in quantization steps."""
    sizes = [f"{_number(output.ulps)} ULP"] if output.ulps is not None else []
    sizes += [f"{output.steps:.3g} quantization steps"] if output.steps is not UNSET and output.steps else []
    listed = f" ({', '.join(sizes)})" if sizes else ""
    size = f"by at most {_number(output.largest)}{listed}"
    return size if output.ulps is None else f"{size}, in the mean {_number(output.mean)}"


def _pass_lines(step: FoundPasses, _: BlameDocument) -> Iterator[str]:
    if not step.names:
        yield f"{step.reason[:1].upper()}{step.reason[1:]}."
        return
    tried = f"({step.tested} sets of passes tried{', ' if step.reason else ''}{step.reason})"
    if step.reason:
        yield f"The smallest set found with the difference: {', '.join(step.names)} {tried}."
    elif len(step.names) == 1:
        yield f"The difference comes from {step.names[0]} {tried}."
    else:
        yield f"The difference needs {' and '.join(step.names)} together {tried}."


def _reduction_lines(step: ReducedModel, _: BlameDocument) -> Iterator[str]:
    count = len(step.nodes)
    yield (
        f"{count} of {step.nodes_before} {'nodes keeps' if count == 1 else 'nodes keep'} the difference "
        f"({step.tested} models tried{', the time ended before the reduction' if step.ended_early else ''}):"
    )
    yield from _node_lines(step.nodes)
    if step.second_nodes is not UNSET:
        yield "In the second model:"
        yield from _node_lines(step.second_nodes)
    if step.changes is not UNSET:
        yield "They differ in:"
        yield from (f"  {each}" for each in step.changes[:20])
    if step.losses is not UNSET:
        yield "Steps of the second model that lose most of the accuracy, each with the error since the inputs:"
        for each in step.losses[:MAX_LISTED_LOSSES]:
            node = f"{operator_text(each.node.operator, each.node.domain)} {each.node.name}"
            yield f"  {node}: {100 * each.own:.3g} %, {100 * each.since_inputs:.3g} %"


def _node_lines(nodes: Sequence[ReducedNode]) -> Iterator[str]:
    for node in nodes[:20]:
        yield f"  {operator_text(node.operator, node.domain)} {node.name}".rstrip()
    if len(nodes) > 20:
        yield f"  and {len(nodes) - 20} more"


def _verdict_lines(step: BlameVerdict, document: BlameDocument) -> Iterator[str]:
    yield verdict_sentence(step, document)
    for label, element in zip("AB", step.elements, strict=True):
        if element is not None:
            yield f"  {label}: {element.text}"
    for label, share in zip("AB", step.should_shares, strict=True):
        if share is not None and share > 1:
            times = "" if share == math.inf else f" ({ratio_text(share, 2)} times the bound)"
            yield f"{label} is outside of its bound of level should{times}."
    if step.unoptimized is not UNSET:
        result = f"the result of {step.unoptimized.subject}"
        for label, outputs in zip("AB", step.unoptimized.ways, strict=True):
            if not outputs:
                yield f"{label} is identical to {result}."
            for output in outputs:
                elements = f"{output.differing} of {output.elements} elements"
                yield f"{label} differs from {result}: {output.name} in {elements}, {_size_text(output)}."
    for each in () if step.releases is UNSET else step.releases:
        releases = f"{each.subject} {each.older} and {each.newer}"
        yield f"Worth comparing: {releases}, between which {each.changed} verdicts of the corpus change."


_LINES: Mapping[str, Callable[[Any, BlameDocument], Iterator[str]]] = {
    "controls": _control_lines,
    "difference": _difference_lines,
    "passes": _pass_lines,
    "reduction": _reduction_lines,
    "verdict": _verdict_lines,
}


def verdict_sentence(verdict: BlameVerdict, document: BlameDocument) -> str:
    """Return the verdict in one sentence."""
    assert document.steps.controls is not None
    first, second = document.steps.controls.ways
    hazard = (verdict.hazard or "").replace("_", " ")
    reason = _short(verdict.reason)
    return _SENTENCES[verdict.outcome].format(
        hazard=hazard, reason=reason, first=first, second=second, optimizer=document.optimizer
    )


_SENTENCES: Mapping[BlameOutcome, str] = {
    BlameOutcome.NO_DIFFERENCE: "There is no difference.",
    BlameOutcome.NOT_DETERMINISTIC: "Not deterministic: {reason}.",
    BlameOutcome.BOTH_ADMISSIBLE: "Both are admissible ({hazard}): nobody is wrong.",
    BlameOutcome.NOT_JUDGED: "Not judged: {reason}.",
    BlameOutcome.FIRST_WRONG: "A is wrong ({first}): {reason}.",
    BlameOutcome.SECOND_WRONG: "B is wrong ({second}): {reason}.",
    BlameOutcome.BOTH_WRONG: "Both are wrong: {reason}.",
    BlameOutcome.MODELS_DIFFER: "The models compute different functions: {reason}.",
    BlameOutcome.OPTIMIZER_WRONG: "The graph optimizer is wrong ({optimizer}): {reason}.",
}


MAX_DRAWN_NODES = 400
"""Number of nodes of a graph that the page draws; of a larger model, those that are nearest to the reduced model."""


@dataclass(frozen=True)
class MarkedNode:
    """A node in the graph: its centre, its label, its name, and whether the reduced model has it."""

    x: float
    y: float
    label: str
    name: str
    is_reduced: bool


@dataclass(frozen=True)
class MarkedGraph:
    """The graph of a model: its size, its nodes, its edges as paths of SVG, and the number of nodes left out."""

    width: float
    height: float
    nodes: list[MarkedNode]
    edges: list[str]
    left_out: int


def draw_graph(whole: onnx.ModelProto, reduced: onnx.ModelProto) -> MarkedGraph:
    """Return the graph of a model in which the nodes of the reduced model are marked; constants are left out.

    A node of the reduced model has the name of an output in common with the whole model, unless a step replaced it.
    """
    kept = {name for node in reduced.graph.node for name in node.output if name}
    nodes = {number: node for number, node in enumerate(whole.graph.node) if not is_operator(node, "Constant")}
    marked = [number for number, node in nodes.items() if not kept.isdisjoint(node.output)]
    edges = [(first, second) for first, second in graph_edges(whole.graph) if first in nodes and second in nodes]
    chosen = sorted(_nearest(marked or list(nodes)[:1], edges, MAX_DRAWN_NODES))
    layout = layered_layout(chosen, edges)
    drawn = [
        MarkedNode(
            *layout.places[number],
            short_label(operator_text(nodes[number].op_type, nodes[number].domain)),
            nodes[number].name or next(iter(nodes[number].output), ""),
            number in marked,
        )
        for number in chosen
    ]
    return MarkedGraph(
        layout.width, layout.height, drawn, list(map(curve, layout.courses.values())), len(nodes) - len(chosen)
    )


def _nearest(start: Iterable[int], edges: Iterable[tuple[int, int]], most: int) -> list[int]:
    """Return some nodes and those that are nearest to them, at most so many."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for first, second in edges:
        neighbours[first].append(second)
        neighbours[second].append(first)
    found = dict.fromkeys(start)
    pending = deque(found)
    while pending and len(found) < most:
        new = [each for each in neighbours[pending.popleft()] if each not in found]
        found.update(dict.fromkeys(new))
        pending.extend(new)
    return list(found)[:most]


def render_page(
    document: BlameDocument, *, passes: bool, folder: str = "", whole: onnx.ModelProto | None = None
) -> str:
    """Return the HTML page of a document. Every text is escaped.

    Args:
        document: the document.
        passes: whether the command passes.
        folder: the address of the reproduction folder; empty if there is none.
        whole: the whole model, whose graph is drawn; None to draw none.
    """
    verdict = document.steps.verdict
    reduction = document.steps.reduction
    return templating.render_page(
        "blame.html.j2",
        styles=["audit.css"],
        drawing=None if whole is None or reduction is None else draw_graph(whole, reduction.read().model),
        document=document,
        files=[each.file for each in (document.model, document.second_model) if each is not UNSET],
        sections=_sections(document),
        inputs=[("Inputs", text or "none") for text in document.inputs],
        sentence=verdict_sentence(verdict, document).rstrip(".") if verdict else "The session was interrupted",
        judged=judged_text(document.steps),
        reduced=short_lines(_model_text(document)),
        operators=_operator_pages(document),
        folder=folder,
        is_fine=passes,
    )


def _operator_pages(document: BlameDocument) -> dict[str, str]:
    """Return the addresses of the pages of onnx's operators in the reduced model, by operator."""
    reduction = document.steps.reduction
    nodes = () if reduction is None else reduction.nodes
    known = (node for node in nodes if onnx.defs.has(node.operator, normal_domain(node.domain)))
    return {
        operator_text(node.operator, node.domain): f"https://onnx.ai/onnx/operators/onnx_"
        f"{normal_domain(node.domain).replace('.', '')}_{node.operator}.html"
        for node in known
    }


def _model_text(document: BlameDocument) -> str:
    """Return the reduced model in ONNX's textual form; empty if there is none."""
    reduction = document.steps.reduction
    return "" if reduction is None else escape_unprintable(printed_model(reduction.read().model))


def short_lines(model_text: str) -> str:
    """Return the first lines of a model, each without its end if it is long."""
    lines = model_text.splitlines()[:MAX_MODEL_LINES]
    return "\n".join(line if len(line) <= MAX_MODEL_LINE else f"{line[:MAX_MODEL_LINE]}…" for line in lines)


def judged_text(steps: BlameSteps) -> str:
    """Return how much was compared and judged; empty if the session ended before the comparison."""
    compared = [output for output in steps.difference.outputs if output.kind == "values"] if steps.difference else []
    differing, elements = (sum(getattr(output, name) for output in compared) for name in ("differing", "elements"))
    outputs = "1 output differs" if len(compared) == 1 else f"{len(compared)} outputs differ"
    parts = [f"{outputs} in {differing} of {elements} elements"] if elements else []
    if steps.verdict and steps.verdict.outcome is BlameOutcome.NOT_JUDGED:
        parts.append("not judged")
    elif steps.reduction:
        parts.append(f"judged after reduction to {len(steps.reduction.nodes)} of {steps.reduction.nodes_before} nodes")
    if steps.verdict and (count := steps.verdict.differing):
        counts = [f"{count} element{'' if count == 1 else 's'} of the reduced model differ{'s' if count == 1 else ''}"]
        kinds = (
            (steps.verdict.undetermined, "undetermined"),
            (steps.verdict.loose, "with a bound above their magnitude"),
            (steps.verdict.unspecified, "unspecified"),
        )
        parts.append(", ".join([*counts, *(f"{number} {kind}" for number, kind in kinds if number)]))
    return "; ".join(parts)


def issue_text(document: BlameDocument, model_text: str) -> str:
    """Return the text of an issue as Markdown. Names and messages are displayed literally."""
    assert document.steps.verdict is not None
    lines = [f"# {escape_markdown(verdict_sentence(document.steps.verdict, document), MAX_LINE)}", ""]
    for title, rest in _sections(document):
        listed = (f"- {escape_markdown(line.strip(), MAX_LINE)}" for line in rest)
        lines += [f"## {escape_markdown(title, MAX_LINE)}", "", *listed, ""]
    versions = dict(zip(document.subjects, document.versions, strict=False))
    lines += ["## Versions", "", *(f"- {escape_markdown(f'{name} {each}')}" for name, each in versions.items())]
    if document.optimizer:
        lines.append(f"- {escape_markdown(f'{document.optimizer} {document.versions[-1]}')}")
    fence = "~" * max(4, 1 + max(map(len, re.findall("~+", model_text)), default=0))
    lines += ["", "## The reduced model", "", fence, short_lines(model_text), fence, ""]
    lines.append("`reproduce.py` in this folder computes both outputs. It needs the subjects, NumPy and onnx.")
    return "\n".join(lines) + "\n"


def folder_files(
    document: BlameDocument,
    fed: FedModel,
    answers: tuple[Computation, Computation],
    subjects: Sequence[SubjectName],
    optimizer: SubjectName | None,
) -> dict[str, bytes]:
    """Return the files of the reproduction folder by path.

    Args:
        document: the document with all steps.
        fed: the reduced model with its inputs.
        answers: its answers.
        subjects: the first and the second subject.
        optimizer: the graph optimizer, with its chosen passes.
    """
    text = escape_unprintable(printed_model(fed.model))
    files = {
        "model.onnx": fed.loaded().SerializeToString(),
        "ISSUE.md": issue_text(document, text).encode(errors="replace"),
        "blame.json": encode_document(document),
        "reproduce.py": resources.files("conformance.own.blame").joinpath("reproduce.py.txt").read_bytes(),
    }
    if answers[1].model is not None and (optimizer is not None or document.second_model is not UNSET):
        files["rewritten.onnx"] = fed.with_model(answers[1].model).loaded().SerializeToString()
    for number, message in enumerate(fed.messages):
        files[f"test_data_set_0/input_{number}.pb"] = message.SerializeToString()
    for letter, answer in zip("ab", answers, strict=True):
        for number, output in enumerate(answer.outputs):
            if isinstance(output, np.ndarray):
                files[f"outputs_{letter}/output_{number}.pb"] = tensor_of(output).SerializeToString()
    named = {"a": subjects[0], "b": optimizer or subjects[1]}
    for letter, name in named.items():
        folder = f"subject_{letter}"
        files.update((f"{folder}/{file}", code.encode()) for file, code in subject_files(name, str(Path.cwd())).items())
    return files


def write_reproduction(folder: Path, session: Session) -> None:
    """Write the reproduction folder of a session that has reduced the model.

    Raises:
        UsageError: the path is not a new or empty directory.
    """
    assert session.reduced is not None
    assert session.answers is not None
    first, second, optimizer = session.chosen_subjects()
    write_folder(folder, folder_files(session.document, session.reduced, session.answers, (first, second), optimizer))


def write_reports(
    session: Session, json: Path | None, html: Path | None, *, passes: bool, folder: Path | None = None
) -> None:
    """Write the document of a session and its page, which has a link to the reproduction folder if there is one."""
    write_json_atomically(json, session.document)
    if html is not None:
        address = "" if folder is None else quote(os.path.relpath(folder, html.parent))
        page = render_page(session.document, passes=passes, folder=address, whole=session.request.model.prepared)
        write_text_atomically(html, page)


def _number(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _short(text: str) -> str:
    text = one_line(text).rstrip(".")
    return text if len(text) <= MAX_LINE else f"{text[: MAX_LINE - 1]}…"
