#!/usr/bin/env python3
"""Trains small models in PyTorch and exports them, for tests/exported/training_test.cpp.

    python3 make_exported.py OUTDIR        (torch 2.11 and safetensors; OUTDIR: reference/exported)

NAME.pt2 is the archive of scripts/export_model.py before training, compressed and without sample inputs. The stack
traces keep the file names alone. exported.safetensors contains for each model:
  NAME.input.I.B    input I of batch B; step s uses batch s % BATCHES
  NAME.losses       the loss of each step: the sum over outputs of the mean of (output - 0.1)^2
  NAME.final.W      each tensor of state_dict() after the last step
  NAME.evaluated.O  output O of batch 0 after training, in eval()
NAME_train.pt2 has only the graph of train(), with the name of torch.export.save.
"""
import io
import json
import pathlib
import re
import sys
import zipfile

import torch
from safetensors.torch import save_file
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from export_model import export_graph, write_archive  # noqa: E402

BATCHES, STEPS, ROWS = 4, 24, 4
# Records for running the archive, among all that it has.
KEPT = re.compile(r"^(models/|data/(weights|constants)/|archive_|byteorder|\.data/)")


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.dropout = nn.Dropout(0.0)
        self.head = nn.Linear(16, 10)

    def forward(self, image):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.conv(image))), 4)
        return self.head(self.dropout(x.flatten(1)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(4)

    def forward(self, x):
        y = nn.functional.relu_(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        y += x
        return torch.relu_(y)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 1)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(4, 10)

    def forward(self, image):
        return self.head(self.blocks(self.stem(image)).mean((2, 3)))


class Encoder(nn.Module):
    """A transformer block that is built from views of one projection, with a mask that is a constant."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.norm1 = nn.LayerNorm(8)
        self.project = nn.Linear(8, 24)
        self.merge = nn.Linear(8, 8)
        self.norm2 = nn.LayerNorm(8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.register_buffer("mask", torch.ones(5, 5).tril().bool(), persistent=False)

    def forward(self, tokens):
        rows, length = tokens.shape
        x = self.embed(tokens) + torch.arange(length, device=tokens.device).unsqueeze(-1) / length
        query, key, value = self.project(self.norm1(x)).chunk(3, -1)
        query, key, value = (self.split_heads(part, rows * 2) for part in (query, key, value))
        attended = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=self.mask)
        x = x + self.merge(attended.view(rows, 2, length, 4).transpose(1, 2).reshape(rows, length, -1))
        return x + self.mlp(self.norm2(x))

    @staticmethod
    def split_heads(x, groups):
        return x.unflatten(-1, (2, 4)).transpose(1, 2).reshape(groups, x.shape[1], 4)


class Pair(nn.Module):
    """Two inputs, two named outputs, and two heads that share a weight; part of it without gradients."""

    def __init__(self):
        super().__init__()
        self.left = nn.Linear(4, 5)
        self.right = nn.Linear(3, 5)
        self.head = nn.Linear(5, 5)
        self.tied = nn.Linear(5, 5)
        self.tied.weight = self.head.weight

    def forward(self, left, *, right):
        with torch.no_grad():
            scale = left.abs().mean() + 1
        a, b = torch.tanh(self.left(left)), torch.sigmoid(self.right(right))
        joined = torch.cat([a, b], 0).view(2, left.shape[0] * 5 // 5, -1)
        return {"sum": self.head(joined.sum(0)) / scale, "Product": self.tied(a * b)}


class Counter(nn.Module):
    """Changes a buffer by a view, and by assignment; half of its parameters are frozen."""

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.out = nn.Linear(4, 2)
        self.register_buffer("average", torch.zeros(2, 4))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        x = self.frozen(x)
        if self.training:
            self.average[0].mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
            self.calls += 1
        return self.out(x - self.average[0])


class Dropped(nn.Module):
    """Draws random numbers in training: dropout, and a branch that samples skip (stochastic depth)."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 8)
        self.dropout = nn.Dropout(0.3)
        self.branch = nn.Linear(8, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        x = self.dropout(torch.relu(self.hidden(x)))
        branch = self.branch(x)
        if self.training:
            branch = branch * torch.empty(x.shape[0], 1, dtype=x.dtype, device=x.device).bernoulli_(0.6) / 0.6
        return self.out(x + branch)


# Shapes of the inputs, with the batch size first; integers are token ids.
MODELS = {
    "mlp": (Mlp, {"x": (6,)}),
    "cnn": (Cnn, {"image": (1, 8, 8)}),
    "residual": (Residual, {"image": (1, 8, 8)}),
    "encoder": (Encoder, {"tokens": (5,)}),
    "pair": (Pair, {"left": (4,), "right": (3,)}),
    "counter": (Counter, {"x": (4,)}),
    "dropped": (Dropped, {"x": (6,)}),
}


def make_input(name, shape):
    if name == "tokens":
        return torch.randint(11, (ROWS, *shape))
    return torch.randn(ROWS, *shape)


def list_outputs(outputs):
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    return list(outputs.values())


def compress(data, path):
    """Writes the records of an archive that the graph needs, compressed."""
    source = zipfile.ZipFile(io.BytesIO(data))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for name in source.namelist():
            root, _, record = name.partition("/")
            if KEPT.match(record):
                content = source.read(name)
                if record.startswith("models/"):
                    content = trim(content)
                # A fixed time, so that the same models give the same bytes.
                target.writestr(zipfile.ZipInfo(f"{path.stem}/{record}"), content, zipfile.ZIP_DEFLATED)


def trim(content):
    model = json.loads(content)
    for node in model["graph_module"]["graph"]["nodes"]:
        trace = node["metadata"].get("stack_trace", "")
        frames = re.sub(r'File "[^"]*?((?:torch/nn/[^"]*/)?[^"/]+)"', r'File "\1"', trace)
        kept = {"stack_trace": frames, "nn_module_stack": node["metadata"].get("nn_module_stack")}
        node["metadata"] = {key: value for key, value in kept.items() if value}
    return json.dumps(model).encode()


def train(model, inputs):
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
    losses = []
    model.train()
    for step in range(STEPS):
        torch.manual_seed(step)
        outputs = list_outputs(model(**inputs[step % BATCHES]))
        loss = sum((output - 0.1).square().mean() for output in outputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def write_reference(tensors, name, model, inputs, out):
    """Exports the model as NAME.pt2, trains it, and adds to `tensors` what exported.safetensors has of it."""
    graphs = {mode: export_graph(torch, model, inputs[0], mode == "train") for mode in ("train", "eval")}
    write_archive(graphs, out / "written.pt2")
    compress((out / "written.pt2").read_bytes(), out / f"{name}.pt2")
    (out / "written.pt2").unlink()
    if name in ("cnn", "counter"):
        buffer = io.BytesIO()
        torch.export.save(graphs["train"], buffer)
        compress(buffer.getvalue(), out / f"{name}_train.pt2")
    for batch, values in enumerate(inputs):
        for index, value in enumerate(values.values()):
            tensors[f"{name}.input.{index}.{batch}"] = value
    tensors[f"{name}.losses"] = train(model, inputs)
    for key, value in model.state_dict().items():
        tensors[f"{name}.final.{key}"] = value.clone()
    model.eval()
    with torch.no_grad():
        for index, output in enumerate(list_outputs(model(**inputs[0]))):
            tensors[f"{name}.evaluated.{index}"] = output.contiguous()


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    tensors = {}
    for name, (make, shapes) in MODELS.items():
        torch.manual_seed(sum(map(ord, name)))
        model = make()
        inputs = [{key: make_input(key, shape) for key, shape in shapes.items()} for _ in range(BATCHES)]
        write_reference(tensors, name, model, inputs, out)
    save_file(tensors, out / "exported.safetensors")


if __name__ == "__main__":
    main()
