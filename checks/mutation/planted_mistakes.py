"""Count how many planted mistakes the diagnosis of `run` names, on a corpus of `generate --onnx`.

python -m checks.mutation.planted_mistakes CORPUS [--operator NAME …] [-v]

A planted mistake is a change of ONNX Runtime: of the node, its operands, or its outputs. It is judged on the cases of
its operator that ONNX Runtime passes without it. The expected name is that of the mutant with the same meaning. It is
empty for a mistake that is no mutant: any name is wrong then.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnxruntime
from onnx import helper

from checks.mutation.planted_mistake_table import MISTAKES, Mistake
from conformance.base.errors import ConformanceError
from conformance.base.serialization.printable_text import print_line
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.models.arrays import array_of
from conformance.run.diagnosis.collected_results import CollectedResult, ResultCollector
from conformance.run.diagnosis.diagnosis_run import diagnose_run
from conformance.run.diagnosis.failure_evidence import (
    Observation,
    is_failure,
    observation_to_record,
    observe,
    single_node,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.corpus.cases.corpus import Corpus, CorpusCase


class MistakenBackend:
    """ONNX Runtime with a mistake; None for no mistake."""

    def __init__(self, mistake: Mistake | None) -> None:
        self._mistake = mistake

    def prepare(self, model: onnx.ModelProto, _: str = "CPU") -> PreparedMistake:
        """Prepare a model of one node."""
        return PreparedMistake(model, self._mistake)


class PreparedMistake:
    """A model in ONNX Runtime, with a mistake."""

    def __init__(self, model: onnx.ModelProto, mistake: Mistake | None) -> None:
        self._mistake = mistake
        self._inputs = [value.name for value in model.graph.input]
        (node,) = model.graph.node
        self._operands = [*node.input]
        constants = {tensor.name: tensor for tensor in model.graph.initializer}
        del model.graph.initializer[:]
        fed = {*self._inputs}
        for name, tensor in constants.items():
            if name not in fed:
                model.graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, tensor.dims))
        self._constants = {name: array_of(tensor) for name, tensor in constants.items()}
        if mistake is not None and mistake.attributes is not None:
            values = {each.name: helper.get_attribute_value(each) for each in node.attribute}
            for name, change in mistake.attributes.items():
                kept = [each for each in node.attribute if each.name != name]
                value = change(values[name]) if name in values else change(None) if name in _ALWAYS else None
                del node.attribute[:]
                node.attribute.extend(kept)
                if value is not None:
                    node.attribute.append(helper.make_attribute(name, value))
        if mistake is not None and mistake.left_out is not None and mistake.left_out < len(node.input):
            node.input[mistake.left_out] = ""
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
        for value in model.graph.input:
            value.type.tensor_type.ClearField("shape")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        self._taken = [value.name for value in model.graph.input]

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs."""
        values = self._constants | dict(zip(self._inputs, inputs, strict=False))
        mistake = self._mistake
        operands = [values[name] if name else None for name in self._operands]
        if mistake is not None and mistake.operands is not None:
            operands = mistake.operands(operands)
            values |= {name: each for name, each in zip(self._operands, operands, strict=True) if name}
        outputs = self._session.run(None, {name: values[name] for name in self._taken})
        if mistake is not None and mistake.outputs is not None:
            outputs = mistake.outputs(operands, outputs)
        return list(outputs)


_ALWAYS = ("count_include_pad", "keepdims")
"""Attributes that a mistake sets even on nodes that leave them out."""


def examined(corpus: Corpus, operators: set[str]) -> dict[str, list[tuple[CorpusCase, CaseInMemory]]]:
    """Return the cases by operator that ONNX Runtime passes, and whose models are one node."""
    found: dict[str, list[tuple[CorpusCase, CaseInMemory]]] = defaultdict(list)
    for entry in corpus.cases.values():
        try:
            case = load_case_in_memory(corpus, entry)
        except ConformanceError:
            continue
        node = single_node(case.model)
        if node is not None and node.op_type in operators and not case.is_invalid:
            observed = observe(MistakenBackend(None), case)
            if observed is not None and not observed.error and not is_failure(observed, case):
                found[node.op_type].append((entry, case))
    return found


def results_of(
    mistake: Mistake, cases: Sequence[tuple[CorpusCase, CaseInMemory]]
) -> tuple[ResultCollector, Counter[str]]:
    """Return the results of a mistake on cases, and the number of each verdict."""
    collector = ResultCollector()
    counts: Counter[str] = Counter()
    for entry, case in cases:
        observed: Observation | None = observe(MistakenBackend(mistake), case)
        if observed is None:
            continue
        verdict = Verdict.ERROR if observed.error else Verdict.FAIL if is_failure(observed, case) else Verdict.PASS
        counts[verdict] += 1
        record = observation_to_record(observed) if verdict is not Verdict.PASS else None
        collector.by_subject["planted"][entry.id] = CollectedResult(entry.level, verdict, record)
    return collector, counts


def main() -> int:
    """Print the outcome of each mistake, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--operator", action="append", default=[])
    given: Any = parser.parse_args()
    chosen = [each for each in MISTAKES if not given.operator or each.operator in given.operator]
    corpus = open_corpus(given.corpus)
    cases = examined(corpus, {each.operator for each in chosen})
    outcomes: Counter[str] = Counter()
    for mistake in chosen:
        collector, counts = results_of(mistake, cases[mistake.operator])
        diagnosed = diagnose_run(collector, corpus)
        names = [record.text for record in diagnosed.diagnoses]
        outcome = "not detected" if not counts[Verdict.FAIL] else "not named"
        if names:
            outcome = "right" if names == [mistake.name] else "WRONG"
        elif not mistake.name and counts[Verdict.FAIL]:
            outcome = "rightly not named"
        outcomes[outcome] += 1
        shown = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        failures = "".join(f" {each.code} {each.problem}" for each in diagnosed.undiagnosed)
        print_line(f"{outcome}: {mistake.operator} {mistake.text} ({shown}) {names}{failures}")
    print_line(f"{len(chosen)} mistakes of {len(cases)} operators: {dict(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
