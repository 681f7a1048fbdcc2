#!/usr/bin/env python3
"""Downloads a Debian package and saves one of its files: download_debian_file.py PINS PATH DIR

PINS is a file such as scripts/jargon.txt, with one package for all architectures, its version and its SHA-256. PATH is the
path of the file in the package. Saves it in DIR. The package is not installed, and no tool of Debian is needed.

The mirror of Debian is TENON_DEBIAN_MIRROR, by default http://deb.debian.org/debian.

Exit codes: 0 success, 1 the package cannot be downloaded, has another SHA-256 or lacks the file, 2 wrong arguments.
"""
import io
import os
import pathlib
import sys
import tarfile

from download_source import Failure, read_pin, read_pinned

HEADER = 60  # bytes before each member of an ar archive, which deb(5) describes


def find_member(package, prefix):
    """The content of the first member with a name that begins with `prefix`."""
    position = len(b"!<arch>\n")
    while position + HEADER <= len(package):
        header = package[position:position + HEADER]
        size = int(header[48:58])
        position += HEADER
        if header.startswith(prefix):
            return package[position:position + size]
        position += size + size % 2
    raise Failure(f"the package has no member {prefix.decode()}")


def main():
    if len(sys.argv) != 4:
        print("usage: download_debian_file.py PINS PATH DIR", file=sys.stderr)
        return 2
    pins, path, folder = sys.argv[1:]
    mirror = os.environ.get("TENON_DEBIAN_MIRROR") or "http://deb.debian.org/debian"
    try:
        pin = read_pin(pins)
        name, version = pin["name"], pin["version"]
        address = f"{mirror.rstrip('/')}/pool/main/{name[0]}/{name}/{name}_{version}_all.deb"
        data = find_member(read_pinned(address, pin), b"data.tar")
        with tarfile.open(fileobj=io.BytesIO(data)) as files:
            if f"./{path}" not in files.getnames():
                raise Failure(f"{address}: has no file {path}")
            content = files.extractfile(f"./{path}").read()
        (pathlib.Path(folder) / pathlib.PurePosixPath(path).name).write_bytes(content)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
