"""The pytest plugin: an item of each case and subject, so that `-k`, `-n`, `-x` and `--lf` are pytest's own.

Loaded with every pytest where the suite is installed, so nothing heavy is imported before `--onnx-backend` asks for it.
The items' own protocol is one call and one report: cases take well under a millisecond, fixtures would cost more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.run.items import IS_OF_RUN, PLUGIN, SETTINGS, ConformanceItem, CorpusFile


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    group = parser.getgroup("onnx-conformance")
    group.addoption(
        "--onnx-backend",
        action="append",
        default=[],
        metavar="NAME",
        help="run the cases on this backend: onnxruntime, package.module, package.module:Attribute; repeatable",
    )
    group.addoption(
        "--onnx-optimizer",
        action="append",
        default=[],
        metavar="NAME",
        help="run the cases of the pass on this graph optimizer: onnxoptimizer, package.module:function; repeatable",
    )
    group.addoption(
        "--onnx-claims",
        action="append",
        default=[],
        metavar="PASS",
        help="a pass that graph optimizers implement which do not say so themselves; repeatable",
    )
    group.addoption("--onnx-data", default=None, metavar="DIR", help="the corpus (default: the bundled one)")
    group.addoption("--onnx-case", action="append", default=[], metavar="ID", help="only this case; repeat for several")
    group.addoption(
        "--onnx-level",
        default="must",
        choices=["must", "should"],
        help="up to which level a surprise fails (default: must)",
    )
    group.addoption(
        "--onnx-expect",
        action="append",
        default=[],
        metavar="FILE",
        help="known non-passes of a backend, a TOML file; repeat for several",
    )
    group.addoption("--onnx-shard", default=None, metavar="N/M", help="only the Nth of M parts of the cases")
    group.addoption("--onnx-repeat", default=1, type=int, metavar="N", help="run every case N times")
    group.addoption(
        "--onnx-require",
        action="append",
        default=[],
        metavar="OPERATOR",
        help="fail where this operator is unsupported; repeat for several",
    )
    group.addoption(
        "--onnx-baseline", default=None, metavar="FILE", help="results.jsonl of an earlier run: only regressions fail"
    )
    group.addoption(
        "--onnx-profile", default=None, metavar="NAME", help="what is asked beyond the specification: sonnx, or a file"
    )
    group.addoption("--onnx-no-diagnosis", action="store_true", help="do not look for what explains the failures")
    group.addoption("--onnx-quality", action="store_true", help="tell how accurate answers are, beside their verdicts")
    group.addoption("--onnx-in-process", action="store_true", help="run subjects in Python in pytest's own process")
    group.addoption(
        "--onnx-timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds for a subject to start, and for each case",
    )
    group.addoption("--onnx-memory", default="", metavar="SIZE", help="address space of a subject's process, as in 4G")
    group.addoption("--onnx-results", default=None, metavar="FILE", help="write results.jsonl there")


def pytest_configure(config: pytest.Config) -> None:
    """Where a backend is named: open the corpus, load the subjects, and have the corpus collected."""
    named = config.getoption("onnx_backend") or config.getoption("onnx_optimizer")
    if not (named or config.pluginmanager.has_plugin(PLUGIN) or _told(config)):
        return
    session: Any = config.pluginmanager.get_plugin(PLUGIN) or _new_session(config)
    session.picked = _picked(config)
    if str(session.manifest) not in config.args:
        config.args.append(str(session.manifest))


def _picked(config: pytest.Config) -> dict[str, str]:
    """What pytest was told that leaves items out, by option; ids of items are told as `pytest`."""
    options = {"-k": "keyword", "-m": "markexpr", "--deselect": "deselect", "--lf": "lf", "--sw": "stepwise"}
    given = {name: config.getoption(option, "") for name, option in options.items()}
    ids = [str(argument) for argument in config.invocation_params.args if "::" in str(argument)]
    given["pytest"] = [id for id in ids if not id.startswith("-")]
    told = {name: " ".join(value) if isinstance(value, list) else value for name, value in given.items() if value}
    return {name: "yes" if value is True else str(value) for name, value in told.items()}


def _new_session(config: pytest.Config) -> Any:
    from conformance.errors import ConformanceError
    from conformance.isolation.limits import Limits, bytes_of
    from conformance.run.selection import Selection, Shard
    from conformance.run.session import ConformanceSession
    from conformance.run.settings import Settings
    from conformance.subjects.naming import SubjectKind, SubjectName
    from conformance.verdicts import Level

    option = config.getoption
    if told := _told(config):
        return _session_of_worker(config, told)
    try:
        settings = Settings(
            subjects=tuple(SubjectName.of(text, kind) for kind in SubjectKind for text in option(f"onnx_{kind}")),
            data=Path(option("onnx_data")) if option("onnx_data") else None,
            selection=Selection(cases=tuple(option("onnx_case"))),
            level=Level(option("onnx_level")),
            expect=tuple(Path(path) for path in option("onnx_expect")),
            results=Path(option("onnx_results")) if option("onnx_results") else None,
            claims=tuple(option("onnx_claims")),
            diagnosis=not option("onnx_no_diagnosis"),
            quality=option("onnx_quality"),
            shard=Shard.read(option("onnx_shard")) if option("onnx_shard") else None,
            repeat=max(1, option("onnx_repeat")),
            require=tuple(option("onnx_require")),
            baseline=Path(option("onnx_baseline")) if option("onnx_baseline") else None,
            profile=option("onnx_profile"),
            in_process=option("onnx_in_process"),
            limits=Limits(option("onnx_timeout"), bytes_of(option("onnx_memory"))),
        )
        session = ConformanceSession(settings)
    except ConformanceError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(session, PLUGIN)
    return session


def _told(config: pytest.Config) -> dict[str, Any]:
    """What the controller of xdist told this process, if it is a worker of a run."""
    workerinput: dict[str, Any] = getattr(config, "workerinput", {})
    return workerinput if SETTINGS in workerinput else {}


def _session_of_worker(config: pytest.Config, told: dict[str, Any]) -> Any:
    from conformance.run.processes import introductions
    from conformance.run.resuming import done_before
    from conformance.run.session import ConformanceSession
    from conformance.run.settings import Settings
    from conformance.run.watching import end_before_runtimes

    session = ConformanceSession(
        Settings.from_json(told[SETTINGS]), introductions=introductions(told), done=done_before(told)
    )
    config.pluginmanager.register(session, PLUGIN)
    if IS_OF_RUN in told:
        end_before_runtimes()
    return session


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The corpus's manifest, and no other file, is collected."""
    session: Any = parent.config.pluginmanager.get_plugin(PLUGIN)
    if session is None or file_path != session.manifest:
        return None
    return CorpusFile.from_parent(parent, path=file_path, nodeid="onnx-conformance")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a continued run has done; in a worker of xdist, group what is selected of ours into batches."""
    session: Any = config.pluginmanager.get_plugin(PLUGIN)
    if session is not None:
        session.is_collected = True
    if session is not None and session.done:
        items[:] = [item for item in items if not _is_done(item, session.done)]
    ours = [item for item in items if isinstance(item, ConformanceItem)]
    if ours and hasattr(config, "workerinput"):
        from conformance.run.items import batched

        items[:] = batched(items, ours, config.workerinput["workercount"])


def _is_done(item: pytest.Item, done: frozenset[tuple[str, str]]) -> bool:
    return isinstance(item, ConformanceItem) and (item.subject.id, item.case.id) in done


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run an item of ours in one step; leave all others to pytest."""
    session: Any = item.config.pluginmanager.get_plugin(PLUGIN)
    if session is None or not session.owns(item):
        return None
    item.config.hook.pytest_runtest_logreport(report=session.worker.report(item, nextitem))
    return True
