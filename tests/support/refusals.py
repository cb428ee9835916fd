"""Assertions about errors: codes, exit statuses and messages."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest

from conformance.base.errors import ConformanceError


@contextmanager
def assert_raises(code: str, *data: object):
    """Assert that the block raises the error with this code, whose text names all of `data`."""
    with pytest.raises(ConformanceError) as caught:
        yield caught
    assert caught.value.code == code, caught.value
    for each in data:
        assert str(each) in str(caught.value)


AREAS = "usage|corpus|case|model|subject|results|census|evidence|job|history|expectations|name|storage"
_CODE_PATTERN = re.compile(rf"(?:{AREAS})\.[a-z0-9]+(?:-[a-z0-9]+)*")


def assert_bad_input(ended, *named: object) -> None:
    """Assert that a command ended with status 2, a problem and a hint, without a traceback.

    Args:
        named: the code of the error, if the first value has the form of a code; then data that the error contains.
    """
    data = [str(each) for each in named]
    if data and _CODE_PATTERN.fullmatch(data[0]):
        code = data.pop(0)
        assert ended.code == code or f"error[{code}]: " in ended.err, (ended.code, ended.err)
    assert ended.status == 2, (ended.out, ended.err)
    assert "Traceback" not in ended.out + ended.err
    assert "INTERNALERROR" not in ended.out + ended.err
    lines = ended.err.splitlines()
    assert re.match(r"error(\[[a-z.-]+\])?: ", lines[0]), ended.err
    assert lines[-1].startswith("       "), ended.err
    assert len(lines) == 2, ended.err
    assert lines[1].endswith((".", "?")), ended.err
    for each in data:
        assert each in ended.err


def assert_usage_error(ended, *named: str) -> None:
    """Assert that a command ended with status 2 because of its options."""
    assert ended.status == 2
    assert "Traceback" not in ended.err
    for name in named:
        assert name in re.sub(r"[^\w'.,-]+", " ", ended.err)
