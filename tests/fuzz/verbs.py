"""The fuzzed verbs: strategies for command lines with corrupted files."""

from __future__ import annotations

import base64
import gzip
import io
import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from corpora import ADAM, SMALL
from fake_subject import always_right
from history_stores import add_release, change_tensor, write_three_cases
from hypothesis import strategies as st
from models import drawn_model
from mutations import corrupted_bytes, corrupted_document, corrupted_lines, corrupted_model, corrupted_toml
from readers import ANSWER, PROFILE, measured_files
from repository import exec_subject
from targets import REAL, TOML, VERIFY, WRONG, Example

from conformance.corpus.cases.corpus import MANIFEST, manifest_bytes
from conformance.studies.history.store import HistoryStore

if TYPE_CHECKING:
    from targets import Seeds

REPORTS = ("--html", "o.html", "--json", "o.json", "--junit", "o.xml", "--ctrf", "c.json", "--markdown", "o.md")
CENSUS = ("census", "-b", "fake_subject:correctly_rounded", "--type", "float16", "--operator", "Exp", "--no-isolation")
SEARCH = ("search", "-b", WRONG, "--no-isolation", "--operator", "ArgMax", "--examples", "5", "--output", "k", "--seed")
REFERENCE = ("-b", "reference", "--no-isolation")
MORE_REPORTS = ("--badge", "o.svg", "--hazard-table", "h.md")
VERBS = (
    *("audit m.onnx", "audit m.onnx -b reference --no-isolation", "audit m.onnx -b reference --no-isolation --shape"),
    *("blame m.onnx", "blame m.onnx -b reference -b onnx-reference --no-isolation", "hazards", "hazards m.onnx"),
    *("expand m.onnx", "expand m.onnx --output o.onnx", "generate --model", "generate --model m.onnx --output o"),
    *("generate --onnx --operator", "export", "merge", "merge r.jsonl --output o.jsonl", "diff r.jsonl"),
    *("update-expectations", "update-expectations r.jsonl --expect e.toml --by-cause", "history show --store s"),
    *("history show", "history", "history update --offline --store s", "check-harness", "check-harness exec:false"),
    *("env list", "env", "repro", "repro -r r.jsonl", "explain -r r.jsonl", "list", "verify", "completion", ""),
    *("report r.jsonl", "report r.jsonl --json", "report r.jsonl --profile", "report r.jsonl --html"),
)
"""Beginnings of command lines; none of them installs a package or runs for long, whatever follows."""

WORDS = st.one_of(
    st.sampled_from(
        ["", "-", "--", "-k", "test_adam", "\udc80", "\x1b[31m", "9" * 5000, "1/0", "*", "../..", "[[", "("]
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8),
)


