"""Compares training on several processes with and without a divided model (distributed.shard).

    python bench/sharding.py [--rounds 5] [--steps 40] [--processes 2] [--networks mlp,resnet18] [--optimizer adamw]

The networks and the settings are those of several_processes.py. Each round runs `host` with every value of
distributed.shard, one after another. Prints the medians over the rounds of the time of a step and of the peak memory of
rank 0 (peak_bytes of run.json), and the medians over the rounds of their ratios to shard = "none". Checkpoints are
written without copies, which would add to the peak.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from several_processes import NETWORKS, ROOT, RUN_FILE, WARMUP

SHARDS = ("none", "optimizer", "gradients")


def run_host(host, network, shard, arguments):
    """Returns milliseconds per step and the peak memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        run_file = pathlib.Path(folder) / "run.toml"
        run_file.write_text(RUN_FILE.format(**NETWORKS[network], steps=WARMUP + arguments.steps))
        settings = [f'run.output_dir="{folder}"', f'log.every="{WARMUP} steps"', f'distributed.shard="{shard}"',
                    f'optimizer.use="{arguments.optimizer}"', "checkpoint.asynchronous=false"]
        command = [host, "--config", run_file, "--processes", str(arguments.processes)]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        history = next(pathlib.Path(folder).rglob("history.jsonl")).read_text().splitlines()
        record = json.loads(next(pathlib.Path(folder).rglob("run.json")).read_text())
    times = {line["step"]: line["time_s"] for line in map(json.loads, history) if line["event"] == "step"}
    return (times[WARMUP + arguments.steps] - times[WARMUP]) / arguments.steps * 1e3, record["peak_bytes"] / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="a multiple of 20")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    host = f"{arguments.build}/bin/host"
    for network in arguments.networks.split(","):
        rounds = [{shard: run_host(host, network, shard, arguments) for shard in SHARDS}
                  for _ in range(arguments.rounds)]
        print(f"{network}, {arguments.optimizer}, {arguments.processes} processes")
        for shard in SHARDS:
            milliseconds, mebibytes = (statistics.median(row[shard][i] for row in rounds) for i in (0, 1))
            time_ratio, memory_ratio = (statistics.median(row[shard][i] / row["none"][i] for row in rounds)
                                        for i in (0, 1))
            print(f"  {shard:<10} {milliseconds:8.1f} ms ({time_ratio:.3f}) {mebibytes:8.0f} MiB ({memory_ratio:.3f})")


if __name__ == "__main__":
    main()
