"""Compares training on several processes of one machine with PyTorch's DistributedDataParallel.

    python bench/several_processes.py --python PYTHON [--rounds 5] [--steps 40] [--processes 2]

Each round measures, one after another, in milliseconds per step: `host` on one process, `host --processes 2`, and the
same networks in PyTorch with DistributedDataParallel and the fused AdamW, on one process and on two. Each process has
one thread and a batch size of 16. PyTorch communicates over gloo on loopback. The networks are an MLP of 11.0 M
parameters, with gradients that dominate the work, and ResNet-18 on images of 32 x 32, which PyTorch trains contiguous
and in channels_last. Input is synthetic and in memory. PYTHON is an interpreter with torch and torchvision. Prints the
medians over the rounds, and the median over the rounds of the ratio of host to PyTorch.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARMUP = 20
NETWORKS = {
    "mlp": {"model": 'use = "mlp"\nparams = { inputs = 512, hidden = [2048, 2048, 2816] }', "shape": (1, 1, 512),
            "formats": ["contiguous_format"]},
    "resnet18": {"model": 'use = "resnet"\nparams = { depth = 18, classes = 10 }', "shape": (3, 32, 32),
                 "formats": ["contiguous_format", "channels_last"]},
}
RUN_FILE = """
[run]
threads = 1
[model]
{model}
[data]
batch_size = 16
workers = 0
[data.train]
use = "synthetic"
params = {{ samples = 100000, channels = {shape[0]}, height = {shape[1]}, width = {shape[2]}, dtype = "float32" }}
[[loss]]
use = "cross_entropy"
[train]
steps = {steps}
[optimizer]
use = "adamw"
lr = 1e-3
[checkpoint]
every = "never"
[log]
every = "{steps} steps"
"""
PYTORCH_LOOP = """
import os, sys, time
os.environ["OMP_NUM_THREADS"] = "1"
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn

def make(name):
    if name == "mlp":
        sizes = [512, 2048, 2048, 2816, 10]
        layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*layers[:-1]), (512,)
    import torchvision
    return torchvision.models.resnet18(num_classes=10), (3, 32, 32)

def work(rank, name, memory_format, world, steps, warmup, port):
    torch.set_num_threads(1)
    network, shape = make(name)
    network = network.to(memory_format=memory_format)
    if world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
        dist.init_process_group("gloo", rank=rank, world_size=world)
        network = nn.parallel.DistributedDataParallel(network, gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
    images, labels = torch.rand(128, *shape), torch.randint(10, (128,))
    if images.dim() == 4:
        images = images.contiguous(memory_format=memory_format)
    for step in range(warmup + steps):
        if step == warmup:
            begin = time.perf_counter()
        first = step % 8 * 16
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(images[first:first + 16]), labels[first:first + 16]).backward()
        optimizer.step()
    if rank == 0:
        print((time.perf_counter() - begin) / steps * 1e3)
    if world > 1:
        dist.destroy_process_group()

if __name__ == "__main__":
    name, memory_format, port = sys.argv[1], getattr(torch, sys.argv[2]), sys.argv[6]
    world, steps, warmup = map(int, sys.argv[3:6])
    arguments = (name, memory_format, world, steps, warmup, port)
    if world > 1:
        mp.spawn(work, args=arguments, nprocs=world)
    else:
        work(0, *arguments)
"""


def time_host(host, network, processes, steps):
    with tempfile.TemporaryDirectory() as folder:
        run_file = pathlib.Path(folder) / "run.toml"
        run_file.write_text(RUN_FILE.format(**NETWORKS[network], steps=WARMUP + steps))
        command = [host, "--config", run_file, "--processes", str(processes), "--set", f'run.output_dir="{folder}"',
                   "--set", f'log.every="{WARMUP} steps"']
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        history = next(pathlib.Path(folder).rglob("history.jsonl")).read_text().splitlines()
    times = {line["step"]: line["time_s"] for line in map(json.loads, history) if line["event"] == "step"}
    return (times[WARMUP + steps] - times[WARMUP]) / steps * 1e3


def time_pytorch(python, script, network, memory_format, processes, steps):
    # Each run uses a new port, because the system may hold a recently closed port for a while.
    port = str(20000 + os.getpid() % 5000 + len(os.listdir(script.parent)) * 17)
    (script.parent / f"port{port}").touch()
    command = [python, script, network, memory_format, str(processes), str(steps), str(WARMUP), port]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="an interpreter with torch and torchvision")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="a multiple of 20")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    host = f"{arguments.build}/bin/host"
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "loop.py"
        script.write_text(PYTORCH_LOOP)
        for network in arguments.networks.split(","):
            rounds = []
            for _ in range(arguments.rounds):
                row = {}
                for processes in (1, arguments.processes):
                    row["host", processes] = time_host(host, network, processes, arguments.steps)
                    for memory_format in NETWORKS[network]["formats"]:
                        row[f"PyTorch, {memory_format}", processes] = time_pytorch(
                            arguments.python, script, network, memory_format, processes, arguments.steps)
                rounds.append(row)
            print(network)
            for program, processes in rounds[0]:
                print(f"  {program:<26} {processes} process{'es' if processes > 1 else '  '} "
                      f"{statistics.median(row[program, processes] for row in rounds):8.1f} ms")
            for program, processes in rounds[0]:
                if program != "host":
                    ratio = statistics.median(row["host", processes] / row[program, processes] for row in rounds)
                    print(f"  host / ({program}) on {processes}: {ratio:.3f}")


if __name__ == "__main__":
    main()
