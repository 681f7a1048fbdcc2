#!/usr/bin/env python3
"""Checks `export_model.py --onnx` with onnxruntime: python3 tests/exported/check_onnx.py PATH/TO/host

Exports a convolutional network with batch norm, trains it with the host, and converts it to ONNX in both ways: from the archive of
`host export`, and from the untrained archive with the weights of `host export`. Exit status 0: for two batch sizes,
onnxruntime computes what `host predict` wrote. 77: Python lacks torch, safetensors, onnxscript or onnxruntime.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import onnxruntime
    import onnxscript  # noqa: F401
    import safetensors.torch
    import torch
except ImportError as missing:
    print(f"check_onnx: skipped: {missing}; install torch, safetensors, onnxscript and onnxruntime")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/parity"))
from make_exported import Cnn  # noqa: E402

NETWORK = f"""
import sys
import torch

sys.path.insert(0, {str(ROOT / "tests/parity")!r})
from make_exported import Cnn


def make():
    torch.manual_seed(1)
    return Cnn()
"""
RUN_FILE = """
[model]
use = "exported"
params = { path = "untrained.pt2", outputs = ["logits"] }
[data]
batch_size = 16
workers = 0
[data.train]
use = "digits"
params = { split = "train" }
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[optimizer]
use = "adamw"
lr = 1e-2
[run]
threads = 1
[train]
steps = 40
"""

# On the longest path: the convolution with 9 products and its bias, a batch norm of at most 8 roundings, and the linear
# layer with 16 products and its bias.
ROUNDINGS = 9 + 1 + 8 + 16 + 1
UNIT = 2.0**-24  # the largest relative error of a float32 rounding


def limit_error(weights, images):
    """The largest difference between two float32 evaluations of the network, for each output.

    ROUNDINGS * UNIT times the outputs of the network with the absolute values of all that it adds and multiplies:
    Higham, Accuracy and Stability of Numerical Algorithms, section 3.5. ReLU and max pooling do not increase an error.
    """
    network = Cnn()
    network.load_state_dict({name: -tensor.abs() if name.endswith("running_mean") else tensor.abs()
                             for name, tensor in weights.items()})
    with torch.no_grad():
        return 2 * ROUNDINGS * UNIT * network.double().eval()(images.double().abs())


def evaluate(weights, images):
    network = Cnn()
    network.load_state_dict(weights)
    with torch.no_grad():
        return network.eval()(images)


def check_outputs(file, images, expected, limit):
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    for rows in (1, 37):
        (found,) = session.run(None, {given.name: images[:rows].numpy()})
        difference = (torch.from_numpy(found).double() - expected[:rows]).abs()
        if difference.shape != limit[:rows].shape or not bool((difference <= limit[:rows]).all()):
            sys.exit(f"check_onnx: {file.name}, {rows} images: the outputs {list(found.shape)} of onnxruntime differ by "
                     f"{difference.max().item()} from those of host predict; expected at most {limit[:rows].min()}")
        print(f"{file.name}, {rows} images: largest difference {difference.max().item():.2g}, "
              f"at most {limit[:rows].min().item():.2g} allowed")


def main():
    host = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)

        def run(*command):
            subprocess.run([str(part) for part in command], check=True, cwd=scratch)

        def export_model(*arguments):
            run(sys.executable, ROOT / "scripts/export_model.py", *arguments)

        (scratch / "run.toml").write_text(RUN_FILE, encoding="utf-8")
        (scratch / "network.py").write_text(NETWORK, encoding="utf-8")
        export_model("--model", "network.py:make", "--input", "image=2,1,8,8",
                     "untrained.pt2")
        run(host, "--config", "run.toml")
        run(host, "export", "--config", "run.toml", "--output", "trained.pt2")
        run(host, "export", "--config", "run.toml", "--output", "trained.safetensors")
        run(host, "predict", "--config", "run.toml", "--data", "validation", "--fields", "image", "--output",
            "predicted.safetensors")
        export_model("--onnx", "from_archive.onnx", "trained.pt2")
        export_model("--onnx", "from_weights.onnx", "--weights", "trained.safetensors", "untrained.pt2")

        predicted = safetensors.torch.load_file(scratch / "predicted.safetensors")
        weights = safetensors.torch.load_file(scratch / "trained.safetensors")
        images, expected = predicted["image"], predicted["logits"].double()
        limit = limit_error(weights, images)
        # The limit must distinguish the trained network from one with slightly different weights.
        other = {name: tensor * 1.01 for name, tensor in weights.items()}
        if not bool(((evaluate(other, images).double() - expected).abs() > limit).any(dim=1).all()):
            sys.exit("check_onnx: the limit is larger than the effect of 1 % on the weights")
        for name in ("from_archive.onnx", "from_weights.onnx"):
            check_outputs(scratch / name, images, expected, limit)
    print("onnxruntime computes what the host predicts")


if __name__ == "__main__":
    main()
