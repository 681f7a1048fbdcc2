"""Compares reading Parquet files with Hugging Face's datasets in a torch DataLoader: shuffled batches of 64 samples.

    python bench/parquet_loading.py --work DIR [--rounds 3] [--seconds 5]

Writes two folders into DIR with the datasets package: `images`, 2000 JPEG images of 256 x 256 with class labels in row
groups of 100, and `table`, 200000 rows of 16 float32 columns in row groups of 1000. Each round measures all cases one
after another, with two workers and the files in the page cache. Prints medians of samples/s at the consumer.

images          decoded, resize(72), center_crop(64), as bytes; both decode JPEG at full size
images, small   the same with row_group_bytes = 16 MiB, a quarter of the images
table           the 16 numbers of a row
table, small    the same with row_group_bytes = 1 MiB, a 14th of the table

Needs datasets, torch, torchvision, numpy and Pillow.
"""

import argparse
import io
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH, WORKERS, FEATURES = 64, 2, 16

RUN_FILE = """
[model]
use = "{model}"
[data]
batch_size = {batch}
workers = {workers}
[data.train]
use = "parquet"
[data.train.params]
path = "{path}"
{params}
[[loss]]
use = "cross_entropy"
[train]
epochs = 1
[optimizer]
use = "sgd"
lr = 0.1
"""


def write_images(folder):
    import datasets
    import numpy
    from PIL import Image

    random = numpy.random.default_rng(0)
    rows = {"image": [], "label": []}
    for number in range(2000):
        pixels = random.integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
        large = Image.fromarray(pixels).resize((256, 256), Image.BICUBIC)
        noisy = numpy.asarray(large).astype("int16") + random.integers(-20, 20, (256, 256, 1))
        stream = io.BytesIO()
        Image.fromarray(noisy.clip(0, 255).astype("uint8")).save(stream, "JPEG", quality=90)
        rows["image"].append({"bytes": stream.getvalue(), "path": f"{number}.jpg"})
        rows["label"].append(number % 10)
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(num_classes=10)})
    data = datasets.Dataset.from_dict(rows, features=features)
    data.to_parquet(folder / "train-00000-of-00001.parquet", batch_size=100)


def write_table(folder):
    import datasets
    import numpy

    random = numpy.random.default_rng(0)
    columns = {f"x{number}": random.normal(size=200000).astype("float32") for number in range(FEATURES)}
    data = datasets.Dataset.from_dict(columns | {"label": random.integers(0, 10, 200000)})
    data = data.cast_column("label", datasets.ClassLabel(num_classes=10))
    data.to_parquet(folder / "train-00000-of-00001.parquet", batch_size=1000)


def run_tenon(path, kind, seconds, memory):
    params = [f"row_group_bytes = {memory}"]
    if kind == "images":
        params += ['transforms = ["resize(72)", "center_crop(64)"]', "scaled_decoding = false"]
    else:
        params += ['columns = ["label"]', f"features = {json.dumps([f'x{number}' for number in range(FEATURES)])}"]
    config = path / f"{kind}-{memory}.toml"
    model = "small_cnn" if kind == "images" else "mlp"
    config.write_text(RUN_FILE.format(model=model, path=path / kind, batch=BATCH, workers=WORKERS, params="\n".join(params)))
    command = [ROOT / "build/release/bin/host", "data", "--config", config, "--seconds", str(seconds), "--json"]
    found = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout
    return json.loads(found)


def collate_table(samples):
    import torch

    features = torch.stack([torch.stack([sample[f"x{number}"] for number in range(FEATURES)]) for sample in samples])
    return features, torch.stack([sample["label"] for sample in samples])


class Transformed:
    def __init__(self):
        from torchvision.transforms import v2

        self.chain = v2.Compose([v2.PILToTensor(), v2.Resize(72, antialias=True), v2.CenterCrop(64)])

    def __call__(self, rows):
        return {"image": [self.chain(image.convert("RGB")) for image in rows["image"]], "label": rows["label"]}


def run_datasets(path, kind, seconds):
    import datasets
    import torch

    torch.set_num_threads(1)
    data = datasets.load_dataset("parquet", data_dir=str(path / kind), split="train", cache_dir=str(path / "cache"))
    data = data.with_transform(Transformed()) if kind == "images" else data.with_format("torch")
    loader = torch.utils.data.DataLoader(
        data, BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True,
        collate_fn=collate_table if kind == "table" else None)
    samples, start, end = 0, None, None
    while end is None or time.perf_counter() < end:
        for batch in loader:
            if start is None:  # the workers have started
                start = time.perf_counter()
                end = start + seconds
                continue
            samples += BATCH
            if time.perf_counter() >= end:
                break
    return samples / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    given = parser.parse_args()
    given.work = given.work.resolve()
    os.environ["HF_HUB_OFFLINE"] = "1"
    for kind, write in {"images": write_images, "table": write_table}.items():
        if not (given.work / kind).exists():
            (given.work / kind).mkdir(parents=True)
            write(given.work / kind)
    rates = {}
    for _ in range(given.rounds):
        for kind, small in {"images": 16 << 20, "table": 1 << 20}.items():
            for name, memory in {kind: 1 << 30, f"{kind}, small": small}.items():
                found = run_tenon(given.work, kind, given.seconds, memory)
                rates.setdefault(f"tenon {name}", []).append(found["loader"]["samples_per_s"])
            rates.setdefault(f"datasets {kind}", []).append(run_datasets(given.work, kind, given.seconds))
    for name, values in rates.items():
        print(f"{name:24} {statistics.median(values):12.0f} samples/s ({min(values):.0f} to {max(values):.0f})")


if __name__ == "__main__":
    main()
