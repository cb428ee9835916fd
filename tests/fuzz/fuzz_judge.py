"""Fuzz the judge in C: mutated tensors and indices, with the sanitizers of the compiler.

python tests/fuzz/fuzz_judge.py [SECONDS [SEED]]

Builds harnesses/c/judge.c as a library with AddressSanitizer and UndefinedBehaviorSanitizer, and calls it in child
processes with inputs that are built from the fields of protocol buffers and then damaged. Each input is in memory of
exactly its size, so that the sanitizer detects every read beyond its end. If an input is a valid output, the verdict is
compared with that of the package. Prints the number of inputs. The exit status is 1 if a process ends by a signal or a
report of a sanitizer, or if a verdict differs; the input is then printed in hexadecimal. Needs gcc.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from ml_dtypes import bfloat16

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

LIBRARY = """
#define JUDGE_NO_MAIN
#define main judge_main
#undef JUDGE_NO_MAIN
#include "judge.c"

static unsigned char *copied(const unsigned char *bytes, size_t size) {
    unsigned char *copy = (unsigned char *)malloc(size + !size);
    if (!copy) abort();
    memcpy(copy, bytes, size);
    return copy;
}

/* Judge four files of these sizes, which follow each other; a size of -1 is no file. Returns -3 if the expected output
 * cannot be used, -2 if bound or indices do not fit, -1 if the actual output fails as a whole, else the wrong elements. */
long judge_fuzz(const unsigned char *bytes, const long *sizes) {
    judge_tensor tensors[4];
    unsigned char *files[4] = {NULL, NULL, NULL, NULL};
    int is_read[4] = {0, 0, 0, 0};
    long result;
    size_t i;
    memset(tensors, 0, sizeof tensors);
    for (i = 0; i < 4; ++i) {
        if (sizes[i] < 0) continue;
        files[i] = copied(bytes, (size_t)sizes[i]);
        bytes += sizes[i];
        is_read[i] = judge_parse(&tensors[i], files[i], (size_t)sizes[i]);
    }
    {
        const judge_tensor *bound = sizes[1] < 0 ? NULL : &tensors[1], *accept = sizes[2] < 0 ? NULL : &tensors[2];
        if (!is_read[0]) result = -3;
        else if ((bound && !is_read[1]) || (accept && !is_read[2]) || !judge_fits(&tensors[0], bound, accept)) result = -2;
        else if (!is_read[3] || !judge_has_type_and_shape(&tensors[3], &tensors[0])) result = -1;
        else result = (long)judge_count_wrong(&tensors[0], bound, accept, &tensors[3]);
    }
    for (i = 0; i < 4; ++i) {
        judge_free(&tensors[i]);
        free(files[i]);
    }
    return result;
}

