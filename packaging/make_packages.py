#!/usr/bin/env python3
"""Makes the packages of a build:
make_packages.py BUILD OUT [--format wheel|archive|deb ...] [--engine BUILD ...] [--leave-out-opencv]

BUILD: a build folder of Tenon. --engine: another build, with another LibTorch; the wheel gets its engine, too. OUT: gets tenon_host-VERSION-...whl, tenon-VERSION-linux-x86_64.tar.gz, tenon_VERSION_amd64.deb,
the bill of materials of each of them, PACKAGE.cdx.json, and contents.json with their files, libraries, licences and sizes.

Installs BUILD into a temporary folder and adds the libraries that the programs need: those of BUNDLED. A library that is
neither in BUNDLED nor in PROVIDED is an error, so that none gets into a package unseen. LibTorch is

    wheel    the package torch; for the plugin parquet, Arrow is that of the package pyarrow
    archive  in lib/tenon/torch
    deb      in /usr/lib/tenon/torch; there is no program `host`, because Debian's bind9-host has one

Needs patchelf, strip, and for deb dpkg-deb. Exit codes: 0 success, 1 a package cannot be made.
"""
import argparse
import base64
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import sbom

WHEEL = "tenon-host"  # PyPI's `tenon` is another project
WHEEL_FOLDER = "tenon_host"  # in site-packages
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}

# Libraries of every Linux system, and of LibTorch.
PROVIDED = re.compile(
    r"(ld-linux-.*|lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s)|linux-vdso"
    r"|lib(torch|torch_cpu|torch_cuda|c10|c10_cuda))\.so(\.\d+)*")

# Libraries that are copied into the packages: component, licence (SPDX).
BUNDLED = {
    r"lib(arrow|parquet)": ("Apache Arrow", "Apache-2.0, and those in its LICENSE"),
    r"libboost_(filesystem|program_options)": ("Boost", "BSL-1.0"),
    r"libcrypto": ("OpenSSL", "Apache-2.0"),
    r"libfmt": ("fmt", "MIT"),
    r"libjpeg": ("libjpeg-turbo", "IJG AND BSD-3-Clause AND Zlib"),
    r"libopencv_(core|imgproc|imgcodecs)": ("OpenCV", "Apache-2.0"),
    r"libpng16": ("libpng", "libpng-2.0"),
    r"libspdlog": ("spdlog", "MIT"),
    r"libtomlplusplus": ("toml++", "MIT"),
    r"libz": ("zlib", "Zlib"),
}

# Parts of other projects that are compiled into Tenon's own files: component, licence, a header or file that exists.
COMPILED_IN = [
    ("nlohmann-json", "MIT", "/usr/include/nlohmann/json.hpp"),
    ("xxHash", "BSD-2-Clause", "/usr/include/xxhash.h"),
    ("Gloo headers", "BSD-3-Clause", "/usr/include/gloo/context.h"),
]
SENTENCEPIECE = ("SentencePiece with protobuf-lite, Abseil, darts-clone and esaxx", "Apache-2.0 AND BSD-3-Clause AND MIT")
UPLOT = ROOT / "framework/reporting/report/uplot"
OPENCV_PARTS = "with libjpeg-turbo, libpng, libtiff, libwebp and zlib"


class Failure(Exception):
    pass


def run(*command, **options):
    try:
        return subprocess.run(list(map(str, command)), check=True, text=True, stdout=subprocess.PIPE, **options).stdout
    except FileNotFoundError:
        raise Failure(f"{command[0]} is not installed; run scripts/dependencies --for-tests") from None
    except subprocess.CalledProcessError as error:
        raise Failure(f"{' '.join(map(str, command))} failed with exit code {error.returncode}") from None


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def elf_files(folder):
    return [path for path in sorted(folder.rglob("*")) if is_elf(path)]


