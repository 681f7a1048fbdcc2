#!/usr/bin/env python3
"""Trains small networks on the digits with PyTorch, as the reference for runs of the host.

    python3 make_training_reference.py OUTDIR        (torch 2.11 and safetensors; OUTDIR: reference)

Writes the initial weights as NETWORK.safetensors, and training.json. The latter contains for each case the overrides of
the run file NETWORK.toml, the loss of every step before its update, and the mean validation loss of every epoch. Uses
one thread and batches in file order. The last batch of an epoch may be smaller.

A rounding may decide the sign of a value near 0, after which two runs differ by more than roundings. So each case is
trained again twelve times, with initial weights that differ in their last bits. The limit of a case is at least twice the
largest difference of these runs.
"""
import contextlib
import json
import math
import os
import pathlib
import sys

# Selects kernels that sum in the same order on every processor, like the test. Rounding errors grow with each step.
os.environ.update(ATEN_CPU_CAPABILITY="default", MKL_CBWR="COMPATIBLE", ONEDNN_MAX_CPU_ISA="SSE41")

import torch
from safetensors.torch import save
from torch import nn
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, get_swa_multi_avg_fn

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DIGITS = REPOSITORY / "plugins/datasets/digits/digits.csv"  # 64 pixels of 0..16, then the label
STEPS = 200
BATCH_SIZE = 64
STEPS_PER_EPOCH = 23
LIMIT = 1e-5  # maximum relative difference of a loss, unless PyTorch's runs with other roundings differ more
LIMIT_OF_LOW_PRECISION = 2e-2
ROUNDINGS = range(12)  # seeds


def read_digits(testing):
    """Returns images [N, 1, 8, 8] in 0..1 and labels [N]: every fifth row for testing, the others for training."""
    rows = [[int(text) for text in line.split(",")] for line in DIGITS.read_text().splitlines() if line[:1].isdigit()]
    assert len(rows) == 1797 and all(len(row) == 65 for row in rows)
    rows = torch.tensor([row for index, row in enumerate(rows) if (index % 5 == 4) == testing])
    return (rows[:, :64].float() / 16).reshape(-1, 1, 8, 8), rows[:, 64]


def batches(testing=False):
    images, labels = read_digits(testing)
    return list(zip(images.split(BATCH_SIZE), labels.split(BATCH_SIZE)))


def convolution(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)


class SmallCnn(nn.Module):
    """The plugin small_cnn with width = 8."""

    def __init__(self, classes=10, width=8):
        super().__init__()
        self.features = nn.Sequential(
            convolution(1, width), nn.BatchNorm2d(width), nn.ReLU(),
            convolution(width, width), nn.BatchNorm2d(width), nn.ReLU(),
            nn.MaxPool2d(2),
            convolution(width, 2 * width), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.classifier = nn.Linear(8 * width, classes)

    def forward(self, image):
        return self.classifier(self.features(image))


class Mlp(nn.Module):
    """The plugin mlp."""

    def __init__(self, sizes=(64, 128, 10)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, image):
        hidden = image.flatten(1)
        for layer in self.layers[:-1]:
            hidden = layer(hidden).relu()
        return self.layers[-1](hidden)


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen et al., "Symbolic discovery of optimization algorithms", arXiv:2302.06675."""

    def __init__(self, parameters, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for parameter in group["params"]:
                average = self.state[parameter].setdefault("exp_avg", torch.zeros_like(parameter))
                direction = average.lerp(parameter.grad, 1 - beta1).sign()
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(direction, alpha=-group["lr"])
                average.lerp_(parameter.grad, 1 - beta2)


class Several:
    """Optimizers that step together."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()


NETWORKS = {"small_cnn": SmallCnn, "mlp": Mlp}


def sgd(network, lr=0.1, **options):
    return torch.optim.SGD(network.parameters(), lr=lr, **options)


def gentle_sgd(network):
    return sgd(network, 0.01)


def adamw(network, lr=1e-3, **options):
    return torch.optim.AdamW(network.parameters(), lr=lr, weight_decay=0.01, **options)


def decayed_matrices(network):
    """Returns AdamW with weight decay only for parameters with two or more dimensions."""
    matrices = [parameter for parameter in network.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in network.parameters() if parameter.dim() < 2]
    return torch.optim.AdamW([{"params": matrices}, {"params": vectors, "weight_decay": 0}], lr=1e-3, weight_decay=0.1)


def slower_head(network):
    head = [parameter for name, parameter in network.named_parameters() if name.startswith("layers.1.")]
    body = [parameter for name, parameter in network.named_parameters() if not name.startswith("layers.1.")]
    return torch.optim.SGD([{"params": head, "lr": 0.01, "weight_decay": 0.1}, {"params": body}], lr=0.1, momentum=0.9)


def muon(network):
    hidden, *others = network.parameters()
    return Several(torch.optim.Muon([hidden], lr=0.02, weight_decay=0.1),
                   torch.optim.AdamW(others, lr=0.02 * 0.05, weight_decay=0))


SGD = 'optimizer={use="sgd",lr=0.1}'
# In a network with batch statistics, rounding differences grow with each step, and faster with larger steps.
GENTLE_SGD = 'optimizer={use="sgd",lr=0.01}'
ALL = 'decay="all"'


def schedule_case(text, make):
    """Returns a case of SGD with momentum and a schedule."""
    return {"set": ['optimizer={use="sgd",lr=0.1,momentum=0.9}', f"schedule={text}"],
            "optimizer": lambda network: sgd(network, momentum=0.9), "schedule": make}


def warmed_cosine(optimizer):
    warmup = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=20)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS - 20)
    return lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[20])


