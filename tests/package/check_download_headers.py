#!/usr/bin/env python3
"""Tests scripts/download_headers.py with an index on this machine: check_download_headers.py SCRIPTS WORK"""
import contextlib
import functools
import hashlib
import http.server
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import zipfile

HEADERS = {"nvidia/cu13/include/small.h": b"#include <part/detail>\n" * 9, "nvidia/cu13/include/part/detail": b"int i;\n",
           "nvidia/part/include/last.h": b"char c;\n"}
LIBRARY = random.Random(1).randbytes(3 << 20)
WHEEL = "nvidia_part-1.2-py3-none-manylinux2014_x86_64.whl"
OTHERS = ("nvidia_part-1.2-py3-none-win_amd64.whl", "nvidia_part-1.1-py3-none-manylinux2014_x86_64.whl")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Sends ranges, "no ranges", or the status 501 for requests of ranges."""
    mode = "ranges"
    sent = []

    def log_message(self, *_):
        pass

    def send_content(self, status, content, headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(content), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.sent.append(len(content))
        self.wfile.write(content)

    def do_GET(self):
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        path = pathlib.Path(self.directory, self.path.lstrip("/"))
        if not wanted or not path.is_file() or self.mode == "no ranges":
            with contextlib.suppress(ConnectionError):  # the script does not read all of the answer
                super().do_GET()
            return
        if self.mode == "501":
            self.send_error(501)
            return
        content = path.read_bytes()
        begin, end = wanted.groups()
        first = int(begin) if begin else max(len(content) - int(end), 0)
        last = min(int(end), len(content) - 1) if begin and end else len(content) - 1
        self.send_content(206, content[first:last + 1], {"Content-Range": f"bytes {first}-{last}/{len(content)}"})


def write_wheel(path):
    """The headers are before and after a library. The list of files is longer than the first range."""
    members = [*HEADERS.items()]
    members.insert(2, ("nvidia/cu13/lib/libpart.so", LIBRARY))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
        for index in range(1000):
            archive.writestr(f"nvidia_part-1.2.dist-info/licenses/{index}.txt", b"")


def digest_unpacked(folder):
    """The digest that the documentation of digest_headers() describes."""
    with zipfile.ZipFile(folder.parent / "files" / WHEEL) as archive:
        archive.extractall(folder)
    printed = subprocess.check_output("find nvidia -path '*/include/*' -type f | LC_ALL=C sort | xargs sha256sum | sha256sum",
                                      shell=True, text=True, cwd=folder)
    return printed.split()[0]


class Check:
    def __init__(self, scripts, work):
        shutil.rmtree(work, ignore_errors=True)
        for folder in ("simple/nvidia-part", "files", "unpacked"):
            (work / folder).mkdir(parents=True)
        self.scripts, self.work, self.failed = scripts, work, False
        write_wheel(work / "files" / WHEEL)
        self.wheel = hashlib.sha256((work / "files" / WHEEL).read_bytes()).hexdigest()
        self.headers = digest_unpacked(work / "unpacked")
        self.write_index(f"#sha256={self.wheel}")
        handler = functools.partial(Handler, directory=str(work))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.environment = dict(os.environ, PIP_INDEX_URL=f"http://127.0.0.1:{server.server_port}/simple", NO_PROXY="*",
                                no_proxy="*", PYTHONDONTWRITEBYTECODE="1")

    def write_index(self, fragment):
        names = (*OTHERS, WHEEL)
        page = "".join(f'<a href="../../files/{name}{fragment if name == WHEEL else ""}">{name}</a>' for name in names)
        (self.work / "simple/nvidia-part/index.html").write_text(page)

    def call(self, name, code, text, *, wheel=None, headers=None, version="1.2", package="nvidia-part", first=None):
        """Runs the script with these pins. Compares the exit code and the message, and what it saves."""
        pins, header_pins, out = self.work / "pins.txt", self.work / "headers.txt", self.work / "out"
        pins.write_text(f"nvidia-part==1.2 \\\n    --hash=sha256:{wheel or self.wheel}\n")
        header_pins.write_text(f"# A comment.\n{package}=={version} headers=sha256:{headers or self.headers}\n")
        shutil.rmtree(out, ignore_errors=True)
        arguments = [first, pins, header_pins] if first else [pins, header_pins, out]
        Handler.sent.clear()
        ended = subprocess.run([sys.executable, self.scripts / "download_headers.py", *arguments], text=True,
                               env=self.environment, capture_output=True, check=False)
        saved = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        expected = HEADERS if code == 0 and not first else {}
        if ended.returncode != code or text not in ended.stdout + ended.stderr or saved != expected:
            self.fail(f"{name}: exit code {ended.returncode}, {ended.stdout!r}, {ended.stderr!r}, files {list(saved)}; "
                      f"expected {code}, {text!r}")

    def fail(self, message):
        self.failed = True
        print(message)


def main():
    check = Check(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
    zeros = "0" * 64
    check.call("saved", 0, "3 headers: 0.3 MB of 1 wheels in 5 requests")
    # The end and the list of files, and the headers before and after the library.
    if len(Handler.sent) != 4 or sum(Handler.sent) > 1 << 19:
        check.fail(f"saved: the server sent ranges of {Handler.sent} bytes")
    for mode in ("no ranges", "501"):
        Handler.mode = mode
        check.call(mode, 0, "3 headers: 3.3 MB")
        check.call(f"{mode}, other headers", 1, f"its headers have the SHA-256 {check.headers}; expected {zeros}: do not use",
                   headers=zeros)
    check.write_index("")
    check.call("another wheel", 1, f"has the SHA-256 {check.wheel}; expected {zeros}: do not use this file", wheel=zeros)
    Handler.mode = "ranges"
    check.call("an index without digests", 0, "3 headers")
    check.write_index(f"#sha256={check.wheel}")
    check.call("another wheel in the index", 1, f"has no nvidia_part-1.2-*x86_64.whl with the SHA-256 {zeros}", wheel=zeros)
    check.call("other headers", 1, f"its headers have the SHA-256 {check.headers}; expected {zeros}: do not use",
               headers=zeros)
    check.call("another version", 1, f"headers.txt: nvidia-part: is pinned to 1.1; {check.work / 'pins.txt'} has 1.2; print",
               version="1.1")
    check.call("another package", 1, f"headers.txt: other: {check.work / 'pins.txt'} has no such package", package="other")
    check.call("without a digest", 1, "headers.txt: has 1 packages, 0 of them with one SHA-256 each", headers="0")
    check.call("an option", 2, "usage: ", first="--print")
    check.call("new pins", 0, f"# A comment.\nnvidia-part==1.2 headers=sha256:{check.headers}\n", first="--print-pins",
               headers=zeros, version="1.1")
    path = check.work / "files" / WHEEL
    wheel = path.read_bytes()
    place = wheel.index(b"nvidia/cu13/include/small.h") + len("nvidia/cu13/include/small.h") + 3
    path.write_bytes(wheel[:place] + bytes([wheel[place] ^ 0xff]) + wheel[place + 1:])
    check.call("a damaged header", 1, f"{WHEEL}: ")
    path.write_bytes(b"not a zip archive")
    check.call("a damaged wheel", 1, f"{WHEEL}: File is not a zip file")
    path.unlink()
    check.call("no wheel", 1, "404")
    return 1 if check.failed else 0


sys.exit(main())
