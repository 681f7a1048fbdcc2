#!/usr/bin/env python3
"""Trains a run file of configs/ with PyTorch: the same network, data, losses, optimizer, schedule, batches and epochs.

    python bench/runs_pytorch.py CONFIG [--seed 0] [--threads 0] [--steps 0]

Needs Python 3.11, torch 2.11, torchvision and, for text pairs, sentencepiece 0.2. Also needs the data that CONFIG
names, which scripts/example-data creates. All settings are read from the run file. Weights, the order of samples,
augmentation and dropout are sampled by PyTorch, so a run differs from that of `host` like a run with another seed.
Prints the metrics of each validation, then the seconds from the first step to the end and the CPU seconds of the
process. Components support only the parameters that the run files use. The metrics r2 and rouge_l are left out.
"""
import argparse
import inspect
import math
import pathlib
import subprocess
import time
import tomllib

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader

from pytorch_data import DATASETS, IGNORED
from pytorch_networks import make_network

ROOT = pathlib.Path(__file__).resolve().parent.parent


# A loss returns its mean and the number of elements in the mean.

def cross_entropy(logits, target, **options):
    return functional.cross_entropy(logits, target, **options), (target != options.get("ignore_index", IGNORED)).sum()


def sequence_cross_entropy(logits, target, **options):
    return cross_entropy(logits.flatten(0, 1), target.flatten(), **options)


def bce_with_logits(logits, target):
    return functional.binary_cross_entropy_with_logits(logits, target.float()), target.numel()


def mse(prediction, target):
    return functional.mse_loss(prediction, target), target.numel()


# A metric returns a numerator and a denominator per metric name. Both are summed over the batches.

def accuracy(logits, target):
    return {"accuracy": ((logits.argmax(1) == target).sum(), target.numel())}


def binary_accuracy(logits, target):
    return {"binary_accuracy": (((logits > 0) == (target > 0)).sum(), target.numel())}


def iou(logits, target, classes, ignore_index):
    counted = target != ignore_index
    pairs = target[counted] * classes + logits.argmax(1)[counted]
    confusion = pairs.bincount(minlength=classes * classes).reshape(classes, classes)
    return {"iou": (confusion.diag(), confusion.sum(0) + confusion.sum(1) - confusion.diag())}


def mae(prediction, target):
    return {"mae": ((prediction - target).abs().sum(), target.numel())}


def rmse(prediction, target):
    return {"rmse": (((prediction - target) ** 2).sum(), target.numel())}


def token_accuracy(logits, target):
    is_token = target != IGNORED
    is_right = logits.argmax(2) == target
    return {"token_accuracy": ((is_right & is_token).sum(), is_token.sum()),
            "sequence_accuracy": ((is_right | ~is_token).all(1).sum(), len(target))}


def perplexity(logits, target):
    loss, count = sequence_cross_entropy(logits, target)
    return {"perplexity": (loss * count, count)}


LOSSES = {"bce_with_logits": bce_with_logits, "cross_entropy": cross_entropy, "mse": mse,
          "sequence_cross_entropy": sequence_cross_entropy}
METRICS = {"accuracy": accuracy, "binary_accuracy": binary_accuracy, "iou": iou, "mae": mae, "perplexity": perplexity, "rmse": rmse,
           "token_accuracy": token_accuracy}
FINISH = {"perplexity": math.exp, "rmse": math.sqrt}  # applied to the mean over all batches
LEFT_OUT = {"r2", "rouge_l"}


class LengthBuckets:
    """Batches of samples with similar lengths, like the sampler length_bucketed."""

    PIECE = 100  # number of batches with samples that are sorted together

    def __init__(self, lengths, batch_size):
        self.lengths, self.batch_size = lengths, batch_size

    def __len__(self):
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self):
        batches = []
        for piece in torch.randperm(len(self.lengths)).split(self.PIECE * self.batch_size):
            batches += piece[self.lengths[piece].argsort()].split(self.batch_size)
        whole = [batch for batch in batches if len(batch) == self.batch_size]
        rest = [batch for batch in batches if len(batch) < self.batch_size]
        return iter([whole[i].tolist() for i in torch.randperm(len(whole))] + [batch.tolist() for batch in rest])


