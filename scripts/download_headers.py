#!/usr/bin/env python3
"""Downloads the headers of pinned wheels without the libraries next to them:

  download_headers.py PINS HEADERS DIR            saves the headers in DIR/nvidia/*/include
  download_headers.py --print-pins PINS HEADERS   prints HEADERS with the versions of PINS and new digests

PINS is a file such as scripts/libtorch/2.15.0/cuda.txt, with packages, their versions and the SHA-256 of their wheels. HEADERS is a file
such as cuda_headers.txt there, with some of these packages in the same versions and a SHA-256 of their headers.

A wheel is a zip archive, so the script requests only the ranges with the list of its files and with headers. For
2.11.0 it reads 3.9 MB of 970 MB in 22 requests, which took 1.1 s, and saves 1,812 headers (16.5 MB). A
part of a wheel cannot be compared with the SHA-256 of the wheel, so the headers have a separate one. If the server sends
whole files only, the script downloads the whole wheel and also checks its SHA-256. The index and the certificates are those
of download_source.py.

Exit codes: 0 success, 1 the headers cannot be downloaded, have another SHA-256 or the files name different versions, 2 wrong
arguments.
"""
import hashlib
import io
import pathlib
import re
import sys
import tempfile
import time
import urllib.error
import zipfile
import zlib

from download_source import PIN, Failure, list_files, open_url

HEADER_PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+) headers=sha256:(?P<digest>[0-9a-f]{64})$", re.M)
HEADER = re.compile(r"nvidia/[^/]+/include/.*[^/]")
BLOCK = 1 << 16  # the smallest range that is requested


class NoRanges(Exception):
    """The server sends whole files only."""


class RemoteFile(io.RawIOBase):
    """A file on a server, which is read in ranges. Keeps what it has read."""

    def __init__(self, url):
        super().__init__()
        self.url = url
        self.position = 0
        self.parts = []  # (position, content)
        self.requests = 0
        # The list of a zip archive is at its end.
        self.size = self._request(f"bytes=-{BLOCK}")

    def _request(self, wanted):
        """Adds a range to the parts. Returns the size of the file."""
        self.requests += 1
        try:
            with open_url(self.url, {"Range": wanted}) as response:
                place = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("Content-Range", ""))
                if response.status != 206 or not place:
                    raise NoRanges
                first, last, size = map(int, place.groups())
                content = response.read()
        except Failure as failure:
            cause = failure.__cause__
            if isinstance(cause, urllib.error.HTTPError) and cause.code in (416, 501):
                raise NoRanges from None
            raise
        if len(content) != last + 1 - first:
            raise Failure(f"{self.url}: {wanted} has {len(content)} bytes; expected {last + 1 - first}")
        self.parts.append((first, content))
        return size

    def _find(self, begin, end):
        for position, content in self.parts:
            if position <= begin and end <= position + len(content):
                return content[begin - position:end - position]
        return None

    def fetch(self, begin, end):
        """Reads a range ahead, with one request."""
        if self._find(begin, end) is None:
            self._request(f"bytes={begin}-{min(max(end, begin + BLOCK), self.size) - 1}")

    def count_bytes(self):
        return sum(len(content) for _, content in self.parts)

    def seekable(self):
        return True

    def seek(self, offset, whence=io.SEEK_SET):
        position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        if position < 0:
            raise OSError(f"{self.url}: position {position}")  # zipfile expects the error of a file on the disk
        self.position = position
        return position

    def read(self, size=-1):
        begin = self.position
        end = self.size if size < 0 else min(begin + size, self.size)
        if begin >= end:
            return b""
        self.fetch(begin, end)
        content = self._find(begin, end)
        if content is None:
            raise Failure(f"{self.url}: the server sends another range than {begin}-{end - 1}")
        self.position = end
        return content


def fetch_members(file, archive, members):
    """Reads members ahead, neighbours with one request."""
    starts = sorted(member.header_offset for member in archive.infolist())
    ends = dict(zip(starts, starts[1:] + [archive.start_dir]))
    ranges = []
    for start in sorted(member.header_offset for member in members):
        if ranges and start - ranges[-1][1] <= BLOCK:
            ranges[-1][1] = ends[start]
        else:
            ranges.append([start, ends[start]])
    for begin, end in ranges:
        file.fetch(begin, end)


def download_wheel(url, digest, file):
    """Saves a whole wheel in an open file. Returns its size."""
    found, size = hashlib.sha256(), 0
    with open_url(url) as response:
        while block := response.read(1 << 20):
            found.update(block)
            size += file.write(block)
    if found.hexdigest() != digest:
        raise Failure(f"{url}: has the SHA-256 {found.hexdigest()}; expected {digest}: do not use this file")
    return size


