"""Compares a training step of an exported model with the bundled model of the same network and with PyTorch.

    python bench/exported_step.py [--rounds 5] [--repeats 200] [--threads 1]

Needs torch and torchvision of the host's version. The networks are a 64-128-10 MLP with batches of 32, and ResNet-18 with
batches of 16 images of 64 pixels. Each round measures, one after another, the median step of `host profile` with the
bundled model and with the exported one, and of a loop in PyTorch: forward, softmax cross entropy, backward, fused SGD.
All train in float32 with contiguous tensors. Prints the medians over the rounds in microseconds and their ratios.
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
memory_format = "contiguous"
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


# The network, the bundled model and its parameters, channels and size of an image, batch size.
NETWORKS = {
    "mlp": (Mlp, "mlp", "hidden = [128]", 1, 8, 32),
    "resnet18": (resnet18, "resnet", "depth = 18, classes = 10", 3, 64, 16),
}


def median_of_host(run_file, repeats):
    command = [ROOT / "build/release/bin/host", "profile", "--config", run_file, "--repeats", str(repeats), "--json"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(output)["step_seconds"]["median"] * 1e6


def median_of_pytorch(make, channels, size, batch, repeats):
    model = make()
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    images, labels = torch.rand(batch, channels, size, size), torch.arange(batch) % 10
    times = []
    for _ in range(repeats + 3):
        begin = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[3:]) * 1e6


def write_run_files(name, folder, threads):
    make, use, params, channels, size, batch = NETWORKS[name]
    subprocess.run([sys.executable, ROOT / "scripts/export_model.py", "--model",
                    f"{__file__}:{make.__name__}", "--input", f"x=2,{channels},{size},{size}", "--output", "logits",
                    folder / "model.pt2"], check=True, capture_output=True)
    files = {}
    for kind, chosen in (("bundled", (use, params, "image")),
                         ("exported", ("exported", f'path = "{folder}/model.pt2", outputs = ["logits"]', "x"))):
        files[kind] = folder / f"{kind}.toml"
        files[kind].write_text(RUN_FILE.format(threads=threads, use=chosen[0], params=chosen[1], input=chosen[2],
                                               output="logits", batch=batch, channels=channels, size=size))
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name, (make, _, _, channels, size, batch) in NETWORKS.items():
        with tempfile.TemporaryDirectory() as temporary:
            files = write_run_files(name, pathlib.Path(temporary), options.threads)
            repeats = options.repeats if name == "resnet18" else 20 * options.repeats
            times = {"bundled": [], "exported": [], "PyTorch": []}
            for _ in range(options.rounds):
                for kind, file in files.items():
                    times[kind].append(median_of_host(file, repeats))
                times["PyTorch"].append(median_of_pytorch(make, channels, size, batch, repeats))
        medians = {kind: statistics.median(values) for kind, values in times.items()}
        print(f"{name}: " + ", ".join(f"{kind} {value:.1f} us" for kind, value in medians.items()) +
              f"; exported / bundled {medians['exported'] / medians['bundled']:.3f}, "
              f"exported / PyTorch {medians['exported'] / medians['PyTorch']:.3f}", flush=True)


if __name__ == "__main__":
    main()
