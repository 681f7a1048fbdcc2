"""PyTorch versions of the networks of the run files in configs/, with the initialisation of the plugins.

`NETWORKS` maps component ids to them, for runs_pytorch.py and step_time.py. The constructor takes the parameters of `[model]`. The
arguments of `forward` have the names of batch fields, and it returns a dictionary of outputs.
"""
import inspect
import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional
from torchvision.models.efficientnet import EfficientNet, _efficientnet_conf

from pytorch_data import PAD

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/parity"))
import gpt_network  # noqa: E402
from make_models import SiameseCnn, UNet, convolutions  # noqa: E402


class SmallCnn(nn.Module):
    def __init__(self, channels=1, classes=10, width=32, stages=1, values=0):
        super().__init__()
        layers = convolutions(channels, width, width)
        for stage in range(stages):
            layers += [nn.MaxPool2d(2), *convolutions(width << stage, width << (stage + 1))]
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten())
        size = (width << stages) * 4
        self.classifier = nn.Linear(size, classes)
        self.regressor = nn.Linear(size, values) if values else None

    def forward(self, image):
        features = self.features(image)
        outputs = {"logits": self.classifier(features)}
        return outputs if self.regressor is None else {**outputs, "values": self.regressor(features)}


class Mlp(nn.Module):
    def __init__(self, inputs=64, hidden=(128,), classes=10):
        super().__init__()
        sizes = [inputs, *hidden, classes]
        layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
        self.layers = nn.Sequential(nn.Flatten(), *layers[:-1])

    def forward(self, image):
        return {"logits": self.layers(image)}


class EfficientNetB0(EfficientNet):
    def __init__(self, variant="b0", classes=1000, dropout=0.2, stochastic_depth=0.2, width=1.0, depth=1.0):
        if variant != "b0":
            raise ValueError(f"variant {variant}; expected b0")
        stages, last_channels = _efficientnet_conf("efficientnet_b0", width_mult=width, depth_mult=depth)
        super().__init__(stages, dropout, stochastic_depth, classes, last_channel=last_channels)

    def forward(self, image):
        return {"logits": super().forward(image)}


class Gpt(gpt_network.Gpt):
    def forward(self, tokens):
        return {"logits": super().forward(tokens)}


class TokenEmbedding(nn.Module):
    """One shared matrix for both embeddings and the output. Embeddings are scaled by the square root of the width."""

    def __init__(self, vocabulary_size, width):
        super().__init__()
        self.scale = math.sqrt(width)
        self.weight = nn.Parameter(torch.randn(vocabulary_size, width) / self.scale)

    def forward(self, tokens):
        return functional.embedding(tokens, self.weight) * self.scale

    def score(self, vectors):
        return functional.linear(vectors, self.weight)


class Seq2SeqTransformer(nn.Module):
    """torch.nn.Transformer with pre-norm and sinusoidal positions."""

    def __init__(self, vocabulary_size, width, heads, encoder_layers, decoder_layers, feed_forward, dropout,
                 generate=0, longest=256):
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary_size, width)
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(width, heads, encoder_layers, decoder_layers, feed_forward, dropout,
                                          batch_first=True, norm_first=True)
        angles = torch.arange(longest)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000) / width))
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], 2).flatten(1))
        self.apply(self.initialise)

    @staticmethod
    def initialise(module):
        """Initialises weights as in Glorot and Bengio (2010), separately for query, key and value, and biases to 0."""
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.MultiheadAttention):
            for weight in module.in_proj_weight.chunk(3):
                nn.init.xavier_uniform_(weight)

    def embed(self, tokens):
        return self.dropout(self.embedding(tokens) + self.positions[:tokens.shape[1]])

    def forward(self, source, target_in):
        is_padding = source == PAD
        is_later = torch.ones(2 * [target_in.shape[1]], dtype=torch.bool).triu(1)
        decoded = self.transformer(self.embed(source), self.embed(target_in), tgt_mask=is_later, tgt_is_causal=True,
                                   src_key_padding_mask=is_padding, memory_key_padding_mask=is_padding)
        return {"logits": self.embedding.score(decoded)}


NETWORKS = {
    "efficientnet": EfficientNetB0,
    "gpt": Gpt,
    "mlp": Mlp,
    "seq2seq_transformer": Seq2SeqTransformer,
    "siamese_cnn": SiameseCnn,
    "small_cnn": SmallCnn,
    "unet": UNet,
}


def make_network(model):
    """Returns the network of the section `[model]` of a plan, in which -1 stands for a default. Parameters of the plugin that the
    network lacks have no effect on training."""
    make = NETWORKS[model["use"]]
    names = inspect.signature(make).parameters
    return make(**{name: value for name, value in model["params"].items() if name in names and value != -1})
