"""The judge in C gives the same results as the judge of this suite, and refuses damaged files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from corpora import write_part
from documentation import DOCS, read_page
from ml_dtypes import bfloat16
from repository import DATA, ROOT
from script_modules import script_module

from conformance.corpus.cases.case_loading import ExpectedTensor
from conformance.corpus.cases.corpus import open_corpus
from conformance.corpus.generation.export import INDEX_COLUMNS
from conformance.exact.models.arrays import tensor_of
from conformance.run.judging.compare import is_acceptable
from conformance.run.mutants import catalogue
from conformance.subjects.calling.subject_loading import load_backend

compare_judges = script_module("compare_judges")

pytestmark = pytest.mark.programs

NAN, INF = np.nan, np.inf
FLOATS = ([1.0, 2.0], [1.0, 2.5], [1.0, NAN], [1.0, INF], [1.0, -INF], [1.0, -0.0], [1.0, 0.0], [1.0, 2.0**-14])
BOUNDS = (None, [0.0, 0.0], [0.0, 0.5], [0.0, INF])
"""Bounds; every pair of `FLOATS` is judged in every type with every bound."""

SMALL_FLOATS = (
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
    *(("float6_e2m3fn", "float6_e3m2fn") if hasattr(onnx.TensorProto, "FLOAT6E2M3") else ()),
)
INTEGERS = (
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2),
)

HEADER = ",".join(INDEX_COLUMNS)
CASES = "CASES"
"""Stands in a line of an index for the number of cases."""

SANITIZERS = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return the path of the judge in C, compiled with sanitizers."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler: apt-get install gcc")
    program = tmp_path_factory.mktemp("judge") / "judge"
    compare_judges.compile_judge(program, *SANITIZERS)
    return program


class Pair:
    """A corpus of cases with one output each, and candidates for them."""

    def __init__(self, folder: Path) -> None:
        self.corpus, self.candidates = folder / "corpus", folder / "candidates"
        self.lines = [HEADER]

    def add(self, case: str, expected: ExpectedTensor, actual: np.ndarray | bytes | None, ending: str = "pb") -> None:
        place = f"node/{case}/test_data_set_0"
        parts = {"output": expected.expected, "bound": expected.bound, "accept": expected.choices}
        for part, array in parts.items():
            if array is not None:
                _write(self.corpus / place / f"{part}_0.pb", _pb(array))
        if actual is not None:
            content = actual if isinstance(actual, bytes) else _pb(actual)
            _write(self.candidates / place / f"output_0.{ending}", content)
        _write(self.corpus / "node" / case / "model.onnx", b"")
        self.lines.append(f"{case},node,must,1,{expected.check},,{CASES},,,")

    def write_index(self) -> None:
        lines = [line.replace(CASES, str(len(self.lines) - 1)) for line in self.lines]
        (self.corpus / "index.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def write_manifest(self, levels: dict[str, str]) -> None:
        documents = {"levels": levels, "cases": {case: {"model.onnx": ""} for case in levels}}
        (self.corpus / "manifest.json").write_text(json.dumps(documents, indent=1) + "\n", encoding="utf-8")

    def judge(self, program: Path):
        self.write_index()
        return compare_judges.judge_in_c(program, self.corpus, self.candidates)


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)


def _pb(array) -> bytes:
    return tensor_of(np.asarray(array), "").SerializeToString()


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _run(program, *words) -> int:
    return subprocess.run([str(program), *map(str, words)], check=False, capture_output=True).returncode


def _failing_cases(found) -> set[str]:
    return {place[0] for place in found.failing}


def test_c_judge_agrees_on_floats(program, pair):
    refused = set()
    dtypes = (np.float32, np.float64, np.float16, bfloat16)
    for number, (dtype, bound, wanted, got) in enumerate(product(dtypes, BOUNDS, FLOATS[2:], FLOATS)):
        bounds = None if bound is None else np.array(bound)
        expected, actual = ExpectedTensor("Y", np.array(wanted, dtype), bound=bounds), np.array(got, dtype)
        pair.add(f"case_{number}", expected, actual)
        if not is_acceptable(expected, actual):
            refused.add(f"case_{number}")
    assert 0 < len(refused) <= number
    assert _failing_cases(pair.judge(program)) == refused


def test_c_judge_agrees_on_indices_and_other_types(program, pair):
    choices = np.array([[False, True, False], [False, False, True]])
    expected = ExpectedTensor("index", np.array([1, 2]), choices=choices)
    given = [[1, 2], [1, 0], [-1, 2], [3, 2], [[1, 2]]]
    judged = [(expected, np.asarray(actual)) for actual in (*given, np.array([1, 2], np.int32))]
    for dtype, bound in product((np.int8, np.uint64, np.bool_), (None, np.array([1.0, 0.0]))):
        output = ExpectedTensor("Y", np.array([0, 1], dtype), bound=bound)
        judged += [(output, np.array(got, dtype)) for got in ([0, 1], [1, 1], [0, 0])]
    for number, (expected, actual) in enumerate(judged):
        pair.add(f"case_{number}", expected, actual)
    refused = {f"case_{i}" for i, (expected, actual) in enumerate(judged) if not is_acceptable(expected, actual)}
    assert len(refused) == 14
    assert _failing_cases(pair.judge(program)) == refused


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_c_judge_agrees_on_every_pair_of_small_numbers(program, pair, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    bits = int(name.removeprefix("float")[0])
    numbers = np.arange(2**bits, dtype=np.uint8).view(dtype)
    refused = set()
    for number, bound in enumerate((None, 0.0, 0.25, 3.0)):
        for shift in (0, 1, len(numbers) // 2):
            bounds = None if bound is None else np.full(len(numbers), bound)
            actual = np.roll(numbers, shift)
            for index in range(0, len(numbers), 37):
                case, one = f"case_{number}_{shift}_{index}", slice(index, index + 1 + index % 7)
                expected = ExpectedTensor("Y", numbers[one], bound=None if bounds is None else bounds[one])
                pair.add(case, expected, actual[one])
                if not is_acceptable(expected, actual[one]):
                    refused.add(case)
    assert refused
    assert _failing_cases(pair.judge(program)) == refused


@pytest.mark.parametrize("dtype", INTEGERS)
def test_c_judge_agrees_on_integers_with_bounds(program, pair, dtype):
    limits = ml_dtypes.iinfo(dtype)
    numbers = [limits.min, max(limits.min, -1), 0, 1, limits.max]
    refused = set()
    for number, (wanted, got, bound) in enumerate(product(numbers, numbers, (None, 0.0, 1.0, 2.0, INF))):
        bounds = None if bound is None else np.array([bound] * 3)
        expected = ExpectedTensor("Y", np.array([wanted] * 3, dtype=dtype), bound=bounds)
        actual = np.array([wanted, got, wanted], dtype=dtype)
        pair.add(f"case_{number}", expected, actual)
        if not is_acceptable(expected, actual):
            refused.add(f"case_{number}")
    assert 0 < len(refused) < number
    assert _failing_cases(pair.judge(program)) == refused


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, bfloat16, np.int8, np.uint8, np.int64, np.uint64]
)
def test_c_judge_reads_elements_stored_as_numbers(program, pair, dtype):
    array = np.array([[0, 1, 2], [3, 100, 7]]).astype(dtype)
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    proto = onnx.helper.make_tensor("", number, array.shape, array.astype(np.float64).flatten())
    assert not proto.HasField("raw_data")
    other = onnx.helper.make_tensor("", number, array.shape, array.astype(np.float64).flatten()[::-1])
    pair.add("right", ExpectedTensor("Y", array), proto.SerializeToString())
    pair.add("wrong", ExpectedTensor("Y", array), other.SerializeToString())
    pair.add("bytes", ExpectedTensor("Y", array), array.tobytes(), "bin")
    pair.add("short", ExpectedTensor("Y", array), array.tobytes()[1:], "bin")
    assert _failing_cases(pair.judge(program)) == {"wrong", "short"}


def test_c_judge_damaged_candidates_fail(program, pair):
    array = np.arange(5, dtype=np.float32)
    content = _pb(array)
    external = onnx.TensorProto.FromString(content)
    external.data_location = onnx.TensorProto.EXTERNAL
    huge = onnx.TensorProto(data_type=1, dims=[2**62, 2**62], raw_data=b"")
    damaged = [
        *(content[:size] for size in range(len(content))),
        external.SerializeToString(),
        huge.SerializeToString(),
    ]
    for number, given in enumerate(damaged):
        pair.add(f"case_{number}", ExpectedTensor("Y", array), given)
    found = pair.judge(program)
    assert _failing_cases(found) == {f"case_{number}" for number in range(len(damaged))}


def test_c_judge_counts_missing_cases_and_wrong_numbers_of_outputs(program, pair):
    array = np.arange(3)
    for case in ("missing", "right", "more"):
        pair.add(case, ExpectedTensor("Y", array), None if case == "missing" else array)
    _write(pair.candidates / "node/more/test_data_set_0/output_1.pb", _pb(array))
    _write(pair.corpus / "invalid/rejected/model.onnx", b"")
    pair.lines.append(f"rejected,invalid,should,1,,,{CASES},,,")
    _write(pair.candidates / "invalid/computed/test_data_set_0/output_0.pb", _pb(array))
    pair.lines.append(f"computed,invalid,should,1,,,{CASES},,,")
    pair.add("second_missing", ExpectedTensor("Y", array), array)
    _write(pair.corpus / "node/second_missing/test_data_set_1/output_0.pb", _pb(array))
    pair.lines[-1] = f"second_missing,node,must,2,exact | exact,,{CASES},,,"
    found = pair.judge(program)
    assert found.cases == {"pass": 1, "fail": 3, "undecided": 0, "missing": 2, "recorded": 0}
    assert found.failing == {("more", 0, 1), ("computed", 0, 0), ("second_missing", 1, 0)}


@pytest.mark.parametrize(
    "line",
    [
        "case,node,must,1",
        "../case,node,must,1,exact,,1,,,",
        "case,..,must,1,exact,,1,,,",
        ",node,must,1,exact,,1,,,",
        "case,node,must,99999999999999999999,exact,,1,,,",
        "case,node,must,-1,exact,,1,,,",
        "case,node,must,1,close,,1,,,",
        "case,node,other,1,exact,,1,,,",
        "case,node,must,1,exact,1,1,,,",
        "case,node,must,3,exact | exact,,1,,,",
        "case,node,must,2,exact | exact exact,,1,,,",
        "case,node,must,1,bound,,1,,,",
        "case,node,must,1,index,,1,,,",
        "case,node,must,1," + "exact " * 3000 + ",,1,,,",
    ],
)
def test_c_judge_damaged_index_is_refused(program, pair, line):
    pair.add("case", ExpectedTensor("Y", np.arange(3)), np.arange(3))
    (pair.corpus / "index.csv").write_text(f"{HEADER}\n{line}\n", encoding="utf-8")
    assert _run(program, "--corpus", pair.corpus, pair.candidates) == 2


def test_c_judge_of_one_output_uses_its_options(program, tmp_path):
    expected = _write(tmp_path / "expected.pb", _pb(np.arange(5, dtype=np.float32)))
    other = _write(tmp_path / "other.pb", _pb(np.arange(5, dtype=np.float32) + np.float32(0.5)))
    bound = _write(tmp_path / "bound.pb", _pb(np.full(5, 0.5)))
    index = _write(tmp_path / "index.pb", _pb(np.array([0])))
    accept = _write(tmp_path / "accept.pb", _pb(np.array([[False, True]])))
    assert _run(program, expected, expected) == 0
    assert _run(program, expected, other) == 1
    assert _run(program, expected, other, "--bound", bound) == 0
    assert _run(program, index, index) == 0
    assert _run(program, index, index, "--accept", accept) == 1
    assert _run(program, expected, tmp_path / "absent.pb") == 1
    short = _write(tmp_path / "short.pb", _pb(np.zeros(4)))
    for words in (["--bound", short], ["--bound", bound, "--bound", bound], ["--other", bound], ["--accept", accept]):
        assert _run(program, expected, expected, *words) == 2
    assert _run(program) == _run(program, expected) == _run(program, "--corpus", expected) == 2


def test_c_judge_of_one_output_reads_elements_alone(program, tmp_path):
    expected = _write(tmp_path / "output_0.pb", _pb(np.array([1.0, 2.0], np.float32)))
    content = {"equal.bin": [1, 2], "wrong.bin": [1, 3], "short.bin": [1]}
    files = {name: _write(tmp_path / name, np.array(values, "<f4").tobytes()) for name, values in content.items()}
    assert {name: _run(program, expected, file) for name, file in files.items()} == {
        "equal.bin": 0,
        "wrong.bin": 1,
        "short.bin": 1,
    }


def test_c_judge_notes_candidates_that_are_not_cases(program, pair):
    pair.add("case_0", ExpectedTensor("Y", np.array([1.0])), np.array([1.0]))
    assert not pair.judge(program).notes
    _write(pair.candidates / "node" / "other\x1b" / "test_data_set_0" / "output_0.pb", b"")
    _write(pair.candidates / "case_0" / "test_data_set_0" / "output_0.pb", b"")
    (note,) = pair.judge(program).notes
    assert note.startswith("note: 2 ")
    assert note.isprintable()


def test_judges_agree_on_part_of_corpus(program, tmp_path):
    part = write_part(
        tmp_path / "part", lambda place, name: place % 150 == 0 or name == "test_adam_pairwise_010_t_2_0d_double_exact"
    )
    opened = open_corpus(part)
    corpus, cases = (
        compare_judges.write_index(part, tmp_path / "corpus"),
        compare_judges.judged_cases(opened, opened.cases.values()),
    )
    mutants = {mutant.id: mutant.backend for family in catalogue().values() for mutant in family}
    subjects = {id: mutants[id] for id in ("adam.norm_ignored", "argmax.last_of_ties")}
    compared = compare_judges.compare(
        program, corpus, cases, {"reference": load_backend("reference").target} | subjects
    )
    assert [found for found, _ in compared.values()] == [[], [], []]
    assert all(counts["outputs"] > counts["cases"] > 15 for _, counts in compared.values())
    assert compared["reference"][1]["undecided"] > 0
    assert compared["adam.norm_ignored"][1]["fail"] > 0


def test_judge_without_index_counts_undecided_cases_as_passed(program, pair):
    expected = ExpectedTensor("Y", np.array([1.0, 2.0]), bound=np.array([0.5, 0.5]))
    pair.add("inexact", expected, np.array([1.0, 2.25]))
    pair.lines[-1] = f"inexact,node,must,1,bound,0,{CASES},,,"
    pair.add("wrong", expected, np.array([1.0, 2.75]))
    found = pair.judge(program)
    assert found.cases == {"pass": 0, "fail": 1, "undecided": 1, "missing": 0, "recorded": 0}
    assert found.undecided == {("inexact", 0, 0)}
    command = [program, "--corpus", pair.corpus, pair.candidates]
    silent = subprocess.run(command, check=False, capture_output=True)
    assert b"undecided node" not in silent.stdout
    (pair.corpus / "index.csv").unlink()
    pair.write_manifest({"node/inexact": "must", "node/wrong": "must"})
    noted = subprocess.run(command, check=False, capture_output=True)
    assert noted.returncode == 1
    assert b"note: " in noted.stdout
    assert b"note: " not in silent.stdout
    assert b"pass: 1\nfail: 1\nundecided: 0\n" in noted.stdout


@pytest.mark.parametrize("has_index", [True, False])
def test_c_judge_records_silent_cases_apart(program, pair, has_index):
    levels = {"right": "must", "open": "silent"}
    for case, level in levels.items():
        pair.add(case, ExpectedTensor("Y", np.arange(3)), np.array([0, 1, 2 if level == "must" else 7]))
        pair.lines[-1] = pair.lines[-1].replace("must", level)
    if has_index:
        pair.write_index()
    else:
        pair.write_manifest({f"node/{case}": level for case, level in levels.items()})
    found = compare_judges.judge_in_c(program, pair.corpus, pair.candidates)
    assert found.cases == {"pass": 1, "fail": 0, "undecided": 0, "missing": 0, "recorded": 1}
    assert _failing_cases(found) == {"open"}
    shutil.rmtree(pair.candidates / "node" / "right")
    assert _run(program, "--corpus", pair.corpus, pair.candidates) == 1


@pytest.mark.parametrize(
    ("expected", "actual", "place"),
    [
        (np.array([[1, 2], [3, -(2**63)]]), np.array([[1, 2], [3, 2**63 - 1]]), [1, 1]),
        (np.array([2**64 - 1, 0], np.uint64), np.array([2**64 - 2, 1], np.uint64), [0]),
        (np.array(-8, ml_dtypes.int4), np.array(7, ml_dtypes.int4), []),
        (np.array([0.5, 0.1], np.float32), np.array([0.5, np.nan], np.float32), [1]),
        (np.array([1.0, 0.1]), np.array([1.0, np.nextafter(0.1, 1)]), [1]),
        (np.array([INF, 0.0], bfloat16), np.array([INF, -0.0], bfloat16), [1]),
    ],
)
def test_c_judge_prints_first_wrong_element(program, tmp_path, expected, actual, place):
    words = [_write(tmp_path / f"{name}.pb", _pb(array)) for name, array in (("wanted", expected), ("got", actual))]
    done = subprocess.run([program, *words], check=False, capture_output=True, text=True)
    found = re.fullmatch(r"fail: .* at (\[.*\]): expected (\S+), actual (\S+)\n", done.stdout)
    assert found is not None
    assert json.loads(found[1]) == place
    for printed, array in zip(found.groups()[1:], (expected, actual), strict=True):
        number = (int if expected.dtype.kind in "iu" or "int" in expected.dtype.name else float)(printed)
        assert _pb(np.array(number).astype(expected.dtype)) == _pb(np.array(array[tuple(place)]))


@pytest.mark.parametrize("line", ['  "../case": "must",', '  "node/../case": "must",', '  "other/case": "must",', "{}"])
def test_judge_of_hostile_manifest_reads_no_other_folder(program, pair, line):
    pair.add("case", ExpectedTensor("Y", np.arange(3)), np.arange(3))
    (pair.corpus / "manifest.json").write_text(f"{line}\n", encoding="utf-8")
    command = [program, "--corpus", pair.corpus, pair.candidates]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    "name", ["index.csv", "manifest.json", "output_0.pb", "bound_0.pb", "accept_0.pb", "candidate"]
)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_judge_of_file_that_is_not_regular_ends(program, pair, name, kind):
    pair.add("case", ExpectedTensor("Y", np.arange(3)), np.arange(3))
    pair.write_index()
    place = Path("node", "case", "test_data_set_0")
    file = pair.candidates / place / "output_0.pb" if name == "candidate" else pair.corpus / place / name
    if name in {"index.csv", "manifest.json"}:
        (pair.corpus / "index.csv").unlink()
        file = pair.corpus / name
    file.unlink(missing_ok=True)
    file.symlink_to("/dev/zero") if kind == "device" else os.mkfifo(file)
    command = [program, "--corpus", pair.corpus, pair.candidates]
    ended = subprocess.run(command, check=False, capture_output=True, timeout=20)
    judged_without_file = name in {"bound_0.pb", "accept_0.pb"}
    assert ended.returncode == (0 if judged_without_file else 1 if name == "candidate" else 2)


@pytest.fixture
def three(pair):
    """Return a corpus of three cases, and candidates for two of them."""
    for number in range(3):
        pair.add(f"case_{number}", ExpectedTensor("Y", np.arange(3)), np.arange(3) if number else None)
    pair.write_index()
    return pair


@pytest.mark.parametrize("has_index", [True, False])
@pytest.mark.parametrize("kept", range(4))
def test_c_judge_refuses_a_truncated_list_of_cases(program, three, has_index, kept):
    """The first line of the index has the columns; the levels begin in the third line of the manifest."""
    three.write_manifest({f"node/case_{number}": "must" for number in range(3)})
    file = three.corpus / ("index.csv" if has_index else "manifest.json")
    if not has_index:
        (three.corpus / "index.csv").unlink()
    command = ("--corpus", three.corpus, three.candidates)
    assert _run(program, *command) == 0
    lines = file.read_text().splitlines(keepends=True)
    first = 1 if has_index else 2
    file.write_text("".join(lines[: first + kept]))
    assert _run(program, *command) == (0 if has_index and kept == 3 else 2)


@pytest.mark.parametrize("candidates", ["nothere", "corpus/index.csv"])
def test_c_judge_refuses_candidates_that_are_no_folder(program, three, tmp_path, candidates):
    assert _run(program, "--corpus", three.corpus, tmp_path / candidates) == 2


@pytest.mark.parametrize(("level", "notes"), [("must", 0), ("should", 1)])
def test_c_judge_notes_failures_that_a_run_does_not_count_by_default(program, pair, level, notes):
    for case in ("right", "wrong"):
        pair.add(case, ExpectedTensor("Y", np.arange(3)), np.arange(3) + (case == "wrong"))
        pair.lines[-1] = pair.lines[-1].replace("must", level)
    pair.write_index()
    command = [program, "--corpus", pair.corpus, pair.candidates]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.count("--fail-level")) == (1, notes)


@pytest.mark.parametrize("path", ["model.onnx", "test_data_set_0/output_0.pb", "."])
def test_c_judge_refuses_a_corpus_that_lacks_files_of_a_case_without_candidate(program, three, path):
    file = three.corpus / "node" / "case_0" / path
    shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert _run(program, "--corpus", three.corpus, three.candidates) == 2


def test_c_judge_refuses_fewer_outputs_than_announced(program, three):
    command = ("--corpus", three.corpus, three.candidates)
    for words, status in {
        ("--min-cases", "2"): 0,
        ("--undecided", "--min-cases", "2"): 0,
        ("--min-cases", "3"): 2,
        ("--min-cases",): 2,
        ("--min-cases", "x"): 2,
        ("--min-cases", "2", "--min-cases", "2"): 2,
    }.items():
        assert _run(program, *command, *words) == status


def test_cmake_target_judges_a_folder_of_candidates(tmp_path, pair):
    if shutil.which("cmake") is None:
        pytest.skip("needs CMake: apt-get install cmake make gcc")
    pair.add("right", ExpectedTensor("Y", np.arange(3)), np.arange(3))
    pair.add("wrong", ExpectedTensor("Y", np.arange(3)), np.arange(1, 4))
    pair.write_index()
    settings = (f"-DCORPUS={pair.corpus}", f"-DCANDIDATES={pair.candidates}")
    subprocess.run(["cmake", "-S", ROOT / "harnesses" / "c", "-B", tmp_path / "build", *settings], check=True)
    build = ["cmake", "--build", tmp_path / "build", "--target", "judge-candidates"]
    failing = subprocess.run(build, check=False, capture_output=True, text=True)
    assert failing.returncode != 0
    assert "fail must node/wrong/test_data_set_0/output_0: 3 wrong of 3 elements" in failing.stdout
    shutil.rmtree(pair.candidates / "node" / "wrong")
    assert subprocess.run(build, check=False).returncode == 0


GENERATED = """
static void model(const float *R, const int64_t *T, const float *X, const float *G, const float *H,
                  float *X_new, float *H_new) {
    const float r = R[0] / (1 + (float)T[0] * 0.1f), g = 0.001f * X[0] + G[0];
    H_new[0] = H[0] + g * g;
    X_new[0] = X[0] - r * g / (sqrtf(H_new[0]) + 1e-5f) + ERROR;
}
"""
"""Adagrad in the form that emx-onnx-cgen generates, with an error."""


@pytest.mark.parametrize(("error", "status"), [("0", 0), ("1e-4f", 1)])
def test_example_on_target_judges_generated_code(tmp_path, error, status):
    page = read_page(DOCS / "how-to" / "judge-without-python.md")
    (tmp_path / "on_target.c").write_text(page.files["on_target.c"], encoding="utf-8")
    shutil.copy(ROOT / "harnesses" / "c" / "judge.c", tmp_path)
    (tmp_path / "model.c").write_text(GENERATED.replace("ERROR", error), encoding="utf-8")
    arrays = []
    for file in sorted((DATA / "node" / "test_adagrad" / "test_data_set_0").glob("*.pb")):
        content, name = file.read_bytes(), file.name.replace(".", "_")
        arrays.append(f"unsigned char {name}[] = {{{','.join(map(str, content))}}};")
        arrays.append(f"unsigned int {name}_len = {len(content)};")
    (tmp_path / "case.h").write_text("\n".join(arrays), encoding="utf-8")
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "on_target.c", "-o", "on_target", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert _run(tmp_path / "on_target") == status
