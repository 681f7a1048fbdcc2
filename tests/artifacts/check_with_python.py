#!/usr/bin/env python3
"""Checks that Python's safetensors package and Tenon read each other's files.

    python tests/artifacts/check_with_python.py BUILD/tests/bin/safetensors_exchange

Requires Python with the packages safetensors, numpy and torch, and the program safetensors_exchange, which is built
with the tests. `safetensors_exchange write FILE` writes tensors of all dtypes with bytes that depend on their positions.
`safetensors_exchange copy FROM TO` reads a file and writes its tensors again. The exit status is 0 if all tensors agree.

BF16 has no NumPy dtype, so it is compared as bytes with serialize() and deserialize() of the package.

The script also creates many files with randomly sampled tensors. Python writes them, Tenon reads and writes them again,
and Python must read the same tensors. They cover dtypes, up to 7 dimensions, empty tensors, scalars, names of up to a
megabyte in any script, and metadata.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

TYPES = {  # name in the format -> NumPy dtype, None if there is none
    "F64": numpy.float64, "F32": numpy.float32, "F16": numpy.float16, "BF16": None, "I64": numpy.int64,
    "I32": numpy.int32, "I16": numpy.int16, "I8": numpy.int8, "U8": numpy.uint8, "BOOL": numpy.bool_,
}
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
SHAPES = {
    "scalar": [], "empty": [0], "empty_3d": [2, 0, 3], "odd": [3], "conv": [4, 3, 5, 5], "\u5c64 \u00e4 \"q\"": [2],
}


def make_bytes(type_name, shape):
    """Byte i is 7 * i modulo 120 (finite in every dtype), modulo 2 for BOOL: the same rule as in safetensors_exchange."""
    count = SIZES[type_name]
    for size in shape:
        count *= size
    return bytes(7 * i % (2 if type_name == "BOOL" else 120) for i in range(count))


def expected_tensors():
    return {f"{t}.{s}": (t, shape, make_bytes(t, shape)) for t in TYPES for s, shape in SHAPES.items()}


def check(condition, message):
    if not condition:
        sys.exit(f"check_with_python: {message}")


def check_file(file, expected, metadata):
    """Compares a file with the expected tensors, with both readers of the package."""
    bytes_of_file = file.read_bytes()
    found = {}
    for name, facts in safetensors.deserialize(bytes_of_file):
        found[name] = (facts["dtype"], list(facts["shape"]), bytes(facts["data"]))
    check(found.keys() == expected.keys(), f"{file}: names differ: {sorted(found.keys() ^ expected.keys())[:5]}")
    for name, facts in expected.items():
        check(found[name] == facts, f"{file}: {name}: {found[name][:2]} is not {facts[:2]}, or its bytes differ")
    with safetensors.safe_open(file, framework="numpy") as reader:
        check((reader.metadata() or {}) == metadata, f"{file}: metadata is {reader.metadata()}, expected {metadata}")
        for name, (type_name, shape, data) in expected.items():
            if TYPES[type_name] is None:
                continue
            array = reader.get_tensor(name)
            is_right = array.dtype == TYPES[type_name] and list(array.shape) == shape
            check(is_right, f"{file}: {name}: {array.dtype}{array.shape}")
            check(array.tobytes() == data, f"{file}: {name}: the bytes differ")
    header_bytes = struct.unpack("<Q", bytes_of_file[:8])[0]
    check(header_bytes % 8 == 0, f"{file}: the header has {header_bytes} bytes, no multiple of 8")
    return [name for name in json.loads(bytes_of_file[8 : 8 + header_bytes]) if name != "__metadata__"]


FILES = 200
LETTERS = "abcXYZ019._-/ \"\\\n\t\x7f\u00e4\u5c64\u05d0\U0001f600"


def draw_name(draw, taken):
    """Most names are short; a few have the maximum length of Tenon."""
    while True:
        longest = draw.choices([1, 8, 40, 300, 1 << 20], [100, 100, 300, 100, 1])[0]
        name = "".join(draw.choices(LETTERS, k=draw.randrange(longest + 1)))
        name = name.encode()[:longest].decode(errors="ignore")
        if name not in taken and name != "__metadata__":
            return name


def draw_tensor(draw):
    type_name = draw.choice(list(TYPES))
    shape = [draw.choice([0, 1, 1, 2, 3, 5, 17]) for _ in range(draw.choice([0, 1, 1, 2, 2, 3, 4, 5, 6, 7]))]
    count = SIZES[type_name]
    for size in shape:
        count *= size
    if count > 1 << 20:
        return type_name, [0], b""
    data = draw.randbytes(count)
    return type_name, shape, bytes(byte & 1 for byte in data) if type_name == "BOOL" else data


def check_drawn_files(exchange, scratch):
    """Returns the number of tensors in the round trip."""
    tensors = 0
    for seed in range(FILES):
        draw = random.Random(seed)
        expected = {}
        for _ in range(draw.choice([0, 1, 2, 5, 30])):
            expected[draw_name(draw, expected)] = draw_tensor(draw)
        metadata = {draw_name(draw, ()): draw_name(draw, ()) for _ in range(draw.choice([0, 0, 1, 3]))}
        theirs, ours = scratch / "drawn.safetensors", scratch / "drawn_ours.safetensors"
        tensors_of_torch = {name: make_tensor(*facts) for name, facts in expected.items()}
        safetensors.torch.save_file(tensors_of_torch, theirs, metadata or None)
        subprocess.run([exchange, "copy", theirs, ours], check=True)
        check_file(theirs, expected, metadata)
        check_file(ours, expected, metadata)
        tensors += len(expected)
    return tensors


def make_tensor(type_name, shape, data):
    """Creates a PyTorch tensor, which supports BF16 too."""
    dtype = torch.bfloat16 if type_name == "BF16" else torch.from_numpy(numpy.zeros(1, TYPES[type_name])).dtype
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape) if data else torch.zeros(shape, dtype=dtype)


def main():
    check(len(sys.argv) == 2, "usage: check_with_python.py PATH/TO/safetensors_exchange")
    exchange = pathlib.Path(sys.argv[1]).resolve()
    expected = expected_tensors()
    metadata = {"format": "pt", "\u00e4": "line\nbreak \"quoted\""}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)

        ours = scratch / "ours.safetensors"
        subprocess.run([exchange, "write", ours], check=True)
        check(check_file(ours, expected, metadata) == list(expected), f"{ours}: the names are not in the order given")

        theirs = scratch / "theirs.safetensors"
        arrays = {
            name: numpy.frombuffer(data, dtype=TYPES[type_name]).reshape(shape)
            for name, (type_name, shape, data) in expected.items()
            if TYPES[type_name] is not None
        }
        safetensors.numpy.save_file(arrays, theirs, metadata=metadata)
        copy = scratch / "copy.safetensors"
        subprocess.run([exchange, "copy", theirs, copy], check=True)
        check_file(copy, {name: expected[name] for name in arrays}, metadata)

        for array in (numpy.zeros(3, numpy.complex64), numpy.zeros(3, numpy.uint16)):
            safetensors.numpy.save_file({"w": array}, theirs)
            answer = subprocess.run([exchange, "copy", theirs, copy], stderr=subprocess.PIPE, text=True)
            check(answer.returncode == 5, f"{array.dtype}: exit status {answer.returncode}, expected 5")
            check('tensor "w": dtype is' in answer.stderr, f"{array.dtype}: {answer.stderr}")
        drawn = check_drawn_files(exchange, scratch)
    print(f"{drawn} tensors in {FILES} randomly sampled files are the same after a round trip")
    print(f"{len(expected)} tensors of Tenon are the same in Python, {len(arrays)} tensors of Python are the same in Tenon")


if __name__ == "__main__":
    main()
