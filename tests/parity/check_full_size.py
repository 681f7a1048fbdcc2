#!/usr/bin/env python3
"""Compares EfficientNets and ViT-B/16 with torchvision and timm, at full width. Writes random weights of the library as
safetensors, lets the host load them and predict noise, and compares the logits. Takes some minutes and 2 GB. The soak
test soak.full_size runs it.

    python3 check_full_size.py HOST        (torch 2.11, torchvision 0.26, timm 1.0 and safetensors; HOST: the built bin/host)
"""
import pathlib
import subprocess
import sys
import tempfile

import timm
import torch
import torchvision
from safetensors.torch import load_file, save_file

IMAGES = 2
# The library, the model of the run file, and the size of images. An odd size has asymmetric padding in TensorFlow.
CASES = {"efficientnet_b5": (torchvision.models, 'use = "efficientnet"\nparams = { variant = "b5" }', 456),
         "vit_b_16": (torchvision.models, 'use = "vit"\nparams = { variant = "b_16" }', 224),
         "timm efficientnet_b5": (timm, 'use = "efficientnet"\nparams = { variant = "b5", norm_eps = 1e-5 }', 224),
         "timm tf_efficientnet_b0": (
             timm, 'use = "efficientnet"\nparams = { variant = "b0", padding = "same", norm_eps = 1e-3 }', 223),
         "timm tf_efficientnet_b5": (
             timm, 'use = "efficientnet"\nparams = { variant = "b5", padding = "same", norm_eps = 1e-3 }', 224)}
RUN_FILE = """
[run]
threads = 1
[model]
{model}
[data]
batch_size = {images}
[data.train]
use = "arrays"
params = {{ path = "images.safetensors" }}
[data.validation]
use = "arrays"
params = {{ path = "images.safetensors" }}
[[loss]]
use = "cross_entropy"
[train]
epochs = 1
[optimizer]
use = "sgd"
lr = 1e-3
"""


def disturb(network):
    """Adds noise to tensors that start as zero or one, such as the head of a vision transformer and norm statistics."""
    generator = torch.Generator().manual_seed(2)
    for name, tensor in network.state_dict().items():
        if tensor.is_floating_point() and tensor.dim() <= 2:
            noise = torch.rand(tensor.shape, generator=generator) - 0.5
            tensor += noise * (0.5 if tensor.dim() == 1 else 0.05)


def main(host):
    torch.set_num_threads(1)
    for name, (library, model, size) in CASES.items():
        torch.manual_seed(1)
        make = timm.create_model if library is timm else lambda short: getattr(library, short)()
        network = make(name.split()[-1]).eval()
        with torch.no_grad():
            disturb(network)
            images = torch.randn(IMAGES, 3, size, size)
            logits = network(images)
            precise = network.double()(images.double())
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            network.float()
            save_file(network.state_dict(), folder / "weights.safetensors")
            save_file({"image": images, "label": torch.arange(IMAGES)}, folder / "images.safetensors")
            (folder / "run.toml").write_text(RUN_FILE.format(model=model, images=IMAGES))
            subprocess.run([host, "predict", "--config", folder / "run.toml", "--data", "validation", "--checkpoint",
                            folder / "weights.safetensors", "--output", folder / "logits.safetensors"], check=True)
            found = load_file(folder / "logits.safetensors")["logits"]
        scale = precise.abs().max()
        pairs = {"host to the library": (found, logits), "host to the library in float64": (found, precise),
                 "the library to itself in float64": (logits, precise)}
        print(f"{name}, largest difference relative to the largest logit:", "; ".join(
            f"{what} {((left - right).abs().max() / scale).item():.2g}" for what, (left, right) in pairs.items()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
