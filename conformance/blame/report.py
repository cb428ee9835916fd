"""Reports of `blame`: the text of each step, an issue text, an HTML page, and a reproduction folder."""

from __future__ import annotations

import json
import math
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.blame.document import as_json
from conformance.diagnosis.reproduction.folder import printed_model
from conformance.diagnosis.reproduction.subject_file import subject_files
from conformance.files.temp_dir import write_folder
from conformance.models.arrays import tensor_of
from conformance.models.graphs import operator_text
from conformance.pages import environment
from conformance.serialization.text import escape_markdown, escape_unprintable, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.blame.comparison import Computation
    from conformance.blame.session import Session
    from conformance.graphs.fed_model import FedModel
    from conformance.subjects.naming import SubjectName

MAX_MESSAGE = 300
"""Characters of a subject's message that the text has."""

MAX_LINE = 2000
"""Characters of a line of the issue text."""

TITLES = {
    "controls": "1. Controls",
    "difference": "2. The difference",
    "passes": "3. The pass",
    "reduction": "4. The nodes",
    "verdict": "5. The verdict",
}
"""The titles of the steps."""


def step_lines(name: str, data: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one step.

    Args:
        name: the name of the step.
        data: its data.
        document: the document with the steps before it.
    """
    yield TITLES[name]
    yield from (f"  {line}" for line in _LINES[name](data, document))


def _control_lines(data: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[str]:
    yield f"A: {data['ways'][0]}"
    yield f"B: {data['ways'][1]}"
    if not data["is_deterministic"]:
        yield f"{data['reason']}."
        return
    yield "Both give the same answer again, also in another process."
    trip = data["round_trip"]
    if trip == "same":
        yield "A round trip without any pass changes no output."
    elif trip is not None:
        yield f"A round trip without any pass changes the outputs: {_short(trip)}."


def _difference_lines(data: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[str]:
    if not data["differs"] and not any(data["failures"]):
        yield "There is no difference: all outputs are identical."
        return
    for label, failure, message in zip("AB", data["failures"], data["messages"], strict=True):
        if failure:
            yield f"{label}: {failure}: {_short(message)}"
    for output in data["outputs"]:
        if output["kind"] != "values":
            yield f"{output['name']}: the {output['kind']} differs"
            continue
        text = f"{output['name']}: {output['differing']} of {output['elements']} elements differ"
        yield f"{text}, {_size_text(output)}"
        for element in output["worst"][:3]:
            first, second = map(_number, element["values"])
            yield f"  {output['name']}{element['index']}: A {first}, B {second}"


def _size_text(output: Mapping[str, Any]) -> str:
    """Return the size of the difference of an output, in ULP or in quantization steps."""
    sizes = [f"{_number(output['ulps'])} ULP"] if output["ulps"] is not None else []
    sizes += [f"{output['steps']:.3g} quantization steps"] if output.get("steps") else []
    listed = f" ({', '.join(sizes)})" if sizes else ""
    size = f"by at most {_number(output['largest'])}{listed}"
    return size if output["ulps"] is None else f"{size}, in the mean {_number(output['mean'])}"


def _pass_lines(data: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[str]:
    if not data["names"]:
        yield f"{data['reason'][:1].upper()}{data['reason'][1:]}."
    elif len(data["names"]) == 1:
        yield f"The difference comes from {data['names'][0]} ({data['tested']} sets of passes tried)."
    else:
        yield f"The difference needs {' and '.join(data['names'])} together ({data['tested']} sets of passes tried)."


def _reduction_lines(data: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[str]:
    count = len(data["nodes"])
    yield (
        f"{count} of {data['nodes_before']} {'nodes keeps' if count == 1 else 'nodes keep'} the difference "
        f"({data['tested']} models tried{', the time ended before the reduction' if data['ended_early'] else ''}):"
    )
    for node in data["nodes"][:20]:
        yield f"  {operator_text(node['operator'], node['domain'])} {node['name']}"
    if count > 20:
        yield f"  and {count - 20} more"


def _verdict_lines(data: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    yield verdict_sentence(data, document)
    for label, share in zip("AB", data.get("should_shares", ()), strict=False):
        if share is not None and float(share) > 1:
            times = "" if float(share) == math.inf else f" ({float(share):.2g} times the bound)"
            yield f"{label} is outside of its bound of level should{times}."
    unoptimized = data.get("unoptimized", {"ways": ()})
    for label, outputs in zip("AB", unoptimized["ways"], strict=False):
        if not outputs:
            yield f"{label} is identical to the result of {unoptimized['subject']}."
        for output in outputs:
            yield (
                f"{label} differs from the result of {unoptimized['subject']}: {output['name']} in "
                f"{output['differing']} of {output['elements']} elements, {_size_text(output)}."
            )
    for each in data.get("releases", ()):
        releases = f"{each['subject']} {each['older']} and {each['newer']}"
        yield f"Worth comparing: {releases}, between which {each['changed']} verdicts of the corpus change."


_LINES: Mapping[str, Any] = {
    "controls": _control_lines,
    "difference": _difference_lines,
    "passes": _pass_lines,
    "reduction": _reduction_lines,
    "verdict": _verdict_lines,
}


def verdict_sentence(data: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Return the verdict in one sentence."""
    outcome, reason = data["outcome"], _short(data["reason"])
    ways = document["steps"]["controls"]["ways"]
    if outcome == "no difference":
        return "There is no difference."
    if outcome == "not deterministic":
        return f"Not deterministic: {reason}."
    if outcome == "both are admissible":
        return f"Both are admissible ({data['hazard'].replace('_', ' ')}): nobody is wrong."
    if outcome == "not judged":
        return f"Not judged: {reason}."
    who = {
        "the first is wrong": f"A is wrong ({ways[0]})",
        "the second is wrong": f"B is wrong ({ways[1]})",
        "both are wrong": "Both are wrong",
        "the graph optimizer is wrong": f"The graph optimizer is wrong ({document['optimizer']})",
    }[outcome]
    return f"{who}: {reason}."


def paragraph(document: Mapping[str, Any]) -> str:
    """Return all steps as one paragraph."""
    steps = document["steps"]
    lines = [line for name in TITLES if name in steps for line in list(step_lines(name, steps[name], document))[1:]]
    return " ".join(line.strip().rstrip(".:") + "." for line in lines)


def render_page(document: Mapping[str, Any], *, passes: bool) -> str:
    """Return the HTML page of a document with the outcome of the command. Every text is escaped."""
    steps = document["steps"]
    sections = [(TITLES[name], list(step_lines(name, steps[name], document))[1:]) for name in TITLES if name in steps]
    verdict = steps.get("verdict")
    return environment.render_page(
        "blame.html.j2",
        document=document,
        sections=sections,
        inputs=[("Inputs", text or "none") for text in document["inputs"]],
        sentence=verdict_sentence(verdict, document).rstrip(".") if verdict else "The session was interrupted",
        judged=judged_text(steps),
        is_fine=passes,
    )


def judged_text(steps: Mapping[str, Any]) -> str:
    """Return how much was compared and judged; empty if the session ended before the comparison."""
    outputs = steps["difference"]["outputs"] if "difference" in steps else []
    compared = [output for output in outputs if output["kind"] == "values"]
    differing, elements = (sum(output[key] for output in compared) for key in ("differing", "elements"))
    parts = [f"{differing} of {elements} elements of the outputs differ"] if elements else []
    if "reduction" in steps:
        nodes, before = steps["reduction"]["nodes"], steps["reduction"]["nodes_before"]
        parts.append(f"judged after reduction to {len(nodes)} of {before} nodes")
    verdict = steps.get("verdict", {})
    if verdict.get("differing"):
        count = verdict["differing"]
        counts = [f"{count} element{'' if count == 1 else 's'} of the reduced model differ{'s' if count == 1 else ''}"]
        kinds = (
            ("undetermined", "undetermined"),
            ("loose", "with a bound above their magnitude"),
            ("unspecified", "unspecified"),
        )
        counts += [f"{verdict[key]} {kind}" for key, kind in kinds if verdict[key]]
        parts.append(", ".join(counts))
    return "; ".join(parts)


def issue_text(document: Mapping[str, Any], model_text: str) -> str:
    """Return the text of an issue as Markdown. Names and messages are displayed literally."""
    steps = document["steps"]
    lines = [f"# {escape_markdown(verdict_sentence(steps['verdict'], document), MAX_LINE)}", ""]
    for name in TITLES:
        if name in steps:
            first, *rest = step_lines(name, steps[name], document)
            listed = (f"- {escape_markdown(line.strip(), MAX_LINE)}" for line in rest)
            lines += [f"## {escape_markdown(first, MAX_LINE)}", "", *listed, ""]
    versions = zip(document["subjects"], document["versions"], strict=False)
    lines += [
        "## Versions",
        "",
        *(f"- {escape_markdown(f'{name} {version}')}" for name, version in dict(versions).items()),
    ]
    if document["optimizer"]:
        lines.append(f"- {escape_markdown(' '.join([document['optimizer'], document['versions'][-1]]))}")
    fence = "~" * max(4, 1 + max(map(len, re.findall("~+", model_text)), default=0))
    lines += ["", "## The reduced model", "", fence, *model_text.splitlines()[:80], fence, ""]
    lines.append("`reproduce.py` in this folder computes both outputs. It needs the subjects, NumPy and onnx.")
    return "\n".join(lines) + "\n"


def folder_files(
    document: Mapping[str, Any],
    case: FedModel,
    answers: tuple[Computation, Computation],
    subjects: Sequence[SubjectName],
    optimizer: SubjectName | None,
) -> dict[str, bytes]:
    """Return the files of the reproduction folder by path.

    Args:
        document: the document with all steps.
        case: the reduced case.
        answers: its answers.
        subjects: the first and the second subject.
        optimizer: the graph optimizer, with its chosen passes.
    """
    text = escape_unprintable(printed_model(case.model))
    files = {
        "model.onnx": case.model.SerializeToString(),
        "ISSUE.md": issue_text(document, text).encode(errors="replace"),
        "blame.json": (json.dumps(document, indent=1) + "\n").encode(),
        "reproduce.py": resources.files("conformance.blame").joinpath("reproduce.py.txt").read_bytes(),
    }
    if answers[1].model is not None and optimizer is not None:
        files["rewritten.onnx"] = answers[1].model.SerializeToString()
    for number, array in enumerate(case.arrays):
        files[f"test_data_set_0/input_{number}.pb"] = tensor_of(array).SerializeToString()
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
    document = as_json(session.document)
    write_folder(folder, folder_files(document, session.reduced, session.answers, (first, second), optimizer))


def _number(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _short(text: str) -> str:
    text = one_line(text).rstrip(".")
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"
