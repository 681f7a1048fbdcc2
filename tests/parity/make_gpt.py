#!/usr/bin/env python3
"""Writes the outputs of the network in gpt_network.py for tests/bundled/gpt_test.cpp: logits, gradients, and the losses
of some training steps. Weights and tokens come from a formula, so they need not be stored.

    python3 make_gpt.py OUTDIR        (torch 2.11 and safetensors; OUTDIR: reference)

gpt.safetensors contains for each case, as float64: `CASE.logits`, [2, 7, 11]; `CASE.gradient.NAME` for each parameter:
the norm and the first, middle and last element of its gradient, [4]; `CASE.losses` of five SGD steps, [5].
"""
import pathlib
import sys

import torch
from safetensors.torch import save
from torch.nn import functional

from gpt_network import Gpt

VOCABULARY, CONTEXT, STEPS, RATE = 11, 8, 5, 0.1
CASES = {"biased": True, "unbiased": False}


def scatter(shape, salt):
    """Returns pseudorandom numbers in [-0.5, 0.5), exact in float64. The test uses the same formula."""
    index = torch.arange(torch.Size(shape).numel())
    return (((index * index * 31 + index * 17 + salt * 101) % 65521).double() / 65521 - 0.5).reshape(shape)


def make_tokens(step):
    """Returns tokens [2, 8]: the first seven are inputs, the last seven are targets."""
    index = torch.arange(16).reshape(2, 8)
    return (index * index * 5 + index * 3 + step) % VOCABULARY


def make_network(bias):
    network = Gpt(VOCABULARY, CONTEXT, layers=2, heads=2, width=8, bias=bias).double()
    with torch.no_grad():
        for salt, (name, tensor) in enumerate(network.state_dict().items()):
            is_scale = name.endswith("weight") and tensor.dim() == 1
            tensor.copy_(scatter(tensor.shape, salt) + (1 if is_scale else 0))
    return network


def sketch(tensor):
    flat = tensor.flatten()
    return torch.stack([flat.norm(), flat[0], flat[len(flat) // 2], flat[-1]])


def make_case(name):
    network = make_network(CASES[name])
    made, losses = {}, []
    for step in range(STEPS):
        tokens = make_tokens(step)
        logits = network(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        losses.append(loss.item())
        network.zero_grad()
        loss.backward()
        if step == 0:
            made["logits"] = logits.detach()
            for parameter_name, parameter in network.named_parameters():
                made["gradient." + parameter_name] = sketch(parameter.grad)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= RATE * parameter.grad
    made["losses"] = torch.tensor(losses, dtype=torch.float64)
    return {f"{name}.{key}": value.contiguous() for key, value in made.items()}


def main(folder):
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in CASES:
        results.update(make_case(name))
    (folder / "gpt.safetensors").write_bytes(save(results))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