def verb_targets(seeds: Seeds) -> dict[str, st.SearchStrategy[Example]]:
    """Return the strategies of fast verbs, by the name of the target."""
    results, good = corrupted_lines(seeds.results), seeds.results
    model = st.sampled_from(seeds.models).flatmap(corrupted_model)
    corpus = str(seeds.folder / "corpus")
    drawn = drawn_model()
    small = Path(_model_with_inputs(seeds)).read_bytes()
    outputs = ("audit", "m.onnx", "--inputs", "x.npz", "--outputs")
    given = {"m_onnx": small, "x_npz": _arrays("X")}

    def of(strategy: st.SearchStrategy[bytes], name: str, *arguments: str, **more: bytes) -> st.SearchStrategy[Example]:
        others = {other.replace("_", "."): content for other, content in more.items()}
        return strategy.map(lambda content: Example(arguments, {**others, name: content}))

    return {
        "report": of(results, "r.jsonl", "report", "r.jsonl", *REPORTS, *MORE_REPORTS),
        "diff": of(
            results, "r.jsonl", "diff", "r.jsonl", "g.jsonl", "--json", "d.json", "--markdown", "-", g_jsonl=good
        ),
        "diff after": of(results, "r.jsonl", "diff", "g.jsonl", "r.jsonl", g_jsonl=good),
        "merge": of(results, "r.jsonl", "merge", "r.jsonl", "--output", "o.jsonl", "--data", corpus),
        "update-expectations of results": of(
            results, "r.jsonl", "update-expectations", "r.jsonl", "--expect", "e.toml", e_toml=TOML.encode()
        ),
        "update-expectations of expectations": of(
            corrupted_toml(TOML.encode()),
            "e.toml",
            *("update-expectations", "r.jsonl", "--expect", "e.toml"),
            r_jsonl=good,
        ),
        "hazards": of(model, "m.onnx", "hazards", "m.onnx"),
        "hazards json": of(model, "m.onnx", "hazards", "m.onnx", "--json"),
        "expand": of(model, "m.onnx", "expand", "m.onnx", "--output", "o.onnx"),
        "hazards of drawn model": of(drawn, "m.onnx", "hazards", "m.onnx"),
        "expand of drawn model": of(drawn, "m.onnx", "expand", "m.onnx", "--output", "o.onnx"),
        "audit of drawn model": of(drawn, "m.onnx", "audit", "m.onnx", *REFERENCE, "--html", "o.html"),
        "blame of drawn model": of(drawn, "m.onnx", "blame", "m.onnx", *REFERENCE, "-b", "onnx-reference"),
        "counts of drawn model": of(drawn, "m.onnx", "hazards", "m.onnx", *REFERENCE),
        "audit of inputs": of(
            corrupted_bytes(_arrays("X")),
            "x.npz",
            "audit",
            str(_model_with_inputs(seeds)),
            *REFERENCE,
            "--inputs",
            "x.npz",
        ),
        "npz outputs of audit": of(corrupted_bytes(_arrays("Y")), "y.npz", *outputs, "y.npz", **given),
        "JSON outputs of audit": of(corrupted_document(_polygraphy()), "y.json", *outputs, "y.json", **given),
        "external data": _external_data(),
        "second model of blame": of(model, "b.onnx", "blame", "m.onnx", "b.onnx", *REFERENCE, m_onnx=small),
        **_state_targets(seeds),
        "verify.py": _evidence_target(seeds),
        "words of any verb": st.tuples(st.sampled_from(VERBS), st.lists(WORDS, max_size=4)).map(
            lambda given: Example((*given[0].split(), *given[1]), {"m.onnx": small, "r.jsonl": good})
        ),
        "words of report": st.lists(WORDS, max_size=4).map(lambda words: Example(("report", *words))),
        "words of explain": WORDS.map(lambda word: Example(("explain", "--data", corpus, "--", word))),
        "words of list": st.lists(WORDS, max_size=3).map(lambda words: Example(("list", "--data", corpus, *words))),
    }


def _state_targets(seeds: Seeds) -> dict[str, st.SearchStrategy[Example]]:
    """Return the strategies of verbs that continue a job or read a store, with one file of the state corrupted."""
    model = Path(_model_with_inputs(seeds)).read_bytes()
    audit = ("audit", "m.onnx", *REFERENCE)
    blame = ("blame", "m.onnx", *REFERENCE, "-b", WRONG)
    history = ("history", "show", "onnxruntime", "--store", "kept")
    home = seeds.folder / "states"
    home.mkdir(exist_ok=True)
    (home / "m.onnx").write_bytes(model)
    subprocess.run([*REAL, *audit, "--resume", "audit/kept"], cwd=home, check=True, stdout=subprocess.DEVNULL)
    (home / "blame").mkdir()
    subprocess.run([*REAL, *blame, "--json", "blame/kept"], cwd=home, check=False, stdout=subprocess.DEVNULL)
    store = HistoryStore(home / "history" / "kept")
    add_release(store, write_three_cases(home / "three"), "1.19.0", always_right)
    return {
        "state of audit": _corrupted_state(home / "audit", model, (*audit, "--resume", "kept")),
        "state of blame": _corrupted_state(home / "blame", model, (*blame, "--resume", "kept")),
        "store of history": _corrupted_state(home / "history", model, (*history, "--html", "o.html")),
    }


