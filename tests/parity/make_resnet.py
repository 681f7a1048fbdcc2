#!/usr/bin/env python3
"""Writes what torchvision's residual networks make of weights and images from a formula, for
tests/bundled/resnet_test.cpp, so that neither need be kept: logits, gradients, and the buffers after some training.

    python3 make_resnet.py OUTDIR        (torch 2.11, torchvision 0.26 and safetensors; OUTDIR: reference)

resnet.safetensors has for each case, as float64: `CASE.logits` of evaluation and `CASE.training.logits`, [N, classes];
`CASE.gradients`, for each parameter in the order of state_dict() the norm of its gradient and three elements, the
first, the middle and the last, [P, 4]; `CASE.buffers`, likewise for all buffers after five steps of SGD, [B, 4];
`CASE.losses` of those steps, [5]. resnet_tensors.inc has for each depth what state_dict() holds.
"""
import hashlib
import pathlib
import sys

import torch
import torchvision
from safetensors.torch import save
from torch import nn

CLASSES = 5
BATCH = 4
STEPS = 5
RATE = 1e-3
# Depth, channels, image size, width: those of fewer channels than torchvision has take the test less time.
CASES = {"imagenet18": (18, 3, 20, 64), "imagenet50": (50, 3, 40, 8), "cifar18": (18, 1, 11, 8)}
DEPTHS = (18, 34, 50, 101, 152)


def scatter(shape, salt):
    """Numbers in [-0.5, 0.5) without a visible pattern, exact in float64: the test has the same formula."""
    index = torch.arange(torch.Size(shape).numel())
    return (((index * index * 31 + index * 17 + salt * 101) % 65521).double() / 65521 - 0.5).reshape(shape)


def fill(name, tensor, salt):
    """Gives a weight or buffer about the size that it has in training."""
    values = scatter(tensor.shape, salt)
    if name.endswith("num_batches_tracked"):
        values = torch.tensor(7)
    elif tensor.dim() == 4:
        values = values * 2 * (6 / (tensor.shape[0] * tensor.shape[2] * tensor.shape[3])) ** 0.5
    elif tensor.dim() == 2:
        values = values * 2 / tensor.shape[1] ** 0.5
    elif name.endswith("weight") or name.endswith("running_var"):
        values = values + 1
    tensor.copy_(values)


class NarrowResNet(torchvision.models.ResNet):
    """torchvision's own network with `width` channels behind the stem in place of 64."""

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
    network.double()
    for salt, (name, tensor) in enumerate(network.state_dict().items()):
        fill(name, tensor, salt)
    return network


def sketch(tensors):
    rows = []
    for tensor in tensors:
        flat = tensor.detach().double().flatten()
        rows.append(torch.stack([flat.norm(), flat[0], flat[len(flat) // 2], flat[-1]]))
    return torch.stack(rows)


def make_batch(channels, size, step):
    images = scatter((BATCH, channels, size, size), 1000 + step) * 3
    return images, (torch.arange(BATCH) * 3 + step) % CLASSES


def make_case(name):
    depth, channels, size, width = CASES[name]
    network = make_network(depth, channels, width, name.startswith("cifar"))
    made = {}
    with torch.no_grad():
        made["logits"] = network.eval()(make_batch(channels, size, 0)[0])
    network.train()
    losses = []
    for step in range(STEPS):
        images, labels = make_batch(channels, size, step)
        logits = network(images)
        loss = nn.functional.cross_entropy(logits, labels)
        losses.append(loss.item())
        network.zero_grad()
        loss.backward()
        if step == 0:
            made["training.logits"] = logits.detach()
            made["gradients"] = sketch([parameter.grad for parameter in network.parameters()])
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= RATE * parameter.grad
    made["buffers"] = sketch(network.buffers())
    made["losses"] = torch.tensor(losses, dtype=torch.float64)
    return {f"{name}.{key}": value.contiguous() for key, value in made.items()}


def describe_tensors(depth):
    """A line of C++: depth, parameters, and the digest of a line `name dtype [extents]` for each tensor, sorted."""
    network = getattr(torchvision.models, f"resnet{depth}")()
    lines = []
    for name, tensor in network.state_dict().items():
        dtype = "int64" if tensor.dtype == torch.int64 else "float32"
        lines.append(f"{name} {dtype} [{', '.join(map(str, tensor.shape))}]\n")
    digest = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    return f'{{{depth}, {parameters}, "{digest}"}},\n'


def main(folder):
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    figures = {}
    for name in CASES:
        figures.update(make_case(name))
    (folder / "resnet.safetensors").write_bytes(save(figures))
    (folder / "resnet_tensors.inc").write_text(
        "// Made by make_resnet.py: depth, number of parameters, digest of names and shapes.\n"
        + "".join(describe_tensors(depth) for depth in DEPTHS))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
