"""The verbs that are fuzzed: command lines with spoilt files, for this process and for the real command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from corpora import SMALL
from hypothesis import strategies as st
from mutations import spoilt_document, spoilt_lines, spoilt_model, spoilt_toml
from targets import TOML, WRONG, Example

if TYPE_CHECKING:
    from targets import Seeds

REPORTS = ("--html", "o.html", "--json", "o.json", "--junit", "o.xml", "--ctrf", "c.json", "--markdown", "o.md")
MORE_REPORTS = ("--badge", "o.svg", "--hazards", "h.md")
WORDS = st.one_of(
    st.sampled_from(
        ["", "-", "--", "-k", "test_adam", "\ud800", "\x1b[31m", "9" * 5000, "1/0", "*", "../..", "[[", "("]
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8),
)


def verb_targets(seeds: Seeds) -> dict[str, st.SearchStrategy[Example]]:
    """By name, what makes a verb's examples."""
    results, good = spoilt_lines(seeds.results), seeds.results
    model = st.sampled_from(seeds.models).flatmap(spoilt_model)
    corpus = str(seeds.folder / "corpus")

    def of(strategy: st.SearchStrategy[bytes], name: str, *arguments: str, **more: bytes) -> st.SearchStrategy[Example]:
        others = {other.replace("_", "."): content for other, content in more.items()}
        return strategy.map(lambda content: Example(arguments, {**others, name: content}))

    return {
        "report": of(results, "r.jsonl", "report", "r.jsonl", *REPORTS, *MORE_REPORTS),
        "diff": of(
            results, "r.jsonl", "diff", "r.jsonl", "g.jsonl", "--json", "d.json", "--markdown", "-", g_jsonl=good
        ),
        "diff after": of(results, "r.jsonl", "diff", "g.jsonl", "r.jsonl", g_jsonl=good),
        "merge": of(results, "r.jsonl", "merge", "r.jsonl", "-o", "o.jsonl", "--data", corpus),
        "expect update": of(results, "r.jsonl", "expect", "update", "r.jsonl", "-e", "e.toml", e_toml=TOML.encode()),
        "expect update of": of(
            spoilt_toml(TOML.encode()), "e.toml", "expect", "update", "r.jsonl", "-e", "e.toml", r_jsonl=good
        ),
        "hazards": of(model, "m.onnx", "hazards", "m.onnx"),
        "hazards json": of(model, "m.onnx", "hazards", "m.onnx", "--json"),
        "lower": of(model, "m.onnx", "lower", "m.onnx", "-o", "o.onnx"),
        "words of report": st.lists(WORDS, max_size=4).map(lambda words: Example(("report", *words))),
        "words of explain": WORDS.map(lambda word: Example(("explain", "--data", corpus, "--", word))),
        "words of list": st.lists(WORDS, max_size=3).map(lambda words: Example(("list", "--data", corpus, *words))),
    }


def slow_verb_targets(seeds: Seeds) -> dict[str, st.SearchStrategy[Example]]:
    """By name, what makes examples of verbs that run a corpus: too slow for thousands, or not for this process."""
    run = ("run", "--no-diagnosis", "--in-process", "--data", str(seeds.folder / "corpus"))
    results = spoilt_lines(seeds.results[: seeds.results.rindex(b'{"record":"footer"')])
    manifest = json.loads((seeds.folder / "corpus" / "manifest.json").read_bytes())

    def of(strategy: st.SearchStrategy[bytes], name: str, *arguments: str) -> st.SearchStrategy[Example]:
        return strategy.map(lambda content: Example(arguments, {name: content}))

    return {
        "resume": of(results, "r.jsonl.partial", *run, "--resume", "r.jsonl"),
        "expect": of(spoilt_toml(TOML.encode()), "e.toml", *run, "-b", WRONG, "--expect", "e.toml", "--case", SMALL[0]),
        "baseline": of(spoilt_lines(seeds.results), "b.jsonl", *run, "-b", WRONG, "--baseline", "b.jsonl"),
        "keyword": WORDS.map(lambda word: Example((*run, "-b", WRONG, "-k", word))),
        "words of run": st.lists(WORDS, max_size=4).map(lambda words: Example((*run, "-b", WRONG, *words))),
        "verify": of(spoilt_document(manifest), "c/manifest.json", "verify", "--data", "c"),
    }
