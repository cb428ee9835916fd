"""The folder of the evidence: traceability, accuracy, restriction, equal bytes, and refused inputs."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import random
import re
import runpy
import shutil
from pathlib import Path

import jsonschema_rs
import pytest
from evidence_inputs import BFLOAT16, CASES, DEFAULT, DOUBLE, EXP, NAN, REPEATED, REQUIREMENTS, write_inputs
from refusals import assert_raises

from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus
from conformance.run.results.records import case_record
from conformance.studies.evidence.evidence_folder import write_evidence
from conformance.studies.evidence.requirement_maps import bundled_map, read_map


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    return folder, write_inputs(folder)


@pytest.fixture(scope="module")
def evidence(inputs, tmp_path_factory):
    return make(inputs, tmp_path_factory.mktemp("evidence") / "out")


def make(inputs, target, **options):
    folder, paths = inputs
    write_evidence(paths, target, folder / "map.toml", data=folder / "corpus", **options)
    return target


def table(folder, name):
    """Return the rows of a table as dictionaries."""
    document = json.loads((folder / "tables" / f"{name}.json").read_text())
    return [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]


def add_many_files(folder):
    for number in range(1001):
        (folder / f"{number}").touch()


def add_large_files(folder):
    for number in range(5):
        (folder / f"{number}").touch()
        os.truncate(folder / f"{number}", 2**28)


def verify(folder, *arguments):
    return runpy.run_path(str(folder / "verify.py"))["main"](list(arguments))


def test_verify_finds_no_problem(evidence, inputs, capsys):
    assert verify(evidence, "--corpus", str(inputs[0] / "corpus")) == 0
    assert "No problem." in capsys.readouterr().out


def test_tables_satisfy_their_schemas(evidence):
    names = [path.stem for path in (evidence / "tables").glob("*.csv")]
    assert len(names) > 15
    for name in names:
        schema = json.loads((evidence / "tables" / f"{name}.schema.json").read_text())
        jsonschema_rs.validate(schema, json.loads((evidence / "tables" / f"{name}.json").read_text()))


def test_same_inputs_give_same_bytes(evidence, inputs, tmp_path):
    again = make((inputs[0], inputs[1][::-1]), tmp_path / "again")
    files = {path.relative_to(evidence): path.read_bytes() for path in evidence.rglob("*") if path.is_file()}
    assert files == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}


def test_requirements_without_case_come_first(evidence):
    rows = table(evidence, "requirements")
    assert [(row["requirement"], row["status"], row["cases"]) for row in rows] == [
        ("doc/missing", "no case", 0),
        ("doc/tested", "tested", 3),
        ("doc/value", "tested", 1),
    ]
    page = (evidence / "index.html").read_text()
    assert page.index("doc/<wbr>missing") < page.index("doc/<wbr>tested")


def test_traceability_leads_in_both_directions(evidence):
    links = {(row["requirement"], row["clause"], row["case"]) for row in table(evidence, "requirement_cases")}
    assert ("doc/tested", "argmax.index", NAN) in links
    assert {case for requirement, _, case in links if requirement == "doc/value"} == {EXP}
    cases = {row["case"]: row for row in table(evidence, "cases")}
    assert cases.keys() == CASES
    assert cases[EXP]["requirements"] == ["doc/value"]
    assert cases[REPEATED]["requirements"] == []
    assert cases[NAN]["requirements"] == ["doc/tested"]
    clauses = {row["clause"]: row for row in table(evidence, "clauses")}
    assert clauses["argmax.index"]["requirements"] == ["doc/tested"]
    files = {(row["case"], row["file"]): row["sha256"] for row in table(evidence, "files")}
    assert len(files[EXP, "test_data_set_0/input_0.pb"]) == 64


def test_verdict_of_each_data_set_is_its_own(evidence):
    verdicts = {(row["subject"], row["case"], row["data_set"]): row["verdict"] for row in table(evidence, "verdicts")}
    assert [verdicts["wrong", REPEATED, number] for number in range(3)] == ["pass", "pass", "fail"]
    assert verdicts["=right", REPEATED, 2] == "pass"
    results = {(row["subject"], row["case"]): row for row in table(evidence, "results")}
    assert results["wrong", REPEATED]["verdict"] == "fail"
    assert results["wrong", REPEATED]["message"]


def test_accuracy_has_input_of_largest_error(evidence):
    rows = {(row["subject"], row["operator"], row["type"]): row for row in table(evidence, "accuracy")}
    census = rows["=right", "Exp", "float16"]
    assert (census["measured_by"], census["introduced_ulp"], census["propagated_ulp"]) == ("census", 0.75, 0.0)
    assert (census["input"], census["input_hex"]) == ("1", "0x3c00")
    assert (census["inputs"], census["of"], census["sampled"], census["limit_ulp"]) == (8, 63489, False, 4.0)
    wrong = rows["wrong", "Adam", "float"]
    assert (wrong["case"], wrong["data_set"], wrong["verdict"]) == (REPEATED, 2, "fail")
    assert wrong["largest_over_bound"] >= wrong["error_over_bound"] > 1
    assert wrong["largest_over_bound_case"] == REPEATED
    assert re.fullmatch(r"X_new\[\d+\]", wrong["output"])
    assert re.search(r"(^|; )G=[-0-9.e]+;", wrong["input"])
    assert rows["=right", "Exp", "float"]["case"] == EXP


def test_quality_names_command_of_each_figure(evidence):
    rows = {(row["figure"], row["of"]): row for row in table(evidence, "quality")}
    assert rows["mutants detected, level must", "argmax"]["value"] == 1
    assert rows["mutants detected, level must", "argmax"]["out_of"] == 2
    assert rows["differences of the oracles", "corpus"]["command"] == "python -m checks.oracle"
    assert all(row["command"] for row in rows.values())


def test_missing_measurement_is_stated(inputs, tmp_path):
    folder, paths = inputs
    made = make((folder, paths[:1]), tmp_path / "out")
    rows = table(made, "quality")
    assert {row["value"] for row in rows} == {None}
    assert all("not measured" in row["note"] for row in rows)
    assert verify(made) == 0


def test_run_of_a_part_of_the_corpus_is_accepted(inputs, tmp_path, command):
    folder, _ = inputs
    words = ("run", "-b", "reference", "--data", str(folder / "corpus"), "--case", EXP, "--results", "part.jsonl")
    assert command(*words).status == 0
    made = make((folder, [Path("part.jsonl").resolve()]), tmp_path / "out")
    assert {row["case"] for row in table(made, "results")} == {EXP}
    assert {row["case"] for row in table(made, "cases")} == CASES
    assert verify(made) == 0


def test_restriction_lists_what_it_leaves_out(inputs, tmp_path):
    made = make(inputs, tmp_path / "out", restrict="sonnx")
    left_out = {(row["restriction"], row["name"]) for row in table(made, "left_out")}
    assert {("operators", REPEATED), ("defaults", DEFAULT), ("bfloat16", BFLOAT16)} < left_out
    assert ("bfloat16", "=right Exp bfloat16") in left_out
    assert DOUBLE not in {name for _, name in left_out}
    kept = {row["case"] for row in table(made, "cases")}
    assert kept == CASES - {name for _, name in left_out}
    assert {row["case"] for row in table(made, "results")} == kept
    assert {row["type"] for row in table(made, "census")} == {"float16"}
    assert "bfloat16" not in {row["type"] for row in table(made, "bounds")}
    assert verify(made) == 0


def test_text_of_files_is_escaped(evidence):
    page = (evidence / "index.html").read_text()
    assert "&lt;b&gt;is&lt;/b&gt;" in page
    assert "<b>is</b>" not in page
    assert "<script" not in page
    with (evidence / "tables" / "requirements.csv").open(newline="") as stream:
        (row,) = (row for row in csv.DictReader(stream) if row["requirement"] == "doc/missing")
    assert row["title"].startswith("'=HYPERLINK")


def test_injected_names_are_text_of_the_page(inputs, tmp_path):
    folder, paths = inputs
    script, link = "<script>alert(1)</script>", 'javascript:"><img src=x onerror=alert(1)>'
    results = tmp_path / "results.jsonl"
    text = (folder / "results.jsonl").read_text()
    text = re.sub(r'("id":|"subject":|[,{])"wrong"(?=,|:\{)', lambda found: f'{found[1]}"{script}\u202e"', text)
    results.write_text(text.replace('"environment":{', f'"environment":{{"<b>":"{script}",'))
    found = REQUIREMENTS.replace("Requirements of acme", f"</title>{script}").replace("There is no case.", script)
    found = found.replace("doc.md", link.replace('"', '\\"')).replace('"doc"', f'"{script}"')
    found = found.replace("Both cannot", script)
    (tmp_path / "map.toml").write_text(found)
    paths = [results if path.name == "results.jsonl" else path for path in paths]
    write_evidence(paths, tmp_path / "out", tmp_path / "map.toml", data=folder / "corpus")
    page = (tmp_path / "out" / "index.html").read_text()
    assert f"{script}\\u202e" in {row["subject"] for row in table(tmp_path / "out", "subjects")}
    assert page.count("&lt;script&gt;alert(1)") > 10
    for raw in ("<script", "<img", 'href="javascript:', "<b>alert", "</title><"):
        assert raw not in page.replace("</title>\n", "")
    assert verify(tmp_path / "out") == 0


def replace_by_link(folder, name):
    path = folder / "tables" / name
    path.rename(folder.parent / path.name)
    path.symlink_to(folder.parent / path.name)


class TestVerify:
    @pytest.fixture
    def copy(self, evidence, tmp_path):
        return shutil.copytree(evidence, tmp_path / "copy")

    def problems(self, folder, capsys, *, sums=True):
        if sums:
            paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
            lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder).as_posix()}" for p in paths]
            (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n")
        status = verify(folder)
        assert status == 1
        return capsys.readouterr().out

    def replace_in(self, folder, name, old, new):
        for suffix in ("csv", "json"):
            path = folder / "tables" / f"{name}.{suffix}"
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new))

    def test_altered_file_is_found(self, copy, capsys):
        (copy / "index.html").write_text("other")
        assert "index.html is altered" in self.problems(copy, capsys, sums=False)

    def test_added_and_missing_files_are_found(self, copy, capsys):
        (copy / "tables" / "bounds.csv").rename(copy / "tables" / "more.csv")
        found = self.problems(copy, capsys, sums=False)
        assert "tables/bounds.csv is missing" in found
        assert "tables/more.csv is not in" in found

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (lambda folder: (folder / "tables" / "more.csv").symlink_to("cases.csv"), "tables/more.csv is a link"),
            (lambda folder: (folder / "more").symlink_to("tables"), "more is a link"),
            (lambda folder: replace_by_link(folder, "bounds.csv"), "tables/bounds.csv is a link"),
            (lambda folder: os.mkfifo(folder / "pipe"), "pipe is neither a file nor a folder"),
            (lambda folder: os.mkfifo(folder / "tables" / "pipe"), "tables/pipe is neither a file nor a folder"),
            (lambda folder: (folder / "a").mkdir(), "a is an empty folder"),
            (lambda folder: (folder / "\x1b[31mred").touch(), "\\x1b[31mred is not in"),
            (lambda folder: (folder / "SHA256SUMS").write_bytes(b"\xff"), "SHA256SUMS is damaged"),
            (lambda folder: (folder / "SHA256SUMS").write_text("0\n"), "SHA256SUMS is damaged"),
            (lambda folder: (folder / "SHA256SUMS").unlink(), "SHA256SUMS is missing"),
            (lambda folder: os.truncate(folder / "SHA256SUMS", 2**40), "SHA256SUMS is larger than 256 MiB"),
            (lambda folder: os.truncate(folder / "tables.json", 2**40), "tables.json is larger than 256 MiB"),
            (lambda folder: replace_by_link(folder, "../SHA256SUMS"), "SHA256SUMS is a link"),
            (lambda folder: os.truncate(folder / "index.html", 2**25), "index.html is larger than 16 MiB"),
            (add_many_files, ". has more than 1000 files and folders"),
            (add_large_files, ". has files of more than 1 GiB"),
        ],
    )
    def test_entry_that_evidence_never_has_is_found(self, copy, capsys, change, problem):
        change(copy)
        found = self.problems(copy, capsys, sums=False)
        assert problem in found
        assert "\x1b" not in found

    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("tables.json", "{"),
            ("tables.json", "[]"),
            ("tables.json", '{"tables": null}'),
            ("tables.json", '{"tables": [{}]}'),
            ("tables.json", '{"tables": []}'),
            ("tables.json", "[" * 10**5),
            ("tables.json", '{"tables": [' + "[]," * 2**22 + "[]]}"),
            ("tables/cases.csv", "\n" * 2**20),
            ("index.html", "<a href='" * 10**5 + '<a href="absent">'),
            ("tables/cases.json", "{"),
            ("tables/cases.json", "null"),
            ("tables/cases.json", '{"table": "cases", "columns": [], "rows": [1]}'),
            ("tables/cases.csv", ""),
            ("index.html", b"\xff"),
        ],
    )
    def test_damaged_content_with_right_sums_is_found(self, copy, capsys, file, content):
        (copy / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        assert self.problems(copy, capsys).endswith(" problems.\n")

    @pytest.mark.parametrize(
        ("file", "old", "new", "problem"),
        [
            ("index.html", 'href="tables/cases.csv"', 'href="../copy/cases.csv"', "link to ../copy/cases.csv"),
            ("index.html", 'href="#accuracy"', 'href="#other"', "link to #other"),
            ("tables/cases.json", '"cases"', '"other"', "cases.json has other columns"),
            ("tables/subjects.csv", "wrong", "right", "subjects.csv and subjects.json differ"),
        ],
    )
    def test_changed_file_with_right_sums_is_found(self, copy, capsys, file, old, new, problem):
        (copy / file).write_text((copy / file).read_text().replace(old, new, 1))
        assert problem in self.problems(copy, capsys)

    def test_unknown_reference_is_found(self, copy, capsys):
        self.replace_in(copy, "requirement_cases", EXP, "test_other")
        assert "requirement_cases.case: test_other is not in cases.case" in self.problems(copy, capsys)

    def test_wrong_verdict_is_found(self, copy, capsys):
        self.replace_in(copy, "requirement_verdicts", "pass", "fail")
        assert "verdicts by requirement and subject" in self.problems(copy, capsys)

    def test_altered_corpus_is_found(self, copy, inputs, tmp_path, capsys):
        corpus = shutil.copytree(inputs[0] / "corpus", tmp_path / "corpus")
        (corpus / "pass" / EXP / "model.onnx").write_bytes(b"")
        assert verify(copy, "--corpus", str(corpus)) == 1
        assert "model.onnx is missing or differs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"argmax.index"', '"argmax.inde"', "evidence.requirements-unknown-name"),
        (
            'output_of = ["Exp"]',
            'cases = ["test_argmax_pass_uses_exp_graph_otput"]',
            "evidence.requirements-unknown-name",
        ),
        ('output_of = ["Exp"]', 'tags = ["argmx"]', "evidence.requirements-unknown-name"),
        ('output_of = ["Exp"]', 'types = ["flot"]', "evidence.requirements-unknown-name"),
        ('output_of = ["Exp"]', 'output_of = ["Expp"]', "evidence.requirements-unknown-name"),
        ('census = ["Exp"]', 'census = ["Adam"]', "evidence.requirements-unknown-name"),
        ('output_of = ["Exp"]', 'clauses = ["adam.v_new"]\ntags = ["double"]', "evidence.requirement-selects-nothing"),
        ('"tested", "missing"', '"tested", "other"', "evidence.requirements-malformed"),
        ('tag = "value"', 'tag = "tested"', "evidence.requirements-malformed"),
        ('reason = "There is no case."', "", "evidence.requirements-malformed"),
        ('source = "doc"', 'source = "other"', "evidence.requirements-malformed"),
        ("format = 1", "format = 2", "evidence.requirements-malformed"),
        ("[[source]]", "[[source]", "evidence.requirements-malformed"),
    ],
)
def test_wrong_map_is_refused(inputs, tmp_path, old, new, code):
    assert old in REQUIREMENTS
    (tmp_path / "map.toml").write_text(REQUIREMENTS.replace(old, new))
    folder, paths = inputs
    with assert_raises(code, "map.toml"):
        write_evidence(paths, tmp_path / "out", tmp_path / "map.toml", data=folder / "corpus")
    assert [path.name for path in tmp_path.iterdir()] == ["map.toml"]


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("results.jsonl", lambda text: text[:-20], "results.truncated"),
        ("census.jsonl", lambda text: "".join(text.splitlines(keepends=True)[:-1]), "census.truncated"),
        ("census.jsonl", lambda text: text[:-3], "census.malformed"),
        ("mutation.json", lambda text: text[:-20], "evidence.measurement-malformed"),
        ("mutation.json", lambda text: text.replace('"operators"', '"operator"'), "evidence.measurement-malformed"),
        ("mutation.json", lambda text: re.sub('"digest": "..', '"digest": "zz', text), "evidence.other-corpus"),
        ("oracle.json", lambda text: re.sub('"digest": "..', '"digest": "zz', text), "evidence.other-corpus"),
        ("results.jsonl", lambda text: re.sub('"digest":"..', '"digest":"zz', text, count=1), "evidence.other-corpus"),
    ],
)
def test_wrong_input_is_refused_and_nothing_is_written(inputs, tmp_path, name, change, code):
    folder, paths = inputs
    wrong = tmp_path / name
    wrong.write_text(change((folder / name).read_text()))
    with assert_raises(code, wrong):
        make((folder, [path if path.name != name else wrong for path in paths]), tmp_path / "out")
    assert list(tmp_path.iterdir()) == [wrong]


def test_folder_that_is_not_empty_is_refused(inputs, tmp_path):
    (tmp_path / "own.txt").write_text("mine")
    with assert_raises("evidence.folder-not-empty", tmp_path):
        make(inputs, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]


def test_folder_that_cannot_be_created_is_refused_before_inputs_are_read(tmp_path):
    with assert_raises("usage.evidence-not-writable", "/proc/x"):
        write_evidence([tmp_path / "missing.jsonl"], Path("/proc/x"))


def test_census_alone_is_refused(inputs, tmp_path):
    with assert_raises("evidence.results-missing"):
        make((inputs[0], inputs[1][1:]), tmp_path / "out")


def test_input_given_twice_is_refused(inputs, tmp_path):
    with assert_raises("results.given-twice"):
        make((inputs[0], [*inputs[1], inputs[1][2]]), tmp_path / "out")


def test_unknown_restriction_is_refused(inputs, tmp_path):
    with assert_raises("usage.restriction-unknown", "other"):
        make(inputs, tmp_path / "out", restrict="other")


def test_missing_map_is_refused(tmp_path):
    with assert_raises("evidence.requirements-unreadable"):
        read_map(tmp_path / "none.toml")


def test_bundled_map_names_its_sources():
    found = bundled_map()
    assert {"argmax", "softmax", "exp", "log", "sqrt"} <= found.sources.keys()
    assert all(re.fullmatch("[0-9a-f]{40}", source.commit) for source in found.sources.values())
    tags = {f"{one.source}/{one.tag}" for one in found.requirements}
    assert "softmax/float/informal/t1" in tags
    assert any("-infinity" in one.text for one in found.parsed.contradiction if one.source == "softmax")


@pytest.mark.parametrize(
    ("function", "bound"),
    [
        (math.exp, lambda x, d: math.exp(x) * math.expm1(d)),
        (math.log, lambda x, d: -math.log1p(-d / x)),
        (math.sqrt, lambda x, d: math.sqrt(x) - math.sqrt(x - d)),
    ],
)
def test_bound_of_propagated_error_holds(function, bound):
    numbers = random.Random(1)
    for _ in range(300):
        x = numbers.uniform(0.1, 5)
        d = x * numbers.uniform(0, 0.9)
        error = abs(function(x + numbers.choice((-1, 1, numbers.uniform(-1, 1))) * d) - function(x))
        assert error <= bound(x, d) * (1 + 1e-12) + 1e-15


@pytest.mark.whole
def test_bundled_map_selects_cases_of_the_corpus():
    corpus = open_corpus(bundled_corpus_path())
    cases = [case_record(corpus, entry) for entry in corpus.cases.values()]
    linked = bundled_map().link(cases)
    assert len(linked) == len(bundled_map().requirements)
    assert EXP in {case.case for case in linked["exp/float/informal#value"]}
