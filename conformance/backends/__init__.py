"""Backends: anything with ONNX's own interface, and the adapters for those that have none.

A backend is an object (a module or a class) with `prepare(model, device) → rep`, where `rep.run(inputs)` returns the
outputs in order: `onnx.backend.base.Backend`. It says that it cannot run a model by raising
`onnx.backend.test.runner.BackendIsNotSupposedToImplementIt`, `NotImplementedError` or `Unsupported`, at load or run.

An adapter is one file, with a class that derives from `host.Adapter`. It imports NumPy, its runtime and, if it must,
onnx; of this suite only `host`, beside it, so that the two run where nothing else of ours is installed. `reference` is
no adapter: it is the suite's own backend.
"""

from __future__ import annotations
