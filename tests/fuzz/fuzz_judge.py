"""Fuzz the judge in C: mutated tensors and indices, with the sanitizers of the compiler.

python tests/fuzz/fuzz_judge.py [SECONDS [SEED]]

Builds harnesses/c/judge.c with AddressSanitizer and UndefinedBehaviorSanitizer. Its inputs are tensors in the many
encodings of a TensorProto; their verdicts are compared with those of the package. Then damaged copies of each input
are judged. Each file is in memory of exactly its size, so that a sanitizer detects every read beyond its end. Prints
the number of inputs. The exit status is 1 if a sanitizer reports an error or a verdict differs. Needs gcc.
"""

from __future__ import annotations

import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

TYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    8: np.object_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 16: ml_dtypes.bfloat16,
    17: ml_dtypes.float8_e4m3fn, 18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e5m2fnuz, 21: ml_dtypes.uint4, 22: ml_dtypes.int4, 23: ml_dtypes.float4_e2m1fn,
    24: ml_dtypes.float8_e8m0fnu, 25: ml_dtypes.uint2, 26: ml_dtypes.int2,
    27: ml_dtypes.float6_e2m3fn, 28: ml_dtypes.float6_e3m2fn,
}  # fmt: skip
STRING = 8
FLOATING = (1, 10, 11, 16, 17, 18, 19, 20, 23, 24, 27, 28)
PACKED_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}
"""Bits of an element of the types of which a byte has several elements."""
TEXTS = ("", "a", "ab", "é", "a\0", "b" * 200)
NUMBER_FIELDS = {1: 4, 7: 7, 11: 10, 12: 11, 13: 11}
"""Fields that store elements as numbers, by type; the field of all other types is 5."""

BATCH, ROUNDS = 500, 400
"""Inputs that one process judges, and damaged copies of each of them."""


