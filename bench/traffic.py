"""Counts the bytes that the processes of a run send in a step, for each value of distributed.shard.

    python bench/traffic.py [--processes 2,3,4,8] [--build build/release]
    python bench/traffic.py --rate 800mbit [--processes 2]

Trains a GPT of 7 M parameters over gloo's sockets in a separate network namespace. Its loopback device counts bytes. The
bytes of a step are the difference between runs of 12 and of 4 steps, so those of the start are not included. Prints
the bytes for each parameter, process and step next to the formula of docs/reference/distributed.md. Needs `unshare` and `ip`.

With --rate it prints the median time of a step with divided weights instead, while `tc` limits the loopback device to this
rate, for four times as many tokens of context and samples.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEW, MANY = 4, 12
RUN_FILE = """
[run]
threads = 1
[model]
use = "gpt"
params = { context = 32, layers = 4, heads = 6, width = 384 }
[data]
batch_size = 1
workers = 0
[data.train]
use = "text_windows"
params = { path = "text.txt", context = 32, tokens = "bytes" }
[[loss]]
use = "sequence_cross_entropy"
[train]
steps = 4
[optimizer]
use = "adamw"
lr = 1e-4
[checkpoint]
every = "never"
[log]
every = "100 steps"
samples = 0
[distributed]
backend = "gloo"
"""
FORMULAS = {"none": lambda n: 8 * (n - 1) / n, "optimizer": lambda n: 12 * (n - 1) / n,
            "gradients": lambda n: 8 * (n - 1) / n, "parameters": lambda n: 12 * (n - 1) / n}


def run_in_namespace(host, folder, processes, shard, settings, before="true", after="true"):
    """Returns what `after` prints."""
    given = "".join(f" --set '{one}'" for one in settings)
    command = (f"mount -t sysfs none /sys; ip link set lo up && {before} && "
               f"{host} --config run.toml --processes {processes} --set 'distributed.shard=\"{shard}\"' "
               f"--set 'run.output_dir=\"runs/{shard}\"'{given} > output.txt 2>&1 && {after}")
    result = subprocess.run(["unshare", "--net", "--mount", "sh", "-c", command], cwd=folder, stdout=subprocess.PIPE,
                            text=True)
    if result.returncode != 0:
        raise SystemExit((folder / "output.txt").read_text())
    return result.stdout


def count_bytes(host, folder, processes, shard, steps):
    return int(run_in_namespace(host, folder, processes, shard, [f"train.steps={steps}"],
                                after="cat /sys/class/net/lo/statistics/rx_bytes"))


def time_step(host, folder, processes, rate):
    """Returns the median time of a step in seconds, without the first ones."""
    limit = f"ip link set lo mtu 9000 && tc qdisc add dev lo root tbf rate {rate} burst 256kb limit 64mb"
    settings = ["train.steps=14", "model.params.context=128", "data.train.params.context=128", "data.batch_size=4",
                'log.every="1 step"']
    run_in_namespace(host, folder, processes, "parameters", settings, before=limit)
    history = max((folder / "runs").rglob("history.jsonl"), key=lambda path: path.stat().st_mtime)
    times = [line["train/step_s"] for line in map(json.loads, history.read_text().splitlines())
             if line.get("event") == "step"]
    return statistics.median(times[3:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", default="2,3,4,8")
    parser.add_argument("--rate", help="of the loopback device, as tc takes it: 800mbit")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        generator = random.Random(0)
        (folder / "text.txt").write_bytes(bytes(generator.randrange(32, 127) for _ in range(128 * 64 + 1)))
        (folder / "run.toml").write_text(RUN_FILE)
        host = f"{arguments.build}/bin/host"
        if arguments.rate:
            for processes in map(int, arguments.processes.split(",")):
                step = time_step(host, folder, processes, arguments.rate)
                print(f"{processes} processes, {arguments.rate}: {1000 * step:.0f} ms", flush=True)
            return
        summary = subprocess.run([host, "profile", "--config", "run.toml", "--repeats", "1"], check=True, cwd=folder,
                                 stdout=subprocess.PIPE, text=True).stdout
        total = next(line.split() for line in summary.splitlines() if line.split()[:1] == ["total"])
        parameters = int(total[1].replace(",", ""))
        print(f"{parameters} parameters; bytes for each parameter, process and step, measured (formula)")
        for processes in map(int, arguments.processes.split(",")):
            row = []
            for shard, formula in FORMULAS.items():
                few, many = (count_bytes(host, folder, processes, shard, steps) for steps in (FEW, MANY))
                sent = (many - few) / (MANY - FEW) / processes / parameters
                row.append(f"{shard} {sent:.2f} ({formula(processes):.2f})")
            print(f"{processes} processes: " + ", ".join(row), flush=True)


if __name__ == "__main__":
    main()