def needed_by(path):
    """The names of the libraries that a file needs."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", path))


def locate(path, extra):
    """The libraries that a file needs, directly or not: name -> path."""
    environment = dict(os.environ, LD_LIBRARY_PATH=os.pathsep.join(extra))
    found = run("ldd", path, env=environment)
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", found, re.M))


def debian_package_of(file):
    """The Debian package with this file."""
    for name in (pathlib.Path(file), pathlib.Path(file).resolve()):
        for spelled in (str(name), str(name).replace("/lib/", "/usr/lib/", 1), str(name).replace("/usr/", "/", 1)):
            found = subprocess.run(["dpkg", "-S", spelled], text=True, capture_output=True)
            if found.returncode == 0:
                return found.stdout.split(":")[0]
    raise Failure(f"{file}: no Debian package has this file, so its licence is not known; package on Debian")


def licence_of_debian_package(package):
    return pathlib.Path("/usr/share/doc", package, "copyright")


def cache_value(build, name):
    found = re.search(rf"^{name}:[A-Z]+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return found.group(1) if found else ""


def licences_of_arrow(folder):
    """The licences of the package pyarrow."""
    found = sorted(pathlib.Path(folder).parent.glob("pyarrow-*.dist-info/licenses/*"))
    if not found:
        raise Failure(f"{folder}: there is no pyarrow-*.dist-info/licenses next to its folder; run scripts/dependencies")
    return found


def install(build, prefix, component, *options):
    """Installs a component of CMakeLists.txt. Options: definitions for cmake."""
    run(cache_value(build, "CMAKE_COMMAND"), f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_INSTALL_COMPONENT={component}",
        "-DCMAKE_INSTALL_DO_STRIP=1", *options, "-P", build / "cmake_install.cmake", stderr=subprocess.STDOUT)


def libtorch_of(build):
    """The folder with the libraries of the LibTorch that a build uses."""
    file, = (build / "lib/tenon").glob("engine-*/libtorch.path")
    return pathlib.Path(file.read_text().strip(), "lib")


def read_release(libtorch):
    """The release of a LibTorch: "2.15.0"."""
    for name in "version.py", "build-version":
        found = re.search(r"\b\d+\.\d+\.\d+", (libtorch / name).read_text() if (libtorch / name).exists() else "")
        if found:
            return found.group(0)
    raise Failure(f"{libtorch}: its version is unknown; expected version.py or build-version")


class Contents:
    """What all formats have: the installed files with stripped programs, the libraries they need, the licences."""

    def __init__(self, build, engines, folder, leave_out_opencv):
        self.build = build
        self.folder = folder
        self.version = cache_value(build, "CMAKE_PROJECT_VERSION")
        self.libraries = []  # component, licence, files
        self.parts = []  # the same with the origin of each component, for the bill of materials
        self.left_out = []
        install(build, folder, "tenon")
        self.torch_versions = []  # the releases that the engines were built with
        for other in [*engines, build]:
            install(other, folder, "engine")
            self.torch = libtorch_of(other)
            self.torch_versions.append(read_release(self.torch.parent))
        self.torch_version = self.torch_versions[-1]
        # The minor versions, in their order.
        self.engines = sorted((file.name.partition("-")[2] for file in (folder / "lib/tenon").glob("engine-*")),
                              key=lambda version: tuple(map(int, version.split("."))))
        self.opencv = cache_value(build, "OpenCV_DIR")
        if leave_out_opencv:
            (folder / "lib/tenon/libtenon_images.so").unlink()
            self.left_out.append("libtenon_images.so")
        self._bundle()
        self._add_licences(build)

    def _bundle(self):
        target = self.folder / "lib/tenon"
        extra = [str(self.torch)]
        if self.opencv:
            extra.append(str(pathlib.Path(self.opencv, "../..").resolve()))
        sources, pending = {}, []
        for file in elf_files(self.folder):
            places = locate(file, extra)
            pending += [(name, places.get(name)) for name in needed_by(file)]
        while pending:
            name, place = pending.pop()
            if name in sources or PROVIDED.fullmatch(name):
                continue
            if not any(re.match(pattern + r"\.so", name) for pattern in BUNDLED):
                raise Failure(f"{name} is needed, but neither in PROVIDED nor in BUNDLED of {pathlib.Path(__file__).name}; "
                              "add it with its licence")
            if not place or not os.path.exists(place):
                raise Failure(f"{name} is needed, but the loader does not find it")
            sources[name] = place
            if not (target / name).exists():
                shutil.copyfile(os.path.realpath(place), target / name)
            (target / name).chmod(0o644)
            run("strip", "--strip-unneeded", target / name)
            run("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN", target / name)
            places = locate(place, extra)
            pending += [(other, places.get(other)) for other in needed_by(place)]
        self.sources = sources

    def _add_licences(self, build):
        target = self.folder / "share/doc/tenon"
        target.mkdir(parents=True)
        shutil.copy(ROOT / "LICENSE", target / "LICENSE")
        texts = target / "licenses"
        texts.mkdir()
        by_component = {}
        for name, place in sorted(self.sources.items()):
            component, licence = next(entry for pattern, entry in BUNDLED.items() if re.match(pattern + r"\.so", name))
            by_component.setdefault((component, licence), []).append((name, place))
        for (component, licence), files in by_component.items():
            label = component
            if component == "OpenCV" and self.opencv:
                label = f"{component} {OPENCV_PARTS}"
                folder = pathlib.Path(self.opencv, "../../../share/licenses/opencv4").resolve()
                for text in sorted(folder.iterdir()):
                    shutil.copy(text, texts / text.name)
                origin = sbom.origin_of_pin("opencv", "opencv-python-headless")
            elif component == "Apache Arrow":
                for text in licences_of_arrow(cache_value(build, "Arrow_FOLDER")):
                    shutil.copy(text, texts / f"Arrow-{text.name}")
                origin = sbom.origin_of_pin("arrow", "pyarrow")
            else:
                packages = {}
                for name, place in files:
                    packages.setdefault(debian_package_of(place), []).append(name)
                shutil.copy(licence_of_debian_package(next(iter(packages))), texts / component)
                self.libraries.append((label, licence, [name for name, _ in files]))
                self.parts += [(label, licence, names, sbom.origin_of_debian_package(package))
                               for package, names in packages.items()]
                continue
            self._add(label, licence, [name for name, _ in files], origin)
        for component, licence, header in COMPILED_IN:
            package = debian_package_of(header)
            shutil.copy(licence_of_debian_package(package), texts / component.replace(" ", "_"))
            self._add(component, licence, [], sbom.origin_of_debian_package(package))
        sentencepiece = cache_value(build, "SentencePiece_SOURCES") or self._sentencepiece()
        for text in sorted(pathlib.Path(sentencepiece).glob("third_party/*/LICENSE*")):
            shutil.copy(text, texts / f"SentencePiece-{text.parent.name}")
        shutil.copy(pathlib.Path(sentencepiece, "LICENSE"), texts / "SentencePiece")
        self._add(*SENTENCEPIECE, [], sbom.origin_of_pin("sentencepiece", "sentencepiece"))
        shutil.copy(UPLOT / "LICENSE", texts / "uPlot")
        self._add("uPlot", "MIT", [], sbom.origin_of_copy(UPLOT))
        lines = ["Tenon is under the Apache License 2.0, see LICENSE. It contains or links these libraries; their licences "
                 "are in the folder licenses.", ""]
        lines += [f"{component}: {licence}" + (f" ({', '.join(files)})" if files else "")
                  for component, licence, files in self.libraries]
        (target / "THIRD_PARTY").write_text("\n".join(lines) + "\n")

    def _add(self, component, licence, files, origin):
        self.libraries.append((component, licence, files))
        self.parts.append((component, licence, files, origin))

    @staticmethod
    def _sentencepiece():
        given = os.environ.get("TENON_SENTENCEPIECE")
        if given:
            return given
        home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        cache = os.environ.get("TENON_CACHE") or pathlib.Path(home, "tenon")
        version = re.search(r"^sentencepiece==([0-9.]+)", (ROOT / "scripts/sentencepiece.txt").read_text(), re.M).group(1)
        return pathlib.Path(cache, f"sentencepiece-{version}")

    @functools.cache
    def newest_symbols(self, prefix):
        """The newest version of GLIBC or GLIBCXX symbols that a file needs, such as (2, 34)."""
        versions = set()
        for file in elf_files(self.folder):
            versions.update(re.findall(rf"\b{prefix}_(\d+(?:\.\d+)+)\b", run("readelf", "-V", file)))
        return max(tuple(map(int, version.split("."))) for version in versions)


def copy_tree(source, target):
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def add_torch(contents, prefix):
    """Adds LibTorch's CPU libraries and their licences."""
    install(contents.build, prefix, "libtorch", "-DTENON_CPU_ONLY=ON")
    texts = prefix / "share/doc/tenon/licenses"
    for info in sorted(contents.torch.parent.parent.glob("*.dist-info")):
        if re.match(r"(torch|nvidia_cuda_runtime|nvidia_cuda_cupti)-", info.name):
            for text in sorted([*info.rglob("LICENSE*"), *info.rglob("License*"), *info.rglob("NOTICE*")]):
                if text.is_file():
                    shutil.copy(text, texts / f"{info.name.split('-')[0]}-{text.name}")


