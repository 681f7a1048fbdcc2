#!/usr/bin/env python3
"""Writes PyTorch's outputs for the network of the plugin seq2seq_gru, for tests/bundled/seq2seq_gru_test.cpp. The
network has a torch.nn.GRU encoder over packed sequences, a stepwise decoder written from arXiv:1508.04025, and greedy
decoding. Weights and tokens come from a formula.

    python3 make_seq2seq_gru.py OUTDIR        (torch 2.11 and safetensors; OUTDIR: reference)

seq2seq_gru.safetensors contains for each case `CASE.logits`, [3, 4, 13] float64; `CASE.gradient.NAME` for each
parameter: the norm and the first, middle and last element of its gradient, [4] float64; `CASE.generated`, [3, 6] int64.
"""
import pathlib
import sys

import torch
from safetensors.torch import save
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

VOCABULARY, WIDTH, GENERATE, PAD, BOS = 13, 8, 6, 0, 2
SOURCE = torch.tensor([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0], [3, 0, 0, 0, 0]])
LENGTHS = torch.tensor([5, 3, 1])
TARGET_IN = torch.tensor([[2, 12, 11, 10], [2, 4, 0, 0], [2, 7, 7, 0]])
TARGET = torch.tensor([[12, 11, 10, 3], [4, 3, -100, -100], [7, 7, 3, -100]])
# Layers of the encoder and the decoder, tied weights, and an end token that the network generates with these weights.
CASES = {"small": (1, 1, "all", 12), "deep": (2, 3, "none", 11)}


def scatter(shape, salt):
    """Returns pseudorandom numbers in [-0.5, 0.5), exact in float64. The test uses the same formula."""
    index = torch.arange(torch.Size(shape).numel())
    return (((index * index * 31 + index * 17 + salt * 101) % 65521).double() / 65521 - 0.5).reshape(shape)


class Network(nn.Module):
    def __init__(self, encoder_layers, decoder_layers, tied, end):
        super().__init__()
        self.decoder_layers, self.tied, self.end = decoder_layers, tied, end
        if tied == "all":
            self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        else:
            self.source_embedding = nn.Embedding(VOCABULARY, WIDTH)
            self.target_embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.GRU(WIDTH, WIDTH // 2, encoder_layers, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(WIDTH, decoder_layers * WIDTH)
        self.decoder = nn.GRU(WIDTH, WIDTH, decoder_layers, batch_first=True)
        self.attention = nn.Linear(WIDTH, WIDTH, bias=False)
        self.joined = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        if tied == "none":
            self.output = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def table(self, side):
        return (self.embedding if self.tied == "all" else getattr(self, side + "_embedding")).weight

    def embed(self, side, tokens):
        return functional.embedding(tokens, self.table(side)) * WIDTH ** 0.5

    def encode(self, source):
        packed = pack_padded_sequence(self.embed("source", source), LENGTHS, batch_first=True, enforce_sorted=False)
        outputs, last = self.encoder(packed)
        values = pad_packed_sequence(outputs, batch_first=True)[0]
        states = torch.tanh(self.bridge(torch.cat([last[-2], last[-1]], 1)))
        return values, torch.stack(states.chunk(self.decoder_layers, 1))

    def step(self, tokens, values, states):
        """tokens: [N]. Returns logits [N, V] of the next tokens, and the next states."""
        outputs, states = self.decoder(self.embed("target", tokens).unsqueeze(1), states)
        query = outputs[:, 0]
        rows = []
        for sample, length in enumerate(LENGTHS):
            seen = values[sample, :length]
            shares = torch.softmax(torch.stack([query[sample] @ self.attention(value) for value in seen]), 0)
            rows.append(torch.tanh(self.joined(torch.cat([shares @ seen, query[sample]]))))
        matrix = self.output.weight if self.tied == "none" else self.table("target")
        return torch.stack(rows) @ matrix.T, states

    def forward(self, source, target_in):
        values, states = self.encode(source)
        logits = []
        for place in range(target_in.shape[1]):
            scores, states = self.step(target_in[:, place], values, states)
            logits.append(scores)
        return torch.stack(logits, 1)

    def generate(self, source):
        values, states = self.encode(source)
        tokens = torch.full((len(source),), BOS)
        ended = torch.zeros(len(source), dtype=torch.bool)
        written = []
        for _ in range(GENERATE):
            scores, states = self.step(tokens, values, states)
            tokens = torch.where(ended, PAD, scores.argmax(1))
            ended = ended | (tokens == self.end)
            written.append(tokens)
        return torch.stack(written, 1)


def sketch(tensor):
    flat = tensor.flatten()
    return torch.stack([flat.norm(), flat[0], flat[len(flat) // 2], flat[-1]])


def salt_of(name):
    """Depends on the name, so that the order of parameters does not matter."""
    return sum((place + 1) * ord(letter) for place, letter in enumerate(name)) % 997


def make_case(name):
    network = Network(*CASES[name]).double()
    with torch.no_grad():
        for parameter_name, parameter in network.named_parameters():
            parameter.copy_(scatter(parameter.shape, salt_of(parameter_name)) * 2)
    logits = network(SOURCE, TARGET_IN)
    functional.cross_entropy(logits.flatten(0, 1), TARGET.flatten()).backward()
    made = {"logits": logits.detach(), "generated": network.generate(SOURCE)}
    for parameter_name, parameter in network.named_parameters():
        made["gradient." + parameter_name] = sketch(parameter.grad)
    return {f"{name}.{key}": value.contiguous() for key, value in made.items()}


def main(folder):
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in CASES:
        results.update(make_case(name))
    (folder / "seq2seq_gru.safetensors").write_bytes(save(results))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
