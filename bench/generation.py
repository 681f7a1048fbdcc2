#!/usr/bin/env python3
"""Times greedy generation of GPT-2's transformer in PyTorch, with a cache of keys and values and without (as nanoGPT),
and compares with benchmark_generation, in alternating rounds.

    python bench/generation.py [--build build/release] [--size small] [--new-tokens 255] [--rounds 5]

Needs torch 2.11. One thread; random weights of the same size. Prints the medians in tokens per second.
"""
import argparse
import pathlib
import statistics
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional

# Vocabulary, context, layers, heads and width: of configs/gpt.toml with a longer context, and of GPT-2.
SIZES = {"small": (155, 256, 4, 4, 128), "gpt2": (50257, 1024, 12, 12, 768)}


class Block(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.joint, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache):
        query, key, value = (part.unflatten(2, (self.heads, -1)).transpose(1, 2)
                             for part in self.joint(self.norms[0](x)).chunk(3, 2))
        is_first = not cache
        if cache is not None:
            if cache:
                key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
            cache[:] = [key, value]
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=is_first)
        x = x + self.joined(seen.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.widen(self.norms[1](x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary, context, layers, heads, width):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(heads, width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens, caches, first):
        x = self.tokens(tokens) + self.places.weight[first:first + tokens.shape[1]]
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache)
        return self.norm(x[:, -1]) @ self.tokens.weight.T


@torch.inference_mode()
def time_generation(network, new_tokens, has_cache):
    begin = time.perf_counter()
    tokens = torch.ones(1, 1, dtype=torch.int64)
    caches = [[] if has_cache else None for _ in network.blocks]
    for length in range(new_tokens):
        scores = network(tokens[:, -1:] if has_cache else tokens, caches, length if has_cache else 0)
        tokens = torch.cat([tokens, scores.argmax(1, keepdim=True)], 1)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--new-tokens", type=int, default=255)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    network = Gpt(*SIZES[options.size]).eval()
    time_generation(network, 2, True)
    command = [options.build / "bench/benchmark_generation", options.build / "plugins/gpt.so",
               *map(str, SIZES[options.size]), str(options.new_tokens), "1"]
    seconds = {True: [], False: []}
    for _ in range(options.rounds):
        print("Tenon:", subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
        for has_cache in seconds:
            seconds[has_cache].append(time_generation(network, options.new_tokens, has_cache))
    with_cache, without = (options.new_tokens / statistics.median(seconds[has_cache]) for has_cache in (True, False))
    print(f"PyTorch: with the cache {with_cache:.0f} tokens/s, without {without:.0f} tokens/s")


if __name__ == "__main__":
    main()
