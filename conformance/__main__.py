"""`python -m conformance`: the command `onnx-conformance`."""

from __future__ import annotations

import sys

from conformance.cli import main

if __name__ == "__main__":
    sys.argv[0] = "onnx-conformance"  # what is typed again, wherever this is
    main()
