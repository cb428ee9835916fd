"""The choice among the inputs that the suite makes: those with which a subject runs a model, or nodes have results."""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from conformance.base.errors import UsageError
from conformance.exact.models.external_data import initializer_arrays_in
from conformance.exact.models.input_files import required_input_names
from conformance.exact.models.model_validity import unnoticed_violation
from conformance.exact.reference.model_enclosures import enclose_model
from conformance.own.graphs.intermediate_values import SubjectRefused, run_once, set_data_folder
from conformance.own.graphs.tensor_borders import with_tensor_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conformance.own.graphs.model_inputs import InputSet
    from conformance.own.graphs.reading import LoadedModel
    from conformance.subjects.calling.subject_names import Subject


T = TypeVar("T")


def first_fitting(candidates: Iterable[T], faults: Callable[[T], int]) -> T:
    """Return the first candidate without faults, or else the first of those with the fewest.

    Args:
        candidates: the candidates, at least one.
        faults: returns the number of faults of a candidate.
    """
    found: list[tuple[int, T]] = []
    for each in candidates:
        count = faults(each)
        if not count:
            return each
        found.append((count, each))
    return min(found, key=itemgetter(0))[1]


def find_fitting_inputs(
    model: LoadedModel,
    subject: Subject,
    data_set: InputSet,
    others: Iterable[InputSet],
    progress: Callable[[str], None] = lambda _: None,
) -> InputSet:
    """Return the first inputs with which a subject runs a model; the given ones if it runs it with none.

    Args:
        model: the model.
        subject: the backend.
        data_set: pseudo-random inputs with chosen sizes.
        others: inputs with other chosen sizes and values.
        progress: is called with a text for the user.

    Raises:
        UsageError: it runs it with none, and the reference does not compute it with the given ones either: the sizes
            may not fit the model.
    """
    message = ""
    set_data_folder(subject.target, model.data_folder)
    for tried in chain([data_set], others):
        try:
            run_once(subject.target, model.original, tried.arrays)
        except SubjectRefused as refusal:
            if not refusal.is_error or unnoticed_violation(model.original):
                return data_set
            message = str(refusal)
            progress(f"{subject.id} does not run the model with the chosen inputs; others are tried")
        else:
            return tried
    if not _reference_computes(model, data_set):
        raise UsageError("chosen-inputs", subject=subject.id, error=message, options=" ".join(data_set.chosen))
    return data_set


def _reference_computes(model: LoadedModel, data_set: InputSet) -> bool:
    """Return whether the reference computes an output of a model."""
    made, (fed,) = with_tensor_inputs(model, [data_set])
    graph = made.prepared.graph
    inputs = dict(zip(required_input_names(graph), fed.arrays, strict=True))
    found = enclose_model(made.prepared, {**initializer_arrays_in(graph, model.data_folder), **inputs})
    return not all(isinstance(each, str) for each in found.values())
