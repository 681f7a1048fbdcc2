#include "framework/precision/supported.h"

#include "framework/support/error.h"

namespace tenon::precision {

void require_supported(config::Precision precision, const c10::Device& device, const std::string& place) {
  if (precision != config::Precision::tf32 || device.is_cuda()) return;
  throw support::Error(support::ErrorKind::configuration,
                       place + ": train.precision is \"tf32\", which CUDA devices have; expected of the device " +
                           device.str() + " \"fp32\", \"bf16\", \"bf16_true\" or \"fp16\" (which is slow there)");
}

}  // namespace tenon::precision
