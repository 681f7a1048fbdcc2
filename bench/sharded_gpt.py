"""Compares a divided GPT with PyTorch's DistributedDataParallel and FSDP2 (fully_shard), over gloo on one machine.

    python bench/sharded_gpt.py --python PYTHON [--rounds 3] [--steps 20] [--processes 2] [--width 768] [--layers 8]

All programs train the same network with the same initial weights, AdamW and batches: each step has all windows of a
random text, so the losses do not depend on the order of the samples. Each process has one thread. Each round runs
`host` with every value of distributed.shard, then PyTorch with DistributedDataParallel and with FSDP2 (one unit for
each block, and one for the rest), one after another. PYTHON is an interpreter with torch.

Prints the medians over the rounds of the time of a step and of the peak memory (VmHWM) of rank 0, and the largest
relative difference of a loss from that of shard = "none".
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARMUP = 3
SHARDS = ("none", "optimizer", "gradients", "parameters")
RUN_FILE = """
[run]
threads = 1
[model]
use = "gpt"
weights = "initial.safetensors"
params = {{ context = {context}, layers = {layers}, heads = {heads}, width = {width} }}
[data]
batch_size = {batch_size}
workers = 0
[data.train]
use = "text_windows"
params = {{ path = "text.txt", context = {context}, tokens = "bytes" }}
[[loss]]
use = "sequence_cross_entropy"
[train]
steps = {steps}
[optimizer]
use = "adamw"
lr = 1e-4
weight_decay = 0.01
decay = "all"
[checkpoint]
every = "never"
asynchronous = false
[log]
every = "1 step"
samples = 0
"""
PYTORCH = """
import json, os, pathlib, sys, time
os.environ["OMP_NUM_THREADS"] = "1"
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn import functional
arguments = json.loads(sys.argv[1])
sys.path.insert(0, arguments["networks"])
import gpt_network

def make():
    torch.manual_seed(0)
    return gpt_network.Gpt(256, arguments["context"], arguments["layers"], arguments["heads"], arguments["width"])

def work(rank, kind, world):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=arguments["port"], GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    network = make()
    if kind == "ddp":
        network = torch.nn.parallel.DistributedDataParallel(network, gradient_as_bucket_view=True)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        mesh = init_device_mesh("cpu", (world,))
        for block in network.transformer["h"]:
            fully_shard(block, mesh=mesh)
        fully_shard(network, mesh=mesh)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    text = torch.tensor(list(pathlib.Path("text.txt").read_bytes()))
    context = arguments["context"]
    tokens = text[:-1].view(-1, context)[rank::world]
    target = text[1:].view(-1, context)[rank::world]
    losses = []
    for step in range(arguments["steps"]):
        if step == arguments["warmup"]:
            begin = time.perf_counter()
        optimizer.zero_grad()
        loss = functional.cross_entropy(network(tokens).flatten(0, 1), target.flatten())
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / world)
    milliseconds = (time.perf_counter() - begin) / (arguments["steps"] - arguments["warmup"]) * 1e3
    if rank == 0:
        peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        print(json.dumps({"ms": milliseconds, "mib": int(peak.split()[1]) / 1024, "losses": losses}))
    dist.destroy_process_group()

if __name__ == "__main__":
    if sys.argv[2] == "initial":
        tensors = make().state_dict()
        header, place = {}, 0
        for name, tensor in tensors.items():
            header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [place, place + tensor.nbytes]}
            place += tensor.nbytes
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open("initial.safetensors", "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor in tensors.values():
                file.write(tensor.contiguous().numpy().tobytes())
    else:
        mp.spawn(work, args=(sys.argv[2], arguments["world"]), nprocs=arguments["world"])
"""


def run_host(host, folder, shard, arguments):
    settings = [f'run.output_dir="{folder}/{shard}"', f'distributed.shard="{shard}"']
    command = [host, "--config", "run.toml", "--processes", str(arguments.processes)]
    for setting in settings:
        command += ["--set", setting]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    run = max((folder / shard).rglob("history.jsonl"), key=os.path.getmtime)
    history = [line for line in map(json.loads, run.read_text().splitlines()) if line["event"] == "step"]
    times = {line["step"]: line["time_s"] for line in history}
    steps = WARMUP + arguments.steps
    record = json.loads((run.parent / "run.json").read_text())
    return {"ms": (times[steps] - times[WARMUP]) / arguments.steps * 1e3, "mib": record["peak_bytes"] / 2**20,
            "losses": [line["train/loss"] for line in history]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=1, help="windows for each process")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    steps = WARMUP + arguments.steps
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        generator = random.Random(0)
        windows = arguments.batch_size * arguments.processes
        text = bytes(generator.choice(b"abcdefghijklmnopqrstuvwxyz ") for _ in range(windows * arguments.context + 1))
        (folder / "text.txt").write_bytes(text)
        (folder / "loop.py").write_text(PYTORCH)
        heads = arguments.width // 64
        (folder / "run.toml").write_text(RUN_FILE.format(
            context=arguments.context, layers=arguments.layers, heads=heads, width=arguments.width,
            batch_size=arguments.batch_size, steps=steps))
        settings = json.dumps({"networks": str(ROOT / "tests/parity"), "context": arguments.context, "warmup": WARMUP,
                               "layers": arguments.layers, "heads": heads, "width": arguments.width, "steps": steps,
                               "world": arguments.processes, "port": "29517"})

        def run_pytorch(kind):
            output = subprocess.run([arguments.python, "loop.py", settings, kind], check=True, cwd=folder,
                                    stdout=subprocess.PIPE, text=True).stdout
            return json.loads(output.splitlines()[-1]) if kind != "initial" else None

        run_pytorch("initial")
        rounds = []
        for _ in range(arguments.rounds):
            row = {shard: run_host(f"{arguments.build}/bin/host", folder, shard, arguments) for shard in SHARDS}
            row |= {kind: run_pytorch(kind) for kind in ("ddp", "fsdp2")}
            rounds.append(row)
    expected = rounds[0]["none"]["losses"]
    for kind in rounds[0]:
        milliseconds, mebibytes = (statistics.median(row[kind][what] for row in rounds) for what in ("ms", "mib"))
        difference = max(abs(a - b) / abs(a) for row in rounds for a, b in zip(expected, row[kind]["losses"]))
        print(f"{kind:<10} {milliseconds:8.1f} ms {mebibytes:8.0f} MiB   losses differ by {difference:.1e}")


if __name__ == "__main__":
    main()
