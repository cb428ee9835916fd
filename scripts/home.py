"""Says where the project lives: in `conformance.HOME`, and in the two files that cannot read it from there.

python scripts/home.py [URL]

Until it is known all links are relative, and whoever reports a fault of the suite is not told where to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
URL = re.compile(r"https://[A-Za-z0-9.-]+(/[A-Za-z0-9._~-]+)*")

PLACES = {
    "conformance/__init__.py": (r'^HOME = ".*"$', 'HOME = "{}"'),
    "pyproject.toml": (r'(?:^\[project\.urls\]\nHomepage = ".*"\n\n)?^\[project\.scripts\]$', "{}[project.scripts]"),
    "CITATION.cff": (r"(?:^repository-code: .*\n)?^license: ", "{}license: "),
}
"""In each file, what stands there and what has to; the braces are for the address, or for the lines that have it."""

LINES = {"pyproject.toml": '[project.urls]\nHomepage = "{}"\n\n', "CITATION.cff": "repository-code: {}\n"}


def with_home(name: str, text: str, url: str) -> str:
    """A file's text with the project's address, or, where that is empty, without one."""
    found, wanted = PLACES[name]
    stands = LINES[name].format(url) if url and name in LINES else url
    return re.sub(found, lambda _: wanted.format(stands), text, count=1, flags=re.MULTILINE)


def main() -> int:
    """Write it into all of them."""
    url = sys.argv[1] if len(sys.argv) > 1 else ""
    if url and not URL.fullmatch(url):
        sys.stderr.write(f"error: {url!r} is no address.\n       Give one as https://host/owner/name.\n")
        return 2
    for name in PLACES:
        file = ROOT / name
        file.write_text(with_home(name, file.read_text(encoding="utf-8"), url), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
