"""The data that an HTML page embeds for its scripts."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any


def embedded(page: str, name: str) -> Any:
    """Return the value that a page embeds as JSON under this id."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def packed(page: str, name: str) -> Any:
    """Return the value that a page embeds packed by gzip under this id."""
    found = re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))
