"""The fake subject: backends and graph optimizers, each with one behaviour, for which it is named.

    -b fake_subject:always_wrong    -b fake_subject:hangs_on_run    -o fake_subject:drops_metadata

Apart from its behaviour, a backend returns the outputs of the reference. `chosen_by_model` has the behaviour that the
model names as its producer. The faults in `HARM` show only on models with Momentum; they kill or flood the process.
"""

# ruff: noqa: N801 - the names of classes are those of behaviours, as in a command line

from __future__ import annotations

import ctypes
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import onnx

from conformance.subjects.adapters.reference import ReferenceBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__version__ = "0.0.7"


def has_operator(model: onnx.ModelProto, operator: str) -> bool:
    """Return whether the main graph has a node of an operator; a function of a program can have its name."""
    return any(node.op_type == operator and node.domain != "acme" for node in model.graph.node)


class always_right:
    """Returns the outputs of the reference; the base class of the backends."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.right = ReferenceBackend.prepare(model)
        self.runs = 0

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        return cls(model)

    def run(self, inputs: Any) -> Any:
        outputs = self.answer(inputs, list(self.right.run(inputs)))
        self.runs += 1
        return outputs

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return outputs


def plus_one(outputs: list[Any]) -> list[Any]:
    """Return wrong outputs of the same types and shapes."""
    return [np.asarray(output + 1, dtype=output.dtype) for output in outputs]


def spread(output: Any) -> Any:
    """Return the same elements in memory that is neither contiguous nor writable."""
    array = np.repeat(output[..., np.newaxis], 2, axis=-1)[..., 0]
    array.flags.writeable = False
    return array


OUTPUTS: dict[str, Callable[[list[Any]], Any]] = {
    "always_wrong": plus_one,
    "returns_too_few": lambda outputs: outputs[:-1],
    "returns_too_many": lambda outputs: [*outputs, outputs[0]],
    "returns_nothing": lambda _: [],
    "returns_none": lambda _: None,
    "returns_one_array": lambda outputs: outputs[0],
    "returns_a_dict": lambda outputs: dict(enumerate(outputs)),
    "returns_nones": lambda outputs: [None for _ in outputs],
    "returns_lists": lambda outputs: [output.tolist() for output in outputs],
    "returns_scalars": lambda outputs: [float(output.flat[0]) for output in outputs],
    "wrong_type": lambda outputs: [o.astype(np.float64 if o.dtype == np.float32 else np.float32) for o in outputs],
    "wrong_shape": lambda outputs: [output[np.newaxis] for output in outputs],
    "returns_objects": lambda outputs: [output.astype(object) for output in outputs],
    "returns_records": lambda outputs: [np.zeros(o.shape, [("mantissa", "f4"), ("exponent", "i4")]) for o in outputs],
    "returns_swapped_bytes": lambda outputs: [output.astype(output.dtype.newbyteorder()) for output in outputs],
    "returns_a_tuple": tuple,
    "returns_other_layouts": lambda outputs: list(map(spread, outputs)),
}
"""Functions that turn the outputs of the reference into the value that a backend returns, by behaviour."""


class Panic(BaseException):
    """An exception like a Rust panic in Python: not derived from Exception."""


class Unsupported(Exception):
    """The exception of a runtime for unsupported models."""


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def not_supposed_to() -> Exception:
    """Return the exception of onnx for unsupported models."""
    from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

    return BackendIsNotSupposedToImplementIt("no such operator")


EXCEPTIONS_ON_LOAD: dict[str, Callable[[], BaseException]] = {
    "raises_on_prepare": lambda: ValueError("cannot read this model"),
    "exits_on_prepare": lambda: SystemExit(0),
    "says_not_supposed_to": not_supposed_to,
    "says_not_implemented": lambda: NotImplementedError("no such operator"),
    "says_unsupported": lambda: Unsupported("no such operator"),
}
EXCEPTIONS_ON_RUN: dict[str, Callable[[], BaseException]] = {
    "raises_on_run": lambda: ValueError("cannot run this model"),
    "exits_on_run": lambda: SystemExit(0),
    "panics_on_run": lambda: Panic("index out of range"),
    "raises_unprintable": UnprintableError,
    "raises_at_length": lambda: ValueError("long " * 10_000),
    "raises_strange_text": lambda: ValueError("one\u2028two\x85three\x0bfour\x00five\udcffsix\nseven<script>"),
    "says_unsupported_on_run": lambda: Unsupported("no such type"),
}


def define(name: str, base: type = always_right, **members: Any) -> None:
    """Define a backend in this module."""
    globals()[name] = type(name, (base,), {"__module__": __name__, **members})


def raising(create: Callable[[], BaseException]) -> Callable[..., Any]:
    """Return a method that raises an exception."""

    def method(*_: Any) -> Any:
        raise create()

    return method


for _name, _change in OUTPUTS.items():
    define(_name, answer=lambda _, __, outputs, change=_change: change(outputs))
for _name, _create in EXCEPTIONS_ON_LOAD.items():
    define(_name, __init__=raising(_create))
for _name, _create in EXCEPTIONS_ON_RUN.items():
    define(_name, answer=raising(_create))


class wrong_on_argmax(always_right):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return plus_one(outputs) if has_operator(self.model, "ArgMax") else outputs


class zero_on_argmax(always_right):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [np.zeros_like(output) for output in outputs] if has_operator(self.model, "ArgMax") else outputs


class raises_on_second_run(always_right):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        if self.runs:
            raise ValueError("has run before")
        return outputs


class supports_only_adam(always_right):
    def __init__(self, model: onnx.ModelProto) -> None:
        if any(node.op_type != "Adam" for node in model.graph.node):
            raise Unsupported("Adam only")
        super().__init__(model)


class prepares_none:
    @staticmethod
    def prepare(model: onnx.ModelProto, device: str = "CPU") -> Any:
        return None


class has_no_prepare:
    pass


class has_a_version(always_right):
    __version__ = "<script>1.2</script>"


class has_options:
    """Raises an error with its options and its device."""

    @staticmethod
    def prepare(model: onnx.ModelProto, device: str = "CPU", **options: str) -> Any:
        raise ValueError(f"{device} {options}")


class checks_fully(always_right):
    def __init__(self, model: onnx.ModelProto) -> None:
        import onnx

        onnx.checker.check_model(model, full_check=True)
        super().__init__(model)


class changes_its_model(always_right):
    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        model.graph.ClearField("node")


class changes_its_inputs(always_right):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        inputs[-1][...] += 1
        return outputs


class sets_an_element_of_its_input(always_right):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        outputs = [output.copy() for output in outputs]
        inputs[0][0, 0] = 7
        return outputs


class updates_in_place(always_right):
    """Returns its input arrays, overwritten with the correct values."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        X = next(array for array in inputs if array.shape == outputs[0].shape and array.dtype == outputs[0].dtype)
        X[...] = outputs[0]
        return [X, *outputs[1:]]


