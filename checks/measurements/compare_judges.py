"""Compare the verdicts of the judge in C with those of the package, on every output of every case.

python checks/measurements/compare_judges.py [SUBJECTS [PART/PARTS]]

SUBJECTS is the number of subjects, 20 by default: backends, correct variants and combined mutants. With PART/PARTS,
such as 1/3, only every third case is compared, starting with the first one. For each subject, the outputs of the cases
are written to a folder of candidates, which harnesses/c/judge.c judges. Prints one line per subject and each
difference. The exit status is 1 if there is a difference. Needs a C compiler and half an hour.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.cases.corpus import open_corpus
from conformance.corpus.generation.export import corpus_index
from conformance.exact.models.arrays import tensor_of
from conformance.run.judging.compare import compare_output, output_without_interpretation
from conformance.run.mutants import MutantBackend, catalogue
from conformance.subjects.calling.subject_loading import load_backend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory, DataSet
    from conformance.corpus.cases.corpus import Corpus, CorpusCase

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data"
SOURCE = ROOT / "harnesses" / "c" / "judge.c"
LINE = re.compile(
    r"(fail|recorded|undecided)(?: must| should| silent)? \w+/(\w+)/test_data_set_(\d+)/output_(\d+)(?:: .*)?"
)
BATCH = 100
"""Number of cases whose outputs of all subjects are on disk at the same time."""

ENDS_PROCESS = {"onnxruntime": {"test_argmax_pass_functions_sparse_constants"}}
"""Cases by subject that are left out, because they end the process in which the subject runs."""

COUNTS = ("cases", "outputs", "fail", "undecided", "contradict each other")
COUNT = re.compile(r"(pass|fail|undecided|missing|recorded): (\d+)")

Place = tuple[str, int, int]
"""An output: the id of the case, the number of the data set and the number of the output."""


@dataclass
class Judgement:
    """The outputs that fail or are recorded, those that are undecided or contradict each other, and further lines."""

    failing: set[Place] = field(default_factory=set)
    undecided: set[Place] = field(default_factory=set)
    cases: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def compile_judge(program: Path, *flags: str) -> None:
    """Compile the judge in C."""
    subprocess.run(["cc", "-std=c99", *flags, str(SOURCE), "-o", str(program), "-lm"], check=True, capture_output=True)


def write_index(corpus: Path, folder: Path) -> Path:
    """Write a folder that has the index of a corpus, and links to its cases; return the folder."""
    folder.mkdir()
    opened = open_corpus(corpus)
    (folder / "index.csv").write_bytes(corpus_index(opened, list(opened.cases.values())))
    for kind in ("node", "pass", "invalid"):
        (folder / kind).symlink_to(corpus / kind, target_is_directory=True)
    return folder


def judge_in_c(program: Path, corpus: Path, candidates: Path) -> Judgement:
    """Return what the judge in C prints about a folder of candidates."""
    command = [str(program), "--corpus", str(corpus), str(candidates), "--undecided"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = Judgement()
    for line in done.stdout.splitlines():
        if count := COUNT.fullmatch(line):
            found.cases[count[1]] = int(count[2])
        elif match := LINE.fullmatch(line):
            places = found.undecided if match[1] == "undecided" else found.failing
            places.add((match[2], int(match[3]), int(match[4])))
        elif line.startswith("note: "):
            found.notes.append(line)
        else:
            raise ValueError(f"the judge printed {line!r}")
    if done.returncode not in {0, 1} or (done.returncode == 0) != (not found.cases["fail"]):
        raise ValueError(f"the judge ended with status {done.returncode}: {done.stderr}")
    return found


def judge_in_package(case: CaseInMemory, outputs: Sequence[Sequence[Any]]) -> Judgement:
    """Return the verdicts of the package on the outputs of a case, by its rules for outputs alone."""
    found = Judgement()
    for number, (data_set, actual) in enumerate(zip(case.held, outputs, strict=True)):
        found.failing |= {(case.id, number, i) for i in _failing(data_set, actual, number)}
        if not any(place[1] == number for place in found.failing):
            index = output_without_interpretation(case, data_set, actual)
            if index is not None:
                found.undecided.add((case.id, number, index))
    return found


def _failing(data_set: DataSet, outputs: Sequence[Any], number: int) -> Iterator[int]:
    """Yield the numbers of the outputs of a data set that are not acceptable, absent or too many."""
    for i, (expected, actual) in enumerate(zip(data_set.outputs, outputs, strict=False)):
        if compare_output(expected, actual, number).violation is not None:
            yield i
    yield from range(len(outputs), len(data_set.outputs))
    if len(outputs) > len(data_set.outputs):
        yield len(data_set.outputs)


def run_case(backend: Any, case: CaseInMemory) -> list[list[Any]] | None:
    """Return the outputs of every data set of a case; None if the backend raises an error."""
    try:
        prepared = backend.prepare(case.fresh_model(), "CPU")
        return [list(prepared.run(list(data_set.inputs))) for data_set in case.data_sets()]
    except BaseException as error:  # also panics of runtimes written in Rust
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def write_candidates(folder: Path, case: CaseInMemory, outputs: Sequence[Sequence[Any]]) -> None:
    """Write the outputs of a case as candidates; a value that is no tensor of a known type is left out."""
    for number, data_set in enumerate(outputs):
        place = folder / case.entry.path / f"test_data_set_{number}"
        place.mkdir(parents=True)
        for i, array in enumerate(data_set):
            with suppress(AttributeError, KeyError, TypeError, ValueError):
                (place / f"output_{i}.pb").write_bytes(tensor_of(array, "").SerializeToString())


def judged_cases(corpus: Corpus, entries: Iterable[CorpusCase]) -> list[CaseInMemory]:
    """Return the cases that expect outputs, in memory."""
    loaded = (load_case_in_memory(corpus, entry) for entry in entries if not entry.is_invalid)
    return [case for case in loaded if case.held]


def compare(
    program: Path, corpus: Path, cases: Sequence[CaseInMemory], backends: Mapping[str, Any]
) -> dict[str, tuple[list[str], Counter[str]]]:
    """Run backends on cases; return for each of them how the two judges differ, and counts of what was compared."""
    expected = {name: Judgement() for name in backends}
    counts = {name: Counter[str]() for name in backends}
    with tempfile.TemporaryDirectory() as folder:
        candidates = {name: Path(folder, str(number)) for number, name in enumerate(backends)}
        for case in cases:  # each case once, so that its interpretations stay in the cache
            for name, backend in backends.items():
                outputs = run_case(backend, case) if case.id not in ENDS_PROCESS.get(name, ()) else None
                if outputs is not None:
                    write_candidates(candidates[name], case, outputs)
                    judgement = judge_in_package(case, outputs)
                    expected[name].failing |= judgement.failing
                    expected[name].undecided |= judgement.undecided
                    counts[name]["cases"] += 1
                    counts[name]["outputs"] += sum(len(data_set.outputs) for data_set in case.held)
        actual = {name: judge_in_c(program, corpus, candidates[name]) for name in backends}
    for name, found in actual.items():
        counts[name]["fail"], counts[name]["undecided"] = len(found.failing), len(found.undecided)
        counts[name]["contradict each other"] = len(expected[name].undecided)
    return {name: (list(_differences(expected[name], actual[name])), counts[name]) for name in backends}


def _differences(expected: Judgement, actual: Judgement) -> Iterator[str]:
    yield from (f"only C fails {place}" for place in sorted(actual.failing - expected.failing))
    yield from (f"only the package fails {place}" for place in sorted(expected.failing - actual.failing))
    yield from (f"C decides {place}" for place in sorted(expected.undecided - actual.undecided))
    if actual.cases["fail"] + actual.cases["recorded"] != len({place[0] for place in actual.failing}):
        yield "the number of failing cases is not that of the failing outputs"


def subjects(count: int) -> dict[str, Any]:
    """Return backends by name: runtimes, correct variants, and mutants of all operators combined."""
    from checks.mutation.variants import VARIANTS

    chosen = {name: load_backend(name).target for name in ("reference", "onnx-reference", "onnxruntime")}
    rest = count - len(chosen)
    variants = [VARIANTS[i * len(VARIANTS) // (rest // 2)] for i in range(rest // 2)]
    chosen |= {f"variant {variant.id}": variant.backend for variant in variants}
    rest = count - len(chosen)
    for number in range(rest):
        mutants = [family[number * len(family) // rest] for family in catalogue().values()]
        patches: dict[str, Any] = {}
        for mutant in mutants:
            patches |= mutant.backend.patches
        chosen[" + ".join(mutant.id for mutant in mutants)] = MutantBackend(patches)
    return chosen


def main() -> int:
    """Compare all subjects; return 1 if there is a difference."""
    sys.path.insert(0, str(ROOT))
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    backends = subjects(count)
    totals = {name: Counter[str]() for name in backends}
    found: list[str] = []
    opened = open_corpus(DATA)
    part, parts = map(int, sys.argv[2].split("/")) if len(sys.argv) > 2 else (1, 1)
    entries = [entry for entry in opened.cases.values() if not entry.is_invalid][part - 1 :: parts]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "judge")
        compile_judge(program, "-O2")
        corpus = write_index(DATA, Path(folder, "corpus"))
        for start in range(0, len(entries), BATCH):
            cases = judged_cases(opened, entries[start : start + BATCH])
            for name, (differences, counts) in compare(program, corpus, cases, backends).items():
                totals[name] += counts
                found += [f"{name}: {difference}" for difference in differences]
            sys.stderr.write(f"{start + len(cases)} of {len(entries)} cases, {len(found)} differences\n")
    totals[f"{count} subjects"] = sum(totals.values(), Counter[str]())
    lines = [f"{name}: {', '.join(f'{counts[key]:,} {key}' for key in COUNTS)}" for name, counts in totals.items()]
    sys.stdout.writelines(f"{line}\n" for line in (*lines, *found, f"{len(found)} differences"))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
