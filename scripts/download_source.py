#!/usr/bin/env python3
"""Downloads the source distribution that a list of pins names: download_source.py PINS DIR

PINS is a file such as scripts/opencv.txt, with one package, its version and the SHA-256 of its source distribution. Saves
the file in DIR and prints its path.

`pip download` would do the same, but runs the build script of the package to learn its name, and for that installs the
packages that the script needs, which nothing pins. The index and the certificates are those of pip: PIP_INDEX_URL and
PIP_CERT, its configuration, or else PyPI and the certificates of the machine.

Exit codes: 0 success, 1 the file cannot be downloaded or has another SHA-256, 2 wrong arguments.
"""
import contextlib
import functools
import hashlib
import html.parser
import http.client
import os
import pathlib
import re
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request

PIN = re.compile(r"^(?P<name>\S+)==(?P<version>\S+)[\s\\]+--hash=sha256:(?P<digest>[0-9a-f]{64})$", re.M)


class Failure(Exception):
    pass


class Links(html.parser.HTMLParser):
    """The links of a page of the index (PEP 503)."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag == "a" and dict(attrs).get("href"):
            self.found.append(dict(attrs)["href"])


@functools.cache
def find_setting_of_pip(name):
    """Of an environment variable or a configuration file; empty if neither has it."""
    value = os.environ.get(f"PIP_{name.upper().replace('-', '_')}")
    if value:
        return value
    configured = subprocess.run([sys.executable, "-m", "pip", "config", "get", f"global.{name}"], text=True,
                                capture_output=True, check=False)
    return configured.stdout.strip()


@functools.cache
def make_ssl_context():
    context = ssl.create_default_context()
    certificates = find_setting_of_pip("cert")
    if certificates:
        context.load_verify_locations(certificates)
    return context


@contextlib.contextmanager
def open_url(url, headers=None):
    """The response of a server, or the file of a file: URL, which pip.conf may name, too. Reading it raises Failure, too."""
    try:
        request = urllib.request.Request(url, headers=headers or {})
        with urllib.request.urlopen(request, timeout=60, context=make_ssl_context()) as response:
            yield response
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Failure(f"{url}: {error}") from error


def read(url):
    with open_url(url) as response:
        return response.read()


def read_pin(path):
    """Reads a list of pins with one package."""
    pins = list(PIN.finditer(pathlib.Path(path).read_text(encoding="utf-8")))
    if len(pins) != 1:
        raise Failure(f"{path}: has {len(pins)} packages with one SHA-256 each; expected 1")
    return pins[0]


def read_pinned(url, pin):
    content = read(url)
    digest = hashlib.sha256(content).hexdigest()
    if digest != pin["digest"]:
        raise Failure(f"{url}: has the SHA-256 {digest}; expected {pin['digest']}: do not use this file")
    return content


def list_files(name):
    """The address of the package's page in the index, and {file name: address} of its files."""
    index = find_setting_of_pip("index-url") or "https://pypi.org/simple"
    page = f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', name).lower()}/"
    links = Links()
    links.feed(read(page).decode("utf-8", "replace"))
    addresses = (urllib.parse.urljoin(page, link) for link in links.found)
    return page, {pathlib.PurePosixPath(urllib.parse.urlparse(address).path).name: address for address in addresses}


def find_file(name, version):
    """The address of the source distribution."""
    # A distribution is named NAME-VERSION.tar.gz, and the name may have underscores.
    names = sorted({f"{spelled}-{version}.tar.gz" for spelled in (name, name.replace("-", "_"))})
    page, files = list_files(name)
    for file in names:
        if file in files:
            return files[file].split("#")[0]
    raise Failure(f"{page}: has no {' or '.join(names)}; expected the source distribution")


def main():
    if len(sys.argv) != 3:
        print("usage: download_source.py PINS DIR", file=sys.stderr)
        return 2
    try:
        pin = read_pin(sys.argv[1])
        address = find_file(pin["name"], pin["version"])
        content = read_pinned(address, pin)
        path = pathlib.Path(sys.argv[2], pathlib.PurePosixPath(urllib.parse.urlparse(address).path).name)
        path.write_bytes(content)
        print(path)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
