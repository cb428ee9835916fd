"""Options of a run: one table from which the command line, the pytest plugin and the reference page are made.

This module imports no other module of the suite: pytest loads the plugin, and with it this module, in every session in
an environment where the suite is installed.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class OptionEntry:
    """One option or argument of the command line.

    Attributes:
        help: one sentence for `--help`; `{default}` stands for the default.
        panel: the heading under which `--help` shows the option; None for that of all options.
        metavar: placeholder of the value in `--help`; empty for a flag.
        type: type of one value of a run option: `str`, `Path`, `int`, `float` or `bool`.
        default: value of an option that is not given; unused if `is_repeatable`.
        is_repeatable: whether a run option may be given several times.
        is_argument: whether the value stands on the command line without a name.
        flags: the spellings of the option; empty for that of the parameter's name.
        choices: the allowed values; empty if any value is allowed.
        minimum: smallest allowed number.
        maximum: largest allowed number.
        completion: function of `commands.completion` that returns possible values; empty if there is none.
        show_default: whether `--help` shows the default value.
        needs_checkout: whether the option works only in a checkout. An installation does not offer it.
        is_output: whether the value is a file or folder that the command writes.
        continued_by: name of the option whose output may replace the input of this option.
    """

    help: str
    panel: str | None = None
    metavar: str = ""
    type: type = str
    default: object = None
    is_repeatable: bool = False
    is_argument: bool = False
    flags: Sequence[str] = ()
    choices: Sequence[str] = ()
    minimum: float | None = None
    maximum: float | None = None
    completion: str = ""
    show_default: bool = True
    needs_checkout: bool = False
    is_output: bool = False
    continued_by: str = ""


_TYPES = {each.__name__: each for each in (str, Path, int, float, bool)}


def option_entries(table: Mapping[str, Mapping[str, Any]]) -> Mapping[str, OptionEntry]:
    """Return the options of a table in a TOML file, by the name of the parameter."""
    return {name: OptionEntry(**{**entry, "type": _TYPES[entry.get("type", "str")]}) for name, entry in table.items()}


RUN_OPTIONS = option_entries(tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8")))
"""Every option that the command line and the pytest plugin share, by the name of its parameter."""
SELECTION_OPTIONS = ("case", "tag", "clause", "select_level", "operator")
"""Names of the parameters whose options are repeatable and select cases."""


def flag_name(name: str) -> str:
    """Return the spelling of an option on the command line: `--fail-level` for the parameter `fail_level`."""
    return f"--{name.replace('_', '-')}"
