#!/usr/bin/env python3
"""Checks the files of `host export` in Python.

    python tests/evaluation/check_export.py BUILD/bin/host

Needs Python with the packages torch (2.11) and safetensors. Trains configs/digits.toml for a few steps and exports it.
Compares the outputs of the TorchScript with those of `host predict` for batches of three sizes. Compares its weights with
the exported file in each dtype. Exit status 0: all comparisons agree.
"""

import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "configs" / "digits.toml"


def check(condition, message):
    if not condition:
        sys.exit(f"check_export: {message}")


def main():
    check(len(sys.argv) == 2, "usage: check_export.py PATH/TO/host")
    host = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)

        def run(*arguments):
            settings = ["--config", CONFIG, "--set", f'run.output_dir="{scratch}"', "--set", "run.device=cpu"]
            subprocess.run([host, *arguments, *settings], check=True, stdout=subprocess.DEVNULL)

        run("--set", "train={steps=20}")
        run("predict", "--data", "validation", "--fields", "image", "--output", scratch / "predicted.safetensors")
        run("export", "--output", scratch / "model.pt")
        predicted = load_file(scratch / "predicted.safetensors")
        module = torch.jit.load(scratch / "model.pt")
        check(not module.training, "the module is in training mode")
        for samples in (1, 17, len(predicted["image"])):
            logits = module(predicted["image"][:samples])
            distance = (logits - predicted["logits"][:samples]).abs().max().item()
            check(distance < 1e-5, f"{samples} samples: the logits are {distance} apart")
        for name, dtype in ((None, None), ("fp32", torch.float32), ("fp16", torch.float16), ("bf16", torch.bfloat16)):
            run("export", "--output", scratch / "weights.safetensors", *(["--dtype", name] if name else []))
            weights = load_file(scratch / "weights.safetensors")
            expected = module.state_dict()
            check(weights.keys() == expected.keys(), "the names differ")
            for key, tensor in expected.items():
                wanted = tensor.to(dtype) if dtype and tensor.is_floating_point() else tensor
                check(weights[key].dtype == wanted.dtype, f"{key} is {weights[key].dtype}")
                check(torch.equal(weights[key], wanted), f"{key} differs as {name}")
    print("TorchScript and weights are the same in Python")


if __name__ == "__main__":
    main()
