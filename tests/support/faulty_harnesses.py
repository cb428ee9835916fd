"""Harnesses that break the protocol at every second load: `python faulty_harnesses.py NAME`.

The name of a function states its fault. The harnesses compute nothing: they answer other loads with `unsupported`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

STARTED = {"version": 1, "name": "faulty", "runtime_version": "0.0.7", "language": "Python", "kind": "backend"}


def write(text: str | bytes) -> None:
    os.write(1, text if isinstance(text, bytes) else text.encode())


def answer(seq: int, **members: Any) -> None:
    write(json.dumps({"seq": seq, **members}) + "\n")


def half_a_line_then_dies(seq: int) -> None:
    write('{"seq":')
    os._exit(1)


def answers_the_wrong_case(seq: int) -> None:
    answer(seq - 1, loaded=True)


def answers_twice(seq: int) -> None:
    line = json.dumps({"seq": seq, "loaded": True}) + "\n"
    write(line + line)


def speaks_plain_text(seq: int) -> None:
    write("Loaded <b>model</b>.\n")


def writes_no_utf8(seq: int) -> None:
    write(b"\xff\xfe\x00\n")


def endless_line(seq: int) -> None:
    while True:
        write("x" * 65536)


def floods_lines(seq: int) -> None:
    while True:
        write("progress\n" * 1000)


def deep_json(seq: int) -> None:
    write("[" * 100_000 + "]" * 100_000 + "\n")


def huge_number(seq: int) -> None:
    write('{"seq":' + "9" * 10_000 + ',"loaded":true}\n')


def not_a_number(seq: int) -> None:
    write('{"seq":NaN,"loaded":true}\n')


def answers_a_list(seq: int) -> None:
    write("[1]\n")


def answers_another_command(seq: int) -> None:
    answer(seq, outputs=[])


def invents_members(seq: int) -> None:
    answer(seq, loaded=True, also="this")


def closes_stdout(seq: int) -> None:
    os.close(1)
    time.sleep(1000)


def closes_stdin(seq: int) -> None:
    os.close(0)
    answer(seq, unsupported="this time")
    time.sleep(1000)


def dies_after_its_answer(seq: int) -> None:
    answer(seq, unsupported="this time")
    os._exit(5)


# what goes wrong in the answer to `run`, as the tensor that is answered
TENSORS = {
    "sends_bad_base64": {"dtype": "float", "shape": [2], "data": "AAAA!AAAAAAA"},
    "sends_too_few_bytes": {"dtype": "float", "shape": [2, 3], "data": "AAAAAA=="},
    "names_an_unknown_type": {"dtype": "float33", "shape": [1], "data": "AAAAAA=="},
    "has_a_negative_shape": {"dtype": "float", "shape": [-1], "data": "AAAAAA=="},
    "has_an_enormous_shape": {"dtype": "float", "shape": [2**60], "data": "AAAAAA=="},
    "has_an_enormous_product": {"dtype": "float", "shape": [2**40] * 60, "data": "AAAAAA=="},
    "says_it_changed_input_99": None,
}


def main(name: str) -> None:
    """Answer commands; every second load goes wrong, or every first run."""
    loads = 0
    for line in sys.stdin.buffer:
        command = json.loads(line)
        seq = command["seq"]
        if command["cmd"] == "start":
            answer(seq, **STARTED)
        elif command["cmd"] == "stop":
            return
        elif command["cmd"] == "run":
            tensor = TENSORS[name]
            answer(seq, **({"outputs": [tensor]} if tensor else {"outputs": [], "changed": [99]}))
        elif loads % 2 == 0:
            answer(seq, unsupported="not this time")
        elif name in TENSORS:
            answer(seq, loaded=True)
        else:
            globals()[name](seq)
        loads += command["cmd"] == "load"


if __name__ == "__main__":
    main(sys.argv[1])
