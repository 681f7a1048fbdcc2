"""What a network that classifies images makes of weights and images from a formula, so that neither need be kept:
logits, and of gradients and buffers a few figures each. tests/bundled/sketched_network.h has the same formulas."""
import hashlib

import torch
from torch import nn

CLASSES = 5
BATCH = 4
STEPS = 5
RATE = 1e-3


def scatter(shape, salt):
    """Numbers in [-0.5, 0.5) without a visible pattern, exact in float64: the test has the same formula."""
    index = torch.arange(torch.Size(shape).numel())
    return (((index * index * 31 + index * 17 + salt * 101) % 65521).double() / 65521 - 0.5).reshape(shape)


def fill(name, tensor, salt):
    """Gives a weight or buffer about the size that it has in training."""
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
    """[T, 4]: for each tensor its norm and three elements, the first, the middle and the last."""
    rows = []
    for tensor in tensors:
        flat = tensor.detach().double().flatten()
        rows.append(torch.stack([flat.norm(), flat[0], flat[len(flat) // 2], flat[-1]]))
    return torch.stack(rows) if rows else torch.zeros(0, 4, dtype=torch.float64)


def make_batch(channels, size, step):
    images = scatter((BATCH, channels, size, size), 1000 + step) * 3
    return images, (torch.arange(BATCH) * 3 + step) % CLASSES


def sketch_network(name, network, channels, size):
    """By name, as float64: `NAME.logits` of evaluation and `NAME.training.logits`, [BATCH, CLASSES]; `NAME.gradients`,
    for each parameter in the order of state_dict(), [P, 4]; `NAME.buffers`, likewise for all buffers after STEPS steps
    of SGD, [B, 4]; `NAME.losses` of those steps, [STEPS]. The network must draw nothing while it trains."""
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
    """What somebody would publish of a network that has trained a little: its state_dict() in half precision and, in
    float64, the logits that those weights give for make_batch(channels, size, 0)."""
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
    """A line of C++: key, parameters, and the digest of a line `name dtype [extents]` for each tensor, sorted."""
    lines = []
    for name, tensor in network.state_dict().items():
        dtype = "int64" if tensor.dtype == torch.int64 else "float32"
        lines.append(f"{name} {dtype} [{', '.join(map(str, tensor.shape))}]\n")
    digest = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    return f'{{{key}, {parameters}, "{digest}"}},\n'
