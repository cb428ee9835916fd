"""Subjects in child processes: a subject can crash, hang or return malformed data, and the run continues.

The program in the child process is `conformance/subjects/calling/harness.py` for a subject written in Python. Modules,
from the child process to the suite:

- `subject_client`: one harness process, with its pipes and time limits, and the client that sends commands to it and
  restarts it after a failure.
- `protocol`: encoding of the messages, their limits, and the exceptions for failures of a subject.
- `proxies`: objects with the interface of a backend or graph optimizer; they forward calls to a client.
- `start_subjects`: starts all subjects of a run.

Harnesses in any language exchange the same messages: see docs/reference/protocol.md.
Their types are in `conformance/base/serialization/schemas/protocol.schema.json`.
"""
