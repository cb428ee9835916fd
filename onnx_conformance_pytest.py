"""The entry point of the pytest plugin: it declares the options, and loads the suite only if an option is used.

pytest imports this module in every session in an environment where the suite is installed. The module does not import
the package `conformance`: the tested project may have a package of that name.
"""

from __future__ import annotations

import argparse
import re
import sys
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.run.corpus_run.run_options import OptionEntry

_SUITE = Path(__file__).with_name("conformance")
_taken: list[str] = []
"""Options that another plugin has declared."""


def _run_options() -> Mapping[str, OptionEntry]:
    """Return the table of options without an import of the suite: its file imports nothing of the suite."""
    name = "onnx_conformance_options"
    if name not in sys.modules:
        spec = spec_from_file_location(name, _SUITE / "run" / "corpus_run" / "run_options.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    options: Mapping[str, OptionEntry] = sys.modules[name].RUN_OPTIONS
    return {name: option for name, option in options.items() if name != "keyword"}  # pytest has its own -k


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option `--onnx-NAME` for every option of a run, except `-k` and those that another plugin has."""
    group = parser.getgroup("onnx-conformance")
    _taken.clear()
    for name, option in _run_options().items():
        flag, attributes = _declaration(name, option)
        try:
            if _is_declared(parser, flag):
                _taken.append(name)
            else:
                group.addoption(flag, **attributes)
        except (ValueError, argparse.ArgumentError):
            _taken.append(name)


def _is_declared(parser: pytest.Parser, flag: str) -> bool:
    """Return whether a plugin has declared an option. pytest itself reports a conflict later, as an error."""
    groups: list[Any] = [*getattr(parser, "_groups", ()), getattr(parser, "_anonymous", None)]
    return any(flag in option.names() for group in groups if group is not None for option in group.options)


def _declaration(name: str, option: OptionEntry) -> tuple[str, dict[str, Any]]:
    """Return the name and the keyword arguments of `addoption` that declare an option of a run."""
    text = re.sub(r"--([a-z][a-z-]*)", _with_prefix, option.help)
    help = text[0].lower() + text[1:].removesuffix(".").replace("%", "%%")
    if option.default is True:
        return f"--onnx-no-{name.replace('_', '-')}", {
            "dest": f"onnx_{name}",
            "action": "store_false",
            "help": f"do not {help}",
        }
    flag = f"--onnx-{name.replace('_', '-')}"
    if option.type is bool:
        return flag, {"action": "store_true", "help": help}
    given: dict[str, Any] = {"default": option.default, "metavar": option.metavar, "help": help}
    if option.is_repeatable:
        given |= {"action": "append", "default": [], "help": f"{help}; repeatable"}
    if option.choices:
        given |= {"choices": option.choices}
        del given["metavar"]
    if option.type in {int, float}:
        given |= {"type": partial(_number, option)}
    return flag, given


def _with_prefix(option: re.Match[str]) -> str:
    """Return the name of an option of a run with the prefix of the plugin; other options stay."""
    return f"--onnx-{option[1]}" if option[1].replace("-", "_") in _run_options() else option[0]


def _number(option: OptionEntry, text: str) -> float:
    """Return the number in `text`, which must lie within the limits of the option.

    Raises:
        ValueError: the text is not a number, or the number is outside of the limits. pytest prints the error.
    """
    value: float = option.type(text)
    if (option.minimum is not None and value < option.minimum) or (option.maximum or value) < value:
        raise ValueError
    return value


def pytest_configure(config: pytest.Config) -> None:
    """If an option names a subject, load the suite and register the plugin that runs its cases.

    Raises:
        UsageError: another package hides the suite, or the options, the corpus or a subject is wrong.
    """
    for name in _taken:
        text = f"onnx-conformance: another plugin has the option --onnx-{name.replace('_', '-')}; it is not available."
        config.issue_config_time_warning(pytest.PytestConfigWarning(text), stacklevel=2)
    options = {name: config.getoption(f"onnx_{name}") for name in _run_options() if name not in _taken}
    if not (options.get("backend") or options.get("optimizer")):
        return
    import conformance

    if Path(conformance.__file__ or "").parent != _SUITE:
        raise pytest.UsageError(
            f"The package {conformance.__file__} hides onnx-conformance, which has the same import name: pytest"
            " puts the folder of the project on the import path. Run the cases with `onnx-conformance run` instead."
        )
    try:
        from conformance.run.corpus_run.plugin import create_plugin
    except (ImportError, AttributeError) as error:
        from conformance.base.plugins import wrong_dependency

        if (wrong := wrong_dependency()) is not None:
            raise pytest.UsageError(f"{wrong.problem} {wrong.hint}") from error
        raise

    config.pluginmanager.register(create_plugin(config, options), "onnx_conformance_cases")