int judge_fuzz_line(const unsigned char *bytes, long size) {
    static judge_case found;
    char *line = (char *)malloc((size_t)size + 1);
    int is_read;
    if (!line) abort();
    memcpy(line, bytes, (size_t)size);
    line[size] = 0;
    is_read = judge_read_case(line, &found);
    if (is_read && (found.outputs > JUDGE_MAX_OUTPUTS || strchr(found.name, '/') || strchr(found.name, '.'))) abort();
    free(line);
    return is_read;
}
"""

TYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 16: bfloat16,
}  # fmt: skip
FLOATING = (1, 10, 11, 16)
NUMBER_FIELDS = {1: 4, 7: 7, 11: 10, 12: 11, 13: 11}
"""Fields that store elements as numbers, by type; the field of all other types is 5."""

BATCH = 2000
"""Inputs that one process judges."""


def build(folder: Path) -> Path:
    """Compile the judge as a library with sanitizers."""
    (folder / "fuzzed.c").write_text(LIBRARY, encoding="utf-8")
    library = folder / "fuzzed.so"
    flags = ["-std=c99", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-shared", "-fPIC"]
    include = f"-I{ROOT / 'harnesses' / 'c'}"
    subprocess.run(["gcc", *flags, include, str(folder / "fuzzed.c"), "-o", str(library), "-lm"], check=True)
    return library


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
    return np.array([draw.randrange(4) for _ in range(count)], dtype=np.int64).astype(TYPES[type])


def encode(draw: random.Random, type: int, dims: list[int], array: np.ndarray) -> bytes:
    """Return a TensorProto in one of its many encodings."""
    parts = [b"".join(field(1, dim) for dim in dims) if draw.random() < 0.7 else field(1, b"".join(map(varint, dims)))]
    parts.append(field(2, type))
    raw = array.tobytes()
    if draw.random() < 0.6:
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
        numbers = (array.view(np.uint16) if type in (10, 16) else array).reshape(-1).tolist()
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


def damage(draw: random.Random, content: bytes) -> bytes:
    """Return changed bytes: cut, repeated, with other bits, or with a large number."""
    data = bytearray(content)
    for _ in range(draw.randrange(1, 4)):
        place = draw.randrange(len(data) + 1)
        match draw.randrange(5):
            case 0:
                del data[place:]
            case 1 if data:
                data[place % len(data)] ^= 1 << draw.randrange(8)
            case 2:
                data[place:place] = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 9)))
            case 3:
                data[place:place] = varint(draw.choice([2**63, 2**64 - 1, 2**31, 2**28, 2**32]))
            case _:
                data[place:place] = data[max(0, place - draw.randrange(1, 16)) : place]
    return bytes(data)


def draw_input(draw: random.Random) -> tuple[list[bytes | None], object]:
    """Return four files, and what is needed to compare the verdict: None if a file is damaged."""
    from conformance.corpus.loading import ExpectedTensor

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
    if draw.random() < 0.5:
        return files, (ExpectedTensor("Y", expected, bound, choices), actual)
    for number, content in enumerate(files):
        if content is not None and draw.random() < 0.6:
            files[number] = damage(draw, content)
    return files, None


def run_batch(library: str, seed: int, state: Path) -> int:
    """Judge one batch of inputs in this process; return the number of verdicts that differ from the package."""
    from conformance.judging.compare import acceptable_elements

    draw, loaded, differing = random.Random(seed), ctypes.CDLL(library), 0
    loaded.judge_fuzz.restype = ctypes.c_long
    for _ in range(BATCH):
        files, judged = draw_input(draw)
        sizes = (ctypes.c_long * 4)(*(-1 if content is None else len(content) for content in files))
        content = b"".join(content for content in files if content is not None)
        state.write_bytes(content)
        wrong = loaded.judge_fuzz(content, sizes)
        if judged is not None and wrong != int((~acceptable_elements(*judged)).sum()):
            print(
                f"seed {seed}: {wrong} wrong elements instead of {(~acceptable_elements(*judged)).sum()}: {content.hex()}"
            )
            differing += 1
        line = b"test_%d,node,must,2,exact bound | index exact,0 1,Adam,a.b," % draw.randrange(99)
        state.write_bytes(line := damage(draw, line).replace(b"\0", b"") if draw.random() < 0.9 else line)
        loaded.judge_fuzz_line(line, len(line))
    return differing


def main() -> int:
    """Run batches until the time is over; return 1 if one of them found a fault."""
    if len(sys.argv) > 1 and sys.argv[1] == "--batch":
        return int(run_batch(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])) > 0)
    seconds, seed = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True).stdout
    settings = {"LD_PRELOAD": asan.strip(), "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    with tempfile.TemporaryDirectory() as folder:
        library, state = build(Path(folder)), Path(folder, "input")
        end, batches, faults = time.monotonic() + seconds, 0, 0
        while time.monotonic() < end:
            command = [sys.executable, __file__, "--batch", str(library), str(seed + batches), str(state)]
            done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)
            if done.returncode:
                faults += 1
                print(f"batch {seed + batches} ends with {done.returncode}: {state.read_bytes().hex()}")
                print(done.stdout, done.stderr[-4000:])
            batches += 1
    print(f"{batches * BATCH:,} inputs and as many lines of an index in {seconds:g} s, {faults} batches with a fault")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
