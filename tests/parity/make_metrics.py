#!/usr/bin/env python3
"""Writes figures of torchmetrics, the reference of tests/bundled/metrics_test.cpp.

    python3 make_metrics.py > reference/metrics.inc        (torch 2.11, torchmetrics 1.9)

Numbers are exact in binary, and the test computes the same ones.
"""
import math

import torch
from torchmetrics.classification import BinaryAccuracy, MulticlassJaccardIndex
from torchmetrics.regression import MeanAbsoluteError

BATCHES = 2


def numbers(shape, batch, scale=8.0):
    """Multiples of 1 / scale without a pattern that classes or rows could share."""
    count = math.prod(shape)
    index = torch.arange(count) + count * batch
    return ((index * index * 7 + index * 29 + index // 5) % 101 - 50).double().div(scale).reshape(shape)


def classes(shape, batch, first, last):
    """Whole numbers from first up to last."""
    count = math.prod(shape)
    index = torch.arange(count) + count * batch
    return (first + (index * index * 3 + index // 4) % (last - first)).reshape(shape)


def figure(value):
    return "kNaN" if math.isnan(value) else f"{value:.17g}"


# Name, classes, first and last + 1 of the targets, ignore_index, how many of the last logits are never the largest.
JACCARD = [
    ("all classes", 3, 0, 3, 255, 0),
    ("a class that is not there", 4, 0, 3, 255, 1),
    ("a class that is predicted alone", 4, 0, 3, 255, 0),
    ("an index that is no class", 3, -1, 3, -1, 0),
    ("an index that is a class", 3, 0, 3, 1, 0),
]
SHAPE = (2, 5, 6)


def jaccard(count, first, last, ignore_index, impossible):
    def make(average):
        return MulticlassJaccardIndex(count, average=average, ignore_index=ignore_index)
    mean, each = make("macro"), make("none")
    for batch in range(BATCHES):
        logits = numbers((SHAPE[0], count, *SHAPE[1:]), batch)
        logits[:, count - impossible:] -= 100
        target = classes(SHAPE, batch, first, last)
        mean.update(logits, target)
        each.update(logits, target)
    # torchmetrics gives 0 to a class that is neither in the targets nor predicted, and leaves it out of the mean.
    confusion = mean.confmat
    absent = (confusion.sum(0) + confusion.sum(1)) == 0
    figures = [mean.compute().item()]
    for i, value in enumerate(each.compute().tolist()):
        figures.append(math.nan if absent[i] or i == ignore_index else value)
    return figures


def main():
    version = torch.__version__.split("+")[0]
    print(f"// Made by make_metrics.py with torch {version}.")
    print("const std::vector<JaccardCase> kJaccardCases = {")
    for name, *case in JACCARD:
        figures = ", ".join(figure(value) for value in jaccard(*case))
        print(f'    {{"{name}", {", ".join(str(number) for number in case)}, {{{figures}}}}},')
    print("};")
    for threshold in (0.5, 0.9):
        metric = BinaryAccuracy(threshold)
        for batch in range(BATCHES):
            metric.update(numbers((11, 3), batch, 16.0).sigmoid(), classes((11, 3), batch, 0, 2))
        print(f"constexpr double kBinaryAccuracy{round(100 * threshold)} = {figure(metric.compute().item())};")
    metric = MeanAbsoluteError().set_dtype(torch.float64)
    for batch in range(BATCHES):
        metric.update(numbers((7, 3), batch), numbers((7, 3), batch + 5, 4.0))
    print(f"constexpr double kMae = {figure(metric.compute().item())};")


if __name__ == "__main__":
    main()
