#!/usr/bin/env python3
"""Checks the CUDA packages that scripts/dependencies --cuda installs: check_cuda_pins.py PINS LIBTORCH [--libraries]

PINS is a folder of scripts/libtorch, with libtorch.txt, cuda.txt and cuda_headers.txt. LIBTORCH is the folder of that torch
wheel with include/ and lib/. Compares the names and versions in the first two lists with the requirements in the wheel's
metadata, and those in the third list with the second. --libraries instead reads the CUDA libraries next to LIBTORCH. LibTorch's loader path must have
each library that another one needs. Each package must have one of these libraries or a header that libtenon_cuda.so
includes. The headers must have the digests of cuda_headers.txt.

Exit codes: 0 the lists are complete, 1 they are not, 77 LIBTORCH is another LibTorch or lacks CUDA packages.
"""
import glob
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import download_headers

# The package of an extra of cuda-toolkit is nvidia-EXTRA, except for these.
EXTRAS = {"cudart": "nvidia-cuda-runtime", "cupti": "nvidia-cuda-cupti", "nvrtc": "nvidia-cuda-nvrtc"}
HEADERS = {"nvidia-cuda-crt": "crt/host_defines.h", "nvidia-cuda-cccl": "nv/target", "nvidia-nvtx": "nvtx3/nvToolsExt.h"}
# libtorch_cuda.so opens the second and third library when it needs them, and cuDNN the last ones.
LOADED = ["libtorch_cuda.so", "libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so", "../../nvidia/cudnn/lib/libcudnn_*.so.*"]
# The driver has libcuda.so.1. Tenon needs zlib, too.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|util|pthread|gcc_s|stdc\+\+|z))\.so\.\d+|libcuda\.so\.1")


def skip(reason):
    print(reason)
    sys.exit(77)


def read_pins(path):
    """Returns {package: version} of a list in the format of pip, each package with one hash."""
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    pins = re.findall(r"^([a-z0-9-]+)==([0-9.]+) \\\n    --hash=sha256:[0-9a-f]{64}$", text, re.M)
    if len(pins) != len(re.findall(r"^[^#\s]", text, re.M)):
        sys.exit(f"{path}: expected NAME==VERSION \\ and --hash=sha256:HASH in the next line for each package")
    return dict(pins), text


def read_requirements(metadata):
    """Returns the {package: version} that torch requires, with None for packages of cuda-toolkit, and its version."""
    required, toolkit = {}, None
    with open(metadata, encoding="utf-8") as stream:
        for line in stream:
            found = re.match(r"Requires-Dist: ([a-z0-9-]+)(?:\[([a-z0-9,]+)\])?==([0-9.]+)", line)
            if not found:
                continue
            name, extras, version = found.groups()
            if name == "cuda-toolkit":
                toolkit = version
                required.update((EXTRAS.get(extra, f"nvidia-{extra}"), None) for extra in extras.split(","))
            elif name.startswith("nvidia-"):
                required[name] = version
    return required, toolkit


def check_pins(pins, text, metadata):
    required, toolkit = read_requirements(metadata)
    problems = []
    if f"# cuda-toolkit=={toolkit}\n" not in text:
        problems.append(f"cuda.txt names another version than cuda-toolkit=={toolkit}, which torch requires")
    for name, version in required.items():
        if name not in pins:
            problems.append(f"{name} is not pinned; torch requires it" + (f" in version {version}" if version else ""))
        elif version not in (None, pins[name]):
            problems.append(f"{name} is pinned to {pins[name]}; torch requires {version}")
    for name in pins:
        if name not in required and name not in HEADERS:
            problems.append(f"{name} is pinned, but torch does not require it")
    print(f"compared {len(pins)} pins with {len(required)} requirements of torch")
    return problems


def check_header_pins(pins, header_pins):
    """Compares cuda_headers.txt with the {package: version} of cuda.txt."""
    problems = [f"{name} is not in cuda_headers.txt" for name in HEADERS if name not in header_pins]
    try:
        versions = {name: {"version": version} for name, version in pins.items()}
        download_headers.match_pins("cuda.txt", versions, "cuda_headers.txt", header_pins, any_version=False)
    except download_headers.Failure as failure:
        problems.append(str(failure))
    return problems


