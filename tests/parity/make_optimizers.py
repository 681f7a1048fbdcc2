#!/usr/bin/env python3
"""Writes short trajectories of PyTorch's optimizers, the reference of tests/optimization/optimizer_test.cpp.

    python3 make_optimizers.py > reference/optimizers.inc        (torch 2.11)

Each trajectory has four small parameters, twenty steps, and a changing learning rate. The gradients are exact in
binary, and the test computes the same ones. This script also compares the fused implementations with PyTorch's unfused
ones. PyTorch lacks Lion, so it is implemented below from its paper.
"""
import torch

SHAPES = [(3, 5), (5,), (), (4, 3)]
STEPS = 20
KEPT_STEPS = [0, 19]  # the values after these steps are written


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


def learning_rate(step):
    return 0.0625 * (1 - step / 32)


def cycled_momentum(step):
    return 0.75 + step / 128


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of arXiv:2302.06675."""

    def __init__(self, parameters, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, (beta1, beta2) = group["lr"], group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                update = (beta1 * m + (1 - beta1) * p.grad).sign()
                p.sub_(lr * (update + group["weight_decay"] * p))
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


def set_rates(optimizer, step, cycles):
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(step) * group.get("lr_scale", 1)
        if cycles and "betas" in group:
            group["betas"] = (cycled_momentum(step), group["betas"][1])
        elif cycles:
            group["momentum"] = cycled_momentum(step)


def trajectory(make, pattern, dtype, fused, cycles):
    parameters = [start(i, dtype).requires_grad_() for i in range(len(SHAPES))]
    optimizers = make(parameters, fused)
    kept = []
    for step in range(STEPS):
        for i, parameter in enumerate(parameters):
            parameter.grad = gradient(i, step, dtype) if has_gradient(pattern, i, step) else None
        for optimizer in optimizers:
            set_rates(optimizer, step, cycles)
            optimizer.step()
        if step in KEPT_STEPS:
            kept.append(torch.cat([p.detach().flatten() for p in parameters]).clone())
    return torch.stack(kept)


def literal(value):
    if isinstance(value, bool):
        return str(value).lower()
    return "{" + ", ".join(map(str, value)) + "}" if isinstance(value, (tuple, list)) else str(value)


def case(optimizer, plan, weight_decay=0.0, has_fused=True, **options):
    """Returns a function that creates the optimizer, and the plan in C++. Both use the same option names."""
    def make(parameters, fused):
        how = {"fused": fused, "foreach": False} if has_fused else {"foreach": True} if optimizer is not Lion else {}
        return [optimizer(parameters, lr=1.0, weight_decay=weight_decay, **options, **how)]

    fields = ", ".join(f".{name} = {literal(value)}" for name, value in options.items())
    return make, f"plan_of(config::{plan[:-1] if plan[-1] == '}' else plan + '{'}{fields}}}, {weight_decay})", has_fused


def sgd(**options):
    return case(torch.optim.SGD, "SgdPlan", **options)


def adam(**options):
    decay = "AdamPlan{.decay = config::AdamPlan::Decay::coupled" + (", " if set(options) - {"weight_decay"} else "")
    return case(torch.optim.Adam, decay + "}", **options)


def adamw(weight_decay=0.01, **options):
    return case(torch.optim.AdamW, "AdamPlan", weight_decay=weight_decay, **options)


def muon(weight_decay=0.1, adamw_scale=0.5, adamw_decay=0.25, adjust="original", **options):
    def make(parameters, fused):
        matrices = [p for p in parameters if p.ndim == 2]
        others = {"params": [p for p in parameters if p.ndim != 2], "lr_scale": adamw_scale}
        return [torch.optim.Muon(matrices, lr=1.0, weight_decay=weight_decay, adjust_lr_fn=adjust, **options),
                torch.optim.AdamW([others], lr=1.0, weight_decay=adamw_decay, fused=fused, foreach=False)]

    fields = "".join(f".{name} = {literal(value)}, " for name, value in options.items())
    return make, (f"plan_of(config::MuonPlan{{{fields}.adjust_lr = config::MuonPlan::AdjustLr::{adjust}, "
                  f".adamw_lr_scale = {adamw_scale}, .adamw_weight_decay = {adamw_decay}}}, {weight_decay})"), True


def rmsprop(**options):
    return case(torch.optim.RMSprop, "RmsPropPlan", has_fused=False, **options)


def adagrad(**options):
    return case(torch.optim.Adagrad, "AdagradPlan", **options)


def lion(**options):
    return case(Lion, "LionPlan", has_fused=False, **options)


CASES = [
    ("sgd", sgd()),
    ("sgd, weight decay", sgd(weight_decay=0.1)),
    ("sgd, momentum", sgd(momentum=0.9)),
    ("sgd, momentum and dampening", sgd(momentum=0.75, dampening=0.25, weight_decay=5e-4)),
    ("sgd, nesterov", sgd(momentum=0.9, nesterov=True, weight_decay=5e-4)),
    ("sgd, cycled momentum", sgd(momentum=0.9)),
    ("adam", adam()),
    ("adam, weight decay and amsgrad", adam(betas=(0.75, 0.875), amsgrad=True, weight_decay=0.1)),
    ("adamw", adamw()),
    ("adamw, other hyperparameters", adamw(betas=(0.5, 0.75), eps=1e-3, weight_decay=0.25)),
    ("adamw, amsgrad", adamw(amsgrad=True)),
    ("adamw, cycled momentum", adamw()),
    ("rmsprop", rmsprop()),
    ("rmsprop, centered", rmsprop(alpha=0.875, eps=1e-3, centered=True, weight_decay=0.1)),
    ("rmsprop, momentum", rmsprop(momentum=0.5)),
    ("rmsprop, centered, cycled momentum", rmsprop(momentum=0.9, centered=True)),
    ("adagrad", adagrad()),
    ("adagrad, other hyperparameters",
     adagrad(lr_decay=0.1, initial_accumulator_value=0.5, eps=1e-3, weight_decay=0.1)),
    ("lion", lion()),
    ("lion, other hyperparameters", lion(betas=(0.75, 0.875), weight_decay=0.25)),
    ("muon", muon()),
    ("muon, other hyperparameters",
     muon(adjust="match_rms_adamw", momentum=0.75, nesterov=False, weight_decay=0.0, ns_steps=3)),
]

print(f"// PyTorch {torch.__version__.split('+')[0]}, made by tests/parity/make_optimizers.py.")
print("// name, plan, which gradients exist, momentum, dtype, {all values after the step} for steps 1 and 20")
for name, (make, plan, has_fused) in CASES:
    cycles = "cycled momentum" in name
    for pattern in ("all", "some"):
        for dtype, c_dtype, tolerance, digits in ((torch.float32, "at::kFloat", 4e-6, 9),
                                                  (torch.float64, "at::kDouble", 1e-13, 17)):
            unfused = trajectory(make, pattern, dtype, False, cycles)
            # PyTorch's fused SGD cannot start the momentum of parameters in different steps.
            values = unfused
            if has_fused and pattern == "all":
                values = trajectory(make, pattern, dtype, True, cycles)
            assert (values - unfused).abs().max() <= tolerance, (name, (values - unfused).abs().max())
            rows = ",\n   ".join("{" + ", ".join(f"{v:.{digits}g}" for v in row.tolist()) + "}" for row in values)
            momentum = "cycled" if cycles else "configured"
            print(f'{{"{name}", {plan}, Gradients::{pattern}, Momentum::{momentum}, {c_dtype},\n  {{{rows}}}}},')
