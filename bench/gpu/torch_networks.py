"""PyTorch versions of the models that the kit compares. Weights have the names of the plugins."""
from __future__ import annotations

import pathlib
import sys
from typing import Any

import torch
import torchvision
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tests/parity"))
import gpt_network  # noqa: E402
from make_models import UNet  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Those of the batch transform `normalize`."""


class FusedAttention(gpt_network.Attention):
    """Attention by PyTorch's fused operator, as in the plugin gpt."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, length, width = x.shape
        query, key, value = (part.view(samples, length, self.heads, -1).transpose(1, 2)
                             for part in self.c_attn(x).split(width, 2))
        dropout = self.dropout if self.training else 0.0
        joined = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        return functional.dropout(self.c_proj(joined.transpose(1, 2).reshape(samples, length, width)), self.dropout,
                                  self.training)


class Gpt(gpt_network.Gpt):
    """The network of tests/parity/gpt_network.py with fused attention, on any device."""

    def __init__(self, **params: Any):
        super().__init__(**params)
        for block in self.transformer["h"]:
            block.attn.__class__ = FusedAttention

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.transformer["wte"](tokens) + self.transformer["wpe"](places)
        x = functional.dropout(x, self.dropout, self.training)
        for block in self.transformer["h"]:
            x = block(x)
        return functional.linear(self.transformer["ln_f"](x), self.transformer["wte"].weight)


class Segmenter(UNet):
    """The network of tests/parity/make_models.py with its only output."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return super().forward(image)["logits"]


def make_network(use: str, params: dict[str, Any]) -> nn.Module:
    """Makes the network with the parameters of [model]."""
    if use == "gpt":
        return Gpt(**params)
    if use == "resnet":
        return getattr(torchvision.models, f"resnet{params['depth']}")(num_classes=params["classes"])
    if use == "efficientnet":
        rates = {"dropout": params["dropout"]} if params.get("dropout", -1) >= 0 else {}
        make = getattr(torchvision.models, f"efficientnet_{params['variant']}")
        return make(num_classes=params["classes"], stochastic_depth_prob=params.get("stochastic_depth", 0.2), **rates)
    if use == "unet":
        return Segmenter(**params)
    raise ValueError(f"model {use}; expected gpt, resnet, efficientnet or unet")


def normalize(images: torch.Tensor) -> torch.Tensor:
    """Turns bytes [N, height, width, channels] into normalised floats [N, channels, height, width]."""
    mean = torch.tensor(MEAN, device=images.device).view(1, 3, 1, 1)
    std = torch.tensor(STD, device=images.device).view(1, 3, 1, 1)
    return (images.permute(0, 3, 1, 2).float() / 255 - mean) / std


def cross_entropy(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean over classes or tokens, as the losses cross_entropy and sequence_cross_entropy."""
    if logits.dim() == 3:
        return functional.cross_entropy(logits.flatten(0, 1), target.flatten())
    return functional.cross_entropy(logits, target)


def make_optimizer(network: nn.Module, lr: float) -> torch.optim.Optimizer:
    """Returns the fused AdamW with weight decay for parameters of two or more dimensions, the host's default."""
    parameters = list(network.parameters())
    groups = [{"params": [one for one in parameters if one.dim() >= 2], "weight_decay": 0.01},
              {"params": [one for one in parameters if one.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, fused=True)


DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def autocast(device: str, precision: str) -> torch.autocast:
    """Returns the autocast of a precision. In fp32 it does nothing."""
    return torch.autocast(device, DTYPES.get(precision, torch.bfloat16), enabled=precision in DTYPES)


def use_full_precision() -> None:
    """Disables TensorFloat-32, as the host does in all precisions but tf32."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