class keeps_state_between_runs(always_right):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return [np.asarray(output + self.runs, dtype=output.dtype) for output in outputs]


class reuses_its_buffers(always_right):
    """Returns the arrays of the previous run with new elements."""

    buffers: Any = None

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        self.buffers = self.buffers or outputs
        for buffer, output in zip(self.buffers, outputs, strict=True):
            buffer[...] = output
        return self.buffers


class keeps_the_newest_model(always_right):
    """Runs the model that was prepared last."""

    newest: ClassVar[Any] = None

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        type(self).newest = self.right

    def run(self, inputs: Any) -> Any:
        return list(self.newest.run(inputs))


class keeps_the_last_input(always_right):
    """Runs with the first input of the previous run, also of another model."""

    last: ClassVar[list[Any]] = []

    def run(self, inputs: Any) -> Any:
        first = self.last.pop() if self.last else inputs[0]
        self.last.append(inputs[0].copy())
        return super().run([first, *inputs[1:]])


class varies_on_argmax(always_right):
    """Correct, except every second time that a model with ArgMax is prepared."""

    __version__ = "1.31.1"
    prepared: ClassVar[Counter[bytes]] = Counter()

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        key = model.SerializeToString(deterministic=True)
        self.prepared[key] += 1
        self.is_wrong = has_operator(model, "ArgMax") and self.prepared[key] % 2 == 0

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return plus_one(outputs) if self.is_wrong else outputs


class follows_environment(always_right):
    """Fails on models with an operator as the variable `FAULTS` demands: `fail:Adam`, `error:ArgMax`."""

    __version__ = "1.31.1"

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        for fault in os.environ.get("FAULTS", "").split():
            kind, _, operator = fault.partition(":")
            if has_operator(self.model, operator):
                if kind == "fail":
                    return plus_one(outputs)
                raise NotImplementedError(kind) if kind == "unsupported" else RuntimeError(kind)
        return outputs


