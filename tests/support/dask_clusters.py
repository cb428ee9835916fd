"""Dask clusters on this machine."""

from __future__ import annotations

from typing import Any


def make_cluster(workers: int, *, processes: bool = False) -> Any:
    """Start a cluster whose workers have one thread each, in this process or in processes of their own."""
    from distributed import LocalCluster  # its import takes half a second

    options = {"protocol": "tcp", "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    return LocalCluster(n_workers=workers, threads_per_worker=1, processes=processes, **options)
