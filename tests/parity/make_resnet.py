#!/usr/bin/env python3
"""Writes the outputs of torchvision's residual networks for tests/bundled/resnet_test.cpp: logits, gradients, and the
buffers after some training steps. Weights and images come from a formula, so they need not be stored.

    python3 make_resnet.py OUTDIR        (torch 2.11, torchvision 0.26 and safetensors; OUTDIR: reference)

resnet.safetensors contains the tensors of sketch_network() for each case. resnet_tensors.inc describes state_dict() of
each depth.
"""
import pathlib
import sys

import torch
import torchvision
from safetensors.torch import save
from torch import nn

from sketch_network import CLASSES, describe_tensors, sketch_network

# Depth, channels, image size, width. Networks that are narrower than torchvision's save test time.
CASES = {"imagenet18": (18, 3, 20, 64), "imagenet50": (50, 3, 40, 8), "cifar18": (18, 1, 11, 8)}
DEPTHS = (18, 34, 50, 101, 152)


class NarrowResNet(torchvision.models.ResNet):
    """torchvision's network with `width` channels after the stem instead of 64."""

    def __init__(self, block, layers, width):
        self.width = width
        super().__init__(block, layers, CLASSES)
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.fc = nn.Linear(8 * width * block.expansion, CLASSES)

    def _make_layer(self, block, planes, *rest, **options):
        if planes == 64:
            self.inplanes = self.width
        return super()._make_layer(block, planes * self.width // 64, *rest, **options)


def make_network(depth, channels, width, is_cifar):
    network = getattr(torchvision.models, f"resnet{depth}")(num_classes=CLASSES)
    if width != 64:
        block = type(network.layer1[0])
        network = NarrowResNet(block, [len(getattr(network, f"layer{i}")) for i in range(1, 5)], width)
    if is_cifar:
        network.conv1 = nn.Conv2d(channels, width, 3, padding=1, bias=False)
        network.maxpool = nn.Identity()
    return network


def main(folder):
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name, (depth, channels, size, width) in CASES.items():
        network = make_network(depth, channels, width, name.startswith("cifar"))
        results.update(sketch_network(name, network, channels, size))
    (folder / "resnet.safetensors").write_bytes(save(results))
    (folder / "resnet_tensors.inc").write_text(
        "// Made by make_resnet.py: depth, number of parameters, digest of names and shapes.\n"
        + "".join(describe_tensors(depth, getattr(torchvision.models, f"resnet{depth}")()) for depth in DEPTHS))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
