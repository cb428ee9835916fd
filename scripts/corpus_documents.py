"""The documents of a corpus as types; `make_schemas.py` generates `manifest` and `released.schema.json` from them.

`conformance.corpus` validates the documents against the schemas when it reads them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.serialization.decoding import StoredRecord
from conformance.verdicts import Level  # noqa: TC001 - msgspec reads the annotations

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
CasePath = Annotated[str, Meta(pattern="^(node|pass|invalid)/test_[A-Za-z0-9_]{1,120}$")]
CaseFile = Annotated[
    str,
    Meta(
        pattern=r"^(case\.json|companion\.json|model\.onnx"
        r"|test_data_set_(0|[1-9]\d{0,2})/(input|output|bound|accept)_(0|[1-9]\d{0,2})\.pb)$"
    ),
]
Semver = Annotated[str, Meta(pattern="^[0-9]{1,9}\\.[0-9]{1,9}\\.[0-9]{1,9}$")]
FingerprintText = Annotated[str, Meta(pattern="^(must|should|silent) [0-9a-f]{32} [0-9a-f]{32}$")]


class ManifestDocument(StoredRecord):
    """manifest.json: the level of each case, and the SHA-256 of each file of each case.

    `name` is the name of a corpus that is not the suite's, such as `onnx`.
    """

    format: Literal[1]
    version: Annotated[str, Meta(pattern=r"^\d+\.\d+\.\d+$")]
    digest: Sha256
    cases: Annotated[
        dict[
            CasePath,
            Annotated[dict[CaseFile, Sha256], Meta(extra_json_schema={"required": ["case.json", "model.onnx"]})],
        ],
        Meta(min_length=1),
    ]
    levels: dict[str, Level]
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$")] = ""


class ReleasedDocument(StoredRecord):
    """released.json: the level and two hashes of each case in the last released corpus."""

    format: Literal[1]
    version: Semver
    digest: Sha256
    cases: Annotated[dict[CasePath, FingerprintText], Meta(min_length=1)]
