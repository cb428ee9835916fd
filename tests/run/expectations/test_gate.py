"""The gate of a run with expectations: new faults fail it, and entries apply only to the cases of their cause."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest
from corpus_measurements import detecting_cases
from diagnosis_accuracy import in_memory, observed_finding
from repository import ROOT
from runs_in_memory import make_run, plain_result, with_fields

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import load_case_in_memory, read_case_json
from conformance.run.diagnosis.diagnosis_run import CaseTopics, diagnose
from conformance.run.diagnosis.failure_evidence import can_compose, evidence_family
from conformance.run.expectations.criterion import PassCriterion, case_facts
from conformance.run.expectations.criterion_settings import CriterionSettings
from conformance.run.expectations.expectations_file import Expectations, parse_expectations, read_expectations
from conformance.run.expectations.expectations_update import NewEntries, update_expectations
from conformance.run.mutants import FAMILIES, catalogue
from conformance.run.mutants.mutant import compose
from conformance.run.results.records import case_record
from conformance.run.results.results_file import Results, read_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.diagnosis.collected_results import CollectedResult
    from conformance.run.mutants import Mutant
    from conformance.run.results.records import Result

NUMBER_OF_MUTANTS = 24

KNOWN_FAULTS: Mapping[str, tuple[str, ...]] = {
    "Adam": ("adam.default_post", "adam.promotes_types"),
    "Momentum": ("momentum.t_as_int16", "momentum.promotes_types"),
    "Adagrad": ("adagrad.default_decay", "adagrad.promotes_types"),
    "ArgMax": ("argmax.axis_default_1", "argmax.last_index_mirrored"),
}
"""Faults that the backend of the test has from the beginning, by family."""

FILES = sorted((ROOT / "expectations").rglob("*.toml"))


def recorded_run(
    corpus: Corpus, family: str, cases: Sequence[CaseInMemory], findings: Mapping[str, CollectedResult]
) -> Results:
    """Return a complete run of the subject `acme` with these findings and their diagnosis."""
    header = {
        "corpus": {"version": corpus.version, "digest": corpus.digest, "cases": len(findings), "selected": 0},
        "subjects": [{"id": "acme", "kind": "backend", "version": "1.0"}],
        "criterion": {"level": "must", "require": [], "expected_results": len(findings), "expectations": []},
        "environment": {"python": "3.12.1", "platform": "Linux x86_64"},
    }
    own = {case.id: findings[case.id] for case in cases if evidence_family(case.model) == family}
    further = {id: one for id, one in findings.items() if id not in own and one.verdict.is_defect}
    by_id = {case.id: case for case in cases}
    found = diagnose("acme", family, own, by_id, lambda case: topics_of(corpus, case), further)
    results = [result_of(corpus, id, finding) for id, finding in findings.items()]
    footer = {"results": len(results), "diagnoses": found.diagnosis_records}
    return make_run(
        "results.jsonl", header, [case_record(corpus, corpus.cases[id]) for id in findings], results, footer
    )


def topics_of(corpus: Corpus, id: str) -> CaseTopics:
    document = read_case_json(corpus, corpus.cases[id])
    return CaseTopics(tuple(document.clauses), tuple(document.tags))


def result_of(corpus: Corpus, id: str, finding: CollectedResult) -> Result:
    level = str(corpus.cases[id].level)
    return plain_result("acme", id, str(finding.verdict), level=level, recorded_outputs=finding.recorded_outputs)


def gate_fails(corpus: Corpus, expectations: Expectations, findings: Iterable[tuple[str, CollectedResult]]) -> bool:
    """Return whether a result is unexpected; results are judged until one is."""
    criterion = new_criterion(expectations)
    is_unexpected = any(not is_expected(criterion, corpus, id, finding) for id, finding in findings)
    return is_unexpected or bool(criterion.reasons())


def new_criterion(expectations: Expectations) -> PassCriterion:
    return PassCriterion(CriterionSettings(Level.MUST, {"acme": expectations}), {"acme": "backend"})


def is_expected(criterion: PassCriterion, corpus: Corpus, id: str, finding: CollectedResult) -> bool:
    result = result_of(corpus, id, finding)
    expected = criterion.find_expectation(result, partial(load_case_in_memory, corpus, corpus.cases[id]))
    record = case_record(corpus, corpus.cases[id])
    return criterion.assess(with_fields(result, expected=expected), lambda: case_facts(record))


def chosen_mutants() -> dict[str, list[Mutant]]:
    """Return mutants of all families that can be added to the known faults, the same ones each time."""
    known = {family: known_faults(family) for family in FAMILIES}
    possible = [
        (family, mutant)
        for family, mutants in catalogue().items()
        for mutant in mutants
        if mutant.level is Level.MUST and mutant not in known[family] and can_compose((*known[family], mutant))
    ]
    sample = random.Random(0).sample(possible, NUMBER_OF_MUTANTS)
    return {family: [mutant for of, mutant in sample if of == family] for family in FAMILIES}


def known_faults(family: str) -> tuple[Mutant, ...]:
    return tuple(mutant for mutant in catalogue()[family] if mutant.id in KNOWN_FAULTS[family])


@pytest.mark.whole
@pytest.mark.parametrize("family", ["Momentum", pytest.param("ArgMax", marks=pytest.mark.long)])
def test_gate_fails_for_each_mutant_that_is_added_to_known_faults(whole_corpus, judged_cases, family):
    detecting, known = detecting_cases(), known_faults(family)
    judged = enumerate(judged_cases[family])
    cases = [in_memory(case) for place, case in judged if place % 12 == 0 or case.id in detecting.values()]
    findings = {case.id: observed_finding(compose(known), case) for case in cases}
    run = recorded_run(whole_corpus, family, cases, findings)
    text = update_expectations('subject = "acme"\n', "acme.toml", run, NewEntries(by_cause=True)).text
    expectations = parse_expectations(text, "acme.toml")
    assert len(known) == len(KNOWN_FAULTS[family])
    assert expectations.entries
    assert not gate_fails(whole_corpus, expectations, findings.items())
    backends = {mutant.id: compose((*known, mutant)) for mutant in chosen_mutants()[family]}
    missed = []
    for id, backend in backends.items():
        first = [case for case in cases if case.id == detecting.get(id)]
        found = ((case.id, observed_finding(backend, case)) for case in (*first, *cases))
        if not gate_fails(whole_corpus, expectations, found):
            missed.append(id)
    assert backends
    assert missed == []


@pytest.mark.parametrize(
    ("entries", "had", "expected"),
    [
        (["v"], "v", True),
        (["v"], "h", False),
        (["v"], "vh", False),
        (["v", "h"], "vh", True),
        (["v", "hn"], "vn", True),
        (["vh"], "vh", True),
        (["vh"], "h", False),
    ],
)
def test_failure_is_expected_if_the_mutants_of_all_entries_explain_it(whole_corpus, entries, had, expected):
    """The case has the first entry, so that the first mutant of this entry must be a cause."""
    mutants = {id[5]: id for id in ("adam.v_sum", "adam.h_linear", "adam.norm_ignored")}
    listed = [[mutants[letter] for letter in letters] for letters in entries]
    tables = "".join(f"[[expect]]\nreason = 'known'\nmutants = {ids}\nfail = '*'\n" for ids in listed)
    expectations = parse_expectations(f"subject = 'acme'\n{tables}", "acme.toml")
    case = load_case_in_memory(whole_corpus, whole_corpus.cases["test_adam"])
    backend = compose(tuple(one for one in catalogue()["Adam"] if one.id in map(mutants.get, had)))
    finding = observed_finding(backend, case)
    assert is_expected(new_criterion(expectations), whole_corpus, case.id, finding) is expected


@pytest.fixture(scope="module")
def scoreboard() -> Results:
    return read_results(ROOT / "reports/scoreboard/results.jsonl.gz")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_pattern_of_the_project_matches_only_cases_of_its_cause(scoreboard, path):
    """Each matched case fails with the verdict of the entry, and no other entry matches the case."""
    expectations = read_expectations(path)
    entries = [entry for entry in expectations.entries if entry.condition is None]
    rows = {case: row for (subject, case), row in scoreboard.rows.items() if subject == expectations.subject}
    found = Counter(case for entry in entries for case in rows if entry.matches(case))
    assert rows
    assert [case for case, count in found.items() if count > 1] == []
    wrong = [
        (entry.location_of(case), case)
        for entry in entries
        for case, row in rows.items()
        if entry.matches(case) and row.level != Level.SILENT and row.verdict != entry.verdict
    ]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file_of_the_project_lists_a_cause_once_and_its_supports(path):
    expectations = read_expectations(path)
    causes = {entry.table: (entry.reason, entry.checks, entry.condition) for entry in expectations.entries}
    assert len(set(causes.values())) == len(causes)
    assert expectations.supports
    assert not any(entry.verdict is Verdict.UNSUPPORTED for entry in expectations.entries)