class Means:
    """Divides the summed numerators by the summed denominators, by name. Averages several such fractions."""

    def __init__(self):
        self.sums = {}

    def add(self, name, above, below):
        old_above, old_below = self.sums.get(name, (0, 0))
        self.sums[name] = (old_above + above, old_below + below)

    def means(self):
        return {name: (above / torch.as_tensor(below)).mean().item() for name, (above, below) in self.sums.items()}


def read_plan(path):
    """Returns the complete plan of a run file: the defaults of the components, and what `host` infers from the data."""
    command = [ROOT / "build/release/bin/host", "--config", path, "--check"]
    return tomllib.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def read_run(path):
    """Returns the run file with resolved paths of its data, and with the model of its plan."""
    run = tomllib.loads(path.read_text())
    run["model"] = read_plan(path)["model"]
    data = run["data"]
    for part in ("train", "validation"):
        params = data[part]["params"]
        params.update({key: str(path.parent / params[key]) for key in ("path", "tokenizer_text") if key in params})
    validation = data["validation"]
    like = data.get(validation.get("like"), {})
    data["validation"] = like | validation | {"params": like.get("params", {}) | validation["params"]}
    return run


class EarlyStopping:
    """The callback early_stopping of a run file. Without this callback the run never stops early."""

    def __init__(self, run):
        params = next((one["params"] for one in run.get("callback", []) if one["use"] == "early_stopping"), {})
        self.metric = params.get("monitor", "").removeprefix("validation/")
        mode = params.get("mode", "min" if self.metric.endswith("loss") else "max")
        self.sign = 1 if mode == "max" else -1
        self.patience = params.get("patience", math.inf)
        self.best, self.best_epoch = math.nan, 0

    def is_over(self, epoch, metrics):
        if self.metric and not self.sign * (metrics[self.metric] - self.best) <= 0:
            self.best, self.best_epoch = metrics[self.metric], epoch
        return epoch - self.best_epoch >= self.patience

    def print_best(self):
        if self.metric:
            print(f"best {self.metric} {self.best:.4f}, after epoch {self.best_epoch}")


def spread_places(size, count):
    """Returns the samples of a limited validation, as `host` chooses them: see framework/data/sampler.h."""
    bounds = [part * size // count for part in range(count + 1)]
    shifts = [part * 0x9E3779B97F4A7C15 % 2**64 for part in range(count)]
    return [begin + (shift * (end - begin) >> 64) for begin, end, shift in zip(bounds, bounds[1:], shifts)]


def make_loader(data, part):
    dataset = DATASETS[data[part]["use"]](data[part]["params"])
    if part == "validation":
        limit = data.get("validation_limit_batches", 0) * data["batch_size"]
        places = spread_places(len(dataset), min(limit or len(dataset), len(dataset)))
        return DataLoader(dataset, data["batch_size"], sampler=places, collate_fn=dataset.collate)
    if data.get("sampler") == "length_bucketed":
        buckets = LengthBuckets(dataset.lengths(), data["batch_size"])
        return DataLoader(dataset, batch_sampler=buckets, collate_fn=dataset.collate)
    return DataLoader(dataset, data["batch_size"], shuffle=True, collate_fn=dataset.collate)


def make_optimizer(network, options):
    """Returns AdamW with weight decay only for parameters with two or more dimensions."""
    decayed = [parameter for parameter in network.parameters() if parameter.dim() >= 2]
    others = [parameter for parameter in network.parameters() if parameter.dim() < 2]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": options.get("weight_decay", 0.01)}, {"params": others, "weight_decay": 0}],
        lr=options["lr"], betas=options.get("betas", (0.9, 0.999)), fused=True)


def make_schedule(optimizer, run, steps):
    return torch.optim.lr_scheduler.OneCycleLR(
        optimizer, run["optimizer"]["lr"], total_steps=steps, cycle_momentum=False,
        pct_start=run["schedule"].get("warmup_fraction", 0.3))


