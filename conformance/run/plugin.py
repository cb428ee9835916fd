"""The pytest plugin: it makes each case on each subject a pytest item.

pytest selects the items, distributes them to workers, and stops the run.

pytest loads the plugin wherever the suite is installed, so the plugin imports nothing heavy before `--onnx-backend` or
`--onnx-optimizer` is given. An item has no setup and teardown phases and gives one report, because fixtures would take
longer than most cases.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from conformance.run.options import RUN_OPTIONS, RunOption
from conformance.run.pytest_items import (
    RUN_COMMAND_KEY,
    SESSION_PLUGIN_NAME,
    SETTINGS_KEY,
    ConformanceItem,
    CorpusFile,
)

if TYPE_CHECKING:
    from pathlib import Path


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option `--onnx-NAME` for every option of a run, except `-k`, which is pytest's own."""
    group = parser.getgroup("onnx-conformance")
    for name, option in RUN_OPTIONS.items():
        if name != "keyword":
            group.addoption(*_declaration(name, option)[0], **_declaration(name, option)[1])


def _declaration(name: str, option: RunOption) -> tuple[list[str], dict[str, Any]]:
    """Return the positional and keyword arguments of `addoption` that declare an option of a run."""
    help = option.help[0].lower() + option.help[1:].removesuffix(".").replace("%", "%%")
    if option.default is True:
        return [f"--onnx-no-{name}"], {"dest": f"onnx_{name}", "action": "store_false", "help": f"do not {help}"}
    flag = f"--onnx-{name.replace('_', '-')}"
    if option.type is bool:
        return [flag], {"action": "store_true", "help": help}
    given: dict[str, Any] = {"default": option.default, "metavar": option.metavar, "help": help}
    if option.is_repeatable:
        given |= {"action": "append", "default": [], "help": f"{help}; repeatable"}
    if option.choices:
        given |= {"choices": option.choices}
        del given["metavar"]
    if option.type in {int, float}:
        given |= {"type": partial(_number, option)}
    return [flag], given


def _number(option: RunOption, text: str) -> float:
    """Return the number in `text`, which must lie within the limits of the option.

    Raises:
        ValueError: the text is not a number, or the number is outside of the limits. pytest prints the error.
    """
    value: float = option.type(text)
    if (option.minimum is not None and value < option.minimum) or (option.maximum or value) < value:
        raise ValueError
    return value


def pytest_configure(config: pytest.Config) -> None:
    """If an option names a subject, open the corpus, load the subjects, and make pytest collect the corpus."""
    is_named = config.getoption("onnx_backend") or config.getoption("onnx_optimizer")
    if not (is_named or config.pluginmanager.has_plugin(SESSION_PLUGIN_NAME) or _worker_input(config)):
        return
    session: Any = config.pluginmanager.get_plugin(SESSION_PLUGIN_NAME) or _new_session(config)
    session.pytest_selection = _pytest_selection(config)
    if str(session.manifest) not in config.args:
        config.args.append(str(session.manifest))


def _pytest_selection(config: pytest.Config) -> dict[str, str]:
    """Return pytest's own options that restrict the items, such as `-m`, with their values.

    Ids of items on pytest's command line have the key `pytest`.
    """
    options = {"-k": "keyword", "-m": "markexpr", "--deselect": "deselect", "--lf": "lf", "--sw": "stepwise"}
    given = {name: config.getoption(option, "") for name, option in options.items()}
    arguments = [str(argument) for argument in config.invocation_params.args]
    given["pytest"] = [argument for argument in arguments if "::" in argument and not argument.startswith("-")]
    texts = {name: " ".join(value) if isinstance(value, list) else value for name, value in given.items() if value}
    return {name: "yes" if value is True else str(value) for name, value in texts.items()}


def _new_session(config: pytest.Config) -> Any:
    """Return a new session, with settings from pytest's options or, in a worker, from pytest-xdist's controller.

    Raises:
        UsageError: the options, the corpus or a subject is wrong.
    """
    from conformance.errors import ConformanceError
    from conformance.run.session import ConformanceSession
    from conformance.run.settings import settings_from_options

    if worker_input := _worker_input(config):
        return _new_worker_session(config, worker_input)
    options = {name: config.getoption(f"onnx_{name}") for name in RUN_OPTIONS if name != "keyword"}
    try:
        session = ConformanceSession(settings_from_options(options))
    except ConformanceError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(session, SESSION_PLUGIN_NAME)
    return session


def _worker_input(config: pytest.Config) -> dict[str, Any]:
    """Return the values that the controller of pytest-xdist sent to this process; empty if this is not a worker."""
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    return worker_input if SETTINGS_KEY in worker_input else {}


def _new_worker_session(config: pytest.Config, worker_input: dict[str, Any]) -> Any:
    from conformance.processes.helper import adopt_orphans
    from conformance.run.resume import completed_keys
    from conformance.run.session import ConformanceSession
    from conformance.run.settings import settings_from_options
    from conformance.run.supervisor import exit_without_cleanup
    from conformance.run.worker import read_introductions

    session = ConformanceSession(
        settings_from_options(worker_input[SETTINGS_KEY]),
        introductions=read_introductions(worker_input),
        completed=completed_keys(worker_input),
    )
    config.pluginmanager.register(session, SESSION_PLUGIN_NAME)
    if RUN_COMMAND_KEY in worker_input:
        adopt_orphans()
        exit_without_cleanup()
    return session


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the collector of the corpus if `file_path` is its manifest, otherwise None."""
    session: Any = parent.config.pluginmanager.get_plugin(SESSION_PLUGIN_NAME)
    if session is None or file_path != session.manifest:
        return None
    return CorpusFile.from_parent(parent, path=file_path, nodeid="onnx-conformance")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the items that a resumed run has completed; in a worker of pytest-xdist, also form batches."""
    session: Any = config.pluginmanager.get_plugin(SESSION_PLUGIN_NAME)
    if session is not None:
        session.record_collected(items)
    if session is not None and session.completed:
        items[:] = [item for item in items if not _is_completed(item, session.completed)]
    ours = [item for item in items if isinstance(item, ConformanceItem)]
    if ours and hasattr(config, "workerinput"):
        from conformance.run.pytest_items import group_into_batches

        expected = session.expected_items if session is not None else len(ours)
        items[:] = group_into_batches(items, ours, config.workerinput["workercount"], expected)


def _is_completed(item: pytest.Item, completed: frozenset[tuple[str, str]]) -> bool:
    return isinstance(item, ConformanceItem) and (item.subject.id, item.case.id) in completed
