"""`onnx-conformance explain CASE`: everything there is to know about a case, on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from conformance.commands.options import Data
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.clauses import Passage
    from conformance.corpus.corpus import Corpus, CorpusCase


def explain(
    case: Annotated[str, typer.Argument(metavar="CASE", help="A case's id, as `list` shows it.")],
    data: Data = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME|FILE", help="What is asked beyond the specification: sonnx, or a file."
        ),
    ] = None,
) -> None:
    """Show a case: what it tests and why, its model, its inputs and what must come out."""
    from conformance import __version__
    from conformance.clauses import clauses
    from conformance.corpus.corpus import bundled, find_case, open_corpus
    from conformance.corpus.document import case_json
    from conformance.errors import UnknownName

    corpus = open_corpus(data or bundled())
    found = find_case(corpus, case)
    document = case_json(corpus, found)
    if unknown := [clause for clause in document["clauses"] if clause not in clauses()]:
        raise UnknownName(
            f"{case} is about the clause {unknown[0]}, which onnx-conformance {__version__} does not have.",
            "Take the version that the corpus was made with.",
        )
    asked = list(_asked(corpus, found, profile)) if profile else []
    for line in (*_lines(case, str(corpus.path / found.path), document), *asked):
        say(line)


def _asked(corpus: Corpus, case: CorpusCase, profile: str) -> Iterator[str]:
    """What a profile asks of a case."""
    from conformance.corpus.loading import load_case
    from conformance.judging.profiled import profile_of, rules_about

    read = profile_of(profile)
    rules = rules_about(read, load_case(corpus, case))
    for rule in rules:
        yield f"rule {rule.id} of profile {read.name}: {rule.level} ({rule.source})"
        yield f"    {rule.text}"
    if not rules:
        yield f"no rule of profile {read.name} is about it"


def _lines(id: str, path: str, document: Mapping[str, Any]) -> Iterator[str]:
    from conformance.clauses import clauses
    from conformance.verdicts import Level

    level = Level(document["level"])
    yield f"{id}: {document['title']}"
    yield f"level {level}: {level.meaning}"
    yield f"files {path}"
    for clause in document["clauses"]:
        yield f"clause {clause} ({clauses()[clause].source})"
        yield f"    {clauses()[clause].text}"
        for passage in clauses()[clause].passages:
            yield from _passage(passage)
    for node in document["model"]["nodes"]:
        yield f"node {', '.join(node['outputs'])} = {node['domain']}.{node['op_type']}({', '.join(node['inputs'])})"
        yield from (f"    {name} = {value}" for name, value in node["attributes"].items())
    if "rewrite" in document:
        about = document["rewrite"].get("check", "no single one")
        yield f"the pass {document['rewrite']['answer']}; the check that this is about: {about}"
    for number, data_set in enumerate(document["data_sets"]):
        yield f"data set {number}"
        yield from (f"    in  {_tensor(tensor)}" for tensor in data_set["inputs"])
        for tensor in data_set["outputs"]:
            yield f"    out {_tensor(tensor)}"
            yield f"        {_check(tensor)}"
        if not data_set["outputs"]:
            yield "    out none: the model is invalid and must be rejected, at load or at run"


def _passage(passage: Passage) -> Iterator[str]:
    """Where the specification says so, and its words where an installed package has them."""
    from conformance.models.passages import carrier, quoted, version_of

    package = carrier(passage.document)
    version = package and version_of(package)
    words = quoted(passage)
    place = f"{passage.document}, {passage.part}"
    if words is not None:
        yield f"    {package} {version} ({place}):"
        yield from (f"    > {line}" for line in words.splitlines())
    elif version:
        yield f"    {package} {version} words it differently ({place}, sha256 {passage.sha256})"
    else:
        where = f"{package} is not installed" if package else "no package has its text"
        yield f"    {place}, characters {passage.start} to {passage.end}, sha256 {passage.sha256} ({where})"


def _tensor(tensor: Mapping[str, Any]) -> str:
    more = f", … {tensor['elided']} more" if tensor["elided"] else ""
    return f"{tensor['name']}: {tensor['type']}{tensor['shape']} = {', '.join(tensor['values'])}{more}"


def _check(tensor: Mapping[str, Any]) -> str:
    match tensor["check"]:
        case "bound":
            return f"each within {', '.join(tensor.get('bounds', ['a bound that is not told']))}"
        case "index":
            return f"acceptable: {'; '.join(tensor.get('accept', ['not told']))}"
        case _:
            return "bit for bit"
