"""Compares a training step of an exported model with the bundled model of the same network and with PyTorch.

    python bench/exported_step.py [--rounds 5] [--repeats 200] [--threads 1] [NETWORK ...]

Needs torch, torchvision and timm of the host's version, and a C++ compiler for torch.compile. The networks are a 64-128-10 MLP with batches
of 32 samples, ResNet-18 with batches of 16 images of 64 pixels, and ViT-Tiny with batches of 16 images of 64 pixels. Each
round measures, one after another, the median step of `host profile` with the bundled model and with the exported one, and
of loops in PyTorch without and with torch.compile: forward, softmax cross entropy, backward, fused SGD. All train in float32, and convolutions in channels_last. Prints the medians over the rounds in microseconds.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN_FILE = """
[run]
threads = {threads}
[model]
use = "{use}"
params = {{ {params} }}
inputs = {{ {input} = "data.image" }}
[data]
batch_size = {batch}
workers = 0
[data.train]
use = "synthetic"
params = {{ samples = 256, channels = {channels}, height = {size}, width = {size} }}
[[loss]]
use = "cross_entropy"
inputs = {{ logits = "model.{output}" }}
[optimizer]
use = "sgd"
lr = 0.01
momentum = 0.9
[train]
steps = 1
"""


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, x):
        return self.layers(x)


def resnet18():
    import torchvision
    return torchvision.models.resnet18(num_classes=10)


def vit_tiny():
    import timm
    return timm.create_model("vit_tiny_patch16_224", img_size=64, num_classes=10)


# The network, the bundled model and its parameters or None, channels and size of an image, batch size.
NETWORKS = {
    "mlp": (Mlp, ("mlp", "hidden = [128]"), 1, 8, 32),
    "resnet18": (resnet18, ("resnet", "depth = 18, classes = 10"), 3, 64, 16),
    "vit_tiny": (vit_tiny, None, 3, 64, 16),
}


def median_of_host(run_file, repeats):
    command = [ROOT / "build/release/bin/host", "profile", "--config", run_file, "--repeats", str(repeats), "--json"]
    output = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(output.stdout)["step_seconds"]["median"] * 1e6


class Loop:
    """A training loop in PyTorch."""

    def __init__(self, make, channels, size, batch, compiled):
        has_convolutions = size > 8
        memory_format = torch.channels_last if has_convolutions else torch.contiguous_format
        self.model = make().to(memory_format=memory_format).train()
        self.call = torch.compile(self.model) if compiled else self.model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, fused=True)
        self.images = torch.rand(batch, channels, size, size).to(memory_format=memory_format)
        self.labels = torch.arange(batch) % 10

    def median(self, repeats):
        times = []
        for _ in range(repeats + 3):
            begin = time.perf_counter()
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.call(self.images), self.labels).backward()
            self.optimizer.step()
            times.append(time.perf_counter() - begin)
        return statistics.median(times[3:]) * 1e6


def write_run_files(name, folder, threads):
    make, bundled, channels, size, batch = NETWORKS[name]
    subprocess.run([sys.executable, ROOT / "scripts/export_model.py", "--model",
                    f"{__file__}:{make.__name__}", "--input", f"x=2,{channels},{size},{size}", "--output", "logits",
                    folder / "model.pt2"], check=True, capture_output=True)
    exported = f'path = "{folder}/model.pt2", outputs = ["logits"]'
    models = {"bundled": (*bundled, "image")} if bundled else {}
    models["exported"] = ("exported", exported, "x")
    files = {}
    for kind, (use, params, port) in models.items():
        files[kind] = folder / f"{kind}.toml"
        files[kind].write_text(RUN_FILE.format(threads=threads, use=use, params=params, input=port, output="logits",
                                               batch=batch, channels=channels, size=size))
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in options.networks or NETWORKS:
        make, _, channels, size, batch = NETWORKS[name]
        with tempfile.TemporaryDirectory() as temporary:
            files = write_run_files(name, pathlib.Path(temporary), options.threads)
            repeats = 20 * options.repeats if name == "mlp" else options.repeats
            loops = {"PyTorch": Loop(make, channels, size, batch, False),
                     "torch.compile": Loop(make, channels, size, batch, True)}
            times = {kind: [] for kind in [*files, *loops]}
            for _ in range(options.rounds):
                for kind, file in files.items():
                    times[kind].append(median_of_host(file, repeats))
                for kind, loop in loops.items():
                    times[kind].append(loop.median(repeats))
        medians = {kind: statistics.median(values) for kind, values in times.items()}
        print(f"{name}: " + ", ".join(f"{kind} {value:.1f} us" for kind, value in medians.items()), flush=True)


if __name__ == "__main__":
    main()