def add_sbom(contents, prefix, place, target, pypi_name=None):
    """Writes the bill of materials into the package at `place`, and next to its file `target`. Nothing in the package may
    change afterwards."""
    text = sbom.print_sbom(contents, prefix, pypi_name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    target.with_name(f"{target.name}.cdx.json").write_text(text)


def keep_main_engine(contents, prefix):
    """Removes the engines for other versions than the LibTorch of the package, and the CUDA library: LibTorch's CUDA libraries are not in these packages."""
    for version in contents.engines:
        if contents.torch_version.startswith(version + "."):
            continue
        shutil.rmtree(prefix / f"lib/tenon/engine-{version}")
    for file in (prefix / "lib/tenon").glob("engine-*/libtenon_cuda.so"):
        file.unlink()


def requirement_of_torch(engines):
    """The versions of torch that the wheel has engines for: "torch>=2.11,<2.16,!=2.12.*"."""
    major, newest = map(int, engines[-1].split("."))
    oldest = int(engines[0].split(".")[1])
    missing = [f"!={major}.{minor}.*" for minor in range(oldest, newest) if f"{major}.{minor}" not in engines]
    return ",".join([f"torch>={engines[0]}", f"<{major}.{newest + 1}", *missing])


def requirement_of_arrow(libraries):
    """Lines of METADATA: the extra `parquet`. libarrow.so.2600 is in every release of pyarrow 26.0."""
    versions = {name.rpartition(".")[2] for name in libraries}
    if not versions:
        return ""
    major, minor = divmod(int(versions.pop()), 100)
    return f"Provides-Extra: parquet\nRequires-Dist: pyarrow=={major}.{minor}.*; extra == \"parquet\"\n"


def make_wheel(contents, scratch, out):
    package = scratch / "wheel"
    prefix = package / WHEEL_FOLDER
    copy_tree(contents.folder, prefix)
    (prefix / "bin/tenon").unlink()
    (prefix / "bin/host").rename(prefix / "bin/tenon")
    # The package pyarrow has them.
    arrow = [file.name for pattern in ("libarrow.so.*", "libparquet.so.*")
             for file in sorted((prefix / "lib/tenon").glob(pattern))]
    for name in arrow:
        (prefix / "lib/tenon" / name).unlink()
    for plugin in (prefix / "lib/tenon/plugins").glob("*.so"):
        if any(name.startswith(("libarrow", "libparquet")) for name in needed_by(plugin)):
            run("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/..:$ORIGIN/../../../../pyarrow", plugin)
    scripts = package / f"{WHEEL_FOLDER}-{contents.version}.data/scripts"
    data = package / f"{WHEEL_FOLDER}-{contents.version}.data/data"
    scripts.mkdir(parents=True)
    for name in ("tenon", "host"):  # the program finds the package
        shutil.copy(prefix / "bin/tenon", scripts / name)
    # The programs in Python are commands of the package's modules. These describe a model and need the package torch.
    (prefix / "bin/tenon-log").rename(prefix / "tenon_log.py")
    shutil.copy(ROOT / "scripts/export_model.py", prefix / "export_model.py")
    # man searches share/man next to the folder of a command. The shells do not, so their files stay in the package.
    (data / "share").mkdir(parents=True)
    shutil.move(prefix / "share/man", data / "share/man")

    glibc = contents.newest_symbols("GLIBC")
    tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{os.uname().machine}"
    info = package / f"{WHEEL_FOLDER}-{contents.version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {WHEEL}\n"
        f"Version: {contents.version}\nSummary: A training host for plugins, in C++\nLicense: Apache-2.0\n"
        f"Requires-Python: >=3.10\nRequires-Dist: {requirement_of_torch(contents.engines)}\n"
        f"{requirement_of_arrow(arrow)}"
        "Description-Content-Type: text/markdown\n\n" + (HERE / "wheel.md").read_text())
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tenon\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (info / "entry_points.txt").write_text(f"[console_scripts]\ntenon-export = {WHEEL_FOLDER}.export_model:main\n"
                                         f"tenon-log = {WHEEL_FOLDER}.tenon_log:main\n")
    copy_tree(prefix / "share/doc/tenon", info / "licenses")
    shutil.rmtree(prefix / "share/doc")
    # pip removes a folder with all of its sub-folders only if it also has a file.
    shutil.copy(ROOT / "LICENSE", prefix / "LICENSE")
    target = out / f"{WHEEL_FOLDER}-{contents.version}-{tag}.whl"
    # The place of PEP 770.
    add_sbom(contents, package, info / "sboms/tenon.cdx.json", target, WHEEL)
    write_wheel(package, info, target)
    return target


