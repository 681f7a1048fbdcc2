"""Random inputs that C++ tests can regenerate (tests/bundled/random_case.h), so that only the results are stored.

The generator is SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""
import math

import numpy
import torch
from safetensors.torch import save_file

torch.set_num_threads(1)  # the tensors are too small for more threads

CASES = 1000
STEP = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def hash_name(name):
    """Returns the 64-bit FNV-1a hash."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


class RandomCase:
    """The random numbers of one case. Every number is exact in binary."""

    def __init__(self, component, number):
        self.state = (hash_name(component) + number * 0xD1342543DE82EF95) & MASK

    def draw(self, count):
        steps = numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(STEP)
        mixed = steps + numpy.uint64(self.state)
        self.state = (self.state + count * STEP) & MASK
        mixed = (mixed ^ (mixed >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> numpy.uint64(31))

    def integers(self, shape, first, end):
        """Returns integers in [first, end), int64."""
        drawn = self.draw(math.prod(shape)) % numpy.uint64(end - first)
        return torch.from_numpy(drawn.astype(numpy.int64)).add(first).reshape(shape)

    def between(self, first, last):
        """Returns one integer in [first, last]."""
        return self.integers([1], first, last + 1).item()

    def choose(self, options):
        return options[self.between(0, len(options) - 1)]

    def numbers(self, shape, scale):
        """Returns multiples of 1 / scale from -1024 / scale to 1024 / scale, float64."""
        return self.integers(shape, -1024, 1025).double().div(scale)

    def trailing_shape(self):
        """Returns the shape of the dimensions that a port leaves open (`...`)."""
        return self.choose([[], [3], [2, 3]])

    def ignore(self, target, ignore_index):
        """Sets no element, a third or all of `target` to ignore_index, in place."""
        mode = self.choose(["none", "some", "some", "some", "all", "none"])
        drawn = self.integers(target.shape, 0, 3)
        if mode != "none":
            target[(drawn == 0) | (mode == "all")] = ignore_index
        return target


def write(path, tables, dtype):
    """Writes the tables. Each maps a name to one list of numbers per case. Shorter lists are padded with 0."""
    def table(rows):
        width = max(len(row) for row in rows)
        return torch.tensor([list(row) + [0] * (width - len(row)) for row in rows], dtype=dtype)
    save_file({name: table(rows) for name, rows in tables.items()}, path)
