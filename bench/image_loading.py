"""Compares image loading of Tenon with other libraries: JPEG files -> random-resized-crop 224 -> horizontal flip ->
normalise -> float batches of 64 images.

    python bench/image_loading.py --data DIR --make PHOTO...
    python bench/image_loading.py --data DIR [--cores 1 2] [--rounds 5] [--seconds 6] [--extra NAME=COMMAND]...

DIR contains folders of JPEG files. The first command writes them: 1,000 files of 500 x 375 and 400 of 1280 x 960 pixels,
4:2:0 with quality 90, which are scaled windows of the photographs. The second one measures in each round all peers one
after another, on the same cores, with the files in the page cache. It prints the medians of images/s at the consumer,
and the medians of the ratios of Tenon to each peer.

tenon, tenon_plain       `host data` with image_folder, with antialiasing as in Pillow, and without
tenon_full               like tenon, but every JPEG is decoded at full size
tenon_template           like tenon, with the dataset that `host new plugin --kind dataset --template images` writes,
                         which is compiled with g++
pil, torchvision         torchvision's v2 transforms with antialiasing, after Pillow and after
                         torchvision.io.decode_jpeg, in a torch DataLoader
cv2                      cv2.imdecode, cv2.resize (bilinear, no antialiasing), numpy, in a torch DataLoader
dali, dali_plain         NVIDIA DALI on the CPU, with antialiasing and without
NAME=COMMAND             any program that prints a JSON line with "value"; {set} and {cores} are replaced

A peer that is not installed has the value nan. Needs the Python packages torch, torchvision and numpy; the peers cv2
and dali need opencv-python-headless and nvidia-dali-cuda130.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCH = 64
SETS = {"500x375": (500, 375, 1000), "1280x960": (1280, 960, 400)}
PEERS = ["tenon", "tenon_plain", "tenon_full", "tenon_template", "pil", "torchvision", "cv2", "dali", "dali_plain"]

RUN_FILE = """
[model]
use = "small_cnn"
params = {{ channels = 3, classes = 1 }}
[data]
batch_size = {batch}
workers = {workers}
[data.train]
use = "{dataset}"
[data.train.params]
path = "{path}"
scaled_decoding = {scaled}
transforms = ["random_resized_crop(224, antialias={antialias})", "horizontal_flip()", "normalize()"]
[[loss]]
use = "cross_entropy"
[train]
epochs = 1
[optimizer]
use = "sgd"
lr = 0.1
"""


def make_images(data, names):
    from PIL import Image
    random.seed(0)
    photos = [Image.open(name).convert("RGB") for name in names]
    for folder, (width, height, count) in SETS.items():
        (data / folder).mkdir(parents=True)
        for index in range(count):
            photo = photos[index % len(photos)]
            scale = random.uniform(1, min(photo.width / width, photo.height / height))
            x, y = random.uniform(0, photo.width - scale * width), random.uniform(0, photo.height - scale * height)
            window = photo.resize((width, height), Image.Resampling.BICUBIC, (x, y, x + scale * width, y + scale * height))
            window.save(data / folder / f"{index:04}.jpg", quality=90, subsampling="4:2:0")


def list_files(folder):
    return sorted(str(path) for path in pathlib.Path(folder).glob("*.jpg"))


def make_template_plugin(host, place, folder):
    """Compiles the dataset of the template, and lists the files for it. Returns its name and the list."""
    project = pathlib.Path(place) / "project"
    subprocess.run([host, "new", "plugin", "photo_list", "--template", "images", "--output", str(project)], check=True,
                   stdout=subprocess.DEVNULL)
    include, plugin = ROOT / "plugin_api/include", f"{place}/photo_list.so"
    subprocess.run(["g++", "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{include}",
                    str(project / "photo_list.cpp"), "-o", plugin], check=True)
    subprocess.run([host, "note", plugin], check=True, stdout=subprocess.DEVNULL)
    photos = pathlib.Path(place) / "photos.txt"
    photos.write_text("".join(f"0 {pathlib.Path(file).resolve()}\n" for file in list_files(folder)))
    return "photo_list", str(photos)


def time_tenon(peer, folder, arguments):
    """Uses one class, which is a link to the folder of files."""
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "images").mkdir()
        (pathlib.Path(place) / "images/all").symlink_to(pathlib.Path(folder).resolve())
        dataset, path = "image_folder", f"{place}/images"
        if peer == "tenon_template":
            dataset, path = make_template_plugin(arguments.host, place, folder)
        run_file = pathlib.Path(place) / "run.toml"
        run_file.write_text(
            RUN_FILE.format(batch=BATCH, workers=arguments.workers, path=path, dataset=dataset,
                            scaled=str(peer != "tenon_full").lower(), antialias=str(peer != "tenon_plain").lower()))
        command = [arguments.host, "data", "--config", str(run_file), "--plugin-dir", place, "--seconds", str(arguments.seconds), "--json"]
        subprocess.run(command[:-2] + ["1", "--json"], check=True, stdout=subprocess.DEVNULL)  # warms the page cache
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        return found["loader"]["samples_per_s"]


def crop_box(width, height, random):
    """Samples the crop like torchvision's RandomResizedCrop(224)."""
    import math
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


