#!/usr/bin/env python3
"""Writes the weights and outputs of small models of timm, for tests/bundled/timm_weights_test.cpp, and weights that timm
has converted for other images, for tests/pipeline/state/adapt_weights_test.cpp.

    python3 make_timm.py OUTDIR        (torch 2.11, timm 1.0 and safetensors; OUTDIR: reference)

MODEL_timm.safetensors is the state_dict() in half precision after a few steps of training, with timm's names.
timm.safetensors has the logits of these weights in float64, `MODEL.logits`, [4, 5]. `tf_efficientnet.logits` are those of the
weights of efficientnet in a model with the padding and the batch norms of TensorFlow.
adapted_weights.safetensors has position embeddings `positions.TOKENS` that are interpolated from `positions`, and filters
`filters.CHANNELS` that are made from `filters` for RGB images.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from timm.layers import resample_abs_pos_embed
from timm.models import adapt_input_conv
from timm.models.efficientnet import _gen_efficientnet
from timm.models.vision_transformer import VisionTransformer

from sketch_network import CLASSES, make_batch, make_published

# The model and the size of its images.
MODELS = {
    "efficientnet": (lambda: _gen_efficientnet("efficientnet_b0", channel_multiplier=0.1, depth_multiplier=0.4,
                                               num_classes=CLASSES, drop_rate=0.0), 40),
    "vit": (lambda: VisionTransformer(img_size=16, patch_size=8, embed_dim=24, depth=2, num_heads=3, mlp_ratio=2,
                                      num_classes=CLASSES), 16),
}


def compute_like_tensorflow(state, size):
    network = _gen_efficientnet("tf_efficientnet_b0", channel_multiplier=0.1, depth_multiplier=0.4, num_classes=CLASSES,
                                drop_rate=0.0, pad_type="same", bn_eps=1e-3)
    network.half().load_state_dict(state)
    with torch.no_grad():
        return network.double().eval()(make_batch(3, size, 0)[0])


def adapt_weights():
    generator = torch.Generator().manual_seed(3)
    positions, filters = torch.randn(1, 17, 6, generator=generator), torch.randn(4, 3, 2, 2, generator=generator)
    adapted = {"positions": positions, "filters": filters, "grid": positions[:, 1:].clone()}
    for side in (2, 5, 8):
        adapted[f"positions.{side * side + 1}"] = resample_abs_pos_embed(positions, [side, side])
        adapted[f"grid.{side * side}"] = resample_abs_pos_embed(adapted["grid"], [side, side], num_prefix_tokens=0)
    for channels in (1, 2, 5):
        adapted[f"filters.{channels}"] = adapt_input_conv(channels, filters)
    return {name: tensor.contiguous() for name, tensor in adapted.items()}


def main(folder):
    torch.set_num_threads(1)
    logits = {}
    for name, (make, size) in MODELS.items():
        torch.manual_seed(1)
        state, logits[f"{name}.logits"] = make_published(make(), 3, size)
        save_file(state, folder / f"{name}_timm.safetensors")
        if name == "efficientnet":
            logits["tf_efficientnet.logits"] = compute_like_tensorflow(state, size)
    save_file(logits, folder / "timm.safetensors")
    save_file(adapt_weights(), folder / "adapted_weights.safetensors")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
