#!/usr/bin/env python3
"""Writes short trajectories of schedulefree.AdamWScheduleFree, the reference of tests/optimization/schedule_free_test.cpp.

    python3 make_schedule_free.py > reference/schedule_free.inc        (torch 2.11, schedulefree 1.4.1)

Parameters and gradients are those of make_optimizers.py. Each trajectory has fifty steps, with the weights of training
and those of evaluation. In the package the counters belong to a group of parameters, and in Tenon to each parameter. So
every parameter has an optimizer here, which steps only if there is a gradient.
"""
import importlib.metadata

import schedulefree
import torch

SHAPES = [(3, 5), (5,), (), (4, 3)]
STEPS = 50
KEPT_STEPS = [0, 11, 49]  # the values after these steps are written
LEARNING_RATE = 0.0625


def start(index, dtype):
    count = torch.Size(SHAPES[index]).numel()
    return ((torch.arange(count, dtype=dtype) * 11 + index) % 23 - 11).div(8).reshape(SHAPES[index])


def gradient(index, step, dtype):
    count = torch.Size(SHAPES[index]).numel()
    return ((torch.arange(count, dtype=dtype) * 7 + 13 * step + 5 * index) % 17 - 8).div(16).reshape(SHAPES[index])


def has_gradient(pattern, index, step):
    """`some`: no gradient for the second parameter in even steps, the third before step 10, and all in step 3."""
    if pattern == "all":
        return True
    return step != 3 and (index != 1 or step % 2 == 1) and (index != 2 or step >= 10)


def trajectory(pattern, dtype, **options):
    parameters = [start(i, dtype).requires_grad_() for i in range(len(SHAPES))]
    optimizers = [schedulefree.AdamWScheduleFree([p], lr=LEARNING_RATE, **options) for p in parameters]
    kept = []
    for step in range(STEPS):
        for i, (parameter, optimizer) in enumerate(zip(parameters, optimizers)):
            if not has_gradient(pattern, i, step):
                continue
            parameter.grad = gradient(i, step, dtype)
            optimizer.train()
            optimizer.step()
        if step in KEPT_STEPS:
            kept.append(torch.cat([p.detach().flatten() for p in parameters]))
            # The package evaluates in place, which would round the weights of training, so copies are evaluated.
            averages = []
            for parameter, optimizer in zip(parameters, optimizers):
                copy = parameter.detach().clone()
                optimizer.eval()
                averages.append(parameter.detach().clone().flatten())
                optimizer.train()
                parameter.data.copy_(copy)
            kept.append(torch.cat(averages))
    return kept


CASES = [
    ("default", "", 0.0, 0, {}),
    ("other hyperparameters", ".betas = {0.75, 0.875}, .eps = 1e-3", 0.25, 0, {"betas": (0.75, 0.875), "eps": 1e-3}),
    ("warm-up", "", 0.125, 10, {}),
    ("warm-up, other weights of steps", ".r = 0.5, .weight_lr_power = 1", 0.0, 10, {"r": 0.5, "weight_lr_power": 1.0}),
]

print(f"// schedulefree {importlib.metadata.version('schedulefree')}, torch {torch.__version__.split('+')[0]}, made by "
      "tests/parity/make_schedule_free.py.")
print("// name, plan, weight decay, warm-up steps, which gradients exist, dtype, {y, x} after steps 1, 12 and 50")
for name, fields, weight_decay, warmup_steps, options in CASES:
    # In the package, a parameter without a gradient would have another learning rate in the warm-up.
    for pattern in ("all", "some") if warmup_steps == 0 else ("all",):
        for dtype, c_dtype, digits in ((torch.float32, "at::kFloat", 9), (torch.float64, "at::kDouble", 17)):
            values = trajectory(pattern, dtype, weight_decay=weight_decay, warmup_steps=warmup_steps, **options)
            rows = ",\n   ".join("{" + ", ".join(f"{v:.{digits}g}" for v in row.tolist()) + "}" for row in values)
            print(f'{{"{name}", {{{fields}}}, {weight_decay}, {warmup_steps}, Gradients::{pattern}, {c_dtype},\n'
                  f"  {{{rows}}}}},")
