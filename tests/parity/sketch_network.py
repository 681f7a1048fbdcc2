"""Computes outputs of an image classifier: logits, and a few statistics of each gradient and buffer. Weights and images
come from a formula, so they need not be stored. tests/bundled/sketched_network.h has the same formulas."""
import hashlib

import torch
from torch import nn

CLASSES = 5
BATCH = 4
STEPS = 5
RATE = 1e-3


def scatter(shape, salt):
    """Returns pseudorandom numbers in [-0.5, 0.5), exact in float64. The test uses the same formula."""
    index = torch.arange(torch.Size(shape).numel())
    return (((index * index * 31 + index * 17 + salt * 101) % 65521).double() / 65521 - 0.5).reshape(shape)


def fill(name, tensor, salt):
    """Fills a weight or buffer with values of a magnitude that is typical in training."""
    values = scatter(tensor.shape, salt)
    if name.endswith("num_batches_tracked"):
        values = torch.tensor(7)
    elif tensor.dim() == 4:
        values = values * 2 * (6 / (tensor.shape[0] * tensor.shape[2] * tensor.shape[3])) ** 0.5
    elif tensor.dim() == 2:
        values = values * 2 / tensor.shape[1] ** 0.5
    elif name.endswith("weight") or name.endswith("running_var"):
        values = values + 1
    tensor.copy_(values)


def sketch(tensors):
    """Returns [T, 4]: the norm and the first, middle and last element of each tensor."""
    rows = []
    for tensor in tensors:
        flat = tensor.detach().double().flatten()
        rows.append(torch.stack([flat.norm(), flat[0], flat[len(flat) // 2], flat[-1]]))
    return torch.stack(rows) if rows else torch.zeros(0, 4, dtype=torch.float64)


def make_batch(channels, size, step):
    images = scatter((BATCH, channels, size, size), 1000 + step) * 3
    return images, (torch.arange(BATCH) * 3 + step) % CLASSES


def sketch_network(name, network, channels, size):
    """Returns float64 tensors by name: `NAME.logits` in evaluation mode and `NAME.training.logits`, [BATCH, CLASSES];
    `NAME.gradients` for each parameter in the order of state_dict(), [P, 4]; `NAME.buffers` for each buffer after STEPS
    SGD steps, [B, 4]; `NAME.losses` of those steps, [STEPS]. The network must use no random numbers in training."""
    network.double()
    for salt, (tensor_name, tensor) in enumerate(network.state_dict().items()):
        fill(tensor_name, tensor, salt)
    made = {}
    with torch.no_grad():
        made["logits"] = network.eval()(make_batch(channels, size, 0)[0])
    network.train()
    losses = []
    for step in range(STEPS):
        images, labels = make_batch(channels, size, step)
        logits = network(images)
        loss = nn.functional.cross_entropy(logits, labels)
        losses.append(loss.item())
        network.zero_grad()
        loss.backward()
        if step == 0:
            made["training.logits"] = logits.detach()
            made["gradients"] = sketch([parameter.grad for parameter in network.parameters()])
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= RATE * parameter.grad
    made["buffers"] = sketch(network.buffers())
    made["losses"] = torch.tensor(losses, dtype=torch.float64)
    return {f"{name}.{key}": value.contiguous() for key, value in made.items()}


def make_published(network, channels, size):
    """Trains a network for a few steps, as if to publish it. Returns its state_dict() in half precision, and the
    float64 logits of those weights for make_batch(channels, size, 0)."""
    network.train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    for step in range(STEPS):
        images, labels = make_batch(channels, size, step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(images.float()), labels).backward()
        optimizer.step()
    network.half()
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with torch.no_grad():
        logits = network.double().eval()(make_batch(channels, size, 0)[0])
    return state, logits


def describe_tensors(key, network):
    """Returns a line of C++: key, number of parameters, and the digest of a line `name dtype [shape]` per tensor,
    sorted."""
    lines = []
    for name, tensor in network.state_dict().items():
        dtype = "int64" if tensor.dtype == torch.int64 else "float32"
        lines.append(f"{name} {dtype} [{', '.join(map(str, tensor.shape))}]\n")
    digest = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    return f'{{{key}, {parameters}, "{digest}"}},\n'
