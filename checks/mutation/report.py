"""Print mutation scores as text for people and as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checks.mutation.operators import ONNX_CASES
from conformance.base.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checks.mutation.operators import Detection, MutantResult, MutationScore
    from checks.mutation.passes import PassDetection, PassMutantResult, PassMutationScore
    from checks.mutation.variant_sweep import SweepResult
    from conformance.corpus.cases.corpus import Corpus


MAX_WEAKEST_SHOWN = 3
"""Number of mutants with the smallest margin that are shown for each operator family."""


def score_lines(score: MutationScore, swept: Sequence[SweepResult], *, verbose: bool) -> Iterator[str]:
    """Yield a table of the operator families, the smallest margins, and all survivors and false positives."""
    yield from _table_lines(score)
    for family, results in score.results.items():
        if verbose:
            yield from ("", f"{family}: each mutant and the first case that detects it")
            yield from map(_result_line, results)
        elif weakest := _weakest(results):
            yield from ("", f"{family}: the mutants detected with the smallest margin")
            yield from map(_result_line, weakest)
    if score.variants:
        yield from ("", *_variant_lines(score))
    yield from _sweep_lines(swept)
    yield from _violation_lines(score)


def score_document(corpus: Corpus, score: MutationScore, swept: Sequence[SweepResult]) -> dict[str, Any]:
    """Return the mutation score of the operator cases as a JSON document."""
    return {
        "corpus": {"version": corpus.version, "digest": corpus.digest, "cases": len(corpus.cases)},
        "passes": score.passes and all(one.passes for one in swept),
        "operators": {
            family: {**_counts(results), "mutants": [_result_document(result) for result in results]}
            for family, results in score.results.items()
        },
        "variants": [
            {
                "id": one.variant.id,
                "text": one.variant.text,
                "cases": one.cases,
                "false_positives": list(one.false_positives),
            }
            for one in score.variants
        ],
        "sweep": [vars(one) for one in swept],
    }


def _table_lines(score: MutationScore) -> Iterator[str]:
    heading = f"{'operator':<10}{'must mutants':>14}{'detected':>10}{'by onnx':>9}"
    yield f"{heading}{'should mutants':>16}{'detected':>10}"
    rows = {family: _counts(results) for family, results in score.results.items()}
    optimizers = [row for row in rows.values() if row["detected_by_onnx"] is not None]
    for family, row in {**rows, "optimizers": _sum(optimizers), "all": _sum(list(rows.values()))}.items():
        by_onnx = "-" if row["detected_by_onnx"] is None else row["detected_by_onnx"]
        yield (
            f"{family:<10}{row['must']:>14}{row['detected']:>10}{by_onnx:>9}"
            f"{row['should']:>16}{row['should_detected']:>10}"
        )
    total = _sum(optimizers)
    if total["must"]:
        ours, theirs = total["detected"], total["detected_by_onnx"]
        yield (
            f"Of {total['must']} must mutants of the training optimizers, this corpus detects {ours}"
            f" ({100 * ours // total['must']} %), and onnx's own {len(ONNX_CASES)} cases with their tolerance detect"
            f" {theirs} ({100 * theirs // total['must']} %)."
        )


def _counts(results: Sequence[MutantResult]) -> dict[str, Any]:
    must = [one for one in results if one.mutant.level is Level.MUST]
    below = [one for one in results if one.mutant.level is not Level.MUST]
    tested = [one for one in must if one.detected_by_onnx is not None]
    return {
        "must": len(must),
        "detected": sum(one.detection is not None for one in must),
        "detected_by_onnx": sum(bool(one.detected_by_onnx) for one in tested) if tested else None,
        "should": len(below),
        "should_detected": sum(one.detection is not None for one in below),
    }


def _sum(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = ("must", "detected", "should", "should_detected")
    by_onnx = [row["detected_by_onnx"] for row in rows]
    known = None if None in by_onnx else sum(by_onnx)
    return {**{name: sum(row[name] for row in rows) for name in names}, "detected_by_onnx": known}


def _result_line(result: MutantResult) -> str:
    mutant = result.mutant
    level = "" if mutant.level is Level.MUST else f" [{mutant.level}]"
    return f"  {mutant.id}{level}: {mutant.description}: {result.detection or 'NOT DETECTED'}"


def _weakest(results: Sequence[MutantResult]) -> list[MutantResult]:
    """Return the mutants with the smallest margins: their errors exceed the bounds least."""
    margins = [(one.detection.margin, one) for one in results if one.detection and one.detection.margin is not None]
    return [one for _, one in sorted(margins, key=lambda pair: pair[0])[:MAX_WEAKEST_SHOWN]]


def _variant_lines(score: MutationScore) -> Iterator[str]:
    failing = [one for one in score.variants if one.false_positives]
    runs = sum(one.cases for one in score.variants)
    yield f"{len(score.variants)} correct variants ran on {runs} must cases: {len(failing)} with false positives."
    for one in failing:
        yield f"  {one.variant.id} ({one.variant.text}) fails {', '.join(one.false_positives)}"


def _sweep_lines(swept: Sequence[SweepResult]) -> Iterator[str]:
    if not swept:
        return
    yield ""
    yield (
        "Sweep over random inputs, attributes and T. All elements of all variants are compared with a running bound."
        " The elements nearest to it, and one of every thousand at random, are compared with the oracle's bound."
    )
    heading = f"{'operator':<10}{'type':<8}{'elements':>10}{'largest/running':>17}{'checked':>9}{'unsettled':>11}"
    yield f"{heading}{'largest/bound':>15}{'median width':>14}  variant"
    for one in swept:
        yield (
            f"{one.operator:<10}{one.type:<8}{one.elements:>10}{one.screened:>17.3f}{one.checked:>9}"
            f"{one.unsettled:>11}{one.largest:>15.3f}{one.width:>14.2g}  {one.variant}"
        )


def _violation_lines(score: MutationScore) -> Iterator[str]:
    if score.survivors:
        yield f"{len(score.survivors)} must mutants survive:"
        yield from map(_result_line, score.survivors)
    if score.false_positives:
        yield f"{len(score.false_positives)} mutants fail a must case although their behaviour is permitted there:"
        yield from (
            f"  {one.mutant.id}: {one.mutant.description}: {one.false_positive}" for one in score.false_positives
        )


def _result_document(result: MutantResult) -> dict[str, Any]:
    mutant = result.mutant
    return {
        "id": mutant.id,
        "text": mutant.text,
        "clause": mutant.clause,
        "level": str(mutant.level),
        "convention": mutant.convention,
        "detection": _detection_document(result.detection),
        "false_positive": _detection_document(result.false_positive),
        "detected_by_onnx": result.detected_by_onnx,
    }


def _detection_document(detection: Detection | None) -> dict[str, Any] | None:
    if detection is None:
        return None
    return {"case": detection.case, "how": detection.how, "margin": detection.margin}


def pass_score_lines(score: PassMutationScore, *, verbose: bool) -> Iterator[str]:
    """Yield a table of the themes, and all survivors and false positives."""
    yield ""
    yield f"{'pass mutants':<18}{'number':>10}{'detected':>10}"
    for theme, results in score.results.items():
        yield f"{theme:<18}{len(results):>10}{_count_detected(results):>10}"
    every = [one for results in score.results.values() for one in results]
    yield f"{'all':<18}{len(every):>10}{_count_detected(every):>10}"
    if verbose:
        yield from ("", "each mutant of the pass and the first case that detects it")
        yield from (f"  {one.mutant.id}: {one.mutant.text}: {one.detection or 'NOT DETECTED'}" for one in every)
    if score.correct:
        failing = [one for one in score.correct if one.false_positives]
        cases = max(one.cases for one in score.correct)
        yield f"{len(score.correct)} correct optimizers ran on {cases} cases each: {len(failing)} with false positives."
        for result in failing:
            yield f"  {result.optimizer.id} ({result.optimizer.text}) fails {len(result.false_positives)} cases:"
            yield from (f"    {detection}" for detection in result.false_positives)
    if score.survivors:
        yield f"{len(score.survivors)} mutants of the pass survive:"
        yield from (f"  {one.mutant.id}: {one.mutant.text}" for one in score.survivors)


def pass_score_document(score: PassMutationScore) -> dict[str, Any]:
    """Return the score of the pass as JSON."""
    return {
        "mutants": [
            {
                "theme": theme,
                "id": one.mutant.id,
                "text": one.mutant.text,
                "detection": _pass_detection_document(one.detection),
            }
            for theme, results in score.results.items()
            for one in results
        ],
        "correct": [
            {
                "id": one.optimizer.id,
                "text": one.optimizer.text,
                "cases": one.cases,
                "false_positives": [_pass_detection_document(detection) for detection in one.false_positives],
            }
            for one in score.correct
        ],
    }


def _count_detected(results: Sequence[PassMutantResult]) -> int:
    return sum(one.detection is not None for one in results)


def _pass_detection_document(detection: PassDetection | None) -> dict[str, str] | None:
    return None if detection is None else {"case": detection.case, "violation": detection.violation}
