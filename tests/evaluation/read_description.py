#!/usr/bin/env python3
"""Prints the description in an exported model, JSON: python3 read_description.py FILE.safetensors|FILE.pt

Uses the standard library only: the header of safetensors is JSON, and TorchScript is a zip archive.
"""

import json
import pathlib
import struct
import sys
import zipfile


def read_description(path):
    if path.suffix == ".pt":
        with zipfile.ZipFile(path) as archive:
            (name,) = [one for one in archive.namelist() if one.endswith("/extra/tenon.json")]
            return json.loads(archive.read(name))
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(json.loads(file.read(length))["__metadata__"]["tenon.json"])


print(json.dumps(read_description(pathlib.Path(sys.argv[1]))))
