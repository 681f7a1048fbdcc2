#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets that other programs can write: make_seeds.py SEEDS

NumPy writes .npy, Pillow .jpg and .png, tarfile .tar, the C compiler and objcopy shared libraries. The seeds of `exported`
come from make_seeds_of_exported.py, those of `tokenizer` from make_seeds_of_tokenizer.py, and those of `safetensors` from
the package.
"""
import io
import json
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile

import numpy
from PIL import Image

NOTE = {"format": 1, "id": "sharp", "version": "0.1.0", "license": "MIT", "doc": "A note.", "torch_build": "",
        "operators": ["aten::add.Tensor"], "abi_min": 65536, "abi_max": 65536,
        "components": [{"kind": "metric", "id": "sharp", "doc": "sharpness", "parameters": [
            {"name": "top_k", "type": "int", "default": "1", "range": "[1, 1e9]", "choices": [], "doc": "count"},
            {"name": "mode", "type": "string", "default": '"max"', "range": "", "choices": ["min", "max"], "doc": "é"},
            {"name": "decay", "type": "float", "default": "0.9", "range": "[0, 1)", "choices": [], "doc": ""},
            {"name": "sizes", "type": "ints", "default": "[1, 2]", "range": "(0, inf)", "choices": [], "doc": ""},
            {"name": "file", "type": "path", "default": "", "range": "", "choices": [], "doc": "required"}]}]}

SHORT_RUN_FILE = """[model]
use = "small_cnn"
[data]
batch_size = 64
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
epochs = 10
[optimizer]
use = "adamw"
lr = 1e-3
"""

LONG_RUN_FILE = """[run]
name = "r${HOME:-x}$${"
seed = 3
device = "cpu"
[plugins]
paths = ["a/b"]
[plugins.sha256]
"a.so" = "0000000000000000000000000000000000000000000000000000000000000000"
[model]
use = "mlp"
params = { hidden = [8, 4], classes = 3 }
weights_exclude = ["head.*"]
[model.weights_rename]
"^a\\\\." = "b."
[model.inputs]
x = "train.image"
[data]
batch_size = 4
workers = "auto"
sampler = "balanced"
class_names.label = ["a", "b\\u00e9"]
[data.train]
use = "image_folder"
params.path = "data/train"
subset = 0.5
[[data.train.change]]
at_epoch = 2
params.image_size = 128
[data.validation.near]
like = "train"
[data.test]
like = "train"
[[data.batch_transform]]
use = "mixup"
alpha = 0.2
[[loss]]
use = "cross_entropy"
weight = 0.5
params.label_smoothing = 0.1
[[callback]]
use = "early_stopping"
every = "2 epochs"
after = "100 steps"
[train]
steps = 1000
accumulate = 2
precision = "bf16"
clip_norm = 1.0
[train.average]
use = "ema"
decay = 0.99
[optimizer]
use = "sgd"
lr = 0.1
momentum = 0.9
[[optimizer.group]]
match = ["*.bias"]
lr_scale = 2
[schedule]
use = "cosine"
warmup = 0.1
[validation]
every = "0.5 epochs"
[checkpoint]
every = "10 steps"
keep = 2
monitor = "validation/loss"
[log]
every = "10 steps"
samples = 4
[distributed]
processes = 2
backend = "gloo"
"""

RUN_FILES = {
    "short": SHORT_RUN_FILE,
    "long": LONG_RUN_FILE,
    "overrides": SHORT_RUN_FILE + '\n--set\ntrain.epochs=3\nloss.0.weight=2\nrun.name=a b\ndata.validation.split="x"\n',
    "new_list": SHORT_RUN_FILE + "\n--set\nmetric.1.use=accuracy\ntrain.steps=5\nmodel.inputs={x=\"y\"}\n",
    "wrong_value": SHORT_RUN_FILE.replace("1e-3", '"much"').replace("64", "[64]"),
    "syntax": '# \u00e9\n"a\\u0062".\'c\' = [ 1, 0x1F, 1_0.5e-3, -inf, nan, true, """\nx\\\n  y""", 1979-05-27T07:32:00Z ]\n',
    "extends_itself": 'extends = "/proc/self/exe"\n' + SHORT_RUN_FILE,
}

SCHEMAS = {
    "integer": "1\n3\n[1, 1e9]\n\nsize = 7\n",
    "number": "2\n0.5\n(0, 1]\n\nsize = 1\n",
    "choice": '3\n"a"\n\na|b|c\nsize = "b"\n',
    "path": "4\n\n\n\nsize = \"x/../y\"\n",
    "integers": "5\n[1, 2]\n[0, inf)\n\nsize = [9223372036854775807]\n",
    "numbers": "6\n[0.1, -inf]\n\n\nsize = [1, 2.5]\n",
    "strings": '7\n["a"]\n\na|b\nsize = ["b", "a"]\n',
    "boolean": "0\nfalse\n\n\nsize = true\n",
}

MANIFEST = {"format": "tenon-checkpoint", "format_version": 1, "epoch": 3, "step": 120,
            "files": [{"name": "model.safetensors", "bytes": 42, "xxh128": "a" * 32}],
            "metrics": {"train/loss": 0.31, "validation/accuracy": "NaN"}}
FULL_MANIFEST = MANIFEST | {
    "class_names": {"label": ["cat", "b\u00e9"]}, "state": {"metric.train/loss": 0.5, "step": 9},
    "excluded_frozen_parameters": [{"name": "a.weight", "dtype": "F32", "shape": [3, 0], "xxh128": "b" * 32}]}

TEXTS = {
    "page": '<script>alert("x")</script> & \'y\'',
    "terminal": "\x1b[2J\x07\u202e\u200b\u0085 line\r\nERROR: fake\n\ttab",
    "formula": '=1+1,"quoted, text"\n-2',
    "shell": "$(rm -rf x); `y` 'z' \\ \"w\" *",
    "long": "\"" + "w" * 300 + "\" " + "v" * 300 + "\u00e9" * 150,
    "other_bytes": b"\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82",
}

CSVS = {
    "plain": ",name,label\na.png,1\n",
    "plain_rows": ",x,y\n1,-2.5e3\n+3,0x1\n",
    "quoted": ',a,"b ""c"""\r\n"1,\n2",3\r\n\r\n4,"5"\r\n',
    "one_column": ",x\n\n\"\"\n1",
    "semicolons": ";x;y\n1,5;2\n",
    "byte_order_mark": ",\ufeffx,y\n1,2",
    "open_quote": ',x\n"1',
    "reason_in_header": "0text after the closing quote,text after the closing quote\n1,2\n",
    "carriage_return": ",x\n1\r2\n3\r",
}


