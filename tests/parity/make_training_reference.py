#!/usr/bin/env python3
"""Trains small networks on the digits with PyTorch, the reference for the same runs of the host.

    python3 make_training_reference.py OUTDIR        (torch 2.11 and safetensors; OUTDIR: reference)

Writes the initial weights as NETWORK.safetensors, and for each run file beside this script RUN.json: the loss of every
step before its update. One thread, batches in file order, the last one of an epoch as small as it falls.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save
from torch import nn

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DIGITS = REPOSITORY / "plugins/datasets/digits/digits.csv"  # 64 pixels of 0..16, then the label
STEPS = 100
BATCH_SIZE = 64


def read_training_digits():
    """Images [N, 1, 8, 8] in 0..1 and labels [N]: every row but the fifth, tenth, ... ones, which are for testing."""
    rows = [[int(text) for text in line.split(",")] for line in DIGITS.read_text().splitlines() if line[:1].isdigit()]
    assert len(rows) == 1797 and all(len(row) == 65 for row in rows)
    rows = torch.tensor([row for index, row in enumerate(rows) if index % 5 != 4])
    return (rows[:, :64].float() / 16).reshape(-1, 1, 8, 8), rows[:, 64]


def batches():
    images, labels = read_training_digits()
    while True:
        yield from zip(images.split(BATCH_SIZE), labels.split(BATCH_SIZE))


def convolution(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)


class SmallCnn(nn.Module):
    """The plugin small_cnn with width = 8."""

    def __init__(self, classes=10, width=8):
        super().__init__()
        self.features = nn.Sequential(
            convolution(1, width), nn.BatchNorm2d(width), nn.ReLU(),
            convolution(width, width), nn.BatchNorm2d(width), nn.ReLU(),
            nn.MaxPool2d(2),
            convolution(width, 2 * width), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.classifier = nn.Linear(8 * width, classes)

    def forward(self, image):
        return self.classifier(self.features(image))


class Mlp(nn.Module):
    """The plugin mlp."""

    def __init__(self, sizes=(64, 128, 10)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, image):
        hidden = image.flatten(1)
        for layer in self.layers[:-1]:
            hidden = layer(hidden).relu()
        return self.layers[-1](hidden)


def adamw(network):
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01)
    return optimizer, torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1)


def sgd(network, lr):
    optimizer = torch.optim.SGD(network.parameters(), lr=lr, momentum=0.9, nesterov=True, weight_decay=5e-4)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=STEPS, cycle_momentum=False)


NETWORKS = {"small_cnn": SmallCnn, "mlp": Mlp}
RUNS = {  # by the name of the run file; it says the same
    "small_cnn_adamw": ("small_cnn", adamw),
    "small_cnn_sgd_one_cycle": ("small_cnn", lambda network: sgd(network, 0.05)),
    "mlp_adamw": ("mlp", adamw),
}


def make_network(name, dtype=torch.float32):
    torch.manual_seed(0)
    return NETWORKS[name]().to(dtype)


def train(network, make_optimizer):
    """The loss of each of the STEPS steps, before its update."""
    dtype = next(network.parameters()).dtype
    optimizer, schedule = make_optimizer(network)
    losses = []
    for (images, labels), _ in zip(batches(), range(STEPS)):
        loss = nn.functional.cross_entropy(network(images.to(dtype)), labels)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return losses


def main(folder):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    folder.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS:
        (folder / f"{name}.safetensors").write_bytes(save(make_network(name).state_dict()))
    for name, (network, make_optimizer) in RUNS.items():
        losses = train(make_network(network), make_optimizer)
        exact = train(make_network(network, torch.float64), make_optimizer)
        rounding = max(abs(a - b) / b for a, b in zip(losses, exact))
        print(f"{name}: loss {losses[0]:.4f} -> {losses[-1]:.4f}; double precision differs by {rounding:.2g}")
        version = torch.__version__.split("+")[0]
        content = {"torch": version, "difference_of_double_precision": rounding, "losses": losses}
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
