"""Check the length of sentences in the documents and the help, and count the tests that assert English phrases.

python checks/measurements/check_words.py [-v]

Prints the figures, and exits with 1 if a sentence has more than 35 words in README.md, docs/ or the help of the command
line, if the written pages have more than 26,000 words outside of code blocks and tables, if the unreleased part of
CHANGELOG.md has more than 120 lines, or if tests assert more than 40 phrases of three words or more. A test asserts a
phrase by `match=`, by `in`, or by passing it to a helper that does. -v also prints the phrases.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator

    import typer
    from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
MAX_SENTENCE_WORDS = 35
MAX_PAGE_WORDS = 26_000
REFERENCE_PAGES = ("command-line", "errors", "formats", "clauses")
"""Pages without a limit of words: they are generated, or describe each field of a format."""
MAX_UNRELEASED_LINES = 120
MAX_PHRASES = 40
MIN_PHRASE_WORDS = 3

ASSERTING_HELPERS = re.compile(r"assert_\w+|refused")
"""Names of the helpers of tests that look for their arguments in a text."""

ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)*_]*[ \n]+(?=[\"“(*_`\[]*[A-Z0-9`])")
PLAIN_WORD = re.compile(r"[A-Za-z][A-Za-z'\u2019]*[.,:;?!]?")
NO_BREAK_SPACE = "\u00a0"


def documents() -> list[Path]:
    """Return the Markdown files whose sentences are checked."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def count_page_words() -> int:
    """Count the words of README.md, CONTRIBUTING.md, SECURITY.md and the written pages of docs/."""
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *documents()]
    texts = (page.read_text(encoding="utf-8") for page in pages if page.stem not in REFERENCE_PAGES)
    proses = (re.sub(r"^```.*?^```$|^\|[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL) for text in texts)
    return sum(len(prose.split()) for prose in proses)


def count_unreleased_lines() -> int:
    """Count the lines of CHANGELOG.md between the headings of the unreleased part and of the last release."""
    parts = re.split(r"^## .*\n", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return len(parts[1].splitlines())


def markdown_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a Markdown text: of paragraphs, headings, list items and cells of tables, not of code."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "inline":
            yield from sentences("".join(map(_plain_text, token.children or ())))


def _plain_text(token: Token) -> str:
    if token.type == "code_inline":
        return f"`{token.content.replace(' ', NO_BREAK_SPACE)}`"
    return {"text": token.content, "softbreak": " ", "hardbreak": "\n"}.get(token.type, "")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a plain text; the words of inline code are joined by no-break spaces."""
    for paragraph in re.split(r"\n\s*\n", text):
        sentence = ""
        for part in SENTENCE_END.split(paragraph.strip()):
            sentence = f"{sentence} {part}".strip()
            if not sentence.endswith(ABBREVIATIONS):
                yield " ".join(sentence.split(" "))
                sentence = ""
        if sentence:
            yield sentence


def count_words(sentence: str) -> int:
    """Count the words of a sentence; a span of inline code is one word."""
    return sum(any(map(str.isalnum, word)) for word in re.split(r"[ \n]+", sentence))


def help_texts(app: typer.Typer) -> Iterator[tuple[str, str]]:
    """Yield every text of the command line's help, with the command and the option that it stands at."""
    from typer.main import get_command

    def visit(command: object, name: str) -> Iterator[tuple[str, str]]:
        for attribute in ("help", "epilog"):
            yield name, getattr(command, attribute, None) or ""
        for parameter in getattr(command, "params", ()):
            yield f"{name} {parameter.opts[0]}", getattr(parameter, "help", None) or ""
        for child, below in getattr(command, "commands", {}).items():
            yield from visit(below, f"{name} {child}")

    yield from visit(get_command(app), "onnx-conformance")


def long_sentences() -> Iterator[str]:
    """Yield the sentences of the documents and the help that are too long, each with its place and its length."""
    from conformance.commands.cli import create_app

    texts = [
        (str(file.relative_to(ROOT)), sentence)
        for file in documents()
        for sentence in markdown_sentences(file.read_text(encoding="utf-8"))
    ]
    texts += [
        (f"{place} --help", sentence)
        for place, text in help_texts(create_app(()))
        for sentence in sentences(re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", NO_BREAK_SPACE), text))
    ]
    for place, sentence in texts:
        if (length := count_words(sentence)) > MAX_SENTENCE_WORDS:
            yield f"{place}: {length} words: {sentence}"


def asserted_phrases(source: str) -> Iterator[tuple[int, str]]:
    """Yield the English phrases that a module of tests asserts, each with its line."""
    for node in ast.walk(ast.parse(source)):
        for text in filter(None, map(_string, _asserted_strings(node))):
            words = text.replace("\\", "").split()
            if sum(bool(PLAIN_WORD.fullmatch(word)) for word in words) >= MIN_PHRASE_WORDS:
                yield getattr(node, "lineno", 0), text


def _asserted_strings(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Call(func=function, args=arguments, keywords=keywords):
            yield from (keyword.value for keyword in keywords if keyword.arg == "match")
            if isinstance(function, ast.Name) and ASSERTING_HELPERS.fullmatch(function.id):
                yield from arguments
        case ast.Compare(left=left, ops=operators, comparators=comparators):
            for operator, operand in zip(operators, (left, *comparators), strict=False):
                if isinstance(operator, ast.In | ast.NotIn):
                    yield operand


def _string(node: ast.expr) -> str:
    """Return the literal text of an expression, with `…` for its other parts, or "" if it has none."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.BinOp(left=left, right=right):
            return _string(left) + _string(right)
        case ast.Call(args=arguments):
            return next(filter(None, map(_string, arguments)), "")
    return ""


def main() -> int:
    """Print the figures; return 1 if a limit is exceeded."""
    is_verbose = "-v" in sys.argv[1:]
    sys.path.insert(0, str(ROOT))
    long = list(long_sentences())
    phrases = [
        f"{file.relative_to(ROOT)}:{line}: {text!r}"
        for file in sorted((ROOT / "tests").rglob("*.py"))
        for line, text in asserted_phrases(file.read_text(encoding="utf-8"))
    ]
    print(f"{'FAIL' if long else 'ok  '} sentences of more than {MAX_SENTENCE_WORDS} words: {len(long)} (at most 0)")
    for line in long:
        print(f"       {line.replace(NO_BREAK_SPACE, ' ')}")
    are_few = len(phrases) <= MAX_PHRASES
    name = f"phrases of {MIN_PHRASE_WORDS} words or more that tests assert"
    print(f"{'ok  ' if are_few else 'FAIL'} {name}: {len(phrases)} (at most {MAX_PHRASES})")
    if is_verbose:
        for line in phrases:
            print(f"       {line}")
    words = count_page_words()
    are_short = words <= MAX_PAGE_WORDS
    print(f"{'ok  ' if are_short else 'FAIL'} words of the written pages: {words:,} (at most {MAX_PAGE_WORDS:,})")
    unreleased = count_unreleased_lines()
    is_condensed = unreleased <= MAX_UNRELEASED_LINES
    name = "lines of the unreleased part of CHANGELOG.md"
    print(f"{'ok  ' if is_condensed else 'FAIL'} {name}: {unreleased} (at most {MAX_UNRELEASED_LINES})")
    return int(bool(long) or not are_few or not are_short or not is_condensed)


if __name__ == "__main__":
    sys.exit(main())
