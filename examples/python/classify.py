#!/usr/bin/env python3
"""Classifies images with an exported model: python classify.py MODEL.pt IMAGE... (needs torch, numpy and Pillow)."""

import json
import sys

import numpy
import torch
from PIL import Image, ImageOps

files = {"tenon.json": ""}
model = torch.jit.load(sys.argv[1], _extra_files=files)
description = json.loads(files["tenon.json"])
(names,) = description["class_names"].values()


def prepare(image, steps):
    for step in steps:
        size = step.get("size")
        if step["name"] == "resize":
            shorter = min(image.size)
            image = image.resize([int(size * side / shorter) for side in image.size], Image.Resampling.BILINEAR)
        elif step["name"] == "center_crop":
            left, top = (round((side - size) / 2) for side in image.size)
            image = image.crop((left, top, left + size, top + size))
        elif step["name"] == "normalize":
            pixels = numpy.asarray(image, "float32").transpose(2, 0, 1) / step["divide_by"]
            mean, std = (numpy.reshape(step[key], (-1, 1, 1)) for key in ("mean", "std"))
            return torch.from_numpy(((pixels - mean) / std).astype("float32"))


for path in sys.argv[2:]:
    upright = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    image = prepare(upright, description["inputs"][0]["preprocessing"])
    probabilities = model(image[None]).softmax(1)[0]
    print(path, names[probabilities.argmax()], f"{probabilities.max():.6f}", sep="\t")
