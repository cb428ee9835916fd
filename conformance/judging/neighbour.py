"""A second prepared model, whose runs come between those of the case's own: what the two share shows in the answers.

Nothing is made of how the second one's runs end; they are judged where it is a case itself.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from conformance.corpus.beside import case_beside

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.corpus.loading import LoadedCase


class Neighbour:
    """A model that has been prepared beside a case's.

    Args:
        prepare: what prepares a model beside the one that is prepared already.
        case: whose model it is. Its data sets are run in turn from the third on, so that of a model prepared twice no
            run has the inputs of the one before or after it.
    """

    def __init__(self, prepare: Callable[..., Any], case: LoadedCase) -> None:
        data_sets = [data_set.inputs for data_set in case.data_sets()]
        self._inputs = islice(cycle(data_sets), 2, None)
        self._prepared: Any = None
        with suppress(Exception):
            self._prepared = prepare(case.model, "CPU")

    def run(self) -> None:
        """Run it once on copies of its next inputs."""
        inputs = [array.copy() for array in next(self._inputs)]
        if self._prepared is not None:
            with suppress(Exception):
                self._prepared.run(inputs)


def neighbour_of(backend: Any, case: LoadedCase) -> Neighbour | None:
    """The neighbour that a case asks for, prepared; None where it asks for none.

    Args:
        backend: one that keeps a single model unless told otherwise may have `prepare_beside` besides `prepare`.

    Raises:
        CorpusError: what the case says of it is malformed.
    """
    other = case_beside(case)
    return None if other is None else Neighbour(getattr(backend, "prepare_beside", backend.prepare), other)
