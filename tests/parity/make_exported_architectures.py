#!/usr/bin/env python3
"""Trains small models of libraries in PyTorch and exports them, for tests/exported/architectures_test.cpp.

    python3 make_exported_architectures.py OUTDIR        (OUTDIR: reference/exported_architectures)

Made with torch 2.11, torchvision 0.26, timm 1.0, transformers 5.24 and peft 0.21. OUTDIR has the files that
make_exported.py describes, with smaller dtypes: see shrink(). The models are the classes of the libraries, with few and
narrow layers. They train in float64, so that the different rounding of processors cannot add up over the steps.
"""
import pathlib
import sys

import peft
import timm.models.resnet
import torch
import torchvision.models as vision
import transformers
from make_exported import BATCHES, ROWS, write_reference
from safetensors.torch import save_file
from torch import nn
from torchvision.models import convnext, efficientnet, segmentation, swin_transformer, vision_transformer

VOCABULARY = 11
SCALE = 32


def resnet():
    return timm.models.resnet.ResNet(timm.models.resnet.Bottleneck, [2, 1, 1, 1], num_classes=3, stem_width=4,
                                     channels=(2, 2, 4, 4))


def small_efficientnet():
    blocks = [efficientnet.MBConvConfig(1, 3, 1, 4, 4, 2), efficientnet.MBConvConfig(3, 5, 2, 4, 8, 2)]
    return vision.EfficientNet(blocks, dropout=0.0, stochastic_depth_prob=0.0, num_classes=3, last_channel=16)


def small_convnext():
    blocks = [convnext.CNBlockConfig(4, 8, 2), convnext.CNBlockConfig(8, None, 2)]
    return vision.ConvNeXt(blocks, stochastic_depth_prob=0.0, num_classes=3)


def small_swin():
    return swin_transformer.SwinTransformer([2, 2], 4, [2, 2], [2, 2], [3, 3], dropout=0.0, attention_dropout=0.0,
                                            stochastic_depth_prob=0.0, num_classes=3)


def small_vit():
    return vision_transformer.VisionTransformer(image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=8,
                                                mlp_dim=16, num_classes=3)


class Deeplab(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
        self.aspp = segmentation.deeplabv3.ASPP(4, [2, 3], 4)
        self.aspp.project[3].p = 0.0
        self.head = nn.Conv2d(4, 3, 1)

    def forward(self, x):
        scores = self.head(self.aspp(self.backbone(x)))
        return nn.functional.interpolate(scores, size=x.shape[-2:], mode="bilinear", align_corners=False)


class Densenet(vision.DenseNet):
    def __init__(self):
        super().__init__(growth_rate=2, block_config=(2, 2), num_init_features=4, bn_size=2, num_classes=3)


def bert():
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=8, num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return transformers.BertForSequenceClassification(config)


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=8, n_layer=2, n_head=2, n_positions=8, vocab_size=VOCABULARY, use_cache=False, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0))


def gpt2_lora():
    lora = peft.LoraConfig(r=2, target_modules=["c_attn"], init_lora_weights=False, fan_in_fan_out=True)
    return peft.get_peft_model(gpt2(), lora).base_model.model


def t5():
    config = transformers.T5Config(vocab_size=VOCABULARY, d_model=8, d_kv=4, d_ff=16, num_layers=2, num_heads=2,
                                   dropout_rate=0.0, use_cache=False)
    return transformers.T5ForConditionalGeneration(config)


def llama():
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=8, use_cache=False, bos_token_id=0, eos_token_id=0)
    return transformers.LlamaForCausalLM(config)


def whisper():
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY, d_model=8, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, num_mel_bins=4, max_source_positions=5,
        max_target_positions=8, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None, use_cache=False)
    return transformers.WhisperForConditionalGeneration(config)


IMAGE, TOKENS = {"x": (3, 16, 16)}, {"input_ids": 5}
MODELS = {
    "resnet": (resnet, IMAGE),
    "efficientnet": (small_efficientnet, IMAGE),
    "convnext": (small_convnext, IMAGE),
    "swin": (small_swin, {"x": (3, 24, 24)}),
    "vit": (small_vit, IMAGE),
    "deeplab": (Deeplab, IMAGE),
    "densenet": (Densenet, {"x": (3, 32, 32)}),
    "bert": (bert, {**TOKENS, "attention_mask": 5}),
    "gpt2": (gpt2, TOKENS),
    "gpt2_lora": (gpt2_lora, TOKENS),
    "t5": (t5, {**TOKENS, "decoder_input_ids": 4}),
    "llama": (llama, TOKENS),
    "whisper": (whisper, {"input_features": (4, 10), "decoder_input_ids": 4}),
}


def make_input(name, shape):
    if name == "attention_mask":
        return (torch.arange(shape) < torch.randint(2, shape + 1, (ROWS, 1))).long()
    if isinstance(shape, int):
        return torch.randint(VOCABULARY, (ROWS, shape))
    return torch.randint(-64, 65, (ROWS, *shape)).double() / SCALE


def shrink(name, tensor):
    """Inputs are stored as int8 multiples of 1 / SCALE, and results as float32."""
    if not tensor.is_floating_point():
        return tensor
    return (tensor * SCALE).to(torch.int8) if ".input." in name else tensor.float()


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    tensors = {}
    for name, (make, shapes) in MODELS.items():
        torch.manual_seed(sum(map(ord, name)))
        model = make().double()
        inputs = [{key: make_input(key, shape) for key, shape in shapes.items()} for _ in range(BATCHES)]
        write_reference(tensors, name, model, inputs, out)
        print(name, sum(value.numel() for value in model.parameters()), tensors[f"{name}.losses"][[0, -1]].tolist())
    tensors = {name: shrink(name, tensor) for name, tensor in tensors.items()}
    save_file(tensors, out / "exported.safetensors")


if __name__ == "__main__":
    main()