def stable_then_decay(optimizer):
    return lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (STEPS - step) / (0.25 * STEPS)))


CASES = {
    # Optimizers. Adam and Adagrad use the fused implementations, like the host: PyTorch's loops over tensors round
    # differently, and Adam with an L2 penalty amplifies the difference near 0. AdamW uses the loop.
    "sgd": {"set": [f'optimizer={{use="sgd",lr=0.1,momentum=0.9,dampening=0.1,weight_decay=1e-3,{ALL}}}'],
            "optimizer": lambda network: sgd(network, momentum=0.9, dampening=0.1, weight_decay=1e-3)},
    "sgd_nesterov": {"set": [f'optimizer={{use="sgd",lr=0.1,momentum=0.9,nesterov=true,weight_decay=1e-3,{ALL}}}'],
                     "optimizer": lambda network: sgd(network, momentum=0.9, nesterov=True, weight_decay=1e-3)},
    "adam": {"set": [f'optimizer={{use="adam",lr=1e-3,weight_decay=1e-3,amsgrad=true,{ALL}}}'],
             "optimizer": lambda network: torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=1e-3,
                                                           amsgrad=True, fused=True)},
    "adamw": {"set": [f'optimizer={{use="adamw",lr=1e-3,weight_decay=0.01,{ALL}}}'], "optimizer": adamw},
    "adamw_matrices": {"set": ['optimizer={use="adamw",lr=1e-3,weight_decay=0.1}'], "optimizer": decayed_matrices},
    "rmsprop": {"set": [f'optimizer={{use="rmsprop",lr=2e-4,momentum=0.9,centered=true,weight_decay=1e-3,{ALL}}}'],
                "optimizer": lambda network: torch.optim.RMSprop(network.parameters(), lr=2e-4, momentum=0.9,
                                                                 centered=True, weight_decay=1e-3)},
    "adagrad": {"set": [f'optimizer={{use="adagrad",lr=0.01,lr_decay=0.01,weight_decay=1e-3,{ALL}}}'],
                "optimizer": lambda network: torch.optim.Adagrad(network.parameters(), lr=0.01, lr_decay=0.01,
                                                                 weight_decay=1e-3, fused=True)},
    "lion": {"set": [f'optimizer={{use="lion",lr=1e-4,weight_decay=0.1,{ALL}}}'],
             "optimizer": lambda network: Lion(network.parameters(), lr=1e-4, weight_decay=0.1)},
    "muon": {"set": ['optimizer={use="muon",lr=0.02,weight_decay=0.1,adamw_match=["layers.1.*"],adamw_lr_scale=0.05,'
                     "adamw_weight_decay=0.0}"], "optimizer": muon, "is_low": True},  # it orthogonalises in bfloat16
    "groups": {"set": ['optimizer={use="sgd",lr=0.1,momentum=0.9,'
                       'group=[{match=["layers.1.*"],lr_scale=0.1,weight_decay=0.1}]}'], "optimizer": slower_head},
    # Schedules.
    "linear": schedule_case('{use="linear",end_factor=0.25,length="100 steps"}',
                            lambda o: lr_scheduler.LinearLR(o, 1, 0.25, total_iters=100)),
    "cosine": schedule_case('{use="cosine",eta_min=0.01}', lambda o: lr_scheduler.CosineAnnealingLR(o, STEPS, 0.01)),
    "cosine_with_warmup": schedule_case('{use="cosine",warmup=20,warmup_start_factor=0.1}', warmed_cosine),
    "cosine_restarts": schedule_case('{use="cosine_restarts",t_0="1 epoch",t_mult=2,eta_min=0.001}',
                                     lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, STEPS_PER_EPOCH, 2, 0.001)),
    "one_cycle": schedule_case('{use="one_cycle",cycle_momentum=true}',
                               lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=STEPS)),
    "polynomial": schedule_case('{use="polynomial",power=2.0,length="150 steps"}',
                                lambda o: lr_scheduler.PolynomialLR(o, total_iters=150, power=2.0)),
    "step": schedule_case('{use="step",step_size="2 epochs",gamma=0.5}',
                          lambda o: lr_scheduler.StepLR(o, 2 * STEPS_PER_EPOCH, gamma=0.5)),
    "multi_step": schedule_case('{use="multi_step",milestones=["30 steps","2 epochs"],gamma=0.3}',
                                lambda o: lr_scheduler.MultiStepLR(o, [30, 2 * STEPS_PER_EPOCH], gamma=0.3)),
    "exponential": schedule_case('{use="exponential",gamma=0.99,every="1 step"}',
                                 lambda o: lr_scheduler.ExponentialLR(o, gamma=0.99)),
    "warmup_stable_decay": schedule_case('{use="warmup_stable_decay",decay=0.25,warmup=0}', stable_then_decay),
    "reduce_on_plateau": schedule_case(
        '{use="reduce_on_plateau",patience=0,threshold=0.2,factor=0.5}',
        lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0, threshold=0.2, factor=0.5)),
    # Steps.
    "accumulated": {"set": [f'optimizer={{use="adamw",lr=1e-3,{ALL}}}', "data.batch_size=16", "train.accumulate=4"],
                    "optimizer": adamw},
    "clipped_by_norm": {"set": [SGD, "train.clip_norm=0.3"], "optimizer": sgd,
                        "clip": lambda network: nn.utils.clip_grad_norm_(network.parameters(), 0.3)},
    "clipped_by_value": {"set": [SGD, "train.clip_value=0.01"], "optimizer": sgd,
                         "clip": lambda network: nn.utils.clip_grad_value_(network.parameters(), 0.01)},
    "label_smoothing": {"set": [SGD, "loss.0.params={label_smoothing=0.1}"], "optimizer": sgd,
                        "loss": nn.CrossEntropyLoss(label_smoothing=0.1)},
    "ema": {"set": [SGD, 'train.average={use="ema",decay=0.95}'], "optimizer": sgd,
            "average": get_ema_multi_avg_fn(0.95)},
    "swa": {"set": [SGD, 'train.average={use="swa",every="1 step"}'], "optimizer": sgd,
            "average": get_swa_multi_avg_fn()},
    "ema_of_cnn": {"network": "small_cnn", "set": [GENTLE_SGD, 'train.average={use="ema",decay=0.95}'],
                   "optimizer": gentle_sgd,
                   "average": get_ema_multi_avg_fn(0.95)},
    # Precision.
    "bf16": {"set": [SGD, 'train.precision="bf16"'], "optimizer": sgd, "autocast": torch.bfloat16},
    "bf16_of_cnn": {"network": "small_cnn", "set": [GENTLE_SGD, 'train.precision="bf16"'],
                    "optimizer": gentle_sgd, "autocast": torch.bfloat16},
    "fp16": {"set": [SGD, 'train.precision="fp16"'], "optimizer": sgd, "autocast": torch.float16},
    # A network with batch statistics.
    "adamw_of_cnn": {"network": "small_cnn", "set": [f'optimizer={{use="adamw",lr=1e-4,weight_decay=0.01,{ALL}}}'],
                     "optimizer": lambda network: adamw(network, 1e-4)},
    "one_cycle_of_cnn": {"network": "small_cnn",
                         "set": ['optimizer={use="sgd",lr=0.003,momentum=0.9,nesterov=true,weight_decay=5e-4,'
                                 f'{ALL}}}', 'schedule={use="one_cycle"}'],
                         "optimizer": lambda network: sgd(network, 0.003, momentum=0.9, nesterov=True, weight_decay=5e-4),
                         "schedule": lambda o: lr_scheduler.OneCycleLR(o, 0.003, total_steps=STEPS,
                                                                       cycle_momentum=False)},
}


