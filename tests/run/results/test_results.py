"""Facts of results: levels, counts, environments, evidence, releases, known faults and diagnoses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from runs_in_memory import DIAGNOSIS, make_case, make_footer, make_result, make_run, plain_case, plain_result

from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import ExpectedTensor
from conformance.run.judging.compare import compare_output
from conformance.run.report.diff import compare_runs, to_text
from conformance.run.results.evidence import MAX_SHORT_OUTPUTS, full_evidence, short_evidence
from conformance.run.results.failure_groups import (
    explained_sentence,
    mutant_sentence,
    mutants_by_case,
    unexplained_sentence,
)
from conformance.run.results.outcome_counts import (
    WEAKER_OPTION,
    OutcomeCounts,
    is_known_failure,
    known_failures_by_level,
)
from conformance.run.results.recorded_environment import (
    cpu_features,
    describe_environment,
    identity_changes,
    join_identities,
    processor,
    subject_identity,
)
from conformance.run.results.records import Result, SharedRecord, UnexplainedRecord, effective_level
from conformance.run.results.results_file import Results
from conformance.run.results.wrong_elements import is_wrong_otherwise, is_wrong_word, smaller_words, wrong_words
from conformance.subjects.calling.harness import installed_packages
from conformance.subjects.calling.request import adapter_digest
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

# Sentences on diagnoses and on unexplained failures.


FOUND = replace(DIAGNOSIS, failing=5, indistinguishable=[], cases=["d", "e"])
LEFT = UnexplainedRecord(
    subject="acme",
    operator="Adam",
    failure_mode="wrong values",
    cases=["a", "b", "c"],
    failing=5,
    passing=40,
    shared=[],
)


def left(*shared, **changed):
    return replace(LEFT, shared=[SharedRecord(*one) for one in shared], **changed)


def numbers(sentence):
    return [int(number) for number in re.findall(r"\d+", sentence)]


def test_explained_sentence_has_counts_and_mutant():
    sentence = explained_sentence(FOUND)
    assert numbers(sentence) == [2, 5]
    assert sentence.endswith(mutant_sentence(FOUND))


def test_mutant_sentence_has_limits_and_no_count_of_cases():
    assert mutant_sentence(FOUND) == "Adam: forgets x"
    ambiguous = replace(FOUND, indistinguishable=["adam.y"], alternatives=["forgets y"])
    assert "forgets y" in mutant_sentence(ambiguous)
    assert "adam.y" not in mutant_sentence(ambiguous)
    assert numbers(mutant_sentence(replace(FOUND, jointly_explained=["a", "b"]))) == [2]


def test_mutant_sentence_names_the_partner():
    assert "forgets y" in mutant_sentence(replace(FOUND, jointly_explained=["d"], partners=["forgets y"]))


def test_mutant_sentence_has_the_condition():
    assert mutant_sentence(replace(FOUND, condition="have T = 0")) == "Adam: forgets x (only in models that have T = 0)"


@pytest.mark.parametrize("mode", ["load: ValueError: secret", "run: RuntimeError: secret", "crash: secret"])
def test_unexplained_sentence_has_no_text_of_an_exception(mode):
    sentence = unexplained_sentence(left(failure_mode=mode))
    assert "secret" not in sentence
    assert "Error:" not in sentence


@pytest.mark.parametrize("mode", ["wrong values", "fail: answers: an output has other values"])
def test_unexplained_sentence_has_the_failure_mode(mode):
    assert mode in unexplained_sentence(left(failure_mode=mode))


def test_unexplained_sentence_has_shared_properties():
    sentence = unexplained_sentence(left(("set beta", 3, 2)))
    assert numbers(sentence) == [3, 5, 3, 3, 2, 40]
    assert "set beta" in sentence
    assert "a, b, c" in unexplained_sentence(left())
    assert "a, b, c, …" in unexplained_sentence(left(cases=["a", "b", "c", "d"]))


def test_mutants_by_case_lists_the_diagnoses_of_each_case():
    both = [replace(FOUND, cases=["a"]), replace(FOUND, mutant="adam.y", cases=["a", "b"])]
    assert mutants_by_case(make_footer(diagnoses=both)) == {
        ("acme", "a"): ["adam.x", "adam.y"],
        ("acme", "b"): ["adam.y"],
    }
    assert mutants_by_case(make_footer()) == {}


# Comparison of two runs whose results have different effective levels.


SUBJECT = {"id": "acme", "kind": "optimizer", "version": "1.0"}


def run(verdict: str, level: str, case_level: str = "must") -> Results:
    """Return a run of one case."""
    header = {"subjects": [SUBJECT]}
    result = make_result(level=level, verdict=verdict)
    return make_run("r.jsonl", header, [{"case": "test_x", "level": case_level}], [result], {})


def kinds(before: Results, after: Results) -> list[str]:
    """Return the headings under which the comparison lists the case."""
    found = compare_runs(before, after)
    return [kind for kind in ("regressions", "fixes", "changes") if getattr(found, kind)]


@pytest.mark.parametrize(
    ("before", "after", "headings"),
    [
        (("fail", "should"), ("fail", "must"), ["regressions"]),
        (("fail", "should"), ("error", "must"), ["regressions"]),
        (("fail", "must"), ("fail", "should"), ["changes"]),
        (("fail", "should"), ("fail", "should"), []),
        (("fail", "should"), ("pass", "must"), ["fixes"]),
        (("pass", "must"), ("fail", "should"), ["regressions"]),
    ],
)
def test_diff_of_levels_has_the_expected_heading(before, after, headings):
    assert kinds(run(*before), run(*after)) == headings


def test_diff_of_case_levels_is_not_a_regression():
    assert kinds(run("fail", "should", "should"), run("fail", "must", "must")) == []


@pytest.mark.parametrize(("before", "after", "headings"), [(1, 8, ["changes"]), (8, 1, []), (8, 8, [])])
def test_diff_lists_a_failure_that_has_more_wrong_elements(before, after, headings):
    def failing(count: int) -> Results:
        violation = {"kind": "elements", "count": count, "of": 8}
        output = {"data_set": 0, "name": "y", "check": "bound", "violation": violation, "wrong_kinds": ["zero"]}
        result = plain_result("acme", "test_x", "fail", outputs=[output])
        return make_run("r.jsonl", {"subjects": [SUBJECT]}, [{"case": "test_x", "level": "must"}], [result], {})

    assert kinds(failing(before), failing(after)) == headings


def test_diff_text_has_both_levels():
    text = to_text(compare_runs(run("fail", "must"), run("fail", "should")))
    (line,) = (line for line in text.splitlines() if "test_x" in line)
    assert re.findall("acme|must|should", line) == ["acme", "must", "should"]


# Facts on the environment of a run.


X86 = "processor\t: 0\nflags\t\t: fpu avx2 sse4_2 fma avx512f rdtscp\n\nprocessor\t: 1\nflags\t\t: fpu\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd evtstrm sve\n"


@pytest.mark.parametrize(("cpuinfo", "features"), [(X86, "avx2 avx512f fma sse4_2"), (ARM, "asimd sve")])
def test_cpu_features_are_known_ones_in_order(tmp_path, cpuinfo, features):
    source = tmp_path / "cpuinfo"
    source.write_text(cpuinfo)
    assert cpu_features(source) == {"cpu features": features}


def test_cpu_features_without_cpuinfo_are_empty(tmp_path):
    assert cpu_features(tmp_path / "nothing") == {}


def test_environment_has_library_variables_only(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setenv("A_SECRET", "must not be recorded")
    facts = describe_environment()
    assert facts["OMP_NUM_THREADS"] == "3"
    assert "XLA_FLAGS" not in facts
    assert "A_SECRET" not in facts


def test_environment_has_libraries_platform_and_processors():
    facts = describe_environment()
    assert {"python", "platform", "onnx", "numpy", "cpus"} <= set(facts)
    assert int(facts["cpus"]) >= 1


# Lines of text with the evidence for a verdict.


@pytest.mark.parametrize(
    ("check", "line"),
    [
        ({"name": "kept_outputs"}, "kept_outputs: it is wrong"),
        ({"name": "answers", "run": "once"}, "answers (run once): it is wrong"),
        ({"name": "answers", "run": "fixed_point"}, "answers (to a fixed point): it is wrong"),
    ],
)
def test_short_evidence_has_the_violated_check_and_its_run(check, line):
    violated = {**check, "level": "should", "violation": {"kind": "invalid_model", "detail": "it is wrong"}}
    result = make_result(phase="compare", message="it is wrong", checks=[violated])
    assert list(short_evidence(result, None, {})) == [line]


@pytest.mark.parametrize(("further", "line"), [(1, "and 1 more output is wrong"), (2, "and 2 more outputs are wrong")])
def test_short_evidence_counts_further_wrong_outputs(further, line):
    output = compare_output(ExpectedTensor("Y", np.float32([1.0])), np.float32([2.0]), 0)
    result = make_result(phase="compare", message="wrong", outputs=[output] * (MAX_SHORT_OUTPUTS + further))
    assert list(short_evidence(result, None, {}))[-1] == line


@pytest.mark.parametrize(("level", "is_named"), [("must", False), ("should", True)])
def test_full_evidence_names_a_level_that_is_not_the_level_of_the_case(level, is_named):
    first, *_ = full_evidence(make_case(level="must"), make_result(level=level))
    assert ("should" in first) is is_named


# Effective levels of results.


MUST, SHOULD, SILENT = Level


def result(*violations: Level, verdict: str = "fail", phase: str = "compare", satisfied: Level = MUST) -> Result:
    """Return a result with violated checks at these levels, and a satisfied check."""
    checks = [
        {"name": "x", "run": "once", "level": str(level), "violation": {"kind": "computation"}} for level in violations
    ]
    return make_result(verdict=verdict, phase=phase, checks=[{"name": "y", "level": str(satisfied)}, *checks])


@pytest.mark.parametrize(
    ("violations", "level"), [((MUST,), MUST), ((SHOULD,), SHOULD), ((SHOULD, MUST), MUST), ((SHOULD, SILENT), SHOULD)]
)
def test_effective_level_is_the_strongest_violated_level(violations, level):
    assert effective_level(result(*violations), MUST) is level


@pytest.mark.parametrize(("verdict", "phase"), [("pass", None), ("error", "optimize"), ("fail", "optimize")])
def test_effective_level_without_failed_comparison_is_the_case_level(verdict, phase):
    assert effective_level(result(SHOULD, verdict=verdict, phase=phase), MUST) is MUST


def test_effective_level_without_checks_is_the_case_level():
    assert effective_level(make_result(verdict="fail", phase="compare"), SHOULD) is SHOULD


@pytest.mark.parametrize(("level", "case", "weaker"), [("should", MUST, SHOULD), ("should", SHOULD, None)])
def test_level_if_weaker_is_none_for_an_equal_level(level, case, weaker):
    assert make_result(level=level).level_if_weaker(case) is weaker


# The counts that stand beside the outcome of a run.


VERDICTS = {
    "acme": {
        "must": {"pass": 3, "fail": 2, "unsupported": 1000, "skipped": 1},
        "should": {"crash": 4, "pass": 1, "unsupported": 2},
        "silent": {"fail": 9},
    }
}
KNOWN = {"verdict": "fail", "reason": "known"}


def run_of(*results: Any, level: str = "must", verdicts: Any = None) -> Any:
    header = {"criterion": {"level": level}, "subjects": [{"id": "acme", "kind": "backend", "version": "1.0"}]}
    footer = {"verdicts": verdicts or VERDICTS}
    return make_run("r.jsonl", header, [plain_case(result.case) for result in results], results, footer)


@pytest.mark.parametrize(
    ("level", "counts"),
    [("must", OutcomeCounts(1006, 5, 1000, 1, 7, 4)), ("should", OutcomeCounts(1013, 10, 1002, 1, 7, 0))],
)
def test_count_separates_judged_levels_and_verdicts(level, counts):
    assert OutcomeCounts.count(VERDICTS.values(), 7, Level(level)) == counts


def test_sentence_has_every_count_that_is_not_zero():
    def numbers(counts):
        return [int(found.replace(",", "")) for found in re.findall(r"[\d,]*\d", counts.sentence)]

    assert numbers(OutcomeCounts(2506, 190, 2316, 0, 289, 0)) == [190, 2506, 2316, 289]
    assert numbers(OutcomeCounts(3, 3, 0, 0, 0, 0)) == [3, 3]


def test_weaker_sentence_names_the_option():
    assert OutcomeCounts(0, 0, 0, 0, 0, 13).weaker_sentence.endswith(WEAKER_OPTION)
    assert OutcomeCounts(3, 3, 0, 0, 0, 0).weaker_sentence == ""


@pytest.mark.parametrize(
    ("result", "known"),
    [
        (plain_result("acme", "a", "fail", expected=KNOWN, unexpected=False), True),
        (plain_result("acme", "a", "fail", baseline="fail", unexpected=False), True),
        (plain_result("acme", "a", "fail", expected=KNOWN, unexpected=True), False),
        (plain_result("acme", "a", "fail", unexpected=False), False),
        (plain_result("acme", "a", "pass", expected=KNOWN, unexpected=False), False),
        (plain_result("acme", "a", "unsupported", expected=KNOWN, unexpected=False), False),
    ],
)
def test_known_failure_is_an_expected_defect(result, known):
    assert is_known_failure(result) is known


def test_known_failures_are_counted_by_level_without_silent_cases():
    levels = {"a": "must", "b": "must", "c": "should", "d": "silent"}
    results = [
        plain_result("acme", case, "fail", level=level, expected=KNOWN, unexpected=False)
        for case, level in levels.items()
    ]
    run = run_of(*results)
    assert known_failures_by_level(run) == {("acme", "must"): 2, ("acme", "should"): 1}
    assert OutcomeCounts.of_run(run).known_failures == 2
    assert OutcomeCounts.of_runs([run, run]).known_failures == 4


# Identities of subjects: digests, differences, and several runs of one subject.


OLD = subject_identity("x86_64: avx2", "3.11.7", ["numpy==1.26.4", "onnx==1.14.1"], "0123456789ab")


def test_subject_identity_digest_depends_on_everything():
    others = [
        subject_identity("aarch64", "3.11.7", ["numpy==1.26.4", "onnx==1.14.1"], "0123456789ab"),
        subject_identity("x86_64: avx2", "3.12.1", ["numpy==1.26.4", "onnx==1.14.1"], "0123456789ab"),
        subject_identity("x86_64: avx2", "3.11.7", ["numpy==2.4.6", "onnx==1.14.1"], "0123456789ab"),
        subject_identity("x86_64: avx2", "3.11.7", ["numpy==1.26.4", "onnx==1.14.1"], "0123456789ac"),
        subject_identity("x86_64: avx2"),
    ]
    assert len({each.digest for each in [OLD, *others]}) == 6
    assert subject_identity("x86_64: avx2", "3.11.7", ["onnx==1.14.1", "numpy==1.26.4"], "0123456789ab") == OLD


def test_identity_changes_name_what_differs():
    new = subject_identity("x86_64: avx2", "3.12.1", ["numpy==2.4.6", "rich==15"], "0123456789ab")
    assert list(identity_changes(OLD, OLD)) == []
    changes = [change.split(" ")[0] for change in identity_changes(OLD, new)]
    assert changes == ["numpy", "onnx", "rich", "Python"]


def test_join_identities_keeps_all_values():
    joined = join_identities([OLD, subject_identity("aarch64", "3.11.7", ["numpy==2.4.6"], "0123456789ab")])
    assert (joined.processor, joined.python) == ("aarch64 | x86_64: avx2", "3.11.7")
    assert joined.packages == ["numpy==1.26.4", "numpy==2.4.6", "onnx==1.14.1"]
    assert joined.digest != OLD.digest
    assert join_identities([OLD, OLD]) == OLD


def test_installed_packages_have_numpy_and_onnx():
    names = {each.partition("==")[0] for each in installed_packages()}
    assert {"numpy", "onnx", "ml-dtypes"} <= names


def test_installed_packages_first_on_the_path_wins(tmp_path, monkeypatch):
    for folder, version in (("first", "1.0"), ("second", "2.0")):
        (tmp_path / folder / f"some_package-{version}.dist-info").mkdir(parents=True)
    (tmp_path / "second" / "other-3-py3.11.egg-info").mkdir()
    monkeypatch.setattr("sys.path", [str(tmp_path / "first"), str(tmp_path / "second")])
    assert installed_packages() == ["other==3", "some-package==1.0"]


@pytest.mark.parametrize(
    ("name", "kind", "has_digest"),
    [
        ("onnxruntime", SubjectKind.BACKEND, True),
        ("onnxruntime@1.20.1[optimization=disabled]", SubjectKind.BACKEND, True),
        ("onnxoptimizer-defaults", SubjectKind.OPTIMIZER, True),
        ("reference", SubjectKind.BACKEND, False),
        ("reference-pass", SubjectKind.OPTIMIZER, False),
        ("my.module", SubjectKind.BACKEND, False),
        ("exec:harness", SubjectKind.BACKEND, False),
    ],
)
def test_adapter_digest_exists_for_adapters_of_releases(name, kind, has_digest):
    assert (adapter_digest(SubjectName.parse(name, kind)) is not None) is has_digest


def test_processor_begins_with_machine():
    assert processor().partition(":")[0].isidentifier()


# Descriptions of wrong outputs, and their growth.


def compared(name, kinds=(), count=0, of=4, data_set=0):
    wrong = {"violation": {"kind": "elements", "count": count, "of": of}, "wrong_kinds": kinds} if kinds else {}
    return {"data_set": data_set, "name": name, "check": "bound", **wrong}


def words(*outputs) -> set[str]:
    return set(wrong_words(plain_result("acme", "test_x", "fail", outputs=outputs)))


@pytest.mark.parametrize(
    ("count", "of", "extent"),
    [(1, 1, "one"), (1, 64, "one"), (2, 2, "few"), (4, 64, "few"), (5, 64, "some"), (32, 64, "some"), (33, 64, "most")],
)
def test_number_of_wrong_elements_is_coarse(count, of, extent):
    assert words(compared("y", ["zero"], count, of)) == {"zero", f"{extent} of output 0"}


def test_outputs_are_named_by_place_and_counted_over_data_sets():
    right = compared("X1_new"), compared("X2_new")
    assert words(*right, compared("V1_new", ["far"], 4)) == {"far", "most of output 1"}
    spread = compared("X1_new"), compared("X2_new", ["zero"], 4), compared("V1_new")
    assert words(*spread) == {"zero", "some of output 0"}
    assert words(compared("y", ["zero"], 4), compared("y", data_set=1)) == {"zero", "some of output 0"}
    assert words(compared("y", ["zero"], 4), compared("y", ["zero"], 4, data_set=1)) == {"zero", "most of output 0"}


def test_nearly_right_elements_beside_others_have_no_extent():
    assert words(compared("x", ["near"], 1), compared("y", ["nan"], 1)) == {"near", "nan", "one of output 1"}
    assert words(compared("x", ["near"], 1)) == {"near", "one of output 0"}


def test_whole_output_that_is_wrong_has_an_extent():
    shape = {"violation": {"kind": "output_shape", "expected": "[2]", "actual": "[1]"}}
    assert words(compared("x"), compared("y") | shape) == {"output_shape", "one of output 1"}


@pytest.mark.parametrize(
    ("listed", "now", "is_grown"),
    [
        ({"zero"}, {"zero", "most of output 3"}, False),
        ({"zero", "one of output 0"}, {"zero", "one of output 0"}, False),
        ({"zero", "one of output 0"}, {"zero", "few of output 0"}, True),
        ({"zero", "one of output 0"}, {"zero", "one of output 1"}, True),
        ({"zero", "most of output 0"}, {"zero", "one of output 0", "one of output 1"}, True),
        ({"zero", "most of output 0"}, {"zero", "one of output 0"}, False),
        ({"near", "one of output 0"}, {"near", "few of output 0"}, False),
        ({"near", "one of output 0"}, {"near", "some of output 0"}, True),
        ({"near", "one of output 0"}, {"near", "one of output 0", "one of output 1"}, True),
        ({"one of output 0"}, {"nan", "one of output 0"}, False),
        ({"zero", "one of output 0"}, {"other"}, True),
        ({"zero", "one of output 0"}, set(), False),
    ],
)
def test_failure_with_more_wrong_elements_than_listed_has_grown(listed, now, is_grown):
    assert is_wrong_otherwise(now, listed) is is_grown


@pytest.mark.parametrize(
    ("listed", "now", "smaller"),
    [
        ({"zero"}, {"zero", "one of output 0"}, None),
        ({"zero", "few of output 0"}, {"zero", "one of output 0"}, ("one of output 0", "zero")),
        ({"far", "one of output 0", "one of output 1"}, {"rough", "one of output 1"}, ("far", "one of output 1")),
        ({"near", "few of output 0"}, {"near", "one of output 0"}, None),
        ({"near", "most of output 0"}, {"near", "one of output 0"}, ("near", "one of output 0")),
        ({"zero", "few of output 0"}, {"nan", "one of output 0"}, None),
        ({"zero", "few of output 0"}, set(), None),
    ],
)
def test_smaller_failure_gives_a_smaller_entry(listed, now, smaller):
    assert smaller_words(now, listed) == smaller


@pytest.mark.parametrize("word", ["zeros", "one of output", "one of output 01", "all of output 0", "one of output 0\n"])
def test_other_words_are_refused(word):
    assert is_wrong_word("zero")
    assert is_wrong_word("most of output 12")
    assert not is_wrong_word(word)
