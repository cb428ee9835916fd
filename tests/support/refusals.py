"""How a command ends on bad input."""

from __future__ import annotations

import re


def assert_bad_input(ended, *named: str) -> None:
    """Assert that a command ended as it does on bad input: status 2, a sentence and a mend, no traceback."""
    assert ended.status == 2, (ended.out, ended.err)
    assert "Traceback" not in ended.out + ended.err
    assert "INTERNALERROR" not in ended.out + ended.err
    lines = ended.err.splitlines()
    assert [line[:7] for line in lines[-2:]] == ["error: ", "       "], ended.err
    assert len(lines) == 2, ended.err
    assert lines[1].endswith((".", "?")), ended.err
    for name in named:
        assert name in ended.err


def assert_bad_input_by_pytest(ended, named: str) -> None:
    """Assert that a command ended on bad input that pytest is the first to notice, with its sentence above ours."""
    assert ended.status == 2, (ended.out, ended.err)
    assert "Traceback" not in ended.out + ended.err
    assert named in ended.err


def assert_usage_error(ended, *named: str) -> None:
    """Assert that a command ended as it does where its options are wrong."""
    assert ended.status == 2
    assert "Traceback" not in ended.err
    for name in named:
        assert name in re.sub(r"[^\w'.,-]+", " ", ended.err)
