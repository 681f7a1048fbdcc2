"""Measures what saving 1.2 GB every 50 steps costs a run: the same run without checkpoints, with asynchronous and with
synchronous checkpoints.

    python bench/checkpoint_in_a_run.py FOLDER [ROUNDS]

Trains an MLP of 98 M parameters with AdamW on the bundled digits for 200 steps on the CPU. Prints the seconds of steps
11 to 200, which include three saves. FOLDER holds the run folders. Choose it on the disk that you want to measure.
Needs build/release.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys

HOST = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/host"
RUN_FILE = """
[model]
use = "mlp"
params = {{ hidden = [7000, 7000, 7000] }}
[data]
batch_size = 32
[data.train]
use = "digits"
[[loss]]
use = "cross_entropy"
[train]
steps = 200
[checkpoint]
every = "{every}"
keep = 1
asynchronous = {asynchronous}
[log]
every = "10 steps"
[optimizer]
use = "adamw"
lr = 1e-4
[run]
name = "{name}"
output_dir = "{folder}"
"""
SETTINGS = {
    "none": ("never", "true"),
    "asynchronous": ("50 steps", "true"),
    "synchronous": ("50 steps", "false"),
}


def seconds_of(folder, name):
    every, asynchronous = SETTINGS[name]
    run_file = folder / f"{name}.toml"
    run_file.write_text(RUN_FILE.format(every=every, asynchronous=asynchronous, name=name, folder=folder))
    subprocess.run([HOST, "--config", run_file], check=True, stdout=subprocess.DEVNULL)
    (run,) = (folder / name).iterdir()
    lines = [json.loads(line) for line in (run / "history.jsonl").read_text().splitlines()]
    times = {line["step"]: line["time_s"] for line in lines if line["event"] == "step"}
    shutil.rmtree(folder / name)
    return times[200] - times[10]


def main():
    folder, rounds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    folder.mkdir(parents=True, exist_ok=True)
    seconds = {name: [] for name in SETTINGS}
    for number in range(rounds):
        for name in SETTINGS:
            seconds[name].append(seconds_of(folder, name))
            print(f"round {number + 1}, {name}: {seconds[name][-1]:.2f} s", flush=True)
    for name in SETTINGS:
        ratios = [total / without for total, without in zip(seconds[name], seconds["none"])]
        print(f"{name}: median {statistics.median(seconds[name]):.2f} s, {statistics.median(ratios):.3f} x none")


if __name__ == "__main__":
    main()
