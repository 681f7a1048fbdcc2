#!/usr/bin/env python3
"""Writes sources of libraries that replace the CUDA libraries of LibTorch: make_stubs.py TORCH_LIB DIR

Each function that the libraries of LibTorch and PyTorch in TORCH_LIB need returns success, those of the CUDA runtime, NCCL and
CUPTI an error. A function is weak, so another source of the same library can define it. Writes DIR/NAME.cpp and DIR/NAME.map
(a version script) for each library.
"""
import pathlib
import re
import subprocess
import sys

NEEDING = ["libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_linalg.so", "libtorch_nvshmem.so", "libcaffe2_nvrtc.so",
           "libtorch_cpu.so", "libtorch_python.so"]  # the last one is PyTorch's, and may be missing

# The prefix of the functions, the library, and its symbol version. The first prefix that fits decides.
LIBRARIES = [
    ("cublasLt", "cublasLt", "libcublasLt.so.13"),
    ("cublas", "cublas", "libcublas.so.13"),
    ("cudnn", "cudnn", "libcudnn.so.9"),
    ("cusparseLt", "cusparseLt", None),
    ("cusparse", "cusparse", "libcusparse.so.12"),
    ("cufft", "cufft", "libcufft.so.12"),
    ("curand", "curand", None),
    ("cuFile", "cufile", None),
    ("nccl", "nccl", None),
    ("cusolver", "cusolver", "libcusolver.so.12"),
    ("cupti", "cupti", "libcupti.so.13"),
    ("nvshmem_init", "nvshmem_host", None),
    ("nvshmem", "nvshmem_host", "NVSHMEM"),
    ("nvrtc", "nvrtc", "libnvrtc.so.13"),
    ("cuda", "cudart", "libcudart.so.13"),
    ("cu", "cuda", None),
]

# cudaErrorNotSupported, ncclInvalidUsage and CUPTI_ERROR_NOT_INITIALIZED. The stand-in defines what runs need. NVIDIA's CUPTI would
# call itself without end: it finds a driver, but not what a driver has for CUPTI.
ERRORS = {"cudart": 801, "nccl": 5, "cupti": 15}

# Functions that must return more than success.
BODIES = {
    "cudnnGetVersion": "long cudnnGetVersion() { return CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100; }",
    "cudnnGetProperty":
        "int cudnnGetProperty(int part, int* number) "
        "{ *number = part == 0 ? CUDNN_MAJOR : part == 1 ? CUDNN_MINOR : 0; return 0; }",
    "cudnnGetCudartVersion": "long cudnnGetCudartVersion() { return 13000; }",
    "cuDevicePrimaryCtxGetState":
        "int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) { *flags = 0; *is_active = 1; return 0; }",
    "cuCtxGetCurrent": "int cuCtxGetCurrent(void** context) { static int one; *context = &one; return 0; }",
    "cublasLtMatmulAlgoGetHeuristic":
        "int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*, int* found) "
        "{ *found = 1; return 0; }",
    # The stand-in computes recurrent layers from their weights, so there is no space for them.
    "cudnnGetRNNWeightSpaceSize":
        "int cudnnGetRNNWeightSpaceSize(void*, void*, unsigned long* bytes) { *bytes = 0; return 0; }",
    "cuptiGetResultString":
        'int cuptiGetResultString(int, const char** text) { *text = "the stand-in has no CUPTI"; return 0; }',
    "nvrtcVersion": "int nvrtcVersion(int* major, int* minor) { *major = 13; *minor = 0; return 0; }",
}


def find_cudnn(torch_lib):
    """The version of cuDNN that the wheel of torch requires: PyTorch refuses an older one. 9.0 for another LibTorch."""
    for metadata in torch_lib.resolve().parent.parent.glob("torch-*.dist-info/METADATA"):
        found = re.search(r"^Requires-Dist: nvidia-cudnn-cu\d+==(\d+)\.(\d+)", metadata.read_text(encoding="utf-8"), re.M)
        if found:
            return found.groups()
    return "9", "0"


def find_undefined(torch_lib):
    names = set()
    for library in filter(lambda name: (torch_lib / name).exists(), NEEDING):
        listing = subprocess.run(["nm", "-D", "--undefined-only", torch_lib / library], text=True, capture_output=True,
                                 check=True).stdout
        names |= {line.split()[-1].split("@")[0] for line in listing.splitlines()}
    return names


def define(name, error):
    if name in BODIES:
        return '__attribute__((visibility("default"))) ' + BODIES[name]
    weak = '__attribute__((weak, visibility("default")))'
    if "String" in name or name.endswith("GetLastError"):
        return f'{weak} const char* {name}() {{ return "the stand-in"; }}'
    return f"{weak} long {name}() {{ return {error}; }}"


def main(torch_lib, folder):
    nodes = {name: {} for _, name, _ in LIBRARIES}
    for symbol in sorted(find_undefined(torch_lib)):
        for prefix, name, node in LIBRARIES:
            if symbol.startswith(prefix):
                nodes[name].setdefault(node, []).append(symbol)
                break
    major, minor = find_cudnn(torch_lib)
    for name, by_node in nodes.items():
        source = [f"enum {{ CUDNN_MAJOR = {major}, CUDNN_MINOR = {minor} }};"] if name == "cudnn" else []
        source += [define(symbol, ERRORS.get(name, 0)) for symbols in by_node.values() for symbol in symbols]
        (folder / f"{name}.cpp").write_text('extern "C" {\n' + "\n".join(source) + "\n}\n")
        script = [f"{node} {{ global: {' '.join(symbol + ';' for symbol in symbols)} }};"
                  for node, symbols in by_node.items() if node]
        (folder / f"{name}.map").write_text("\n".join(script) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