class prints_much(always_right):
    """Writes to standard output and error, also directly to the file descriptors."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        sys.stdout.write('{"record": "result"}\n')
        sys.stderr.write("noise\n")
        os.write(1, b"\x00\xff noise\n")
        return outputs


class interrupted(always_right):
    """Raises KeyboardInterrupt in the third case."""

    prepared = 0

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        interrupted.prepared += 1
        if interrupted.prepared == 3:
            interrupted.prepared = 0
            raise KeyboardInterrupt


class wrong_and_interrupted(interrupted):
    """Is wrong, and raises KeyboardInterrupt in the third case."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return plus_one(outputs)


class kills_its_process_once(always_right):
    """Kills its process the first time that it runs. It creates the file that the variable names, and then runs."""

    MARKER_VARIABLE = "FAKE_SUBJECT_DIED"

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        marker = Path(os.environ[self.MARKER_VARIABLE])
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return plus_one(outputs)


class only_first_tensor(always_right):
    """A mutant of the catalogue: it updates only the first of several tensors."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        from conformance.run.mutants import catalogue

        (mutant,) = (one for one in catalogue()["Momentum"] if one.id == "momentum.first_tensor_only")
        return mutant.backend.prepare(model, device)


class wrong_on_dilated_groups:
    """The reference evaluator of onnx, which computes a Conv of dilation 2 with 4 groups as one of dilation 1."""

    def __init__(self, model: onnx.ModelProto) -> None:
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        for node in changed.graph.node:
            attributes = {each.name: each for each in node.attribute}
            if node.op_type == "Conv" and attributes["group"].i == 4 and "dilations" in attributes:
                attributes["dilations"].ints[:] = [1, 1]
                attributes["pads"].ints[:] = [1, 1, 1, 1]
        from onnx.reference import ReferenceEvaluator  # late, because it takes a tenth of the start of a subject

        self.evaluator = ReferenceEvaluator(changed)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        return cls(model)

    def run(self, inputs: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs, strict=True)))


def harmless_backends() -> list[Any]:
    """Return the backends with wrong or unusual outputs or exceptions. Each judges a case alike at every time."""
    tables = (OUTPUTS, EXCEPTIONS_ON_LOAD, EXCEPTIONS_ON_RUN)
    others = [always_right, wrong_on_argmax, zero_on_argmax, raises_on_second_run, supports_only_adam, prepares_none]
    others += [changes_its_model, changes_its_inputs, updates_in_place, keeps_state_between_runs, reuses_its_buffers]
    return [*(globals()[name] for table in tables for name in table), *others, prints_much, has_a_version]


class chosen_by_model:
    """Has the behaviour that the model names as its producer."""

    @staticmethod
    def prepare(model: onnx.ModelProto, device: str = "CPU") -> Any:
        return globals()[model.producer_name].prepare(model, device)


# Backends that harm their process.


def segfault(*_: Any) -> Any:
    return ctypes.string_at(0)


def hang(*_: Any) -> Any:
    time.sleep(1000)


def sleeping_child(**options: Any) -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], **options)


def abort_with_message(_: Any) -> Any:
    os.write(2, b"thread panicked at 'index out of bounds'\n")
    os.abort()


def hang_while_told(outputs: Any) -> Any:
    while Path(os.environ["HANGS_WHILE"]).exists():
        time.sleep(0.05)
    return outputs


def ignore_sigterm(_: Any) -> Any:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1000)


def flood_stderr(outputs: Any) -> Any:
    """Write more than a pipe holds to stderr, then return a wrong output."""
    for number in range(50_000):
        os.write(2, b"warning %d: nothing to worry about\n" % number)
    return [output + 1 for output in outputs]


def print_to_stdout(outputs: Any) -> Any:
    print('{"seq":3,"outputs":[]}', flush=True)  # noqa: T201
    return outputs


def print_to_stdout_from_c(outputs: Any) -> Any:
    libc = ctypes.CDLL(None)
    libc.puts(b'{"seq":3,"outputs":[]}')
    libc.fflush(None)
    return outputs


def flood_stdout(outputs: Any) -> Any:
    for _ in range(20_000):
        os.write(1, b"progress " * 8 + b"\n")
    return outputs


def read_stdin(outputs: Any) -> Any:
    sys.stdin.read()
    os.read(0, 100)
    return outputs


def eat_memory(outputs: Any) -> Any:
    """Allocate too much memory, where the address space has a limit."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return outputs
    return np.ones(2**40, dtype=np.uint8)


def fork_and_leave_a_child(_: Any) -> Any:
    """Leave a child process that keeps the streams of its parent."""
    if os.fork() == 0:
        hang()
    segfault()


def leave_a_child_in_another_session(outputs: Any) -> Any:
    sleeping_child(start_new_session=True)
    return outputs


