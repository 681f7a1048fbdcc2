"""Trains a network with PyTorch and writes its initial weights, its batches and its losses.

    python3 torch_parity.py SETTINGS.json FOLDER

Runs each precision twice: with the weights, and with weights that are changed by one unit roundoff of the precision.
The difference shows how much rounding errors grow from step to step.
"""
from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import numpy
import torch
from safetensors.torch import save_file

import torch_networks

ROUNDOFFS = {"fp32": 2.0**-24, "bf16": 2.0**-8}


def write_batches(settings: dict[str, Any], folder: pathlib.Path) -> None:
    """Writes one array per field with the samples of all steps."""
    generator = numpy.random.default_rng(0)
    samples = settings["steps"] * settings["batch"]
    (folder / "data").mkdir()
    params = settings["params"]
    if settings["use"] == "gpt":
        shape = (samples, params["context"] + 1)
        tokens = generator.integers(0, params["vocabulary_size"], shape, dtype=numpy.int64)
        fields = {"tokens": tokens[:, :-1], "target": tokens[:, 1:]}
    else:
        side = settings["side"]
        fields = {"image": generator.standard_normal((samples, 3, side, side), dtype=numpy.float32),
                  "label": generator.integers(0, params["classes"], samples, dtype=numpy.int64)}
    for name, values in fields.items():
        numpy.save(folder / "data" / f"{name}.npy", numpy.ascontiguousarray(values))


def perturb(network: torch.nn.Module, roundoff: float) -> None:
    """Changes each weight by up to one roundoff, relatively."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            noise = torch.rand(parameter.shape, generator=generator) * 2 - 1
            parameter.mul_(1 + roundoff * noise.to(parameter.device))


def train(settings: dict[str, Any], folder: pathlib.Path, precision: str, is_perturbed: bool) -> list[float]:
    """Trains from the same weights on the same batches. Returns the loss of each step."""
    device, batch = settings["device"], settings["batch"]
    with torch.device(device):
        network = torch_networks.make_network(settings["use"], settings["params"])
    network.load_state_dict(torch.load(folder / "weights.pt", map_location=device))
    network.train()
    if is_perturbed:
        perturb(network, ROUNDOFFS[precision])
    optimizer = torch_networks.make_optimizer(network, settings["lr"])
    names = ("tokens", "target") if settings["use"] == "gpt" else ("image", "label")
    inputs, targets = (torch.from_numpy(numpy.load(folder / "data" / f"{name}.npy")) for name in names)
    losses = []
    for step in range(settings["steps"]):
        rows = slice(step * batch, (step + 1) * batch)
        optimizer.zero_grad()
        with torch_networks.autocast(device, precision):
            loss = torch_networks.cross_entropy(network(inputs[rows].to(device)), targets[rows].to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    torch.manual_seed(0)
    torch_networks.use_full_precision()
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    network = torch_networks.make_network(settings["use"], settings["params"])
    torch.save(network.state_dict(), folder / "weights.pt")
    save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()},
              folder / "weights.safetensors")
    del network
    write_batches(settings, folder)
    result = {}
    for precision in settings["precisions"]:
        result[precision] = {"losses": train(settings, folder, precision, False),
                             "perturbed": train(settings, folder, precision, True)}
        print(json.dumps({precision: result[precision]}), flush=True)
    (folder / "losses.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
