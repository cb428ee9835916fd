"""Set the address of the project in conformance/__init__.py, pyproject.toml and CITATION.cff.

python scripts/set_project_url.py [URL]

Without URL the address is removed. As long as there is no address, links are relative and error messages do not name a
place for reports.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
URL = re.compile(r"https://[A-Za-z0-9.-]+(/[A-Za-z0-9._~-]+)*")

PLACES = {
    "conformance/__init__.py": (r'^PROJECT_URL = ".*"$', 'PROJECT_URL = "{}"'),
    "pyproject.toml": (r'(?:^\[project\.urls\]\nHomepage = ".*"\n\n)?^\[project\.scripts\]$', "{}[project.scripts]"),
    "CITATION.cff": (r"(?:^repository-code: .*\n)?^license: ", "{}license: "),
}
"""For each file, the pattern to replace and its replacement; the braces stand for the address or its lines."""

LINES = {"pyproject.toml": '[project.urls]\nHomepage = "{}"\n\n', "CITATION.cff": "repository-code: {}\n"}


def set_url(name: str, text: str, url: str) -> str:
    """Return the text of a file with the address, or without an address if `url` is empty."""
    pattern, replacement = PLACES[name]
    lines = LINES[name].format(url) if url and name in LINES else url
    return re.sub(pattern, lambda _: replacement.format(lines), text, count=1, flags=re.MULTILINE)


def main() -> int:
    """Write the address into all files; return the exit status."""
    url = sys.argv[1] if len(sys.argv) > 1 else ""
    if url and not URL.fullmatch(url):
        sys.stderr.write(f"error: {url!r} is not a valid address.\n       Use the form https://host/owner/name.\n")
        return 2
    for name in PLACES:
        file = ROOT / name
        file.write_text(set_url(name, file.read_text(encoding="utf-8"), url), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
