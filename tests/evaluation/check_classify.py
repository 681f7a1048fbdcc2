#!/usr/bin/env python3
"""Compares examples/python/classify.py with `host predict`: python3 tests/evaluation/check_classify.py PATH/TO/host

Trains a small network on pictures of three classes, exports it as TorchScript, and classifies pictures that are turned
upright, resized and cropped. Exit status 0: names and probabilities agree. 77: Python lacks torch, numpy or Pillow, so nothing was
compared.
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch  # noqa: F401
    from PIL import ExifTags, Image
except ImportError as missing:
    print(f"check_classify: skipped: {missing}; install torch, numpy and pillow")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLASSES = {"grass": (40, 160, 60), "sea": (40, 70, 180), "sunset": (190, 90, 50)}
RUN_FILE = """
[model]
use = "small_cnn"
params = {{ channels = 3, classes = 3, width = 8 }}
[data]
batch_size = 6
workers = 0
[data.train]
use = "image_folder"
params = {{ path = "images", transforms = {transforms} }}
[data.validation]
use = "image_folder"
params = {{ path = "images", transforms = {transforms} }}
[[loss]]
use = "cross_entropy"
[train]
epochs = 6
[optimizer]
use = "adamw"
lr = 1e-2
"""


def check(condition, message):
    if not condition:
        sys.exit(f"check_classify: {message}")


def write_images(folder):
    random = numpy.random.default_rng(0)
    for name, color in CLASSES.items():
        (folder / name).mkdir(parents=True)
        for number in range(6):
            noise = random.integers(-30, 30, (40 + 3 * number, 52, 3))
            exif = Image.Exif()
            exif[ExifTags.Base.Orientation] = 1 + number
            Image.fromarray((numpy.array(color) + noise).astype("uint8")).save(folder / name / f"{number}.png", exif=exif)


def main():
    check(len(sys.argv) == 2, "usage: check_classify.py PATH/TO/host")
    host = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        write_images(scratch / "images")
        transforms = '["resize(24)", "center_crop(20)", "normalize()"]'
        (scratch / "run.toml").write_text(RUN_FILE.format(transforms=transforms), encoding="utf-8")

        def run(*arguments):
            settings = ["--config", scratch / "run.toml", "--set", f'run.output_dir="{scratch}/runs"']
            subprocess.run([host, *arguments, *settings, "--set", "run.device=cpu"], check=True, stdout=subprocess.PIPE)

        run()
        run("export", "--output", scratch / "model.pt")
        run("predict", "--data", "validation", "--apply", "softmax", "--output", scratch / "predicted.csv")
        with open(scratch / "predicted.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        images = sorted((scratch / "images").glob("*/*.png"))
        example = [sys.executable, ROOT / "examples/python/classify.py", scratch / "model.pt", *images]
        printed = subprocess.run(example, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        check(len(rows) == len(printed) == len(images), "the number of predictions differs")
        for row, image, line in zip(rows, images, printed):
            path, name, probability = line.split("\t")
            columns = [key for key in row if key.startswith("logits.softmax.")]
            expected = {key.rsplit(".", 1)[1]: float(row[key]) for key in columns}
            check(path == str(image), f"{path} is printed for {image}")
            check(name == max(expected, key=expected.get), f"{path} is {name} in Python; host predict has {expected}")
            check(name == image.parent.name, f"{path} is {name}")
            # Six digits are printed; float32 rounding in a network of this depth is below the sixth.
            check(abs(float(probability) - expected[name]) < 2e-5, f"{path}: {probability}; host predict has {expected}")
    print(f"{len(images)} images have the same classes and probabilities in Python")


if __name__ == "__main__":
    main()
