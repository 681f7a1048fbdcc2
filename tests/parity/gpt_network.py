"""The transformer of GPT-2 in PyTorch, written from Radford et al. 2019. Weights have the names and the orientation of
nanoGPT. make_gpt.py and bench/runs_pytorch.py compare the plugin gpt with it."""
import math

import torch
from torch import nn
from torch.nn import functional


class Norm(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    """Explicit attention with a mask, without PyTorch's attention operators."""

    def __init__(self, width, heads, dropout, bias):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        samples, length, width = x.shape
        query, key, value = (part.view(samples, length, self.heads, -1).transpose(1, 2)
                             for part in self.c_attn(x).split(width, 2))
        scores = query @ key.transpose(2, 3) / math.sqrt(width // self.heads)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        shares = functional.dropout(scores.masked_fill(later, -math.inf).softmax(3), self.dropout, self.training)
        joined = (shares @ value).transpose(1, 2).reshape(samples, length, width)
        return functional.dropout(self.c_proj(joined), self.dropout, self.training)


class FeedForward(nn.Module):
    def __init__(self, width, dropout, bias):
        super().__init__()
        self.dropout = dropout
        self.c_fc = nn.Linear(width, 4 * width, bias=bias)
        self.c_proj = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        return functional.dropout(self.c_proj(functional.gelu(self.c_fc(x))), self.dropout, self.training)


class Block(nn.Module):
    def __init__(self, width, heads, dropout, bias):
        super().__init__()
        self.ln_1 = Norm(width, bias)
        self.attn = Attention(width, heads, dropout, bias)
        self.ln_2 = Norm(width, bias)
        self.mlp = FeedForward(width, dropout, bias)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary_size, context, layers, heads, width, dropout=0.0, bias=True):
        super().__init__()
        self.dropout = dropout
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocabulary_size, width),
            "wpe": nn.Embedding(context, width),
            "h": nn.ModuleList(Block(width, heads, dropout, bias) for _ in range(layers)),
            "ln_f": Norm(width, bias)})
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                residual = 1 / math.sqrt(2 * layers) if name.endswith("c_proj.weight") else 1
                nn.init.normal_(parameter, 0, 0.02 * residual)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1])
        x = self.transformer["wte"](tokens) + self.transformer["wpe"](places)
        x = functional.dropout(x, self.dropout, self.training)
        for block in self.transformer["h"]:
            x = block(x)
        return functional.linear(self.transformer["ln_f"](x), self.transformer["wte"].weight)
