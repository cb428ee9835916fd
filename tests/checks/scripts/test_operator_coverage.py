"""operator_coverage.py: each operator of onnx has a definition or a reason, and a missing one is reported."""

from __future__ import annotations

import re

import pytest
from repository import ROOT

from conformance.exact.declarations.declaration_tables import UNDECLARED, declarations, operator_name


@pytest.fixture
def script(monkeypatch):
    """Import the script."""
    monkeypatch.syspath_prepend(str(ROOT / "checks" / "measurements"))
    import operator_coverage

    return operator_coverage


def test_each_operator_is_judged_or_excluded_and_declared_or_undeclared(script, capsys):
    assert script.main([]) == 0
    assert not re.search("^no (?!declaration)", capsys.readouterr().out, re.MULTILINE)
    assert all(script.second_opinions().values())
    known = {
        operator_name(name, domain) for domain, name in script.operators() if (domain, name) not in script.EXCLUDED
    }
    assert known <= {*declarations(), *UNDECLARED}


def test_an_operator_without_definition_is_reported(script, capsys, monkeypatch):
    monkeypatch.setattr(script, "WRITTEN", (*script.WRITTEN, "NewOperator"))
    assert script.main([]) == 1
    missing = [line for line in capsys.readouterr().out.splitlines() if line.startswith("no definition")]
    assert [line.split()[-2:] for line in missing] == [["com.microsoft", "NewOperator"]]
