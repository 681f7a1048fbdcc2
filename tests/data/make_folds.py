#!/usr/bin/env python3
"""Writes folds of scikit-learn, the reference of folds_test.cpp.

    python3 make_folds.py    (scikit-learn 1.7 or later, numpy)

Writes reference/folds.txt. Each case has a line of its name, the number of folds and samples, then the labels, the
groups and the fold of each sample; "-" if there are none. Labels and groups are numbered in the order of their first
sample, so that ties do not depend on their values.
"""
import pathlib

import numpy
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold


def numbered(values):
    known = {}
    return numpy.array([known.setdefault(value, len(known)) for value in values])


def folds_of(splitter, labels, groups):
    folds = numpy.zeros(len(labels), dtype=int)
    for fold, (_, held_out) in enumerate(splitter.split(numpy.zeros(len(labels)), labels, groups)):
        folds[held_out] = fold
    return folds


def main():
    random = numpy.random.default_rng(5)
    lines = []

    def add(name, count, labels, groups, folds):
        lines.append(f"{name} {count} {len(folds)}")
        for values in (labels, groups, folds):
            lines.append("-" if values is None else " ".join(str(value) for value in values))

    for count, samples, classes in ((2, 20, 2), (5, 103, 4), (10, 200, 3), (3, 50, 7)):
        shares = random.dirichlet(numpy.ones(classes) * 2)
        labels = numbered(random.choice(classes, samples, p=shares))
        add("stratified", count, labels, None, folds_of(StratifiedKFold(count), labels, None))
    for count, groups_count in ((2, 5), (4, 9), (5, 12)):
        # Groups of different sizes: scikit-learn orders groups of one size arbitrarily.
        groups = numbered(random.permutation(numpy.repeat(numpy.arange(groups_count), numpy.arange(groups_count) + 1)))
        add("group", count, None, groups, folds_of(GroupKFold(count), numpy.zeros(len(groups)), groups))
    for count, samples, groups_count, classes in ((3, 60, 12, 3), (5, 300, 40, 4), (2, 40, 15, 2), (4, 500, 25, 10)):
        groups = numbered(random.choice(groups_count, samples))
        of_group = random.dirichlet(numpy.ones(classes), groups_count)
        labels = numbered([random.choice(classes, p=of_group[group]) for group in groups])
        add("stratified_group", count, labels, groups, folds_of(StratifiedGroupKFold(count), labels, groups))
    path = pathlib.Path(__file__).parent / "reference" / "folds.txt"
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
