#!/usr/bin/env python3
"""Builds Tenon with deliberate defects in the code for CUDA devices, one after the other, and prints which tests see each:

  try_defects.py BUILD [--only TEXT] [--list]

BUILD is a complete build of this tree, for example build/release. Each defect replaces one place in a source file. The
script builds the test programs and the host, runs the tests of the simulated device (tests/cuda) and those of the stand-in
for CUDA (tests/cuda_standin) until one fails, and restores the file. Prints a table in Markdown with the failed test of each
layer. Takes some minutes for each defect. Interrupt it only between two defects, or restore the file with git.

--only TEXT   tries the defects with this text in the name or the file
--list        prints the defects

Exit codes: 0 each defect was seen by a layer, 1 one was not, 2 wrong arguments, or a file does not have the place that a
defect replaces, 3 the tree has uncommitted changes or does not build.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGETS = ["host", "test_simulated_device", "test_gpu", "test_cuda", "test_cuda_standin_hosts", "test_standin_runs"]
LAYERS = {"simulated device": r"^(simulated_device|cuda)\.", "stand-in": r"^cuda_standin"}

# Each: the file, what is wrong, the code, and what replaces it.
DEFECTS = [
    ("framework/cuda/library.cpp", "a cancelled recording keeps its memory pool",
     "ignore_errors([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(capture_dev_, mempool_id_); });\n", "\n"),
    ("framework/cuda/library.cpp", "a cancelled recording leaves the generator in the recording",
     "generator.graphsafe_set_state(generator.clone());", ""),
    ("framework/cuda/library.cpp", "a recording is not cancelled", "void cancel() noexcept override { graph_.cancel(); }",
     "void cancel() noexcept override {}"),
    ("framework/cuda/open_device.cpp", "all processes of a machine use the first device",
     "choice.index.value_or(local_rank)", "choice.index.value_or(0)"),
    ("framework/cuda/library.cpp", "the device is described, but not made the current one",
     "c10::cuda::set_device(static_cast<c10::DeviceIndex>(index), /*force=*/true);", "(void)index;"),
    ("framework/cuda/library.cpp", "the host does not count its waits",
     "c10::cuda::warning_state().set_sync_debug_mode(warns ?", "c10::cuda::warning_state().set_sync_debug_mode(!warns ?"),
    ("framework/cuda/library.cpp", "failed collectives abort the process",
     "    leave_errors_to_the_monitor();\n    auto options", "    auto options"),
    ("framework/cuda/open_device.cpp", "the ranks are counted from the end",
     "library.make_nccl(store, rank, size, timeout)", "library.make_nccl(store, size - 1 - rank, size, timeout)"),
    ("framework/cuda/open_device.cpp", "the first device is opened in place of the chosen one",
     "library->use(*index);\n    return {library->describe(*index), library};",
     "library->use(0);\n    return {library->describe(0), library};"),
    ("framework/pipeline/device/device_memory.cpp", "waits are not counted", "      ++waits;\n", "      return;\n"),
    ("framework/pipeline/device/device_error.cpp", "errors of the device are not recognised",
     "if (dynamic_cast<const c10::AcceleratorError*>(&error)) return true;\n  return std::ranges::any_of",
     "return false && std::ranges::any_of"),
    ("framework/pipeline/device/device_memory.cpp", "the peak is never reset",
     "if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());", "(void)device;"),
    ("framework/pipeline/device/field_copies.cpp", "the computation does not wait for the copies",
     "  arrival.block(current);\n", ""),
    ("framework/pipeline/device/field_copies.cpp", "the memory of copies is reused while the device reads it",
     "      batch->last_use.record(current);\n      batch->has_last_use = true;\n    } else if (batch->has_last_use && "
     "batch->last_use.query()) {", "      batch->copies.clear();\n    } else if (batch->has_last_use) {"),
    ("framework/pipeline/device/field_copies.cpp", "pinned memory is reused before it is copied",
     "      batch.copies.push_back(fields[i]);\n",
     "      batch.copies.push_back(fields[i]);\n      pinned_.give(batch.pinned.back());\n      batch.pinned.pop_back();\n"),
    ("framework/pipeline/device/non_finite_flag.cpp", "buffers are checked on the host",
     "group.kept = at::where(found.isfinite(), found, group.kept);",
     "group.kept = at::where(found.isfinite(), found, group.kept);\n    (void)found.sum().item<double>();"),
    ("framework/pipeline/device/gradients.cpp", "the host reads the coefficient of clipping",
     "if (coefficient.is_cpu() && read_scalar(coefficient) == 1) return;", "if (read_scalar(coefficient) == 1) return;"),
    ("framework/pipeline/device/gradients.cpp", "the host reads gradients in the memory of the device",
     "  if (!gradients_.front().is_cpu()) {\n",
     "  if (!gradients_.front().is_cpu()) {\n    if (*gradients_.front().const_data_ptr<float>() == 1) return norm();\n"),
    ("framework/pipeline/device/host_copies.cpp", "weights are saved before their copies have arrived",
     "  if (arrival_) arrival_->synchronize();\n", ""),
    ("framework/pipeline/device/host_copies.cpp", "pinned memory is kept after a checkpoint",
     "  if (allocator) allocator->empty_cache();", "  (void)allocator;"),
    ("framework/pipeline/device/keep_random_state.h", "the random state is not restored",
     "~KeepRandomState() { set_rng_state(device_, state_); }", "~KeepRandomState() = default;"),
    ("framework/pipeline/device/make_histogram.cpp", "deterministic runs use an operator that is not",
     "if (values.is_cpu() || !at::globalContext().deterministicAlgorithms())", "if (true)"),
    ("framework/pipeline/device/non_finite_flag.cpp", "the flag is on the host",
     "flag_(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat)))", "flag_(at::zeros({}, at::kFloat))"),
    ("framework/pipeline/device/host_copies.cpp", "pinned memory is freed while the device uses it",
     "    c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(device_.index());\n", ""),
    ("framework/pipeline/device/readback.cpp", "values are read before they have arrived",
     "return !pending_[index].arrival || pending_[index].arrival->query();", "return true;"),
    ("framework/pipeline/device/tensor_storage.cpp", "memory of a device is allocated on the host",
     "exchange(tensor, allocator_of(tensor).allocate(bytes), bytes);",
     "exchange(tensor, c10::GetAllocator(c10::kCPU)->allocate(bytes), bytes);"),
    ("framework/pipeline/loop/batch_graphs.cpp", "a replayed batch is not compared",
     "recorded.is_verified = is_repeated(usual.numbers(), again, replayed.numbers());", "recorded.is_verified = true;"),
    ("framework/operators/batch_norm.cpp", "pooling stays nondeterministic",
     '  library.impl("adaptive_avg_pool2d", TORCH_FN(adaptive_avg_pool2d));\n', ""),
]


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)


def failed_tests(build, pattern):
    """The first tests that fail, or none. The test that this list fits to the source always fails."""
    done = run("ctest", "--test-dir", build, "-R", pattern, "-E", r"^cuda_standin\.defects$", "-LE", "soak", "-j", "2",
               "--timeout", "300", "--stop-on-failure")
    return re.findall(r"^\s*\d+ - (.*) \(\w+\)$", done.stdout, re.M)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("build", nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--help", "-h", action="store_true")
    arguments = parser.parse_args()
    if arguments.help or (not arguments.build and not arguments.list):
        print(__doc__, end="")
        return 0 if arguments.help else 2
    chosen = [defect for defect in DEFECTS if arguments.only in defect[0] or arguments.only in defect[1]]
    for file, name, code, _ in chosen:
        if (ROOT / file).read_text(encoding="utf-8").count(code) != 1:
            print(f"error: {file}: expected once: {code!r} (for \"{name}\")", file=sys.stderr)
            return 2
        if arguments.list:
            print(f"{file}: {name}")
    if arguments.list:
        return 0
    if run("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no").stdout:
        print("error: the tree has uncommitted changes; commit them first", file=sys.stderr)
        return 3
    unseen = 0
    print(f"| file | defect | {' | '.join(LAYERS)} |\n|---|---|{'---|' * len(LAYERS)}", flush=True)
    for file, name, code, replacement in chosen:
        path = ROOT / file
        source = path.read_text(encoding="utf-8")
        try:
            path.write_text(source.replace(code, replacement), encoding="utf-8")
            built = run("ninja", "-C", arguments.build, *TARGETS)
            if built.returncode != 0:
                print(built.stdout[-2000:], file=sys.stderr)
                return 3
            failed = {layer: failed_tests(arguments.build, pattern) for layer, pattern in LAYERS.items()}
        finally:
            path.write_text(source, encoding="utf-8")
        unseen += not any(failed.values())
        cells = [f"`{tests[0]}`" if tests else "no" for tests in failed.values()]
        print(f"| `{file.removeprefix('framework/')}` | {name} | {' | '.join(cells)} |", flush=True)
    run("ninja", "-C", arguments.build, *TARGETS)
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
