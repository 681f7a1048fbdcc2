#include "framework/pipeline/device/device_error.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tenon::pipeline {

namespace {

using support::Error;
using support::ErrorKind;

// Plugins and LibTorch's wrappers of these libraries pass errors on as text.
constexpr std::array<std::string_view, 9> kSigns{"CUDA error: ",     "CUDA driver error: ", "CUBLAS_STATUS_",
                                                 "CUDNN_STATUS_",    "cuDNN error: ",       "cuFFT error: ",
                                                 "cusolver error: ", "CUSPARSE_STATUS_",    "NCCL error"};

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string find_hint(const std::string& text) {
  if (has(text, "device-side assert"))
    return "a kernel read out of range, most often an index in an embedding, a gather or a loss; find the operator "
           "with CUDA_LAUNCH_BLOCKING=1, or run the same configuration with run.device = \"cpu\"";
  if (has(text, "illegal memory access") || has(text, "misaligned address"))
    return "a kernel accessed memory that it does not own; find it with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer";
  if (has(text, "no kernel image"))
    return "LibTorch has no kernels for this device; expected a LibTorch for its compute capability";
  return "check the device with nvidia-smi and dmesg; find the operator with CUDA_LAUNCH_BLOCKING=1";
}

}  // namespace

std::string message_of(const std::exception& error) {
  const auto* const of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch ? of_torch->what_without_backtrace() : error.what();
}

std::string first_line(const std::exception& error) {
  const std::string text = message_of(error);
  return text.substr(0, text.find('\n'));
}

bool is_out_of_memory(const std::exception& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) || has(error.what(), "out of memory") ||
         has(error.what(), "_STATUS_ALLOC_FAILED");
}

bool is_device_error(const std::exception& error) {
  if (is_out_of_memory(error)) return false;
  const auto* const ours = dynamic_cast<const Error*>(&error);
  if (ours && ours->kind() == ErrorKind::device) return true;
  if (ours && ours->kind() != ErrorKind::plugin) return false;
  if (dynamic_cast<const c10::AcceleratorError*>(&error)) return true;
  return std::ranges::any_of(kSigns, [&](std::string_view sign) { return has(error.what(), sign); });
}

Error explain_device_error(const std::exception& error, int64_t step) {
  const auto* const ours = dynamic_cast<const Error*>(&error);
  if (ours && ours->kind() == ErrorKind::device) return *ours;
  const std::string text = first_line(error);
  const std::string when = step > 0 ? " in step " + std::to_string(step) + " or shortly before" : "";
  return {ErrorKind::device,
          "the device failed" + when + ": " + text + "; " + find_hint(text) +
              "; checkpoints written before are intact, and --resume auto continues from the newest"};
}

}  // namespace tenon::pipeline
