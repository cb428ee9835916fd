"""A harness that starts in no time, for commands that are started hundreds of times; it needs Python alone.

Usage: python -I -S light_harness.py NAME

It fails on some models and does not support the others, by what is in them.
"""

import hashlib
import json
import sys


def answer(command: dict) -> dict:
    """The answer to a command, but for its number."""
    if command["cmd"] == "start":
        return {"version": 1, "name": sys.argv[1], "runtime_version": "1", "language": "Python", "kind": "backend"}
    with open(command["model"], "rb") as stream:  # noqa: PTH123
        number = hashlib.sha256(stream.read()).digest()[0]
    return {"unsupported": "no kernel"} if number % 3 else {"error": f"kernel {number} gave up"}


for line in sys.stdin:
    asked = json.loads(line)
    if asked["cmd"] == "stop":
        break
    sys.stdout.write(json.dumps({"seq": asked["seq"], **answer(asked)}) + "\n")
    sys.stdout.flush()
