"""The Python interface: exact judgement of arrays, kernels, models and runtimes.

`from conformance import judge, assert_conforms` is all that a test needs. The page `docs/reference/python.md` describes
every name. The page `docs/contributing/package-layout.md` lists the subpackages; their names may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.base.errors import ConformanceError
    from conformance.exact.judgement.array_judgement import Judgement, assert_conforms, evaluate, judge
    from conformance.exact.judgement.hard_inputs import hard_inputs, nodes
    from conformance.own.audit.model_audit import audit_model
    from conformance.own.kernel_referee import judge_kernel
    from conformance.run.corpus_run.silent_run import run_corpus

__all__ = [
    "ConformanceError",
    "Judgement",
    "assert_conforms",
    "audit_model",
    "evaluate",
    "hard_inputs",
    "judge",
    "judge_kernel",
    "nodes",
    "run_corpus",
]

__version__ = "0.3.0"

PROJECT_URL = ""
"""Address of the project; empty until it is known. `python scripts/set_project_url.py URL` sets it in every file."""

_MODULE_OF_NAME = {
    "audit_model": "conformance.own.audit.model_audit",
    "judge_kernel": "conformance.own.kernel_referee",
    "run_corpus": "conformance.run.corpus_run.silent_run",
    **dict.fromkeys(("hard_inputs", "nodes"), "conformance.exact.judgement.hard_inputs"),
    "ConformanceError": "conformance.base.errors",
    **dict.fromkeys(
        ("Judgement", "assert_conforms", "evaluate", "judge"), "conformance.exact.judgement.array_judgement"
    ),
}


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it, which is imported at the first use of the name."""
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
