#!/usr/bin/env python3
"""Writes sequences that PyTorch networks generate with greedy decoding, sampling and beam search, for
tests/bundled/generation_test.cpp. Nothing here has a cache: each step computes all tokens again. Weights come from a
formula.

    python3 make_generation.py OUTDIR        (torch 2.11 and safetensors; OUTDIR: reference)

generation.safetensors contains for each model MODEL, with [S, T] sequences of T tokens, and -1 after their ends:
`MODEL.greedy`, [1, 12]; `MODEL.scores`, [12, V] float64, of the token after each prefix of it; `MODEL.top_k.sampled`
and `MODEL.top_p.sampled`, [3, 12]; `MODEL.top_k.probabilities` and `MODEL.top_p.probabilities`, [12, V] float64, of the
first of them, 0 after its end; `MODEL.beam`, [3, 12], and `MODEL.beam_scores`, [3] float64.
"""
import math
import pathlib
import sys

import torch
from safetensors.torch import save
from torch.nn import functional

import make_gpt

STEPS, SAMPLES, BEAMS, LENGTH_PENALTY, SEED = 12, 3, 3, 0.7, 11
FILTERS = {"top_k": {"temperature": 0.8, "top_k": 4}, "top_p": {"temperature": 1.3, "top_p": 0.7}}


def salt_of(name):
    """Depends on the name, so that the order of parameters does not matter."""
    return sum((place + 1) * ord(letter) for place, letter in enumerate(name)) % 997


def weight(name, shape, gain=1):
    """The test uses the same formula. With these gains the networks do not repeat one token."""
    is_scale = name.endswith("weight") and len(shape) == 1
    values = make_gpt.scatter(shape, salt_of(name))
    return values + 1 if is_scale else values * (0.1 if "bias" in name else gain)


def fill(network, gain=1):
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weight(name, parameter.shape, gain))
    return network


# ---- Networks: each function returns the scores [V] of the token after a prefix

def make_gpt_scores():
    network = fill(make_gpt.make_network(bias=True), gain=5)

    def scores(prefix):
        # As nanoGPT's generate(): a text that is longer than the context is cropped.
        return network(torch.tensor([prefix[-make_gpt.CONTEXT:]]))[0, -1]
    return scores


