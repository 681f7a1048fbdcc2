#!/usr/bin/env python3
"""Writes what PyTorch counts of networks that `host profile` counts too, for tests/end_to_end/profile_test.cpp.

    python3 make_profile.py OUTDIR       (torch 2.11, torchvision 0.26; OUTDIR: reference)

profile.json has for each network how the plugin is asked for (`model`, `params`, `image` of [C, H, W]), and of a batch
of two such images: `parameters`, `bytes` of parameters and buffers, and `forward_flops` and `step_flops` of
torch.utils.flop_counter.FlopCounterMode, forward in evaluation, and forward, cross entropy and backward in training.

FlopCounterMode multiplies the gradient of a grouped convolution's weight by the number of groups; where a network has
such ones, `step_flops` is what remains when that is put right.
"""
import json
import math
import pathlib
import sys

import torch
import torchvision
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

BATCH = 2
CLASSES = 10


def count_convolution_gradients(*inputs, out_val=None, **_):
    """The gradients of input and weight take as much as the convolution itself, each that is asked for."""
    gradient, image, weight = (tensor.shape for tensor in inputs[:3])
    transposed, mask = inputs[7], inputs[10]
    places = (image if transposed else gradient)[2:]
    return 2 * image[0] * math.prod(places) * math.prod(weight) * (mask[0] + mask[1])


count_convolution_gradients._get_raw = True  # it wants the tensors' shapes by itself


def count(network, image, target, formulas):
    # What the kernels of the CPU do for attention is not counted by FlopCounterMode: its parts are.
    with sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False, custom_mapping=formulas) as forward, torch.no_grad():
            network.eval()(image)
        with FlopCounterMode(display=False, custom_mapping=formulas) as step:
            nn.functional.cross_entropy(network.train()(image), target).backward()
    return forward.get_total_flops(), step.get_total_flops()


def describe(network, model, params, image):
    batch = torch.rand(BATCH, *image)
    target = torch.zeros(BATCH, dtype=torch.long)
    is_grouped = any(getattr(module, "groups", 1) > 1 for module in network.modules())
    formulas = {torch.ops.aten.convolution_backward: count_convolution_gradients} if is_grouped else {}
    forward, step = count(network, batch, target, formulas)
    tensors = [*network.parameters(), *network.buffers()]
    return {"model": model, "params": params, "image": list(image),
            "parameters": sum(parameter.numel() for parameter in network.parameters()),
            "bytes": sum(tensor.numel() * tensor.element_size() for tensor in tensors),
            "forward_flops": forward, "step_flops": step}


def make_networks():
    for depth in (18, 34, 50, 101, 152):
        yield (getattr(torchvision.models, f"resnet{depth}")(num_classes=CLASSES), "resnet",
               {"depth": depth, "classes": CLASSES}, (3, 64, 64))
    for variant in range(8):
        yield (getattr(torchvision.models, f"efficientnet_b{variant}")(num_classes=CLASSES), "efficientnet",
               {"variant": f"b{variant}", "classes": CLASSES}, (3, 64, 64))
    yield (nn.Sequential(nn.Flatten(), nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, CLASSES)), "mlp",
           {"inputs": 192, "hidden": [64], "classes": CLASSES}, (3, 8, 8))


def main(folder):
    found = {}
    for network, model, params, image in make_networks():
        name = " ".join([model, *(f"{key}={value}" for key, value in params.items() if key != "classes")])
        found[name] = describe(network, model, params, image)
        print(name, found[name])
    (pathlib.Path(folder) / "profile.json").write_text(json.dumps(found, indent=1) + "\n")


main(sys.argv[1])
