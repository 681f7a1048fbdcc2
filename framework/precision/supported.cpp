#include "framework/precision/supported.h"

#include <ATen/Context.h>

#include <vector>

#include "framework/support/diagnostics/error.h"

namespace tenon::precision {

namespace {

using config::Precision;

constexpr int kAmpere = 8;  // compute capability 8.0 introduced bfloat16 and TensorFloat-32

// fp16 runs on every CUDA device. bf16 also runs on older devices, but with a conversion in each operator: slower than
// float32.
bool has(const support::ComputeDevice& device, Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::fp16: return true;
    case Precision::tf32: return device.is_cuda() && device.capability_major >= kAmpere;
    case Precision::bf16:
    case Precision::bf16_true: return !device.is_cuda() || device.capability_major >= kAmpere;
  }
  return false;
}

std::string describe(const support::ComputeDevice& device) {
  if (!device.is_cuda()) return "the CPU";
  return to_string(device) + " (" + device.name + ", compute capability " + std::to_string(device.capability_major) +
         "." + std::to_string(device.capability_minor) + ")";
}

std::string list_supported(const support::ComputeDevice& device) {
  std::string list;
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::bf16, Precision::bf16_true, Precision::fp16})
    if (has(device, precision)) list += (list.empty() ? "\"" : ", \"") + to_string(precision) + "\"";
  return list;
}

}  // namespace

void require_supported(Precision precision, const support::ComputeDevice& device, const std::string& place) {
  if (has(device, precision)) return;
  throw support::Error(support::ErrorKind::configuration,
                       place + ": train.precision is \"" + to_string(precision) + "\", which requires a CUDA device" +
                           (device.is_cuda() ? " of compute capability 8.0 or later" : "") + "; expected on " +
                           describe(device) + " one of " + list_supported(device) +
                           (device.is_cuda() ? "" : " (which is slow there)"));
}

void set_tensor_float_32(Precision precision) {
  const bool is_allowed = precision == Precision::tf32;
  at::globalContext().setAllowTF32CuBLAS(is_allowed);
  at::globalContext().setAllowTF32CuDNN(is_allowed);
}

}  // namespace tenon::precision
