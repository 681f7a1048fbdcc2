#!/usr/bin/env python3
"""The run of configs/gpt.toml by PyTorch, to compare losses: the same network, text, windows, optimizer and schedule.

    python3 bench/gpt_pytorch.py TEXT [--seed 0] [--threads 0]

Needs Python's tomllib and torch. Sizes, rate and length are read from the run file; initial weights and the order of
windows are drawn by PyTorch. Prints the validation loss after each epoch and the seconds until then.
"""
import argparse
import math
import pathlib
import sys
import time
import tomllib

import torch
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/parity"))
from gpt_network import Gpt  # noqa: E402


def make_windows(tokens, context, stride):
    """[windows, context] of tokens and of targets, as text_windows cuts them."""
    count = 1 if len(tokens) - 1 <= context else 1 + -(-(len(tokens) - 1 - context) // stride)
    inputs = torch.zeros(count, context, dtype=torch.int64)
    targets = torch.full((count, context), -100)
    for i in range(count):
        window = tokens[i * stride:i * stride + context + 1]
        inputs[i, :len(window) - 1] = window[:-1]
        targets[i, :len(window) - 1] = window[1:]
    return inputs, targets


def validation_loss(network, inputs, targets, batch):
    network.eval()
    total = 0.0
    with torch.no_grad():
        for first in range(0, len(inputs), batch):
            logits = network(inputs[first:first + batch]).flatten(0, 1)
            total += functional.cross_entropy(logits, targets[first:first + batch].flatten(), reduction="sum").item()
    network.train()
    return total / (targets != -100).sum().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as torch chooses")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    run = tomllib.loads((ROOT / "configs/gpt.toml").read_text())
    text = arguments.text.read_bytes().decode("utf-8")
    numbers = {character: i for i, character in enumerate(sorted(set(text)))}
    tokens = torch.tensor([numbers[character] for character in text])
    train_params, validation_params = run["data"]["train"]["params"], run["data"]["validation"]["params"]
    end = math.floor(len(tokens) * (1 - train_params.get("validation_fraction", 0.1)) + 0.5)
    context = train_params["context"]
    inputs, targets = make_windows(tokens[:end], context, train_params.get("stride", context))
    held_out = make_windows(tokens[end:], context, validation_params.get("stride", context))

    network = Gpt(**run["model"]["params"])
    decayed = [parameter for parameter in network.parameters() if parameter.dim() >= 2]
    other = [parameter for parameter in network.parameters() if parameter.dim() < 2]
    options = run["optimizer"]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": options["weight_decay"]},
                                   {"params": other, "weight_decay": 0.0}],
                                  lr=options["lr"], betas=options["betas"])
    batch, epochs = run["data"]["batch_size"], run["train"]["epochs"]
    steps = epochs * -(-len(inputs) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=options["lr"], total_steps=steps, pct_start=run["schedule"]["warmup_fraction"],
        cycle_momentum=False)
    begin = time.monotonic()
    for epoch in range(epochs):
        order = torch.randperm(len(inputs))
        for first in range(0, len(order), batch):
            picked = order[first:first + batch]
            logits = network(inputs[picked])
            loss = functional.cross_entropy(logits.flatten(0, 1), targets[picked].flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), run["train"]["clip_norm"])
            optimizer.step()
            if schedule.last_epoch < steps - 1:
                schedule.step()
        loss = validation_loss(network, *held_out, batch)
        print(f"epoch {epoch + 1}: validation/loss {loss:.4f}, {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