def write_array(array, version=None):
    stream = io.BytesIO()
    numpy.lib.format.write_array(stream, array, version=version)
    return stream.getvalue()


def make_arrays():
    return {"matrix": write_array(numpy.arange(6, dtype="<f4").reshape(2, 3)),
            "scalar": write_array(numpy.array(3, dtype="<i8")),
            "empty": write_array(numpy.zeros((0, 4), dtype="u1")),
            "version_2": write_array(numpy.zeros(3, dtype="?"), (2, 0)),
            "fortran": write_array(numpy.asfortranarray(numpy.zeros((2, 2)))),
            "records": write_array(numpy.zeros(2, dtype=[("a", "<i4"), ("b", "S3")]))}


def make_safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def make_array_files():
    tensor = {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}
    return {"matrix.npy": write_array(numpy.arange(6, dtype="<f4").reshape(3, 2)),
            "truth.npy": write_array(numpy.array([True, False]))[:-2] + b"\2\0",
            "no_element.npy": write_array(numpy.zeros((3, 0), dtype="u1")),
            "two.safetensors": make_safetensors(
                {"__metadata__": {"a": "b"}, "y": {"dtype": "BOOL", "shape": [2], "data_offsets": [8, 10]}, "x": tensor},
                bytes(8) + b"\2\1"),
            "nested.safetensors": make_safetensors({"__metadata__": {"a": {"b": {"c": 1}}}, "x": tensor}, bytes(8)),
            "three_offsets.safetensors": make_safetensors({"x": tensor | {"data_offsets": [0, 8, 8]}}, bytes(8)),
            "zero_byte.safetensors": make_safetensors(json.dumps({"x": tensor}).encode() + b"\0 more", bytes(8)),
            "negative_zero.safetensors": make_safetensors({"x": tensor}, bytes(8)).replace(b"[0, ", b"[-0,"),
            "no_name.safetensors": make_safetensors({"": tensor}, bytes(8))}


def make_tar(members, archive_format):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=archive_format) as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue().rstrip(b"\0").ljust(512, b"\0") + bytes(1024 + 512)


def make_tars():
    array = write_array(numpy.arange(3, dtype="<f4"))
    image = make_image("PNG", (4, 3), "RGB")
    samples = {"000.png": image, "000.cls": b"1", "000.v.npy": array, "001.png": image, "001.cls": b"0\n",
               "001.v.npy": array, "__class_names__": b'{"cls": ["a", "b"]}'}
    labels = {"a/0.json": b'{"category": 3}', "a/0.cls": b"1", "a/1.json": b'{"category": "x"}', "a/1.cls": b"2"}
    long = {"f" * 150 + "/0.cls": b"1", "\u00e9" * 60 + ".cls": b"2"}
    tars = {"samples": make_tar(samples, tarfile.USTAR_FORMAT), "labels": make_tar(labels, tarfile.USTAR_FORMAT),
            "gnu": make_tar(long, tarfile.GNU_FORMAT), "pax": make_tar(long, tarfile.PAX_FORMAT)}
    return {name: pad_archive(data) for name, data in tars.items()}


def pad_archive(data):
    """An archive is whole blocks, and ends with two empty ones."""
    return data + bytes(-len(data) % 512)


def make_image(image_format, size, mode, **options):
    pixels = numpy.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), dtype="uint8")
    stream = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(stream, image_format, **options)
    return stream.getvalue()


