#!/usr/bin/env python3
"""Writes state_dicts with torch.save, and the same tensors as safetensors.

    python3 make_state_dicts.py OUTDIR        (torch 2.11, NumPy and safetensors; OUTDIR: reference/state_dicts)
"""

import argparse
import collections
import datetime
import os
import pathlib
import sys

import numpy
import torch
from safetensors.torch import save_file


class Command:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch executed",)


def tensors():
    base = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) / 7
    state = collections.OrderedDict()
    state["a.weight"] = base.clone()
    state["a.bias"] = torch.tensor([1.5, -2.25])
    state["half"] = torch.tensor([0.5, 65504.0]).half()
    state["bfloat"] = torch.tensor([1.0, 3.140625]).bfloat16()
    state["double"] = torch.tensor([[1e-300, 2.0]], dtype=torch.float64)
    state["count"] = torch.tensor(9007199254740993)
    state["mask"] = torch.tensor([True, False, True])
    state["bytes"] = torch.tensor([0, 255], dtype=torch.uint8)
    state["small"] = torch.tensor([-128, 127], dtype=torch.int8)
    state["short"] = torch.tensor([-32768, 32767], dtype=torch.int16)
    state["int"] = torch.tensor([-5, 2147483647], dtype=torch.int32)
    state["transposed"] = base[0].t()
    state["part"] = base[1, 1:, ::2]
    state["shared"] = base
    state["empty"] = torch.zeros(0, 3)
    state["scalar"] = torch.tensor(2.5)
    return state


def save(folder, name, value, expected, **options):
    torch.save(value, folder / f"{name}.pth", **options)
    if expected is not None:
        save_file({key: tensor.detach().clone().contiguous() for key, tensor in expected.items()},
                  folder / f"{name}.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    state = tensors()
    save(folder, "plain", state, state)
    save(folder, "protocol_4", dict(state), state, pickle_protocol=4)
    save(folder, "protocol_5", state, state, pickle_protocol=5)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.rand(4, 3)).sum().backward()
    optimizer.step()
    save(folder, "training", {"epoch": 3, "best": 0.75, "lrs": [0.1, 0.01], "name": "run", "none": None, "last": True,
                              "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()},
         model.state_dict())
    save(folder, "parameters", dict(model.named_parameters()), dict(model.named_parameters()))
    save(folder, "no_tensors", {"epoch": 3, "weights": {"a": 1}}, None)
    save(folder, "module", model, None)
    save(folder, "legacy", state, None, _use_new_zipfile_serialization=False)
    save(folder, "command", {"weight": torch.zeros(2), "command": Command()}, None)
    zeros = {key: torch.zeros_like(value) for key, value in model.state_dict().items()}
    objects = {"state_dict": zeros, "state_dict_ema": model.state_dict(), "args": argparse.Namespace(lr=1, opt=["a"]),
               "best": numpy.float64(0.9), "history": numpy.arange(3), "path": pathlib.PurePosixPath("/x"),
               "counter": collections.Counter(a=1), "default": collections.defaultdict(int, b=2), "set": {1, 2},
               "frozen": frozenset({3}), "dtype": torch.float32, "device": torch.device("cpu"), "size": torch.Size([1]),
               "time": datetime.datetime(2026, 1, 1), "bytes": b"x" * 300, "large": 1 << 100, "complex": 1j,
               "half": torch.zeros(2, dtype=torch.complex64), "sparse": torch.eye(2).to_sparse(), "module": model,
               "command": Command(), "twice": [numpy.float64(0.9)] * 2}
    save(folder, "objects", objects, None)
    save(folder, "objects_4", objects, None, pickle_protocol=4)
    save(folder, "array", {"a": torch.zeros(2), "b": numpy.zeros(2)}, None)
    torch.jit.script(model).save(folder / "script.pth")


if __name__ == "__main__":
    main()
