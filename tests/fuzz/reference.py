#!/usr/bin/env python3
"""Reads inputs of differential fuzz targets with Python: reference.py FORMAT

FORMAT is csv (Python's module csv) or safetensors (the reference package). Reads inputs from standard input, each with a
line that has the number of bytes before it, and answers on standard output in the same form: first the word `ready`, then
JSON for each input.
"""
import base64
import csv
import io
import json
import sys

SEPARATORS = ",;\t"


def read_csv(data):
    """The first byte chooses the separator, as in targets/csv.cpp. Latin-1 keeps each byte."""
    separator = SEPARATORS[data[0] % 3] if data else ","
    text = data[1:].decode("latin-1").removeprefix("\u00ef\u00bb\u00bf")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    return {"rows": [[base64.b64encode(cell.encode("latin-1")).decode() for cell in row] for row in reader]}


def read_safetensors(data):
    import safetensors
    tensors = []
    for name, tensor in safetensors.deserialize(data):
        tensors.append({"name": name, "dtype": tensor["dtype"], "shape": tensor["shape"],
                        "data": base64.b64encode(bytes(tensor["data"])).decode()})
    return {"tensors": tensors}


def write_answer(text):
    data = text.encode()
    sys.stdout.buffer.write(b"%d\n" % len(data) + data)
    sys.stdout.buffer.flush()


def main():
    read = {"csv": read_csv, "safetensors": read_safetensors}[sys.argv[1]]
    csv.field_size_limit(1 << 30)
    if sys.argv[1] == "safetensors":
        import safetensors  # pylint: disable=unused-import
    write_answer("ready")
    while line := sys.stdin.buffer.readline():
        data = sys.stdin.buffer.read(int(line))
        try:
            answer = read(data)
        except Exception as error:  # pylint: disable=broad-exception-caught
            answer = {"error": f"{type(error).__name__}: {error}"}
        write_answer(json.dumps(answer))


if __name__ == "__main__":
    main()
