#!/usr/bin/env python3
"""Exports small models that depend on strides, and others that do not, for tests/exported/memory_format_test.cpp.

    python3 make_strided.py OUTDIR        (torch 2.15; OUTDIR: reference/exported_strided)

NAME.pt2 is the archive of scripts/export_model.py, compressed as by make_exported.py.
"""
import pathlib
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from make_exported import compress, export_graph, write_archive  # noqa: E402


class Strided(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3, padding=1)
        self.image = nn.Parameter(torch.randn(2, 4, 6, 6) / 12)
        self.linear = nn.Linear(4, 4)
        self.compute = forward

    def forward(self, image):
        return self.compute(self, image)


class Plain(nn.Module):
    """Without a convolution, but with a parameter of four dimensions."""

    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.randn(1, 3, 6, 6))
        self.linear = nn.Linear(108, 2)

    def forward(self, image):
        return self.linear((image + self.places).flatten(1))


def view_tokens(model, image):
    tokens = model.linear(model.convolution(image).flatten(2).transpose(1, 2))
    return tokens.view(image.size(0), 36, 2, 2).transpose(1, 2).mean((1, 2))


def shuffle(model, image):
    image = model.convolution(image)
    return image.view(image.size(0), 2, 2, 6, 6).transpose(1, 2).flatten(1)


MODELS = {
    "image_view": lambda: Strided(lambda m, image: m.convolution(image).view(image.size(0), -1)),
    "image_as_strided": lambda: Strided(
        lambda m, image: m.convolution(image).as_strided((image.size(0), 144), (144, 1))),
    "weight_view": lambda: Strided(lambda m, image: m.convolution(image).flatten(1) @ m.image.view(2, -1).t()),
    "channel_shuffle": lambda: Strided(shuffle),
    "no_convolution": Plain,
    "flattened": lambda: Strided(lambda m, image: torch.relu(m.convolution(image)).flatten(1) @ m.image.flatten(1).t()),
    "pooled_view": lambda: Strided(
        lambda m, image: m.linear(nn.functional.adaptive_avg_pool2d(m.convolution(image), (1, 1)).view(image.size(0), -1))),
    "token_view": lambda: Strided(view_tokens),
}


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        torch.manual_seed(sum(map(ord, name)))
        model = make()
        inputs = {"image": torch.randn(4, 3, 6, 6)}
        write_archive({mode: export_graph(torch, model, inputs, mode == "train") for mode in ("train", "eval")},
                      out / "written.pt2")
        compress((out / "written.pt2").read_bytes(), out / f"{name}.pt2")
        (out / "written.pt2").unlink()


if __name__ == "__main__":
    main()