def kill_guard(_: Any) -> Any:
    """Kill the supervisor, and leave a child process in another session."""
    sleeping_child(start_new_session=True)
    os.kill(os.getppid(), signal.SIGKILL)
    hang()


def close_all_descriptors(_: Any) -> Any:
    os.closerange(0, 100)
    hang()


def remove_directory(outputs: Any) -> Any:
    """Change to a new directory, and remove it."""
    os.chdir(tempfile.mkdtemp())
    Path.cwd().rmdir()
    return outputs


def change_directory(outputs: Any) -> Any:
    os.chdir("/")
    return outputs


def remove_models(outputs: Any) -> Any:
    """Remove the folder to which the suite writes models."""
    shutil.rmtree(f"{os.environ['TMPDIR']}/../models")
    return outputs


def remove_modules(outputs: Any) -> Any:
    """Remove the modules of the suite and of NumPy from the process."""
    for name in list(sys.modules):
        if name.partition(".")[0] in {"conformance", "numpy"}:
            del sys.modules[name]
    return outputs


def recurse(outputs: Any) -> Any:
    return recurse(outputs)


def start_endless_threads(outputs: Any) -> Any:
    """Leave threads that a process joins when it ends, and threads that it does not join."""
    for is_daemon in (False, True):
        threading.Thread(target=hang, daemon=is_daemon).start()
    return outputs


def answer_twice_by_a_fork(outputs: Any) -> Any:
    """Return in two processes, which both have the streams of the protocol."""
    os.fork()
    return outputs


def overlap(outputs: Any) -> Any:
    """Return arrays that share the memory of the largest of them."""
    memory = max(outputs, key=lambda output: output.nbytes).copy()
    return [np.lib.stride_tricks.as_strided(memory, output.shape, (0,) * output.ndim) for output in outputs]


class lying_array(np.ndarray):
    """Is equal to everything, and has other bytes, shapes and elements than those in its memory."""

    shape = property(lambda _: (1,))
    size = nbytes = property(lambda _: 4)
    dtype = property(lambda _: np.dtype(np.float32))
    __eq__ = __array_ufunc__ = lambda *_, **__: True
    __hash__ = None
    tobytes = __bytes__ = lambda *_: bytes(4)


def masked(output: Any) -> Any:
    return np.ma.array(output + 1, mask=True)


class list_with_hanging_destructor(list):
    __del__ = hang


def write_gigabytes(outputs: Any) -> Any:
    """Write 10 GB to standard output."""
    block = b"progress\n" * 2**16
    for _ in range(10**10 // len(block)):
        os.write(1, block)
    return outputs


def open_many_files(outputs: Any) -> Any:
    """Keep 10,000 files open, or as many as the system allows."""
    _, largest = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(largest, 10_100), largest))
    for _ in range(10_000):
        try:
            _kept_open.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            break
    return outputs


_kept_open: list[int] = []


class on_momentum(always_right):
    """Calls a harmful function on load or on run of a model with Momentum."""

    harm_on_load: Any = None
    harm_on_run: Any = None

    def __init__(self, model: onnx.ModelProto) -> None:
        self.is_hit = has_operator(model, "Momentum")
        if self.is_hit and self.harm_on_load:
            self.harm_on_load()
        super().__init__(model)

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return self.harm_on_run(outputs) if self.is_hit and self.harm_on_run else outputs


HARM: dict[str, Callable[[Any], Any]] = {
    "segfaults_on_load": segfault,
    "hangs_on_load": hang,
    "exits_3_on_load": lambda _: os._exit(3),
    "segfaults_on_run": segfault,
    "aborts_on_run": abort_with_message,
    "is_killed_on_run": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "hangs_on_run": hang,
    "hangs_while_told": hang_while_told,
    "ignores_sigterm": ignore_sigterm,
    "floods_stderr": flood_stderr,
    "prints_to_stdout": print_to_stdout,
    "prints_to_stdout_from_c": print_to_stdout_from_c,
    "floods_stdout": flood_stdout,
    "reads_stdin": read_stdin,
    "eats_memory": eat_memory,
    "forks_and_leaves_a_child": fork_and_leave_a_child,
    "leaves_a_child_in_another_session": leave_a_child_in_another_session,
    "kills_its_guard": kill_guard,
    "exits_0_midway": lambda _: os._exit(0),
    "raises_systemexit": lambda _: sys.exit("no licence"),
    "closes_all_descriptors": close_all_descriptors,
    "changes_its_directory": change_directory,
    "removes_its_directory": remove_directory,
    "removes_its_models": remove_models,
    "lies_about_shapes": lambda outputs: [output[np.newaxis] for output in outputs],
    "lies_about_types": lambda outputs: [output.astype(np.float64) for output in outputs],
    "recurses_without_end": recurse,
    "starts_endless_threads": start_endless_threads,
    "answers_twice_by_a_fork": answer_twice_by_a_fork,
    "returns_overlapping_arrays": overlap,
    "returns_lying_arrays": lambda outputs: [(output + 1).view(lying_array) for output in outputs],
    "returns_masked_arrays": lambda outputs: list(map(masked, outputs)),
    "returns_much": lambda outputs: [np.zeros(2**28, np.int8) for _ in outputs],
    "hangs_when_freed": list_with_hanging_destructor,
    "writes_gigabytes": write_gigabytes,
    "opens_many_files": open_many_files,
}
"""The harm that a backend does on load, or on run, with the outputs of the reference."""

