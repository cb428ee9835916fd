"""Distributed jobs: work in numbered chunks, which processes on this machine or Dask workers execute.

The result of a chunk depends only on the job and the number of the chunk. If a chunk is executed twice, one result is
used. The results can be saved to a state file, so that an interrupted job can continue; see
docs/how-to/use-several-workers.md.
"""
