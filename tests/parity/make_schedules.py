#!/usr/bin/env python3
"""Writes the learning rates of PyTorch's OneCycleLR, the reference of tests/optimization/schedule_test.cpp.

    python3 make_schedules.py > reference/schedules.inc        (torch 2.11)

One line per schedule: the arguments, then the rate of every step. `nan` stands where PyTorch divides by zero.
"""
import functools
import itertools
import math
import warnings

import torch

warnings.filterwarnings("ignore")


def rates(total_steps, pct_start, anneal, max_lr, div_factor, final_div_factor):
    """The learning rate of each step, by letting PyTorch's scheduler run."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    group = optimizer.param_groups[0]
    make = functools.partial(
        torch.optim.lr_scheduler.OneCycleLR, optimizer, max_lr, total_steps=total_steps, pct_start=pct_start,
        anneal_strategy=anneal, cycle_momentum=False, div_factor=div_factor, final_div_factor=final_div_factor)
    result = []
    try:
        schedule = make()  # computes step 0
        result.append(group["lr"])
    except ZeroDivisionError:
        result.append(math.nan)
        if total_steps > 1:  # Later steps are defined; entering at step 1 is how a resumed run makes the schedule.
            schedule = make(last_epoch=0)
            result.append(group["lr"])
    while len(result) < total_steps:
        optimizer.step()
        schedule.step()
        result.append(group["lr"])
    return result


def literal(value):
    return "kUndefined" if math.isnan(value) else f"{value:.17g}"


print(f"// PyTorch {torch.__version__.split('+')[0]}, made by tests/parity/make_schedules.py.")
print("// total steps, warm-up fraction, anneal, peak, div_factor, final_div_factor, the rate of every step")
shapes = itertools.product([1, 2, 3, 4, 10, 23], [0.0, 0.1, 0.3, 0.5, 1.0], ["cos", "linear"], [(0.05, 25.0, 1e4)])
more = [(50, 0.25, "cos", (1e-3, 10.0, 100.0)), (50, 0.25, "linear", (1e-3, 1.0, 1.0)),
        (7, 1 / 7, "cos", (3.0, 2.0, 5.0))]
for steps, fraction, anneal, (peak, div, final_div) in [*shapes, *more]:
    values = ", ".join(literal(v) for v in rates(steps, fraction, anneal, peak, div, final_div))
    strategy = {"cos": "cosine", "linear": "linear"}[anneal]
    print(f"{{{steps}, {fraction:.17g}, Anneal::{strategy}, {peak:.17g}, {div:.17g}, {final_div:.17g}, {{{values}}}}},")
