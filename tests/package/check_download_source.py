#!/usr/bin/env python3
"""Tests scripts/download_source.py with an index on this machine: check_download_source.py SCRIPTS WORK"""
import functools
import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import threading

CONTENT = b"a source distribution"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
PAGE = ('<a href="../../files/small_part-1.0.tar.gz#sha256=0">older</a>'
        '<a href="../../files/small_part-1.2.tar.gz#sha256=0">small_part-1.2.tar.gz</a>'
        '<a href="../../files/small_part-1.2-py3-none-any.whl">wheel</a>')
# name, pins, exit code, text in the message
CASES = [("saved", f"# A comment.\nsmall-part==1.2 \\\n    --hash=sha256:{DIGEST}\n", 0, ""),
         ("another file", f"small-part==1.2 --hash=sha256:{'0' * 64}\n", 1,
          f"has the SHA-256 {DIGEST}; expected {'0' * 64}: do not use this file"),
         ("another version", f"small-part==1.3 --hash=sha256:{DIGEST}\n", 1,
          "has no small-part-1.3.tar.gz or small_part-1.3.tar.gz; expected the source distribution"),
         ("unknown", f"other==1 --hash=sha256:{DIGEST}\n", 1, "404"),
         ("without a hash", "small-part==1.2\n", 1, "has 0 packages with one SHA-256 each; expected 1"),
         ("two packages", f"a==1 --hash=sha256:{DIGEST}\nb==1 --hash=sha256:{DIGEST}\n", 1, "has 2 packages")]


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    scripts, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("simple/small-part", "files", "out"):
        (work / folder).mkdir(parents=True)
    (work / "simple/small-part/index.html").write_text(PAGE)
    (work / "files/small_part-1.2.tar.gz").write_bytes(CONTENT)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(work)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = dict(os.environ, PIP_INDEX_URL=f"http://127.0.0.1:{server.server_port}/simple", NO_PROXY="*", no_proxy="*")
    failed = False
    for name, pins, code, text in CASES:
        (work / "pins.txt").write_text(pins)
        saved = work / "out/small_part-1.2.tar.gz"
        saved.unlink(missing_ok=True)
        ended = subprocess.run([sys.executable, scripts / "download_source.py", work / "pins.txt", work / "out"], text=True,
                               env=environment, capture_output=True, check=False)
        is_right = ended.returncode == code and text in ended.stderr and saved.exists() == (code == 0)
        if code == 0:
            is_right = is_right and saved.read_bytes() == CONTENT and ended.stdout.strip() == str(saved)
        if not is_right:
            failed = True
            print(f"{name}: exit code {ended.returncode}, {ended.stdout!r}, {ended.stderr!r}; expected {code}, {text!r}")
    return 1 if failed else 0


sys.exit(main())
