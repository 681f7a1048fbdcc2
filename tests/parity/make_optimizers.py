#!/usr/bin/env python3
"""Writes short trajectories of PyTorch's SGD and AdamW, the reference of tests/optimization/optimizer_test.cpp.

    python3 make_optimizers.py > reference/optimizers.inc        (torch 2.11)

Three small parameters, gradients that are exact in binary (the test computes the same ones), a learning rate that
changes, twenty steps. Each case is checked here against PyTorch's unfused implementation too.
"""
import torch

SHAPES = [(3, 5), (5,), ()]
STEPS = 20
KEPT_STEPS = [0, 1, 19]  # the values after these are written


def start(index, dtype):
    count = torch.Size(SHAPES[index]).numel()
    return ((torch.arange(count, dtype=dtype) * 11 + index) % 23 - 11).div(8).reshape(SHAPES[index])


def gradient(index, step, dtype):
    count = torch.Size(SHAPES[index]).numel()
    return ((torch.arange(count, dtype=dtype) * 7 + 13 * step + 5 * index) % 17 - 8).div(16).reshape(SHAPES[index])


def has_gradient(pattern, index, step):
    """`some`: the second parameter lacks one in even steps, the third until step 10, and all of them in step 3."""
    if pattern == "all":
        return True
    return step != 3 and (index != 1 or step % 2 == 1) and (index != 2 or step >= 10)


def learning_rate(step):
    return 0.0625 * (1 - step / 32)


def trajectory(make, pattern, dtype, fused):
    parameters = [start(i, dtype).requires_grad_() for i in range(len(SHAPES))]
    optimizer = make(parameters, fused=fused)
    kept = []
    for step in range(STEPS):
        for i, parameter in enumerate(parameters):
            parameter.grad = gradient(i, step, dtype) if has_gradient(pattern, i, step) else None
        optimizer.param_groups[0]["lr"] = learning_rate(step)
        optimizer.step()
        if step in KEPT_STEPS:
            kept.append(torch.cat([p.detach().flatten() for p in parameters]).clone())
    return torch.stack(kept)


def sgd(**options):
    return (lambda parameters, fused: torch.optim.SGD(parameters, lr=1.0, fused=fused, foreach=False, **options)), \
        (f"config::SgdPlan{{1.0, {options.get('momentum', 0)}, {options.get('dampening', 0)}, "
         f"{options.get('weight_decay', 0)}, {str(options.get('nesterov', False)).lower()}}}")


def adamw(betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return (lambda parameters, fused: torch.optim.AdamW(
        parameters, lr=1.0, betas=betas, eps=eps, weight_decay=weight_decay, fused=fused, foreach=False)), \
        f"config::AdamWPlan{{1.0, {{{betas[0]}, {betas[1]}}}, {eps}, {weight_decay}}}"


CASES = [
    ("sgd", sgd()),
    ("sgd, weight decay", sgd(weight_decay=0.1)),
    ("sgd, momentum", sgd(momentum=0.9)),
    ("sgd, momentum and dampening", sgd(momentum=0.75, dampening=0.25, weight_decay=5e-4)),
    ("sgd, nesterov", sgd(momentum=0.9, nesterov=True, weight_decay=5e-4)),
    ("adamw", adamw()),
    ("adamw, other figures", adamw(betas=(0.5, 0.75), eps=1e-3, weight_decay=0.25)),
]

print(f"// PyTorch {torch.__version__.split('+')[0]}, made by tests/parity/make_optimizers.py.")
print("// name, plan, which gradients exist, dtype, {all values after step} of the steps 1, 2 and 20")
for name, (make, plan) in CASES:
    for pattern in ("all", "some"):
        for dtype, c_dtype, tolerance in ((torch.float32, "at::kFloat", 2e-6), (torch.float64, "at::kDouble", 1e-14)):
            unfused = trajectory(make, pattern, dtype, fused=False)
            # PyTorch's fused SGD cannot begin the momentum of one parameter later than that of another.
            values = unfused if pattern == "some" else trajectory(make, pattern, dtype, fused=True)
            assert (values - unfused).abs().max() <= tolerance, (name, (values - unfused).abs().max())
            rows = ",\n   ".join("{" + ", ".join(f"{v:.17g}" for v in row.tolist()) + "}" for row in values)
            print(f'{{"{name}", {plan}, Gradients::{pattern}, {c_dtype},\n  {{{rows}}}}},')
