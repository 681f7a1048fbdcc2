#!/usr/bin/env python3
"""Checks that Python's safetensors package and Tenon read each other's files.

    python tests/artifacts/check_with_python.py BUILD/tests/bin/safetensors_exchange

Needs any Python with the packages safetensors and numpy, and the program safetensors_exchange, which the build makes
beside the tests. `safetensors_exchange write FILE` writes tensors of all types with bytes that follow from their
places; `safetensors_exchange copy FROM TO` reads a file and writes what it found. Exit status 0: everything agreed.

BF16 has no NumPy type, so it is compared as bytes, through the package's own serialize() and deserialize().
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy

TYPES = {  # as the format names them -> NumPy's type, None where it has none
    "F64": numpy.float64, "F32": numpy.float32, "F16": numpy.float16, "BF16": None, "I64": numpy.int64,
    "I32": numpy.int32, "I16": numpy.int16, "I8": numpy.int8, "U8": numpy.uint8, "BOOL": numpy.bool_,
}
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
SHAPES = {
    "scalar": [], "empty": [0], "empty_3d": [2, 0, 3], "odd": [3], "conv": [4, 3, 5, 5], "\u5c64 \u00e4 \"q\"": [2],
}


def make_bytes(type_name, shape):
    """Byte i is 7 * i modulo 120 (finite as every type), modulo 2 for BOOL: the same rule as safetensors_exchange."""
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
    """Compares a file with what is expected, by the package's two readers."""
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
    print(f"{len(expected)} tensors written here are the same in Python, {len(arrays)} written there are the same here")


if __name__ == "__main__":
    main()
