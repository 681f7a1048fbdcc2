#!/usr/bin/env python3
"""Writes the results of torchmetrics, scikit-learn and rouge-score for 1,000 random inputs of each bundled metric, the
reference of tests/bundled/random_metrics_test.cpp.

    python3 make_metrics.py    (torch 2.11, torchmetrics 1.9, scikit-learn 1.9, rouge-score 0.1.2, safetensors)

Writes reference/metrics_*. The inputs are sampled in the same order as in the test, which passes them to the metric in
batches of different sizes. A metric without a value is NaN, even if the libraries return 0 or raise an error.
"""
import math
import pathlib
import warnings

import sklearn.metrics
import torch
import torchmetrics.functional.classification as classification
from rouge_score.rouge_scorer import RougeScorer
from torchmetrics.functional.segmentation import dice_score as torchmetrics_dice_score
from torchmetrics.functional.text import bleu_score, perplexity as torchmetrics_perplexity

from random_cases import CASES, RandomCase, write

NAN = math.nan


def draw_batches(case, largest, draw):
    """Returns up to four batches of 0 to `largest` samples, concatenated."""
    batches = [draw(case.between(0, largest)) for _ in range(case.between(0, 4))]
    return [torch.cat(parts) for parts in zip(*batches)] if batches else None


def draw_classes(case, classes, ignore_index, largest=4):
    """Returns rows of logits and their targets."""
    rest = case.trailing_shape()

    def draw(samples):
        logits = case.numbers([samples, classes, *rest], 64)
        target = case.ignore(case.integers([samples, *rest], 0, classes), ignore_index)
        return logits.movedim(1, -1).reshape(-1, classes), target.flatten()
    return draw_batches(case, largest, draw) or (torch.zeros(0, classes), torch.zeros(0, dtype=torch.long))


def draw_binary(case, scores, ignore_index=None, largest=4):
    rest = case.trailing_shape()

    def draw(samples):
        logits = scores([samples, *rest])
        target = case.integers([samples, *rest], 0, 2)
        if ignore_index is not None:
            case.ignore(target, ignore_index)
        return logits.flatten(), target.flatten()
    logits, target = draw_batches(case, largest, draw) or (torch.zeros(0), torch.zeros(0, dtype=torch.long))
    return logits[target != ignore_index], target[target != ignore_index]


IGNORED = [-100, 255, 0]


def accuracy(case):
    classes = case.between(2, 4)
    top_k = case.between(1, classes)
    ignore_index = case.choose(IGNORED)
    logits, target = draw_classes(case, classes, ignore_index)
    if not (target != ignore_index).any():
        return [NAN]
    return [classification.multiclass_accuracy(logits, target, classes, average="micro", top_k=top_k,
                                               ignore_index=ignore_index).item()]


def binary_accuracy(case):
    threshold = case.choose([0.5, 0.9, 0.25])
    logits, target = draw_binary(case, lambda shape: case.numbers(shape, 256))
    if not target.numel():
        return [NAN]
    return [classification.binary_accuracy(logits.sigmoid(), target, threshold).item()]


def draw_tokens(case, classes):
    length = case.between(1, 4)

    def draw(samples):
        logits = case.numbers([samples, length, classes], 256)
        return logits, case.ignore(case.integers([samples, length], 0, classes), -100)
    empty = torch.zeros(0, length, classes), torch.zeros(0, length, dtype=torch.long)
    return draw_batches(case, 4, draw) or empty


def token_accuracy(case):
    """Token accuracy is from torchmetrics. Sequence accuracy follows its definition."""
    logits, target = draw_tokens(case, 3)
    counted = target != -100
    if not counted.any():
        return [NAN, NAN]
    tokens = classification.multiclass_accuracy(logits.flatten(0, 1), target.flatten(), 3, average="micro",
                                                ignore_index=-100).item()
    right = ((logits.argmax(2) == target) | ~counted).all(1)
    return [tokens, right[counted.any(1)].double().mean().item()]