def write_wheel(package, info, target):
    """Writes the wheel with its RECORD: https://packaging.python.org/en/latest/specifications/binary-distribution-format"""
    record = info / "RECORD"
    lines = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def add(file):
            name = file.relative_to(package).as_posix()
            content = file.read_bytes()
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            executable = ".data/scripts/" in name or name == f"{WHEEL_FOLDER}/bin/tenon"
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
            return name, content

        # The wheel's metadata is last, as the format recommends.
        files = sorted((file for file in package.rglob("*") if file.is_file()), key=lambda file: (info in file.parents, file))
        for file in files:
            name, content = add(file)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}")
        lines.append(f"{record.relative_to(package).as_posix()},,")
        record.write_text("\n".join(lines) + "\n")
        add(record)


def make_archive(contents, scratch, out):
    name = f"tenon-{contents.version}-linux-{os.uname().machine}"
    prefix = scratch / "archive" / name
    copy_tree(contents.folder, prefix)
    keep_main_engine(contents, prefix)
    add_torch(contents, prefix)
    target = out / f"{name}.tar.gz"
    add_sbom(contents, prefix, prefix / "share/doc/tenon/tenon.cdx.json", target)
    run("tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=1980-01-01", "-C", prefix.parent,
        "-czf", target, name)
    return target


