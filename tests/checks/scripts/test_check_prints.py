"""`checks/measurements/check_prints.py` finds each way to print, and the package has none of them."""

from __future__ import annotations

import pytest
from repository import ROOT
from script_modules import script_module

check_prints = script_module("check_prints")


@pytest.mark.parametrize(
    "source",
    [
        "print(name)",
        "console.print(name)",
        "rich.print(name)",
        "typer.echo(name)",
        "click.echo(name)",
        "click.secho(name)",
        "sys.stdout.write(name)",
        "sys.stderr.writelines(names)",
        "sys.stdout.buffer.write(name)",
        "sys.__stderr__.write(name)",
        "os.write(1, name)",
        "def f():\n    return [print(x) for x in xs]",
    ],
)
def test_prints_finds_output_that_is_not_escaped(source):
    assert len(list(check_prints.prints(source))) == 1


@pytest.mark.parametrize("source", ["echo(name)", "print_line(name)", "stream.write(name)", "os.write(descriptor, x)"])
def test_prints_ignores_other_calls(source):
    assert not list(check_prints.prints(source))


def test_package_prints_only_by_the_module_that_escapes(capsys):
    assert check_prints.main() == 0, capsys.readouterr().out
    assert all((ROOT / "conformance" / place).exists() for place in check_prints.ALLOWED)
