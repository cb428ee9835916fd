"""Backends that harm their process on models with Momentum, named for the harm; correct on other models.

They must run in isolated processes, because they would kill the process of the tests.
"""

# ruff: noqa: N801 - the names are told as they stand, beside those of the harnesses

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fake_backends as fakes
import numpy as np


class OnMomentum(fakes.AlwaysRight):
    """Calls a harmful function on load or on run of a model with Momentum."""

    def __init__(self, model: Any) -> None:
        self.is_hit = any(node.op_type == "Momentum" for node in model.graph.node)
        if self.is_hit:
            self.harm_on_load()
        super().__init__(model)

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        return self.harm_on_run(outputs) if self.is_hit else outputs

    def harm_on_load(self) -> None:
        pass

    def harm_on_run(self, outputs: list[Any]) -> Any:
        return outputs


class segfaults_on_load(OnMomentum):
    def harm_on_load(self) -> None:
        ctypes.string_at(0)


class segfaults_on_run(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        return ctypes.string_at(0)


class aborts_on_run(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        os.write(2, b"thread panicked at 'index out of bounds'\n")
        os.abort()


class is_killed_on_run(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class hangs_on_load(OnMomentum):
    def harm_on_load(self) -> None:
        time.sleep(1000)


class hangs_on_run(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        time.sleep(1000)


class hangs_while_told(OnMomentum):
    """Hang as long as the file exists that the environment names."""

    def harm_on_run(self, outputs: list[Any]) -> Any:
        while Path(os.environ["HANGS_WHILE"]).exists():
            time.sleep(0.05)
        return outputs


class ignores_sigterm(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1000)


class floods_stderr(OnMomentum):
    """Write more than a pipe holds to stderr, then return a wrong output."""

    def harm_on_run(self, outputs: list[Any]) -> Any:
        for number in range(50_000):
            os.write(2, b"warning %d: nothing to worry about\n" % number)
        return [output + 1 for output in outputs]


class prints_to_stdout(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        print('{"seq":3,"outputs":[]}')  # noqa: T201
        sys.stdout.flush()
        return outputs


class prints_to_stdout_from_c(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        libc = ctypes.CDLL(None)
        libc.puts(b'{"seq":3,"outputs":[]}')
        libc.fflush(None)
        return outputs


class floods_stdout(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        for _ in range(20_000):
            os.write(1, b"progress " * 8 + b"\n")
        return outputs


class reads_stdin(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        sys.stdin.read()
        os.read(0, 100)
        return outputs


class eats_memory(OnMomentum):
    """Allocate too much memory; it raises with and without a limit of the address space."""

    def harm_on_run(self, outputs: list[Any]) -> Any:
        if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
            return outputs
        return np.ones(2**40, dtype=np.uint8)


class forks_and_leaves_a_child(OnMomentum):
    """Leave a child process that keeps the streams of its parent."""

    def harm_on_run(self, outputs: list[Any]) -> Any:
        if os.fork() == 0:
            time.sleep(1000)
        ctypes.string_at(0)


class leaves_a_child_in_another_session(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
        return outputs


class kills_its_guard(OnMomentum):
    """Kill the supervisor, and leave a child process in another session."""

    def harm_on_run(self, outputs: list[Any]) -> Any:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)


class exits_0_midway(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        os._exit(0)


class exits_3_on_load(OnMomentum):
    def harm_on_load(self) -> None:
        os._exit(3)


class raises_systemexit(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        sys.exit("no licence")


class closes_all_descriptors(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        os.closerange(0, 100)
        time.sleep(1000)


class changes_its_directory(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        os.chdir("/")
        return outputs


class removes_its_models(OnMomentum):
    """Remove the folder to which the suite writes models."""

    def harm_on_run(self, outputs: list[Any]) -> Any:
        shutil.rmtree(f"{os.environ['TMPDIR']}/../models")
        return outputs


class lies_about_shapes(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        return [output[np.newaxis] for output in outputs]


class lies_about_types(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        return [output.astype(np.float64) for output in outputs]


class recurses_without_end(OnMomentum):
    def harm_on_run(self, outputs: list[Any]) -> Any:
        return self.harm_on_run(outputs)


class looks_around(fakes.AlwaysRight):
    """Raise an error that describes the environment of the process."""

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


class has_options:
    """Raise an error with its options and its device."""

    @staticmethod
    def prepare(model: Any, device: str = "CPU", **options: str) -> Any:
        raise ValueError(f"{device} {options}")