def make_torch_dataset(peer, files):
    import numpy
    import torch
    if peer == "cv2":
        import cv2
        cv2.setNumThreads(0)
        scale = numpy.float32([1 / (255 * s) for s in STD])
        shift = numpy.float32([-m / s for m, s in zip(MEAN, STD)])

        def read(file):
            image = cv2.imdecode(numpy.fromfile(file, numpy.uint8), cv2.IMREAD_COLOR_RGB)
            x, y, w, h = crop_box(image.shape[1], image.shape[0], random)
            image = cv2.resize(image[y:y + h, x:x + w], (224, 224), interpolation=cv2.INTER_LINEAR)
            if random.random() < 0.5:
                image = cv2.flip(image, 1)
            return torch.from_numpy(numpy.ascontiguousarray((image * scale + shift).transpose(2, 0, 1)))
    else:
        from torchvision.transforms import v2
        tail = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]
        floats = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
        if peer == "pil":
            from PIL import Image
            transform = v2.Compose(tail + [v2.ToImage()] + floats)

            def read(file):
                with Image.open(file) as image:
                    return transform(image.convert("RGB"))
        else:
            from torchvision.io import ImageReadMode, decode_jpeg, read_file
            transform = v2.Compose(tail + floats)

            def read(file):
                return transform(decode_jpeg(read_file(file), ImageReadMode.RGB))

    class Files(torch.utils.data.Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, index):
            return read(files[index]), 0

    return Files()


def torch_batches(peer, files, workers):
    import torch
    torch.set_num_threads(1)
    dataset = make_torch_dataset(peer, files)
    sampler = torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=10**8)
    return iter(torch.utils.data.DataLoader(dataset, BATCH, sampler=sampler, num_workers=workers))


def dali_batches(peer, files, workers):
    import torch
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=BATCH, num_threads=workers, device_id=None)
    def make():
        encoded, label = fn.readers.file(files=files, random_shuffle=True)
        image = fn.decoders.image_random_crop(encoded, device="cpu", random_area=[0.08, 1], random_aspect_ratio=[0.75, 4 / 3])
        image = fn.resize(image, size=(224, 224), interp_type=types.INTERP_LINEAR, antialias=peer == "dali")
        return fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="CHW", mean=[255 * m for m in MEAN],
                                        std=[255 * s for s in STD], mirror=fn.random.coin_flip()), label

    pipeline = make()
    pipeline.build()
    while True:
        images, labels = pipeline.run()
        yield torch.from_numpy(images.as_array()), labels


def time_peer(peer, folder, arguments):
    make = dali_batches if peer.startswith("dali") else torch_batches
    batches = make(peer, list_files(folder), arguments.workers)
    images = next(batches)[0]
    assert tuple(images.shape) == (BATCH, 3, 224, 224) and abs(float(images.mean())) < 1.5
    begin = time.perf_counter()
    while time.perf_counter() - begin < 2:  # drains the prefetched batches
        next(batches)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < arguments.seconds:
        next(batches)
        count += BATCH
    return count / (time.perf_counter() - begin)


def run_in_turn(arguments):
    extra = dict(one.split("=", 1) for one in arguments.extra)
    results = {}
    for _ in range(arguments.rounds):
        for cores in arguments.cores:
            for folder in sorted(path for path in pathlib.Path(arguments.data).iterdir() if path.is_dir()):
                for peer in arguments.peers + list(extra):
                    command = [sys.executable, __file__, "--data", str(folder), "--run", peer, "--workers", str(cores),
                               "--seconds", str(arguments.seconds), "--host", arguments.host]
                    if peer in extra:
                        command = extra[peer].format(set=folder.name, cores=cores).split()
                    outcome = subprocess.run(["taskset", "-c", f"0-{cores - 1}"] + command, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
                    value = json.loads(outcome.stdout.splitlines()[-1])["value"] if outcome.stdout else float("nan")
                    print(f"{cores} cores, {folder.name}, {peer}: {value:.0f} images/s", file=sys.stderr)
                    results.setdefault((cores, folder.name), {}).setdefault(peer, []).append(value)
    for (cores, name), peers in results.items():
        print(f"\n{cores} cores, {name}\n\n| | images/s | tenon / it | tenon_plain / it |\n|---|---|---|---|")
        for peer, values in peers.items():
            ratios = [statistics.median(a / b for a, b in zip(peers.get(ours, values), values)) for ours in
                      ("tenon", "tenon_plain")]
            print(f"| {peer} | {statistics.median(values):.0f} | {ratios[0]:.2f} | {ratios[1]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--host", default=str(ROOT / "build/release/bin/host"))
    parser.add_argument("--cores", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS)
    parser.add_argument("--extra", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--run", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs="+", metavar="PHOTO", help="write the images of DIR from these photographs")
    arguments = parser.parse_args()
    if arguments.make:
        return make_images(pathlib.Path(arguments.data), arguments.make)
    if not arguments.run:
        return run_in_turn(arguments)
    time_one = time_tenon if arguments.run.startswith("tenon") else time_peer
    print(json.dumps({"peer": arguments.run, "value": time_one(arguments.run, arguments.data, arguments)}), flush=True)
    os._exit(0)  # without waiting for workers


if __name__ == "__main__":
    main()