for _name, _harm in HARM.items():
    if _name.endswith("_on_load"):
        define(_name, on_momentum, harm_on_load=lambda self, harm=_harm: harm(self))
    else:
        define(_name, on_momentum, harm_on_run=lambda _, outputs, harm=_harm: harm(outputs))

define("removes_modules", on_momentum, harm_on_run=lambda _, outputs: remove_modules(outputs))


class looks_around(always_right):
    """Raises an error that describes the environment of the process."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        found = {
            "home": os.environ["HOME"],
            "here": str(Path.cwd()),
            "telemetry": os.environ["ORT_DISABLE_TELEMETRY"],
            "installers": [os.environ[name] for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "UV_OFFLINE")],
            "leader": os.getsid(0) == os.getpid() == os.getpgrp(),
            "open": sorted(int(path.name) for path in Path("/dev/fd").iterdir()),
            "files": sorted(path.name for path in Path.cwd().iterdir()),
        }
        raise ValueError(repr(found))


# Backends with the provider Acme that report where their nodes ran.


class runs_all(always_right):
    placement: Any = {"Acme": {"ArgMax": 1, "Exp": 2}}  # noqa: RUF012

    @classmethod
    def required_provider(cls, **_: str) -> str | None:
        return "Acme"


PLACEMENTS: dict[str, Any] = {
    "runs_nothing": {"CPU": {"ArgMax": 1, "Exp": 2}},
    "runs_some": {"CPU": {"ArgMax": 1, "Cast": 1}, "Acme": {"Exp": 2}},
    "leaves_casts": {"CPU": {"Cast": 4, "Identity": 1, "MemcpyToHost": 2}, "Acme": {"Exp": 2}},
    "has_nothing_to_run": {"CPU": {"Cast": 1}},
    "tells_nothing": None,
    "tells_nonsense": {"Acme": "all of it"},
}
for _name, _placement in PLACEMENTS.items():
    define(_name, runs_all, placement=_placement)


class tells_late(runs_all):
    """Reports the placement after the first run."""

    @property
    def placement(self) -> Any:  # type: ignore[override]
        return PLACEMENTS["runs_nothing"] if self.runs else None


class may_fall_back(runs_all):
    placement = PLACEMENTS["runs_nothing"]

    @classmethod
    def required_provider(cls, **_: str) -> str | None:
        return None


class refuses_all(runs_all):
    """Rejects every model before it places a node."""

    def __init__(self, model: onnx.ModelProto) -> None:
        raise ValueError("this is no model")


class refuses_when_run(runs_all):
    """Reports the placement, then rejects the model at run."""

    def __init__(self, model: onnx.ModelProto) -> None:
        pass

    def run(self, inputs: Any) -> Any:
        raise ValueError("this is no input")


# Backends for models of any operators: onnx's evaluator after a change of the model, for `blame`.


def copy_of(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = type(model)()
    copy.CopyFrom(model)
    return copy


def replace_operator(nodes: Iterable[onnx.NodeProto], old: str, new: str) -> None:
    for node in nodes:
        if node.op_type == old:
            node.op_type = new


class correct:
    """onnx's evaluator, after a change of the model."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        from onnx.reference import ReferenceEvaluator

        changed = copy_of(model)
        cls.change(changed)

        class Prepared:
            def run(self, inputs: Sequence[Any]) -> list[Any]:
                names = [value.name for value in changed.graph.input]
                with np.errstate(all="ignore"):
                    results = ReferenceEvaluator(changed).run(None, dict(zip(names, inputs, strict=True)))
                return [np.asarray(each) for each in cls.finish(results)]

        return Prepared()

    @classmethod
    def change(cls, model: onnx.ModelProto) -> None:
        pass

    @classmethod
    def finish(cls, results: list[Any]) -> list[Any]:
        return results