def make_images():
    """Returns the seeds of image_window and those of images."""
    exif = Image.Exif()
    exif[274] = 6
    images = {"colour.jpg": make_image("JPEG", (17, 19), "RGB", quality=60),
              "progressive.jpg": make_image("JPEG", (24, 16), "RGB", quality=40, progressive=True),
              "rotated.jpg": make_image("JPEG", (9, 20), "RGB", quality=50, exif=exif, subsampling=2),
              "grey.jpg": make_image("JPEG", (8, 8), "L"),
              "inks.jpg": make_image("JPEG", (10, 9), "CMYK", quality=50),
              "colour.png": make_image("PNG", (7, 5), "RGB"),
              "alpha.png": make_image("PNG", (6, 6), "RGBA"),
              "palette.png": make_image("PNG", (9, 4), "P"),
              "bits.png": make_image("PNG", (9, 9), "1"),
              "rotated.png": make_image("PNG", (5, 3), "RGB", exif=exif),
              "header.webp": make_image("WEBP", (8, 6), "RGB", quality=10),
              "header.tiff": make_image("TIFF", (6, 4), "RGB"),
              "lzw.tiff": make_image("TIFF", (6, 4), "RGB", compression="tiff_lzw"),
              "deflate.tiff": make_image("TIFF", (6, 4), "L", compression="tiff_adobe_deflate"),
              "pack_bits.tiff": make_image("TIFF", (6, 4), "RGBA", compression="packbits"),
              "jpeg.tiff": make_image("TIFF", (16, 16), "RGB", compression="jpeg"),
              "header.bmp": make_image("BMP", (5, 4), "RGB"),
              "header.ppm": make_image("PPM", (5, 4), "RGB")}
    window = bytes([2, 1, 5, 4])
    # The form, the number of transforms, four transforms, whether they normalise, scaled decoding, and the seed.
    chains = [bytes([0, 4, 4 * index % 21, 9, 11, (5 * index + 2) % 21, index % 2, 1, index]) for index in range(9)]
    of_table = [(name, data) for name, data in images.items() if name.endswith((".jpg", ".png"))]
    return ({name: window + bytes([index % 2]) + data for index, (name, data) in enumerate(images.items())},
            {name: (chains[index] if index < 9 else bytes([1 + index % 3]) + bytes(8)) + data
             for index, (name, data) in enumerate(of_table)})


def make_note_section(text):
    data = text.encode()
    section = struct.pack("<III", 6, len(data), 1) + b"Tenon\0\0\0" + data
    return section + bytes(-len(section) % 4)


def make_library(folder, flags, note):
    source, library, section = folder / "a.c", folder / "a.so", folder / "note"
    source.write_text("int tenon_plugin_entry(void) { return 0; }\n")
    subprocess.run(["cc", "-shared", "-nostdlib", "-Os", "-Wl,-z,noseparate-code", "-Wl,--build-id=none", *flags, "-o",
                    library, source], check=True)
    if note:
        section.write_bytes(make_note_section(json.dumps(note)))
        subprocess.run(["objcopy", f"--add-section=.note.tenon={section}", "--set-section-flags", ".note.tenon=readonly",
                        library], check=True)
    return library.read_bytes()


def make_libraries():
    short = NOTE | {"components": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        return {"gnu_hash.so": make_library(folder, ["-s"], None),
                "hash.so": make_library(folder, ["-s", "-Wl,--hash-style=sysv"], short),
                "both.so": make_library(folder, ["-Wl,--hash-style=both", "-lm", "-Wl,--no-as-needed", "-lm"], short),
                "object.o": make_library(folder, ["-s", "-fvisibility=hidden"], NOTE)}


def make_history():
    lines = [{"event": "step", "epoch": 1, "step": 10, "time_s": 0.5, "train/loss": 2.5},
             {"event": "validation", "epoch": 1, "step": 20, "time_s": 1.25, "validation/loss": "NaN", "a\"b": -1e-300},
             {"event": "checkpoint", "epoch": 2, "step": 30, "time_s": 2}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return {"lines": text, "one": json.dumps(lines[0]), "infinite": text.replace("2.5", '"-Infinity"'),
            "wrong": text.replace("step", "stop").replace("1", "1e400")}


def main():
    image_windows, images = make_images()
    seeds = {"arrays": make_array_files(), "run_file": RUN_FILES, "parameter_schema": SCHEMAS, "escaped_text": TEXTS, "csv": CSVS, "npy": make_arrays(), "tar": make_tars(), "image_window": image_windows, "images": images,
             "elf_image": make_libraries(), "history": make_history(),
             "manifest": {"short": json.dumps(MANIFEST), "full": json.dumps(FULL_MANIFEST, indent=2),
                          "newer_version": json.dumps(MANIFEST).replace("format_version\": 1", "format_version\": 2"),
                          "outside": json.dumps(MANIFEST).replace("model.s", "../model.s")},
             "plugin_note": {"full": json.dumps(NOTE), "empty": json.dumps(NOTE | {"components": []}),
                             "newer": json.dumps(NOTE | {"format": 2, "more": [1]}),
                             "control": json.dumps(NOTE | {"doc": "\x1b[2J"})}}
    for target, files in seeds.items():
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    main()