def perplexity(case):
    logits, target = draw_tokens(case, 5)
    if not (target != -100).any():
        return [NAN]
    return [torchmetrics_perplexity(logits, target, ignore_index=-100).item()]


def presence(target, predicted, classes):
    return [((target == i) | (predicted == i)).any().item() for i in range(classes)]


def present_classes(case):
    """Returns classes, ignore_index, and the predictions and targets that are not ignored."""
    classes = case.between(2, 4)
    ignore_index = case.choose(IGNORED)
    logits, target = draw_classes(case, classes, ignore_index, largest=3)
    counted = target != ignore_index
    return classes, ignore_index, logits.argmax(1)[counted], target[counted]


def iou(case):
    classes, ignore_index, predicted, target = present_classes(case)
    if not target.numel():
        return [NAN] * (1 + classes)

    def of(average):
        return classification.multiclass_jaccard_index(predicted, target, classes, average=average,
                                                       ignore_index=ignore_index)
    has = [is_there and i != ignore_index for i, is_there in enumerate(presence(target, predicted, classes))]
    each = [value if is_there else NAN for value, is_there in zip(of("none").tolist(), has)]
    return [of("macro").item() if any(has) else NAN, *each]


def dice_score(case):
    classes, ignore_index, predicted, target = present_classes(case)
    if not target.numel():
        return [NAN] * (1 + classes)
    each = torchmetrics_dice_score(predicted[None], target[None], classes, average="none", input_format="index",
                                   aggregation_level="global").flatten()
    if 0 <= ignore_index < classes:
        each[ignore_index] = NAN
    return [each.nanmean().item(), *each.tolist()]


def precision_recall_f1(case):
    average = case.choose(["macro", "micro", "weighted"])
    classes, _, predicted, target = present_classes(case)
    if not target.numel():
        return [NAN] * (3 * (1 + classes))
    compute = [classification.multiclass_precision, classification.multiclass_recall,
               classification.multiclass_f1_score]
    averaged = [of(predicted, target, classes, average=average).item() for of in compute]
    each = torch.stack([of(predicted, target, classes, average="none") for of in compute], 1)
    each[~torch.tensor(presence(target, predicted, classes))] = NAN
    return averaged + each.flatten().tolist()


def binary_precision_recall_f1(case):
    threshold = case.choose([0.5, 0.9, 0.25])
    logits, target = draw_binary(case, lambda shape: case.numbers(shape, 256), ignore_index=-100)
    if not target.numel():
        return [NAN] * 3
    compute = [classification.binary_precision, classification.binary_recall, classification.binary_f1_score]
    return [of(logits.sigmoid(), target, threshold).item() for of in compute]


def confusion_matrix(case):
    normalize = case.choose(["none", "true", "pred", "all"])
    classes, _, predicted, target = present_classes(case)
    if not target.numel():
        return [NAN] * classes ** 2
    return classification.multiclass_confusion_matrix(predicted, target, classes, normalize).flatten().tolist()


def draw_regression(case, shape):
    offset = case.choose([0, 2 ** 20])

    def draw(samples):
        prediction = case.numbers([samples, *shape], 256)
        return prediction + offset, case.numbers([samples, *shape], 256) + offset
    return draw_batches(case, 5, draw) or [torch.zeros(0, *shape, dtype=torch.double)] * 2


def regression_error(compute):
    def run(case):
        prediction, target = draw_regression(case, case.trailing_shape())
        return [compute(target.flatten(), prediction.flatten()) if target.numel() else NAN]
    return run


def r2(case):
    shape = case.choose([[], [1], [2], [3]])
    prediction, target = draw_regression(case, shape)
    count = shape[0] if shape else 1
    if len(target) < 2:
        return [NAN]
    return [sklearn.metrics.r2_score(target.reshape(-1, count), prediction.reshape(-1, count))]


def ranked(compute, needs_negatives):
    def run(target, scores):
        positives = target.sum().item()
        if positives == 0 or (needs_negatives and positives == target.numel()):
            return NAN
        return compute(target, scores)
    return run


