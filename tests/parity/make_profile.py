#!/usr/bin/env python3
"""Writes PyTorch's counts for networks that `host profile` also counts, for tests/end_to_end/profile_test.cpp.

    python3 make_profile.py OUTDIR       (torch 2.11, torchvision 0.26; OUTDIR: reference)

profile.json contains for each network the plugin's configuration (`model`, `params`, `image` [C, H, W]) and the counts
for a batch of two such images: `parameters`, `bytes` of parameters and buffers, `forward_flops` and `step_flops`. The
flops are those of torch.utils.flop_counter.FlopCounterMode: `forward_flops` for forward in evaluation mode,
`step_flops` for forward, cross entropy and backward in training mode.

FlopCounterMode wrongly multiplies the flops of the weight gradient of a grouped convolution by the number of groups.
`step_flops` of networks with grouped convolutions is corrected.
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
    """Each requested gradient, of input or weight, costs as much as the convolution itself."""
    gradient, image, weight = (tensor.shape for tensor in inputs[:3])
    transposed, mask = inputs[7], inputs[10]
    places = (image if transposed else gradient)[2:]
    return 2 * image[0] * math.prod(places) * math.prod(weight) * (mask[0] + mask[1])


count_convolution_gradients._get_raw = True  # makes FlopCounterMode pass the tensors instead of their shapes


def count(network, image, target, formulas):
    # FlopCounterMode does not count the attention kernels of the CPU. It counts the operators of the math backend.
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
