#!/usr/bin/env python3
"""Checks that tenon-export finds ten planted losses of gradient, and no other, and says what cannot be exported:
check_gradients.py HOST

Each planted model trains as its author wrote it in PyTorch, and another way as an exported graph. Each sound model is
the same in both. Needs torch and numpy. The host is not used.
"""
import contextlib
import io
import pathlib
import random
import sys
import tempfile

import numpy
import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import export_model  # noqa: E402


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return 1.5 * gradient


class Square(torch.autograd.Function):
    """With the gradient that autograd would compute."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient


class Applied(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Network(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.changed = Applied(change)
        self.second = nn.Linear(6, 3)

    def forward(self, x):
        return self.second(torch.tanh(self.changed(self.first(x))))


@torch.library.custom_op("tenon_test::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@double.register_fake
def _(x):
    return torch.empty_like(x)


def depend_on_value(x):
    return 2 * x if x.sum().item() > 0 else x


def hooked(hook):
    network = Network(lambda x: x * 1.0)
    hook(network)
    return network


def hook_gradient(x):
    y = x * 1.0
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient / 2)
    return y


def triple(parameter):
    parameter.grad.mul_(3)


def double_view(x):
    x = x.clone()
    x[:, :2].mul_(2.0)
    return x


# The model, and a part of the message.
PLANTED = {
    "reversal": (lambda: Network(Reversal.apply), "autograd.Function Reversal in changed"),
    "straight_through": (lambda: Network(StraightThrough.apply), "autograd.Function StraightThrough in changed"),
    "scaled": (lambda: Network(Scaled.apply), "autograd.Function Scaled in changed"),
    "tensor_hook": (lambda: Network(hook_gradient), "a hook on the gradient of a tensor"),
    "parameter_hook": (lambda: hooked(lambda n: n.first.weight.register_hook(lambda g: 2 * g)),
                       "a hook on the gradient of the parameter first.weight"),
    "accumulated_hook": (lambda: hooked(lambda n: n.first.bias.register_post_accumulate_grad_hook(triple)), "a hook on the gradient of the parameter first.bias"),
    "module_hook": (lambda: hooked(lambda n: n.second.register_full_backward_hook(lambda m, i, o: (3 * i[0],))),
                    "a backward hook of the module second"),
    "module_pre_hook": (lambda: hooked(lambda n: n.second.register_full_backward_pre_hook(lambda m, o: (-o[0],))),
                        "a backward hook of the module second"),
    "python_random": (lambda: Network(lambda x: x * 2 if random.random() < 0.5 else x), "use tensors for it"),
    "numpy_random": (lambda: Network(lambda x: x * float(numpy.random.rand())), "use tensors for it"),
}
# Models that cannot be exported, and a part of the message.
REFUSED = {
    "custom_operator": (lambda: Network(double), "calls the operator tenon_test.double.default, File"),
    "value": (lambda: Network(depend_on_value), "in depend_on_value: return 2 * x if x.sum().item() > 0 else x"),
}
SOUND = {
    "plain": lambda: Network(torch.relu),
    "straight_through_detached": lambda: Network(lambda x: x + (torch.round(x) - x).detach()),
    "reversal_detached": lambda: Network(lambda x: -x + (2 * x).detach()),
    "own_square": lambda: Network(Square.apply),
    "dropout": lambda: nn.Sequential(Network(torch.relu), nn.Dropout(0.5)),
    "batch_norm": lambda: nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3)),
    "view_changed_in_place": lambda: Network(double_view),
    "forward_hook": lambda: hooked(lambda n: n.first.register_forward_hook(lambda m, i, o: 2 * o)),
    "drawn_as_tensor": lambda: Network(lambda x: torch.where(torch.rand(()) < 0.5, 2 * x, x)),
    "no_grad": lambda: Network(lambda x: x * functional.softmax(x.detach(), -1)),
    "bfloat16": lambda: Network(torch.relu).bfloat16(),
}


def export(folder, name, *more):
    torch.manual_seed(3)
    made = (PLANTED | REFUSED)[name][0]() if name not in SOUND else SOUND[name]()
    export_model.make_model = lambda *_: made
    given = "input" if isinstance(made, nn.Sequential) else "x"
    dtype = ":bfloat16" if name == "bfloat16" else ""
    archive = folder / f"{name}.pt2"
    sys.argv = ["tenon-export", "--model", name, "--input", f"{given}=6,4{dtype}", *more, str(archive)]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = export_model.main()
    return code, errors.getvalue(), archive.exists()


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for planted, (_, expected) in (PLANTED | REFUSED).items():
            code, errors, is_written = export(folder, planted)
            if code != 1 or expected not in errors or is_written:
                failures += 1
                print(f"{planted}: exit code {code}; expected 1 with \"{expected}\": {errors[-600:]}")
        for sound in SOUND:
            code, errors, is_written = export(folder, sound)
            if code != 0 or not is_written:
                failures += 1
                print(f"{sound}: exit code {code}; expected 0: {errors[-600:]}")
        (folder / "reversal.pt2").unlink(missing_ok=True)
        code, errors, is_written = export(folder, "reversal", "--no-gradcheck")
        if code != 0 or not is_written:
            failures += 1
            print(f"--no-gradcheck: exit code {code}: {errors[-600:]}")
    print(f"{len(PLANTED)} planted and {len(SOUND)} sound models, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