ROC_AUC = ranked(sklearn.metrics.roc_auc_score, True)
AVERAGE_PRECISION = ranked(sklearn.metrics.average_precision_score, False)


def binary_ranking(compute):
    def run(case):
        """Uses scores with ties."""
        logits, target = draw_binary(case, lambda shape: case.integers(shape, -6, 7).double() / 4, -100, largest=8)
        return [compute(target, logits)]
    return run


def class_ranking(compute):
    def run(case):
        classes = case.between(2, 4)
        ignore_index = case.choose(IGNORED)

        def draw(samples):
            logits = case.integers([samples, classes], -2, 3).double() / 2
            return logits, case.ignore(case.integers([samples], 0, classes), ignore_index)
        logits, target = draw_batches(case, 12, draw) or (torch.zeros(0, classes), torch.zeros(0, dtype=torch.long))
        scores = logits[target != ignore_index].softmax(1).float()
        target = target[target != ignore_index]
        each = torch.tensor([compute(target == i, scores[:, i]) for i in range(classes)])
        return [each.nanmean().item(), *each.tolist()]
    return run


def draw_sequences(case):
    """Returns pairs of a generated and a target text of tokens."""
    end_id = case.choose([-1, 5])
    padding_id = case.choose([-100, 4])
    texts = []

    def read(row):
        tokens = row.tolist()
        if end_id in tokens:
            tokens = tokens[:tokens.index(end_id)]
        return " ".join(str(token) for token in tokens if token != padding_id)
    for _ in range(case.between(0, 4)):
        samples = case.between(0, 3)
        target = case.integers([samples, 12], 0, 6)
        noise = case.integers([samples, 12], 0, 8)
        other = case.integers([samples, 12], 0, 6)
        written = torch.where(noise == 0, other, target)[:, :case.between(0, 12)]
        target = target[:, :case.between(0, 12)]
        texts += [(read(a), read(b)) for a, b in zip(written, target)]
    return texts


def bleu(case):
    max_n = case.choose([4, 2, 1])
    smooth = case.choose([False, True])
    texts = draw_sequences(case)
    if not texts:
        return [NAN]
    return [bleu_score([a for a, _ in texts], [[b] for _, b in texts], max_n, smooth).item()]


class Words:
    def tokenize(self, text):
        return text.split()


def rouge_l(case):
    texts = draw_sequences(case)
    scorer = RougeScorer(["rougeL"], tokenizer=Words())
    results = [scorer.score(b, a)["rougeL"].fmeasure for a, b in texts]
    return [sum(results) / len(results) if results else NAN]


FAMILIES = {
    "classes": {"accuracy": accuracy, "binary_accuracy": binary_accuracy, "token_accuracy": token_accuracy,
                "perplexity": perplexity},
    "confusion": {"iou": iou, "dice_score": dice_score, "precision_recall_f1": precision_recall_f1,
                  "binary_precision_recall_f1": binary_precision_recall_f1, "confusion_matrix": confusion_matrix},
    "regression": {"mae": regression_error(sklearn.metrics.mean_absolute_error),
                   "rmse": regression_error(sklearn.metrics.root_mean_squared_error), "r2": r2},
    "ranking": {"roc_auc": class_ranking(ROC_AUC), "binary_roc_auc": binary_ranking(ROC_AUC),
                "average_precision": class_ranking(AVERAGE_PRECISION),
                "binary_average_precision": binary_ranking(AVERAGE_PRECISION)},
    "text": {"bleu": bleu, "rouge_l": rouge_l},
}


def main():
    warnings.simplefilter("ignore")
    folder = pathlib.Path(__file__).parent / "reference"
    for family, components in FAMILIES.items():
        tables = {name: [run(RandomCase(name, number)) for number in range(CASES)] for name, run in components.items()}
        write(folder / f"metrics_{family}.safetensors", tables, torch.float32)


if __name__ == "__main__":
    main()
