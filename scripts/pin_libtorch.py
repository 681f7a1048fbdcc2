#!/usr/bin/env python3
"""Writes the pins of a LibTorch: pin_libtorch.py VERSION, such as 2.15.0

Queries pip for the wheels that PyPI's torch of this version needs on Linux for x86-64, without downloading them, and writes
scripts/libtorch/VERSION/:

    libtorch.txt      torch and the two packages that libtorch_cpu.so loads
    cuda.txt          the other CUDA packages
    cuda_headers.txt  the packages with headers that libtenon_cuda.so includes, each with a digest of its headers

Afterwards tests/package/check_cuda_pins.py compares them with the wheel. Exit codes: 0 success, 1 pip or a download failed.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_25_x86_64", "manylinux_2_18_x86_64",
             "manylinux_2_17_x86_64", "manylinux2014_x86_64"]
LOADED_BY_CPU = ["nvidia-cuda-runtime", "nvidia-cuda-cupti"]
# Packages with headers only. The torch wheel does not require the first two.
HEADERS_ONLY = ["nvidia-cuda-cccl", "nvidia-cuda-crt", "nvidia-nvtx"]
WITH_HEADERS = ["nvidia-cublas", "nvidia-cuda-cccl", "nvidia-cuda-crt", "nvidia-cusolver", "nvidia-cusparse",
                "nvidia-nccl-cu13", "nvidia-nvtx"]


def resolve(*requirements):
    """Returns {package: (version, SHA-256)} of the requirements and all that they need."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--dry-run",
                   "--ignore-installed", "--report", report, "--only-binary", ":all:", "--python-version", "3.11",
                   "--implementation", "cp", "--abi", "cp311", "--abi", "none", "--target", folder]
        for platform in PLATFORMS:
            command += ["--platform", platform]
        if subprocess.run([*command, *requirements], check=False).returncode:
            sys.exit(f"pin_libtorch.py: pip cannot resolve {' '.join(requirements)} (its message is above)")
        installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {part["metadata"]["name"]: (part["metadata"]["version"],
                                       part["download_info"]["archive_info"]["hashes"]["sha256"]) for part in installed}


def print_pins(packages, names):
    return "".join(f"{name}=={packages[name][0]} \\\n    --hash=sha256:{packages[name][1]}\n" for name in names)


def main():
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
        sys.exit("usage: pin_libtorch.py VERSION, such as 2.15.0")
    version = sys.argv[1]
    toolkit = resolve(f"torch=={version}")["cuda-toolkit"][0]
    packages = resolve(f"torch=={version}", f"cuda-toolkit[cccl,crt,nvtx]=={toolkit}")
    others = sorted(name for name in packages
                    if name.startswith("nvidia-") and name not in LOADED_BY_CPU and name not in HEADERS_ONLY)
    folder = HERE / "libtorch" / version
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "libtorch.txt").write_text(
        "# Only the headers and libraries of these PyPI wheels are used. libtorch_cpu of the torch wheel needs the other two\n"
        "# wheels and no further CUDA library. scripts/dependencies installs them and checks their hashes.\n"
        + print_pins(packages, ["torch", *LOADED_BY_CPU]))
    (folder / "cuda.txt").write_text(
        "# The CUDA libraries of this LibTorch, in addition to the two in libtorch.txt. scripts/dependencies --cuda installs\n"
        "# them and checks their hashes. tests/package/check_cuda_pins.py compares the list with the torch wheel.\n#\n"
        "# The torch wheel names most of them by the extras of one package. The comparison includes its version:\n"
        f"# cuda-toolkit=={toolkit}\n#\n"
        "# libtorch_cuda.so needs these libraries directly or through another one, with two exceptions. It opens the library\n"
        "# of nvidia-cusolver for linear algebra and that of nvidia-cuda-nvrtc to compile kernels. The list leaves out triton,\n"
        "# which is for Python.\n" + print_pins(packages, others) +
        "# Nothing loads a library of these packages, but libtenon_cuda.so is built with their headers, so without a CUDA\n"
        "# toolkit. The torch wheel does not require the first two; the headers of CUDA and NCCL include theirs.\n"
        + print_pins(packages, HEADERS_ONLY))
    headers = folder / "cuda_headers.txt"
    headers.write_text(
        "# The packages of cuda.txt with headers that libtenon_cuda.so includes, in the same versions. scripts/dependencies\n"
        "# --for-tests downloads only these headers. A SHA-256 is that of a package's headers, not of its wheel:\n"
        "# download_headers.py describes it. --cuda installs the whole wheels; tests/package/check_cuda_pins.py --libraries\n"
        "# compares their headers with this list.\n"
        + "".join(f"{name}=={packages[name][0]} headers=sha256:{'0' * 64}\n" for name in WITH_HEADERS))
    found = subprocess.run([sys.executable, HERE / "download_headers.py", "--print-pins", folder / "cuda.txt", headers],
                           check=False, text=True, stdout=subprocess.PIPE)
    if found.returncode:
        sys.exit("pin_libtorch.py: the headers cannot be read (the message is above)")
    headers.write_text(found.stdout)
    print(f"wrote {folder}")


main()
