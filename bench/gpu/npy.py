"""Writes .npy files without NumPy, for the dataset `arrays`."""
import array
import math
import pathlib
import random

CODES = {"float32": ("<f4", "f"), "int64": ("<i8", "q"), "uint8": ("|u1", "B")}


def write(file: pathlib.Path, dtype: str, shape: tuple[int, ...], values: array.array | bytes) -> None:
    """Writes a version 1.0 .npy file in C order."""
    description = {"descr": CODES[dtype][0], "fortran_order": False, "shape": shape}
    header = repr(description).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(values))


def floats(generator: random.Random, shape: tuple[int, ...]) -> array.array:
    """Returns uniform numbers in [0, 1)."""
    return array.array("f", (generator.random() for _ in range(math.prod(shape))))


def integers(generator: random.Random, shape: tuple[int, ...], below: int) -> array.array:
    """Returns uniform integers in [0, below)."""
    return array.array("q", generator.choices(range(below), k=math.prod(shape)))


def write_folder(folder: pathlib.Path, fields: dict[str, tuple[str, tuple[int, ...], int]], seed: int = 0) -> None:
    """Writes one random array per field. A field is its dtype, its shape with the samples, and its upper bound."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(seed)
    for name, (dtype, shape, below) in fields.items():
        values: array.array | bytes
        if dtype == "float32":
            values = floats(generator, shape)
        elif dtype == "uint8":
            values = generator.randbytes(math.prod(shape))
        else:
            values = integers(generator, shape, below)
        write(folder / f"{name}.npy", dtype, shape, values)
