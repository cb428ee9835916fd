"""Write docs/reference/command-line.md from the declarations of the command line.

Usage: python scripts/make_cli_reference.py [--check]

With --check the page is only compared: the exit status is 1 if it is not current.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.main import get_command

from conformance.commands.cli import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "command-line.md"
HEADING = """# Command line

This page lists all verbs (commands) and options of `onnx-conformance`. Look here for the exact spelling of an option.
This page is for users. `onnx-conformance VERB --help` prints the same texts.
`python scripts/make_cli_reference.py` generates this page from the code.

All verbs use the same [exit statuses](exit-statuses.md). An option has the same meaning in all verbs.
The [glossary](../glossary.md) defines the terms.
"""
PROGRAM = "onnx-conformance"
HIDDEN = {"help", "install_completion", "show_completion"}


def render_page() -> str:
    """Return the page."""
    group = get_command(create_app(()))
    return "\n".join((HEADING, *_render_commands(group, PROGRAM)))


def _render_commands(group: Any, name: str) -> Iterator[str]:
    for verb, command in group.commands.items():
        full = f"{name} {verb}"
        if hasattr(command, "commands"):
            yield from _render_commands(command, full)
        else:
            yield from _render_command(command, full)


def _render_command(command: Any, name: str) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    shown = [option for option in options if option.name not in HIDDEN and not getattr(option, "hidden", False)]
    usage = " ".join([name, "[OPTIONS]" if shown else "", *(_usage(argument) for argument in arguments)])
    yield f"## {name.removeprefix(f'{PROGRAM} ')}\n"
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        yield f"{_plain(paragraph)}\n"
    yield f"```text\n{' '.join(usage.split())}\n```\n"
    if arguments:
        yield from _table("argument", [(_usage(argument), _plain(argument.help or "")) for argument in arguments])
    panels = dict.fromkeys(getattr(option, "rich_help_panel", None) or "Options" for option in shown)
    for panel in panels:
        of_panel = [option for option in shown if (getattr(option, "rich_help_panel", None) or "Options") == panel]
        head = "option" if len(panels) == 1 else panel.lower()
        yield from _table(head, [(_flags(option), _help(option)) for option in of_panel])


def _table(head: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield f"| {head} | meaning |\n| --- | --- |"
    for row in rows:
        name, meaning = (text.replace("|", "\\|") for text in row)
        yield f"| `{name}` | {meaning} |"
    yield ""


def _usage(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper()).strip("{}")
    return name if argument.required else f"[{name.strip('[]')}]"


def _flags(option: Any) -> str:
    flags = ", ".join((*sorted(option.opts, key=len), *option.secondary_opts))
    metavar = "" if option.is_flag else option.metavar or _choices(option)
    return f"{flags} {metavar}".strip()


def _choices(option: Any) -> str:
    choices = getattr(option.type, "choices", ())
    return "/".join(str(getattr(choice, "value", choice)) for choice in choices) or str(option.type.name).upper()


def _help(option: Any) -> str:
    text = _plain(option.help or "")
    value = option.default() if callable(option.default) else option.default
    is_empty = value in (None, False, "", [], ())
    is_shown = not is_empty and not option.is_flag
    shown = getattr(value, "value", value)
    return f"{text} Default: `{shown}`." if is_shown and getattr(option, "show_default", True) else text


def _plain(text: str) -> str:
    """Return a help text in one line, without the escapes of rich."""
    return " ".join(text.replace("\\[", "[").replace("\b", "").split())


def main() -> int:
    """Write or compare the page; return 1 if it is not current."""
    page = render_page()
    if "--check" in sys.argv[1:]:
        is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page
        if not is_current:
            sys.stderr.write(f"{PAGE.name} is not current. Run: python scripts/make_cli_reference.py\n")
        return int(not is_current)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
