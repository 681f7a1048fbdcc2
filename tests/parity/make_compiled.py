#!/usr/bin/env python3
"""Adds machine code to archives of make_exported.py, for tests/exported/compiled_test.cpp.

    python3 make_compiled.py FOLDER        (torch 2.11, a C++ compiler; FOLDER: reference/exported)

Writes FOLDER/NAME_compiled.pt2: the records of NAME.pt2, and the libraries of scripts/compile_model.py for float32 and
processors with AVX2. The numbers that they must compute are those of NAME in exported.safetensors.
"""
import pathlib
import sys
import zipfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import compile_model  # noqa: E402
from make_exported import MODELS, make_input  # noqa: E402

# Batch norm and dropout; attention and a constant; two inputs and a shared weight; a changed buffer; random draws.
COMPILED = ("cnn", "encoder", "pair", "counter", "dropped")


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in COMPILED:
        make, shapes = MODELS[name]
        examples = {key: make_input(key, shape) for key, shape in shapes.items()}
        sizes = {key: {0: torch.export.Dim.DYNAMIC} for key in examples}
        compiled = compile_model.compile_graphs(make(), examples, sizes, "fp32", "avx2")
        with zipfile.ZipFile(folder / f"{name}.pt2") as source, \
                zipfile.ZipFile(folder / f"{name}_compiled.pt2", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
            records = {entry.partition("/")[2]: source.read(entry) for entry in source.namelist()}
            for record, content in (records | {f"tenon/{key}": value for key, value in compiled.items()}).items():
                # A fixed time, so that the same files give the same bytes.
                target.writestr(zipfile.ZipInfo(f"{name}_compiled/{record}"), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
