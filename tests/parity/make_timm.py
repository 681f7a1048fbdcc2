#!/usr/bin/env python3
"""Writes the weights and outputs of small models of timm, for tests/bundled/timm_weights_test.cpp.

    python3 make_timm.py OUTDIR        (torch 2.11, timm 1.0 and safetensors; OUTDIR: reference)

MODEL_timm.safetensors is the state_dict() in half precision after a few steps of training, with timm's names.
timm.safetensors has the logits of these weights in float64, `MODEL.logits`, [4, 5].
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from timm.models.efficientnet import _gen_efficientnet
from timm.models.vision_transformer import VisionTransformer

from sketch_network import CLASSES, make_published

# The model and the size of its images.
MODELS = {
    "efficientnet": (lambda: _gen_efficientnet("efficientnet_b0", channel_multiplier=0.1, depth_multiplier=0.4,
                                               num_classes=CLASSES, drop_rate=0.0), 40),
    "vit": (lambda: VisionTransformer(img_size=16, patch_size=8, embed_dim=24, depth=2, num_heads=3, mlp_ratio=2,
                                      num_classes=CLASSES), 16),
}


def main(folder):
    torch.set_num_threads(1)
    logits = {}
    for name, (make, size) in MODELS.items():
        torch.manual_seed(1)
        state, logits[f"{name}.logits"] = make_published(make(), 3, size)
        save_file(state, folder / f"{name}_timm.safetensors")
    save_file(logits, folder / "timm.safetensors")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
