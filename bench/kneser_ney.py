#!/usr/bin/env python3
"""Measures how well a character n-gram model predicts a text, as a baseline for networks. Needs only the standard
library.

    python3 bench/kneser_ney.py TEXT [--order 3] [--validation 0.1]

The model is interpolated Kneser-Ney (S. Chen and J. Goodman, "An Empirical Study of Smoothing Techniques for Language
Modeling", 1999, section 3). It uses counts for the highest order, numbers of contexts for lower orders, and a uniform
distribution over all characters for order 0. The discount of each order is chosen on the last tenth of the training
part, with counts of the other nine tenths. The final counts use the whole training part. The split is that of the
dataset text_windows with tokens = "characters": validation is the end of the text. The model predicts each of its
characters except the first. Prints nats per character, and their exponential, the perplexity.
"""
import argparse
import math
import pathlib
from collections import Counter

DISCOUNTS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


class KneserNey:
    def __init__(self, text, order, characters):
        self.order, self.characters = order, characters
        self.discounts = [0.7] * (order + 1)
        grams = [Counter()] * (order + 1)
        grams[order] = Counter(text[i:i + order] for i in range(len(text) - order + 1))
        for size in range(order - 1, 0, -1):
            grams[size] = Counter(gram[1:] for gram in grams[size + 1])
        self.grams = grams
        self.totals = [Counter() for _ in grams]
        self.kinds = [Counter() for _ in grams]
        for size in range(1, order + 1):
            for gram, count in grams[size].items():
                self.totals[size][gram[:-1]] += count
                self.kinds[size][gram[:-1]] += 1

    def probability(self, before, character):
        probability = 1 / self.characters
        for size in range(1, self.order + 1):
            context = before[len(before) - size + 1:]
            total = self.totals[size][context]
            if total == 0 or len(context) < size - 1:
                break
            discount = self.discounts[size]
            rest = discount * self.kinds[size][context] * probability
            probability = (max(self.grams[size][context + character] - discount, 0) + rest) / total
        return probability

    def nats(self, text):
        """Returns the mean over all characters except the first."""
        order = self.order
        total = sum(-math.log(self.probability(text[max(0, i - order + 1):i], text[i])) for i in range(1, len(text)))
        return total / (len(text) - 1)

    def choose_discounts(self, text):
        for size in range(1, self.order + 1):
            def nats_with(discount):
                self.discounts[size] = discount
                return self.nats(text)
            self.discounts[size] = min(DISCOUNTS, key=nats_with)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--validation", type=float, default=0.1, help="fraction of the text, at its end")
    arguments = parser.parse_args()
    text = arguments.text.read_bytes().decode("utf-8")
    end = math.floor(len(text) * (1 - arguments.validation) + 0.5)
    train, validation = text[:end], text[end:]
    held_out = len(train) // 10
    characters = len(set(text))
    chosen = KneserNey(train[:-held_out], arguments.order, characters)
    chosen.choose_discounts(train[-held_out:])
    model = KneserNey(train, arguments.order, characters)
    model.discounts = chosen.discounts
    nats = model.nats(validation)
    print(f"{len(train)} training characters, {len(validation)} to predict, {characters} distinct")
    print(f"order {arguments.order}, discounts {model.discounts[1:]}: {nats:.4f} nats, perplexity {math.exp(nats):.3f}")


if __name__ == "__main__":
    main()