def _corrupted_state(folder: Path, model: bytes, arguments: tuple[str, ...]) -> st.SearchStrategy[Example]:
    """Return a strategy for a command line with the files of a folder, one of them corrupted, and the model."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def corrupted(name: str) -> st.SearchStrategy[Example]:
        return _corrupted_file(name, files[name]).map(
            lambda content: Example(arguments, {"m.onnx": model, **files, name: content})
        )

    return st.sampled_from(sorted(name for name in files if files[name])).flatmap(corrupted)


def _corrupted_file(name: str, content: bytes) -> st.SearchStrategy[bytes]:
    if name.endswith(".gz"):
        unpacked = _corrupted_file(name.removesuffix(".gz"), gzip.decompress(content))
        return st.one_of(corrupted_bytes(content), unpacked.map(gzip.compress))
    if not content.startswith(b"{"):
        return corrupted_bytes(content)
    try:
        return corrupted_document(json.loads(content))
    except ValueError:
        return corrupted_lines(content)


def slow_verb_targets(seeds: Seeds) -> dict[str, st.SearchStrategy[Example]]:
    """Return the strategies of verbs that run a corpus or a process, by the name of the target."""
    run = ("run", "--no-diagnosis", "--no-isolation", "--data", str(seeds.folder / "corpus"))
    results = corrupted_lines(seeds.results[: seeds.results.rindex(b'{"record":"footer"')])
    corpus = str(seeds.folder / "corpus")
    manifest = json.loads((seeds.folder / "corpus" / "manifest.json").read_bytes())

    def of(strategy: st.SearchStrategy[bytes], name: str, *arguments: str) -> st.SearchStrategy[Example]:
        return strategy.map(lambda content: Example(arguments, {name: content}))

    return {
        "resume": of(results, "r.jsonl.partial", *run, "-b", WRONG, "--resume", "r.jsonl"),
        "expect": of(
            corrupted_toml(TOML.encode()), "e.toml", *run, "-b", WRONG, "--expect", "e.toml", "--case", SMALL[0]
        ),
        "baseline": of(corrupted_lines(seeds.results), "b.jsonl", *run, "-b", WRONG, "--baseline", "b.jsonl"),
        "keyword": WORDS.map(lambda word: Example((*run, "-b", WRONG, "-k", word))),
        "words of run": st.lists(WORDS, max_size=4).map(lambda words: Example((*run, "-b", WRONG, *words))),
        "verify": of(corrupted_document(manifest), "c/manifest.json", "verify", "--data", "c"),
        "profile": of(corrupted_toml(PROFILE.encode()), "p.toml", *run, "-b", WRONG, "--profile", "p.toml"),
        "census": of(corrupted_lines(_census(seeds)), "state", *CENSUS, "--resume", "state", "--results", "-"),
        "words of census": st.lists(WORDS, max_size=3).map(lambda words: Example((*CENSUS, *words))),
        "search": st.integers(0, 10**6).map(lambda seed: Example((*SEARCH, str(seed)))),
        "words of search": st.lists(WORDS, max_size=3).map(lambda words: Example((*SEARCH, "0", *words))),
        "repro": _corpus_of_one(seeds, "repro", SMALL[1], "-b", WRONG, "--output", "r"),
        "coverage": _corpus_of_one(seeds, "list", "--coverage"),
        "clauses": _corpus_of_one(seeds, "list", "--clauses"),
        "explain": _corpus_of_one(seeds, "explain", SMALL[1]),
        "run": _corpus_of_one(seeds, "run", "-b", WRONG, "--no-isolation"),
        "state of search": _search_state(seeds),
        "corpus that generate replaces": _replaced_corpus(seeds),
        "evidence": _evidence_input(seeds),
        "history of another corpus": _rejudged_history(seeds),
        "generate of drawn model": drawn_model().map(
            lambda content: Example(("generate", "--model", "m.onnx", "--output", "o"), {"m.onnx": content})
        ),
        "run of a harness": _of_harness(
            ("run", *run[1:2], "--data", corpus, "--case", SMALL[1], "--timeout", "5", "-b")
        ),
        "check of a harness": _of_harness(("check-harness", "--timeout", "5")),
        "words of env": st.lists(WORDS, max_size=2).map(lambda words: Example(("env", "remove", *words))),
    }


def _evidence_target(seeds: Seeds) -> st.SearchStrategy[Example]:
    """Return a strategy for evidence with a corrupted file that has the right hash, which `check` checks."""
    measured = measured_files(seeds)
    names = [str(measured / name) for name in ("results.jsonl", "census.jsonl", "mutation.json", "oracle.json")]
    maps = ("--data", str(measured / "corpus"), "--requirements", str(measured / "map.toml"))
    made = seeds.folder / "evidence"
    subprocess.run([*REAL, "report", *names, *maps, "--evidence", str(made)], check=True, stdout=subprocess.DEVNULL)
    files = {path.relative_to(made).as_posix(): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    names = sorted(name for name in files if not name.endswith((".py", "SUMS")))

    def spoilt(name: str, content: bytes) -> Example:
        changed = {**files, name: content}
        lines = (f"{sha256(text).hexdigest()}  {name}\n" for name, text in changed.items() if name != "SHA256SUMS")
        return Example((VERIFY,), {**changed, "SHA256SUMS": "".join(lines).encode()})

    sums = corrupted_bytes(files["SHA256SUMS"]).map(
        lambda content: Example((VERIFY,), {**files, "SHA256SUMS": content})
    )
    return st.one_of(
        sums,
        st.sampled_from(names).flatmap(
            lambda name: _corrupted_file(name, files[name]).map(lambda content: spoilt(name, content))
        ),
    )


def _evidence_input(seeds: Seeds) -> st.SearchStrategy[Example]:
    """Return a strategy for a report of evidence with one input corrupted."""
    measured = measured_files(seeds)
    files = {path.name: path.read_bytes() for path in measured.iterdir() if path.is_file()}
    maps = ("--data", str(measured / "corpus"), "--requirements", "map.toml", "--evidence", "e")
    arguments = ("report", *sorted(files.keys() - {"map.toml"}), *maps)

    def corrupted(name: str) -> st.SearchStrategy[Example]:
        content = corrupted_toml(files[name]) if name == "map.toml" else _corrupted_file(name, files[name])
        return content.map(lambda content: Example(arguments, {**files, name: content}))

    return st.sampled_from(sorted(files)).flatmap(corrupted)


def _search_state(seeds: Seeds) -> st.SearchStrategy[Example]:
    """Return a strategy for a search that continues a corrupted state file."""
    state = seeds.folder / "search"
    arguments = (*SEARCH, "1", "--resume")
    if not state.exists():
        home = seeds.folder / "of search"
        home.mkdir()
        subprocess.run([*REAL, *arguments, str(state)], cwd=home, check=False, stdout=subprocess.DEVNULL)
    return corrupted_lines(state.read_bytes()).map(lambda content: Example((*arguments, "state"), {"state": content}))


def _rejudged_history(seeds: Seeds) -> st.SearchStrategy[Example]:
    """Return a strategy for an update that judges a store again, one of whose files is corrupted."""
    folder = seeds.folder / "states" / "history"
    narrow = seeds.folder / "narrow"
    if not narrow.exists():
        three = write_three_cases(seeds.folder / "three")
        change_tensor(three, ADAM, "test_data_set_0/bound_0.pb", 0.0, narrow)
    update = ("history", "update", "onnxruntime@1.19.0", "--offline", "--store", "kept", "--data", str(narrow))
    return _corrupted_state(folder, b"", update)


def _replaced_corpus(seeds: Seeds) -> st.SearchStrategy[Example]:
    """Return a strategy for cases of a model that replace a corpus of which one file is corrupted."""
    home = seeds.folder / "replaced"
    model = Path(_model_with_inputs(seeds)).read_bytes()
    arguments = ("generate", "--model", "m.onnx", "--output", "c", "--replace")
    if not home.exists():
        home.mkdir()
        (home / "m.onnx").write_bytes(model)
        subprocess.run([*REAL, *arguments], cwd=home, check=True, stdout=subprocess.DEVNULL)
    return _corrupted_state(home, model, arguments)


def _external_data() -> st.SearchStrategy[Example]:
    """Return a strategy for audits of a model whose weights are somewhere in other files, or are not there."""
    numbers = st.sampled_from(["0", "8", "24", "-1", "", "1e3", "9" * 30, "0x10", " 8", "\u0661", "1/0"])
    places = st.sampled_from(
        ["w.bin", "../w.bin", "/dev/zero", "sub/../w.bin", "", ".", "m.onnx", "w\0bin", "x" * 5000]
    )
    sizes = st.lists(st.sampled_from([0, 1, 2, 3, 2**31, 2**62, -1]), max_size=4)

    def made(place: str, offset: str, length: str, dims: list[int], type: int) -> Example:
        tensor = onnx.TensorProto(name="W", data_type=type, dims=dims, data_location=onnx.TensorProto.EXTERNAL)
        for key, value in (("location", place), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=value)
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {EXTERNAL_GRAPH}')
        model.graph.initializer.append(tensor)
        return Example(("audit", "m.onnx", *REFERENCE), {"m.onnx": model.SerializeToString(), "w.bin": bytes(24)})

    types = st.sampled_from([1, 1, 1, 7, 8, 10, 16, 21, 0, 77])
    return st.builds(made, places, numbers, numbers, st.one_of(st.just([2, 3]), sizes), types)


EXTERNAL_GRAPH = "g (float[2, 3] X) => (float[2, 3] Y) { Y = Add (X, W) }"


def _of_harness(arguments: tuple[str, ...]) -> st.SearchStrategy[Example]:
    """Return a strategy for a command line with a harness whose answers are corrupted."""
    known = {"seq": 1, "version": 1, "name": "canned", "runtime_version": "1", "language": "C", "kind": "backend"}
    answers = st.tuples(
        st.one_of(st.just(json.dumps(known).encode()), corrupted_document(known)),
        st.one_of(st.just(b'{"seq": 2, "loaded": 1}'), st.just(b'{"seq": 2}'), corrupted_document({"seq": 2})),
        corrupted_document({**ANSWER, "seq": 3}),
    )
    name = exec_subject(sys.executable, "-I", "-S", "h.py")
    return answers.map(
        lambda lines: Example((*arguments, name), {"h.py": CANNED, "answers": b"\n".join(lines) + b"\n"})
    )


CANNED = b"""
import os, sys
answers = open("answers", "rb").readlines()
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(answers.pop(0) if answers else line)
    sys.stdout.buffer.flush()
