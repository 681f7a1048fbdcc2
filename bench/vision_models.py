"""Compares the speed of image networks with torchvision, and measures the memory saved by activation checkpointing.

    python bench/vision_models.py speed --python PYTHON [--rounds 3] [--steps 3] [--models vit_s_16,vit_b_16,...]
    python bench/vision_models.py memory [--steps 3] [--batch N] [--models efficientnet_b5,vit_b_16]

speed: measures milliseconds per training step of `host`, and of the same torchvision network in PyTorch, one after
another. Both use the fused AdamW, one thread on one pinned core, and batches of 4 images of 224 x 224 in memory. PYTHON
is an interpreter with torch and torchvision. Prints the medians over the rounds, and the median over the rounds of the
ratio of host to PyTorch.

memory: measures the peak resident set of `host` in MiB and its seconds, on one thread, without and with
train.activation_checkpointing. Batches are so large that activations dominate the memory. Also prints whether both runs
had bit-identical losses.
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
WARMUP = 1
MODELS = {
    "efficientnet_b0": 'use = "efficientnet"\nparams = { variant = "b0" }',
    "efficientnet_b5": 'use = "efficientnet"\nparams = { variant = "b5" }',
    "vit_s_16": 'use = "vit"\nparams = { variant = "s_16" }',
    "vit_b_16": 'use = "vit"\nparams = { variant = "b_16" }',
}
MEMORY_BATCH = {"efficientnet_b0": 32, "efficientnet_b5": 16, "vit_s_16": 32, "vit_b_16": 32}
RUN_FILE = """
[run]
threads = {threads}
[model]
{model}
[data]
batch_size = {batch}
workers = 0
[data.train]
use = "synthetic"
params = {{ samples = 256, height = 224, width = 224, classes = 1000, dtype = "float32" }}
[[loss]]
use = "cross_entropy"
[train]
steps = {steps}
activation_checkpointing = {checkpointing}
[optimizer]
use = "{optimizer}"
lr = 1e-4
[checkpoint]
every = "never"
[log]
every = "1 steps"
"""
PYTORCH_LOOP = """
import sys, time, torch, torchvision
torch.set_num_threads(1)
name, steps, warmup = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if name == "vit_s_16":
    network = torchvision.models.VisionTransformer(224, 16, 12, 6, 384, 1536)
else:
    network = getattr(torchvision.models, name)()
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
images, labels = torch.rand(16, 3, 224, 224), torch.randint(1000, (16,))
for step in range(warmup + steps):
    if step == warmup:
        begin = time.perf_counter()
    first = step % 4 * 4
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(network(images[first:first + 4]), labels[first:first + 4]).backward()
    optimizer.step()
print((time.perf_counter() - begin) / steps * 1e3)
"""


def run_host(host, model, **settings):
    """Returns the step lines of the history, the peak resident set in MiB, and the seconds of the process."""
    with tempfile.TemporaryDirectory() as folder:
        run_file = pathlib.Path(folder) / "run.toml"
        run_file.write_text(RUN_FILE.format(model=MODELS[model], **settings))
        command = [host, "--config", run_file, "--set", f'run.output_dir="{folder}"']
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        if status != 0:
            raise SystemExit("the host failed")
        history = next(pathlib.Path(folder).rglob("history.jsonl")).read_text().splitlines()
    lines = [line for line in map(json.loads, history) if line["event"] == "step"]
    return lines, usage.ru_maxrss / 1024, seconds


def time_host(host, model, steps):
    lines, _, _ = run_host(host, model, threads=1, batch=4, steps=WARMUP + steps, checkpointing="false",
                           optimizer="adamw")
    times = {line["step"]: line["time_s"] for line in lines}
    return (times[WARMUP + steps] - times[WARMUP]) / steps * 1e3


def compare_speed(arguments):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    with tempfile.TemporaryDirectory() as folder:
        loop = pathlib.Path(folder) / "loop.py"
        loop.write_text(PYTORCH_LOOP)
        for model in arguments.models.split(","):
            rounds = []
            for _ in range(arguments.rounds):
                command = [arguments.python, loop, model, str(arguments.steps), str(WARMUP)]
                pytorch = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                rounds.append((time_host(arguments.host, model, arguments.steps), pytorch))
            ratio = statistics.median(host / pytorch for host, pytorch in rounds)
            host, pytorch = (statistics.median(column) for column in zip(*rounds))
            print(f"{model:<16} host {host:8.1f} ms   torchvision {pytorch:8.1f} ms   ratio {ratio:.3f}", flush=True)


def compare_memory(arguments):
    for model in arguments.models.split(","):
        batch = arguments.batch or MEMORY_BATCH[model]
        (lines, whole, seconds), (other_lines, less, other_seconds) = (
            run_host(arguments.host, model, threads=1, batch=batch, steps=arguments.steps, checkpointing=checkpointing,
                     optimizer="sgd") for checkpointing in ("false", "true"))
        same = [line["train/loss"] for line in lines] == [line["train/loss"] for line in other_lines]
        print(f"{model:<16} batch {batch}: {whole:.0f} MiB in {seconds:.0f} s; with checkpointing {less:.0f} MiB "
              f"({(1 - less / whole) * 100:.0f} % less) in {other_seconds:.0f} s; "
              f"losses {'are equal' if same else 'DIFFER'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "memory"])
    parser.add_argument("--python", help="for speed: an interpreter with torch and torchvision")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--models", default="efficientnet_b5,vit_b_16")
    parser.add_argument("--batch", type=int, help="for memory: batch size; default: depends on the model")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    arguments = parser.parse_args()
    arguments.host = f"{arguments.build}/bin/host"
    if arguments.what == "speed":
        if not arguments.python:
            parser.error("speed needs --python")
        compare_speed(arguments)
    else:
        compare_memory(arguments)


if __name__ == "__main__":
    main()
