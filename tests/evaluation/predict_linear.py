#!/usr/bin/env python3
"""Predicts the classes of images with the exported weights of a linear model, in plain Python.

    python3 tests/evaluation/predict_linear.py WEIGHTS.safetensors IMAGE.ppm...

Everything but the names of the two tensors is from the file's metadata. Prints a JSON list with the name, the scores and
the sum of |weight * input| of each score, for each image. Uses the standard library only.
"""

import json
import math
import struct
import sys


def read_weights(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    description = json.loads(header.pop("__metadata__")["tenon.json"])
    tensors = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        assert tensor["dtype"] == "F32", tensor
        tensors[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return description, tensors


def read_pixels(path):
    """Returns width, height and the bytes, red first."""
    with open(path, "rb") as file:
        kind, width, height, largest, pixels = file.read().split(maxsplit=4)
    assert (kind, largest) == (b"P6", b"255"), path
    return int(width), int(height), pixels


def prepare(path, port):
    width, height, pixels = read_pixels(path)
    decode, *others, normalize = port["preprocessing"]
    assert decode == {"name": "decode", "color": "RGB", "dtype": "uint8"}, decode
    # An image of this size is resized and cropped to itself.
    assert all(step["name"] in ("resize", "center_crop") and step["size"] == width == height for step in others), others
    assert port["dtype"] == "float32" and port["shape"] == [None, 3, height, width], port
    assert normalize["name"] == "normalize", normalize
    mean, std = normalize["mean"], normalize["std"]
    return [
        (pixels[3 * place + channel] / normalize["divide_by"] - mean[channel]) / std[channel]
        for channel in range(3)
        for place in range(width * height)
    ]


def main():
    description, tensors = read_weights(sys.argv[1])
    (port,) = description["inputs"]
    (output,) = description["outputs"]
    names = description["class_names"]["label"]
    weight, bias = tensors["layers.0.weight"], tensors["layers.0.bias"]
    assert output["name"] == "logits" and len(bias) == len(names) == description["model"]["params"]["classes"]
    predictions = []
    for path in sys.argv[2:]:
        inputs = prepare(path, port)
        scores, sums = [], []
        for number, offset in enumerate(bias):
            row = weight[number * len(inputs) : (number + 1) * len(inputs)]
            products = [w * x for w, x in zip(row, inputs, strict=True)]
            scores.append(math.fsum(products) + offset)
            sums.append(math.fsum(map(abs, products)) + abs(offset))
        predictions.append({"name": names[scores.index(max(scores))], "scores": scores, "sums": sums})
    print(json.dumps(predictions))


if __name__ == "__main__":
    main()