def check_headers(header_pins, root):
    """Compares the installed headers with cuda_headers.txt. pip has checked the wheels."""
    folder, problems = pathlib.Path(root).parent, []
    for name, pin in header_pins.items():
        with open(record_of(root, name, pin["version"]), encoding="utf-8") as stream:
            paths = [line.split(",")[0] for line in stream]
        headers = {path: (folder / path).read_bytes() for path in paths if download_headers.HEADER.fullmatch(path)}
        digest = download_headers.digest_headers(headers)
        if digest != pin["digest"]:
            problems.append(f"the headers of {name} have the digest {digest}; expected {pin['digest']} of cuda_headers.txt")
    print(f"read the headers of {len(header_pins)} packages")
    return problems


def read_dynamic(path, tag):
    lines = subprocess.check_output(["readelf", "--dynamic", "--wide", path], text=True)
    return re.findall(rf"\({tag}\).*\[(.*)\]", lines)


def record_of(root, name, version):
    return os.path.join(os.path.dirname(root), f"{name.replace('-', '_')}-{version}.dist-info", "RECORD")


def check_libraries(pins, root):
    library_folder = os.path.join(root, "lib")
    (path,) = read_dynamic(os.path.join(library_folder, "libtorch_cuda.so"), "RPATH")
    folders = [os.path.realpath(folder.replace("$ORIGIN", library_folder)) for folder in path.split(":")]
    problems, needed, waiting = [], set(), []
    for name in LOADED:
        waiting += map(os.path.realpath, glob.glob(os.path.join(library_folder, name)))
    while waiting:
        path = waiting.pop()
        if path in needed:
            continue
        needed.add(path)
        for name in read_dynamic(path, "NEEDED"):
            found = [os.path.join(folder, name) for folder in folders if os.path.exists(os.path.join(folder, name))]
            if found:
                waiting.append(found[0])
            elif not SYSTEM.fullmatch(name):
                problems.append(f"{os.path.basename(path)} needs {name}, which no package has")
    for name, version in pins.items():
        with open(record_of(root, name, version), encoding="utf-8") as stream:
            files = [os.path.join(os.path.dirname(root), line.split(",")[0]) for line in stream]
        if name in HEADERS:
            is_needed = any(file.endswith("/include/" + HEADERS[name]) for file in files)
        else:
            is_needed = any(file in needed for file in files)
        if not is_needed:
            problems.append(f"{name} is pinned, but nothing needs its files")
    print(f"read {len(needed)} libraries in {len(folders)} folders")
    return problems


def main():
    scripts, root = sys.argv[1], os.path.realpath(sys.argv[2])
    libtorch_pins, _ = read_pins(os.path.join(scripts, "libtorch.txt"))
    cuda_pins, text = read_pins(os.path.join(scripts, "cuda.txt"))
    torch = libtorch_pins.pop("torch")
    path = os.path.join(scripts, "cuda_headers.txt")
    header_pins = download_headers.read_pins(path, download_headers.HEADER_PIN, pathlib.Path(path).read_text(encoding="utf-8"))
    metadata = glob.glob(os.path.join(os.path.dirname(root), f"torch-{torch}*.dist-info", "METADATA"))
    if not metadata:
        skip(f"{root} is not the wheel of torch {torch}")
    if sys.argv[3:] == ["--libraries"]:
        for name, version in cuda_pins.items():
            if not os.path.exists(record_of(root, name, version)):
                skip(f"{root} lacks {name} {version}; scripts/dependencies --cuda adds it")
        problems = check_libraries(cuda_pins, root) + check_headers(header_pins, root)
    else:
        problems = check_pins({**libtorch_pins, **cuda_pins}, text, metadata[0])
        problems += check_header_pins(cuda_pins, header_pins)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


main()
