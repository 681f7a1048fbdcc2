#!/usr/bin/env python3
"""Prints the class names in a file of weights or an exported model, as JSON on one line.

    python3 tests/evaluation/read_class_names.py FILE.safetensors|FILE.pt|manifest.json

Uses the standard library only: the header of safetensors is JSON, and TorchScript is a zip archive.
"""

import json
import pathlib
import struct
import sys
import zipfile


def read_names(path):
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))["class_names"]
    if path.suffix == ".pt":
        with zipfile.ZipFile(path) as archive:
            (name,) = [one for one in archive.namelist() if one.endswith("/extra/tenon.json")]
            return json.loads(archive.read(name))["class_names"]
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(json.loads(file.read(length))["__metadata__"]["class_names"])


print(json.dumps(read_names(pathlib.Path(sys.argv[1])), ensure_ascii=True))
