"""Harnesses whose answers attack the memory or the results of the suite: `python hostile_harnesses.py NAME`.

The name of a function states its attack. Each function answers `run` or `optimize`. Other commands are
answered as by a harness without faults.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MEBI = 2**20


def write(text: str | bytes) -> None:
    content = memoryview(text if isinstance(text, bytes) else text.encode())
    while content:
        content = content[os.write(1, content[: 64 * MEBI]) :]


def answer(seq: int, **members: Any) -> None:
    write(json.dumps({"seq": seq, **members}) + "\n")


def claims_endless_seconds(command: dict[str, Any]) -> None:
    answer(command["seq"], outputs=[], seconds=1.7e308)


def writes_three_sparse_gibibytes(command: dict[str, Any]) -> None:
    outputs = []
    for number in range(3):
        path = f"{command['files']}{number}"
        with Path(path).open("wb") as stream:
            stream.truncate(2**30)
        outputs.append({"dtype": "float", "shape": [2**28], "file": path})
    answer(command["seq"], outputs=outputs)


def writes_sparse_outputs_up_to_the_limit(command: dict[str, Any]) -> None:
    path = f"{command['files']}0"
    with Path(path).open("wb") as stream:
        stream.truncate(8 * MEBI)
    answer(command["seq"], outputs=[{"dtype": "float", "shape": [2 * MEBI], "file": path}])


def writes_a_line_of_250_megabytes(command: dict[str, Any]) -> None:
    data = base64.b64encode(bytes(187_500_000)).decode()
    answer(command["seq"], outputs=[{"dtype": "uint8", "shape": [187_500_000], "data": data}])


def writes_the_longest_line(command: dict[str, Any]) -> None:
    write(f'{{"seq":{command["seq"]},"error":"' + "\U0001f600" * (4 * MEBI - 50) + '"}\n')


def writes_an_endless_line_byte_by_byte(command: dict[str, Any]) -> None:
    for _ in range(MEBI):
        os.write(1, b"x")
    while True:  # slowly, so that no machine reaches the longest line before the time is over
        os.write(1, b"x")
        time.sleep(0.001)


def nests_five_million_lists(command: dict[str, Any]) -> None:
    write(f'{{"seq":{command["seq"]},"outputs":[' + "[]," * (5 * MEBI) + "[]]}\n")


def returns_a_million_outputs(command: dict[str, Any]) -> None:
    one = '{"dtype":"float","shape":[],"data":"AAAAAA=="},'
    write(f'{{"seq":{command["seq"]},"outputs":[' + one * 200_000 + one[:-1] + "]}\n")


def places_nodes_on_long_names(command: dict[str, Any]) -> None:
    placement = {f"p{i}": {f"{j:03}".ljust(190, "é"): 1 for j in range(1000)} for i in range(40)}
    write(
        (json.dumps({"seq": command["seq"], "outputs": [], "placement": placement}, ensure_ascii=False) + "\n").encode()
    )


def overwrites_what_is_not_there(command: dict[str, Any]) -> None:
    answer(command["seq"], outputs=[], overwritten=[[number, 0] for number in range(100_000)])


def varint(number: int) -> bytes:
    encoded = b""
    while number > 127:
        encoded += bytes([number & 127 | 128])
        number >>= 7
    return encoded + bytes([number])


def writes_a_model_of_two_million_nodes(command: dict[str, Any]) -> None:
    nodes = b"\x0a\x00" * (2 * MEBI - 10)
    Path(command["output"]).write_bytes(b"\x3a" + varint(len(nodes)) + nodes)
    answer(command["seq"], optimized=True)


def writes_a_model_with_an_endless_number(command: dict[str, Any]) -> None:
    Path(command["output"]).write_bytes(b"\x3a" + b"\xff" * (4 * MEBI - 10))
    answer(command["seq"], optimized=True)


def writes_a_sparse_model_of_a_gibibyte(command: dict[str, Any]) -> None:
    with Path(command["output"]).open("wb") as stream:
        stream.truncate(2**30)
    answer(command["seq"], optimized=True)


def refuses_with_a_long_text(command: dict[str, Any]) -> None:
    write(f'{{"seq":{command["seq"]},"unsupported":"' + "x" * (15 * MEBI) + '"}\n')


def main(name: str) -> None:
    """Serve the protocol, and answer with the attack `name`."""
    attack = globals()[name]
    kind = "optimizer" if "model" in name else "backend"
    for line in sys.stdin.buffer:
        command = json.loads(line)
        match command["cmd"]:
            case "start":
                started = {"version": 1, "name": name, "runtime_version": "1", "language": "Python", "kind": kind}
                answer(command["seq"], **started, **({"files": True} if kind == "backend" else {}))
            case "load":
                answer(command["seq"], loaded=True, seconds=0)
            case "run" | "optimize":
                attack(command)
            case _:
                return


if __name__ == "__main__":
    main(sys.argv[1])
