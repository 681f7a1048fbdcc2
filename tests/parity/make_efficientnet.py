#!/usr/bin/env python3
"""Writes the outputs of torchvision's EfficientNets for weights and images from a formula, for
tests/bundled/efficientnet_test.cpp.

    python3 make_efficientnet.py OUTDIR        (torch 2.11, torchvision 0.26 and safetensors; OUTDIR: reference)

efficientnet.safetensors contains the tensors of sketch_network() for each case, and `published.logits`, [4, 5], for the
weights in efficientnet_published.safetensors. efficientnet_tensors.inc describes state_dict() of each variant.
"""
import functools
import pathlib
import sys

import torch
import torchvision
from safetensors.torch import save
from torch import nn
from torchvision.models.efficientnet import EfficientNet, _efficientnet_conf

from sketch_network import CLASSES, describe_tensors, make_published, sketch_network

# Variant, channels, image size, width, depth. Networks that are narrower than torchvision's save test time.
CASES = {"b0": ("b0", 3, 37, 1.0, 1.0), "b5_narrow": ("b5", 1, 64, 0.3, 1.4)}
PUBLISHED = ("b5", 3, 40, 0.25, 0.4)
VARIANTS = [f"b{i}" for i in range(8)]


def make_network(variant, channels, width, depth):
    settings, last_channel = _efficientnet_conf(f"efficientnet_{variant}", width_mult=width, depth_mult=depth)
    norm = functools.partial(nn.BatchNorm2d, eps=0.001, momentum=0.01) if variant >= "b5" else None
    network = EfficientNet(settings, 0.0, 0.0, CLASSES, norm, last_channel)
    if channels != 3:
        stem = network.features[0][0]
        network.features[0][0] = nn.Conv2d(channels, stem.out_channels, 3, stride=2, padding=1, bias=False)
    return network


def main(folder):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name, (variant, channels, size, width, depth) in CASES.items():
        results.update(sketch_network(name, make_network(variant, channels, width, depth), channels, size))
    variant, channels, size, width, depth = PUBLISHED
    weights, results["published.logits"] = make_published(make_network(variant, channels, width, depth), channels, size)
    (folder / "efficientnet_published.safetensors").write_bytes(save(weights))
    (folder / "efficientnet.safetensors").write_bytes(save(results))
    (folder / "efficientnet_tensors.inc").write_text(
        "// Made by make_efficientnet.py: variant, number of parameters, digest of names and shapes.\n"
        + "".join(describe_tensors(f'"{variant}"', getattr(torchvision.models, f"efficientnet_{variant}")())
                  for variant in VARIANTS))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
