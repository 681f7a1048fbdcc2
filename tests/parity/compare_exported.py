#!/usr/bin/env python3
"""Trains exported models with the host and the same models with PyTorch, and prints the differences as a table.

    python3 compare_exported.py [--host HOST] [--steps 50] [--checkpointing] [NAME ...]

Needs torch 2.11, torchvision, timm, transformers and peft; HOST is build/release/bin/host. Both train in float32 on one
thread with SGD and momentum, on the same batches in the same order, with the mean squared error of the outputs. Dropout and
stochastic depth are off, because the host seeds its generator anew in each step. NAME is one of the MODELS below, by
default all. Exit code 1: a loss or a weight differs by more than LIMIT, relative to the largest value of the tensor.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from export_model import make_model  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 1e-5
BATCHES, BATCH_SIZE, LR, MOMENTUM = 5, 4, 1e-3, 0.9


def image(size, channels=3):
    return {"x": torch.randn(BATCHES * BATCH_SIZE, channels, size, size)}


def tokens(length, vocabulary=97, *names):
    return {name: torch.randint(1, vocabulary, (BATCHES * BATCH_SIZE, length)) for name in names}


def segmentation(name):
    import torchvision
    return getattr(torchvision.models.segmentation, name)(weights_backbone=None, num_classes=3)


def gpt2_with_lora():
    import peft
    base = make_model("transformers:GPT2LMHeadModel",
                      {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32, "vocab_size": 97})
    return peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules=["c_attn"], lora_dropout=0.0,
                                                     init_lora_weights=False)).base_model.model


# The source of the model for make_model() or a function, its arguments, the inputs, and the outputs that a loss reads.
MODELS = {
    "torchvision resnet50": ("torchvision:resnet50", {}, lambda: image(64), ["output"]),
    "torchvision vit_b_16": ("torchvision:vit_b_16", {"image_size": 64}, lambda: image(64), ["output"]),
    "torchvision efficientnet_b0": ("torchvision:efficientnet_b0", {}, lambda: image(64), ["output"]),
    "torchvision convnext_tiny": ("torchvision:convnext_tiny", {}, lambda: image(64), ["output"]),
    "torchvision swin_t": ("torchvision:swin_t", {}, lambda: image(64), ["output"]),
    "torchvision fcn_resnet50": (lambda: segmentation("fcn_resnet50"), {}, lambda: image(64), ["out"]),
    "torchvision deeplabv3_mobilenet_v3_large":
        (lambda: segmentation("deeplabv3_mobilenet_v3_large"), {}, lambda: image(64), ["out"]),
    "timm mobilenetv3_small_100": ("timm:mobilenetv3_small_100", {}, lambda: image(64), ["output"]),
    "timm regnety_002": ("timm:regnety_002", {}, lambda: image(64), ["output"]),
    "timm vit_tiny_patch16_224": ("timm:vit_tiny_patch16_224", {"img_size": 64}, lambda: image(64), ["output"]),
    "timm eca_nfnet_l0": ("timm:eca_nfnet_l0", {}, lambda: image(64), ["output"]),
    "timm densenet121": ("timm:densenet121", {}, lambda: image(64), ["output"]),
    "timm mixer_s32_224": ("timm:mixer_s32_224", {"img_size": 64}, lambda: image(64), ["output"]),
    "timm xcit_nano_12_p16_224": ("timm:xcit_nano_12_p16_224", {}, lambda: image(64), ["output"]),
    "transformers BERT": (
        "transformers:BertForSequenceClassification", {
            "vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 64, "max_position_embeddings": 32, "num_labels": 3},
        lambda: {**tokens(16, 97, "input_ids"),
                 "attention_mask": (torch.arange(16) < torch.randint(4, 17, (BATCHES * BATCH_SIZE, 1))).long()},
        ["logits"]),
    "transformers GPT-2": (
        "transformers:GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32,
                                          "vocab_size": 97},
        lambda: tokens(16, 97, "input_ids"), ["logits"]),
    "transformers T5": (
        "transformers:T5ForConditionalGeneration", {
            "vocab_size": 97, "d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2},
        lambda: {**tokens(16, 97, "input_ids"), **tokens(12, 97, "decoder_input_ids")}, ["logits"]),
    "transformers ViT": (
        "transformers:ViTForImageClassification", {
            "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
            "image_size": 32, "patch_size": 8},
        lambda: {"pixel_values": torch.randn(BATCHES * BATCH_SIZE, 3, 32, 32)}, ["logits"]),
    "transformers Llama": (
        "transformers:LlamaForCausalLM", {
            "vocab_size": 97, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32},
        lambda: tokens(16, 97, "input_ids"), ["logits"]),
    "transformers Whisper": (
        "transformers:WhisperForConditionalGeneration", {
            "vocab_size": 97, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
            "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_mel_bins": 20,
            "max_source_positions": 25, "max_target_positions": 32, "pad_token_id": 0, "bos_token_id": 1,
            "eos_token_id": 2, "decoder_start_token_id": 1, "suppress_tokens": None, "begin_suppress_tokens": None},
        lambda: {"input_features": torch.randn(BATCHES * BATCH_SIZE, 20, 50), **tokens(12, 97, "decoder_input_ids")},
        ["logits"]),
    "peft GPT-2 with LoRA": (gpt2_with_lora, {}, lambda: tokens(16, 97, "input_ids"), ["logits"]),
}


def make(name):
    """Creates the model of MODELS, always with the same weights. The exporter calls it, too."""
    source, arguments, _, _ = MODELS[name]
    torch.manual_seed(0)
    if callable(source):
        model = source()
    else:
        classes = {} if source.startswith("transformers:") else {"num_classes": 10}
        model = make_model(source, {**classes, **arguments})
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        elif type(module).__name__ in ("StochasticDepth", "DropPath"):
            module.p = module.drop_prob = 0.0
        for attribute in ("dropout", "attention_dropout", "attn_dropout", "activation_dropout", "dropout_prob"):
            if isinstance(getattr(module, attribute, None), float):
                setattr(module, attribute, 0.0)
    return model


def list_outputs(result, names):
    return [result] if names == ["output"] else [result[name] for name in names]


def call(model, inputs, positional):
    return model(*inputs.values()) if positional else model(**inputs)


def train(model, batches, targets, names, steps):
    """Trains with PyTorch, and returns the loss of each step."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=LR, momentum=MOMENTUM, fused=True)
    losses = []
    model.train()
    for step in range(steps):
        optimizer.zero_grad()
        inputs = {name: value[step % BATCHES] for name, value in batches.items()}
        outputs = list_outputs(call(model, inputs, names == ["output"]), names)
        loss = sum((output - targets[name][step % BATCHES]).square().mean() for name, output in zip(names, outputs))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(*command, cwd=None):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd)
    if result.returncode:
        raise RuntimeError(f"{command[0]} ended with exit code {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def export(name, inputs, folder):
    options = []
    for key, value in inputs.items():
        dtype = "" if value.is_floating_point() else ":int64"
        options += ["--input", f"{key}=2,{','.join(map(str, value.shape[1:]))}{dtype}"]
    run(sys.executable, REPOSITORY / "scripts/export_model.py", "--model", f"{__file__}:make", "--arg", f"name={name}",
        *options, folder / "model.pt2")


RUN_FILE = """
[run]
threads = 1
output_dir = "runs"
[model]
use = "exported"
params = {{ path = "model.pt2" }}
{inputs}
[data]
batch_size = {batch_size}
workers = 0
shuffle = false
[data.train]
use = "arrays"
params = {{ path = "data.safetensors" }}
{losses}
[optimizer]
use = "sgd"
lr = {lr}
momentum = {momentum}
[train]
steps = {steps}
memory_format = "contiguous"
activation_checkpointing = {checkpointing}
[log]
every = "1 step"
"""


def train_with_host(host, inputs, targets, names, steps, checkpointing, folder):
    """Trains with the host. Returns the loss of each step, and the weights."""
    save_file({**{key: value.contiguous() for key, value in inputs.items()},
               **{f"target_{name}": value.flatten(0, 1).contiguous() for name, value in targets.items()}},
              folder / "data.safetensors")
    losses = "".join(f'[[loss]]\nuse = "mse"\nname = "{name}"\ninputs = {{ prediction = "model.{name}", '
                     f'target = "data.target_{name}" }}\n' for name in names)
    ports = "inputs = { " + ", ".join(f'{key} = "data.{key}"' for key in inputs) + " }"
    (folder / "run.toml").write_text(RUN_FILE.format(
        inputs=ports, batch_size=BATCH_SIZE, losses=losses, lr=LR, momentum=MOMENTUM, steps=steps,
        checkpointing=str(checkpointing).lower()))
    run(host.resolve(), "--config", "run.toml", cwd=folder)
    history = next((folder / "runs").rglob("history.jsonl"))
    entries = [json.loads(line) for line in history.read_text().splitlines()]
    run(host.resolve(), "export", "--config", "run.toml", "--output", "trained.safetensors", cwd=folder)
    losses = [entry["train/loss"] for entry in entries if entry["event"] == "step"]
    return losses, load_file(folder / "trained.safetensors")


def difference(found, expected):
    """The largest difference, relative to the largest value."""
    found, expected = torch.as_tensor(found).double(), torch.as_tensor(expected).double()
    return ((found - expected).abs().max() / expected.abs().max().clamp(min=1e-3)).item() if expected.numel() else 0.0


def compare(name, host, steps, checkpointing):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    _, _, make_inputs, names = MODELS[name]
    inputs = make_inputs()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        export(name, inputs, folder)
        model = make(name)
        batches = {key: value.unflatten(0, (BATCHES, BATCH_SIZE)) for key, value in inputs.items()}
        with torch.no_grad():
            model.eval()
            example = {key: value[0] for key, value in batches.items()}
            outputs = list_outputs(call(model, example, names == ["output"]), names)
        targets = {key: torch.randn(BATCHES, *output.shape) for key, output in zip(names, outputs)}
        expected = train(model, batches, targets, names, steps)
        found, weights = train_with_host(host, inputs, targets, names, steps, checkpointing, folder)
    if len(found) != len(expected):
        raise RuntimeError(f"{name}: the host logged {len(found)} losses; expected {len(expected)}")
    state = {key: value for key, value in model.state_dict().items() if key in weights}
    tied = model.state_dict().keys() - weights.keys()
    if weights.keys() - state.keys():
        raise RuntimeError(f"{name}: unknown weights {sorted(weights.keys() - state.keys())}")
    worst = max(difference(weights[key], value) for key, value in state.items())
    losses = max(abs(a - b) / abs(b) for a, b in zip(found, expected))
    print(f"| {name} | {sum(value.numel() for value in model.parameters()):,} | {losses:.1e} | {worst:.1e} | {len(tied)} |",
          flush=True)
    return losses <= LIMIT and worst <= LIMIT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", type=pathlib.Path, default=REPOSITORY / "build/release/bin/host")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--checkpointing", action="store_true", help="the host recomputes activations in backward")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = options.names or list(MODELS)
    print("| model | parameters | largest difference of a loss | of a weight | tied |\n|---|---|---|---|---|", flush=True)
    passed = True
    for name in names:
        try:
            passed = compare(name, options.host, options.steps, options.checkpointing) and passed
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            passed = False
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