class Run:
    def __init__(self, run, steps):
        self.run = run
        self.train_data, self.validation_data = make_loader(run["data"], "train"), make_loader(run["data"], "validation")
        self.network = make_network(run["model"])
        self.inputs = list(inspect.signature(self.network.forward).parameters)
        self.accumulate = run["train"].get("accumulate", 1)
        self.steps_of_epoch = -(-len(self.train_data) // self.accumulate)
        self.steps = steps or run["train"]["epochs"] * self.steps_of_epoch
        self.optimizer = make_optimizer(self.network, run["optimizer"])
        self.schedule = make_schedule(self.optimizer, run, self.steps)

    def apply(self, functions, component, outputs, batch):
        """Computes the loss or metric `component` of the run file."""
        sources = component.get("inputs", {})
        target = sources.get("target", "data." + self.train_data.dataset.target)
        prediction = next((source for port, source in sources.items() if port != "target"), "model.logits")
        values = {"model": outputs, "data": batch}
        arguments = [values[owner][name] for owner, name in (prediction.split("."), target.split("."))]
        return functions[component["use"]](*arguments, **component.get("params", {}))

    def forward(self, batch):
        """Connects each input to the field with its name, or to the first field if there is none."""
        return self.network(**{name: batch.get(name, next(iter(batch.values()))) for name in self.inputs})

    def losses(self, outputs, batch):
        """Returns for each loss of the run file its weight in the sum, its mean and the number of elements."""
        return [(loss.get("weight", 1), *self.apply(LOSSES, loss, outputs, batch)) for loss in self.run["loss"]]

    def step(self, batches):
        """Runs a step with the gradient of the mean over the samples of all batches. Returns that mean."""
        sizes = [len(next(iter(batch.values()))) for batch in batches]
        total = 0.0
        for batch, size in zip(batches, sizes):
            losses = self.losses(self.forward(batch), batch)
            loss = sum(weight * mean for weight, mean, _ in losses) * (size / sum(sizes))
            loss.backward()
            total += loss.item()
        if "clip_norm" in self.run["train"]:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.run["train"]["clip_norm"])
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total

    def train_epoch(self, steps):
        """Runs `steps` steps, at most one epoch. Returns their mean loss."""
        losses, batches = [], []
        for number, batch in enumerate(self.train_data, 1):
            batches.append(batch)
            if len(batches) < self.accumulate and number < len(self.train_data):
                continue
            losses.append(self.step(batches))
            batches = []
            if self.schedule.last_epoch < self.steps - 1:
                self.schedule.step()
            if len(losses) == steps:
                break
        return sum(losses) / len(losses)

    @torch.no_grad()
    def validate(self):
        """Returns the metrics by name, with the sum of the losses first."""
        self.network.eval()
        metrics = [metric for metric in self.run.get("metric", []) if metric["use"] not in LEFT_OUT]
        losses, values = Means(), Means()
        for batch in self.validation_data:
            outputs = self.forward(batch)
            for number, (weight, mean, count) in enumerate(self.losses(outputs, batch)):
                losses.add(number, weight * mean * count, count)
            for metric in metrics:
                for name, (above, below) in self.apply(METRICS, metric, outputs, batch).items():
                    values.add(name, above, below)
        self.network.train()
        return {"loss": sum(losses.means().values()),
                **{name: FINISH.get(name, float)(mean) for name, mean in values.means().items()}}

    def train(self):
        """Trains all epochs, or until early stopping. Prints the metrics of each epoch."""
        stopping = EarlyStopping(self.run)
        begin = time.monotonic()
        for epoch in range(1, math.ceil(self.steps / self.steps_of_epoch) + 1):
            loss = self.train_epoch(min(self.steps_of_epoch, self.steps - (epoch - 1) * self.steps_of_epoch))
            metrics = self.validate()
            print(f"epoch {epoch}: train/loss {loss:.4f} "
                  + " ".join(f"{name} {value:.4f}" for name, value in metrics.items()), flush=True)
            if stopping.is_over(epoch, metrics):
                break
        stopping.print_best()
        print(f"{time.monotonic() - begin:.1f} s, {time.process_time():.1f} s of CPU time")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="number of threads; 0: PyTorch's default")
    parser.add_argument("--steps", type=int, default=0, help="overrides the epochs, like --set train.steps=N")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    Run(read_run(arguments.config), arguments.steps).train()


if __name__ == "__main__":
    main()