def build(folder: Path) -> Path:
    """Compile the judge with a main function that damages inputs, and with sanitizers."""
    program, source = folder / "fuzzed", Path(__file__).with_suffix(".c")
    flags = ["-std=c99", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    include = f"-I{ROOT / 'harnesses' / 'c'}"
    subprocess.run(["gcc", *flags, include, str(source), "-o", str(program), "-lm"], check=True)
    return program


def varint(value: int) -> bytes:
    """Return a varint."""
    value &= 2**64 - 1
    coded = bytearray()
    while value > 127:
        coded.append(value & 127 | 128)
        value >>= 7
    return bytes((*coded, value))


def field(number: int, content: bytes | int) -> bytes:
    """Return a field of a protocol buffer."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def elements(draw: random.Random, type: int, count: int) -> np.ndarray:
    """Return elements of a type, often special values."""
    if type in FLOATING:
        special = [0.0, -0.0, 1.0, 1.5, -1.0, np.inf, -np.inf, np.nan, 2.0**-24, 6e4]
        return np.array([draw.choice(special) for _ in range(count)]).astype(TYPES[type])
    if type == STRING:
        return np.array([draw.choice(TEXTS) for _ in range(count)], dtype=object)
    return np.array([draw.randrange(4) for _ in range(count)], dtype=np.int64).astype(TYPES[type])


def encode(draw: random.Random, type: int, dims: list[int], array: np.ndarray) -> bytes:
    """Return a TensorProto in one of its many encodings."""
    parts = [b"".join(field(1, dim) for dim in dims) if draw.random() < 0.7 else field(1, b"".join(map(varint, dims)))]
    parts.append(field(2, type))
    raw = b"" if type == STRING else array.tobytes()
    if type in PACKED_BITS:
        array = packed(array, PACKED_BITS[type])
        raw = array.tobytes()
    if type == STRING:
        parts.append(b"".join(field(6, text.encode()) for text in array.reshape(-1).tolist()))
    elif draw.random() < 0.6:
        parts.append(field(9, raw))
    elif type in (1, 11):
        size = array.itemsize
        chunks = [raw[i : i + size] for i in range(0, len(raw), size)]
        if draw.random() < 0.5:
            parts.append(field(NUMBER_FIELDS[type], raw))
        else:
            wire = 5 if type == 1 else 1
            parts.append(b"".join(varint(NUMBER_FIELDS[type] << 3 | wire) + chunk for chunk in chunks))
    else:
        bits = {10: np.uint16, 16: np.uint16}.get(type, np.uint8)
        numbers = (array.reshape(-1).view(bits) if type in FLOATING else array).reshape(-1).tolist()
        number = NUMBER_FIELDS.get(type, 5)
        if draw.random() < 0.5:
            parts.append(field(number, b"".join(varint(int(value)) for value in numbers)))
        else:
            parts.append(b"".join(field(number, int(value)) for value in numbers))
    if draw.random() < 0.2:
        parts.append(field(8, b"name"))
    if draw.random() < 0.5:
        draw.shuffle(parts)
    return b"".join(parts)


def packed(array: np.ndarray, bits: int) -> np.ndarray:
    """Return elements packed into bytes, the first element in the lowest bits."""
    codes = array.reshape(-1, 1).view(np.uint8)
    return np.packbits(codes >> np.arange(bits, dtype=np.uint8) & 1, bitorder="little")


def draw_input(draw: random.Random) -> tuple[list[bytes | None], int]:
    """Return four files and the number of wrong elements.

    The files are the expected output, the bound, the acceptable indices and the actual output. A file is None if the
    check of the output does not need it.
    """
    from conformance.corpus.cases.case_loading import ExpectedTensor
    from conformance.run.judging.compare import acceptable_elements

    type = draw.choice(list(TYPES))
    dims = [draw.randrange(4) for _ in range(draw.randrange(4))]
    count = int(np.prod(dims, dtype=np.int64))
    expected = elements(draw, type, count).reshape(dims)
    bound = choices = None
    if type in FLOATING and draw.random() < 0.6:
        bound = np.array([draw.choice([0.0, 0.5, 1e-3, np.inf]) for _ in range(count)]).reshape(dims)
    if type == 7 and draw.random() < 0.6:
        last = draw.randrange(1, 4)
        choices = np.array([draw.random() < 0.5 for _ in range(count * last)], dtype=np.bool_).reshape([*dims, last])
    actual = expected if draw.random() < 0.2 else elements(draw, type, count).reshape(dims)
    files = [encode(draw, type, dims, expected), None, None, encode(draw, type, dims, actual)]
    if bound is not None:
        files[1] = encode(draw, 11, dims, bound)
    if choices is not None:
        files[2] = encode(draw, 9, [*dims, choices.shape[-1]], choices)
    good = acceptable_elements(ExpectedTensor("Y", expected, bound, choices), actual)
    return files, int(good.size - good.sum())


def write_batch(path: Path, seed: int) -> None:
    """Write the inputs of one batch: for each of them the verdict, the sizes of the files, and the files."""
    draw = random.Random(seed)
    with path.open("wb") as stream:
        for _ in range(BATCH):
            files, wrong = draw_input(draw)
            content = b"".join(content for content in files if content is not None)
            sizes = [-1 if content is None else len(content) for content in files]
            stream.write(struct.pack("<6q", wrong << 32 | draw.randrange(2**32), *sizes, len(content)) + content)


def main() -> int:
    """Run batches until the time is over; return 1 if one of them found a fault."""
    seconds, seed = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as folder:
        program, batch = build(Path(folder)), Path(folder, "batch")
        end, inputs, faults = time.monotonic() + seconds, 0, 0
        while time.monotonic() < end:
            write_batch(batch, seed)
            done = subprocess.run([program, batch, str(ROUNDS)], capture_output=True, text=True, check=False)
            if done.returncode:
                faults += 1
                print(f"seed {seed} ends with {done.returncode}:\n{done.stderr[-4000:]}")
            else:
                inputs += int(done.stdout)
            seed += 1
    print(f"{inputs:,} inputs and as many lines of an index in {seconds:g} s, {faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