def make_network(name, dtype=torch.float32):
    torch.manual_seed(0)
    return NETWORKS[name]().to(dtype)


@torch.no_grad()
def change_last_bits(network, seed):
    generator = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        up = torch.randint(2, parameter.shape, generator=generator).bool()
        parameter.copy_(torch.nextafter(parameter, torch.where(up, torch.inf, -torch.inf)))


class Run:
    """Trains a case with a plain PyTorch loop."""

    def __init__(self, case, dtype=torch.float32, rounding=None):
        self.case = case
        self.dtype = dtype
        self.network = make_network(case.get("network", "mlp"), dtype)
        if rounding is not None:
            change_last_bits(self.network, rounding)
        self.optimizer = case["optimizer"](self.network)
        self.schedule = case["schedule"](self.optimizer) if "schedule" in case else None
        self.loss = case.get("loss", nn.CrossEntropyLoss())
        is_half = case.get("autocast") == torch.float16
        self.scaler = torch.amp.GradScaler("cpu") if is_half else None
        self.average = None
        if "average" in case:
            self.average = AveragedModel(self.network, multi_avg_fn=case["average"], use_buffers=True)

    def autocast(self):
        dtype = self.case.get("autocast")
        return torch.autocast("cpu", dtype) if dtype and self.dtype == torch.float32 else contextlib.nullcontext()

    def step(self, images, labels):
        with self.autocast():
            loss = self.loss(self.network(images.to(self.dtype)), labels)
        self.network.zero_grad()
        (self.scaler.scale(loss) if self.scaler else loss).backward()
        if "clip" in self.case:
            self.case["clip"](self.network)
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        if self.schedule and not self.monitors_metric():
            self.schedule.step()
        if self.average:
            self.average.update_parameters(self.network)
        return loss.item()

    def monitors_metric(self):
        return isinstance(self.schedule, lr_scheduler.ReduceLROnPlateau)

    @torch.no_grad()
    def validate(self):
        network = (self.average or self.network).eval()
        total = count = 0
        for images, labels in batches(testing=True):
            with self.autocast():
                total += self.loss(network(images.to(self.dtype)), labels).item() * len(labels)
            count += len(labels)
        self.network.train()
        if self.monitors_metric():
            self.schedule.step(total / count)
        return total / count

    def train(self):
        """Returns the losses of STEPS steps, and the validation losses of the complete epochs."""
        losses, validations = [], []
        while len(losses) < STEPS:
            for images, labels in batches()[:STEPS - len(losses)]:
                losses.append(self.step(images, labels))
            if len(losses) % STEPS_PER_EPOCH == 0:
                validations.append(self.validate())
        return losses, validations


