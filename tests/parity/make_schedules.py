#!/usr/bin/env python3
"""Writes the learning rates of PyTorch's schedulers, the reference of tests/optimization/schedule_test.cpp.

    python3 make_schedules.py DIR        (torch 2.11; DIR: reference)

DIR/schedules.inc has one line per schedule: the plan, the learning rate of every step, and the momentum of every step
if it is cycled. `nan` is written where PyTorch divides by zero. DIR/plateaus.inc has the metric values passed to
ReduceLROnPlateau, and the learning rate after each.
"""
import itertools
import math
import pathlib
import sys
import warnings

import torch
from torch.optim import lr_scheduler as lrs

warnings.filterwarnings("ignore")
HEAD = f"// PyTorch {torch.__version__.split('+')[0]}, made by tests/parity/make_schedules.py.\n"


def make_optimizer(lr):
    return torch.optim.SGD([torch.zeros(1)], lr=lr, momentum=0.9)


def run(make, base_lr, steps):
    """Returns the learning rate of each step of PyTorch's scheduler."""
    optimizer = make_optimizer(base_lr)
    schedule = make(optimizer)  # computes step 0
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


def one_cycle(total_steps, **options):
    """Returns learning rates and momenta of OneCycleLR."""
    optimizer = make_optimizer(1.0)
    group = optimizer.param_groups[0]

    def make(**more):
        return lrs.OneCycleLR(optimizer, total_steps=total_steps, **options, **more)

    rates = []
    try:
        schedule = make()  # computes step 0
        rates.append((group["lr"], group["momentum"]))
    except ZeroDivisionError:
        rates.append((math.nan, math.nan))
        if total_steps > 1:  # Step 0 is undefined. Starts at step 1 like a resumed run.
            schedule = make(last_epoch=0)
            rates.append((group["lr"], group["momentum"]))
    while len(rates) < total_steps:
        optimizer.step()
        schedule.step()
        rates.append((group["lr"], group["momentum"]))
    return [lr for lr, _ in rates], [momentum for _, momentum in rates]


def after_warmup(steps, start_factor, *parts, milestones=()):
    """Returns a SequentialLR of LinearLR and the parts."""
    def warmed(optimizer):
        schedules = [part(optimizer) for part in parts]
        warmup = lrs.LinearLR(optimizer, start_factor, 1.0, steps)
        return lrs.SequentialLR(optimizer, [warmup, *schedules], [steps, *milestones])
    return warmed


def literal(value):
    return "kUndefined" if math.isnan(value) else f"{value:.17g}"


def line(shape, base_lr, steps, rates, momenta=(), warmup=("Unit::run", 0), start_factor=0.01, steps_per_epoch=10):
    plan = f"plan_of(config::{shape}, {{{warmup[0]}, {warmup[1]}}}, {start_factor})"
    return (f"{{{plan}, {base_lr:.17g}, {{{steps}, {steps_per_epoch}}}, {{{', '.join(map(literal, rates))}}}, "
            f"{{{', '.join(map(literal, momenta))}}}}},\n")


def one_cycles():
    shapes = itertools.product([1, 2, 3, 4, 10, 23], [0.0, 0.1, 0.3, 0.5, 1.0], ["cos", "linear"], [(0.05, 25.0, 1e4)])
    more = [(50, 0.25, "cos", (1e-3, 10.0, 100.0)), (50, 0.25, "linear", (1e-3, 1.0, 1.0)),
            (7, 1 / 7, "cos", (3.0, 2.0, 5.0)), (200, 0.3, "cos", (0.1, 25.0, 1e4)),
            (200, 0.1, "linear", (0.1, 10.0, 1e3))]
    for steps, fraction, anneal, (peak, div, final_div) in [*shapes, *more]:
        cycles = steps in (4, 200)
        rates, momenta = one_cycle(steps, max_lr=peak, pct_start=fraction, anneal_strategy=anneal, div_factor=div,
                                   final_div_factor=final_div, cycle_momentum=cycles)
        strategy = {"cos": "cosine", "linear": "linear"}[anneal]
        shape = (f"OneCycleSchedule{{{fraction:.17g}, {div:.17g}, {final_div:.17g}, Anneal::{strategy}, "
                 f"{str(cycles).lower()}, 0.85, 0.95}}")
        yield line(shape, peak, steps, rates, momenta if cycles else ())


