"""Adapters: classes that give runtimes the backend interface of the suite.

A backend is a module or class with ONNX's interface `onnx.backend.base.Backend`: `prepare(model, device)` returns an
object whose `run(inputs)` returns the outputs in order. It reports an unsupported model by raising
`onnx.backend.test.runner.BackendIsNotSupposedToImplementIt`, `NotImplementedError` or `Unsupported`.

An adapter is one file with a class that derives from `server.Adapter`. It imports NumPy, its runtime, onnx if needed,
and only `server` from this suite. Both files therefore also run in a Python in which this suite is not installed.
`reference` is not an adapter: it is the reference of this suite as a backend.
"""

from __future__ import annotations