"""
"""A harness that answers with the lines of a file, and then with the commands."""


def _arrays(name: str) -> bytes:
    """Return an .npz file with an array for the model of `_model_with_inputs`, which returns what it is given."""
    stream = io.BytesIO()
    np.savez(stream, **{name: np.arange(6, dtype=np.float32).reshape(2, 3)})
    return stream.getvalue()


def _polygraphy() -> dict[str, Any]:
    """Return a document of recorded outputs in the format of polygraphy."""
    stream = io.BytesIO()
    np.save(stream, np.arange(6, dtype=np.float32).reshape(2, 3))
    array = {"array": base64.b64encode(stream.getvalue()).decode()}
    return {"lst": [["board", [{"outputs": {"Y": {"values": array}}}]]]}


def _model_with_inputs(seeds: Seeds) -> str:
    """Return the path of a model for `_arrays`."""
    path = seeds.folder / "small.onnx"
    graph = "g (float[2, 3] X) => (float[2, 3] Y) { Y = Abs (X) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {graph}'), path)
    return str(path)


def _census(seeds: Seeds) -> bytes:
    """Return the state file of a census."""
    state = seeds.folder / "census"
    if not state.exists():
        subprocess.run([*REAL, *CENSUS, "--resume", str(state)], check=False, stdout=subprocess.DEVNULL)
    return state.read_bytes()


def _corpus_of_one(seeds: Seeds, *arguments: str) -> st.SearchStrategy[Example]:
    """Return a strategy for command lines on a corpus with a corrupted case.json; the manifest has its hash."""
    home = seeds.folder / "corpus" / "node" / SMALL[1]
    whole = {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}

    def made(content: bytes) -> Example:
        files = {**whole, "case.json": content}
        hashes = {f"node/{SMALL[1]}": {name: sha256(content).hexdigest() for name, content in files.items()}}
        written = {f"c/node/{SMALL[1]}/{name}": content for name, content in files.items()}
        manifest = manifest_bytes("1.0.0", hashes, {f"node/{SMALL[1]}": "must"})
        return Example((*arguments, "--data", "c"), {**written, f"c/{MANIFEST}": manifest})

    return corrupted_document(json.loads(whole["case.json"])).map(made)