def read_headers(url, digest):
    """The headers of a wheel as {path: content}, the number of bytes and that of the requests that this took."""
    try:
        try:
            file = RemoteFile(url)
            with zipfile.ZipFile(file) as archive:
                members = [member for member in archive.infolist() if HEADER.fullmatch(member.filename)]
                fetch_members(file, archive, members)
                headers = {member.filename: archive.read(member) for member in members}
            count, requests = file.count_bytes(), file.requests
        except NoRanges:
            with tempfile.TemporaryFile() as whole:
                count, requests = download_wheel(url, digest, whole), 2
                with zipfile.ZipFile(whole) as archive:
                    headers = {name: archive.read(name) for name in archive.namelist() if HEADER.fullmatch(name)}
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise Failure(f"{url}: {error}") from None
    if not headers:
        raise Failure(f"{url}: has no headers in nvidia/*/include")
    return headers, count, requests


def digest_headers(headers):
    """A SHA-256 of paths and contents. These commands print it in the folder with the unpacked wheel:

    find nvidia -path '*/include/*' -type f | LC_ALL=C sort | xargs sha256sum | sha256sum
    """
    lines = (f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in sorted(headers.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def find_wheel(pin):
    """The address of the wheel for x86-64. The index may leave out the SHA-256 in the address."""
    begin = f"{pin['name'].replace('-', '_')}-{pin['version']}-"
    page, files = list_files(pin["name"])
    for name, address in files.items():
        address, _, digest = address.partition("#")
        if name.startswith(begin) and name.endswith("x86_64.whl") and digest in ("", f"sha256={pin['digest']}"):
            return address
    raise Failure(f"{page}: has no {begin}*x86_64.whl with the SHA-256 {pin['digest']}")


def read_pins(path, pattern, text):
    pins = {pin["name"]: pin for pin in pattern.finditer(text)}
    count = len(re.findall(r"^[^#\s]", text, re.M))
    if not pins or len(pins) != count:
        raise Failure(f"{path}: has {count} packages, {len(pins)} of them with one SHA-256 each; expected 1 or more, each with "
                      "one")
    return pins


def match_pins(path, pins, headers_path, header_pins, any_version):
    """The pins of the packages that have pinned headers."""
    for name, pin in header_pins.items():
        if name not in pins:
            raise Failure(f"{headers_path}: {name}: {path} has no such package")
        if pin["version"] != pins[name]["version"] and not any_version:
            raise Failure(f"{headers_path}: {name}: is pinned to {pin['version']}; {path} has {pins[name]['version']}; print "
                          f"new digests with download_headers.py --print-pins {path} {headers_path}")
    return {name: pins[name] for name in header_pins}


def save(headers, folder):
    for name, content in headers.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def main():
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(__doc__, end="")
        return 0
    prints_pins = sys.argv[1:2] == ["--print-pins"]
    if len(sys.argv) != 4 or (sys.argv[1].startswith("-") and not prints_pins):
        print("usage: download_headers.py PINS HEADERS DIR, or download_headers.py --print-pins PINS HEADERS", file=sys.stderr)
        return 2
    path, headers_path = sys.argv[2:] if prints_pins else sys.argv[1:3]
    began = time.monotonic()
    try:
        text = pathlib.Path(headers_path).read_text(encoding="utf-8")
        header_pins = read_pins(headers_path, HEADER_PIN, text)
        pins = read_pins(path, PIN, pathlib.Path(path).read_text(encoding="utf-8"))
        pins = match_pins(path, pins, headers_path, header_pins, any_version=prints_pins)
        total, size, requests, new_pins = 0, 0, 0, {}
        for name, pin in pins.items():
            headers, size_of_wheel, requests_of_wheel = read_headers(find_wheel(pin), pin["digest"])
            total += len(headers)
            size += size_of_wheel
            requests += requests_of_wheel + 1  # the page of the index
            digest = digest_headers(headers)
            new_pins[name] = f"{name}=={pin['version']} headers=sha256:{digest}"
            if prints_pins:
                continue
            if digest != header_pins[name]["digest"]:
                raise Failure(f"{name} {pin['version']}: its headers have the SHA-256 {digest}; expected "
                              f"{header_pins[name]['digest']}: do not use them")
            # The digest includes the paths, so these are not outside of the folder.
            save(headers, sys.argv[3])
        if prints_pins:
            print(HEADER_PIN.sub(lambda pin: new_pins[pin["name"]], text), end="")
        else:
            print(f"{total} headers: {size / 1e6:.1f} MB of {len(pins)} wheels in {requests} requests, "
                  f"{time.monotonic() - began:.1f} s")
    except (Failure, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
