"""Measures how long safetensors in Python takes to write and read 1.2 GB. Counterpart of benchmark_checkpoint, with the
same sizes.

    python bench/checkpoint.py FOLDER [ROUNDS]

Each round writes a new file, syncs it, and then removes the previous file, like a run that keeps one checkpoint. Prints
seconds. Needs torch and safetensors.
"""

import os
import sys
import time

import torch
from safetensors import safe_open
from safetensors.torch import save_file

TENSORS = 150
ELEMENTS = 100_000_000 // TENSORS


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    torch.set_num_threads(1)
    os.makedirs(folder, exist_ok=True)
    tensors = {f"{kind}.{i}": torch.randn(ELEMENTS) for i in range(TENSORS) for kind in ("weight", "exp_avg", "exp_avg_sq")}
    earlier = None
    for number in range(rounds):
        file = f"{folder}/{number}.safetensors"
        begin = time.perf_counter()
        save_file(tensors, file)
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        if earlier:
            os.remove(earlier)
        earlier = file
        written = time.perf_counter() - begin
        begin = time.perf_counter()
        with safe_open(file, "pt") as stored:
            for name in stored.keys():
                tensors[name].copy_(stored.get_tensor(name))
        print(f"write {written:.2f} s, read {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
