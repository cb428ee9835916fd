"""From what a command line says of workers to those workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.campaigns.processes import ProcessWorkers
from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.campaigns.job import Workers


def workers_of(count: int | None, dask: str | None, notice: Callable[[str], None]) -> Workers:
    """The workers that `-n` and `--dask` ask for; by default this process alone.

    Args:
        count: processes of this machine.
        dask: the address of a scheduler of Dask's.
        notice: is given a sentence for each worker that dies, is gone or not fit.

    Raises:
        UsageError: both are given, or there are to be no workers.
    """
    if dask is None:
        return ProcessWorkers(1 if count is None else count, notice)
    if count is not None:
        raise UsageError("-n and --dask exclude each other.", "Dask's workers are as many as were started for it.")
    from conformance.campaigns.dask import DaskWorkers

    return DaskWorkers(dask, notice)
