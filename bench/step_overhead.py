"""Compares the pipeline's time per step with a hand-written loop, on a small network where overhead dominates.

    python bench/step_overhead.py [--rounds 5] [--steps 20000] [--python PYTHON] [--flush-denormal]

Each round measures, one after another, in microseconds per step on one pinned core: `host` with a run file, and the
loop of bench/bare_loop.cpp. `host` trains with shuffled batches of 32 from the dataset synthetic, read by the training
thread, and with its defaults: log lines, progress, NaN checks. The bare loop uses slices of a tensor and the fused
AdamW, nothing else. Both train a 64-128-10 network with softmax cross entropy and weight decay of all parameters. Then
measures the milliseconds from process start to the end of the first step.

--python names an interpreter with torch and adds a PyTorch loop with a DataLoader. --flush-denormal flushes denormal
numbers to zero in all of them. Otherwise the time per step of a network that overfits its data varies with the number
of denormals. Prints the medians, the median over the rounds of the ratio to the bare loop, and the ratio of the fastest
rounds.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN_FILE = """
[run]
threads = 1
[model]
use = "mlp"
params = { hidden = [128] }
[data]
batch_size = 32
workers = 0
[data.train]
use = "synthetic"
params = { samples = 3200, channels = 1, height = 8, width = 8 }
[[loss]]
use = "cross_entropy"
[train]
steps = 1
[optimizer]
use = "adamw"
lr = 1e-3
decay = "all"
[checkpoint]
every = "never"
[log]
every = "500 steps"
"""
PYTORCH_LOOP = """
import sys, time, torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
torch.set_flush_denormal("flush" in sys.argv)
steps = int(sys.argv[1])
labels = torch.randint(10, (3200,))
images = (torch.randint(128, (3200, 64)) + (labels * 128 // 10)[:, None]) / 256
data = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
done, begin = 0, None
while done < steps + 500:
    for images, labels in data:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(images), labels).backward()
        optimizer.step()
        done += 1
        if done == 1:
            print("FIRST_STEP", file=sys.stderr, flush=True)
        if done == 500:
            begin = time.perf_counter()
        if done == steps + 500:
            break
print((time.perf_counter() - begin) / steps * 1e6 if steps > 0 else 0)
"""


def run_host(host, folder, steps):
    command = [*host, "--set", f"train.steps={steps}", "--set", f'run.output_dir="{folder}"']
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def time_host(host, steps):
    with tempfile.TemporaryDirectory() as folder:
        if run_host(host, folder, steps + 500).wait() != 0:
            raise SystemExit("the host failed")
        history = next(pathlib.Path(folder).rglob("history.jsonl")).read_text().splitlines()
    lines = [json.loads(line) for line in history]
    times = {line["step"]: line["time_s"] for line in lines if line["event"] == "step"}
    return (times[steps + 500] - times[500]) / steps * 1e6


def time_command(command, steps):
    return float(subprocess.run(command(steps), check=True, capture_output=True, text=True).stdout)


def first_step_of_command(command):
    begin = time.perf_counter()
    process = subprocess.Popen(command(1), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    next(line for line in process.stderr if line.startswith("FIRST_STEP"))
    passed = time.perf_counter() - begin
    process.wait()
    return passed * 1e3


def first_step_of_host(host):
    """Measures until the history contains the line of the first step. Polls for it on another core."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        process = run_host(host, folder, 1)
        history = None
        while True:
            if history is None:
                history = next(pathlib.Path(folder).glob("*/*/history.jsonl"), None)
            if history is not None and history.stat().st_size > 0:
                break
            if process.poll() is not None and history is None:
                raise SystemExit("the host failed")
            time.sleep(0.001)
        passed = time.perf_counter() - begin
        process.wait()
    return passed * 1e3


def report(title, unit, rounds):
    print(title)
    for name in rounds[0]:
        values = [row[name] for row in rounds]
        ratio = statistics.median(row[name] / row["bare loop"] for row in rounds)
        best = min(values) / min(row["bare loop"] for row in rounds)
        print(f"  {name:<12} {statistics.median(values):9.1f} {unit}   {ratio:5.3f} of bare loop; fastest {best:5.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--python", help="an interpreter with torch")
    parser.add_argument("--flush-denormal", action="store_true")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    arguments = parser.parse_args()
    flush = ["flush"] if arguments.flush_denormal else []
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        run_file = f"{folder}/overhead.toml"
        pathlib.Path(run_file).write_text(RUN_FILE)
        loop = f"{folder}/loop.py"
        pathlib.Path(loop).write_text(PYTORCH_LOOP)
        host = [f"{arguments.build}/bin/host", "--config", run_file]
        if arguments.flush_denormal:
            host += ["--set", "run.flush_denormal=true"]
        commands = {"bare loop": lambda steps: [f"{arguments.build}/bin/benchmark_bare_loop", str(steps), *flush]}
        if arguments.python:
            commands["PyTorch"] = lambda steps: [arguments.python, loop, str(steps), *flush]
        steps, first = [], []
        for _ in range(arguments.rounds):
            os.sched_setaffinity(0, cores[:1])
            row = {name: time_command(command, arguments.steps) for name, command in commands.items()}
            row["host"] = time_host(host, arguments.steps)
            steps.append(row)
            os.sched_setaffinity(0, cores)
            row = {name: first_step_of_command(command) for name, command in commands.items()}
            row["host"] = first_step_of_host(host)
            first.append(row)
    report("time per step", "us", steps)
    report("process start to the end of the first step", "ms", first)


if __name__ == "__main__":
    main()
