"""Import of subjects written in Python, and the check of their options.

The options of a backend are the named parameters of its `prepare`, without the model and `device`. The options of a
graph optimizer are the named parameters of its function, without the model and `fixed_point`. A parameter `**options`
accepts any option; `**_` accepts none. An unknown option is an error of the user, not a verdict.

An adapter can have two further class methods:

- `check_options(**options)` raises ValueError(problem, hint) if this machine does not have what the options request.
- `required_provider(**options)` returns the execution provider or device that must run every node of a model.
"""

from __future__ import annotations

import platform
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.base.errors import SubjectError, UnknownName, UsageError
from conformance.exact.models.input_files import GraphInputs
from conformance.subjects.calling.harness import (
    Refused,
    installed_packages,
    load_target,
    prepare_model,
    required_provider,
    run_prepared,
)
from conformance.subjects.calling.request import format_exception, hint_for_refusal, in_process_request, suite_code
from conformance.subjects.calling.subject_names import Subject, SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Value
    from conformance.subjects.calling.harness import Request


def load_subject(named: SubjectName, implements: tuple[str, ...] = (), directory: Path | None = None) -> Subject:
    """Import a subject: a registered name, `package.module` or `package.module:Attribute`.

    Args:
        named: the subject.
        implements: passes of a graph optimizer that does not declare its passes.
        directory: folder that is searched for the subject's module; by default the current directory.

    Raises:
        UnknownName: no registered entry point and no module has this name.
        UsageError: the subject has no such option, or needs another Python than this one.
        SubjectError: the import fails, the object is not of the given kind, or this machine lacks what an option
            requests.
    """
    if named.release or named.python:
        raise UsageError("needs-other-python", subject=named.text)
    request = in_process_request(named, directory or Path.cwd())
    try:
        return _subject(named, request, implements)
    except Refused as error:
        area, _, code = error.code.partition(".")
        hint = hint_for_refusal(named, error.code, error.problem, error.hint)
        raise _ERRORS[area](code, error.problem, hint) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: functions of the subject answer for its options and its device
        hint = "Correct the subject: it answers for its options and its device before any case runs."
        raise SubjectError("start-refused", f"{named.text}: {format_exception(error)}", hint) from error


def _subject(named: SubjectName, request: Request, implements: tuple[str, ...]) -> Subject:
    target, version = load_target(request)
    environment: Any = {"python": platform.python_version(), "packages": tuple(installed_packages())}
    if named.kind is SubjectKind.BACKEND:
        provider = required_provider(target, named.options)
        backend = ConfiguredBackend(target, named.options)
        return Subject(named.text, version, backend, provider=provider, **environment)
    passes = tuple(str(name) for name in getattr(target, "passes", implements))
    if named.options:
        target = partial(target, **named.options)
    return Subject(named.text, version, target, SubjectKind.OPTIMIZER, passes, **environment)


_ERRORS = {"usage": UsageError, "name": UnknownName, "subject": SubjectError}
"""The class of an error by the area of its code."""


def load_backend(name: str) -> Subject:
    """Import the backend with this name; see `load_subject`."""
    return load_subject(SubjectName.parse(name, SubjectKind.BACKEND))


class ConfiguredBackend:
    """A backend in this process with its options and its device, which are passed to `prepare` with every model.

    Attributes:
        data_folder: the folder of the external data of the models; empty for models without external data.
    """

    def __init__(self, backend: Any, options: Mapping[str, str]) -> None:
        self._backend = backend
        self._options = options
        self.data_folder = ""

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> _PreparedModel:
        """Prepare a model with the options and the device of the subject."""
        options = {"device": device, **self._options}
        with suite_code():
            content = model.SerializeToString() if getattr(self._backend, "is_adapter", False) else b""
        prepared = prepare_model(self._backend, options, content, model, self.data_folder)
        return _PreparedModel(self._backend, prepared, model)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the backend, such as `supports_device`."""
        return getattr(self._backend, name)


class _PreparedModel:
    """A prepared model; it takes inputs in the order of the graph, and checks those of an adapter.

    Args:
        backend: the backend.
        prepared: what the backend returned for the model.
        model: the model.
    """

    def __init__(self, backend: Any, prepared: Any, model: onnx.ModelProto) -> None:
        self._backend = backend
        self._prepared = prepared
        self._inputs = GraphInputs.of(model) if getattr(backend, "is_adapter", False) else None

    @property
    def placement(self) -> Any:
        """Node placement as the backend reports it."""
        return getattr(self._prepared, "placement", None)

    def run(self, inputs: Sequence[Value]) -> Any:
        """Run the model, and convert array-like outputs to NumPy arrays."""
        feeds = self._inputs.by_name(inputs) if self._inputs else {str(i): array for i, array in enumerate(inputs)}
        return run_prepared(self._backend, self._prepared, feeds)