class scaled_correct(correct):
    """Changes the outputs of onnx's evaluator."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        prepared = super().prepare(model)

        class Other:
            def run(self, inputs: Sequence[Any]) -> list[Any]:
                return [cls.alter(model, output) for output in prepared.run(inputs)]

        return Other()

    @staticmethod
    def alter(model: onnx.ModelProto, output: Any) -> Any:
        return output


class wrong_transform(scaled_correct):
    """Returns every output of a model with a DFT one and a half times as large."""

    @staticmethod
    def alter(model: onnx.ModelProto, output: Any) -> Any:
        return output * output.dtype.type(1.5 if has_operator(model, "DFT") else 1)


class wrong_power_of_zero(scaled_correct):
    """Rounds a square in another direction, and adds 1 for every other exponent."""

    @staticmethod
    def alter(model: onnx.ModelProto, output: Any) -> Any:
        from onnx.numpy_helper import to_array

        is_square = any(2 in to_array(tensor) for tensor in model.graph.initializer)
        return np.nextafter(output, np.inf, dtype=output.dtype) + (not is_square)


class positive_zeros(scaled_correct):
    """Loses the sign of zeros."""

    @staticmethod
    def alter(model: onnx.ModelProto, output: Any) -> Any:
        return output + output.dtype.type(0)


class wrong_abs(correct):
    """Computes Abs as Neg."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> None:
        from conformance.exact.models.graphs import iter_nodes

        replace_operator(iter_nodes(model.graph), "Abs", "Neg")


class wrong_abs_in_functions(correct):
    """Computes Abs as Neg in model-local functions only."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> None:
        replace_operator((node for function in model.functions for node in function.node), "Abs", "Neg")


class wrong_abs_anywhere(correct):
    """Computes Abs as Neg, also in model-local functions."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> None:
        wrong_abs_in_functions.change(model)
        wrong_abs.change(model)


class wrong_abs_in_loops(correct):
    """Computes Abs as Neg in bodies only."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> None:
        from conformance.exact.models.graphs import iter_nodes, subgraphs_of

        for node in model.graph.node:
            for graph in subgraphs_of(node):
                replace_operator(iter_nodes(graph), "Abs", "Neg")


class wrong_fused_mul_add(correct):
    """Has a wrong kernel for an Add after a Mul whose result is no output."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> None:
        outputs = {value.name for value in model.graph.output}
        products = {node.output[0] for node in model.graph.node if node.op_type == "Mul"} - outputs
        replace_operator((node for node in model.graph.node if products.intersection(node.input)), "Add", "Sub")


class raises_for_abs(correct):
    """Does not run Abs."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> None:
        if has_operator(model, "Abs"):
            raise RuntimeError("no kernel for Abs")


class not_deterministic(correct):
    """Adds the number of the run to every output."""

    counted = itertools.count()

    @classmethod
    def finish(cls, results: list[Any]) -> list[Any]:
        number = next(cls.counted)
        return [each + each.dtype.type(number) for each in results]


class fails_in_run_1(correct):
    """Raises in the first run."""

    counted = itertools.count(1)
    failing = 1

    @classmethod
    def finish(cls, results: list[Any]) -> list[Any]:
        if next(cls.counted) == cls.failing:
            raise RuntimeError("out of luck")
        return results


class fails_in_run_2(fails_in_run_1):
    """Raises in the second run."""

    counted = itertools.count(1)
    failing = 2


# Graph optimizers.


def leaves_it(model: onnx.ModelProto) -> onnx.ModelProto:
    return copy_of(model)


def never_fires(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model unchanged, without declared passes."""
    return copy_of(model)


