#!/usr/bin/env python3
"""Writes the outputs of torchvision's vision transformers for weights and images from a formula, for
tests/bundled/vit_test.cpp.

    python3 make_vit.py OUTDIR        (torch 2.11, torchvision 0.26 and safetensors; OUTDIR: reference)

vit.safetensors contains the tensors of sketch_network() for each case, and `published.logits`, [4, 5], for the weights
in vit_published.safetensors. vit_tensors.inc describes state_dict() of each variant, see WHOLE.
"""
import pathlib
import sys

import torch
import torchvision
from safetensors.torch import save
from torch import nn
from torchvision.models import VisionTransformer

from sketch_network import CLASSES, describe_tensors, make_published, sketch_network

# Channels, image size, patch size, width, depth, heads, width of the MLP.
CASES = {"small": (3, 24, 4, 48, 3, 4, 96), "grey": (1, 21, 7, 20, 2, 1, 33)}
PUBLISHED = (3, 16, 8, 24, 2, 3, 48)
# Patch size, width, depth, heads, width of the MLP. The values are those of torchvision, or for variants that it lacks
# those of "How to train your ViT?", arXiv:2106.10270.
VARIANTS = {"ti_16": (16, 192, 12, 3, 768), "s_32": (32, 384, 12, 6, 1536), "s_16": (16, 384, 12, 6, 1536)}
for name in ("b_32", "b_16", "l_32", "l_16", "h_14"):
    with torch.device("meta"):
        network = getattr(torchvision.models, f"vit_{name}")()
    block = network.encoder.layers[0]
    VARIANTS[name] = (network.patch_size, network.hidden_dim, len(network.encoder.layers), block.num_heads,
                      network.mlp_dim)
WHOLE = ("ti_16", "s_32", "s_16", "b_16")  # others use less memory, see describe_variant


def make_network(channels, image_size, patch_size, width, depth, heads, mlp_width, classes=CLASSES):
    network = VisionTransformer(image_size, patch_size, depth, heads, width, mlp_width, num_classes=classes)
    if channels != 3:
        network.conv_proj = nn.Conv2d(channels, width, patch_size, stride=patch_size)
    return network


def describe_variant(variant):
    patch_size, width, depth, heads, mlp_width = VARIANTS[variant]
    lines = ""
    for changed in [(0, 0, 0)] if variant in WHOLE else [(0, 0, 1), (heads, 2, 0)]:
        sizes = patch_size, changed[0] or width, changed[2] or depth, heads, changed[1] or mlp_width
        with torch.device("meta"):
            network = make_network(3, 224, *sizes, classes=1000)
        lines += describe_tensors(f'"{variant}", {changed[0]}, {changed[1]}, {changed[2]}', network)
    return lines


def main(folder):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name, sizes in CASES.items():
        results.update(sketch_network(name, make_network(*sizes), sizes[0], sizes[1]))
    weights, results["published.logits"] = make_published(make_network(*PUBLISHED), PUBLISHED[0], PUBLISHED[1])
    (folder / "vit_published.safetensors").write_bytes(save(weights))
    (folder / "vit.safetensors").write_bytes(save(results))
    (folder / "vit_tensors.inc").write_text(
        "// Made by make_vit.py: variant; width, mlp_width and depth that replace those of the variant, or 0;\n"
        "// number of parameters, digest of names and shapes.\n"
        + "".join(describe_variant(variant) for variant in VARIANTS))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