def make_deb(contents, scratch, out):
    machine = MACHINES[os.uname().machine]
    root = scratch / "deb"
    prefix = root / "usr"
    copy_tree(contents.folder, prefix)
    keep_main_engine(contents, prefix)
    (prefix / "bin/tenon").unlink()
    (prefix / "bin/host").rename(prefix / "bin/tenon")
    add_torch(contents, prefix)
    # The packages bash-completion and bind9-host have files for their program `host`.
    for name in ("bash-completion/completions/host", "fish/vendor_completions.d/host.fish", "man/man1/host.1",
                 "zsh/site-functions/_host"):
        (prefix / "share" / name).unlink()
    (prefix / "share/zsh/site-functions").rename(prefix / "share/zsh/vendor-completions")
    run("gzip", "-9n", prefix / "share/man/man1/tenon.1")
    (prefix / "share/doc/tenon/LICENSE").rename(prefix / "share/doc/tenon/copyright")
    target = out / f"tenon_{contents.version}_{machine}.deb"
    add_sbom(contents, prefix, prefix / "share/doc/tenon/tenon.cdx.json", target)
    kib = sum(file.lstat().st_size for file in prefix.rglob("*") if file.is_file()) // 1024
    glibc = ".".join(map(str, contents.newest_symbols("GLIBC")))
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        f"Package: tenon\nVersion: {contents.version}\nArchitecture: {machine}\nSection: science\nPriority: optional\n"
        f"Maintainer: The developers of Tenon\nInstalled-Size: {kib}\n"
        f"Depends: libc6 (>= {glibc}), libstdc++6 (>= 12), libgcc-s1\n"
        "Suggests: python3 (>= 3.11)\n"
        "Description: training host for plugins, in C++\n"
        " Trains neural networks from plugins and a TOML run file. Contains LibTorch for\n"
        " CPUs, the bundled plugins, and the headers for writing plugins.\n"
        " .\n"
        " The program is `tenon`. Messages and documentation call it `host`, but Debian\n"
        " has another program of this name, in the package bind9-host.\n")
    run("dpkg-deb", "--root-owner-group", "-Zxz", "-z3", "--build", root, target, stderr=subprocess.DEVNULL)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    makers = {"wheel": make_wheel, "archive": make_archive, "deb": make_deb}
    parser.add_argument("--format", action="append", choices=makers, help="default: all")
    parser.add_argument("--engine", action="append", default=[], type=pathlib.Path, help="a build with another LibTorch")
    parser.add_argument("--leave-out-opencv", action="store_true",
                        help="leave out the image library, for a build with the OpenCV of the system")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as name:
            scratch = pathlib.Path(name)
            contents = Contents(given.build.resolve(), [build.resolve() for build in given.engine], scratch / "contents",
                                given.leave_out_opencv)
            made = {kind: makers[kind](contents, scratch, given.out) for kind in given.format or makers}
            report = {
                "files": {kind: {"name": path.name, "bytes": path.stat().st_size} for kind, path in made.items()},
                "libtorch": contents.engines,
                "glibc": ".".join(map(str, contents.newest_symbols("GLIBC"))),
                "libstdcxx": ".".join(map(str, contents.newest_symbols("GLIBCXX"))),
                "libraries": [{"component": component, "licence": licence, "files": files}
                              for component, licence, files in contents.libraries],
                "left_out": contents.left_out,
            }
            (given.out / "contents.json").write_text(json.dumps(report, indent=1) + "\n")
            for kind, path in made.items():
                print(f"{kind}: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    except (Failure, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)


main()
