#!/usr/bin/env python3
"""Writes the results of PyTorch, torchvision and monai for 1,000 random inputs of each bundled loss, the reference of
tests/bundled/random_losses_test.cpp: the loss, its weight, and the sum and a random projection of the gradient with
respect to the first input.

    python3 make_losses.py        (torch 2.11, torchvision 0.26, monai 1.6, safetensors; writes reference/losses_*)

The inputs are sampled in the same order as in the test. All computations are in double precision.
"""
import pathlib

import torch
import torch.nn.functional as F
from monai.losses import DiceLoss, FocalLoss
from torchvision.ops import sigmoid_focal_loss

from random_cases import CASES, RandomCase, write


def mean(total, weight):
    """Returns the mean, or 0 for a mean of no elements, for which PyTorch returns NaN."""
    return total / weight if weight > 0 else total


def draw_logits(case, classes):
    """Returns logits [N, C, ...] and the shape of the target."""
    samples = case.between(0, 4)
    rest = case.trailing_shape()
    scale = case.choose([256, 256, 32])
    return case.numbers([samples, classes, *rest], scale), [samples, *rest]


def draw_class_weights(case, classes, least):
    """Returns class weights of at least `least` / 4, or None."""
    return case.integers([classes], least, 9).double() / 4 if case.between(0, 1) else None


def cross_entropy(case):
    classes = case.between(2, 6)
    logits, shape = draw_logits(case, classes)
    ignore_index = case.choose([-100, 255, 0])
    target = case.ignore(case.integers(shape, 0, classes), ignore_index)
    smoothing = case.choose([0, 0.125])
    # cross_entropy refuses weights of 0 with label smoothing.
    weights = draw_class_weights(case, classes, 1 if smoothing > 0 else 0)
    logits.requires_grad_()
    counted = target[target != ignore_index]
    weight = counted.numel() if weights is None else weights[counted].sum().item()
    loss = F.cross_entropy(logits, target, weights, ignore_index=ignore_index, label_smoothing=smoothing,
                           reduction="mean" if weight > 0 else "sum")
    return logits, loss if weight > 0 else loss * 0, weight


def sequence_cross_entropy(case):
    samples = case.between(0, 4)
    length = case.between(0, 5)
    classes = case.between(2, 6)
    logits = case.numbers([samples, length, classes], 128).requires_grad_()
    target = case.ignore(case.integers([samples, length], 0, classes), -100)
    smoothing = case.choose([0, 0.125])
    weight = (target != -100).sum().item()
    loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), label_smoothing=smoothing, reduction="sum")
    return logits, mean(loss, weight), weight


def draw_distribution(case, shape):
    """Returns probabilities along the second dimension. Some are 0."""
    counts = case.integers(shape, 0, 4).double()
    counts[:, 0] += 1
    return counts / counts.sum(1, keepdim=True)


def soft_cross_entropy(case):
    samples = case.between(0, 5)
    classes = case.between(2, 6)
    logits = case.numbers([samples, classes], 128).requires_grad_()
    target = draw_distribution(case, [samples, classes])
    return logits, mean(F.cross_entropy(logits, target, reduction="sum"), samples), samples


def draw_binary_target(case, shape):
    """Returns classes or probabilities."""
    return case.integers(shape, 0, 2) if case.between(0, 1) else case.integers(shape, 0, 17).double() / 16


def bce_with_logits(case):
    samples = case.between(0, 5)
    rest = case.trailing_shape()
    logits = case.numbers([samples, *rest], case.choose([256, 32])).requires_grad_()
    target = draw_binary_target(case, [samples, *rest]).double()
    positive_weight = torch.tensor(case.choose([1, 2.5]), dtype=torch.double)
    if rest and case.between(0, 1):
        labels = case.integers([rest[0]], 1, 9).double() / 4
        positive_weight = positive_weight * labels.reshape([-1] + [1] * (len(rest) - 1))
    total = F.binary_cross_entropy_with_logits(logits, target, pos_weight=positive_weight, reduction="sum")
    return logits, mean(total, logits.numel()), logits.numel()


def distance(compute, options):
    def run(case):
        shape = [case.between(0, 5), *case.trailing_shape()]
        prediction = case.numbers(shape, 256).requires_grad_()
        target = case.numbers(shape, 256)
        total = compute(prediction, target, case.choose(options))
        return prediction, mean(total, prediction.numel()), prediction.numel()
    return run


def dice(case):
    classes = case.between(2, 4)
    logits, shape = draw_logits(case, classes)
    ignore_index = case.choose([-100, 255, 0])
    target = case.ignore(case.integers(shape, 0, classes), ignore_index)
    smooth = case.choose([1e-5, 1.0])
    background = case.choose([True, False])
    logits.requires_grad_()
    compute = DiceLoss(softmax=True, to_onehot_y=True, include_background=background, smooth_nr=smooth,
                       smooth_dr=smooth)
    losses = []
    for sample, labels in zip(logits.flatten(2) if logits.dim() > 2 else logits.unsqueeze(2), target):
        kept = labels.flatten() != ignore_index
        if kept.any():
            losses.append(compute(sample[None, :, kept], labels.flatten()[None, None, kept]))
    return logits, mean(sum(losses, logits.sum() * 0), len(losses)), len(losses)


def binary_dice(case):
    shape = [case.between(0, 4), *case.trailing_shape()]
    logits = case.numbers(shape, case.choose([256, 32])).requires_grad_()
    target = case.ignore(draw_binary_target(case, shape), -100)
    smooth = case.choose([1e-5, 1.0])
    compute = DiceLoss(sigmoid=True, smooth_nr=smooth, smooth_dr=smooth)
    losses = []
    for sample, labels in zip(logits, target):
        kept = labels.flatten() != -100
        if kept.any():
            losses.append(compute(sample.flatten()[None, None, kept], labels.flatten()[None, None, kept].double()))
    return logits, mean(sum(losses, logits.sum() * 0), len(losses)), len(losses)


