"""Draw a random sample of sentences, docstrings and module names, for a reader to mark the opaque entries.

python checks/measurements/sample_words.py --seed N

Prints 70 sentences of README.md and docs/, 100 docstrings of modules, classes and functions, and 60 names of modules,
each drawn uniformly without replacement and numbered. Docstrings and modules are those of conformance/, generators/ and
checks/mutation/. The same seed and the same files give the same sample.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import random
from pathlib import Path
from typing import TYPE_CHECKING

from check_words import NO_BREAK_SPACE, documents, markdown_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("conformance", "generators", "checks/mutation")
SENTENCES, DOCSTRINGS, MODULE_NAMES = 70, 100, 60
"""Numbers of entries in the sample."""

MIN_SENTENCE_WORDS = 3
"""Shorter sentences are headings and cells of tables, which are not drawn."""


def document_sentences() -> Iterator[str]:
    """Yield every sentence of the documents, with its file."""
    for file in documents():
        for sentence in markdown_sentences(file.read_text(encoding="utf-8")):
            if len(sentence.split(" ")) >= MIN_SENTENCE_WORDS:
                yield f"{file.relative_to(ROOT)}: {sentence.replace(NO_BREAK_SPACE, ' ')}"


def modules() -> list[Path]:
    """Return the Python files of the packages."""
    return [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def docstrings() -> Iterator[str]:
    """Yield every docstring of a module, a class or a function, with its file and the definition that it describes."""
    for file in modules():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node, clean=False)
                if text:
                    yield f"{file.relative_to(ROOT)}: {_signature(node)}\n{inspect.cleandoc(text)}"


def _signature(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    match node:
        case ast.Module():
            return "module"
        case ast.ClassDef():
            return f"class {node.name}"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {node.name}({ast.unparse(node.args)}){returns}"


def module_names() -> Iterator[str]:
    """Yield the dotted name of every module and package."""
    for file in modules():
        yield ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description="Draw a sample of sentences, docstrings and module names.")
    parser.add_argument("--seed", type=int, required=True, metavar="N", help="Seed of the random sample.")
    source = random.Random(parser.parse_args().seed)  # noqa: S311
    for title, entries, size in (
        ("Sentences", list(document_sentences()), SENTENCES),
        ("Docstrings", list(docstrings()), DOCSTRINGS),
        ("Module names", list(module_names()), MODULE_NAMES),
    ):
        print(f"# {title}: {min(size, len(entries))} of {len(entries)}\n")
        for number, entry in enumerate(source.sample(entries, min(size, len(entries))), 1):
            print(f"{number:3}. {entry.replace(chr(10), f'{chr(10)}     ')}")
        print()


if __name__ == "__main__":
    main()