def largest_difference(values, others):
    return max(abs(a - b) / abs(b) for a, b in zip(values, others))


def rounded_up(value):
    """Returns the value with two digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit) * unit:.2g}")


def sensitivity(run, others):
    """Returns the largest difference of the other runs, as losses and validation losses, from this one."""
    return rounded_up(max(largest_difference(values, others_values)
                          for other in others for values, others_values in zip(other, run)))


def rounded(values):
    assert all(math.isfinite(value) for value in values)
    return [float(f"{value:.9g}") for value in values]


def main(folder):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    folder.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS:
        (folder / f"{name}.safetensors").write_bytes(save(make_network(name).state_dict()))
    cases = []
    for name, case in CASES.items():
        losses, validations = Run(case).train()
        exact, _ = Run({**case, "autocast": None}, torch.float64).train()
        rounding = largest_difference(losses, exact)
        of_roundings = sensitivity((losses, validations), [Run(case, rounding=seed).train() for seed in ROUNDINGS])
        limit = LIMIT_OF_LOW_PRECISION if case.get("is_low", "autocast" in case) else LIMIT
        print(f"{name}: loss {losses[0]:.4f} -> {losses[-1]:.4f}; double precision differs by {rounding:.2g}, "
              f"other roundings by {of_roundings}")
        cases.append({"name": name, "network": case.get("network", "mlp"), "set": case["set"],
                      "limit": max(limit, rounded_up(2 * of_roundings)),
                      "difference_of_double_precision": float(f"{rounding:.2g}"),
                      "difference_of_other_roundings": of_roundings,
                      "losses": rounded(losses), "validation_losses": rounded(validations)})
    lines = ",\n".join(json.dumps(case) for case in cases)
    version = torch.__version__.split("+")[0]
    (folder / "training.json").write_text(f'{{"torch": "{version}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