GAMMAS = [0.0, 0.5, 1.0, 2.0, 3.5]


def focal(case):
    """Uses the formula of the paper. Checked against monai's FocalLoss, which computes in single precision."""
    classes = case.between(2, 6)
    logits, shape = draw_logits(case, classes)
    ignore_index = case.choose([-100, 255, 0])
    target = case.ignore(case.integers(shape, 0, classes), ignore_index)
    gamma = case.choose(GAMMAS)
    weights = draw_class_weights(case, classes, 0)
    logits.requires_grad_()
    counted = target != ignore_index
    rows = logits.movedim(1, -1)[counted]
    labels = target[counted]
    # Computes 1 - p and log(p) from the odds of the other classes, which stay precise if p rounds to 1.
    others = torch.ones_like(rows).scatter(1, labels[:, None], 0.0)
    odds = ((rows - rows.gather(1, labels[:, None])).exp() * others).sum(1)
    of_labels = torch.ones(len(labels), dtype=torch.double) if weights is None else weights[labels]
    total = (of_labels * (odds / (1 + odds)) ** gamma * odds.log1p()).sum()
    if labels.numel():
        theirs = FocalLoss(use_softmax=True, to_onehot_y=True, gamma=gamma, reduction="none",
                           weight=None if weights is None else weights.float())(rows, labels[:, None]).sum()
        assert torch.isclose(theirs.double(), total, rtol=1e-4, atol=1e-4), (theirs, total)
    weight = of_labels.sum().item()
    return logits, mean(total, weight), weight


def binary_focal(case):
    shape = [case.between(0, 5), *case.trailing_shape()]
    logits = case.numbers(shape, case.choose([256, 64])).requires_grad_()
    target = draw_binary_target(case, shape).double()
    gamma = case.choose(GAMMAS)
    alpha = case.choose([0.25, 0.75, -1.0])
    total = sigmoid_focal_loss(logits, target, alpha, gamma, reduction="sum")
    return logits, mean(total, logits.numel()), logits.numel()


def kl_divergence(case):
    classes = case.between(2, 5)
    prediction, shape = draw_logits(case, classes)
    prediction_is = case.choose(["logits", "log_probabilities"])
    target_is = case.choose(["probabilities", "log_probabilities", "logits"])
    has_logits = "logits" in (prediction_is, target_is)
    temperature = case.choose([1.0, 2.0, 0.5]) if has_logits else 1.0
    full = [shape[0], classes, *shape[1:]]
    target = draw_distribution(case, full) if target_is == "probabilities" else case.numbers(full, 256)
    if prediction_is == "log_probabilities":
        prediction = F.log_softmax(prediction, 1)
    if target_is == "log_probabilities":
        target = F.log_softmax(target, 1)
    prediction.requires_grad_()
    log_p = F.log_softmax(prediction / temperature, 1) if prediction_is == "logits" else prediction
    log_target = F.log_softmax(target / temperature, 1) if target_is == "logits" else target
    reduction = "batchmean" if shape[0] > 0 else "sum"
    loss = torch.nn.KLDivLoss(reduction=reduction, log_target=target_is != "probabilities")(log_p, log_target)
    return prediction, loss * temperature ** 2, shape[0]


def ctc(case):
    samples = case.between(0, 4)
    times = case.between(1, 8)
    classes = case.between(2, 5)
    width = case.between(1, 4)
    logits = case.numbers([samples, times, classes], 256).requires_grad_()
    blank = case.choose([0, classes - 1])
    target = (case.integers([samples, width], 0, classes - 1) + blank + 1) % classes
    input_lengths = case.integers([samples], 0, times + 1)
    target_lengths = case.integers([samples], 0, width + 1)
    zero_infinity = case.choose([True, True, False])
    if samples == 0:
        return logits, logits.sum(), 0
    log_p = F.log_softmax(logits, 2).transpose(0, 1)
    compute = torch.nn.CTCLoss(blank, zero_infinity=zero_infinity)
    return logits, compute(log_p, target, input_lengths, target_lengths), samples


FAMILIES = {
    "classes": [cross_entropy, sequence_cross_entropy, soft_cross_entropy],
    "regression": {
        "mse": distance(lambda p, t, _: F.mse_loss(p, t, reduction="sum"), [0]),
        "l1": distance(lambda p, t, _: F.l1_loss(p, t, reduction="sum"), [0]),
        "smooth_l1": distance(lambda p, t, beta: F.smooth_l1_loss(p, t, reduction="sum", beta=beta), [0.0, 0.5, 1.0]),
        "huber": distance(lambda p, t, delta: F.huber_loss(p, t, reduction="sum", delta=delta), [0.5, 1.0, 2.0]),
    },
    "masks": [dice, binary_dice, focal, binary_focal],
    "other": [bce_with_logits, kl_divergence, ctc],
}


def results(name, run):
    for number in range(CASES):
        case = RandomCase(name, number)
        first, loss, weight = run(case)
        gradient, = torch.autograd.grad(loss, first)
        projection = (gradient * case.numbers(first.shape, 1024)).sum()
        yield [loss.item(), weight, gradient.sum().item(), projection.item()]


def main():
    folder = pathlib.Path(__file__).parent / "reference"
    for family, components in FAMILIES.items():
        if isinstance(components, list):
            components = {component.__name__: component for component in components}
        tables = {name: list(results(name, run)) for name, run in components.items()}
        write(folder / f"losses_{family}.safetensors", tables, torch.float64)


if __name__ == "__main__":
    main()