def fires(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """Apply the pass without declaring it."""
    from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate

    return eliminate(model, fixed_point)


def doubles_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Multiply all initializers by 2, for which it needs their elements."""
    for tensor in model.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(2 * onnx.numpy_helper.to_array(tensor), tensor.name))
    return model


def drops_metadata(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = copy_of(model)
    del copy.metadata_props[:]
    return copy


def says_how(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """Return a copy with a note whether a fixed point was requested."""
    copy = copy_of(model)
    copy.doc_string = f"fixed_point={fixed_point}"
    return copy


says_how.passes = ("a_pass", "another")  # type: ignore[attr-defined]


def takes_options(model: onnx.ModelProto, level: str = "none") -> onnx.ModelProto:
    """Return a copy with a note of its option."""
    copy = copy_of(model)
    copy.doc_string = level
    return copy


def names_nodes_of_the_caller(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy, and name each Exp of the input model."""
    copy = copy_of(model)
    for node in model.graph.node:
        if node.op_type == "Exp":
            node.name = "mine"
    return copy


def renames_the_input_of_the_caller(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.input[0].name = "renamed"
    return model


def removes_nodes_of_the_caller(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = copy_of(model)
    model.graph.ClearField("node")
    return copy


def optimizes_to_none(model: onnx.ModelProto) -> Any:
    return None


def raises(model: onnx.ModelProto) -> Any:
    raise ValueError("cannot rewrite this")


def raises_not_implemented(model: onnx.ModelProto) -> Any:
    raise NotImplementedError("no such opset")


def aborts(model: onnx.ModelProto) -> Any:
    os.abort()


def hangs(model: onnx.ModelProto) -> Any:
    time.sleep(1000)


def cannot_rewrite_abs(model: onnx.ModelProto) -> onnx.ModelProto:
    """Fail on a model with Abs."""
    if has_operator(model, "Abs"):
        raise RuntimeError("cannot rewrite Abs")
    return model


def returns_invalid_model(model: onnx.ModelProto) -> onnx.ModelProto:
    """Remove the producer of a value that is still used."""
    copy = copy_of(model)
    place = next((number for number, node in enumerate(copy.graph.node) if node.op_type == "Abs"), None)
    if place is not None:
        del copy.graph.node[place]
    return copy


# Graph optimizers that list their passes.

TEN_PASSES = [f"pass_{number}" for number in range(10)]

INJECTED_PASS = """</title><script>'pass"</script><a href javascript:pass>"""
"""The name of a pass that is HTML."""


def with_passes(
    rewrite: Callable[[onnx.ModelProto, list[str]], None], names: Sequence[str] = TEN_PASSES
) -> Callable[..., onnx.ModelProto]:
    """Return a graph optimizer with passes; `rewrite` changes a model by the passes that are chosen."""

    def optimize(model: onnx.ModelProto, *, passes: str = "") -> onnx.ModelProto:
        from conformance.subjects.adapters.optimizers import LIST_PASSES, chosen_passes, list_of_passes

        if passes == LIST_PASSES:
            return list_of_passes(model, names)
        rewritten = copy_of(model)
        rewrite(rewritten, chosen_passes(passes, names))
        return rewritten

    return optimize


def negates_abs(after: set[str]) -> Callable[[onnx.ModelProto, list[str]], None]:
    """Return a rewrite of Abs to Neg, which is done if these passes are chosen."""

    def rewrite(model: onnx.ModelProto, passes: list[str]) -> None:
        if after <= set(passes):
            replace_operator(model.graph.node, "Abs", "Neg")

    return rewrite


wrong_in_one_pass = with_passes(negates_abs({"pass_6"}))
wrong_in_two_passes_together = with_passes(negates_abs({"pass_2", "pass_7"}))
wrong_round_trip = with_passes(negates_abs(set()))
wrong_in_injected_pass = with_passes(negates_abs({INJECTED_PASS}), ["pass_0", INJECTED_PASS])


@with_passes
def removes_softmax(model: onnx.ModelProto, passes: list[str]) -> None:
    """`pass_3` removes a Softmax before an ArgMax, which is correct in the reals."""
    if "pass_3" not in passes:
        return
    sources = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Softmax"}
    for node in model.graph.node:
        if node.op_type == "ArgMax":
            node.input[0] = sources.get(node.input[0], node.input[0])
    kept = [node for node in model.graph.node if node.op_type != "Softmax"]
    del model.graph.node[:]
    model.graph.node.extend(kept)


# Backends that run models of one node, for the census.


class correctly_rounded:
    """Computes correctly rounded Exp, Log and Sqrt, Softmax of rows and ArgMax of pairs."""

    __version__ = "1"

    def __init__(self, model: onnx.ModelProto) -> None:
        (node,) = model.graph.node
        self.operator = node.op_type
        self.last = any(one.name == "select_last_index" and one.i for one in node.attribute)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        return cls(model)

    def run(self, inputs: Any) -> Any:
        from conformance.studies.census.correct_rounding import FUNCTIONS, round_to
        from conformance.studies.census.float_ordinals import FLOAT_TYPES

        (X,) = inputs
        with np.errstate(all="ignore"):
            if self.operator == "ArgMax":
                return [self.argmax(X)]
            if self.operator in FUNCTIONS:
                float_type = next(float_type for float_type in FLOAT_TYPES.values() if float_type.dtype == X.dtype)
                Y = round_to(float_type, FUNCTIONS[self.operator].in_double(X.astype(np.float64)))
                return [self.plant(X, Y.copy(), float_type)]
            return [self.softmax(X.astype(np.float64)).astype(X.dtype)]

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        return Y

    def softmax(self, X: Any) -> Any:
        Y = np.exp(X - X.max(axis=1, keepdims=True))
        return Y / Y.sum(axis=1, keepdims=True)

    def argmax(self, X: Any) -> Any:
        wins = X[:, 1] >= X[:, 0] if self.last else X[:, 1] > X[:, 0]
        return wins.astype(np.int64)


def positions_of(values: Any, float_type: Any, X: Any) -> Any:
    """Return the positions of these values in X."""
    wanted = np.asarray(values).astype(float_type.dtype)
    return np.flatnonzero(np.isin(X.astype(np.float64), wanted.astype(np.float64)))


class out_of_order_once(correctly_rounded):
    """Returns a value at 5 that is 200 ordinals too large, so that the next value is smaller."""

    arguments: tuple[float, ...] = (5.0,)

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        for i in positions_of(self.arguments, float_type, X):
            Y[i] = float_type.consecutive_values(int(float_type.ordinals(Y[i : i + 1])[0]) + 200, 1)[0]
        return Y


class out_of_order_seven_times(out_of_order_once):
    arguments = (-4.0, -2.0, -1.0, 1.0, 2.0, 3.0, 6.0)


class off_by_one_and_a_half(correctly_rounded):
    """Returns the neighbour of the correctly rounded value at 3, which has an error of 1 to 1.5 ULP."""

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        for i in positions_of([3.0], float_type, X):
            ordinal = int(float_type.ordinals(Y[i : i + 1])[0])
            Y[i] = float_type.consecutive_values(ordinal + (1 if float(Y[i]) > np.exp(3.0) else -1), 1)[0]
        return Y


class other_alone(correctly_rounded):
    """Returns the value of the next argument in short tensors."""

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        return Y if len(X) > 100 else np.append(Y[1:], Y[-1:])


class one_nan(correctly_rounded):
    planted = np.nan

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        Y[positions_of([0.5], float_type, X)] = self.planted
        return Y


class one_infinity(one_nan):
    planted = np.inf


class flushes_subnormals(correctly_rounded):
    """Returns 0 instead of a subnormal value."""

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        Y[np.abs(Y.astype(np.float64)) < float(float_type.format.smallest_normal)] = 0
        return Y


class ties_once(correctly_rounded):
    """Returns the value of the next argument at 1."""

    def plant(self, X: Any, Y: Any, float_type: Any) -> Any:
        for i in positions_of([1.0], float_type, X):
            Y[i] = Y[i + 1]
        return Y


class not_shift_symmetric(correctly_rounded):
    """Computes Softmax without subtracting the largest element: rows of large elements give NaN."""

    def softmax(self, X: Any) -> Any:
        Y = np.exp(X.astype(np.float16).astype(np.float32)).astype(np.float16)
        return Y / Y.sum(axis=1, keepdims=True)


class softmax_out_of_order_once(correctly_rounded):
    """Swaps the elements of the result for the row [0, 2]."""

    def softmax(self, X: Any) -> Any:
        Y = super().softmax(X)
        planted = (X[:, 0] == 0) & (X[:, 1] == 2)
        Y[planted] = Y[planted][:, ::-1]
        return Y


class softmax_out_of_order_in_seventeen(correctly_rounded):
    """Returns 0 for the largest element of a row of 17 elements if it is the sixth."""

    def softmax(self, X: Any) -> Any:
        Y = super().softmax(X)
        if X.shape[1] == 17:
            Y[X.argmax(axis=1) == 5, 5] = 0
        return Y


class argmax_prefers_one(correctly_rounded):
    """Returns 1 for the ArgMax of [2, 1]."""

    def argmax(self, X: Any) -> Any:
        Y = super().argmax(X)
        Y[(X[:, 0] == 2) & (X[:, 1] == 1)] = 1
        return Y


class takes_one_size(correctly_rounded):
    """Accepts only inputs of the size of the first input of a model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        self.size = model.graph.input[0].type.tensor_type.shape.dim[0].dim_value

    def run(self, inputs: Any) -> Any:
        self.size = self.size or len(inputs[0])
        if len(inputs[0]) != self.size:
            raise ValueError(f"takes {self.size} elements")
        return super().run(inputs)


class supports_nothing(correctly_rounded):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        raise NotImplementedError("nothing at all")


class gives_doubles(correctly_rounded):
    def run(self, inputs: Any) -> Any:
        return [Y.astype(np.float64) for Y in super().run(inputs)]
