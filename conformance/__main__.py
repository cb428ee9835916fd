"""Start of the command `onnx-conformance` by `python -m conformance`."""

from __future__ import annotations

import sys

from onnx_conformance_command import main

if __name__ == "__main__":
    sys.argv[0] = "onnx-conformance"  # what is typed again, wherever this is
    main()
