#!/usr/bin/env python3
"""Checks `export_model.py --onnx` with onnxruntime: python3 tests/exported/check_onnx.py PATH/TO/host

Exports a convolutional network with batch norm, trains it with the host, and converts it to ONNX in both ways: from the archive of
`host export`, and from the untrained archive with the weights of `host export`. Converts the TorchScript of each bundled model.
Exit status 0: for other batch sizes, onnxruntime computes what `host predict` wrote. 77: Python lacks torch, safetensors, onnxscript or onnxruntime.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

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


SYNTHETIC = """[data.train]
use = "synthetic"
params = {{ samples = 7, classes = 4, channels = {0}, height = {1}, width = {1} }}
[data.validation]
like = "train"
[[loss]]
use = "cross_entropy"
"""
TEXT = """[data.train]
use = "text_windows"
params = { path = "text.txt", context = 16 }
[data.validation]
like = "train"
[[loss]]
use = "sequence_cross_entropy"
"""
MASKS = """[data.train]
use = "segmentation"
params = { path = "masks", classes = 2, transforms = ["center_crop(16)", "normalize()"] }
[data.validation]
like = "train"
[[loss]]
use = "cross_entropy"
"""
PAIRS = """[data.train]
use = "pairs"
params = { path = "pairs.csv", transforms = ["center_crop(16)", "normalize()"] }
[data.validation]
like = "train"
[[loss]]
use = "bce_with_logits"
inputs = { logits = "model.same", target = "data.label" }
"""
# The models of the plugins, and their data.
BUNDLED = {
    "efficientnet": ("params = { width = 0.25, depth = 0.25 }", SYNTHETIC.format(3, 32)),
    "gpt": ("params = { context = 16, layers = 2, heads = 2, width = 16 }", TEXT),
    "mlp": ("params = { hidden = [16] }", SYNTHETIC.format(1, 8)),
    "resnet": ("params = { width = 8 }", SYNTHETIC.format(3, 64)),
    "siamese_cnn": ("params = { width = 4, values = 2 }", PAIRS),
    "small_cnn": ("params = { width = 8, values = 2 }", SYNTHETIC.format(3, 16)),
    "unet": ("params = { depth = 2, width = 4, classes = 2 }", MASKS),
    "vit": ('params = { variant = "ti_16", image_size = 32, width = 24, depth = 2, heads = 3, mlp_width = 32 }',
            SYNTHETIC.format(3, 32))}


def write_picture(path, seed, size=16):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = bytes((seed * 37 + place * (7 + seed)) % 256 for place in range(3 * size * size))
    path.write_bytes(b"P6\n%d %d\n255\n" % (size, size) + pixels)


def write_mask(path, size=16):
    """A grey PNG with the classes 0 and 1."""
    path.parent.mkdir(parents=True, exist_ok=True)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(x >= y for x in range(size)) for y in range(size))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_data(folder):
    (folder / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 10, encoding="utf-8")
    lines = ["first,second,label"]
    for number in range(7):
        write_picture(folder / f"masks/images/{number}.ppm", number)
        write_mask(folder / f"masks/masks/{number}.png")
        write_picture(folder / f"{number}.ppm", number)
        lines.append(f"{number}.ppm,{(number + 1) % 7}.ppm,{number % 2}")
    (folder / "pairs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def check_bundled(folder, run, host):
    """Compares each bundled model with `host predict`, to 1e-5 of the largest output."""
    write_data(folder)
    for name, (params, data) in BUNDLED.items():
        (folder / f"{name}.toml").write_text(
            f'[run]\nthreads = 1\n[model]\nuse = "{name}"\n{params}\n[data]\nbatch_size = 7\nworkers = 0\n{data}'
            '[train]\nsteps = 3\n[optimizer]\nuse = "adamw"\nlr = 1e-3\n', encoding="utf-8")
        run(host, "--config", f"{name}.toml")
        run(host, "export", "--config", f"{name}.toml", "--output", f"{name}.pt")
        run(sys.executable, ROOT / "scripts/export_model.py", "--onnx", f"{name}.onnx", f"{name}.pt")
        session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), providers=["CPUExecutionProvider"])
        description = json.loads(session.get_modelmeta().custom_metadata_map["tenon.json"])
        fields = [given["field"] for given in description["inputs"]]
        run(host, "predict", "--config", f"{name}.toml", "--data", "validation", "--fields", ",".join(fields), "--output",
            f"{name}.safetensors")
        predicted = safetensors.torch.load_file(folder / f"{name}.safetensors")
        given = {one.name: predicted[field].numpy()[:5] for one, field in zip(session.get_inputs(), fields)}
        for output, found in zip(session.get_outputs(), session.run(None, given)):
            expected = predicted[output.name][:5]
            difference = (torch.from_numpy(found) - expected).abs().max().item()
            limit = 1e-5 * max(1.0, expected.abs().max().item())
            if found.shape != tuple(expected.shape) or difference > limit:
                sys.exit(f"check_onnx: {name}: {output.name} {list(found.shape)} of onnxruntime differs by {difference} from that "
                         f"of host predict, {list(expected.shape)}; expected at most {limit}")
            print(f"{name}.onnx, {output.name}: largest difference {difference:.2g}, at most {limit:.2g} allowed")


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
        check_bundled(scratch, run, host)
    print("onnxruntime computes what the host predicts")


if __name__ == "__main__":
    main()
