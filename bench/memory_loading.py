"""Compares loading of samples without decoding, from a file in the page cache into batches, with a memcpy of the same
bytes.

    python bench/memory_loading.py [--rounds 7] [--seconds 3] [--samples 2000]

Each round measures on one core, one after another: `host data` with the dataset arrays (images of 224 x 224 x 3 bytes,
shuffled, batches of 64), and two memcpy loops from the mapped file into three alternating batches. One loop copies the
same shuffled samples (ctypes.memmove, one call per sample), the other copies whole batches in file order
(numpy.copyto). Prints the medians of GB/s, and the medians over the rounds of the ratios. Needs numpy.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH = 64
RUN_FILE = """
[model]
use = "small_cnn"
params = {{ channels = 3, classes = 1 }}
[data]
batch_size = {batch}
workers = 1
[data.train]
use = "arrays"
params = {{ path = "{path}" }}
[[loss]]
use = "cross_entropy"
[train]
epochs = 1
[optimizer]
use = "sgd"
lr = 0.1
"""


def time_host(host, run_file, seconds):
    command = [host, "data", "--config", str(run_file), "--seconds", str(seconds), "--json"]
    loader = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["loader"]
    return loader["bytes_per_s"] / 1e9


def time_copies(images, seconds, whole_batches):
    slots = [numpy.ones((BATCH,) + images.shape[1:], numpy.uint8) for _ in range(3)]
    order = numpy.random.default_rng(0).permutation(len(images)).tolist()
    begin_address = images.ctypes.data
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        first = count * BATCH % (len(images) - BATCH)
        slot = slots[count % 3]
        if whole_batches:
            numpy.copyto(slot, images[first:first + BATCH])
        else:
            to, sample_bytes = slot.ctypes.data, slot[0].nbytes
            for index in order[first:first + BATCH]:
                ctypes.memmove(to, begin_address + index * sample_bytes, sample_bytes)
                to += sample_bytes
        count += 1
    return count * slots[0].nbytes / (time.perf_counter() - begin) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default=str(ROOT / "build/release/bin/host"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--samples", type=int, default=2000)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {0})
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "arrays"
        folder.mkdir()
        numpy.save(folder / "image.npy", numpy.random.default_rng(0).integers(
            0, 256, (arguments.samples, 224, 224, 3), numpy.uint8))
        numpy.save(folder / "label.npy", numpy.zeros(arguments.samples, numpy.int64))
        run_file = pathlib.Path(place) / "run.toml"
        run_file.write_text(RUN_FILE.format(batch=BATCH, path=folder))
        images = numpy.load(folder / "image.npy", mmap_mode="r")
        images.max()  # maps every page
        results = {"host data": [], "copies of samples": [], "copies of batches": []}
        for _ in range(arguments.rounds):
            results["copies of samples"].append(time_copies(images, arguments.seconds, whole_batches=False))
            results["host data"].append(time_host(arguments.host, run_file, arguments.seconds))
            results["copies of batches"].append(time_copies(images, arguments.seconds, whole_batches=True))
    print("| | GB/s | host data / it |\n|---|---|---|")
    for name, values in results.items():
        ratio = statistics.median(a / b for a, b in zip(results["host data"], values))
        print(f"| {name} | {statistics.median(values):.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
