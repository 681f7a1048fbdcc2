#!/usr/bin/env python3
"""Trains small networks on the digits with PyTorch's DistributedDataParallel, as the reference for runs of the host.

    python3 make_ddp_reference.py OUTDIR        (torch 2.11 and safetensors; OUTDIR: reference)

Runs two processes over gloo. Each batch has 64 samples in file order: the first process takes the 1st, 3rd, ..., the
second process the others. Writes ddp.json with, for each case, the overrides of the run file NETWORK.toml, the mean
loss of both processes for each step, and the validation loss of the first process for each epoch. The initial weights
are those of make_training_reference.py.
"""
import json
import os
import pathlib
import socket
import sys

import make_training_reference as reference
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WORLD = 2
CASES = {
    "sgd": {"set": [reference.SGD], "optimizer": reference.sgd},
    "adamw": {"set": [f'optimizer={{use="adamw",lr=1e-3,weight_decay=0.01,{reference.ALL}}}'],
              "optimizer": reference.adamw},
    "clipped_by_norm": {"set": [reference.SGD, "train.clip_norm=0.3"], "optimizer": reference.sgd,
                        "clip": lambda network: nn.utils.clip_grad_norm_(network.parameters(), 0.3)},
    # A step has two batches of 32. Their gradients are reduced over the processes once.
    "accumulated": {"set": [reference.SGD, "data.batch_size=16", "train.accumulate=2"], "optimizer": reference.sgd,
                    "accumulate": 2},
    # Each process uses its batch statistics. The running statistics are those of the first process.
    "adamw_of_cnn": {"network": "small_cnn",
                     "set": [f'optimizer={{use="adamw",lr=1e-4,weight_decay=0.01,{reference.ALL}}}'],
                     "optimizer": lambda network: reference.adamw(network, 1e-4)},
    # Batch statistics are those of both processes.
    "synchronized_of_cnn": {"network": "small_cnn",
                            "set": [reference.GENTLE_SGD, "distributed.synchronize_batch_norm=true"],
                            "optimizer": reference.gentle_sgd, "synchronize": True},
}


class SynchronizedBatchNorm(nn.BatchNorm2d):
    """Replaces nn.SyncBatchNorm, which needs a GPU: statistics over all processes, with autograd through all_reduce."""

    def forward(self, images):
        if not self.training:
            return super().forward(images)
        count = torch.tensor([float(images.numel() / images.shape[1])])
        sums = torch.cat([images.sum([0, 2, 3]), images.square().sum([0, 2, 3]), count])
        sums = dist.nn.functional.all_reduce(sums)
        mean, square = sums[:-1].reshape(2, -1) / sums[-1]
        variance = square - mean.square()
        with torch.no_grad():
            unbiased = variance * sums[-1] / (sums[-1] - 1)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(unbiased, self.momentum)
            self.num_batches_tracked += 1
        shape = (1, -1, 1, 1)
        normalized = (images - mean.reshape(shape)) * torch.rsqrt(variance + self.eps).reshape(shape)
        return normalized * self.weight.reshape(shape) + self.bias.reshape(shape)


def synchronize(network):
    for module in network.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                other = SynchronizedBatchNorm(child.num_features)
                other.load_state_dict(child.state_dict())
                setattr(module, name, other)


def train(rank, case, rounding=None):
    network = reference.make_network(case.get("network", "mlp"))
    if rounding is not None:
        reference.change_last_bits(network, rounding)
    if case.get("synchronize"):
        synchronize(network)
    network = DistributedDataParallel(network)
    optimizer = case["optimizer"](network)
    loss_of = nn.CrossEntropyLoss()
    parts = case.get("accumulate", 1)

    def step(images, labels):
        network.zero_grad()
        total = 0
        pieces = list(zip(images.split(WORLD * 16), labels.split(WORLD * 16))) if parts > 1 else [(images, labels)]
        for index, (some, of_some) in enumerate(pieces):
            share, labels_of_share = some[rank::WORLD], of_some[rank::WORLD]
            network.require_backward_grad_sync = index + 1 == len(pieces)
            # DDP averages over the processes, so the losses of each process must add up to its mean.
            loss = loss_of(network(share), labels_of_share) * len(of_some) / len(labels)
            loss.backward()
            total += loss.item()
        if "clip" in case:
            case["clip"](network)
        optimizer.step()
        mean = torch.tensor([total], dtype=torch.float64)
        dist.all_reduce(mean)
        return mean.item() / WORLD

    @torch.no_grad()
    def validate():
        for buffer in network.buffers():
            dist.broadcast(buffer, 0)
        alone = network.module.eval()
        total = count = 0
        for images, labels in reference.batches(testing=True):
            total += loss_of(alone(images), labels).item() * len(labels)
            count += len(labels)
        alone.train()
        return total / count

    losses, validations = [], []
    while len(losses) < reference.STEPS:
        for images, labels in reference.batches()[:reference.STEPS - len(losses)]:
            losses.append(step(images, labels))
        if len(losses) % reference.STEPS_PER_EPOCH == 0:
            validations.append(validate())
    return losses, validations


def work(rank, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    cases = []
    for name, case in CASES.items():
        losses, validations = train(rank, case)
        of_roundings = reference.sensitivity((losses, validations),
                                             [train(rank, case, rounding=seed) for seed in reference.ROUNDINGS])
        cases.append({"name": name, "network": case.get("network", "mlp"),
                      "limit": max(reference.LIMIT, reference.rounded_up(2 * of_roundings)),
                      "difference_of_other_roundings": of_roundings,
                      "set": ["distributed.processes=2", "data.batch_size=32", *case["set"]],
                      "losses": reference.rounded(losses), "validation_losses": reference.rounded(validations)})
    if rank == 0:
        text = json.dumps({"torch": torch.__version__, "cases": cases})
        (folder / "ddp.json").write_text(text.replace('{"name"', '\n{"name"') + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    mp.spawn(work, args=(number, pathlib.Path(sys.argv[1])), nprocs=WORLD)
