"""Digests of the corpus of `generate --passes`, by family: they show which families another version changes.

python tests/support/pattern_digests.py FOLDER

The corpus itself is not in the repository: it has 160,000 files, and `generate --passes` makes it again in minutes. The
script writes the digests of a generated folder to `generators/patterns/digests.json`.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

DIGESTS = Path(__file__).parents[2] / "generators/patterns/digests.json"


def family_digests(folder: Path) -> dict[str, str]:
    """Return the number of cases and a digest of their files, for each family of a generated folder."""
    cases = json.loads((folder / "manifest.json").read_bytes())["cases"]
    families: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for id, files in cases.items():
        name = re.search(r"test_pattern_(\w+?)_\d{3,}_", id)
        families[name[1] if name else id][id] = files
    texts = {family: json.dumps(files, sort_keys=True) for family, files in families.items()}
    return {
        family: f"{len(families[family])} cases, {hashlib.sha256(text.encode()).hexdigest()[:16]}"
        for family, text in sorted(texts.items())
    }


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps(family_digests(Path(sys.argv[1])), indent=1) + "\n", encoding="utf-8")