def others():
    """Yields each schedule alone, and most after a warm-up of 20 steps (two epochs) or a twentieth of the run."""
    n = 200
    steps, epochs, rest = "{Unit::steps, %d}", "{Unit::epochs, %d}", "{}"
    cases = [
        ("ConstantSchedule{}", lambda o: lrs.ConstantLR(o, 1.0), n),
        (f"LinearSchedule{{0.25, {rest}}}", lambda o, t: lrs.LinearLR(o, 1.0, 0.25, t), None),
        (f"LinearSchedule{{0, {steps % 70}}}", lambda o: lrs.LinearLR(o, 1.0, 0.0, 70), n),
        (f"CosineSchedule{{0, {rest}}}", lambda o, t: lrs.CosineAnnealingLR(o, t), None),
        (f"CosineSchedule{{0.001, {rest}}}", lambda o, t: lrs.CosineAnnealingLR(o, t, 0.001), None),
        (f"CosineRestartsSchedule{{{steps % 30}, 1, 0}}", lambda o: lrs.CosineAnnealingWarmRestarts(o, 30), n),
        (f"CosineRestartsSchedule{{{epochs % 2}, 2, 0.001}}",
         lambda o: lrs.CosineAnnealingWarmRestarts(o, 20, 2, 0.001), n),
        (f"PolynomialSchedule{{1, {rest}}}", lambda o, t: lrs.PolynomialLR(o, t, 1.0), None),
        (f"PolynomialSchedule{{0.9, {rest}}}", lambda o, t: lrs.PolynomialLR(o, t, 0.9), None),
        (f"PolynomialSchedule{{2, {{Unit::run, 0.5}}}}", lambda o: lrs.PolynomialLR(o, n // 2, 2.0), n),
        (f"StepSchedule{{{epochs % 3}, 0.1}}", lambda o: lrs.StepLR(o, 30, 0.1), n),
        (f"StepSchedule{{{steps % 7}, 0.9}}", lambda o: lrs.StepLR(o, 7, 0.9), n),
        (f"MultiStepSchedule{{{{{steps % 25}, {epochs % 9}, {steps % 120}}}, 0.1}}",
         lambda o: lrs.MultiStepLR(o, [25, 90, 120], 0.1), n),
        (f"ExponentialSchedule{{0.97, {steps % 1}}}", lambda o: lrs.ExponentialLR(o, 0.97), n),
    ]
    for base_lr, (shape, make, length) in zip(itertools.cycle([0.1, 3e-4]), cases):
        for warmup, start_factor, unit in ((0, 0.01, ("Unit::run", 0)), (20, 0.01, ("Unit::epochs", 2)),
                                           (10, 0.5, ("Unit::run", 0.05))):
            def made(optimizer, make=make, t=n - warmup):
                return make(optimizer) if length else make(optimizer, t)
            if warmup == 10 and length:
                continue
            build = after_warmup(warmup, start_factor, made) if warmup else made
            yield line(shape, base_lr, n, run(build, base_lr, n), warmup=unit, start_factor=start_factor)


def stable_decays():
    n, warmup, lr = 200, 20, 0.1
    falls = [("linear", 0.0, lambda o: lrs.LinearLR(o, 1.0, 0.0, 50)),
             ("linear", 0.1, lambda o: lrs.LinearLR(o, 1.0, 0.1, 50)),
             ("cosine", 0.1, lambda o: lrs.CosineAnnealingLR(o, 50, 0.1 * lr)),
             ("one_minus_sqrt", 0.0, lambda o: lrs.LambdaLR(o, lambda step: 1 - math.sqrt(min(step, 50) / 50)))]
    for name, end, fall in falls:
        rates = run(after_warmup(warmup, 0.01, lambda o: lrs.ConstantLR(o, 1.0), fall, milestones=[n - 50]), lr, n)
        shape = f"WarmupStableDecaySchedule{{{{Unit::run, 0.25}}, Decay::{name}, {end}}}"
        yield line(shape, lr, n, rates, warmup=("Unit::epochs", 2))


def plateaus():
    """Uses metric values that fall, stay, rise and are NaN."""
    metrics = [1 + math.cos(0.9 * i) / 8 + max(0, 12 - i) / 8 for i in range(60)] + [math.nan] * 6 + [0.5] * 14
    cases = [dict(), dict(patience=2, factor=0.5), dict(mode="max", patience=3, cooldown=4),
             dict(threshold=0.1, threshold_mode="abs", patience=1, min_lr=0.003),
             dict(mode="max", threshold=0.05, threshold_mode="abs", patience=0, factor=0.9),
             dict(threshold=0.02, patience=0, cooldown=2, factor=0.3, eps=1e-4)]
    for options in cases:
        optimizer = make_optimizer(0.1)
        schedule = lrs.ReduceLROnPlateau(optimizer, **options)
        rates = []
        for metric in metrics:
            schedule.step(metric)
            rates.append(optimizer.param_groups[0]["lr"])
        o = {**dict(mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0,
                    eps=1e-8), **options}
        how = {"rel": "relative", "abs": "absolute"}[o["threshold_mode"]]
        yield (f'{{plateau_of(Mode::{o["mode"]}, {o["factor"]}, {o["patience"]}, {o["threshold"]}, '
               f'ThresholdMode::{how}, {o["cooldown"]}, {o["min_lr"]}, {o["eps"]}), 0.1,\n '
               f'{{{", ".join(map(literal, metrics))}}},\n {{{", ".join(map(literal, rates))}}}}},\n')


def main(folder):
    columns = "// plan, the optimizer's lr, steps and steps of an epoch, the rate of every step, the momentum of every step\n"
    (folder / "schedules.inc").write_text(HEAD + columns + "".join([*one_cycles(), *others(), *stable_decays()]))
    columns = "// plan, the optimizer's lr, the metric values, the learning rate after each value\n"
    (folder / "plateaus.inc").write_text(HEAD + columns + "".join(plateaus()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
