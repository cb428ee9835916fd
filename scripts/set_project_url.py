"""Set the address of the project in every file that contains it.

python scripts/set_project_url.py [URL]

URL has the form https://host/owner/name. Without URL the address is removed. As long as there is no address, links are
relative, error messages do not name a place for reports, and the pages have OWNER in place of the owner.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
URL = re.compile(r"https://[A-Za-z0-9.-]+/([A-Za-z0-9._~-]+/[A-Za-z0-9._~-]+)")

REPOSITORY_IN_PAGE = (r"(?<=uses: )\S+(?=@v0$)|(?<=repository: )\S+$", "<repository>", "OWNER/onnx-conformance")
DOWNLOAD = "<url>/releases/download/v${{ version }}/onnx_conformance-${{ version }}.tar.gz"
URLS = 'Homepage = "<url>"\nIssues = "<url>/issues"\nChangelog = "<url>/blob/main/CHANGELOG.md"\n'

PLACES = {
    "conformance/__init__.py": [(r'^PROJECT_URL = ".*"$', 'PROJECT_URL = "<url>"', 'PROJECT_URL = ""')],
    "pyproject.toml": [
        (r"^(\[project\.urls\]\n(.+\n)+\n)?(?=\[project\.scripts\]$)", f"[project.urls]\n{URLS}\n", ""),
    ],
    "CITATION.cff": [(r"^(repository-code: .*\n)?(?=license: )", "repository-code: <url>\n", "")],
    "docs/how-to/run-in-ci.md": [REPOSITORY_IN_PAGE],
    "docs/tutorial.md": [REPOSITORY_IN_PAGE],
    "packaging/conda-forge/recipe.yaml": [
        (r"^  (url|path): .*$", f"  url: {DOWNLOAD}", "  path: onnx_conformance-${{ version }}.tar.gz"),
        (r"^(  homepage: .*\n)?(?=  license: )", "  homepage: <url>\n", ""),
        (r"(\nextra:\n(.+\n)+)?\Z", "\nextra:\n  recipe-maintainers:\n    - <owner>\n", ""),
    ],
}
"""For each file, the patterns to replace, each with its replacement if there is an address, and if there is none."""


def set_url(name: str, text: str, url: str) -> str:
    """Return the text of a file with the address, or without an address if `url` is empty."""
    match = URL.fullmatch(url)
    repository = match[1] if match else ""
    values = {"<url>": url, "<repository>": repository, "<owner>": repository.partition("/")[0]}
    for pattern, with_url, without_url in PLACES[name]:
        written = with_url if url else without_url
        for placeholder, value in values.items():
            written = written.replace(placeholder, value)
        count = 0 if name.endswith(".md") else 1  # only pages have the repository in several places
        text = re.sub(pattern, lambda _, written=written: written, text, count=count, flags=re.MULTILINE)
    return text


def absolute_links(text: str, url: str) -> str:
    """Return a Markdown text whose relative links lead to the project; unchanged if the address is empty."""
    return re.sub(r"\]\((?![a-z]+:|#)", f"]({url}/blob/main/", text) if url else text


def published_readme(root: Path) -> str:
    """Return the README of a checkout as PyPI shows it."""
    source = (root / "conformance" / "__init__.py").read_text(encoding="utf-8")
    (url,) = re.findall(r'^PROJECT_URL = "(.*)"$', source, re.MULTILINE)
    return absolute_links((root / "README.md").read_text(encoding="utf-8"), url)


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