def make_transformer_scores():
    """The pre-norm transformer, with explicit attention (arXiv:1706.03762)."""
    width, heads, hidden, layers, vocabulary = 8, 2, 12, 2, 11
    source = [3, 4, 5, 6, 2]

    def linear(name, x, outputs):
        return x @ weight(name + ".weight", (outputs, x.shape[-1])).T + weight(name + ".bias", (outputs,))

    def norm(name, x):
        return functional.layer_norm(x, (width,), weight(name + ".weight", (width,)), weight(name + ".bias", (width,)))

    def attention(name, queries, keys, is_causal):
        def split(x):
            return x.reshape(len(x), heads, width // heads).transpose(0, 1)
        query, key, value = (split(linear(f"{name}.{part}", x, width))
                             for part, x in (("query", queries), ("key", keys), ("value", keys)))
        scores = query @ key.transpose(1, 2) / math.sqrt(width // heads)
        if is_causal:
            scores = scores.masked_fill(torch.ones(len(queries), len(keys), dtype=torch.bool).triu(1), -math.inf)
        return linear(name + ".output", (scores.softmax(2) @ value).transpose(0, 1).reshape(len(queries), width), width)

    def feed_forward(name, x):
        return linear(name + ".3", linear(name + ".0", x, hidden).relu(), width)

    def embed(side, tokens):
        place = torch.arange(len(tokens), dtype=torch.float64).unsqueeze(1)
        pair = torch.arange(0, width, 2, dtype=torch.float64)
        # The plugin computes the positions in single precision.
        angle = (place.float() * torch.exp(pair.float() * (-math.log(10000.0) / width)))
        positions = torch.stack([angle.sin(), angle.cos()], 2).flatten(1).double()
        return weight(side + "_embedding.weight", (vocabulary, width))[tokens] * math.sqrt(width) + positions

    def encode():
        x = embed("source", source)
        for layer in range(layers):
            name = f"encoder.{layer}."
            normed = norm(name + "around_attention.norm", x)
            x = x + attention(name + "attention", normed, normed, False)
            x = x + feed_forward(name + "feed_forward", norm(name + "around_feed_forward.norm", x))
        return norm("encoder_norm", x)

    def scores(prefix):
        encoded, x = encode(), embed("target", prefix)
        for layer in range(layers):
            name = f"decoder.{layer}."
            normed = norm(name + "around_self_attention.norm", x)
            x = x + attention(name + "self_attention", normed, normed, True)
            normed = norm(name + "around_source_attention.norm", x)
            x = x + attention(name + "source_attention", normed, encoded, False)
            x = x + feed_forward(name + "feed_forward", norm(name + "around_feed_forward.norm", x))
        return norm("decoder_norm", x[-1]) @ weight("output.weight", (vocabulary, width)).T
    return scores


# Scores, prompt and end token.
MODELS = {"gpt": (make_gpt_scores, [3, 1, 4], 10), "transformer": (make_transformer_scores, [1], 10)}


# ---- Decoding

def philox(counter, key):
    """Philox-4x32-10 (Salmon et al., SC 2011)."""
    counter, key = list(counter), list(key)
    for _ in range(10):
        products = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [products[1] >> 32 ^ counter[1] ^ key[0], products[1] & 0xFFFFFFFF,
                   products[0] >> 32 ^ counter[3] ^ key[1], products[0] & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def draw_uniform(prompt, sample, position):
    purpose = 10  # StreamPurpose::generation
    bits = philox([position, prompt, sample, purpose], [SEED, 0])
    return ((bits[0] | bits[1] << 32) >> 11) / 2 ** 53


def sampling_probabilities(scores, temperature, top_k=None, top_p=None):
    scores = scores / temperature
    if top_k:  # as in nanoGPT
        scores = scores.masked_fill(scores < scores.topk(top_k).values[-1], -math.inf)
    if top_p:  # as TopPLogitsWarper of Hugging Face
        ordered, index = scores.sort()
        drop = ordered.softmax(0).cumsum(0) <= 1 - top_p
        drop[-1] = False
        scores = scores.masked_fill(torch.zeros_like(drop).scatter(0, index, drop), -math.inf)
    return scores.softmax(0)


def continue_prompt(scores_of, prompt, end, choose):
    """Returns the new tokens, with the end token, and what choose() has seen."""
    tokens, seen = [], []
    while len(tokens) < STEPS and (not tokens or tokens[-1] != end):
        seen.append(scores_of(prompt + tokens))
        tokens.append(choose(seen[-1], len(tokens)))
    return tokens, seen


def search_beams(scores_of, prompt, end):
    """Follows the documentation of search_beams() in framework/pipeline/generation/generate.h."""
    running, ended = [(0.0, [])], []
    for length in range(1, STEPS + 1):
        options = []
        for total, tokens in running:
            for token, log in enumerate(scores_of(prompt + tokens).log_softmax(0).tolist()):
                options.append((total + log, tokens + [token]))
        options = sorted(options, key=lambda option: -option[0])[:2 * BEAMS]
        penalty = length ** LENGTH_PENALTY
        ended += [(total / penalty, tokens) for total, tokens in options[:BEAMS] if tokens[-1] == end]
        ended = sorted(ended, key=lambda sequence: -sequence[0])[:BEAMS]
        running = [option for option in options if option[1][-1] != end][:BEAMS]
        if len(ended) == BEAMS and ended[-1][0] >= running[0][0] / STEPS ** LENGTH_PENALTY:
            return ended
    ended += [(total / STEPS ** LENGTH_PENALTY, tokens) for total, tokens in running]
    return sorted(ended, key=lambda sequence: -sequence[0])[:BEAMS]


def pad_rows(sequences, end):
    """[S, T], without the end tokens."""
    rows = torch.full((len(sequences), STEPS), -1)
    for row, tokens in zip(rows, sequences):
        tokens = [token for token in tokens if token != end]
        row[:len(tokens)] = torch.tensor(tokens)
    return rows


def make_case(name):
    make_scores, prompt, end = MODELS[name]
    scores_of = make_scores()
    tokens, seen = continue_prompt(scores_of, prompt, None, lambda scores, _: int(scores.argmax()))
    made = {"greedy": torch.tensor([tokens]), "scores": torch.stack(seen)}
    for filters, options in FILTERS.items():
        sampled, probabilities = [], torch.zeros(STEPS, len(seen[0]), dtype=torch.float64)
        for sample in range(SAMPLES):
            def choose(scores, position):
                chances = sampling_probabilities(scores, **options)
                if sample == 0:
                    probabilities[position] = chances
                return int((chances.cumsum(0) > draw_uniform(0, sample, position)).nonzero()[0])
            sampled.append(continue_prompt(scores_of, prompt, end, choose)[0])
        made[filters + ".sampled"] = pad_rows(sampled, end)
        made[filters + ".probabilities"] = probabilities
    beams = search_beams(scores_of, prompt, end)
    made["beam"] = pad_rows([tokens for _, tokens in beams], end)
    made["beam_scores"] = torch.tensor([score for score, _ in beams], dtype=torch.float64)
    return {f"{name}.{key}": value.contiguous() for key, value in made.items()}


def main(folder):
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    with torch.no_grad():
        for name in MODELS:
            results.update(make_case(name))
    (folder / "generation.safetensors").write_bytes(save(results))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
