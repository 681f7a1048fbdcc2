#!/usr/bin/env python3
"""Follows docs/guides/train_a_timm_model.md: python3 tests/exported/check_timm_guide.py PATH/TO/host

Runs its commands and its Python on small pictures, without pretrained weights and for one epoch. Exit status 0: each
succeeded, and the trained model predicts in timm what the host predicts. 77: Python lacks torch, timm or safetensors.
"""
import csv
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

try:
    import numpy
    import safetensors  # noqa: F401
    import timm  # noqa: F401
    import torch
    from PIL import Image
except ImportError as missing:
    print(f"check_timm_guide: skipped: {missing}; install torch, timm, safetensors, numpy and pillow")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLASSES = {"grass": (40, 160, 60), "sea": (40, 70, 180), "sunset": (190, 90, 50)}


def write_photos(folder):
    random = numpy.random.default_rng(0)
    for name, color in CLASSES.items():
        (folder / name).mkdir(parents=True)
        for number in range(10):
            noise = random.integers(-30, 30, (256, 256, 3))
            Image.fromarray((numpy.array(color) + noise).astype("uint8")).save(folder / name / f"{number}.png")


def adapt(command):
    """The command with this Python, and without a download."""
    command = command.replace("python scripts/", f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT))}/scripts/")
    return command.replace("--arg pretrained=True ", "").replace("host --config", "host --set train.epochs=1 --config")


def predict_in_timm(code, scratch):
    """The outputs of the guide's model for the photos of predictions.csv."""
    names = {}
    exec(code, names)  # creates `model`
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    with open(scratch / "predictions.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    images = [numpy.asarray(Image.open(scratch / "photos" / row["name"])) for row in rows]
    batch = (torch.tensor(numpy.stack(images))[:, 16:240, 16:240] / 255 - mean) / deviation
    with torch.no_grad():
        return rows, names["model"].eval()(batch.permute(0, 3, 1, 2).contiguous()).softmax(1)


def main():
    host = pathlib.Path(sys.argv[1]).resolve()
    guide = (ROOT / "docs/guides/train_a_timm_model.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", guide, re.M | re.S)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        write_photos(scratch / "photos")
        environment = {**os.environ, "PATH": f"{host.parent}:{os.environ['PATH']}"}
        os.chdir(scratch)
        predicted = False
        for language, text in blocks:
            if language == "toml":
                (scratch / "timm.toml").write_text(text, encoding="utf-8")
            elif language == "python":
                rows, scores = predict_in_timm(text, scratch)
                for row, expected in zip(rows, scores):
                    name, probability = sorted(CLASSES)[expected.argmax()], expected.max().item()
                    # float32 rounding in a network of this depth is below the fourth digit.
                    if row["top.1"] != name or abs(float(row["top.1.probability"]) - probability) > 1e-4:
                        sys.exit(f"check_timm_guide: timm predicts {name}, {probability}; host predict has {row}")
                predicted = len(rows) > 0
            else:
                for command in text.replace("\\\n", " ").splitlines():
                    if not command.startswith("pip "):
                        subprocess.run(["bash", "-c", adapt(command)], check=True, env=environment, cwd=scratch)
        if not predicted:
            sys.exit("check_timm_guide: the guide has no Python that creates the model")
    print("every command of the guide succeeded")


if __name__ == "__main__":
    main()
