#!/usr/bin/env python3
"""Writes weights, inputs and PyTorch's outputs of small networks, for tests/bundled/models_test.cpp.

    python3 make_models.py OUTDIR        (torch 2.11 and safetensors; OUTDIR: reference)

NETWORK_weights.safetensors contains the weights under the plugin's names. NETWORK_example.safetensors contains inputs
and outputs. Outputs in training mode, which use batch statistics, have the prefix `training.`.
"""
import pathlib
import sys

import torch
from safetensors.torch import save
from torch import nn


def convolutions(*channels):
    layers = []
    for inputs, outputs in zip(channels, channels[1:]):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return layers


class UNet(nn.Module):
    """The plugin unet with channels = 3, classes = 3, depth = 2 and width = 2."""

    def __init__(self, channels=3, classes=3, depth=2, width=2):
        super().__init__()
        self.depth = depth
        for level in range(depth + 1):
            inputs = channels if level == 0 else width * 2 ** (level - 1)
            outputs = width * 2 ** level
            self.add_module(f"encoder_{level}", nn.Sequential(*convolutions(inputs, outputs, outputs)))
        for level in range(depth):
            outputs = width * 2 ** level
            self.add_module(f"upsampler_{level}", nn.ConvTranspose2d(2 * outputs, outputs, 2, stride=2))
            self.add_module(f"decoder_{level}", nn.Sequential(*convolutions(2 * outputs, outputs, outputs)))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, image):
        """Pads the bottom and the right to a multiple of 2^depth with -inf, which max pooling ignores, and crops it."""
        kept = []
        for level in range(self.depth):
            image = getattr(self, f"encoder_{level}")(image)
            kept.append(image)
            height, width = image.shape[2:]
            image = nn.functional.pad(image, (0, width % 2, 0, height % 2), value=-torch.inf)
            image = nn.functional.max_pool2d(image, 2)
        image = getattr(self, f"encoder_{self.depth}")(image)
        for level in reversed(range(self.depth)):
            skip = kept[level]
            image = getattr(self, f"upsampler_{level}")(image)[:, :, :skip.shape[2], :skip.shape[3]]
            image = getattr(self, f"decoder_{level}")(torch.cat([skip, image], 1))
        return {"logits": self.head(image)}


class SiameseCnn(nn.Module):
    """The plugin siamese_cnn with channels = 3, width = 2 and values = 2."""

    def __init__(self, channels=3, width=2, values=2):
        super().__init__()
        layers = convolutions(channels, width, 2 * width, 4 * width, 4 * width)
        tower = []
        for i in range(0, len(layers), 3):
            tower += ([nn.MaxPool2d(2)] if i > 0 else []) + layers[i:i + 3]
        size = 4 * width
        self.tower = nn.Sequential(*tower, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(size, size), nn.ReLU())
        self.same = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 1))
        self.regressor = nn.Sequential(nn.Linear(2 * size, 2 * size), nn.ReLU(), nn.Linear(2 * size, values))

    def forward(self, first, second):
        one, other = self.tower(first), self.tower(second)
        return {"same": self.same((one - other).abs())[:, 0], "values": self.regressor(torch.cat([one, other], 1))}


NETWORKS = {
    "unet": (UNet, {"image": (2, 3, 13, 10)}),
    "siamese_cnn": (SiameseCnn, {"first": (2, 3, 16, 16), "second": (2, 3, 9, 20)}),
}


def main(folder):
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, shapes) in NETWORKS.items():
        torch.manual_seed(0)
        network = make()
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
                nn.init.uniform_(module.weight, 0.5, 2)
                nn.init.normal_(module.bias)
        weights = save(network.state_dict())
        inputs = {port: torch.randn(shape) for port, shape in shapes.items()}
        example = dict(inputs)
        with torch.no_grad():
            example.update(network.eval()(**inputs))
            example.update({f"training.{port}": value for port, value in network.train()(**inputs).items()})
        (folder / f"{name}_weights.safetensors").write_bytes(weights)
        (folder / f"{name}_example.safetensors").write_bytes(save({k: v.contiguous() for k, v in example.items()}))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
